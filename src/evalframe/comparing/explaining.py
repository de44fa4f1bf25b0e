"""Why two evaluations of the same run differ: one setting at a time, query by query."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.comparing.pasted_numbers import Pasted, pasted, settings_that_fit
from evalframe.comparing.summaries import summaries_of, summarised
from evalframe.errors import MetricError, OptionError
from evalframe.frames import collected
from evalframe.metrics import Metric, parse
from evalframe.ranking.prepared import PreparedQrels
from evalframe.report import Report, evaluate
from evalframe.tables import notebook_table, text_table

__all__ = ["Explanation", "explain_difference"]

SAME = 1e-12
SETTINGS = ("rel", "ties", "score_dtype", "judged_only", "depth", "duplicates", "queries")
"""The order in which settings are turned from the first evaluation's to the second's."""


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """Why two evaluations differ.

    Attributes
    ----------
    summary
        A row for each metric (of each system): `metric`, `value_a`, `value_b`, `difference`
        (b - a), and `left_over` (what no step explains; 0 for two reports). Over queries each
        metric is summed up in its own way (`Report.how`): the mean, the sum, the geometric mean.
    steps
        A row for each metric and setting that was turned, in order: `metric`, `step` (`run`,
        `qrels`, `formula`, or a setting of the contract), `from`, `to`, `before`, `after`,
        `change`, `queries_changed`. Steps go one after another, so that their changes add up.
    per_query
        `query_id`, `metric`, `value_a`, `value_b`, `difference`, a column for each step with what
        it changed, `left_over`, and `reason`: the step that changed most, `only in a`, `only in b`,
        `left over`; null where nothing differs.
    candidates
        Against numbers of another tool: the settings that were tried, those that fit best first
        (`fitting`: how many numbers they give within the tolerance). None for two reports.
    """

    summary: pl.DataFrame
    steps: pl.DataFrame
    per_query: pl.DataFrame
    candidates: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """The summary and the steps as small tables."""
        return "\n".join([text_table(self.summary), "", text_table(self.steps), *self.notes])

    def _repr_html_(self) -> str:
        return notebook_table(self.summary) + notebook_table(self.steps, self.notes)


def explain_difference(
    report_a: Report,
    report_b: Any,
    metrics: str | Iterable[str] | Mapping[str, str] | None = None,
    *,
    tolerance: float | None = None,
) -> Explanation:
    """Why two evaluations of the same run differ.

    Parameters
    ----------
    report_a
        A report.
    report_b
        Another report; or what another tool gave for the same run: metric → value,
        query_id → {metric → value}, or a frame with a row for each query (`query_id` and a column
        for each metric, or `query_id`, `metric`, `value`).
    metrics
        Which metrics; a's name → b's name where the two go by different formulas
        (`{"ndcg@10": "ndcg(gain=exp)@10"}`). Without it, those that both have.
    tolerance
        How far numbers of another tool may lie from ours and still be the same; by their decimals
        without it.

    Returns
    -------
    Explanation
        For two reports, the run is evaluated again with each setting that differs turned from a's
        to b's, one after another. For another tool's numbers, whose settings are not known, the
        settings are searched (order of ties, score type, relevance level, which queries count,
        judged documents alone, depth, and variants of each metric) for those that give them with
        the fewest changes; what these leave is `left_over`.

    Raises
    ------
    MetricError
        No metric in common, or one given as an expression, which cannot be evaluated again.

    Examples
    --------
    >>> import evalframe as evf
    >>> from evalframe.comparing.explaining import explain_difference
    >>> qrels, run = {"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 1.0, "x": 1.0}}
    >>> ours = evf.evaluate(qrels, run, ["mrr"])
    >>> theirs = evf.evaluate(qrels, run, ["mrr"], ties="doc_asc", queries="both")
    >>> explain_difference(ours, theirs).steps.select("step", "from", "to", "change").rows()
    [('ties', 'trec', 'doc_asc', 0.25), ('queries', 'judged', 'both', 0.5)]
    >>> explain_difference(ours, {"mrr": 1.0}).steps.select("step", "to", "after").rows()
    [('ties', 'doc_asc', 0.5), ('queries', 'both', 1.0)]
    """
    if not isinstance(report_a, Report):
        raise OptionError(f"report_a must be a Report, not {type(report_a).__name__}")
    if isinstance(report_b, Report):
        named = _metrics_in_common(report_a, report_b, metrics)
        return _explained(report_a, report_b, {name: name for name in named}, named)
    theirs = pasted(report_b, metrics, tolerance)
    if "system" in report_a.per_query.columns:
        raise OptionError(
            "report_a has several systems; evaluate the one whose numbers these are by itself"
        )
    candidates = settings_that_fit(report_a, theirs)
    best = candidates[0]
    twin = evaluate(
        report_a.qrels, report_a.run, [*dict.fromkeys(best.variants.values())], **best.settings
    )
    found = _explained(report_a, twin, theirs.metrics, best.variants, theirs)
    as_good = sum(other.order[:2] == best.order[:2] for other in candidates) - 1
    notes = [
        f"{best.fitting} of {best.numbers} numbers given by: {best.to_dict()['changed']} changed",
        f"numbers within {theirs.tolerance:.2g} count as the same",
    ]
    if as_good:
        notes.insert(1, f"{as_good} other settings give as many with as few changes: candidates")
    rows = pl.DataFrame([candidate.to_dict() for candidate in candidates])
    return Explanation(found.summary, found.steps, found.per_query, rows, tuple(notes))


def _metrics_in_common(
    a: Report, b: Report, metrics: str | Iterable[str] | Mapping[str, str] | None
) -> dict[str, str]:
    """a's name → b's name."""
    if isinstance(metrics, Mapping):
        named = dict(metrics)
    elif metrics is not None:
        named = {m: m for m in ([metrics] if isinstance(metrics, str) else metrics)}
    else:
        of_b = {_parsed(name): name for name in b.how}
        named = {name: of_b[_parsed(name)] for name in a.how if _parsed(name) in of_b}
        if not named and len(a.how) == len(b.how) == 1:
            named = dict(zip(a.how, b.how, strict=True))
    if not named:
        raise MetricError(
            f"the reports have no metric in common ({', '.join(a.how)}; {', '.join(b.how)}); "
            "say which go together with metrics={a's: b's}"
        )
    for name in (*named, *named.values()):
        parse(name)
    return named


def _parsed(name: str) -> Metric | str:
    try:
        return parse(name)
    except MetricError:
        return name


def _explained(
    a: Report,
    b: Report,
    of_a: Mapping[str, str],
    of_b: Mapping[str, str],
    theirs: Pasted | None = None,
) -> Explanation:
    """The steps from a to b; each metric has a label and the names by which a and b know it."""
    others = {name: other for name, other in of_b.items() if parse(other) != parse(of_a[name])}
    keys: list[str] = [c for c in ("system", "query_id") if c in a.per_query.columns]
    stages = _stages(a, b, of_a, others)
    values = [("value_a", _long(stages[0][3], keys))]
    how = summaries_of(of_a)
    how_now = how
    rows = []
    for number, (step, before, after, frame) in enumerate(stages[1:], 1):
        previous, now = values[-1][1], _long(frame, keys)
        how_before, how_now = how_now, summaries_of(of_b) if step == "formula" else how_now
        row = _step(
            _Turned(previous, how_before), _Turned(now, how_now), (step, before, after), number
        )
        if step == "formula":
            name = pl.col("metric")
            row = row.filter(name.is_in(list(others))).with_columns(
                name.replace_strict(of_a, return_dtype=pl.String).alias("from"),
                name.replace_strict(of_b, return_dtype=pl.String).alias("to"),
            )
        rows.append(row)
        values.append((step, now))
    both = _beside(values, keys)
    last = pl.col(values[-1][0])
    if theirs is not None:
        both = theirs.beside(both)
        known = pl.col("value_b")
    else:
        both = both.with_columns(value_b=last)
        known = last
    slack = SAME if theirs is None else theirs.tolerance
    changes = {
        name: (pl.col(name) - pl.col(before)).alias(name)
        for (before, _), (name, _) in itertools.pairwise(values)
    }
    per_query = both.with_columns(
        *changes.values(), difference=known - pl.col("value_a"), left_over=known - last
    )
    per_query = per_query.with_columns(reason=_reason(list(changes), slack)).select(
        *keys, "metric", "value_a", "value_b", "difference", *changes, "left_over", "reason"
    )
    summary = _summary(both, keys, values[-1][0], theirs, (how, how_now))
    steps = pl.concat(rows).sort("place", "number").drop("place", "number") if rows else _NO_STEPS
    return Explanation(summary, steps, per_query.sort("metric", *keys))


def _stages(
    a: Report, b: Report, of_a: Mapping[str, str], others: Mapping[str, str]
) -> list[tuple[str, str, str, pl.DataFrame]]:
    """What was turned, from what, to what, and the values then, under the metrics' labels."""
    run, run_b = collected(a.run, "run"), collected(b.run, "run")
    qrels, asked = a.qrels, dict(of_a)
    settings = a.contract.settings()
    turned = [("", "", "")]
    states = [(qrels, run, dict(asked), dict(settings))]

    def turn(step: str, before: object, after: object) -> None:
        turned.append((step, str(before), str(after)))
        states.append((qrels, run, dict(asked), dict(settings)))

    if not (run is run_b or run.equals(run_b)):
        rows = run.height
        run = run_b
        turn("run", f"{rows} rows", f"{run.height} rows")
    if not (a.qrels is b.qrels or a.qrels.pairs.equals(b.qrels.pairs)):
        qrels = b.qrels
        turn("qrels", a.qrels, b.qrels)
    if others:
        asked |= others
        turn("formula", "", "")
    for name in SETTINGS:
        before, after = settings[name], getattr(b.contract, name)
        if before != after:
            settings[name] = after
            turn(name, before, after)
    return [(*what, _renamed(*state)) for what, state in zip(turned, states, strict=True)]


def _renamed(
    qrels: PreparedQrels, run: pl.DataFrame, asked: dict[str, str], settings: dict[str, Any]
) -> pl.DataFrame:
    values = evaluate(qrels, run, [*dict.fromkeys(asked.values())], **settings).per_query
    keys: list[str] = [c for c in ("system", "query_id") if c in values.columns]
    return values.select(*keys, *(pl.col(theirs).alias(ours) for ours, theirs in asked.items()))


def _long(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    metrics = [name for name in frame.columns if name not in keys]
    return frame.unpivot(metrics, index=keys, variable_name="metric", value_name="value")


@dataclass(frozen=True)
class _Turned:
    """Values of one state of the settings, and how each metric's values become one there."""

    values: pl.DataFrame
    how: Mapping[str, str]


def _step(
    before: _Turned, after: _Turned, turned: tuple[str, str, str], number: int
) -> pl.DataFrame:
    """What queries sum up to before and after a step, and on how many of them it did something."""
    step, from_, to = turned
    keys = [name for name in before.values.columns if name != "value"]
    both = before.values.join(
        after.values, on=keys, how="full", coalesce=True, maintain_order="left_right"
    )
    moved = (pl.col("value_right") - pl.col("value")).abs() > SAME
    lost = pl.col("value").is_null() != pl.col("value_right").is_null()
    group = [name for name in keys if name != "query_id"]
    frame = (
        both.group_by(group, maintain_order=True)
        .agg(
            pl.lit(step).alias("step"),
            pl.lit(from_).alias("from"),
            pl.lit(to).alias("to"),
            before=summarised("value", before.how),
            after=summarised("value_right", after.how),
            queries_changed=(moved.fill_null(False) | lost).sum(),
        )
        .with_columns(change=pl.col("after") - pl.col("before"))
        .select(*group, "step", "from", "to", "before", "after", "change", "queries_changed")
    )
    return frame.with_row_index("place").with_columns(number=pl.lit(number))


_NO_STEPS = pl.DataFrame(
    schema={
        **dict.fromkeys(("metric", "step", "from", "to"), pl.String),
        **dict.fromkeys(("before", "after", "change"), pl.Float64),
        "queries_changed": pl.UInt32,
    }
)


def _beside(values: list[tuple[str, pl.DataFrame]], keys: list[str]) -> pl.DataFrame:
    first, *others = [frame.rename({"value": name}) for name, frame in values]
    for other in others:
        first = first.join(
            other,
            on=[*keys, "metric"],
            how="full",
            coalesce=True,
            maintain_order="left_right",
        )
    return first


def _reason(steps: list[str], slack: float) -> pl.Expr:
    """The name of what changed most; what no step reaches counts as `left over`."""
    named = {name: pl.col(name).abs().fill_null(0.0) for name in steps}
    left_over = pl.col("left_over").abs().fill_null(0.0)
    named["left over"] = pl.when(left_over > slack).then(left_over).otherwise(0.0)
    greatest = pl.max_horizontal(named.values())
    reason = pl.when(pl.col("value_a").is_null() & pl.col("value_b").is_not_null())
    chosen: Any = reason.then(pl.lit("only in b"))
    chosen = chosen.when(pl.col("value_b").is_null() & pl.col("value_a").is_not_null())
    chosen = chosen.then(pl.lit("only in a"))
    alike = pl.col("difference").abs().fill_null(0.0) <= slack
    chosen = chosen.when(alike | (greatest <= SAME)).then(pl.lit(None, dtype=pl.String))
    for name, size in named.items():
        chosen = chosen.when(size >= greatest).then(pl.lit(name))
    result: pl.Expr = chosen.otherwise(pl.lit(None, dtype=pl.String))
    return result


def _summary(
    both: pl.DataFrame,
    keys: list[str],
    last: str,
    theirs: Pasted | None,
    how: tuple[Mapping[str, str], Mapping[str, str]],
) -> pl.DataFrame:
    group = [*keys[:-1], "metric"]
    how_a, how_b = how
    frame = both.group_by(group, maintain_order=True).agg(
        summarised("value_a", how_a), summarised("value_b", how_b), reached=summarised(last, how_b)
    )
    if theirs is not None:
        frame = theirs.with_means(frame)
    return frame.select(
        *group,
        "value_a",
        "value_b",
        difference=pl.col("value_b") - pl.col("value_a"),
        left_over=pl.col("value_b") - pl.col("reached"),
    )
