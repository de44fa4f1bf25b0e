"""Samples as records, whoever wrote them: every value checked, all problems told at once.

Lists of dicts, dataclass objects, dicts of columns and JSON files all come through here, so that
the same value means the same in each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import polars as pl

from evalframe import hits
from evalframe.columns import DTYPES, SAMPLES, Role
from evalframe.errors import ColumnError, EmptyError, EvalframeError, RowError
from evalframe.frames import find_columns

__all__ = [
    "as_record",
    "faults_among",
    "known_columns",
    "records_of_columns",
    "refuse",
    "wrong_keys",
]

SHOWN_PROBLEMS = 20


def as_record(row: Any) -> Any:
    """A row as a dict of its own: a mapping, a dataclass, a named tuple or a pydantic object.

    Whatever else it is, it stays.

    Examples
    --------
    >>> as_record({"response": "4"}), as_record(4)
    ({'response': '4'}, 4)
    """
    if isinstance(row, Mapping):
        return dict(row)
    if is_dataclass(row) and not isinstance(row, type):
        return {field.name: getattr(row, field.name) for field in fields(row)}
    if hasattr(row, "_asdict"):
        return dict(row._asdict())
    return dict(row.model_dump()) if hasattr(row, "model_dump") else row


def records_of_columns(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A dict of columns as records.

    Examples
    --------
    >>> records_of_columns({"response": ["4", "5"]})
    [{'response': '4'}, {'response': '5'}]
    """
    lengths = {
        name: len(values)
        for name, values in columns.items()
        if hasattr(values, "__len__") and not isinstance(values, str | bytes | Mapping)
    }
    if not lengths or len(lengths) < len(columns) or len({*lengths.values()}) > 1:
        raise ColumnError(
            "samples as a dict are columns, lists of one length under their names; one sample by "
            f"itself goes into a list. Found: {columns!r:.200}"
        )
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def known_columns(
    rows: Iterable[Any], columns: Mapping[str, str] | None = None, *, repeats: bool = False
) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """The known columns of records as a frame, under their own names, and what else there is.

    Contexts, references and gold passages that are chunks (mappings or objects with a text) become
    their texts, a conversation as `user_input` becomes what was said last, and NaN becomes null.

    Parameters
    ----------
    rows
        Anything that `as_record` makes a dict of.
    columns
        The house's name → the data's own name, where it is not a known one.
    repeats
        Leave it to the caller to see to ids that stand more than once.

    Raises
    ------
    RowError
        Values of a wrong type, missing or repeated ids, rows that are no records.
    ColumnError
        No record has a column that samples have.
    EmptyError
        There are no records.

    Examples
    --------
    >>> table, rest = known_columns([{"contexts": [{"text": "Paris"}, "Rome"], "lang": "en"}])
    >>> table.rows(), rest
    ([(['Paris', 'Rome'],)], [{'lang': 'en'}])
    """
    given = [as_record(row) for row in rows]
    if not given:
        raise EmptyError("there are no samples")
    problems = [
        f"row {at}: {row!r:.80} is no mapping of column to value"
        for at, row in enumerate(given)
        if not isinstance(row, dict)
    ]
    records = [row if isinstance(row, dict) else {} for row in given]
    names = list(dict.fromkeys(name for row in records for name in row))
    found = find_columns(SAMPLES, names, columns or {})
    values: dict[str, list[Any]] = {}
    for column, name in found.items():
        checked = [_value(row.pop(name, None), SAMPLES.roles[column]) for row in records]
        values[name] = [value for value, _ in checked]
        problems += [f"row {at}, {name!r}: {bad}" for at, (_, bad) in enumerate(checked) if bad]
    keys = {name: values[name] for column, name in found.items() if column in SAMPLES.key}
    problems += wrong_keys(keys, found, repeats=repeats)
    refuse(problems, RowError)
    if not found:
        raise ColumnError(
            f"no known column of samples: found {', '.join(map(repr, names)) or 'no columns'}; "
            f"known are {', '.join(SAMPLES.roles)}"
        )
    table = [pl.Series(n, values[n], DTYPES[SAMPLES.roles[c]]) for c, n in found.items()]
    return pl.DataFrame(table), records


def faults_among(
    rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str] | None = None
) -> Callable[[Mapping[str, Any]], str | None]:
    """What says of one of these records what is wrong with it, or None.

    A value of a wrong type, or no id where others have one.

    Examples
    --------
    >>> rows = [{"contexts": ["Paris"]}, {"contexts": "Rome"}]
    >>> [faults_among(rows)(row) for row in rows]
    [None, "'contexts': 'Rome' is a string where a list is wanted; put it into a list"]
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    found = find_columns(SAMPLES, names, columns or {})

    def fault(row: Mapping[str, Any]) -> str | None:
        for column, name in found.items():
            value, wrong = _value(row.get(name), SAMPLES.roles[column])
            if wrong:
                return f"{name!r}: {wrong}"
            if column == "query_id" and value is None:
                return "no query_id"
        return None

    return fault


def wrong_keys(
    keys: Mapping[str, Iterable[Any]], found: Mapping[str, str], *, repeats: bool = False
) -> list[str]:
    """Rows without an id where others have one, and ids that stand more than once.

    Parameters
    ----------
    keys
        The values of the columns that make a sample's key, by their own names.
    found
        The house's column → its own name.
    repeats
        Do not look for ids that stand more than once.

    Examples
    --------
    >>> wrong_keys({"qid": ["a", None, "a"]}, {"query_id": "qid"})
    ['row 1: no query_id', "row 2: query_id 'a' stands in row 0 too"]
    """
    if "query_id" not in found:
        return []
    named = [found[column] for column in SAMPLES.key if column in found]
    first: dict[tuple[Any, ...], int] = {}
    problems = []
    for at, key in enumerate(zip(*(keys[name] for name in named), strict=True)):
        if key[-1] is None:
            problems.append(f"row {at}: no query_id")
        elif not repeats and first.setdefault(key, at) != at:
            of = f" of system {key[0]!r}" if len(key) > 1 else ""
            problems.append(f"row {at}: query_id {key[-1]!r}{of} stands in row {first[key]} too")
    return problems


def refuse(problems: list[str], kind: type[EvalframeError]) -> None:
    """Raise an error that tells all problems, if there are any."""
    if not problems:
        return
    more = len(problems) - SHOWN_PROBLEMS
    lines = [f"  {problem}" for problem in problems[:SHOWN_PROBLEMS]]
    lines += [f"  … and {more} more"] if more > 0 else []
    raise kind("the samples cannot be used as they are:\n" + "\n".join(lines))


def _value(value: Any, role: Role) -> tuple[Any, str]:
    """The value as it will stand in the frame, and what is wrong with it, if anything is."""
    if value is None or (isinstance(value, float) and value != value):
        return None, ""
    if role in ("texts", "ids"):
        return _list(value, "text" if role == "texts" else "id")
    if role == "id":
        return _id(value)
    if _is_conversation(value):
        return _passage(value[-1])
    return _text(value)


def _list(value: Any, role: Role) -> tuple[Any, str]:
    if isinstance(value, str):
        return None, f"{value!r:.60} is a string where a list is wanted; put it into a list"
    if isinstance(value, Mapping):
        return _list_within(value, role)
    if hasattr(value, "tolist") or hasattr(value, "to_list"):
        value = value.tolist() if hasattr(value, "tolist") else value.to_list()
    if not isinstance(value, list | tuple):
        return None, f"{value!r:.60} is {type(value).__name__}; a list is wanted"
    checked = [_passage(one) if role == "text" else _value(one, role) for one in value]
    problem = next((f"at {at}: {wrong}" for at, (_, wrong) in enumerate(checked) if wrong), "")
    return [one for one, _ in checked], problem


def _list_within(value: Mapping[str, Any], role: Role) -> tuple[Any, str]:
    """`{"text": [...], …}`, as SQuAD has its answers."""
    held = next((value[name] for name in hits.CONTENT_NAMES if name in value), None)
    if role == "text" and isinstance(held, list | tuple):
        return _list(held, role)
    return None, f"{value!r:.60} is {type(value).__name__}; a list is wanted"


def _passage(item: Any) -> tuple[Any, str]:
    """A text, or the text of a chunk."""
    text = hits.content_of(item)
    if text is not None:
        return _text(text)
    if isinstance(item, Mapping) and any(name in item for name in hits.CONTENT_NAMES):
        named = (item[name] for name in hits.CONTENT_NAMES if item.get(name) is not None)
        return _value(next(named, None), "text")
    if isinstance(item, Mapping):
        return None, f"{item!r:.60} has no text ({', '.join(hits.CONTENT_NAMES)})"
    return _value(item, "text")


def _text(value: Any) -> tuple[Any, str]:
    if not isinstance(value, str):
        return None, f"{value!r:.60} is {type(value).__name__}; a string is wanted"
    value = str.__str__(value)
    return (value, "") if _is_encodable(value) else (None, f"{value!r:.60} holds half a character")


def _id(value: Any) -> tuple[Any, str]:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        kind = type(value).__name__
        return None, f"{value!r:.60} is {kind}; a string or a whole number is wanted"
    return str(value.__index__()), ""


def _is_encodable(text: str) -> bool:
    """Whether a text is free of lone surrogates, which no frame or file can hold."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_conversation(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, Mapping) for v in value)
