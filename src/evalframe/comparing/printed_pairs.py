"""Every pair of a comparison as it is printed: its difference, and how sure that is."""

from __future__ import annotations

import polars as pl

from evalframe.tables import shown

__all__ = ["PAIRS_SHOWN", "note_of_intervals", "printed_pairs"]

PAIRS_SHOWN = 20
"""Pairs that are printed; the rest is counted."""
LONGEST = 12
"""Signs of a name that are shown."""


def printed_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """The `pairs` of a comparison in few narrow columns, as text.

    Parameters
    ----------
    pairs
        See `evalframe.comparing.Comparison`.

    Returns
    -------
    pl.DataFrame
        `a`, `b` and `metric`, cut where they are long; `a - b`, its interval, `p`, `corrected`,
        `n`, and `win/tie/loss` of a. Null for what the values do not tell.

    Examples
    --------
    >>> from evalframe.comparing.compare import compare_frames
    >>> old = pl.DataFrame({"query_id": ["1", "2"], "f1": [0.5, 0.25]})
    >>> found = compare_frames(old, old.with_columns(f1=1.0), names=("old", "new"))
    >>> printed_pairs(found.pairs).row(0)
    ('old', 'new', 'f1', -0.625, '-0.7500 … -0.5000', 0.5, 0.5, 2, '0/0/2')
    """
    ends = pairs.select("low", "high").rows()
    texts = [None if None in row else " … ".join(map(shown, row)) for row in ends]
    confidence = pairs["confidence"].drop_nulls().head(1).to_list()
    interval = f"{100 * confidence[0]:g}% interval" if confidence else "interval"
    return pairs.select(
        *(_short(name) for name in ("a", "b", "metric")),
        pl.col("difference").alias("a - b"),
        pl.Series(interval, texts, pl.String),
        "p",
        pl.col("p_corrected").alias("corrected"),
        "n",
        pl.concat_str("wins", "ties", "losses", separator="/").alias("win/tie/loss"),
    )


def note_of_intervals(pairs: pl.DataFrame) -> list[str]:
    """How the intervals of the differences were made: method, resamples and seed."""
    made = pairs.drop_nulls("low")
    if not made.height:
        return []
    method, drawn, confidence, seed = made.select(
        "interval", "interval_resamples", "confidence", "seed"
    ).row(0)
    draws = "" if drawn is None else f", {drawn} resamples, seed {seed}"
    return [f"intervals of a - b: {100 * confidence:g}%, {method}{draws}; each by itself"]


def _short(name: str) -> pl.Expr:
    text = pl.col(name)
    cut = pl.concat_str(text.str.head(LONGEST - 1), pl.lit("…"))
    return pl.when(text.str.len_chars() > LONGEST).then(cut).otherwise(text).alias(name)
