"""Charts as text, as bytes and as files, made here and without a network."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalframe.errors import FrameError, MissingExtraError, OptionError
from evalframe.io.saving import beside

if TYPE_CHECKING:
    from altair import TopLevelMixin

__all__ = ["png", "save", "svg"]

SUFFIXES = (".png", ".svg", ".html", ".json")
TAG = re.compile(r"<[^>]+>")
IDS = re.compile(r'\bid="([^"]+)"')
OF_IDS = re.compile(r'(\bid="|url\(#|href="#)([^")]+)')
"""What gives an id, and what refers to one."""


def svg(chart: TopLevelMixin) -> str:
    """The chart as SVG: text, which a page can hold as it is.

    No two charts share an id, so that several can stand in one page.

    Raises
    ------
    MissingExtraError
        vl-convert is not installed (`pip install "evalframe[plots]"`).

    Examples
    --------
    >>> import evalframe as evf
    >>> from evalframe import plots
    >>> report = evf.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, ["mrr"])
    >>> plots.svg(plots.distribution(report, "mrr"))[:4]
    '<svg'
    """
    drawn = io.StringIO()
    _drawn(chart, drawn, "svg")
    return _with_own_ids(drawn.getvalue())


def png(chart: TopLevelMixin, *, scale: float = 2.0) -> bytes:
    """The chart as a PNG image.

    Parameters
    ----------
    scale
        Pixels of the image for each pixel of the chart; 2 is sharp on today's screens.

    Examples
    --------
    >>> import evalframe as evf
    >>> from evalframe import plots
    >>> report = evf.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, ["mrr"])
    >>> plots.png(plots.distribution(report, "mrr"))[1:4]
    b'PNG'
    """
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale <= 10:
        raise OptionError(f"scale={scale!r}: it must be a number above 0 and at most 10")
    drawn = io.BytesIO()
    _drawn(chart, drawn, "png", scale_factor=float(scale))
    return drawn.getvalue()


def save(chart: TopLevelMixin, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write the chart in the format of the path's suffix.

    Parameters
    ----------
    chart
        Any Altair chart.
    path
        `.png`, `.svg`, `.html` (one file that opens without a network, with values to point at) or
        `.json` (Vega-Lite).
    overwrite
        Replace what is there. The file is written beside the target first.

    Raises
    ------
    FileExistsError
        Something is there and `overwrite` is not set.
    OptionError
        Another suffix.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import evalframe as evf
    >>> from evalframe import plots
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "mrr.svg"
    >>> report = evf.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, ["mrr"])
    >>> plots.save(plots.distribution(report, "mrr"), file)
    >>> file.read_text()[:4]
    '<svg'
    """
    _require_chart(chart)
    suffix = Path(os.fspath(path)).suffix.lower()
    if suffix not in SUFFIXES:
        raise OptionError(
            f"{os.fspath(path)}: a chart is written as {', '.join(SUFFIXES)}, by the path's suffix"
        )
    with beside(path, overwrite=overwrite) as part:
        part.write_bytes(_bytes_of(chart, suffix))


def _with_own_ids(text: str) -> str:
    """The same SVG with ids that depend on the chart alone.

    The renderer counts its ids on from chart to chart; here they are numbered from 0, behind a
    prefix that is the chart's own.
    """
    tags = TAG.findall(text)
    names = dict.fromkeys(name for tag in tags for name in IDS.findall(tag))
    numbers = {name: str(place) for place, name in enumerate(names)}

    def renamed(prefix: str) -> str:
        def new(found: re.Match[str]) -> str:
            number = numbers.get(found[2])
            return found[0] if number is None else f"{found[1]}{prefix}{number}"

        return TAG.sub(lambda tag: OF_IDS.sub(new, tag[0]), text)

    own = hashlib.blake2b(renamed("").encode(), digest_size=6).hexdigest()
    return renamed(f"c{own}-")


def _bytes_of(chart: TopLevelMixin, suffix: str) -> bytes:
    if suffix == ".png":
        return png(chart)
    if suffix == ".svg":
        return svg(chart).encode()
    if suffix == ".json":
        return (chart.to_json(indent=2) + "\n").encode()
    _require_vl_convert()
    return chart.to_html(inline=True, json_kwds={"cls": _InScript}).encode()


class _InScript(json.JSONEncoder):
    """JSON that can stand in a script of a page: no name ends the script."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def _drawn(chart: TopLevelMixin, to: Any, form: Literal["svg", "png"], **settings: Any) -> None:
    _require_chart(chart)
    _require_vl_convert()
    chart.save(to, format=form, **settings)


def _require_chart(chart: object) -> None:
    if not (hasattr(chart, "to_dict") and hasattr(chart, "save")):
        raise FrameError(
            f"what is drawn or written is a chart of Altair, such as plots.distribution gives, "
            f"not {type(chart).__name__}"
        )


def _require_vl_convert() -> None:
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("vl-convert-python", "plots") from error
