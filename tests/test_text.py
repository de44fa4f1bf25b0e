"""The laws of text: Polars says what Python says, for every code point."""

from __future__ import annotations

import itertools
import json
import random
import re
import string
import unicodedata
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe import text
from evalframe.errors import OptionError
from evalframe.text import IGNORED, PROFILES, Profile, normalise, normalised, split_ready, tokens

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
HOSTILE = st.lists(
    st.sampled_from(
        [
            *("the", "an", *"athenTHE \n.'_-“—²½éΣßİKﬁＡ東か한"),
            *"\x00\x1c\x7f\xa0\u0301\u200b\u3000\u3099\ua7cb\ua7dc",
        ]
    ),
    max_size=12,
).map("".join)


def official(answer: str) -> str:
    """SQuAD's rule, step by step."""
    lowered = "".join(c for c in answer.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", lowered).split())


@pytest.fixture(scope="module")
def characters() -> pl.Series:
    """Every code point that a text can hold."""
    return pl.Series([chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000])


@pytest.fixture(scope="module")
def known(characters: pl.Series) -> pl.Series:
    """The code points that Polars normalises itself: all but those newer than Python's tables."""
    return characters.filter(~characters.str.contains(text._newer()))


SQUAD_PLACES = ("{}", "a{}", "{}the", " a {}", "x {} an")
UNICODE_PLACES = ("{}", "AΣ{}", "\u0316{}\u0301")
PLACES: list[tuple[Profile, str]] = [
    *(("squad_v1", place) for place in SQUAD_PLACES),
    *(("unicode", place) for place in UNICODE_PLACES),
    ("squad_v1", "AΣ{}"),
    ("squad_v1", "“the{}"),
    ("cjk", "x{}y"),
]


@pytest.mark.parametrize(("profile", "place"), PLACES)
def test_every_code_point(known: pl.Series, profile: Profile, place: str) -> None:
    """Alone and beside articles, capital sigma and marks, each code point counts as in Python."""
    before, after = place.split("{}")
    texts = [before + character + after for character in known]
    fast = normalised(pl.Series(texts), profile).to_list()
    differing = [
        (hex(ord(character)), got)
        for character, one, got in zip(known, texts, fast, strict=True)
        if got != normalise(one, profile)
    ]
    assert differing == []


def test_code_points_left_to_python(characters: pl.Series, known: pl.Series) -> None:
    """What Polars does not do itself is what Python does not know; Python's answer is taken."""
    newer = characters.filter(characters.str.contains(text._newer())).to_list()
    assert len(newer) + known.len() == characters.len()
    assert {unicodedata.category(character) for character in newer} <= {"Cn"}
    some = ["a" + c + "the Σ" for c in random.Random(1).sample(newer, 2_000)]
    for profile in PROFILES:
        assert normalised(pl.Series(some), profile).to_list() == [
            normalise(one, profile) for one in some
        ]


def test_tables_hold_all_there_is() -> None:
    """Above the highest code point looked at, there is no punctuation and no case."""
    for c in map(chr, range(text.HIGHEST, 0x110000)):
        assert c.casefold() == c
        assert unicodedata.category(c)[0] != "P"


@settings(max_examples=100, deadline=None)
@given(st.lists(ANY_TEXT | HOSTILE, min_size=1, max_size=20), st.sampled_from(PROFILES))
def test_any_text(texts: list[str], profile: Profile) -> None:
    """Whole columns are normalised as each text is by itself, and split into the same tokens."""
    series = pl.Series(texts)
    assert normalised(series, profile).to_list() == [normalise(one, profile) for one in texts]
    pieces = split_ready(series, profile).str.split(" ").to_list()
    assert [[p for p in each if p not in IGNORED[profile]] for each in pieces] == [
        tokens(one, profile) for one in texts
    ]


@given(ANY_TEXT | HOSTILE)
def test_squad_is_the_official_rule(one: str) -> None:
    """The profile `squad_v1` is the rule of the official script."""
    assert normalise(one) == official(one) == normalise(one, "squad_v2")


def test_articles_in_a_row() -> None:
    """Articles that share the character between them all go, touched by other signs or not."""
    rows = ["".join(p) for p in itertools.product(["a", "the", "“", " ", "—", "é", "'"], repeat=5)]
    assert normalised(pl.Series(rows)).to_list() == [normalise(row) for row in rows]


def test_official_edge_cases(rag_data: Path) -> None:
    """The official scripts' normalised texts come out, plain and in Polars."""
    file = rag_data / "squad" / "normalisation_edge_cases_official.json"
    for case in json.loads(file.read_text(encoding="utf-8")):
        for side in ("prediction", "reference"):
            assert normalise(case[side]) == case[f"norm_{side}"]
            assert normalised(pl.Series([case[side]])).to_list() == [case[f"norm_{side}"]]


@pytest.mark.parametrize(
    ("profile", "one", "expected"),
    [
        ("squad_v1", "The A.B.C. costs $1,234.50", ["abc", "costs", "123450"]),
        ("squad_v1", "“The” end", ["“", "”", "end"]),
        ("unicode", "The “End”: STRASSE–Straße", ["the", "end", "strassestrasse"]),
        ("unicode", "Ａｂｃ ﬁn cafe\u0301", ["abc", "fin", "café"]),
        ("cjk", "東京タワーは「333m」", [*"東京タワーは", "333m"]),
        ("cjk", "한국 GPT", ["한", "국", "gpt"]),
    ],
)
def test_profiles(profile: Profile, one: str, expected: list[str]) -> None:
    """Each profile's rule on texts worked out by hand."""
    assert tokens(one, profile) == expected
    assert normalised(pl.Series([one]), profile).to_list() == [" ".join(expected)]


def test_cjk_is_unicode_with_spaces() -> None:
    """Both profiles keep the same characters."""
    one = "東京 is 首都の名前, ｶﾅ!"
    assert normalise(one, "cjk").replace(" ", "") == normalise(one, "unicode").replace(" ", "")


def test_nulls_and_no_texts() -> None:
    """Null is the empty text; no texts give no texts; the series keeps its name."""
    assert normalised(pl.Series("x", [None, "A cat"])).to_list() == ["", "cat"]
    empty = normalised(pl.Series("x", [], dtype=pl.String))
    assert (empty.name, empty.len()) == ("x", 0)


def test_large_columns_keep_their_order() -> None:
    """Columns that are shared among threads come back in order."""
    texts = pl.Series([f"the {n}!" for n in range(text.SMALL + 7)])
    assert normalised(texts).to_list() == [str(n) for n in range(text.SMALL + 7)]


def test_unknown_profile() -> None:
    """A profile that is not offered is named with those that are."""
    for call in (lambda: tokens("x", "squad"), lambda: normalised(pl.Series(["x"]), "squad")):  # type: ignore[arg-type]
        with pytest.raises(OptionError, match=r"profile='squad' is not offered.*'squad_v1'"):
            call()
