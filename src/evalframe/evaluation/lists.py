"""Ranking metrics of one list, in plain Python: no frame, no dependency.

They take one query's ranking and its judgements. The expressions of `metrics` give the same
values for whole frames, and the tests hold the two against each other.

In all of them a document counts as relevant when its grade is above 0; unjudged documents and
negative grades gain nothing. A ranking holds a document once: where an id is repeated its best
rank stands and what follows moves up, which is also what `duplicates="best"` does to a run.
Undefined (nothing relevant, an empty ranking, a cut-off below 1) is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from math import log2

from evalframe.errors import OptionError, whole_number

__all__ = [
    "average_precision",
    "dcg_at_k",
    "ndcg_at_k",
    "precision_at_k",
    "recall_at_k",
    "reciprocal_rank",
]


def dcg_at_k(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Discounted cumulative gain of the top `k`, with linear gains.

    Parameters
    ----------
    ranked
        Document ids, best first.
    relevant
        Document id → grade.
    k
        How many documents are looked at.

    Returns
    -------
    float
        Sum over ranks r ≤ k of grade / log2(r + 1); at least 0, without an upper bound.

    Notes
    -----
    The gain of trec_eval and of the BEIR benchmark (Järvelin and Kekäläinen 2002).

    Examples
    --------
    >>> dcg_at_k(["a", "b", "c"], {"a": 1.0, "c": 1.0}, 3)
    1.5
    """
    top = _top(ranked, relevant, whole_number("k", k, None))
    return _discounted([max(relevant.get(doc, 0), 0) for doc in top])


def ndcg_at_k(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """DCG of the top `k` over the DCG of the best possible order of all judged documents.

    Returns
    -------
    float
        Between 0 and 1; 0 when nothing relevant was judged.

    Examples
    --------
    >>> round(ndcg_at_k(["b", "a"], {"a": 1.0}, 2), 4)
    0.6309
    """
    gained = dcg_at_k(ranked, relevant, k)
    grades = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)
    ideal = _discounted(grades[: max(k, 0)])
    return gained / ideal if ideal else 0.0


def recall_at_k(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """The share of all relevant documents that stand in the top `k`.

    Returns
    -------
    float
        Between 0 and 1; 0 when nothing is relevant.

    Examples
    --------
    >>> recall_at_k(["a", "b", "c"], {"a": 1.0, "c": 1.0}, 2)
    0.5
    """
    found = sum(_hits(ranked, relevant, whole_number("k", k, None)))
    n_relevant = _n_relevant(relevant)
    return found / n_relevant if n_relevant else 0.0


def precision_at_k(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """The share of the top `k` that is relevant; divided by `k`, however short the list.

    Returns
    -------
    float
        Between 0 and 1; 0 for an empty list.

    Examples
    --------
    >>> precision_at_k(["a", "b", "c"], {"a": 1.0, "c": 1.0}, 2)
    0.5
    """
    found = sum(_hits(ranked, relevant, whole_number("k", k, None)))
    return found / k if k >= 1 else 0.0


def reciprocal_rank(
    ranked: Sequence[str], relevant: Mapping[str, float], k: int | None = None
) -> float:
    """One over the rank of the first relevant document; its mean over queries is MRR.

    Parameters
    ----------
    ranked
        Document ids, best first.
    relevant
        Document id → grade.
    k
        Look no further than this rank; `None` looks at the whole list.

    Returns
    -------
    float
        Between 0 and 1; 0 when no relevant document is found.

    Examples
    --------
    >>> reciprocal_rank(["b", "a"], {"a": 1.0}), reciprocal_rank(["b", "a"], {"a": 1.0}, k=1)
    (0.5, 0.0)
    """
    for rank, hit in enumerate(_hits(ranked, relevant, k), start=1):
        if hit:
            return 1.0 / rank
    return 0.0


def average_precision(
    ranked: Sequence[str], relevant: Mapping[str, float], k: int | None = None
) -> float:
    """The precision at each relevant document's rank, averaged; its mean over queries is MAP.

    Parameters
    ----------
    ranked
        Document ids, best first.
    relevant
        Document id → grade.
    k
        Look no further than this rank; `None` looks at the whole list.

    Returns
    -------
    float
        Between 0 and 1. The sum is divided by the number of all relevant documents, found or not
        (trec_eval's map and map_cut); 0 when there is none.

    Examples
    --------
    >>> average_precision(["a", "b", "c"], {"a": 1.0, "c": 1.0})
    0.8333333333333333
    """
    n_relevant = _n_relevant(relevant)
    found, total = 0, 0.0
    for rank, hit in enumerate(_hits(ranked, relevant, k), start=1):
        if hit:
            found += 1
            total += found / rank
    return total / n_relevant if n_relevant else 0.0


def _top(ranked: Sequence[str], relevant: Mapping[str, float], k: int | None) -> list[str]:
    """The first `k` distinct ids."""
    if isinstance(ranked, str):
        raise OptionError(f"ranked={ranked!r} is one string; give a list of document ids")
    if not isinstance(relevant, Mapping):
        raise OptionError(
            f"relevant is a {type(relevant).__name__}; give a mapping of document id to grade, "
            "such as {'d1': 1.0}"
        )
    depth = None if k is None else max(whole_number("k", k, None), 0)
    return list(islice(dict.fromkeys(ranked), depth))


def _hits(ranked: Sequence[str], relevant: Mapping[str, float], k: int | None) -> list[bool]:
    return [relevant.get(doc, 0) > 0 for doc in _top(ranked, relevant, k)]


def _n_relevant(relevant: Mapping[str, float]) -> int:
    return sum(grade > 0 for grade in relevant.values())


def _discounted(gains: Sequence[float]) -> float:
    return sum((gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1)), 0.0)
