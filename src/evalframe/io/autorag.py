"""AutoRAG's Parquet files: questions with gold, a corpus, and a module's results; both ways.

AutoRAG keeps a question's row number as the link between its files: the rows of a retrieval or
generation result stand in the order of `qa.parquet`. Here they are joined once and carry the id.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evalframe.columns import SAMPLES
from evalframe.errors import ColumnError, ReadError, RowError, first_rows
from evalframe.frames import collected, conform
from evalframe.io.any_samples import samples_from_any
from evalframe.io.saving import beside_all

__all__ = ["AutoRag", "read_autorag", "write_autorag"]

PathLike = str | os.PathLike[str]

LOSSES = {"column": pl.String, "n_samples": pl.Int64, "what": pl.String}
"""Of a frame of losses: the column, in how many samples it loses something, and what."""

RESULTS = {
    "retrieved_contents": "retrieved_contexts",
    "retrieved_ids": "retrieved_context_ids",
    "retrieve_scores": "retrieve_scores",
    "generated_texts": "response",
}
"""AutoRAG's names of what a module delivers, and the house's."""

GOLD = "retrieval_gt"
"""Groups of alternatives: of each group one document is needed. Carried along in the samples."""


@dataclass(frozen=True)
class AutoRag:
    """What `read_autorag` found.

    Attributes
    ----------
    samples
        One row per question, in the order of the file: `query_id`, `user_input`, `references`,
        `reference_context_ids` (all documents of `retrieval_gt`), `reference_contexts` (with a
        corpus), `retrieved_contexts`, `retrieved_context_ids`, `response` (with results), and
        every other column, `retrieval_gt` and `retrieve_scores` among them.
    qrels
        `query_id`, `doc_id`, `relevance` (1): the documents of `retrieval_gt`.
    run
        `query_id`, `doc_id`, `score`, `rank` of the retrieved documents, or None. A document that
        was retrieved more than once stands at its best rank.
    losses
        What the frames no longer say: `column`, `n_samples`, `what`.
    """

    samples: pl.DataFrame
    qrels: pl.DataFrame
    run: pl.DataFrame | None
    losses: pl.DataFrame


def read_autorag(qa: PathLike, *results: PathLike, corpus: PathLike | None = None) -> AutoRag:
    """Read AutoRAG's files.

    Parameters
    ----------
    qa
        Its `qa.parquet`: `qid`, `query`, `retrieval_gt`, `generation_gt`. The last two may be a
        single value, a list, or for `retrieval_gt` a list of lists.
    results
        Files with a row for each question, in the same order: retrieval or generation results.
    corpus
        Its `corpus.parquet`: `doc_id`, `contents`.

    Raises
    ------
    ReadError
        A file is not Parquet.
    ColumnError
        A file lacks AutoRAG's columns, or two files have the same column.
    RowError
        A result has another number of rows than there are questions, ids repeat, or gold documents
        are not in the corpus.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> made = pl.DataFrame({"qid": ["q1"], "query": ["Who?"], "generation_gt": [["Me"]],
    ...                      "retrieval_gt": [[["d1", "d2"], ["d3"]]]})
    >>> made.write_parquet(f"{folder}/qa.parquet")
    >>> found = read_autorag(f"{folder}/qa.parquet")
    >>> found.samples["reference_context_ids"].to_list()
    [['d1', 'd2', 'd3']]
    >>> found.losses.rows()
    [('retrieval_gt', 1, 'qrels do not say which documents are alternatives')]
    """
    questions = _read(qa, ("qid", "query", GOLD, "generation_gt"))
    table = questions.with_columns(
        _groups(GOLD, questions.schema[GOLD]),
        _listed("generation_gt", questions.schema["generation_gt"]),
    )
    for path in results:
        table = _beside(table, _read(path, ()), path)
    known = {"qid": "query_id", "query": "user_input", "generation_gt": "references"}
    names = {**known, **RESULTS}
    table = table.rename({old: new for old, new in names.items() if old in table.columns})
    samples = table.with_columns(reference_context_ids=_flat_gold(table))
    if corpus is not None:
        samples = _with_gold_texts(samples, _read(corpus, ("doc_id", "contents")), corpus)
    samples = conform(samples, "samples", duplicates="check")
    run, repeats = _run(samples)
    return AutoRag(samples, _qrels(samples), run, _read_losses(samples, repeats))


def write_autorag(
    samples: Any,
    qa: PathLike,
    *,
    results: PathLike | None = None,
    overwrite: bool = False,
) -> pl.DataFrame:
    """Write samples as AutoRAG's `qa.parquet` and, if asked, one file of results.

    Parameters
    ----------
    samples
        Samples of one system in any shape that `evaluate_rag` takes, with `query_id` and
        `user_input`. Gold documents come from `retrieval_gt` where there is such a column, else
        from `reference_context_ids`, each needed by itself.
    qa
        Where the questions and their gold go: `qid`, `query`, `retrieval_gt`, `generation_gt`.
    results
        Where the other columns go, one row for each question in the same order: what was retrieved
        and answered under AutoRAG's names, further columns under their own.
    overwrite
        Replace files that exist.

    Returns
    -------
    polars.DataFrame
        What the files do not hold: `column`, `n_samples`, `what`.

    Raises
    ------
    ColumnError
        `query_id` or `user_input` is missing.
    RowError
        Samples of several systems, whose questions would stand in the file more than once.
    FileExistsError
        A file exists, and `overwrite` is not set. Then nothing is written at all.
    """
    samples = collected(samples_from_any(samples), "samples", "check")
    lacking = [name for name in ("query_id", "user_input") if name not in samples.columns]
    if lacking:
        raise ColumnError(f"AutoRAG's questions need {', '.join(lacking)}, which the samples lack")
    _refuse_repeated(samples)
    questions = samples.select(
        qid="query_id",
        query="user_input",
        retrieval_gt=_gold_groups(samples),
        generation_gt=_gold_answers(samples),
    )
    named = {new: old for old, new in RESULTS.items()}
    taken = {"query_id", "user_input", "reference", "references", "reference_context_ids", GOLD}
    rest = [name for name in samples.columns if name not in {*taken, "reference_contexts"}]
    tables = [questions]
    if results is not None:
        tables.append(samples.select(pl.col(name).alias(named.get(name, name)) for name in rest))
    paths = [qa] if results is None else [qa, results]
    with beside_all(paths, overwrite=overwrite) as parts:
        for table, part in zip(tables, parts, strict=True):
            table.write_parquet(part)
    return _written_losses(samples, [] if results is not None else rest)


def _refuse_repeated(samples: pl.DataFrame) -> None:
    again = samples.with_row_index("row").filter(pl.col("query_id").is_duplicated())
    if again.height:
        raise RowError(
            "AutoRAG's files hold one system, a row for each question, and here questions stand "
            "more than once. Write each system by itself. First rows:\n"
            + first_rows(again.select("row", *(c for c in SAMPLES.key if c in again.columns)))
        )


def _read(path: PathLike, needed: tuple[str, ...]) -> pl.DataFrame:
    try:
        table = pl.read_parquet(Path(path))
    except (pl.exceptions.ComputeError, pl.exceptions.SchemaError) as error:
        raise ReadError(f"{path} cannot be read as Parquet: {error}") from error
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise ColumnError(
            f"{path} lacks {', '.join(missing)}; found: {', '.join(table.columns) or 'no columns'}"
        )
    return table


def _beside(table: pl.DataFrame, result: pl.DataFrame, path: PathLike) -> pl.DataFrame:
    if result.height != table.height:
        raise RowError(
            f"{path} has {result.height} rows and there are {table.height} questions; AutoRAG's "
            "results go with the questions row by row"
        )
    same = [name for name in result.columns if name in table.columns]
    if same:
        raise ColumnError(f"{path} has {', '.join(same)}, which another file has too")
    return table.hstack(result)


def _listed(name: str, dtype: pl.DataType) -> pl.Expr:
    """A single value as a list of one."""
    values = pl.col(name)
    if isinstance(dtype, pl.List):
        return values
    return pl.when(values.is_not_null()).then(pl.concat_list(values)).alias(name)


def _groups(name: str, dtype: pl.DataType) -> pl.Expr:
    """A value or a list of values as a list of groups; each value of a list is a group of one."""
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.List):
        return pl.col(name)
    return _listed(name, dtype).list.eval(pl.concat_list(pl.element()))


def _flat_gold(samples: pl.DataFrame) -> pl.Expr:
    """All documents of the groups, each once, in their order."""
    groups = _groups(GOLD, samples.schema[GOLD])
    return groups.list.eval(pl.element().list.explode()).list.unique(maintain_order=True)


def _with_gold_texts(samples: pl.DataFrame, corpus: pl.DataFrame, path: PathLike) -> pl.DataFrame:
    """The samples with the texts of their gold documents."""
    gold = (
        samples.select("query_id", doc_id="reference_context_ids")
        .explode("doc_id", empty_as_null=False, keep_nulls=False)
        .join(corpus.select("doc_id", "contents"), on="doc_id", how="left", maintain_order="left")
    )
    absent = gold.filter(pl.col("contents").is_null()).drop("contents")
    if absent.height:
        raise RowError(
            f"{absent.height} gold documents are not in {path}. First rows:\n{first_rows(absent)}"
        )
    texts = gold.group_by("query_id").agg(reference_contexts="contents")
    return samples.join(texts, on="query_id", how="left", maintain_order="left")


def _qrels(samples: pl.DataFrame) -> pl.DataFrame:
    return (
        samples.select("query_id", doc_id="reference_context_ids", relevance=1)
        .explode("doc_id", empty_as_null=False, keep_nulls=False)
        .with_columns(pl.col("relevance").cast(pl.Int64))
    )


def _run(samples: pl.DataFrame) -> tuple[pl.DataFrame | None, int]:
    """The retrieved documents as a run, and how many samples repeat a document."""
    if "retrieved_context_ids" not in samples.columns:
        return None, 0
    ids = pl.col("retrieved_context_ids")
    rank = pl.int_ranges(1, ids.list.len().cast(pl.Int64) + 1)
    scored = "retrieve_scores" in samples.columns
    scores = pl.col("retrieve_scores") if scored else -rank
    if scored:
        _refuse_unequal(samples)
    long = samples.select(
        "query_id", doc_id=ids, score=scores.cast(pl.List(pl.Float64)), rank=rank
    ).explode("doc_id", "score", "rank", empty_as_null=False, keep_nulls=False)
    run = long.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    repeats = samples.select((ids.list.n_unique() < ids.list.len()).sum()).item()
    return run, int(repeats or 0)


def _refuse_unequal(samples: pl.DataFrame) -> None:
    sizes = samples.select(
        "query_id",
        n_ids=pl.col("retrieved_context_ids").list.len(),
        n_scores=pl.col("retrieve_scores").list.len(),
    )
    unequal = sizes.filter(pl.col("n_ids").ne_missing(pl.col("n_scores")))
    if unequal.height:
        raise RowError(
            "each retrieved document needs its score, and these questions have not as many scores "
            f"as documents:\n{first_rows(unequal)}"
        )


def _gold_groups(samples: pl.DataFrame) -> pl.Expr:
    if GOLD in samples.columns:
        return _groups(GOLD, samples.schema[GOLD])
    if "reference_context_ids" in samples.columns:
        return _groups("reference_context_ids", samples.schema["reference_context_ids"])
    return pl.lit(None, pl.List(pl.List(pl.String)))


def _gold_answers(samples: pl.DataFrame) -> pl.Expr:
    """`references`, then `reference` where it is not among them."""
    several = pl.col("references") if "references" in samples.columns else None
    one = pl.col("reference") if "reference" in samples.columns else None
    if one is None:
        return pl.lit(None, pl.List(pl.String)) if several is None else several
    alone = pl.when(one.is_not_null()).then(pl.concat_list(one))
    if several is None:
        return alone
    more = one.is_not_null() & ~several.list.contains(one).fill_null(False)
    both = pl.concat_list(several.fill_null(pl.lit([], pl.List(pl.String))), one)
    return pl.when(more).then(both).otherwise(several)


def _read_losses(samples: pl.DataFrame, repeats: int) -> pl.DataFrame:
    choices = pl.col(GOLD).list.eval(pl.element().list.len() > 1).list.any().sum()
    losses = [
        (GOLD, samples.select(choices).item(), "qrels do not say which documents are alternatives"),
        ("retrieved_context_ids", repeats, "the run has a repeated document once"),
    ]
    return _losses(losses)


def _written_losses(samples: pl.DataFrame, dropped: list[str]) -> pl.DataFrame:
    given = {name: samples[name].count() for name in samples.columns}
    losses = [(name, given[name], "dropped: there is no file of results") for name in dropped]
    if {GOLD, "reference_context_ids"} <= {*samples.columns}:
        other = _flat_gold(samples).list.set_symmetric_difference("reference_context_ids")
        n_other = samples.select((other.list.len() > 0).sum()).item()
        losses.append(("reference_context_ids", n_other, "dropped: retrieval_gt has other ids"))
    if "reference_contexts" in samples.columns:
        name = "reference_contexts"
        losses.append((name, given[name], "dropped: AutoRAG keeps gold passages in the corpus"))
    return _losses(losses)


def _losses(rows: list[tuple[str, int, str]]) -> pl.DataFrame:
    return pl.DataFrame([row for row in rows if row[1]], schema=LOSSES, orient="row")
