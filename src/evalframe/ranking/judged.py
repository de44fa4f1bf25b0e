"""The judged frame: every judgement, with the place the run gave the document.

Only judged documents are ranked. An unjudged document matters by the place it takes, so that every
ranking metric is a function of the judged rows and of how many documents were retrieved.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack, overload

import polars as pl

from evalframe.errors import OptionError, one_of
from evalframe.frames import Duplicates, Frame, fails_where
from evalframe.inputs import qrels_frame, run_frame
from evalframe.ranking.matching import Placed, place, refuse_repeats
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.ranking.streaming import place_plan
from evalframe.ranking.subtopics import SUBTOPICS, join_subtopics
from evalframe.ranking.ties import TieRule, Ties

__all__ = [
    "Judged",
    "Order",
    "OrderSettings",
    "judge",
    "judged_frame",
    "judged_plan",
    "rank_in_list",
]

ALWAYS = ("unit", "relevance")
COLUMNS = ("query_id", "doc_id", "relevance", "score", "rank", "ideal_rank", "n_retrieved")


@dataclass(frozen=True)
class Order:
    """How a run is put in order, and how much of it is looked at.

    Attributes
    ----------
    ties
        What stands first among documents of equal score: the greater doc_id by bytes, as in
        trec_eval (`trec`), the smaller (`doc_asc`), or what the run's `rank` column, or else the
        order of its rows, says (`given`).
    score_dtype
        Float64 as in trec_eval 10, or Float32 as in trec_eval 9 and pytrec_eval, where scores that
        differ in the eighth digit are ties.
    judged_only
        Take documents without a judgement out of the list before ranking (trec_eval's -J).
    depth
        Look at this many documents of each query only (trec_eval's -M).
    """

    ties: Ties = "trec"
    score_dtype: Any = pl.Float64
    judged_only: bool = False
    depth: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is not offered."""
        one_of("ties", self.ties, ("trec", "doc_asc", "given"))
        one_of("score_dtype", self.score_dtype, (pl.Float64, pl.Float32))
        if self.depth is not None and (not isinstance(self.depth, int) or self.depth < 1):
            raise OptionError(f"depth must be a whole number of at least 1, not {self.depth!r}")


class OrderSettings(TypedDict, total=False):
    """The keywords of `judge`: those of `Order`, and what to do about duplicates."""

    ties: Ties
    score_dtype: Any
    judged_only: bool
    depth: int | None
    duplicates: Duplicates


@overload
def judge(qrels: Any, run: pl.LazyFrame, **settings: Unpack[OrderSettings]) -> pl.LazyFrame: ...
@overload
def judge(qrels: pl.LazyFrame, run: Any, **settings: Unpack[OrderSettings]) -> pl.LazyFrame: ...
@overload
def judge(qrels: Any, run: Any, **settings: Unpack[OrderSettings]) -> pl.DataFrame: ...
def judge(
    qrels: Any,
    run: Any,
    *,
    ties: Ties = "trec",
    score_dtype: Any = pl.Float64,
    judged_only: bool = False,
    depth: int | None = None,
    duplicates: Duplicates = "error",
) -> pl.DataFrame | pl.LazyFrame:
    """The judged frame: every judgement, with the place the run gave the document.

    Parameters
    ----------
    qrels, run
        Frames, dicts or paths. A run with a `system` column is judged system by system.
    ties, score_dtype, judged_only, depth
        How the run is put in order; see `evalframe.ranking.Order`.
    duplicates
        See `evalframe.frames.Duplicates`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row for each judgement (of each system): `query_id`, `doc_id`, `relevance`, `score`,
        `rank` (1 is first; null where the document was not retrieved), `ideal_rank` (1 has the
        highest grade) and `n_retrieved` of its query. By query_id, then by ideal_rank. Lazy where
        the run or the qrels are. Where the qrels judge by subtopic, a document stands once, with
        its highest grade, and `subtopics` lists its judgements.

    Examples
    --------
    >>> import evalframe as evf
    >>> evf.judge({"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "x": 1.0}})
    shape: (2, 7)
    ┌──────────┬────────┬───────────┬───────┬──────┬────────────┬─────────────┐
    │ query_id ┆ doc_id ┆ relevance ┆ score ┆ rank ┆ ideal_rank ┆ n_retrieved │
    │ ---      ┆ ---    ┆ ---       ┆ ---   ┆ ---  ┆ ---        ┆ ---         │
    │ str      ┆ str    ┆ i64       ┆ f64   ┆ u32  ┆ u32        ┆ u32         │
    ╞══════════╪════════╪═══════════╪═══════╪══════╪════════════╪═════════════╡
    │ q        ┆ b      ┆ 2         ┆ null  ┆ null ┆ 1          ┆ 2           │
    │ q        ┆ a      ┆ 1         ┆ 2.0   ┆ 1    ┆ 2          ┆ 2           │
    └──────────┴────────┴───────────┴───────┴──────┴────────────┴─────────────┘
    """
    order = Order(ties, score_dtype, judged_only, depth)
    run = run_frame(run, duplicates=duplicates)
    if isinstance(run, pl.LazyFrame) or isinstance(qrels, pl.LazyFrame):
        given = qrels.with_subtopics if isinstance(qrels, PreparedQrels) else qrels_frame(qrels)
        return judged_plan(given.lazy(), run.lazy(), order)
    judged = judged_frame(prepare(qrels), run, order).judged
    shown = ("system", *COLUMNS, SUBTOPICS)
    return judged.select(*(name for name in shown if name in judged.columns))


@dataclass(frozen=True)
class Judged:
    """A judged frame in memory, with what else was seen of the run.

    Attributes
    ----------
    judged
        The judged frame, with `unit`, the number of the row in `units`.
    units
        Who is scored: every query of the qrels, for every system; `n_retrieved` is 0 where the run
        has nothing.
    groups
        Every query of the run, judged or not, with how many documents it has.
    """

    judged: pl.DataFrame
    units: pl.DataFrame
    groups: pl.DataFrame


def judged_frame(
    prepared: PreparedQrels,
    run: pl.DataFrame | pl.LazyFrame,
    order: Order,
    progress: bool | None = False,
    only: Collection[str] | None = None,
) -> Judged:
    """Rank the judged documents of a run; a lazy run is never held whole.

    With `only`, ids and scores that nobody reads are not spread over the systems.
    """
    if isinstance(run, pl.DataFrame):
        placed = place(prepared, run, order.ties, order.score_dtype)
    else:
        placed = place_plan(prepared, run, order.ties, order.score_dtype, progress)
    pairs, units = _for_each_system(prepared, placed, only)
    units = units.hstack([_lengths(units, placed.groups)])
    slots = placed.matches["slot"]
    found = [name for name in ("score", "rank") if only is None or name in {"rank", *only}]
    judged = pairs.hstack(
        [
            *(_spread(placed.matches[name], slots, pairs.height) for name in found),
            units["n_retrieved"][pairs["unit"]],
        ]
    )
    if judged["rank"].count() < placed.matches.height:
        n = prepared.pairs.height
        again = placed.matches.with_columns(pair=slots % n, system=slots // n)
        refuse_repeats(prepared.pairs, again, ["pair", "system"])
    judged = _look_at(judged, order, ["unit"])
    return Judged(judged, units, placed.groups)


def _lengths(units: pl.DataFrame, groups: pl.DataFrame) -> pl.Series:
    """`n_retrieved` of each unit."""
    keys = units.columns[1:]
    if units[keys].equals(groups[keys]):
        return groups["n_retrieved"]
    found = units.join(groups, on=keys, how="left", maintain_order="left")
    return found["n_retrieved"].fill_null(0).cast(pl.UInt32)


def _spread(values: pl.Series, slots: pl.Series, n: int) -> pl.Series:
    """The values in their slots of a longer column, null elsewhere."""
    nothing = pl.Series(values.name, [None], values.dtype).new_from_index(0, n)
    return nothing.scatter(slots, values)


def rank_in_list(rule: TieRule, keys: list[str]) -> pl.Expr:
    """The rank of each row among the rows of the same keys: by falling score, then by the rule."""
    if rule.greatest_first:
        best_first = pl.struct("score", rule.column).rank("ordinal", descending=True)
    else:
        best_first = pl.struct(-pl.col("score"), rule.column).rank("ordinal")
    return best_first.over(keys).cast(pl.UInt32)


def _for_each_system(
    prepared: PreparedQrels, placed: Placed, only: Collection[str] | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The judgements, and the queries by number, once for each system."""
    pairs, units = _by_unit(prepared.pairs), _by_unit(prepared.queries)
    if only is not None:
        pairs = pairs[[name for name in pairs.columns if name in {*ALWAYS, *only}]]
    if placed.systems is None:
        return pairs, units
    n, systems = prepared.n_queries, placed.systems

    def repeated(frame: pl.DataFrame) -> pl.DataFrame:
        number = pl.int_range(pl.len(), dtype=pl.UInt32) // frame.height
        return pl.concat([frame] * systems.len(), rechunk=True).select(
            pl.col("unit") + number * n,
            # Sorted, as they are: the last bit of a mean over groups hangs on it.
            pl.lit(systems).gather(number).set_sorted().alias("system"),
            pl.exclude("unit"),
        )

    return repeated(pairs), repeated(units)


def _by_unit(frame: pl.DataFrame) -> pl.DataFrame:
    """The number of the query as that of the unit, which comes first."""
    query, *others = frame.get_columns()
    return pl.DataFrame([query.alias("unit"), *others])


def judged_plan(qrels: pl.LazyFrame, run: pl.LazyFrame, order: Order) -> pl.LazyFrame:
    """The judged frame of lazy qrels and run, as one plan of expressions."""
    names = run.collect_schema().names()
    rule = TieRule.of(order.ties, names)
    system = ["system"] if "system" in names else []
    keys = [*system, "query_id"]
    if "subtopic" in qrels.collect_schema().names():
        qrels = join_subtopics(qrels)
    more = [name for name in qrels.collect_schema().names() if name not in COLUMNS]
    qrels = qrels.with_columns(
        ideal_rank=pl.struct("relevance", "doc_id")
        .rank("ordinal", descending=True)
        .over("query_id")
    )
    if rule.column == "row":
        run = run.with_row_index("row")
    elif rule.column == "rank":
        unranked = "a row of the run has no rank, by which ties='given' would order it"
        run = run.with_columns(fails_where(pl.col("rank").is_null(), unranked, "rank", pl.Int64()))
    run = run.join(qrels.select("query_id").unique(), on="query_id", how="semi").with_columns(
        pl.col("score").cast(order.score_dtype)
    )
    ranked = run.select(*keys, "doc_id", "score", rank=rank_in_list(rule, keys))
    lengths = run.group_by(keys).agg(n_retrieved=pl.len().cast(pl.UInt32))
    if system:
        qrels = run.select("system").unique().join(qrels, how="cross")
    judged = (
        qrels.join(ranked, on=[*keys, "doc_id"], how="left")
        .join(lengths, on=keys, how="left")
        .select(
            *system,
            *(pl.col(c) for c in COLUMNS if c != "n_retrieved"),
            pl.col("n_retrieved").fill_null(0),
            *more,
        )
    )
    twice = "a judged document stands more than once for its query; see duplicates='best'"
    repeated = pl.len().over(*keys, "doc_id") > 1
    judged = judged.with_columns(fails_where(repeated, twice, "rank", pl.UInt32()))
    return _look_at(judged, order, keys).sort(*keys, "ideal_rank")


def _look_at(judged: Frame, order: Order, keys: list[str]) -> Frame:
    """Leave out what stands below the depth, then close the gaps of what has no judgement."""
    rank, score, n = pl.col("rank"), pl.col("score"), pl.col("n_retrieved")
    scores = [score] if "score" in judged.collect_schema().names() else []
    if order.depth is not None:
        seen = rank <= order.depth
        judged = judged.with_columns(
            pl.when(seen).then(rank),
            *(pl.when(seen).then(score) for score in scores),
            pl.min_horizontal(n, pl.lit(order.depth, dtype=pl.UInt32)),
        )
    if order.judged_only:
        kept = rank.is_not_null() & (pl.col("relevance") >= 0)
        judged = judged.with_columns(
            pl.when(kept).then(rank).rank("ordinal").over(keys).cast(pl.UInt32),
            *(pl.when(kept).then(score) for score in scores),
            kept.sum().over(keys).cast(pl.UInt32).alias("n_retrieved"),
        )
    return judged
