"""Lines: a metric over its cut-offs, and precision over recall."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from evalframe.errors import EvalframeError, MetricError, OptionError
from evalframe.metrics import Metric
from evalframe.plots.theme import (
    WIDTH,
    axis_of,
    finished,
    number_axis,
    rows_of,
    system_channels,
)
from evalframe.plots.values import (
    PerQuery,
    Source,
    Values,
    most_of,
    parsed,
    rows_and_metrics,
    values_of,
)
from evalframe.ranking.prepared import PreparedQrels
from evalframe.scoring import Contract, listed, score

if TYPE_CHECKING:
    import altair as alt

__all__ = ["curves", "precision_recall"]

RECALLS = tuple(tenth / 10 for tenth in range(11))


class Scorable(PerQuery, Protocol):
    """A report that still has what it was made of."""

    @property
    def contract(self) -> Contract:
        """What counted, and how."""

    @property
    def qrels(self) -> PreparedQrels:
        """The judgements."""

    @property
    def run(self) -> pl.DataFrame | pl.LazyFrame:
        """The lists."""


def curves(
    report: Source, metric: str | None = None, *, systems: Sequence[str] | None = None
) -> alt.LayerChart | alt.VConcatChart:
    """A metric over its cut-offs, one line for each system.

    Parameters
    ----------
    report
        A report, a comparison or a frame that has a metric at two cut-offs or more, such as
        `ndcg@1`, `ndcg@5`, `ndcg@10`.
    metric
        Which one: `ndcg`, or with its parameters `ndcg(gain=exp)`. Without it, every metric with
        two cut-offs is drawn, each in its own panel.
    systems
        Which systems. Without it all, or the 21 best.

    Returns
    -------
    altair.LayerChart or altair.VConcatChart
        A point for each system and cut-off: the mean over its queries (or the sum or geometric
        mean, where that is how the metric is summed up).

    Raises
    ------
    MetricError
        No metric at two cut-offs.
    MissingExtraError
        Altair is not installed.

    Examples
    --------
    >>> import evalframe as evf
    >>> from evalframe import plots
    >>> metrics = ["mrr@1", "mrr@5", "mrr@10"]
    >>> report = evf.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, metrics)
    >>> [(row["cutoff"], row["value"]) for row in plots.curves(report).data.values]
    [(1, 0.0), (5, 0.5), (10, 0.5)]
    """
    families = _families(report)
    if metric is not None:
        wanted = _stem_of(metric)
        families = {stem: at for stem, at in families.items() if stem == wanted}
    drawn = {stem: at for stem, at in families.items() if len(at) > 1}
    if not drawn:
        raise MetricError(_too_few(metric, families))
    first = next(iter(drawn.values()))
    shown, note = values_of(report, first[max(first)]).chosen(systems)
    charts = [_curve(report, stem, at, shown, note) for stem, at in drawn.items()]
    if len(charts) == 1:
        title, subtitle, chart = charts[0]
        return finished(chart, title, *subtitle)
    return _stacked(charts)


def precision_recall(report: Scorable, *, systems: Sequence[str] | None = None) -> alt.LayerChart:
    """Interpolated precision at the recalls 0, 0.1, … 1, one line for each system.

    Parameters
    ----------
    report
        A report. Where `iprec@0.0(rounding=up)` to `iprec@1.0(rounding=up)` are not all among its
        metrics, its run is scored once more, under the same contract.
    systems
        Which systems. Without it all, or the 21 best.

    Returns
    -------
    altair.LayerChart
        A point for each system and recall: the mean over its queries of the highest precision at
        that recall or beyond it. A recall is reached with the ⌊R · recall + 0.9⌋-th of R relevant
        documents, as in textbooks and in trec_eval 9; trec_eval 10, and so `iprec@0.7` without
        `rounding=up`, takes the nearest instead, which may lie short of it.

    Raises
    ------
    OptionError
        The metrics are not there, and the report has no run (it was read from a file).
    MissingExtraError
        Altair is not installed.

    Examples
    --------
    >>> import evalframe as evf
    >>> from evalframe import plots
    >>> report = evf.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, ["mrr"])
    >>> [row["value"] for row in plots.precision_recall(report).data.values][:3]
    [0.5, 0.5, 0.5]
    """
    source, names = _with_precisions(report)
    points = {recall: values_of(source, name) for recall, name in names.items()}
    first = points[0.0]
    shown, note = first.chosen(systems)
    rows = _points(points, shown, "recall", dict.fromkeys(names.values(), "mean"))
    chart = _lines(
        rows,
        "recall",
        {"title": "recall (share of the relevant documents)", "values": list(RECALLS)},
        {"domain": [0, 1]},
        "precision, interpolated (mean)",
        (0.0, 1.0),
    )
    counted = f"highest precision at that recall or beyond it; {first.counted(shown)}"
    return finished(chart, "Precision over recall", counted, note)


def _with_precisions(report: Scorable) -> tuple[Source, dict[float, str]]:
    """A source with the eleven precisions, and the name of each by its recall."""
    _, metrics, _ = rows_and_metrics(report)
    found = {}
    for name in metrics:
        read = parsed(name)
        if read is not None and read.definition.name == "iprec":
            given = dict(read.parameters)
            recall = given.pop("recall")
            if given == {"rounding": "up"}:
                found[float(recall)] = name
    if set(RECALLS) <= found.keys():
        return report, {recall: found[recall] for recall in RECALLS}
    names = {recall: f"iprec(rounding=up)@{recall:.1f}" for recall in RECALLS}
    try:
        qrels, run, contract = report.qrels, report.run, report.contract
    except (AttributeError, EvalframeError) as error:
        raise OptionError(
            "precision over recall needs the qrels and the run, which this report does not hold: "
            f"ask evaluate for the metrics {names[0.0]}, {names[0.1]}, … {names[1.0]} before it "
            "is stored"
        ) from error
    scored = score(qrels, run, listed(names.values(), contract.rel), contract)
    return scored.per_query, names


def _families(report: Source) -> dict[str, dict[int, str]]:
    """Each metric without its cut-off, and its name at each cut-off it has."""
    found: dict[str, dict[int, str]] = {}
    for name in rows_and_metrics(report)[1]:
        read = parsed(name)
        k = None if read is None else dict(read.parameters).get("k")
        if read is not None and read.definition.at == "k" and k is not None:
            found.setdefault(_stem(read), {}).setdefault(k, name)
    return {stem: dict(sorted(at.items())) for stem, at in found.items()}


def _stem(metric: Metric) -> str:
    return re.sub(r"@\d+$", "", str(metric))


def _stem_of(metric: str) -> str:
    """`ndcg`, whether it was asked for as `ndcg`, `nDCG` or `ndcg@10`."""
    read = parsed(metric) or parsed(f"{metric}@10")
    if read is None:
        raise MetricError(f"unknown metric {metric!r}; name it like 'ndcg'")
    return _stem(read)


def _too_few(metric: str | None, families: Mapping[str, Mapping[int, str]]) -> str:
    name = next(iter(families), "ndcg") if metric is None else _stem_of(metric)
    has = ", ".join(spelt for at in families.values() for spelt in at.values())
    asked = ", ".join(f"'{name}@{k}'" for k in (1, 3, 5, 10, 20))
    return (
        f"a curve needs {name if metric else 'a metric'} at two cut-offs or more, and the report "
        f"has {has or 'none'}: evaluate with metrics=[{asked}]"
    )


def _curve(
    report: Source, stem: str, at: Mapping[int, str], shown: Sequence[str], note: str
) -> tuple[str, tuple[str, ...], alt.LayerChart]:
    """The title, the lines below it, and the chart of one metric."""
    points = {k: values_of(report, name) for k, name in at.items()}
    last = points[max(points)]
    how = {name: _how(report, name) for name in at.values()}
    rows = _points(points, shown, "cutoff", how)
    kind = how[last.metric].replace("_", " ")
    most = most_of(last.metric) if kind != "sum" else None
    span = axis_of([row["value"] for row in rows], most)
    scale = {"type": "log", "domain": [min(at), max(at)]}
    axis = {
        "title": "cut-off k (documents, logarithmic)",
        "values": list(at),
        "format": "d",
        "labelOverlap": "greedy",
    }
    chart = _lines(rows, "cutoff", axis, scale, f"{stem}@k ({kind})", span)
    lower = "less is better" if last.lower else ""
    cut = "the axis does not begin at 0" if span[0] > 0 else ""
    counted = "; ".join(part for part in (last.counted(shown), lower, cut) if part)
    return f"{stem} by cut-off", (counted, note), chart


def _points(
    points: Mapping[Any, Values], shown: Sequence[str], field: str, how: Mapping[str, str]
) -> list[dict[str, Any]]:
    """A row for each system and level: what the values of the queries come to."""
    return [
        {"system": system, "name": name, field: level, "value": value, "n": n}
        for level, values in points.items()
        for system, name, value, n in values.of(shown)
        .group_by("system", "name", maintain_order=True)
        .agg(_summed_up(how[values.metric]), n=pl.len())
        .sort(pl.col("name").replace_strict({s: i for i, s in enumerate(shown)}))
        .rows()
    ]


def _summed_up(how: str) -> pl.Expr:
    value = pl.col("value")
    if how == "geometric_mean":
        return value.log().mean().exp()
    return value.sum() if how == "sum" else value.mean()


def _how(report: Source, name: str) -> str:
    said = getattr(report, "how", None)
    return str(said[name]) if isinstance(said, Mapping) and name in said else "mean"


def _lines(
    rows: list[dict[str, Any]],
    field: str,
    x_axis: dict[str, Any],
    x_scale: dict[str, Any],
    y_title: str,
    span: tuple[float, float],
) -> alt.LayerChart:
    data = rows_of(rows)
    import altair as alt

    base = alt.Chart().encode(
        x=alt.X(f"{field}:Q", scale=alt.Scale(**x_scale), axis=alt.Axis(grid=False, **x_axis)),
        y=alt.Y(
            "value:Q",
            scale=alt.Scale(domain=list(span)),
            axis=number_axis(y_title, *span),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="system"),
            alt.Tooltip(f"{field}:Q"),
            alt.Tooltip("value:Q", format=".4f"),
            alt.Tooltip("n:Q", title="n"),
        ],
    )
    channels = system_channels(list(dict.fromkeys(row["system"] for row in rows)))
    line = base.mark_line(strokeWidth=2).encode(**channels)
    point = base.mark_point(filled=True, size=36, opacity=1).encode(color=channels["color"])
    return alt.LayerChart(data=data, layer=[line, point]).properties(width=WIDTH, height=300)


def _stacked(
    charts: list[tuple[str, tuple[str, ...], alt.LayerChart]],
) -> alt.VConcatChart:
    """One panel below the other, each with its own title."""
    import altair as alt

    panels = [
        chart.properties(
            height=220,
            title=alt.TitleParams(title, subtitle=[s for s in subtitle if s], fontSize=13),
        )
        for title, subtitle, chart in charts
    ]
    names = ", ".join(title.removesuffix(" by cut-off") for title, _, _ in charts)
    return finished(alt.VConcatChart(vconcat=panels), f"By cut-off: {names}")
