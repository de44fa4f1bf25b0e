"""Write the reference: a page for each public name, from its docstring, and an index.

    python notebooks/reference.py           writes notebooks/reference/
    python notebooks/reference.py --check   names the pages that are not what it would write

The pages are Markdown as GitHub shows it. Nothing in them is written by hand.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import shutil
import sys
import types
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from evalframe.cli.explaining import explained
from evalframe.fusion import METHODS
from evalframe.metrics import CATALOGUE
from evalframe.samples import RAG_METRICS

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks" / "reference"
NAMED = ("Parameters", "Attributes")
TYPED = ("Returns", "Raises", "Yields", "Warns")
"""Headings of docstrings below which terms stand: names, or types."""
NOTE = "<!-- Written by notebooks/reference.py from the docstrings: change those, and run it. -->"

MODULES = {
    "evalframe": "More at the front door",
    "evalframe.metrics": "More about metrics",
    "evalframe.comparing": "More about comparisons",
    "evalframe.statistics": "Tests and intervals",
    "evalframe.fusion": "More about fusion",
    "evalframe.plots": "Draw",
    "evalframe.evaluation": "Dicts in, dicts out",
    "evalframe.rag.metrics": "One row at a time",
    "evalframe.ragas": "To Ragas and back",
    "evalframe.io": "More readers and writers",
    "evalframe.io.libraries": "To other libraries' objects, and back",
    "evalframe.io.dicts": "Nested dicts to frames, and back",
    "evalframe.io.autorag": "AutoRAG's files",
    "evalframe.spark": "On Spark",
    "evalframe.executor": "On any executor",
    "evalframe.ranking": "Order, ties and duplicates",
    "evalframe.frames": "What a frame must be",
    "evalframe.auditing": "What an audit gives",
    "evalframe.text": "Words of a text",
    "evalframe.errors": "Errors",
}
"""Where public names are looked for, and the heading for those that stand in no group below.

A name that stands in several has its page in the first.
"""

ONLY = {
    "evalframe.ranking": {"Order", "TieRule", "Ties"},
    "evalframe.frames": {"Duplicates", "conform"},
    "evalframe.auditing": {"FINDINGS", "Severity"},
}
"""The names that are meant for callers, of modules that have others too."""

GROUPS = {
    "Evaluate retrieval": "evaluate Report per_query judge prepare PreparedQrels Contract",
    "Evaluate RAG samples": "evaluate_rag RagReport per_sample",
    "Look for what is wrong": "audit explain_difference tie_sensitivity unjudged_bounds",
    "Compare systems": "compare compare_frames Comparison assert_no_regression",
    "Fuse runs": "fuse tune",
    "Read": "read_* scan_*",
    "Write": "write_*",
}
"""What one wants to do → names of the front door, or how they begin."""

FAMILIES = {
    "ranked": "Ranked lists",
    "sets": "Hits, sets and counts",
    "pools": "Incomplete judgements",
    "patience": "Readers who stop",
    "overlap": "Overlap with the ideal list",
    "expected": "Expected over all orders of equal scores",
    "diversity": "Subtopics",
    "answers": "Answers against references",
    "contexts": "Contexts against gold",
}
"""The room of a metric → its heading."""


@dataclass(frozen=True)
class Name:
    """A public name: where it is imported from, and what it is."""

    module: str
    name: str
    value: Any

    @property
    def path(self) -> str:
        """The name as one writes it."""
        return f"{self.module}.{self.name}"

    @property
    def file(self) -> str:
        """The page's file; some file systems do not tell `Metric` from `metric`."""
        is_twin = self.name == "Metric"
        return f"{self.module}/{self.name}{'_class' if is_twin else ''}.md"

    @cached_property
    def doc(self) -> str:
        """What is said of it."""
        if inspect.isroutine(self.value) or inspect.isclass(self.value):
            return inspect.getdoc(self.value) or ""
        return constant_doc(self.module, self.name)

    @property
    def title(self) -> str:
        """One line that says what it is."""
        return self.doc.partition("\n\n")[0].replace("\n", " ") or "A constant."


def pages() -> dict[str, str]:
    """File name → content of every page."""
    names = public_names()
    known = {name.path: name for name in names}
    found = {"README.md": index(names), "fusion_methods.md": methods_page()}
    found |= {name.file: page_of(name, known) for name in names}
    metrics: list[Any] = [*CATALOGUE.values(), *RAG_METRICS.values()]
    for metric in metrics:
        found[f"metrics/{metric.name}.md"] = metric_page(explained(metric))
    return {file: f"{NOTE}\n\n{text.strip()}\n" for file, text in found.items()}


def public_names() -> list[Name]:
    """Every public name once; the metrics of runs and samples have pages of their own."""
    found: dict[object, Name] = {}
    for path in MODULES:
        module = importlib.import_module(path)
        for name in module.__all__:
            value = getattr(module, name)
            if path == "evalframe.metrics" and name in CATALOGUE:
                continue
            if isinstance(value, types.ModuleType) or name == "__version__":
                continue
            if name not in ONLY.get(path, {name}):
                continue
            is_shared = inspect.isroutine(value) or inspect.isclass(value)
            found.setdefault(id(value) if is_shared else f"{path}.{name}", Name(path, name, value))
    return list(found.values())


def constant_doc(module: str, name: str) -> str:
    """The string below a constant, in the module that sets it."""
    source = inspect.getsource(importlib.import_module(module))
    body = ast.parse(source).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ImportFrom) and name in [one.name for one in node.names]:
            return constant_doc(str(node.module), name)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        is_set = any(isinstance(target, ast.Name) and target.id == name for target in targets)
        below = following.value if isinstance(following, ast.Expr) else None
        if is_set and isinstance(below, ast.Constant):
            return inspect.cleandoc(str(below.value))
    return ""


# --- pages ---------------------------------------------------------------------------------------


def index(names: list[Name]) -> str:
    """All names by what one wants to do, in one line each."""
    parts = [
        "# Reference",
        "A page for each public name. `import evalframe as evf` is the front door; "
        "[coming from another tool](../coming_from.md) has lines to start from, and "
        "`help(evf.evaluate)` says the same as the page.",
    ]
    front = [name for name in names if name.module == "evalframe"]
    grouped = set()
    for heading, group in GROUPS.items():
        patterns = group.split()
        these = [name for word in patterns for name in front if fnmatchcase(name.name, word)]
        grouped |= {name.name for name in these}
        parts += [f"## {heading}", listed(these)]
    for module, heading in MODULES.items():
        rest = [one for one in names if one.module == module]
        rest = [one for one in rest if module != "evalframe" or one.name not in grouped]
        if not rest:
            continue
        parts += [f"## {heading}"]
        if module != "evalframe":
            parts.append(f"In `{module}`: {first_line(importlib.import_module(module))}")
        parts.append(listed(rest))
        if module == "evalframe.fusion":
            parts.append("[All fusion methods](fusion_methods.md) in one table.")
    parts += ["## Metrics of runs", metric_table([*CATALOGUE.values()])]
    parts += ["## Metrics of RAG samples", metric_table([*RAG_METRICS.values()])]
    return "\n\n".join(parts)


def listed(names: list[Name]) -> str:
    """A line for each name."""
    return "\n".join(f"- [`{one.path}`]({one.file}): {one.title}" for one in names)


def metric_table(metrics: list[Any]) -> str:
    """Metrics by family: spelling, definition, values."""
    parts: dict[str, list[str]] = {}
    for metric in metrics:
        function = getattr(metric, "function", None) or metric.formula
        room = function.__module__.rpartition(".")[2]
        facts = explained(metric)
        cells = (facts["definition"], facts["values"], ", ".join(facts["other_names"]))
        row = " | ".join(cell.replace("|", "\\|") for cell in cells)
        link = f"[`{facts['spelling']}`](metrics/{metric.name}.md)"
        parts.setdefault(FAMILIES.get(room, room.capitalize()), []).append(f"| {link} | {row} |")
    head = "| metric | definition | values | other names |\n| --- | --- | --- | --- |"
    return "\n\n".join(f"### {name}\n\n{head}\n" + "\n".join(rows) for name, rows in parts.items())


def page_of(name: Name, known: dict[str, Name]) -> str:
    """The page of a function, a class or a constant."""
    value = name.value
    parts = [f"# {name.path}"]
    if inspect.isclass(value):
        parts.append(fenced(f"class {signature_of(name.path, value)}", "python"))
        parts += [markdown_of(name.doc), *members_of(value)]
    elif inspect.isroutine(value):
        parts += [fenced(signature_of(name.path, value), "python"), markdown_of(name.doc)]
    else:
        parts += [markdown_of(name.doc), constant_text(value)]
    page = with_links("\n\n".join(part for part in parts if part), name, known)
    return "\n\n".join([page, footer(name)])


def footer(name: Name) -> str:
    """Where it is defined, and the way back."""
    links = [f"[Reference]({relative('README.md', name.file)})"]
    if inspect.isroutine(name.value) or inspect.isclass(name.value):
        source = Path(inspect.getsourcefile(inspect.unwrap(name.value)) or "")
        source = source.relative_to(Path(sys.modules["evalframe"].__file__ or "").parents[1])
        up = "../" * (name.file.count("/") + 2)
        links.append(f"[source]({up}src/{source.as_posix()})")
    return "---\n\n" + " · ".join(links)


def members_of(cls: type) -> list[str]:
    """The methods and properties of a class that have something to say."""
    parts = []
    for name, member in sorted(vars_of(cls).items()):
        is_property = isinstance(member, property | cached_property)
        function = getattr(member, "fget", None) or getattr(member, "func", member)
        doc = inspect.getdoc(function)
        if name.startswith("_") or not doc or not inspect.isfunction(function):
            continue
        shown = name if is_property else signature_of(name, function, skip_self=True)
        kind = " (property)" if is_property else ""
        parts.append(f"## {name}{kind}")
        if not is_property:
            parts.append(fenced(shown, "python"))
        parts.append(markdown_of(doc, level=3))
    return parts


def vars_of(cls: type) -> dict[str, Any]:
    """What a class and its bases in the package define."""
    found: dict[str, Any] = {}
    for one in reversed(cls.__mro__):
        if one.__module__.startswith("evalframe"):
            found |= vars(one)
    return {k: getattr(v, "__func__", v) for k, v in found.items()}


def metric_page(facts: dict[str, Any]) -> str:
    """The page of one metric."""
    rows = {
        "spelling": f"`{facts['spelling']}`",
        "values": facts["values"],
        "of": facts["of"] if facts["of"] == "runs" else f"samples: {facts['of']}",
        "undefined": facts["undefined"],
        "other names": ", ".join(f"`{name}`" for name in facts["other_names"]) or "none",
    }
    table = "\n".join(["| | |", "| --- | --- |", *(f"| {k} | {v} |" for k, v in rows.items())])
    parameters = [
        f"- `{one['name']}`: default {one['default']}{one['note']}" for one in facts["parameters"]
    ]
    parts = [
        f"# {facts['metric']}",
        facts["definition"],
        facts["details"],
        table,
        "## Parameters" if parameters else "",
        "\n".join(parameters),
        "## Example",
        fenced(facts["command"], "sh"),
        fenced(facts["example"], "pycon"),
        "---",
        "[Reference](../README.md)",
    ]
    return "\n\n".join(part for part in parts if part)


def methods_page() -> str:
    """All fusion methods in one table."""
    rows = []
    for method in METHODS.values():
        doc = " ".join((inspect.getdoc(method.function) or "").split()).replace("|", "\\|")
        parameters = [
            f"`{name}={one.default}`" if one.default is not one.empty else f"`{name}`"
            for name, one in method.parameters.items()
        ]
        notes = ["weights"] * method.weighted + ["trained"] * method.trained
        rows.append(
            f"| `{method.name}` | {doc} | {', '.join(parameters)} | {', '.join(notes)} | "
            f"{', '.join(method.aliases)} |"
        )
    return "\n\n".join(
        [
            "# Fusion methods",
            "For [`evalframe.fuse`](evalframe/fuse.md) and [`evalframe.tune`](evalframe/tune.md).",
            "| method | what it is | parameters | takes | other names |\n"
            "| --- | --- | --- | --- | --- |\n" + "\n".join(rows),
            "---",
            "[Reference](README.md)",
        ]
    )


# --- text ----------------------------------------------------------------------------------------


def first_line(value: object) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(value) or "").partition("\n")[0]


def fenced(text: str, language: str) -> str:
    """A block of code."""
    return f"```{language}\n{text}\n```"


def constant_text(value: Any) -> str:
    """A constant's value, where it is short."""
    shown = "\n".join(map(repr, value)) if isinstance(value, dict) else repr(value)
    shown = re.sub(r"\btyping\.|\bcollections\.abc\.", "", shown)
    return fenced(shown, "python") if len(shown) < 4_000 and " at 0x" not in shown else ""


def signature_of(name: str, value: Any, *, skip_self: bool = False) -> str:
    """How it is called, one parameter to a line where that is long."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return f"{name}({', '.join(base.__name__ for base in value.__bases__)})"
    if getattr(value, "_is_protocol", False):
        return f"{name}(Protocol)"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    parameters = [one for one in signature.parameters.values() if not one.name.startswith("_")]
    if skip_self and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    words: list[str] = []
    star = slash = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not star:
            words, star = [*words, "*"], True
        star = star or one.kind is one.VAR_POSITIONAL
        if words and slash and one.kind is not one.POSITIONAL_ONLY:
            words.append("/")
        slash = one.kind is one.POSITIONAL_ONLY
        words.append(parameter_text(one))
    result = signature.return_annotation
    arrow = "" if inspect.isclass(value) or result is signature.empty else f" -> {typed(result)}"
    flat = f"{name}({', '.join(words)}){arrow}"
    if len(flat) <= 88:
        return flat
    return f"{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){arrow}"


def parameter_text(one: inspect.Parameter) -> str:
    """`name: type = default`."""
    stars = "*" * ((one.kind is one.VAR_POSITIONAL) + 2 * (one.kind is one.VAR_KEYWORD))
    text = stars + one.name
    if one.annotation is not one.empty:
        text += f": {typed(one.annotation)}"
    if one.default is one.empty:
        return text
    default = re.sub(r"<(\w+).*?>", r"<\1>", repr(one.default)).replace("'", '"')
    return f"{text} = {default}" if ":" in text else f"{text}={default}"


def typed(annotation: Any) -> str:
    """An annotation as it stands in the source."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\btyping\.|\bcollections\.abc\.", "", text)


def markdown_of(doc: str, level: int = 2) -> str:
    """A docstring in numpy's style as Markdown."""
    parts: list[str] = []
    for heading, text in doc_sections(doc):
        if heading:
            parts.append(f"{'#' * level} {heading}")
        if heading in NAMED or heading in TYPED:
            parts.append(terms(text, is_named=heading in NAMED))
        else:
            parts.append(with_fences(text))
    return "\n\n".join(part for part in parts if part.strip())


def doc_sections(doc: str) -> list[tuple[str, str]]:
    """The parts of a docstring by their underlined headings; the first has none."""
    found = re.split(r"^(\w[\w ]*)\n-{3,}$", doc, flags=re.MULTILINE)
    headings = ["", *found[1::2]]
    return [(h, text.strip("\n")) for h, text in zip(headings, found[::2], strict=True)]


def terms(text: str, *, is_named: bool) -> str:
    """Terms with indented descriptions as a list; text without a term as it is."""
    lines: list[str] = []
    for block in re.split(r"\n(?=\S)", text):
        term, _, description = block.partition("\n")
        body = with_fences(inspect.cleandoc(description))
        if not body and (" " in term.strip() and "," not in term):
            lines.append(with_fences(term))
            continue
        words = [f"`{word.strip()}`" for word in re.split(r", (?![^\[]*\])| or ", term)]
        shown = f"- {', '.join(f'**{word}**' if is_named else word for word in words)}"
        lines.append(f"{shown}: {body}".replace("\n", "\n  ") if body else shown)
    return "\n".join(re.sub(r"[ \t]+$", "", line, flags=re.MULTILINE) for line in lines)


def with_fences(text: str) -> str:
    """Examples for the prompt as blocks of code."""
    parts: list[str] = []
    lines: list[str] = []
    example = False
    for line in text.splitlines():
        begins = line.startswith(">>> ")
        if begins and not example:
            parts.append("\n".join(lines).rstrip())
            lines, example = ["", "```pycon"], True
        if example and not line.strip():
            parts.append("\n".join([*lines, "```"]))
            lines, example = [], False
        lines.append(line)
    parts.append("\n".join([*lines, "```"] if example else lines))
    return "\n".join(part for part in parts if part.strip()).strip("\n")


def with_links(page: str, own: Name, known: dict[str, Name]) -> str:
    """Public names in the text, outside blocks of code, as links to their pages."""

    def link(matched: re.Match[str]) -> str:
        name = matched[1]
        modules = [own.module, *(["evalframe", "evalframe.errors"] if name[0].isupper() else [])]
        paths = [name, *(f"{module}.{name}" for module in modules)]
        target = next((known[path] for path in paths if path in known), None)
        if target is None and name.startswith("evalframe.metrics."):
            metric = name.rpartition(".")[2]
            if metric in CATALOGUE:
                return f"[`{name}`]({relative(f'metrics/{metric}.md', own.file)})"
        if target is None or target == own:
            return matched[0]
        return f"[`{name}`]({relative(target.file, own.file)})"

    parts = re.split(r"(^ *```.*?^ *```$)", page, flags=re.DOTALL | re.MULTILINE)
    texts = [re.sub(r"(?<![*\[])`([A-Za-z_.]+)`(?!\])", link, text) for text in parts[::2]]
    return "".join(text + block for text, block in zip(texts, [*parts[1::2], ""], strict=True))


def relative(target: str, start: str) -> str:
    """The way from one page to another."""
    return PurePosixPath(os.path.relpath(target, PurePosixPath(start).parent)).as_posix()


# --- files ---------------------------------------------------------------------------------------


def written() -> dict[str, str]:
    """File name → content of the pages that there are."""
    files = sorted(FOLDER.rglob("*.md"))
    return {f.relative_to(FOLDER).as_posix(): f.read_text(encoding="utf-8") for f in files}


def main() -> None:
    """Write the pages, or check them."""
    wanted = pages()
    if "--check" in sys.argv[1:]:
        there = written()
        names = sorted(wanted.keys() | there.keys())
        stale = [name for name in names if wanted.get(name) != there.get(name)]
        for name in stale:
            print(name)
        if stale:
            print("write them again: python notebooks/reference.py", file=sys.stderr)
        sys.exit(1 if stale else 0)
    shutil.rmtree(FOLDER, ignore_errors=True)
    for name, text in wanted.items():
        file = FOLDER / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    print(f"{len(wanted)} pages in {FOLDER.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
