"""CBOR (RFC 8949), as far as nested dicts of numbers need it: ranx keeps runs so, inside LZ4."""

from __future__ import annotations

import struct
from typing import Any

from evalframe.errors import ReadError

__all__ = ["decode"]

FLOATS = {25: "e", 26: "f", 27: "d"}
WIDTHS = {24: 1, 25: 2, 26: 4, 27: 8}
SIMPLE = {20: False, 21: True, 22: None, 23: None}
DEEPEST = 16


def decode(data: bytes, path: str) -> Any:
    """The one value that `data` holds: maps, lists, strings, numbers, true, false and null.

    >>> decode(bytes([0xA1, 0x62, 0x71, 0x31, 0x18, 0x2A]), "run.lz4")
    {'q1': 42}
    """
    try:
        value, end = _value(memoryview(data), 0, 0)
    except (IndexError, struct.error, UnicodeDecodeError, TypeError) as error:
        raise ReadError(f"{path}: the CBOR data in it is damaged or cut short") from error
    if end != len(data):
        raise ReadError(f"{path}: {len(data) - end} bytes follow the CBOR value")
    return value


def _value(data: memoryview, at: int, depth: int) -> tuple[Any, int]:
    if depth > DEEPEST:
        raise TypeError("nested too deeply")
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        return _float_or_simple(data, at, info)
    number, at = _argument(data, at, info)
    if major == 0:
        return number, at
    if major == 1:
        return -1 - number, at
    if major in (2, 3):
        raw = bytes(data[at : at + number])
        if len(raw) < number:
            raise IndexError
        return (raw.decode() if major == 3 else raw), at + number
    if major == 4:
        items = []
        for _ in range(number):
            item, at = _value(data, at, depth + 1)
            items.append(item)
        return items, at
    if major == 5:
        pairs: dict[Any, Any] = {}
        for _ in range(number):
            key, at = _value(data, at, depth + 1)
            pairs[key], at = _value(data, at, depth + 1)
        return pairs, at
    return _value(data, at, depth + 1)


def _argument(data: memoryview, at: int, info: int) -> tuple[int, int]:
    if info < 24:
        return info, at
    width = WIDTHS.get(info)
    if width is None or at + width > len(data):
        raise IndexError
    return int.from_bytes(data[at : at + width], "big"), at + width


def _float_or_simple(data: memoryview, at: int, info: int) -> tuple[Any, int]:
    if info in FLOATS:
        end = at + WIDTHS[info]
        return struct.unpack(">" + FLOATS[info], data[at:end])[0], end
    if info not in SIMPLE:
        raise TypeError(f"simple value {info}")
    return SIMPLE[info], at
