"""How much faster `per_sample` is than a loop over plain functions of one sample.

    python tests/benchmarks/rag.py [samples] [samples of the loop]

200,000 samples unless said otherwise: answers and references of 30 words, five contexts of 100
words and two gold passages of 40. The loop scores a slice of them, and its time is scaled up; both
are run in this process, and the values on the slice must be the same.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from collections.abc import Callable

import polars as pl

from evalframe.evaluation.pairs import context_precision, context_recall, exact_match, token_f1
from evalframe.samples.scoring import DEFAULT_METRICS, per_sample
from evalframe.text import Profile, tokens

LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
FREQUENT = ("the", "of", "and", "a", "to", "in", "The", "an")
N_WORDS = 20_000


def vocabulary() -> pl.Series:
    """Made-up words, some with capitals, punctuation or accents; articles are frequent."""
    words = []
    for n in range(N_WORDS):
        state, word = n * 2_654_435_761 % 2**32, ""
        for _ in range(2 + n % 9):
            word += LETTERS[state % 26 if state % 3 else state % 9]
            state = (state * 1_103_515_245 + 12_345) % 2**31
        word += "é" * (n % 97 == 0) + "," * (n % 11 == 0) + "." * (n % 37 == 0)
        words.append(word.capitalize() if n % 53 == 0 else word)
    for n, word in enumerate(FREQUENT):
        words[n * 3] = word
    return pl.Series(words)


def texts(words: pl.Series, n: int, length: int, seed: int) -> pl.Series:
    """`n` texts of so many words; low words of the vocabulary come often."""
    share = (pl.int_range(n * length, eager=True).hash(seed) % 1_000_003) / 1_000_003
    drawn = words.gather((share**3 * N_WORDS).cast(pl.UInt32))
    return drawn.reshape((n, length)).arr.join(" ")


def samples(n: int, seed: int = 1) -> pl.DataFrame:
    """Samples made of the same words everywhere; the same for the same seed."""
    words, lists = vocabulary(), pl.List(pl.String)
    parts = []
    for start in range(0, n, 10_000):
        size, draw = min(10_000, n - start), seed + 10 * start
        part = {
            "response": texts(words, size, 30, draw + 1),
            "reference": texts(words, size, 30, draw + 2),
            "retrieved_contexts": texts(words, 5 * size, 100, draw + 3).reshape((size, 5)),
            "reference_contexts": texts(words, 2 * size, 40, draw + 4).reshape((size, 2)),
        }
        parts.append(pl.DataFrame(part).cast({name: lists for name in part if "contexts" in name}))
    return pl.concat(parts).with_row_index("query_id").cast({"query_id": pl.String})


def overlap(response: str, reference: str, profile: Profile) -> tuple[int, int, int]:
    """Shared tokens, those of the first and those of the second."""
    said, wanted = tokens(response, profile), tokens(reference, profile)
    return (Counter(said) & Counter(wanted)).total(), len(said), len(wanted)


def token_precision(response: str, reference: str, profile: Profile = "squad_v1") -> float:
    shared, n, m = overlap(response, reference, profile)
    return shared / n if n else float(profile == "squad_v2" and not m)


def token_recall(response: str, reference: str, profile: Profile = "squad_v1") -> float:
    shared, m, n = overlap(response, reference, profile)
    return shared / n if n else float(profile == "squad_v2" and not m)


def answer_contains(response: str, reference: str, profile: Profile = "squad_v1") -> float:
    said, wanted = tokens(response, profile), tokens(reference, profile)
    if not wanted:
        return float(not said)
    return float(f" {' '.join(wanted)} " in f" {' '.join(said)} ")


def context_coverage(
    passages: list[str], contexts: list[str], profile: Profile = "squad_v1"
) -> float | None:
    bags = [Counter(tokens(context, profile)) for context in contexts]
    gold = [bag for bag in (Counter(tokens(passage, profile)) for passage in passages) if bag]
    covered = [
        max(((bag & one).total() for bag in bags), default=0) / one.total() >= 0.8 for one in gold
    ]
    return sum(covered) / len(covered) if covered else None


def union_coverage(
    passages: list[str], contexts: list[str], profile: Profile = "squad_v1"
) -> float | None:
    union: Counter[str] = Counter()
    for context in dict.fromkeys(contexts):
        union.update(tokens(context, profile))
    gold = [Counter(tokens(passage, profile)) for passage in passages]
    total = sum(bag.total() for bag in gold)
    return sum((bag & union).total() for bag in gold) / total if total else None


PLAIN: dict[str, tuple[Callable[..., float | None], str, str]] = {
    "exact_match": (exact_match, "response", "reference"),
    "token_f1": (token_f1, "response", "reference"),
    "token_precision": (token_precision, "response", "reference"),
    "token_recall": (token_recall, "response", "reference"),
    "answer_contains": (answer_contains, "response", "reference"),
    "context_recall": (context_recall, "reference", "retrieved_contexts"),
    "context_precision": (context_precision, "reference", "retrieved_contexts"),
    "context_coverage": (context_coverage, "reference_contexts", "retrieved_contexts"),
    "union_coverage": (union_coverage, "reference_contexts", "retrieved_contexts"),
}


def loop(rows: list[dict[str, object]], metrics: list[str]) -> list[dict[str, float | None]]:
    """The plain functions, one sample and one metric at a time."""
    chosen = [(name, *PLAIN[name]) for name in metrics]
    return [{name: f(row[a], row[b]) for name, f, a, b in chosen} for row in rows]


def measure(frame: pl.DataFrame, n_loop: int, metrics: list[str]) -> None:
    """Print both times and their ratio."""
    part = frame.head(n_loop)
    rows = part.to_dicts()
    with Clock() as plain:
        wanted = loop(rows, metrics)
    with Clock() as fast:
        scored = per_sample(frame, metrics)
    if scored.head(n_loop).select(metrics).to_dicts() != wanted:
        raise SystemExit("the two do not agree")
    scale = frame.height / n_loop
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{', '.join(metrics)}")
    for what, slow, quick in (("wall", plain.wall, fast.wall), ("CPU ", plain.cpu, fast.cpu)):
        slow *= scale
        print(
            f"  {what}  loop {slow:.1f} s (scaled), per_sample {quick:.1f} s: {slow / quick:.1f} x"
        )
    print(f"  peak {peak:.0f} MB, of which the samples are {frame.estimated_size('mb'):.0f} MB")


class Clock:
    """Seconds on the wall and of the processor between entering and leaving."""

    def __enter__(self) -> Clock:
        self.wall, self.cpu = -time.perf_counter(), -time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter()
        self.cpu += time.process_time()


def main() -> None:
    """Measure the default metrics that compare words, then all of them."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    n_loop = min(n, int(sys.argv[2]) if len(sys.argv) > 2 else 5_000)
    frame = samples(n)
    for metrics in ([name for name in DEFAULT_METRICS if name in PLAIN], list(PLAIN)):
        measure(frame, n_loop, metrics)


if __name__ == "__main__":
    main()
