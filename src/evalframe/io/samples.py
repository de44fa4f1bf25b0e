"""RAG samples as files hold them: contexts as objects, a lone string where a list is wanted."""

from __future__ import annotations

import polars as pl

from evalframe.columns import KINDS
from evalframe.frames import Frame, find_columns

__all__ = ["flat_samples"]

TEXT_FIELDS = ("text", "content", "page_content", "contents", "passage", "value", "answer")


def flat_samples(frame: Frame) -> Frame:
    """Turn contexts that are objects into their texts, and lone strings into lists of one.

    A list of `{"text": …, …}` becomes a list of texts (MTRAG, LangChain); `{"text": […]}` becomes
    that list (SQuAD); a conversation as `user_input` becomes its last
    turn. Whatever has no text field stays as it is.
    """
    shape = KINDS["samples"]
    schema = frame.collect_schema() if isinstance(frame, pl.LazyFrame) else frame.schema
    flat = []
    for column, name in find_columns(shape, schema.names(), {}).items():
        if column == "user_input":
            flat += _last_turn(name, schema[name])
        if shape.roles[column] in ("texts", "ids"):
            flat += _flat(name, schema[name])
    return frame.with_columns(flat)


def _flat(name: str, dtype: pl.DataType) -> list[pl.Expr]:
    values = pl.col(name)
    if dtype == pl.String:
        return [pl.when(values.is_not_null()).then(pl.concat_list(values)).alias(name)]
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        field = _text_field(dtype.inner)
        return [values.list.eval(pl.element().struct.field(field)).alias(name)] if field else []
    if isinstance(dtype, pl.Struct):
        field = _text_field(dtype)
        return [values.struct.field(field).alias(name)] if field else []
    return []


def _last_turn(name: str, dtype: pl.DataType) -> list[pl.Expr]:
    """What was asked last in a conversation that is a list of turns."""
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        field = _text_field(dtype.inner)
        if field:
            return [pl.col(name).list.last().struct.field(field).alias(name)]
    return []


def _text_field(dtype: pl.Struct) -> str | None:
    names = [field.name for field in dtype.fields]
    return next((name for name in TEXT_FIELDS if name in names), None)
