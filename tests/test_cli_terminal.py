"""The command line as a program: streams, pipes, colours, completion, examples, exit codes."""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import evalframe as evf
from evalframe.cli import app

COMMANDS = ["evaluate", "rag", "compare", "fuse", "audit", "convert", "metrics"]
PROGRAM = [sys.executable, "-m", "evalframe"]


def program(*words: object, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PROGRAM, *map(str, words)],
        input=stdin,
        capture_output=True,
        env=os.environ | env,
        check=False,
    )


@pytest.fixture
def qrels(handbook: Path) -> Path:
    return handbook / "qrels" / "test.trec"


@pytest.fixture
def run(handbook: Path) -> Path:
    return handbook / "runs" / "bm25.trec"


def test_a_run_on_standard_input_has_the_values_of_its_file(qrels: Path, run: Path) -> None:
    piped = program("evaluate", qrels, "-", "-m", "ndcg@10", stdin=run.read_bytes())
    named = program("evaluate", qrels, run, "-m", "ndcg@10")
    assert piped.returncode == named.returncode == 0
    assert piped.stdout == named.stdout
    assert piped.stderr == b""
    judged = program("evaluate", "-", run, "-m", "ndcg@10", stdin=qrels.read_bytes())
    assert judged.stdout == named.stdout


def test_standard_input_is_told_by_name_and_leaves_nothing_behind(
    qrels: Path, tmp_path: Path
) -> None:
    found = program("evaluate", qrels, "-", stdin=b"q Q0 a\n", TMPDIR=str(tmp_path))
    assert found.returncode == 2
    assert found.stderr.startswith(b"evalframe: standard input")
    assert found.stderr.count(b"\n") == 1
    assert [*tmp_path.iterdir()] == []


def test_a_reader_that_leaves_early_sees_no_traceback_and_gates_still_close(
    qrels: Path, run: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = ["evaluate", str(qrels), str(run), "-m", "mrr", "--min", "mrr=0.99"]
    for call, code in ((words, 1), (words[:-2], 0), (["metrics"], 0), (["fuse", str(run)], 2)):
        found = subprocess.run(
            [*PROGRAM, *call], stdout=writing, stderr=subprocess.PIPE, check=False
        )
        assert found.returncode == code, found.stderr
        assert b"Traceback" not in found.stderr
        assert b"Broken" not in found.stderr
    out = subprocess.run(
        [*PROGRAM, "fuse", str(run), str(run.with_name("tfidf.trec"))],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (out.returncode, out.stderr) == (0, b"")


@pytest.mark.parametrize("env", [{}, {"GITHUB_ACTIONS": "true"}])
def test_no_colours_where_nobody_looks(qrels: Path, run: Path, env: dict[str, str]) -> None:
    for words in (["--help"], ["evaluate", str(qrels), str(run)], ["nope"]):
        found = program(*words, **env)
        assert b"\x1b" not in found.stdout + found.stderr


def test_no_colours_in_a_terminal_that_wants_none(qrels: Path, run: Path) -> None:
    ours, theirs = pty.openpty()
    subprocess.run(
        [*PROGRAM, "evaluate", str(qrels), str(run), "-m", "mrr", "-m", "nope"],
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"NO_COLOR": "1", "TERM": "xterm-256color"},
        check=False,
    )
    os.close(theirs)
    seen = os.read(ours, 65_536)
    os.close(ours)
    assert b"unknown metric 'nope'" in seen
    assert b"\x1b" not in seen


def test_progress_goes_to_standard_error(qrels: Path, tmp_path: Path, handbook: Path) -> None:
    """Even where it is asked for, standard output holds the result alone."""
    run = handbook / "runs" / "bm25.parquet"
    asked = program("evaluate", qrels, run, "-m", "mrr", "-f", "json", "--progress")
    silent = program("evaluate", qrels, run, "-m", "mrr", "-f", "json", "--no-progress")
    assert asked.stdout == silent.stdout
    assert silent.stderr == b""


def test_a_warning_is_one_line() -> None:
    """Without the place in the source that gave it, whichever room gave it."""
    code = (
        "import sys, warnings\n"
        "from evalframe.cli import explaining, main\n"
        "explaining.say = lambda text: warnings.warn('two lines\\nwere skipped', stacklevel=1)\n"
        "sys.argv = ['evalframe', 'metrics', 'ndcg']\n"
        "main()\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert found.returncode == 0
    assert found.stderr == b"evalframe: two lines were skipped\n"


def test_output_that_the_terminal_cannot_show_is_no_error() -> None:
    found = program("metrics", "f", PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert found.returncode == 0, found.stderr
    assert rb"(1 + \u03b2\xb2) P R" in found.stdout.replace("²".encode("cp1252"), rb"\xb2")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("evalframe eva", ["evaluate"]),
        ("evalframe evaluate q r -m ndcg", ["ndcg@10", "ndcg_rel"]),
        ("evalframe evaluate q r -m map,rpr", ["map,rprec", "map,rprec_mult@0.5"]),
        ("evalframe rag s -m token_f", ["token_f1"]),
        ("evalframe compare q r s --metric binG", ["binG"]),
        ("evalframe compare q r s --test wil", ["wilcoxon"]),
        (
            "evalframe fuse r s --method comb_m",
            sorted(["comb_mnz", "comb_max", "comb_min", "comb_med"]),
        ),
        ("evalframe fuse r s --norm no", ["none"]),
        ("evalframe convert r s --to j", ["json", "jsonl"]),
        ("evalframe convert r s --kind q", ["qrels", "queries"]),
        ("evalframe metrics context_c", ["context_coverage"]),
        ("evalframe evaluate q r --counted p", ["positive"]),
    ],
)
def test_bash_is_offered_what_fits(line: str, offered: list[str]) -> None:
    """As its completion script asks: the words so far in the environment."""
    words = line.split()
    found = program(
        _EVALFRAME_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1)
    )
    assert found.returncode == 0, found.stderr
    assert sorted(found.stdout.decode().split()) == sorted(offered)


def test_zsh_and_fish_are_offered_definitions_too() -> None:
    """In one line each: bpref's is longer than a line."""
    line = "evalframe evaluate q r -m bpre"
    zsh = program(_EVALFRAME_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=line)
    assert b'"bpref":"Share of judged documents that are rightly ordered' in zsh.stdout
    assert zsh.stdout.count(b"\n") == 1
    fish = program(
        _EVALFRAME_COMPLETE="complete_fish",
        _TYPER_COMPLETE_ARGS=line,
        _TYPER_COMPLETE_FISH_ACTION="get-args",
    )
    assert fish.stdout.startswith(b"bpref\tShare of judged documents")


def test_bash_completes_with_the_script_that_is_shown(tmp_path: Path) -> None:
    """The script is loaded into a real bash, and its function is called."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    program_file = tmp_path / "evalframe"
    program_file.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    program_file.chmod(0o755)
    script = """
        eval "$(_EVALFRAME_COMPLETE=source_bash evalframe)"
        COMP_WORDS=(evalframe rag s -m exact) COMP_CWORD=4
        $(complete -p evalframe | sed 's/.*-F \\([^ ]*\\).*/\\1/') evalframe
        echo "${COMPREPLY[@]}"
    """
    found = subprocess.run(
        [bash, "--norc", "-c", script],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        check=False,
    )
    assert found.stdout.strip() == "exact_match", found.stderr


def test_completion_is_installed_into_the_home_that_is_told(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    found = program("--install-completion", "bash", **home)
    assert found.returncode == 0, found.stderr
    script = (tmp_path / ".bash_completions" / "evalframe.sh").read_text()
    assert "_EVALFRAME_COMPLETE=complete_bash" in script
    assert "evalframe.sh" in (tmp_path / ".bashrc").read_text()


def test_help_lists_the_commands_in_order_and_says_what_exit_codes_mean() -> None:
    text = CliRunner().invoke(app, ["--help"]).stdout
    listed = re.findall(r"^  (\w+)  +\w", text.partition("Commands:")[2], flags=re.MULTILINE)
    assert listed[: len(COMMANDS)] == COMMANDS
    for code in ("0  done", "1  a value is below --min", "2  the call", "3  audit: errors"):
        assert code in text
    assert "standard input" in text


def examples(command: str) -> list[str]:
    text = CliRunner().invoke(app, [command, "--help"]).stdout
    lines = text.partition("Example:\n")[2].replace("\\\n", " ")
    return [line.strip() for line in lines.splitlines() if line.strip()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_of_the_help_runs(command: str, handbook: Path, tmp_path: Path) -> None:
    files = {
        "qrels.trec": "qrels/test.trec",
        "bm25.trec": "runs/bm25.trec",
        "dense.trec": "runs/minilm.trec",
        "old.trec": "runs/bm25.trec",
        "new.trec": "runs/minilm.trec",
        "corpus.jsonl": "corpus.jsonl",
        "samples.jsonl": "samples.jsonl",
    }
    for name, original in files.items():
        shutil.copy(handbook / original, tmp_path / name)
    subprocess.run(["gzip", "-k", "bm25.trec"], cwd=tmp_path, check=True)
    (tmp_path / "mine.csv").write_text("q,d,relevance\n1,a,1\n")
    (tmp_path / "qrels-made").mkdir()
    program_file = tmp_path / "evalframe"
    program_file.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    program_file.chmod(0o755)
    found_one = False
    for line in examples(command):
        line = line.replace("mine.csv qrels.trec", "mine.csv qrels-made/qrels.trec")
        found = subprocess.run(
            ["sh", "-c", line],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
            check=False,
        )
        gates = {"audit": (0, 1, 3)}.get(command, (0,))
        assert found.returncode in gates, (line, found.stderr)
        found_one = True
    assert found_one


def test_audits_are_written_as_a_page_and_as_rows(qrels: Path, run: Path, tmp_path: Path) -> None:
    page, rows = tmp_path / "audit.html", tmp_path / "audit.jsonl"
    found = CliRunner().invoke(
        app, ["audit", str(qrels), str(run), "--html", str(page), "-o", str(rows), "-f", "json"]
    )
    findings = evf.audit(qrels, run)
    assert found.exit_code == {"info": 0, "warning": 1, "error": 3}[findings["severity"][0]]
    assert page.read_text().lower().startswith("<!doctype html>")
    assert "bm25" in page.read_text()
    assert len(rows.read_text().splitlines()) == findings.height


@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [
        ("numpy", ["compare", "{qrels}", "{run}", "{other}"], "stats"),
        ("scipy", ["compare", "-", "{run}", "{other}"], "stats"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    qrels: Path, run: Path, package: str, words: list[str], extra: str
) -> None:
    other = run.with_name("tfidf.trec")
    code = f"import sys; sys.modules[{package!r}] = None; from evalframe.cli import main; main()"
    call = [word.format(qrels=qrels, run=run, other=other) for word in words]
    with qrels.open() as file:
        found = subprocess.run(
            [sys.executable, "-c", code, *call],
            stdin=file,
            capture_output=True,
            text=True,
            check=False,
        )
    assert found.returncode == 2
    assert f'pip install "evalframe[{extra}]"' in found.stderr
    assert found.stderr.count("\n") == 1


def test_the_process_own_warnings_are_left_alone() -> None:
    """Only `main`, which has the process to itself, changes how warnings are shown."""
    shown = warnings.showwarning
    CliRunner().invoke(app, ["metrics", "ndcg"])
    assert warnings.showwarning is shown


def in_bash(line: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash, which names pipes")
    words = [bash, "-c", line]
    return subprocess.run(words, capture_output=True, env=os.environ | env, check=False)


def test_named_pipes_have_the_values_of_their_files(qrels: Path, run: Path, tmp_path: Path) -> None:
    ours = shlex.join(PROGRAM)
    a, b = shlex.quote(str(qrels)), shlex.quote(str(run))
    other = shlex.quote(str(run.with_name("tfidf.trec")))
    named = program("evaluate", qrels, run, "-m", "mrr")
    piped = in_bash(f"{ours} evaluate <(cat {a}) <(cat {b}) -m mrr", TMPDIR=str(tmp_path))
    assert (piped.returncode, piped.stdout, piped.stderr) == (0, named.stdout, b"")
    assert [*tmp_path.iterdir()] == []
    mixed = in_bash(f"cat {b} | {ours} evaluate <(cat {a}) - -m mrr")
    assert (mixed.returncode, mixed.stdout, mixed.stderr) == (0, named.stdout, b"")
    two = in_bash(f"{ours} evaluate {a} <(cat {b}) <(cat {other}) -m mrr -f csv")
    values = program("evaluate", qrels, run, run.with_name("tfidf.trec"), "-m", "mrr", "-f", "csv")
    means = [[row.split(b",")[2] for row in out.stdout.splitlines()[1:]] for out in (two, values)]
    assert sorted(means[0]) == sorted(means[1])
    assert len(means[0]) == 2


def test_a_named_pipe_is_told_by_its_name_and_its_suffix_says_the_format(
    qrels: Path, run: Path, tmp_path: Path
) -> None:
    pipe = tmp_path / "run.jsonl"
    os.mkfifo(pipe)
    quoted, ours = shlex.quote(str(pipe)), shlex.join(PROGRAM)
    row = '{"query_id": "q1", "doc_id": "a"}'
    found = in_bash(f"echo '{row}' > {quoted} & {ours} evaluate {shlex.quote(str(qrels))} {quoted}")
    assert found.returncode == 2
    assert b"'score'" in found.stderr
    assert b"evalframe-" not in found.stderr
