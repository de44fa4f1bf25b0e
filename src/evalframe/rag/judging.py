"""A metric that leaves the scoring to a judge, such as a language model."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalframe import hits
from evalframe.calls import settled
from evalframe.columns import SAMPLES
from evalframe.errors import EvalframeError, OptionError
from evalframe.rag.chunks import chunks_of, contents_of

__all__ = ["JudgeMetric"]

NAMES = {
    "query": SAMPLES.names_for("user_input"),
    "context": ("context", "context_text", "context_str"),
    "contexts": (*SAMPLES.names_for("retrieved_contexts"), "retrieval_context", "passages"),
    "retrieved": ("retrieved", "retrieved_chunks", "chunks", "documents", "docs"),
    "reference": (*SAMPLES.names_for("reference"), "expected", "reference_answer"),
    "response": (*SAMPLES.names_for("response"), "actual_output"),
    "eval_row": ("eval_row", "row", "sample"),
}
"""What a judge may be given → the names its parameter may have."""

OPEN_ENDED = ("query", "context", "reference", "response")
"""What a judge with `**kwargs` is given, by these names."""


@dataclass(frozen=True)
class JudgeMetric:
    """The value that a judge gives a row.

    The judge is any object with a method `evaluate`, sync or async. It is given what its
    parameters ask for by name:

    ========================================================== ====================================
    parameter                                                  is given
    ========================================================== ====================================
    `query`, `question`, `user_input`, `input`                 the query
    `context`, `context_text`, `context_str`                   the chunks' texts as one text
    `contexts`, `retrieved_contexts`, `retrieval_context`, …   the chunks' texts as a list
    `retrieved`, `chunks`, `documents`, …                      the chunks as they came
    `reference`, `ground_truth`, `expected_output`, …          the reference answer
    `response`, `answer`, `output`, `prediction`, …            the row's answer
    `eval_row`, `row`, `sample`                                the row
    any other name                                             what the row has under that name
    `**kwargs`                                                 query, context, reference, and the
                                                               response if the row has one
    `*args` alone                                              query, context, reference
    ========================================================== ====================================

    Parameters
    ----------
    judge
        The object.
    score_field
        Where its answer has the value, when the answer is a mapping or an object.
    context_separator
        Stands between the chunks' texts in `context`.

    Raises
    ------
    OptionError
        The judge has no `evaluate`, or needs something that the row does not have.
    EvalframeError
        Its answer holds no number, or NaN or infinity.

    Examples
    --------
    >>> class Judge:
    ...     async def evaluate(self, query, context):
    ...         return {"score": 0.8, "reason": "most of it is there"}
    >>> JudgeMetric(Judge()).score("capital of France?", ["Paris is the capital."])
    0.8
    """

    judge: Any
    score_field: str = "score"
    context_separator: str = "\n\n---\n\n"

    def __post_init__(self) -> None:
        """Refuse a judge that cannot be asked."""
        if not callable(getattr(self.judge, "evaluate", None)):
            raise OptionError(
                f"a {type(self.judge).__name__} is no judge: it has no method `evaluate`"
            )

    @property
    def name(self) -> str:
        """The name of its column."""
        return "judge"

    def score(
        self,
        query: str,
        retrieved: Any,
        reference: str | None = None,
        eval_row: dict[str, Any] | None = None,
    ) -> float:
        """The judge's value, on the judge's own scale."""
        items = chunks_of(retrieved)
        contexts = contents_of(items)
        known = {
            "query": query,
            "context": self.context_separator.join(contexts),
            "contexts": contexts,
            "retrieved": items,
            "reference": reference,
            "eval_row": eval_row,
        }
        response = _first_there(eval_row, SAMPLES.names_for("response"))
        if response is not None:
            known["response"] = response
        arguments, options = _arguments(self.judge.evaluate, known, eval_row)
        return self._value(settled(self.judge.evaluate(*arguments, **options)))

    def _value(self, answer: Any) -> float:
        if isinstance(answer, bool):
            return float(answer)
        value = answer if hits.is_number(answer) else hits.look(answer, self.score_field)
        if isinstance(value, bool):
            return float(value)
        if not hits.is_number(value):
            raise EvalframeError(
                f"the judge's answer holds no number under {self.score_field!r}: "
                f"{answer!r:.200}. Name another field with score_field="
            )
        if not math.isfinite(value):
            raise EvalframeError(f"the judge's value is {value!r}, not a finite number")
        return float(value)


def _arguments(
    evaluate: Any, known: dict[str, Any], eval_row: Any
) -> tuple[list[Any], dict[str, Any]]:
    """The positional and keyword arguments that the judge's signature asks for."""
    by_name = {name: what for what, names in NAMES.items() for name in (what, *names)}
    open_ended = {what: known[what] for what in OPEN_ENDED if what in known}
    try:
        parameters = inspect.signature(evaluate).parameters.values()
    except (TypeError, ValueError):
        return [], open_ended
    kinds = {parameter.kind for parameter in parameters}
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if not named and inspect.Parameter.VAR_KEYWORD not in kinds:
        return [known["query"], known["context"], known["reference"]] if kinds else [], {}
    arguments: list[Any] = []
    options: dict[str, Any] = {}
    for parameter in named:
        what = by_name.get(parameter.name, "")
        value = known[what] if what in known else hits.look(eval_row, parameter.name)
        optional = parameter.default is not parameter.empty
        if value is None and optional:
            continue
        if value is None and what not in known:
            raise OptionError(
                f"the judge's evaluate() needs {parameter.name!r}, and the row has none. Known are "
                + ", ".join(sorted(by_name))
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            arguments.append(value)
        else:
            options[parameter.name] = value
    if inspect.Parameter.VAR_KEYWORD in kinds:
        given = {by_name.get(parameter.name) for parameter in named}
        options |= {what: value for what, value in open_ended.items() if what not in given}
    return arguments, options


def _first_there(row: Any, names: tuple[str, ...]) -> Any:
    found = (hits.look(row, name) for name in names if isinstance(row, Mapping))
    return next((value for value in found if value is not None), None)
