"""Charts within a page: SVG in its text, or a sentence that says why there is none."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

from evalframe.errors import EvalframeError, MissingExtraError
from evalframe.page.parts import paragraph
from evalframe.plots import svg

__all__ = ["figures"]


def figures(charts: Mapping[str, Callable[[], Any]]) -> str:
    """Charts by their captions, drawn one below the other.

    Parameters
    ----------
    charts
        Caption → what makes the chart. One that cannot be drawn of this data gives its reason.
    """
    drawn: list[str] = []
    notes: list[str] = []
    for caption, chart in charts.items():
        try:
            drawing = svg(chart())
        except MissingExtraError as error:
            return paragraph(f"The charts are left out: {error}", kind="note")
        except EvalframeError as error:
            notes.append(paragraph(f"{caption}: not drawn, since {error}", kind="note"))
            continue
        label = html.escape(caption)
        drawn.append(f'<figure role="group" aria-label="{label}" tabindex="0">{drawing}</figure>')
    return (f'<div class="charts">{"".join(drawn)}</div>' if drawn else "") + "".join(notes)
