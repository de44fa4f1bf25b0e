"""Retrieval metrics of one list of ids against a set of relevant ids.

Every value lies between 0 and 1, and is 0 where a list or set is empty, where nothing is found, or
where `k` is below 1. An id that is retrieved again takes up its place and earns nothing there, so
that repeats can lower a value and never lift it above 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log2

from evalframe.errors import OptionError, whole_number

__all__ = ["context_precision", "mrr", "ndcg", "precision_at_k", "recall_at_k"]


def context_precision(retrieved_ids: Iterable[str], relevant_ids: Iterable[str]) -> float:
    """Average precision: the precision at each hit's rank, summed, over all relevant ids.

    Relevant ids that were not retrieved count in the divisor.

    Parameters
    ----------
    retrieved_ids
        Ids, best first.
    relevant_ids
        The ids that should be found.

    Examples
    --------
    >>> round(context_precision(["a", "x", "b"], {"a", "b"}), 4)
    0.8333
    >>> context_precision(["a", "a"], {"a", "b"})
    0.5
    """
    relevant = _ids(relevant_ids, "relevant_ids")
    found, total = 0, 0.0
    for rank, hit in enumerate(_hits(retrieved_ids, relevant), start=1):
        if hit:
            found += 1
            total += found / rank
    return total / len(relevant) if relevant else 0.0


def mrr(retrieved_ids: Iterable[str], relevant_ids: Iterable[str]) -> float:
    """One over the rank of the first relevant id.

    Examples
    --------
    >>> mrr(["x", "a"], {"a"}), mrr(["x"], {"a"})
    (0.5, 0.0)
    """
    for rank, hit in enumerate(_hits(retrieved_ids, _ids(relevant_ids, "relevant_ids")), start=1):
        if hit:
            return 1.0 / rank
    return 0.0


def ndcg(retrieved_ids: Iterable[str], relevant_ids: Iterable[str], k: int) -> float:
    """DCG of the first `k` ids over that of all relevant ids standing first; gains are 0 or 1.

    Examples
    --------
    >>> round(ndcg(["x", "a"], {"a"}, k=2), 4)
    0.6309
    """
    relevant = _ids(relevant_ids, "relevant_ids")
    hits = _hits(retrieved_ids, relevant)[: _depth(k)]
    gained = sum((1.0 / log2(rank + 1) for rank, hit in enumerate(hits, start=1) if hit), 0.0)
    n_ideal = min(len(relevant), k)
    ideal = sum((1.0 / log2(rank + 1) for rank in range(1, n_ideal + 1)), 0.0)
    return gained / ideal if ideal else 0.0


def precision_at_k(retrieved_ids: Iterable[str], relevant_ids: Iterable[str], k: int) -> float:
    """The share of relevant ids among those looked at: the first `k`, or all if there are fewer.

    Examples
    --------
    >>> precision_at_k(["a", "x", "b"], {"a", "b"}, k=2), precision_at_k(["a"], {"a"}, k=5)
    (0.5, 1.0)
    """
    hits = _hits(retrieved_ids, _ids(relevant_ids, "relevant_ids"))[: _depth(k)]
    return sum(hits) / len(hits) if hits else 0.0


def recall_at_k(retrieved_ids: Iterable[str], relevant_ids: Iterable[str], k: int) -> float:
    """The share of the relevant ids that stand among the first `k`.

    Examples
    --------
    >>> recall_at_k(["a", "x", "b"], {"a", "b"}, k=2)
    0.5
    """
    relevant = _ids(relevant_ids, "relevant_ids")
    hits = _hits(retrieved_ids, relevant)[: _depth(k)]
    return sum(hits) / len(relevant) if relevant else 0.0


def _ids(ids: Iterable[str], argument: str) -> set[str]:
    if isinstance(ids, str):
        raise OptionError(f"{argument}={ids!r} is one string; give a list or set of ids")
    return set(ids)


def _hits(retrieved_ids: Iterable[str], relevant: set[str]) -> list[bool]:
    """For each place, whether a relevant id stands there for the first time."""
    if isinstance(retrieved_ids, str):
        raise OptionError(f"retrieved_ids={retrieved_ids!r} is one string; give a list of ids")
    missing = set(relevant)
    hits = []
    for doc in retrieved_ids:
        hits.append(doc in missing)
        missing.discard(doc)
    return hits


def _depth(k: int) -> int:
    return max(whole_number("k", k, None), 0)
