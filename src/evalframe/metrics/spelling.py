"""Spellings of metrics: `ndcg@10`, `recall(rel=2)@100`, `P_10`, `nDCG@10`, `map@100-l2`.

    name [ "(" parameter "=" value { "," parameter "=" value } ")" ] [ "@" cut-off ] [ "-l" level ]

Names are read without regard to case. trec_eval's, ir_measures' and ranx's names are aliases that
each metric brings with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from evalframe.errors import MetricError, did_you_mean
from evalframe.metrics.catalogue import CATALOGUE, Definition, Metric, with_parameters

__all__ = ["parse"]

GRAMMAR = re.compile(
    r"(?P<name>[\w.+-]+?|\w[\w.,=-]*?)"
    r"(?:\((?P<inside>.*)\))?"
    r"(?:@(?P<at>[\d.]+))?"
    r"(?:-l(?P<rel>\d+))?"
)
SETTING = re.compile(r"\s*(\w+)\s*=\s*('[^']*'|\"[^\"]*\"|\{[^}]*\}|[^,{}]+?)\s*(?:,|$)")


def parse(spelling: str | Metric) -> Metric:
    """Read a metric's spelling.

    Parameters
    ----------
    spelling
        Any name the catalogue knows, with parameters and a cut-off. A metric is given back as is.

    Returns
    -------
    Metric
        `str()` of it is the canonical spelling, which parses to an equal metric.

    Raises
    ------
    MetricError
        The name, a parameter or a value is not known.

    Examples
    --------
    >>> import evalframe as evf
    >>> [str(evf.metrics.parse(s)) for s in ("nDCG@10", "P_5", "RR", "recall(rel=2)@100")]
    ['ndcg@10', 'precision@5', 'mrr', 'recall(rel=2)@100']
    >>> evf.metrics.parse("ndgc@10")
    Traceback (most recent call last):
    ...
    evalframe.errors.MetricError: unknown metric 'ndgc@10': did you mean 'ndcg@10'?
    """
    if isinstance(spelling, Metric):
        return spelling
    if not isinstance(spelling, str):
        raise MetricError(f"a metric is named by a string, not by {type(spelling).__name__}")
    if spelling not in CATALOGUE.parsed:
        CATALOGUE.parsed[spelling] = _read(spelling)
    return CATALOGUE.parsed[spelling]


def _read(spelling: str) -> Metric:
    text = spelling.strip()
    matched = GRAMMAR.fullmatch(text)
    if matched is None:
        raise MetricError(f"cannot read the metric {spelling!r}; write it like 'ndcg@10'")
    definition, given = _look_up(matched["name"], text)
    given |= _settings(matched["inside"], text)
    if matched["at"] is not None:
        _put(given, definition.at, _value(matched["at"]), text)
        if definition.at not in definition.parameters:
            raise MetricError(f"metric {definition.name!r} has no cut-off, but {text!r} gives one")
    if matched["rel"] is not None:
        _put(given, "rel", int(matched["rel"]), text)
    try:
        read = with_parameters(definition, given)
        read.expression()
    except MetricError as error:
        raise MetricError(f"{error} (in {spelling!r})") from None
    return read


def _look_up(name: str, text: str) -> tuple[Definition, dict[str, Any]]:
    wanted = name.lower()
    for known, definition, preset in _names():
        if known.lower() == wanted:
            return definition, dict(preset)
    for template, definition in _templates():
        matched = template.fullmatch(name)
        if matched:
            given = {key: _value(value) for key, value in matched.groupdict().items()}
            return definition, given
    known_names = [known for known, _, _ in _names()]
    hint = did_you_mean(name, known_names)
    if hint and name != text:
        hint = hint[:-2] + text[len(name) :] + "'?"
    raise MetricError(
        f"unknown metric {text!r}{hint or '; evalframe.metrics.CATALOGUE lists all of them'}"
    )


def _names() -> Iterator[tuple[str, Definition, dict[str, Any]]]:
    for definition in CATALOGUE.values():
        yield definition.name, definition, {}
        yield from ((alias, definition, {}) for alias in definition.aliases if "{" not in alias)
        yield from ((alias, definition, dict(p)) for alias, p in definition.variants.items())


def _templates() -> Iterator[tuple[re.Pattern[str], Definition]]:
    for definition in CATALOGUE.values():
        for alias in definition.aliases:
            if "{" in alias:
                pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[\\d.,=:-]+)", re.escape(alias))
                pattern = pattern.replace("_(?P", "[_.](?P")
                yield re.compile(pattern, re.IGNORECASE), definition


def _settings(inside: str | None, text: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    position = 0
    inside = (inside or "").strip()
    while position < len(inside):
        matched = SETTING.match(inside, position)
        if matched is None:
            raise MetricError(
                f"cannot read the parameters of {text!r}; write them like 'recall(rel=2)@10'"
            )
        _put(given, matched[1], _value(matched[2].strip("'\"")), text)
        position = matched.end()
    return given


def _put(given: dict[str, Any], name: str, value: Any, text: str) -> None:
    if name in given:
        raise MetricError(f"{text!r} gives the parameter {name!r} twice")
    given[name] = value


def _value(text: str) -> Any:
    """A whole number, a number, a mapping of numbers (as sorted pairs), or the text itself."""
    text = text.strip()
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        pass
    pairs = re.split(r"\s*,\s*", text.strip("{} "))
    split = [re.split(r"\s*[:=]\s*", pair) for pair in pairs]
    if text and all(len(pair) == 2 for pair in split):
        try:
            return tuple(sorted((float(a), float(b)) for a, b in split))
        except ValueError as error:
            raise MetricError(f"cannot read {text!r} as grade:gain pairs of numbers") from error
    return text
