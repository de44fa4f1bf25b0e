"""Which column is which in a table without a header: by how many there are and what they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evalframe.columns import Kind
from evalframe.errors import ReadError

__all__ = ["ITERATION", "Positions", "is_number", "is_whole", "positions"]

QRELS = ("query_id", "", "doc_id", "relevance")
BY_SUBTOPIC = ("query_id", "subtopic", "doc_id", "relevance")
RUN = ("query_id", "", "doc_id", "rank", "score", "system")
TAGGED = ("query_id", "doc_id", "rank", "score", "system")
ITERATION = "[Qq]?0"
"""What stands in the second column of TREC files that nobody reads."""
WORDS = {1: "one column", 2: "two columns", 3: "three columns", 4: "four columns",
         5: "five columns", 6: "six columns"}  # fmt: skip


@dataclass(frozen=True)
class Positions:
    """The house's name of each column, '' for one that is not read."""

    names: tuple[str, ...]
    whole: bool
    """Whether the grades of the sample are whole numbers."""
    ranked: bool
    """Whether the rank column is one of whole numbers: a line with another word there is bad."""
    trailing: bool
    """Whether further words may follow on a line (six-column runs, where ranks tell of moves)."""


def positions(
    rows: Sequence[Sequence[str]], kind: Kind, path: str, subtopics: bool = False
) -> Positions:
    """Name the columns of a qrels or run table from the rows of a sample.

    The second of four columns of qrels is the subtopic where `subtopics` are asked for.

    Raises
    ------
    ReadError
        The number of columns fits the other kind, fits none, or leaves open which is which.
    """
    if not rows:
        raise ReadError(f"{path}: no line of data, only comments or blank lines")
    width = Counter(min(len(row), 7) for row in rows).most_common(1)[0][0]
    usual = [row for row in rows if min(len(row), 7) == width]
    names = _qrels(usual, width, path) if kind == "qrels" else _run(usual, width, path)
    if subtopics:
        names = _by_subtopic(names, path, rows)
    ranked = "rank" in names and (
        width != len(names) or any(is_whole(row[names.index("rank")]) for row in usual)
    )
    return Positions(
        names=names,
        whole="relevance" in names and _whole_numbers(usual, names.index("relevance")),
        ranked=ranked,
        trailing=ranked and len(names) == 6,
    )


def is_whole(text: str) -> bool:
    """Whether a word is a whole number as a 64-bit integer holds it."""
    digits = text.removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdigit() and len(digits) < 19


def is_number(text: str) -> bool:
    """Whether a word is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text.isascii()


def _qrels(rows: Sequence[Sequence[str]], width: int, path: str) -> tuple[str, ...]:
    if width == 4 and _most(is_number, rows, 3):
        return QRELS
    if width == 3 and _all(is_number, rows, 2) and not _all(_is_iteration, rows, 1):
        return ("query_id", "doc_id", "relevance")
    if width in (6, 7) and _most(is_number, rows, 4):
        raise ReadError(
            f"{path}: {_words(width)}: this is a run; qrels have four. "
            f"Read it with read_run. {_shown(rows)}"
        )
    raise _unclear(path, width, rows, "qrels have four: query_id, iteration, doc_id, relevance")


def _by_subtopic(
    names: tuple[str, ...], path: str, rows: Sequence[Sequence[str]]
) -> tuple[str, ...]:
    if names != QRELS:
        raise ReadError(
            f"{path}: {_words(len(names))}: none of them is the subtopic; qrels by subtopic have "
            f"four: query_id, subtopic, doc_id, relevance. {_shown(rows)}"
        )
    return BY_SUBTOPIC


def _run(rows: Sequence[Sequence[str]], width: int, path: str) -> tuple[str, ...]:
    if width >= 6 and _most(is_number, rows, 4):
        return RUN
    if width == 5 and (names := _five(rows)):
        return names
    without = width in (3, 4) and not _all(_is_iteration, rows, 1)
    if width == 4 and without and _counts_up(rows, 2) and _all(is_number, rows, 3):
        return ("query_id", "doc_id", "rank", "score")
    if width == 4 and _all(is_whole, rows, 3):
        raise ReadError(
            f"{path}: four columns: these are qrels; a run has six. "
            f"Read them with read_qrels. {_shown(rows)}"
        )
    if width == 3 and without and _counts_up(rows, 2):
        return ("query_id", "doc_id", "rank")
    if width == 3 and without and _all(is_number, rows, 2) and not _all(is_whole, rows, 2):
        return ("query_id", "doc_id", "score")
    raise _unclear(path, width, rows, "a run has six: query_id, Q0, doc_id, rank, score, tag")


def _five(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The columns of a run without a tag, or of one without Q0, or none if both may be meant."""
    if _all(is_number, rows, 4) and not _all(is_number, rows, 2):
        return RUN[:5]
    tagged = _all(is_whole, rows, 2) and _all(is_number, rows, 3)
    untagged = _all(is_whole, rows, 3) and _all(is_number, rows, 4)
    if _all(_is_iteration, rows, 1):
        tagged = False
    elif tagged and untagged:
        untagged = _counts_up(rows, 3) and _is_constant(rows, 1)
        tagged = _counts_up(rows, 2) and _is_constant(rows, 4)
    if tagged != untagged:
        return TAGGED if tagged else RUN[:5]
    return ()


def _is_iteration(word: str) -> bool:
    return bool(re.fullmatch(ITERATION, word))


def _is_constant(rows: Sequence[Sequence[str]], index: int) -> bool:
    return len({row[index] for row in rows}) == 1


def _all(holds: Callable[[str], bool], rows: Sequence[Sequence[str]], index: int) -> bool:
    return all(holds(row[index]) for row in rows)


def _most(holds: Callable[[str], bool], rows: Sequence[Sequence[str]], index: int) -> bool:
    """Whether a column is what it should be, but for a few lines that do not fit."""
    return 2 * sum(holds(row[index]) for row in rows) >= len(rows)


def _whole_numbers(rows: Sequence[Sequence[str]], index: int) -> bool:
    """Whether all numbers of a column are whole; words that are none do not fit in any case."""
    return all(is_whole(row[index]) for row in rows if is_number(row[index]))


def _counts_up(rows: Sequence[Sequence[str]], index: int) -> bool:
    """Whether a column counts 1, 2, 3 … (or 0, 1, 2 …) within each query, as ranks do."""
    last: dict[str, int] = {}
    for row in rows:
        if not is_whole(row[index]):
            return False
        rank = int(row[index])
        if rank != last.get(row[0], min(max(rank, 0), 1) - 1) + 1:
            return False
        last[row[0]] = rank
    return True


def _unclear(path: str, width: int, rows: Sequence[Sequence[str]], wanted: str) -> ReadError:
    return ReadError(
        f"{path}: {_words(width)}, and it is not clear which is which; {wanted}. "
        "Give the file a header line, or name the columns by position: "
        f"columns={{'query_id': 'column_0', …}}. {_shown(rows)}"
    )


def _words(width: int) -> str:
    return WORDS.get(width, "more than six columns")


def _shown(rows: Sequence[Sequence[str]]) -> str:
    return "First line: " + repr(" ".join(rows[0]))[:200]
