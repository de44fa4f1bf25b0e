"""Ids without a counterpart that would have one, were they spelt as on the other side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from evalframe.auditing.findings import SHOWN

__all__ = ["Respelling", "respellings"]

SPACES = r"[\s\x{feff}\x{200b}]+"
ZEROS = r"(^|[^0-9])0+([0-9])"
DECIMALS = r"\.0+$"

LONGEST_PREFIX = 24
SAMPLED = 200
"""Ids from which common prefixes are guessed."""
ENOUGH = 3
"""Sampled ids that a prefix must explain, or all of them where they are fewer."""
A_GOOD_PART = 0.25
"""Share of the sampled ids that a prefix must explain where other ids agree as they are."""


@dataclass(frozen=True)
class Rule:
    """A way of spelling in which two ids may differ."""

    reason: str
    words: str
    pattern: str
    respelt: Callable[[pl.Expr], pl.Expr]
    """Spells alike what differs only so; changes nothing that the pattern is not found in."""


RULES = (
    Rule("white_space", "white space", SPACES, lambda ids: ids.str.replace_all(SPACES, "")),
    Rule("case", "case", r"\p{Lu}", lambda ids: ids.str.to_lowercase()),
    Rule(
        "leading_zeros",
        "leading zeros",
        ZEROS,
        lambda ids: ids.str.replace_all(ZEROS, "${1}${2}"),
    ),
    Rule("decimals", "a trailing .0", DECIMALS, lambda ids: ids.str.replace(DECIMALS, "")),
)


def _all_rules(ids: pl.Expr) -> pl.Expr:
    for rule in RULES:
        ids = rule.respelt(ids)
    return ids


SEVERAL = Rule(
    "several",
    "several of white space, case, leading zeros and .0",
    "|".join(f"(?:{rule.pattern})" for rule in RULES),
    _all_rules,
)


@dataclass(frozen=True)
class Respelling:
    """Why ids have no counterpart, and the `other` that each `id` would have."""

    reason: str
    words: str
    pairs: pl.DataFrame

    @property
    def examples(self) -> list[str]:
        """The first ids with what they would be, quoted, so that white space is seen."""
        first = self.pairs.bottom_k(SHOWN, by="id").sort("id")
        return [f"{one!r} → {other!r}" for one, other in first.select("id", "other").iter_rows()]


def respellings(lone: pl.Series, others: pl.Series, *, apart: bool = True) -> list[Respelling]:
    """What explains that ids of one side are not found on the other.

    Parameters
    ----------
    lone
        Different ids that are not among the others.
    others
        All different ids of the other side.
    apart
        No id of one side is found on the other. Where some are, most of the lone ones may be absent
        in truth, and a prefix has to explain a good part of them to be believed.
    """
    left = pl.DataFrame({"id": lone})
    right = pl.DataFrame({"other": others})
    found = _by_prefix(left, right, apart) if left.height and right.height else []
    for one in found:
        left = left.join(one.pairs, on="id", how="anti")
    for rule in (*RULES, SEVERAL):
        if left.height == 0:
            break
        pairs = _paired(left, right, rule)
        if pairs.height:
            found.append(Respelling(rule.reason, rule.words, pairs))
            left = left.join(pairs, on="id", how="anti")
    return found


def _paired(left: pl.DataFrame, right: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Ids with the least of the others that are spelt alike under the rule."""
    ours, ours_change = _keyed(left, "id", rule)
    theirs, theirs_change = _keyed(right, "other", rule)
    if not ours_change and not theirs_change:
        return pl.DataFrame(schema={"id": pl.String, "other": pl.String})
    alike = ours.filter(pl.col("key") != "").join(theirs, on="key", how="inner")
    return alike.group_by("id").agg(pl.col("other").min())


def _keyed(ids: pl.DataFrame, column: str, rule: Rule) -> tuple[pl.DataFrame, bool]:
    """Ids and their keys, made where the rule's pattern is found; whether it is anywhere."""
    changes = ids[column].str.contains(rule.pattern)
    if not changes.any():
        return ids.with_columns(key=column), False
    key = pl.when(changes).then(rule.respelt(pl.col(column))).otherwise(pl.col(column))
    return ids.with_columns(key=key), True


def _by_prefix(left: pl.DataFrame, right: pl.DataFrame, apart: bool) -> list[Respelling]:
    """The prefix that ids have in common on one side and not, or another one, on the other."""
    sample = _sampled(left["id"])
    ours, theirs = _common_prefixes(sample), _common_prefixes(_sampled(right["other"]))
    tried = (
        pl.DataFrame({"id": sample})
        .join(pl.DataFrame({"ours": ours}), how="cross")
        .filter(pl.col("id").str.starts_with(pl.col("ours")))
        .with_columns(rest=pl.col("id").str.slice(pl.col("ours").str.len_chars()))
        .join(pl.DataFrame({"theirs": theirs}), how="cross")
        .filter(
            _plain("ours") != _plain("theirs"),
            pl.col("rest") != "",
            _ends_before_rest("ours"),
            _ends_before_rest("theirs"),
        )
        .with_columns(other=pl.concat_str("theirs", "rest"))
        .join(right, on="other", how="semi")
        .group_by("ours", "theirs")
        .agg(hits=pl.len())
        .with_columns(length=pl.col("ours").str.len_chars() + pl.col("theirs").str.len_chars())
        .sort("hits", "length", "ours", "theirs", descending=[True, False, False, False])
    )
    enough = min(ENOUGH, len(sample)) if apart else max(ENOUGH, A_GOOD_PART * len(sample))
    if tried.height == 0 or tried["hits"][0] < enough:
        return []
    gone, put = tried["ours"][0], tried["theirs"][0]
    pairs = (
        left.filter(pl.col("id").str.starts_with(gone))
        .with_columns(other=put + pl.col("id").str.slice(len(gone)))
        .join(right, on="other", how="semi")
    )
    return [Respelling("prefix", f"a prefix ({gone!r} here, {put!r} there)", pairs)]


def _ends_before_rest(prefix: str) -> pl.Expr:
    """A prefix ends at a border: behind a mark, or where a number begins; never inside a word."""
    border = pl.col(prefix).str.contains(r"(^|[^\p{L}\p{N}])$")
    number = pl.col("rest").str.contains(r"^\p{N}") & ~pl.col(prefix).str.contains(r"\p{N}$")
    return border | number


def _plain(prefix: str) -> pl.Expr:
    """A prefix without what the other rules see to."""
    return pl.col(prefix).str.replace_all(SPACES, "").str.to_lowercase()


def _sampled(ids: pl.Series) -> pl.Series:
    """Some of the ids, the same ones in whatever order they come."""
    return ids.to_frame().bottom_k(SAMPLED, by=pl.col(ids.name).hash(0)).to_series()


def _common_prefixes(ids: pl.Series) -> list[str]:
    """The beginnings that at least half of the ids have, and the empty one."""
    frame = pl.DataFrame({"id": ids})
    beginnings = (
        frame.join(pl.DataFrame({"n": range(1, LONGEST_PREFIX + 1)}), how="cross")
        .filter(pl.col("n") < pl.col("id").str.len_chars())
        .select(beginning=pl.col("id").str.slice(0, pl.col("n")))
        .group_by("beginning")
        .agg(n=pl.len())
        .filter(2 * pl.col("n") >= frame.height)
    )
    return ["", *beginnings["beginning"].sort()]
