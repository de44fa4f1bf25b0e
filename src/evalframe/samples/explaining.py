"""One sample looked at closely: what its response lacks, and which context held what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.columns import SAMPLES
from evalframe.errors import OptionError, did_you_mean
from evalframe.metrics.answers import references_of
from evalframe.metrics.rag_catalogue import choose
from evalframe.metrics.rag_values import rag_values
from evalframe.samples.covering import passage_coverage
from evalframe.samples.differing import token_differences
from evalframe.samples.held import held_samples, with_row
from evalframe.samples.sample_page import sample_html
from evalframe.tables import ROWS_SHOWN, shortened, text_table
from evalframe.text import Profile, tokens

__all__ = ["ExplainedSample", "explain_sample"]

OF_REFERENCES = ("exact_match", "token_f1", "token_precision", "token_recall")
LONGEST_TEXT = 80


@dataclass(frozen=True, repr=False, eq=False)
class ExplainedSample:
    """One sample, as frames; a notebook shows it with its words marked.

    Attributes
    ----------
    query_id, system
        Which sample; `system` is None where the samples have none.
    user_input, response
        The question and the answer, None where there is none.
    references
        A row for each reference: `reference` (index), `text`, `exact_match`, `token_f1`,
        `token_precision`, `token_recall` of the response against it alone, and `best`.
    tokens
        A row for each token of the response and its best reference: `token`, `n_response`,
        `n_reference`, `verdict` (`shared`, `missing`, `extra`: missing and extra where one has more
        of it than the other); those that differ most come first.
    contexts
        `context` (index) and `text` of what was retrieved, and of each the `passage` that it holds
        most of, with `share` and `covered`.
    passages
        `passage` (index) and `text` of the gold passages, and of each the `context` that holds most
        of it, with `share` and `covered`.
    coverage
        The sample's rows of `passage_coverage`.
    profile, threshold
        What counted as the same words, and as covered.
    """

    query_id: str
    system: str | None
    user_input: str | None
    response: str | None
    references: pl.DataFrame
    tokens: pl.DataFrame
    contexts: pl.DataFrame
    passages: pl.DataFrame
    coverage: pl.DataFrame
    profile: Profile
    threshold: float

    def __repr__(self) -> str:
        """The question, the response, and what stands against it, as plain text."""
        differing = self.tokens.filter(pl.col("verdict") != "shared")
        parts = [
            f"sample {self.query_id!r}" + (f" of {self.system!r}" if self.system else ""),
            f"user_input: {self.user_input}",
            f"response: {self.response}",
            text_table(self._references_in_short(), ROWS_SHOWN),
            text_table(differing, ROWS_SHOWN) if differing.height else "no token differs",
        ]
        if self.coverage.height:
            coverage = self.coverage.drop("system", "query_id", strict=False)
            parts.append(text_table(coverage, ROWS_SHOWN))
        return "\n".join(parts)

    def _references_in_short(self) -> pl.DataFrame:
        texts = [shortened(text, LONGEST_TEXT) for text in self.references["text"]]
        return self.references.with_columns(pl.Series("text", texts, dtype=pl.String))

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """The sample as a piece of HTML, with matching words marked and every text escaped.

        It holds no script and loads nothing, so that it can stand in any page.
        """
        return sample_html(self)


def explain_sample(
    samples: Any,
    query_id: str,
    *,
    system: str | None = None,
    threshold: float = 0.8,
    profile: Profile | None = None,
    columns: Mapping[str, str] | None = None,
) -> ExplainedSample:
    """Look at one sample: which words match, and which context covers which gold passage.

    Parameters
    ----------
    samples
        A `RagReport`, or samples as `per_sample` takes them.
    query_id
        Which sample. Samples that came without ids are numbered from `"0"`.
    system
        Whose, where the samples have several systems.
    threshold
        The share of a passage's tokens from which a context covers it.
    profile
        What counts as the same words: `squad_v1` (or the report's), `squad_v2`, `unicode`, `cjk`.
    columns
        The house's name → the data's own name, where it is not a known one.

    Returns
    -------
    ExplainedSample
        Frames (`references`, `tokens`, `contexts`, `passages`, `coverage`); a notebook shows the
        texts with their matching words marked.

    Raises
    ------
    OptionError
        No such sample, or several.
    EvalframeError
        What `per_sample` raises.

    Examples
    --------
    >>> sample = explain_sample(
    ...     [{"query_id": "7", "response": "It is Paris", "references": ["Lyon", "Paris, France"]}],
    ...     "7",
    ... )
    >>> sample.tokens.rows()  # doctest: +NORMALIZE_WHITESPACE
    [('france', 0, 1, 'missing'), ('is', 1, 0, 'extra'), ('it', 1, 0, 'extra'),
     ('paris', 1, 1, 'shared')]
    >>> sample.references.select("reference", "token_recall", "best").rows()
    [(0, 0.0, False), (1, 0.5, True)]
    """
    (choice,) = choose(f"context_coverage@{threshold}")
    frame, chosen = held_samples(samples, profile, columns)
    one = _one_of(frame, str(query_id), system)
    one = one.select(name for name in SAMPLES.roles if name in one.columns)
    given = dict.fromkeys(TEXTS) | one.row(0, named=True)
    differing = token_differences(one, profile=chosen)
    coverage = (
        passage_coverage(one, threshold, profile=chosen)
        if given["reference_contexts"] is not None
        else _no_coverage(one)
    )
    references = _references(one, chosen, differing["best_reference"][0])
    return ExplainedSample(
        query_id=str(query_id),
        system=one["system"][0] if "system" in one.columns else None,
        user_input=given["user_input"],
        response=given["response"],
        references=references,
        tokens=_tokens(given["response"], differing["best_reference_text"][0], chosen),
        contexts=_texts(given["retrieved_contexts"], coverage, "context", "passage"),
        passages=_texts(given["reference_contexts"], coverage, "passage", "context"),
        coverage=coverage,
        profile=chosen,
        threshold=float(choice.threshold or threshold),
    )


TEXTS = ("user_input", "response", "retrieved_contexts", "reference_contexts")


def _one_of(frame: pl.DataFrame, query_id: str, system: str | None) -> pl.DataFrame:
    rows = frame.filter(pl.col("query_id") == query_id)
    if rows.height == 0:
        hint = did_you_mean(query_id, frame["query_id"].unique().to_list())
        raise OptionError(f"no sample {query_id!r}{hint}")
    if "system" not in rows.columns:
        if system is not None:
            raise OptionError(f"system={system!r}: the samples have no column 'system'")
        return rows.head(1)
    if system is not None:
        systems = rows["system"].to_list()
        rows = rows.filter(pl.col("system") == system)
        if rows.height == 0:
            raise OptionError(f"system={system!r}: sample {query_id!r} is of {systems}")
    if rows.height > 1:
        raise OptionError(
            f"sample {query_id!r} is there {rows.height} times: choose one with system=, of "
            f"{rows['system'].to_list()}"
        )
    return rows


def _no_coverage(one: pl.DataFrame) -> pl.DataFrame:
    empty = one.with_columns(reference_contexts=pl.lit([], pl.List(pl.String)))
    return passage_coverage(empty)


def _references(one: pl.DataFrame, profile: Profile, best: int | None) -> pl.DataFrame:
    """The references, each scored as if it were the only one."""
    rows = with_row(one, ["response", "reference", "references"])
    texts = references_of(rows, profile)
    alone = texts.select(response=pl.lit(rows["response"][0], pl.String), reference="text")
    if alone.height == 0:
        values = pl.DataFrame(schema=dict.fromkeys(OF_REFERENCES, pl.Float64))
    else:
        values = rag_values(alone, choose(OF_REFERENCES), profile).select(OF_REFERENCES)
    return (
        texts.select("reference", "text")
        .hstack(values)
        .with_columns(best=pl.col("reference").eq_missing(pl.lit(best, pl.Int64)))
    )


def _tokens(response: str | None, reference: str | None, profile: Profile) -> pl.DataFrame:
    """How often both texts have each token."""
    sides = {
        "n_response": tokens(response or "", profile),
        "n_reference": tokens(reference or "", profile),
    }
    counts = [
        pl.DataFrame({"token": words}, schema={"token": pl.String}).group_by("token").len(name)
        for name, words in sides.items()
    ]
    ours, theirs = pl.col("n_response"), pl.col("n_reference")
    both = counts[0].join(counts[1], on="token", how="full", coalesce=True)
    return (
        both.with_columns(pl.col(*sides).fill_null(0).cast(pl.Int64))
        .with_columns(
            verdict=pl.when(ours < theirs)
            .then(pl.lit("missing"))
            .when(ours > theirs)
            .then(pl.lit("extra"))
            .otherwise(pl.lit("shared"))
        )
        .sort(pl.col("verdict").replace_strict(ORDER), (ours - theirs).abs(), "token",
              descending=[False, True, False])
        .select("token", *sides, "verdict")
    )  # fmt: skip


ORDER = {"missing": 0, "extra": 1, "shared": 2}


def _texts(
    texts: list[str | None] | None, coverage: pl.DataFrame, own: str, other: str
) -> pl.DataFrame:
    """Texts with their index, and beside each the text of the other side that is nearest to it."""
    best = (
        coverage.drop_nulls([own, other])
        .sort("share", other, descending=[True, False], nulls_last=True)
        .group_by(own, maintain_order=True)
        .first()
        .select(own, other, "share", "covered")
    )
    frame = pl.DataFrame({"text": texts or []}, schema={"text": pl.String})
    return (
        frame.with_columns(pl.col("text").fill_null(""))
        .with_columns(pl.int_range(pl.len()).alias(own))
        .join(best, on=own, how="left", maintain_order="left")
        .select(own, "text", other, "share", "covered")
    )
