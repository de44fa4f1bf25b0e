"""Retrieval and answer in one table: was the context found, and was the answer right?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalframe.errors import ColumnError, EmptyError, MetricError, OptionError
from evalframe.metrics.rag_catalogue import choose
from evalframe.metrics.rag_reasons import OK
from evalframe.samples.held import held_samples
from evalframe.samples.scoring import per_sample
from evalframe.tables import notebook_table, text_table
from evalframe.text import Profile

__all__ = ["TwoByTwo", "two_by_two"]

SIDES = ("found", "right")
CELLS = [(True, True), (True, False), (False, True), (False, False)]
UNDEFINED = [(True, None), (False, None), (None, True), (None, False), (None, None)]
NO_VALUE = "no value"


@dataclass(frozen=True, repr=False, eq=False)
class TwoByTwo:
    """Samples by whether their context was found, and whether their answer was right.

    Attributes
    ----------
    samples
        The samples in their order with all their columns, both values, and `found` and `right`
        (Boolean, null where the value is undefined), `found_status` and `right_status` (`ok`, or
        why there is no value).
    rules
        What `found` and `right` mean, in words: `context_coverage >= 1`.
    """

    samples: pl.DataFrame
    rules: dict[str, str]

    @property
    def table(self) -> pl.DataFrame:
        """`found`, `right`, `n` and `share`: four rows, and one for each undefined sort there is.

        Shares are of the samples that have both values; the others have a null for what is
        undefined, and no share.
        """
        sizes = {
            (found, right): n
            for found, right, n in self.samples.group_by(SIDES).agg(n=pl.len()).rows()
        }
        both = sum(sizes.get(cell, 0) for cell in CELLS)
        inside = [(*cell, sizes.get(cell, 0), sizes.get(cell, 0) / both) for cell in CELLS]
        apart = [(*cell, sizes[cell], None) for cell in UNDEFINED if cell in sizes]
        return pl.DataFrame([*inside, *apart], schema=TABLE, orient="row")

    def cell(self, *, found: bool | None, right: bool | None) -> pl.DataFrame:
        """The samples of one cell, in their order; None for what is undefined.

        >>> samples = [{"response": "5", "reference": "4", "hit": 1.0}]
        >>> two_by_two(samples, found="hit").cell(found=True, right=False)["query_id"].to_list()
        ['0']
        """
        for name, wanted in zip(SIDES, (found, right), strict=True):
            if wanted not in (True, False, None):
                raise OptionError(f"{name}={wanted!r}: it is True, False or None (undefined)")
        return self.samples.filter(
            pl.col("found").eq_missing(pl.lit(found, pl.Boolean)),
            pl.col("right").eq_missing(pl.lit(right, pl.Boolean)),
        )

    def __repr__(self) -> str:
        """The four cells as a small table, and who is in none of them."""
        return "\n".join([text_table(self._shown()), *self._notes()])

    def _repr_html_(self) -> str:
        return notebook_table(self._shown(), self._notes())

    def _shown(self) -> pl.DataFrame:
        cells = {
            (found, right): f"{n:,} ({share:.1%})"
            for found, right, n, share in self.table.rows()
            if share is not None
        }
        return pl.DataFrame(
            {
                "": ["context found", "not found"],
                "answer right": [cells[True, True], cells[False, True]],
                "wrong": [cells[True, False], cells[False, False]],
            }
        )

    def _notes(self) -> list[str]:
        lines = [", ".join(f"{name}: {rule}" for name, rule in self.rules.items())]
        for name in SIDES:
            none = self.samples.filter(pl.col(name).is_null())[f"{name}_status"]
            if none.len():
                counts = none.value_counts(name="n").sort("n", none.name, descending=[True, False])
                listed = ", ".join(f"{reason} {n}" for reason, n in counts.iter_rows())
                lines.append(f"{name} is undefined for {none.len():,}: {listed}")
        return lines


TABLE = {"found": pl.Boolean, "right": pl.Boolean, "n": pl.Int64, "share": pl.Float64}


def two_by_two(
    samples: Any,
    *,
    found: str = "context_coverage",
    found_from: float = 1.0,
    right: str = "token_f1",
    right_from: float = 0.5,
    profile: Profile | None = None,
    columns: Mapping[str, str] | None = None,
) -> TwoByTwo:
    """Cross whether the context was found with whether the answer was right.

    Parameters
    ----------
    samples
        A `RagReport`, or samples as `per_sample` takes them.
    found, found_from
        What says that the context was found, and from which value on: a RAG metric, or a column of
        numbers or Booleans that the samples have. By default every gold passage is covered by one
        context that holds at least 80 % of its tokens (`context_coverage` of 1). Other choices are
        `id_context_recall` and `context_recall`.
    right, right_from
        What says that the answer was right, and from which value on: by default a `token_f1` of
        0.5. Short references are better asked for by `answer_recall`; verdicts of a judge can stand
        in a column.
    profile
        What counts as the same words: `squad_v1` (or the report's), `squad_v2`, `unicode`, `cjk`.
    columns
        The house's name → the data's own name, where it is not a known one.

    Returns
    -------
    TwoByTwo
        `.table` (counts and shares), `.cell(found=True, right=False)` and `.samples`.

    Raises
    ------
    EmptyError
        No sample has both values; the message says why.
    MetricError, ColumnError, OptionError
        A name that is neither a metric nor a column of numbers; columns in the way; a threshold
        that is no number, or that no value of the metric can be (all are between 0 and 1).

    Notes
    -----
    Right without found: the answer came from elsewhere, or the gold passages are not the only ones.
    Found without right: look at the generator. Samples of which one side is undefined (no
    reference, no gold passage) are in none of the four cells, and are counted apart.

    Examples
    --------
    >>> crossed = two_by_two(
    ...     [
    ...         {"response": "4", "reference": "4", "hit": 1.0},
    ...         {"response": "5", "reference": "4", "hit": 1.0},
    ...         {"response": "4", "hit": 0.0},
    ...         {"response": "6", "reference": "7", "hit": 0.0},
    ...     ],
    ...     found="hit",
    ... )
    >>> crossed
                   answer right  wrong
    -------------  ------------  ---------
    context found  1 (33.3%)     1 (33.3%)
    not found      0 (0.0%)      1 (33.3%)
    found: hit >= 1, right: token_f1 >= 0.5
    right is undefined for 1: missing_reference 1
    >>> crossed.cell(found=True, right=False)["query_id"].to_list()
    ['1']
    """
    least = {"found": _number("found_from", found_from), "right": _number("right_from", right_from)}
    frame, chosen = held_samples(samples, profile, columns)
    new = [*SIDES, *(f"{side}_status" for side in SIDES)]
    taken = [name for name in new if name in frame.columns]
    if taken:
        raise ColumnError(
            f"the samples already have columns called {', '.join(map(repr, taken))}, which the "
            "result would need; rename or drop them"
        )
    for side, name in (("found", found), ("right", right)):
        if _is_share(frame, name) and not 0 <= least[side] <= 1:
            raise OptionError(
                f"{side}_from={least[side]:g}: every value of {name} is between 0 and 1"
            )
    values, status = _values(frame, {"found": found, "right": right}, chosen)
    sides = [
        pl.when(values[name].is_not_null()).then(values[name] >= least[side]).alias(side)
        for side, name in (("found", found), ("right", right))
    ]
    added = [series for name, series in values.items() if name not in frame.columns]
    crossed = frame.with_columns(*added, *sides, **status)
    result = TwoByTwo(
        crossed, {"found": f"{found} >= {found_from:g}", "right": f"{right} >= {right_from:g}"}
    )
    if crossed.select(pl.any_horizontal(pl.col(SIDES).is_null()).all()).item():
        raise EmptyError("no sample has both values: " + "; ".join(result._notes()[1:]))
    return result


def _is_share(frame: pl.DataFrame, name: str) -> bool:
    """Whether values are known to lie between 0 and 1: all RAG metrics' do, and verdicts."""
    if frame.schema.get(name) == pl.Boolean:
        return True
    try:
        return bool(choose(name))
    except MetricError:
        return False


def _values(
    frame: pl.DataFrame, names: Mapping[str, str], profile: Profile
) -> tuple[dict[str, pl.Series], dict[str, pl.Series]]:
    """Each name's values, and for each side why some are missing."""
    own = [name for name in dict.fromkeys(names.values()) if name not in frame.columns]
    scored = frame
    if own:
        clear = frame.drop("status", "best_reference", strict=False)
        scored = per_sample(clear, own, profile=profile)
    values, status = {}, {}
    for side, name in names.items():
        held = scored if name in own else frame
        values[name] = _numbers(held, name)
        status[f"{side}_status"] = _status(held, name, values[name])
    return values, status


def _numbers(frame: pl.DataFrame, name: str) -> pl.Series:
    dtype = frame.schema[name]
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise ColumnError(f"column {name!r} is {dtype}; a column of numbers or Booleans is needed")
    return frame[name].cast(pl.Float64).fill_nan(None)


def _status(frame: pl.DataFrame, name: str, values: pl.Series) -> pl.Series:
    """Why a value is missing: what the metric said, or only that it is."""
    dtype = frame.schema.get("status")
    if isinstance(dtype, pl.Struct) and name in {field.name for field in dtype.fields}:
        return frame["status"].struct.field(name)
    said = pl.when(values.is_null()).then(pl.lit(NO_VALUE)).otherwise(pl.lit(OK))
    return frame.select(said.alias("status"))["status"]


def _number(argument: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise OptionError(f"{argument}={value!r} must be a number")
    return float(value)
