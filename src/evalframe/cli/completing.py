"""What the shell offers after TAB."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from evalframe.fusion import METHODS
from evalframe.fusion.normalising import NORMALISATIONS
from evalframe.metrics import CATALOGUE
from evalframe.samples import RAG_METRICS
from evalframe.statistics import TESTS
from evalframe.statistics.corrections import CORRECTIONS
from evalframe.text import PROFILES

__all__ = [
    "all_metric_names",
    "corrections",
    "method_names",
    "metric_names",
    "norms",
    "profiles",
    "rag_metric_names",
    "test_names",
]

Offers = list[tuple[str, str]]
"""Words and what they mean; bash shows the words alone."""


def metric_names(incomplete: str) -> Offers:
    """The ranking metrics, each with a cut-off where it can have one.

    >>> [word for word, _ in metric_names("map,BPR")]
    ['map,bpref']
    """
    return _last_of_several(incomplete, _ranking())


def rag_metric_names(incomplete: str) -> Offers:
    """The RAG metrics."""
    return _last_of_several(incomplete, _rag())


def all_metric_names(incomplete: str) -> Offers:
    """The names of all metrics, without cut-offs."""
    known = [(d.name, d.title) for d in CATALOGUE.values()] + _rag()
    return _beginning(incomplete, known)


def method_names(incomplete: str) -> Offers:
    """The ways to fuse."""
    return _beginning(incomplete, [(m.name, m.title) for m in METHODS.values()])


def norms(incomplete: str) -> Offers:
    """The ways to make scores comparable."""
    return _beginning(incomplete, [(name, "") for name in (*NORMALISATIONS, "none")])


def profiles(incomplete: str) -> Offers:
    """The ways to compare words."""
    return _beginning(incomplete, [(name, "") for name in PROFILES])


def test_names(incomplete: str) -> Offers:
    """The paired tests."""
    return _beginning(incomplete, [(name, "") for name in TESTS])


def corrections(incomplete: str) -> Offers:
    """The corrections for many tests."""
    return _beginning(incomplete, [(name, "") for name in CORRECTIONS])


def _ranking() -> Offers:
    return [(d.example, d.title) for d in CATALOGUE.values()]


def _rag() -> Offers:
    return [(m.name, m.summary) for m in RAG_METRICS.values()]


def _last_of_several(incomplete: str, known: Offers) -> Offers:
    """The last of several words with commas between them is completed."""
    done, comma, begun = incomplete.rpartition(",")
    return [(done + comma + word, help) for word, help in _beginning(begun, known)]


def _beginning(incomplete: str, known: Iterable[tuple[str, str]]) -> Offers:
    wanted = incomplete.lower()
    return [(word, _short(help)) for word, help in known if word.lower().startswith(wanted)]


def _short(help: str) -> str:
    """What fits beside a word: typer breaks longer texts, which shells show badly."""
    return textwrap.shorten(help, 60, placeholder=" …")
