"""Which of the five frames a file holds, where its columns or its name tell."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from evalframe.columns import CORPUS, KINDS, QRELS, QUERIES, RUN, SAMPLES, Kind, Shape
from evalframe.errors import OptionError
from evalframe.frames import BEIR_DOC
from evalframe.inputs import unchecked_frame
from evalframe.io.files import Source, find

__all__ = ["kind_of", "read_kind_name"]

OF_SAMPLES = [c for c in SAMPLES.roles if c not in ("system", "query_id", "user_input")]
"""Columns that nothing but samples has."""


def read_kind_name(word: str) -> Kind:
    """A kind by its name."""
    for kind in KINDS:
        if word == kind:
            return kind
    raise OptionError(f"--kind {word!r} is not offered; choose one of {', '.join(KINDS)}")


def kind_of(path: Path) -> Kind:
    """The kind of frame that a file holds.

    Raises
    ------
    OptionError
        Neither the columns nor the name of the file tell.
    """
    source = find(path)
    columns, fitting = _looked_into(source)
    if len(fitting) > 1:
        named = [kind for kind in fitting if kind in _words(source.name)]
        fitting = named or fitting
    if len(fitting) == 1:
        return fitting[0]
    seen = f" (columns: {', '.join(columns)})" if columns else ""
    might = f": it may be {' or '.join(fitting)}" if fitting else ""
    raise OptionError(
        f"{path}: cannot tell what it holds{seen}{might}; say --kind {'|'.join(fitting or KINDS)}"
    )


def _words(name: str) -> set[str]:
    """The words of a file's name and its folder's; `runs/bm25.trec` is a run."""
    words = {word for part in Path(name).parts[-2:] for word in re.split(r"\W+|_", part.lower())}
    return words | {"run" for word in words if word == "runs"}


def _looked_into(source: Source) -> tuple[list[str], list[Kind]]:
    """The columns of a file, if it has any, and the kinds that it may be."""
    if source.layout in ("parquet", "ipc", "ipc_stream"):
        columns = unchecked_frame(source.name, "run").lazy().collect_schema().names()
        return columns, _kinds_with(columns)
    if source.layout == "cbor":
        return [], ["qrels", "run"]
    if source.layout == "json":
        return _in_json(source)
    return _in_text(source)


def _in_json(source: Source) -> tuple[list[str], list[Kind]]:
    text = source.head.decode("utf-8", errors="replace").removeprefix("\ufeff").lstrip("[ \t\r\n")
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        value = _first_entry(text)
    if not isinstance(value, dict) or not value:
        return [], []
    if not _kinds_with([*value]) and (nested := _in_nested(next(iter(value.values())))):
        return [], nested
    return [*value], _kinds_with([*value])


def _first_entry(text: str) -> Any:
    """The first entry of an object that is longer than what was looked at."""
    key = re.match(r'\{\s*("(?:[^"\\]|\\.)*")\s*:\s*', text)
    if key is None:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text[key.end() :])
    except ValueError:
        return None
    return {json.loads(key[1]): value}


def _in_nested(value: Any) -> list[Kind]:
    """What `{id: value}` may be: grades are whole numbers, scores need not be."""
    if isinstance(value, str):
        return ["queries", "corpus"]
    if isinstance(value, list):
        return ["run"]
    if not isinstance(value, dict):
        return []
    inner = [*value.values()]
    if any(isinstance(one, str) for one in inner):
        return ["corpus"]
    if any(isinstance(one, float) and not one.is_integer() for one in inner):
        return ["run"]
    return ["qrels", "run"]


def _in_text(source: Source) -> tuple[list[str], list[Kind]]:
    lines = source.lines()
    if not lines:
        return [], []
    for mark in "\t,; ":
        cells = [cell.strip().strip('"') for cell in lines[0].split(mark)]
        if len(cells) > 1 and (fitting := _kinds_with(cells)):
            return cells, fitting
    of_trec: dict[int, list[Kind]] = {4: ["qrels"], 6: ["run"], 3: ["qrels", "run"]}
    return [], of_trec.get(len(lines[0].split()), [])


def _kinds_with(columns: list[str]) -> list[Kind]:
    """The kinds that have these columns."""
    if _has(SAMPLES, columns, *OF_SAMPLES, among="any"):
        return ["samples"]
    if _has(RUN, columns, "query_id") and _has(RUN, columns, "doc_id"):
        return _qrels_or_run(columns)
    fitting: list[Kind] = []
    if _has(CORPUS, columns, "doc_id", "text"):
        fitting.append("corpus")
    is_titled = _has(CORPUS, columns, "title", "text")
    if _has(QUERIES, columns, "query_id", "text") and not is_titled:
        fitting.append("queries")
    return fitting


def _qrels_or_run(columns: list[str]) -> list[Kind]:
    """`score` is a run's word, but BEIR says it of grades."""
    scored = _has(RUN, columns, "score", "rank", among="any")
    others = [name for name in columns if name not in RUN.names_for("score")]
    graded = _has(QRELS, others, "relevance")
    if scored and BEIR_DOC in columns:
        return ["qrels"]
    found: list[Kind] = ["qrels"] if graded else []
    return [*found, "run"] if scored else found


def _has(shape: Shape, columns: list[str], *wanted: str, among: str = "all") -> bool:
    """Whether there are columns, by whatever name, for all (or any) of those wanted."""
    found = [any(name in columns for name in shape.names_for(column)) for column in wanted]
    return any(found) if among == "any" else all(found)
