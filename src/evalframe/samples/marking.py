"""Texts as HTML with some of their words marked: where the tokens of a text stand in it."""

from __future__ import annotations

import html
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from evalframe.text import Profile, tokens

__all__ = ["Span", "marked", "matched_spans", "spans_of"]

WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Span:
    """A piece of a text, from `start` to `end`, and the tokens that it holds."""

    start: int
    end: int
    tokens: tuple[str, ...]


def spans_of(text: str, profile: Profile) -> list[Span]:
    """Where the tokens of a text come from, in order; all their tokens are `tokens(text)`.

    A span is what stands between white space. Where that holds several tokens (under `cjk`), it is
    cut around each character that is a token of its own, unless the pieces would give other tokens
    alone. Pieces that are no token (articles, punctuation) are spans without tokens.

    >>> [(span.start, span.end, span.tokens) for span in spans_of("The Eiffel!", "squad_v1")]
    [(0, 3, ()), (4, 11, ('eiffel',))]
    """
    found = []
    for word in WORD.finditer(text):
        whole = tuple(tokens(word[0], profile))
        pieces = list(_pieces(word[0], word.start(), profile)) if len(whole) > 1 else []
        if pieces and tuple(token for piece in pieces for token in piece.tokens) == whole:
            found += pieces
        else:
            found.append(Span(word.start(), word.end(), whole))
    return found


def _pieces(word: str, start: int, profile: Profile) -> Iterator[Span]:
    """The characters that stand alone, and what is between them; marks stay with their letter."""
    signs = [i for i, sign in enumerate(word) if i == 0 or not unicodedata.combining(sign)]
    cuts = {0, len(word)}
    for begin, end in zip(signs, [*signs[1:], len(word)], strict=True):
        if _stands_alone(word[begin:end], profile):
            cuts |= {begin, end}
    for begin, end in itertools.pairwise(sorted(cuts)):
        yield Span(start + begin, start + end, tuple(tokens(word[begin:end], profile)))


@lru_cache(maxsize=10_000)
def _stands_alone(sign: str, profile: Profile) -> bool:
    """Whether a character is a token of its own in the midst of others."""
    return len(tokens(f"x{sign}x", profile)) > 2


def matched_spans(spans: list[Span], wanted: Counter[str]) -> list[bool]:
    """Which spans hold wanted tokens, each as often as it is wanted; the first ones count.

    >>> spans = spans_of("no, no, yes", "squad_v1")
    >>> matched_spans(spans, Counter(["no", "yes"]))
    [True, False, True]
    """
    left = Counter(wanted)
    matched = []
    for span in spans:
        needed = Counter(span.tokens)
        holds = bool(needed) and all(left[token] >= n for token, n in needed.items())
        if holds:
            left.subtract(needed)
        matched.append(holds)
    return matched


def marked(text: str, spans: list[Span], matched: list[bool], style: str) -> str:
    """The text, escaped, with the matched spans in `<mark>`; neighbours share one.

    >>> spans = spans_of("a <b> of c", "unicode")
    >>> marked("a <b> of c", spans, [False, True, True, False], "color: black")
    'a <mark style="color: black">&lt;b&gt; of</mark> c'
    """
    parts, at = [], 0
    for begin, end in _runs(spans, matched):
        parts.append(html.escape(text[at:begin]))
        parts.append(f'<mark style="{style}">{html.escape(text[begin:end])}</mark>')
        at = end
    return "".join([*parts, html.escape(text[at:])])


def _runs(spans: list[Span], matched: list[bool]) -> Iterator[tuple[int, int]]:
    """Begin and end of each run of matched spans; what is no token does not end one."""
    begin = end = None
    for span, is_matched in zip(spans, matched, strict=True):
        if is_matched:
            begin = span.start if begin is None else begin
            end = span.end
        elif span.tokens and begin is not None and end is not None:
            yield begin, end
            begin = end = None
    if begin is not None and end is not None:
        yield begin, end
