"""A sample as HTML: question, response, references and contexts, with matching words marked."""

from __future__ import annotations

import html
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from evalframe.samples.marking import marked, matched_spans, spans_of
from evalframe.text import Profile, tokens

if TYPE_CHECKING:
    from evalframe.samples.explaining import ExplainedSample

__all__ = ["sample_html"]

SAME = "background:#bfe3c8;color:#10240f;border-radius:2px"
HELD = "background:#c6dcf5;color:#0b1f38;border-radius:2px"
PARTLY = "background:#e6e2cf;color:#2b2712;border-radius:2px"
"""Words that response and reference share; words of a covered passage; of one that is not."""
BOX = "max-width:60em;line-height:1.45;font-family:sans-serif;font-size:14px"
TEXT = "margin:.2em 0 .8em 0;white-space:pre-wrap;overflow-wrap:anywhere"
SHOWN_TOKENS = 30


def sample_html(sample: ExplainedSample) -> str:
    """The sample as a piece of HTML: every text escaped, no script, nothing that is loaded."""
    best = sample.references.filter("best")["text"].first()
    title = f"sample {sample.query_id}" + (f", {sample.system}" if sample.system else "")
    parts = [
        f"<strong>{html.escape(title)}</strong>",
        _block("user_input", _plain(sample.user_input)),
        _block("response", _with_marks(sample.response, best, sample.profile, SAME)),
        *_differing(sample.tokens, best),
        *_references(sample),
        *_contexts(sample),
        *_passages(sample),
    ]
    return f'<div style="{BOX}">{"".join(parts)}</div>'


def _block(heading: str, body: str) -> str:
    return f'<div><small>{html.escape(heading)}</small><div style="{TEXT}">{body}</div></div>'


def _plain(text: str | None) -> str:
    return "<em>none</em>" if text is None else html.escape(text)


def _with_marks(text: str | None, against: Any, profile: Profile, style: str) -> str:
    """A text with those of its words marked that another text has too, as often as it has them."""
    if text is None or against is None:
        return _plain(text)
    spans = spans_of(text, profile)
    return marked(text, spans, matched_spans(spans, Counter(tokens(against, profile))), style)


def _differing(found: pl.DataFrame, best: Any) -> list[str]:
    """The missing and the extra tokens; nothing where there is no reference."""
    if best is None:
        return []
    lines = []
    for verdict in ("missing", "extra"):
        rows = found.filter(pl.col("verdict") == verdict)
        each = (pl.col("n_response").cast(pl.Int64) - pl.col("n_reference")).abs()
        counted = rows.select("token", n=each).rows()
        words = [
            html.escape(token) + (f"&nbsp;×{n}" if n > 1 else "")
            for token, n in counted[:SHOWN_TOKENS]
        ]
        if len(counted) > SHOWN_TOKENS:
            words.append(f"… and {len(counted) - SHOWN_TOKENS} more")
        lines.append(_block(f"{verdict} tokens", ", ".join(words) or "<em>none</em>"))
    return lines


def _references(sample: ExplainedSample) -> list[str]:
    blocks = []
    for row in sample.references.iter_rows(named=True):
        number = "" if row["reference"] is None else f"[{row['reference']}]"
        head = f"reference{number}, token_f1 {row['token_f1']:.3f}"
        if row["best"]:
            head += ", the best"
        against = sample.response if row["best"] else None
        blocks.append(_block(head, _with_marks(row["text"], against, sample.profile, SAME)))
    return blocks or [_block("reference", "<em>none</em>")]


def _contexts(sample: ExplainedSample) -> list[str]:
    """What was retrieved: open where it covers a passage, folded away where it holds nothing."""
    texts = dict(sample.passages.select("passage", "text").rows())
    best = sample.references.filter("best")["text"].first()
    blocks = []
    for row in sample.contexts.iter_rows(named=True):
        head = f"retrieved_contexts[{row['context']}]"
        if row["share"] is not None:
            verb = "covers" if row["covered"] else "holds"
            head += f" {verb} {row['share']:.0%} of reference_contexts[{row['passage']}]"
        against = texts.get(row["passage"], best if not texts else None)
        style = HELD if row["covered"] else PARTLY
        body = _with_marks(row["text"], against, sample.profile, style)
        blocks.append(_folded(head, body, bool(row["covered"]) or row["share"] is None))
    return blocks or [_block("retrieved_contexts", "<em>none</em>")]


def _passages(sample: ExplainedSample) -> list[str]:
    texts = dict(sample.contexts.select("context", "text").rows())
    blocks = []
    for row in sample.passages.iter_rows(named=True):
        head = f"reference_contexts[{row['passage']}], "
        head += _held(row, sample.threshold)
        style = HELD if row["covered"] else PARTLY
        body = _with_marks(row["text"], texts.get(row["context"]), sample.profile, style)
        blocks.append(_folded(head, body, not row["covered"]))
    return blocks


def _held(row: dict[str, Any], threshold: float) -> str:
    """How much of a gold passage the best context holds, in words."""
    if row["context"] is None:
        return "nothing was retrieved to hold it against"
    if row["share"] is None:
        return "which has no token"
    word = "covered" if row["covered"] else "not covered"
    return f"{word} at {threshold:g}: retrieved_contexts[{row['context']}] holds {row['share']:.0%}"


def _folded(heading: str, body: str, is_open: bool) -> str:
    return (
        f"<details{' open' if is_open else ''}><summary><small>{html.escape(heading)}</small>"
        f'</summary><div style="{TEXT}">{body}</div></details>'
    )
