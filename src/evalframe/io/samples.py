"""Samples as tables hold them: contexts that are objects, and types that do not fit."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from evalframe import hits
from evalframe.columns import SAMPLES
from evalframe.errors import ColumnError
from evalframe.frames import ACCEPTED, Frame, find_columns
from evalframe.io.sample_records import refuse

__all__ = ["flat_samples", "wrong_types"]


def flat_samples(frame: Frame, columns: Mapping[str, str] | None = None) -> Frame:
    """Turn contexts that are objects into their texts.

    A list of `{"text": …, …}` becomes a list of texts (MTRAG, LangChain); `{"text": […]}` becomes
    that list (SQuAD); a conversation as `user_input` becomes what was said last.

    Raises
    ------
    ColumnError
        Columns that cannot hold what samples have there: all of them in one message. A string is
        no list, and is not made one: its characters, or a list written as text, would be taken for
        a passage.
    """
    schema = frame.collect_schema() if isinstance(frame, pl.LazyFrame) else frame.schema
    refuse(wrong_types(schema, columns), ColumnError)
    flat = []
    for column, name in find_columns(SAMPLES, schema.names(), columns or {}).items():
        text = _flattened(column, pl.col(name), schema[name])
        if text is not None:
            flat.append(text.alias(name))
    return frame.with_columns(flat) if flat else frame


def wrong_types(schema: pl.Schema, columns: Mapping[str, str] | None = None) -> list[str]:
    """The columns of samples whose types do not fit, in words."""
    problems = []
    for column, name in find_columns(SAMPLES, schema.names(), columns or {}).items():
        dtype = schema[name]
        accepts, wanted = ACCEPTED[SAMPLES.roles[column]]
        nested = _flattened(column, pl.col(name), dtype) is not None
        if dtype == pl.Null or nested or accepts(dtype):
            continue
        hint = f", such as pl.concat_list({name!r})" if dtype == pl.String else ""
        problems.append(f"column {name!r} is {dtype}; {column} needs {wanted}{hint}")
    return problems


def _flattened(column: str, values: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
    """The text of a column of objects, or nothing where it is none or has no text."""
    role = SAMPLES.roles[column]
    in_list = dtype.inner if isinstance(dtype, pl.List | pl.Array) else None
    if role == "texts" and isinstance(in_list, pl.Struct):
        text = _text_within(in_list, pl.element(), pl.String)
        if text is not None:
            return values.list.eval(text)
    if role == "texts" and isinstance(dtype, pl.Struct):
        return _text_within(dtype, values, pl.List(pl.String))
    if column == "user_input" and isinstance(in_list, pl.Struct):
        return _text_within(in_list, values.list.last(), pl.String)
    return None


def _text_within(
    dtype: pl.Struct, held: pl.Expr, wanted: type[pl.String] | pl.List
) -> pl.Expr | None:
    """The first field with a text that is there, in the order of `hits.CONTENT_NAMES`."""
    fields = {field.name: field.dtype for field in dtype.fields}
    texts = [held.struct.field(n) for n in hits.CONTENT_NAMES if fields.get(n) == wanted]
    return pl.coalesce(texts) if texts else None
