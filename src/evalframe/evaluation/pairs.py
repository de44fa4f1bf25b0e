"""Lexical metrics of one answer and its reference, in plain Python.

The expressions of `samples` give the same values for whole frames, and the tests hold the two
against each other. What counts as the same word is said by a profile of `text`; the default is
SQuAD's. A missing text (None or NaN) counts as an empty one; anything else that is no text is a
`ColumnError`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from evalframe.errors import ColumnError
from evalframe.text import Profile, tokens

__all__ = ["context_precision", "context_recall", "exact_match", "token_f1"]


def exact_match(
    response: str | None, reference: str | None, *, profile: Profile = "squad_v1"
) -> float:
    """1 when the two have the same words in the same order, after normalising, else 0.

    Examples
    --------
    >>> exact_match("The Eiffel Tower!", "eiffel tower"), exact_match("Paris", "London")
    (1.0, 0.0)
    """
    said, wanted = _tokens(response, "response", profile), _tokens(reference, "reference", profile)
    return float(said == wanted)


def token_f1(
    response: str | None, reference: str | None, *, profile: Profile = "squad_v1"
) -> float:
    """The harmonic mean of the precision and the recall of the response's words.

    Words are counted with repeats. Where either text has no words, it is 0; under `squad_v2`, 1
    when neither has any.

    Examples
    --------
    >>> round(token_f1("quick brown fox", "the quick brown dog"), 4)
    0.6667
    """
    said, wanted = _tokens(response, "response", profile), _tokens(reference, "reference", profile)
    if not said or not wanted:
        return float(profile == "squad_v2" and said == wanted)
    shared = (Counter(said) & Counter(wanted)).total()
    if not shared:
        return 0.0
    precision, recall = shared / len(said), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def context_recall(
    reference: str | None,
    retrieved_contexts: Iterable[str | None] | None,
    *,
    profile: Profile = "squad_v1",
) -> float:
    """The share of the reference's distinct words that stand in some retrieved context.

    A reference without words gives 0.

    Examples
    --------
    >>> context_recall("paris france", ["Paris is a city.", "It is in Europe."])
    0.5
    """
    wanted = set(_tokens(reference, "reference", profile))
    found: set[str] = set()
    for words in _words(retrieved_contexts, profile):
        found |= words
    return len(wanted & found) / len(wanted) if wanted else 0.0


def context_precision(
    reference: str | None,
    retrieved_contexts: Iterable[str | None] | None,
    *,
    profile: Profile = "squad_v1",
) -> float:
    """The share of the retrieved contexts that have a word of the reference.

    No context at all gives 0.

    Examples
    --------
    >>> context_precision("paris", ["Paris is in France.", "Unrelated text."])
    0.5
    """
    wanted = set(_tokens(reference, "reference", profile))
    useful = [bool(wanted & words) for words in _words(retrieved_contexts, profile)]
    return sum(useful) / len(useful) if useful else 0.0


def _words(contexts: Iterable[str | None] | None, profile: Profile) -> list[set[str]]:
    if contexts is None or _is_nan(contexts):
        return []
    if isinstance(contexts, str | Mapping) or not isinstance(contexts, Iterable):
        what = "one string" if isinstance(contexts, str) else f"a {type(contexts).__name__}"
        raise ColumnError(f"retrieved_contexts={contexts!r:.80} is {what}; give a list of passages")
    return [set(_tokens(text, "a text in retrieved_contexts", profile)) for text in contexts]


def _tokens(text: Any, argument: str, profile: Profile) -> list[str]:
    if text is None or _is_nan(text):
        return tokens("", profile)
    if not isinstance(text, str):
        raise ColumnError(f"{argument} is {text!r:.80}, a {type(text).__name__}; give a string")
    return tokens(text, profile)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
