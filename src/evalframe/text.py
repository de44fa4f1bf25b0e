"""Words of a text, as the answer metrics count them: normalised, then split.

Every rule stands here twice: plain functions for one text (`normalise`, `tokens`), and the same for
whole columns in Polars (`normalised`, `split_ready`), which agree with the plain ones for every
code point. Four profiles say what "the same words" means:

`squad_v1`, `squad_v2`
    The official SQuAD rule: lower-case; delete the 32 ASCII punctuation characters (nothing is
    put in their place); replace the English articles a, an, the by a space wherever they stand as
    a word of their own; join what `str.split` finds by single spaces. Both normalise alike; they
    differ in how empty texts score (see `metrics.answers`).
`unicode`
    NFKC, case-folded, NFKC once more; every character of the Unicode categories P* and the 32
    ASCII punctuation characters deleted; split on white space. No articles are removed, so that no
    language is treated as English.
`cjk`
    As `unicode`, then every Han, Hiragana, Katakana and Hangul character is a token of its own,
    so that texts without spaces can overlap in part.
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache
from typing import Literal, get_args

import polars as pl

from evalframe.engine import Engine, collect
from evalframe.errors import one_of

__all__ = [
    "IGNORED",
    "PROFILES",
    "Profile",
    "normalise",
    "normalised",
    "split_ready",
    "tokens",
]

Profile = Literal["squad_v1", "squad_v2", "unicode", "cjk"]
"""A rule for what counts as the same word; see the module's text."""

PROFILES: tuple[Profile, ...] = get_args(Profile)
"""The names of all profiles."""

CJK_RANGES = (
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),  # iteration mark, closing mark, zero
    (0x3021, 0x3029),  # Hangzhou numerals
    (0x3031, 0x3035),  # kana repeat marks
    (0x3038, 0x303C),
    (0x3041, 0x309F),  # Hiragana
    (0x30A0, 0x30FF),  # Katakana
    (0x3130, 0x318F),  # Hangul compatibility Jamo
    (0x31F0, 0x31FF),  # small Katakana
    (0x3400, 0x4DBF),  # Han extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97F),  # Hangul Jamo extended A
    (0xAC00, 0xD7FF),  # Hangul syllables, Jamo extended B
    (0xF900, 0xFAFF),  # Han compatibility
    (0xFF66, 0xFFDC),  # half-width Katakana and Hangul
    (0x1AFF0, 0x1B16F),  # kana supplements
    (0x20000, 0x3FFFF),  # Han extensions B and later
)
"""Code points that the profile `cjk` makes tokens of their own, both ends included."""

IGNORED: dict[Profile, tuple[str, ...]] = {
    "squad_v1": ("", "a", "an", "the"),
    "squad_v2": ("", "a", "an", "the"),
    "unicode": ("",),
    "cjk": ("",),
}
"""What is not a token among the pieces that `split_ready` leaves between single spaces."""

WHITE_SPACE = {chr(c): " " for c in range(0x3001) if chr(c).isspace() and chr(c) != " "}
"""What `str.split` splits at, as spaces; Rust's white space lacks U+001C to U+001F.

The space itself is left out: to replace it by itself costs more than all the others together.
"""

CLEANED = WHITE_SPACE | dict.fromkeys(string.punctuation, "")
MARKED = {chr(c): "\ue000" for c in (*range(32), 127) if not chr(c).isspace()}
"""ASCII control characters as one that is not ASCII, so that lengths tell which texts have them."""

GONE = r"[!-/:-@\[-`{-~]*"
ARTICLE = rf"(?:[aA]{GONE}[nN]?|[tT]{GONE}[hH]{GONE}[eE])"
NEITHER = r"[^\t-\r\x1c-\x1f -~]"
TOUCHED_ARTICLE = (
    rf"(?:^|[^!-~]){GONE}{ARTICLE}{GONE}{NEITHER}"
    rf"|{NEITHER}{GONE}{ARTICLE}{GONE}(?:[\t-\r\x1c-\x1f ]|$)"
)
"""What becomes an article beside a character that is neither printable ASCII nor ASCII space.

Anywhere else an article is a piece of its own once the punctuation is gone; here the rule of word
boundaries must decide.
"""

WHOLE_ARTICLE = r"(^|[^\p{L}\p{N}])(?:a|an|the)($|[^\p{L}\p{N}])"
"""Python's word characters are the letters, the numbers and `_`; Rust's have marks as well."""

HIGHEST = 0x20000
"""Above it there is no punctuation, and nothing has a case."""

SMALL = 100_000
"""Texts up to which the streaming engine would not share the work among threads."""

ARTICLES = re.compile(r"\b(a|an|the)\b")
WITHOUT_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str, profile: Profile = "squad_v1") -> str:
    """The words of a text as the profile counts them, joined by single spaces.

    Parameters
    ----------
    text
        Any text; the empty text stays empty.
    profile
        `squad_v1`, `squad_v2` (the same rule), `unicode` or `cjk`.

    Raises
    ------
    OptionError
        The profile is not known.

    Notes
    -----
    Source of the SQuAD rule: Rajpurkar et al. 2016, the task's evaluation scripts 1.1 and 2.0. As
    there, deleting punctuation joins what it stood between, so `3.14` and `314` are the same.
    The deletion of the categories P* follows the MLQA script (Lewis et al. 2020). Case and
    categories are those of the running Python's `unicodedata`.

    Examples
    --------
    >>> normalise("The Eiffel Tower!")
    'eiffel tower'
    >>> normalise("The “Eiffel”—Tower", "unicode")
    'the eiffeltower'
    >>> normalise("東京タワー 333m", "cjk")
    '東 京 タ ワ ー 333m'
    """
    return " ".join(tokens(text, profile))


def tokens(text: str, profile: Profile = "squad_v1") -> list[str]:
    """The words of a text as the profile counts them, in order, repeats included.

    Examples
    --------
    >>> tokens("The cat, the CAT.")
    ['cat', 'cat']
    """
    one_of("profile", profile, PROFILES)
    if profile in ("squad_v1", "squad_v2"):
        plain = text.lower().translate(WITHOUT_ASCII_PUNCTUATION)
        return ARTICLES.sub(" ", plain).split()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    words = folded.translate(_without_punctuation())
    return (_cjk().sub(r" \g<0> ", words) if profile == "cjk" else words).split()


@cache
def _without_punctuation() -> dict[int, None]:
    """A translation that deletes the categories P* and ASCII punctuation."""
    category = unicodedata.category
    gone = {
        *map(ord, string.punctuation),
        *(c for c in range(HIGHEST) if category(chr(c))[0] == "P"),
    }
    return dict.fromkeys(sorted(gone))


@cache
def _cjk() -> re.Pattern[str]:
    return re.compile("[" + "".join(f"{chr(a)}-{chr(b)}" for a, b in CJK_RANGES) + "]")


def normalised(texts: pl.Series, profile: Profile = "squad_v1") -> pl.Series:
    """`normalise` for every text of a series; null counts as the empty text.

    Examples
    --------
    >>> normalised(pl.Series(["The Eiffel Tower!", None])).to_list()
    ['eiffel tower', '']
    """
    one_of("profile", profile, PROFILES)
    if texts.is_empty():
        return texts.cast(pl.String)
    spaced = pl.format(" {} ", pl.col("text").str.replace_all(" ", "  ", literal=True))
    articles = {f" {word} ": " " for word in IGNORED[profile] if word}
    kept = spaced.str.replace_many(articles) if articles else spaced
    joined = kept.str.replace_all(" +", " ").str.strip_chars(" ")
    return _select(split_ready(texts, profile), text=joined)["text"].alias(texts.name)


def split_ready(texts: pl.Series, profile: Profile = "squad_v1") -> pl.Series:
    """Texts that split at each single space into their tokens, and pieces that are `IGNORED`.

    Polars does the work. ASCII takes the short way; other texts are looked at again. Only those
    with a character that is newer than the running Python's Unicode tables, where Rust may know a
    case or a category that Python does not, are handed to `normalise` one by one.
    """
    one_of("profile", profile, PROFILES)
    ready = _select(texts, _simple(CLEANED | MARKED))["text"]
    where = _select(ready, _is_beyond_ascii()).to_series().arg_true()
    if where.is_empty():
        return ready.alias(texts.name)
    some = texts.gather(where)
    if profile in ("squad_v1", "squad_v2"):
        rare = _select(some, pl.col("text").str.contains(_rare())).to_series().arg_true()
        where, some = where.gather(rare), some.gather(rare)
        mended = _without_articles(some)
    else:
        mended = _beyond_ascii(some, profile)
    return _put(ready, where, _by_python(some, mended, profile)).alias(texts.name)


def _by_python(texts: pl.Series, ready: pl.Series, profile: Profile) -> pl.Series:
    """The slow road: what Python makes of the texts with characters newer than its tables."""
    where = texts.str.contains(_newer()).fill_null(False).arg_true()
    if where.is_empty():
        return ready
    slow = [normalise(text, profile) for text in texts.gather(where)]
    return _put(ready, where, pl.Series(slow, dtype=pl.String))


def _simple(replaced: dict[str, str]) -> pl.Expr:
    """Lower case and some replacements: ASCII's whole rule but for articles."""
    return pl.col("text").fill_null("").str.to_lowercase().str.replace_many(replaced)


def _is_beyond_ascii() -> pl.Expr:
    return pl.col("text").str.len_bytes() > pl.col("text").str.len_chars()


def _beyond_ascii(texts: pl.Series, profile: Profile) -> pl.Series:
    """The profiles `unicode` and `cjk` for any text."""
    raw = pl.col("text")
    folded = raw.str.normalize("NFKC").str.to_lowercase().str.replace_many(_folds())
    done = _select(texts, folded=folded).with_columns(
        marked=pl.col("folded").str.contains(r"\p{M}")
    )
    ready = done["folded"]
    if done["marked"].any():
        # Folding leaves normal form only where a mark can join what it folded.
        where = done["marked"].arg_true()
        ready = _put(ready, where, _select(ready.gather(where), raw.str.normalize("NFKC"))["text"])
    words = raw.str.replace_many({chr(c): "" for c in _without_punctuation()} | WHITE_SPACE)
    if profile == "cjk":
        words = words.str.replace_all(f"({_cjk().pattern})", " ${1} ")
    return _select(ready, words)["text"]


def _select(texts: pl.Series, *columns: pl.Expr, **named: pl.Expr) -> pl.DataFrame:
    """Expressions over a series called `text`, by the engine that suits its length."""
    size: Engine = "in-memory" if len(texts) <= SMALL else "streaming"
    return collect(texts.to_frame("text").lazy().select(*columns, **named), size)


def _without_articles(texts: pl.Series) -> pl.Series:
    """SQuAD's whole rule; articles twice, because neighbours share the character between them."""
    words = _simple(CLEANED)
    for _ in range(2):
        words = words.str.replace_all(WHOLE_ARTICLE, "${1} ${2}")
    return _select(texts, words)["text"]


def _put(texts: pl.Series, where: pl.Series, values: pl.Series) -> pl.Series:
    """The series with other values in some places."""
    if where.is_empty():
        return texts
    source = pl.int_range(len(texts), eager=True)
    source = source.scatter(where, pl.int_range(len(texts), len(texts) + len(values), eager=True))
    return pl.concat([texts, values.alias(texts.name)]).gather(source)


@cache
def _folds() -> dict[str, str]:
    """Lower-cased characters that case folding still changes: sharp s, final sigma, Cherokee."""
    lowered = {low for c in range(HIGHEST) for low in chr(c).lower()}
    return {low: low.casefold() for low in sorted(lowered) if low.casefold() != low}


@cache
def _rare() -> str:
    """A pattern for texts beyond ASCII that `_simple` may get wrong for SQuAD's rule."""
    return f"{_newer()}|{TOUCHED_ARTICLE}|[{re.escape(''.join(MARKED))}]"


@cache
def _newer() -> str:
    """A pattern for characters that this Python's Unicode tables, or Rust's, do not know yet."""
    version = ".".join(unicodedata.unidata_version.split(".")[:2])
    pattern = rf"\P{{Age={version}}}"
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError:
        return r"\p{Cn}"
    return pattern
