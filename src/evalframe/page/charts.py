"""Charts within a page: SVG in its text, or a sentence that says why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalframe.errors import EvalframeError, MissingExtraError
from evalframe.io.lines import first_line
from evalframe.page.parts import UNHELD_SIGNS, escaped, paragraph
from evalframe.plots import svg

__all__ = ["figures"]


def figures(charts: Mapping[str, Callable[[], Any]]) -> str:
    """Charts by their captions, drawn one below the other.

    Parameters
    ----------
    charts
        Caption → what makes the chart. One that cannot be drawn gives its reason in a sentence.
    """
    drawn: list[str] = []
    notes: list[str] = []
    for caption, chart in charts.items():
        try:
            drawing = svg(chart()).translate(UNHELD_SIGNS)
        except MissingExtraError as error:
            return paragraph(f"The charts are left out: {error}", kind="note")
        except EvalframeError as error:
            notes.append(paragraph(f"{caption}: not drawn, since {error}", kind="note"))
            continue
        except Exception as error:  # The page holds much else: no drawing is worth losing it.
            why = f"{type(error).__name__}: {first_line(error)}"
            notes.append(paragraph(f"{caption}: could not be drawn ({why})", kind="note"))
            continue
        label = escaped(caption)
        drawn.append(f'<figure role="group" aria-label="{label}" tabindex="0">{drawing}</figure>')
    return (f'<div class="charts">{"".join(drawn)}</div>' if drawn else "") + "".join(notes)
