"""What a worker does: score one bucket, and leave the values in a file that says what they are of.

Everything here is small and pickles: paths, settings and expressions. The judgements and the run
are read where the work is done.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from evalframe.errors import OptionError, ReadError
from evalframe.executor.folders import Bucket, writing_to
from evalframe.inputs import run_or_plan
from evalframe.io.parquet import KEY, read_metadata, write_parquet
from evalframe.io.saving import beside
from evalframe.scoring import Asked, Contract
from evalframe.scoring.buckets import naming, score_bucket

__all__ = ["Work", "do"]

KIND = "values of a bucket"


@dataclass(frozen=True)
class Work:
    """What is done to each bucket.

    Attributes
    ----------
    results
        The folder that values are written to.
    qrels
        The file with the judgements, in that folder.
    asked, contract
        See `evalframe.scoring`.
    facts
        What the values depend on beside the bucket: it is kept in each file of values.
    """

    results: Path
    qrels: Path
    asked: list[Asked]
    contract: Contract
    facts: dict[str, Any]

    @classmethod
    def of(cls, qrels: pl.DataFrame, asked: list[Asked], contract: Contract, results: Path) -> Work:
        """The work on these judgements, which are put into the folder of results."""
        content = io.BytesIO()
        qrels.sort(qrels.columns).rechunk().write_parquet(content)
        digest = _digest(content.getvalue())
        kept = results / f".qrels-{digest}"
        if not kept.exists():
            with writing_to(results), beside(kept, overwrite=True) as part:
                part.write_bytes(content.getvalue())
        facts = {
            "evalframe": version("evalframe"),
            "polars": pl.__version__,
            "contract": contract.to_dict(),
            "metrics": {one.name: _digest(one.expression.meta.serialize()) for one in asked},
            "qrels": digest,
        }
        return cls(results, kept, asked, contract, facts)

    def target(self, bucket: Bucket) -> Path:
        """The file of a bucket's values."""
        return self.results / f"{bucket.name}.parquet"

    def values_of(self, bucket: Bucket) -> pl.DataFrame:
        """The values of a bucket that is done; where their file is damaged, they are made anew.

        Raises
        ------
        OptionError
            Another call has written its own values in their place.
        """
        try:
            return self._kept(bucket)
        except pl.exceptions.PolarsError:
            do(self, bucket)
            return self._kept(bucket)

    def is_done(self, bucket: Bucket) -> bool:
        """Whether the values of this bucket, as it is now, are there.

        Raises
        ------
        OptionError
            The values that are there are of other work.
        """
        target = self.target(bucket)
        if not target.exists():
            return False
        try:
            facts = read_metadata(target)
        except ReadError:
            return False
        return self._are_of(bucket, facts)

    def _kept(self, bucket: Bucket) -> pl.DataFrame:
        """The values in a bucket's file, once its facts are those of this work."""
        target = self.target(bucket)
        # Read once: another call may put its own file here at any time.
        content = target.read_bytes()
        stamp = pl.read_parquet_metadata(io.BytesIO(content)).get(KEY, "{}")
        if not self._are_of(bucket, json.loads(stamp)):
            raise OptionError(
                f"{target}: another call has written values of another run here meanwhile; give "
                "each its own results folder"
            )
        return pl.read_parquet(content)

    def _are_of(self, bucket: Bucket, facts: dict[str, Any]) -> bool:
        """Whether the facts of a file are those of this bucket as it is now; refuse other work."""
        if facts.get("kind") != KIND:
            raise OptionError(
                f"{self.target(bucket)}: this file holds no values; choose another results folder"
            )
        other = [name for name, fact in self.facts.items() if facts["work"].get(name) != fact]
        if other:
            raise OptionError(
                f"{self.results} holds values of other work ({', '.join(other)}): choose another "
                "results folder, or remove this one"
            )
        return bool(facts["bucket"] == bucket.fingerprint)


def do(work: Work, bucket: Bucket) -> None:
    """Score a bucket and write its values, beside the file first."""
    with naming(lambda: bucket.title):
        run = run_or_plan(bucket.path, duplicates=work.contract.duplicates, ranks=True)
        values = score_bucket(_judgements(work.qrels), run, work.asked, work.contract)
        facts = {"work": work.facts, "bucket": bucket.fingerprint}
        write_parquet(values, work.target(bucket), kind=KIND, metadata=facts, overwrite=True)


@functools.lru_cache(maxsize=1)
def _judgements(path: Path) -> pl.DataFrame:
    """The judgements, read once by each process; the name of the file tells its content."""
    return _read(path)


def _read(path: Path) -> pl.DataFrame:
    """This one file, whatever signs of a pattern its name holds."""
    return pl.read_parquet(path, glob=False, hive_partitioning=False)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
