"""House frames as the objects of other libraries, and their objects as frames.

The way back for pandas, Arrow and DuckDB is `evalframe.inputs`, which takes any of them.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from evalframe.errors import ColumnError, FrameError, MissingExtraError
from evalframe.io.dicts import qrels_from_dict, qrels_to_dict, run_from_dict, run_to_dict

__all__ = [
    "from_ranx",
    "to_arrow",
    "to_duckdb",
    "to_ir_measures",
    "to_pandas",
    "to_pyterrier",
    "to_pytrec_eval",
    "to_ranx",
]


def to_pandas(frame: pl.DataFrame) -> Any:
    """A frame as a pandas DataFrame; ids are strings there too.

    Raises
    ------
    MissingExtraError
        pandas is not installed.
    FrameError
        No frame in memory: a plan is collected first.
    """
    if not isinstance(frame, pl.DataFrame):
        hint = "collect it first" if isinstance(frame, pl.LazyFrame) else f"it is {frame!r:.80}"
        raise FrameError(f"to_pandas needs a Polars frame in memory; {hint}")
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("pandas", "pandas") from error
    return frame.to_pandas()


def to_arrow(frame: pl.DataFrame) -> Any:
    """A frame as a pyarrow Table, with the plain `string` type that every reader knows."""
    import pyarrow as pa

    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table.cast(pa.schema([field.with_type(_plain(field.type)) for field in table.schema]))


def to_duckdb(frame: pl.DataFrame, connection: Any = None) -> Any:
    """A frame as a DuckDB relation, in the given connection or the default one.

    Raises
    ------
    MissingExtraError
        duckdb is not installed.
    """
    try:
        import duckdb  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingExtraError("duckdb", "duckdb") from error
    return (connection or duckdb).from_arrow(to_arrow(frame))


def to_ranx(frame: pl.DataFrame) -> Any:
    """House qrels or a house run as `ranx.Qrels` or `ranx.Run`.

    ranx takes whole grades only. It keeps document ids as hashes in 64-bit floats.

    Raises
    ------
    MissingExtraError
        ranx is not installed.
    ColumnError
        The run holds several systems, or the grades are no whole numbers.
    """
    try:
        import ranx  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingExtraError("ranx", "oracles") from error
    if _is_qrels(frame):
        return ranx.Qrels(qrels_to_dict(_whole(frame, "ranx")))
    return ranx.Run(run_to_dict(_one_system(frame, "ranx")))


def from_ranx(data: Any) -> pl.DataFrame:
    """`ranx.Qrels` or `ranx.Run` as a frame; the name of a run is not kept."""
    nested = {q: dict(docs) for q, docs in data.to_dict().items()}
    return qrels_from_dict(nested) if type(data).__name__ == "Qrels" else run_from_dict(nested)


def to_ir_measures(frame: pl.DataFrame) -> Any:
    """House qrels or a house run as the pandas frame that `ir_measures` takes."""
    if _is_qrels(frame):
        return to_pandas(_whole(frame, "ir_measures").select("query_id", "doc_id", "relevance"))
    return to_pandas(_one_system(frame, "ir_measures").select("query_id", "doc_id", "score"))


def to_pyterrier(frame: pl.DataFrame) -> Any:
    """House qrels or a house run as PyTerrier's pandas frame: `qid`, `docno`, `label` or `score`.

    A run gets PyTerrier's `rank`, which counts from 0, by descending score; ties keep their order.
    """
    named = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}
    if _is_qrels(frame):
        return to_pandas(frame.select("query_id", "doc_id", "relevance").rename(named))
    run = _one_system(frame, "PyTerrier").select("query_id", "doc_id", "score")
    rank = pl.col("score").rank("ordinal", descending=True).over("query_id").cast(pl.Int64) - 1
    named.pop("relevance")
    return to_pandas(run.with_columns(rank.alias("rank")).rename(named))


def to_pytrec_eval(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """House qrels or a house run as pytrec_eval's nested dict.

    >>> to_pytrec_eval(pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "relevance": [1]}))
    {'q': {'d': 1}}
    """
    if _is_qrels(frame):
        return qrels_to_dict(_whole(frame, "pytrec_eval"))
    return run_to_dict(_one_system(frame, "pytrec_eval"))


def _is_qrels(frame: pl.DataFrame) -> bool:
    if "relevance" in frame.columns:
        return True
    if "score" in frame.columns:
        return False
    raise FrameError(f"neither qrels nor a run: the columns are {frame.columns}")


def _one_system(run: pl.DataFrame, library: str) -> pl.DataFrame:
    if "system" not in run.columns:
        return run
    names = run["system"].unique(maintain_order=True)
    if len(names) > 1:
        raise ColumnError(
            f"{library} takes one system at a time, and the run holds {len(names)}: "
            f"{', '.join(names.head(5))}; filter it first"
        )
    return run.drop("system")


def _whole(qrels: pl.DataFrame, library: str) -> pl.DataFrame:
    if not qrels.schema["relevance"].is_float():
        return qrels
    if (qrels["relevance"] != qrels["relevance"].floor()).any():
        raise ColumnError(f"{library} takes whole grades only, and these qrels have fractions")
    return qrels.with_columns(pl.col("relevance").cast(pl.Int64))


def _plain(kind: Any) -> Any:
    """Arrow's type with 32-bit offsets, which Spark and older readers want."""
    import pyarrow as pa

    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    return kind
