"""The report of an evaluation in Spark: the values are here, the rows stay there."""

from __future__ import annotations

from typing import Any

import polars as pl

from evalframe.engine import collect
from evalframe.errors import OptionError
from evalframe.frames import conform
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.report import QueryReport, Report
from evalframe.scoring import Contract, Scored
from evalframe.spark.frames import literal, local_frame, to_spark
from evalframe.stored import ReportOfValues

__all__ = ["SparkReport"]


class SparkReport(ReportOfValues):
    """A report whose qrels and run are Spark frames.

    It has what every report has, and goes wherever one does: `evalframe.compare_frames`,
    `evalframe.write_report`. What looks at documents fetches the rows of one query. Pickled, it
    keeps its values; Spark's frames stay with their session.
    """

    def __init__(self, scored: Scored, contract: Contract, qrels: Any, run: Any) -> None:
        """Take the values, and the Spark frames they come from."""
        self.__dict__ |= {"scored": scored, "contract": contract, "in_spark": (qrels, run)}

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: everything but the frames."""
        return {name: held for name, held in self.__dict__.items() if name != "in_spark"}

    def to_spark(self) -> Any:
        """`per_query` as a Spark frame; it is sent from here, and nothing is done again."""
        return to_spark(self.per_query, self._frames[1].sparkSession)

    def fetch(self, *query_ids: str) -> Report:
        """This report with the judgements and the lists of these queries in memory.

        Parameters
        ----------
        *query_ids
            Queries whose documents are to be looked at.

        Returns
        -------
        Report
            An ordinary report: all values, but no rows of other queries.

        Examples
        --------
        >>> report.fetch("q18", "q7").to_html("q18.html")  # doctest: +SKIP
        """
        wanted = ", ".join(literal(str(query_id)) for query_id in query_ids)
        judged, listed = (
            local_frame(frame.where(f"query_id in ({wanted})" if wanted else "false"))
            for frame in self._frames
        )
        # Either may be empty, which the door refuses in frames that are not plans.
        run = collect(conform(listed.lazy(), "run", check_plans=False), "in-memory")
        return Report(self.scored, self.contract, _prepared(judged), run)

    def documents(
        self, query_id: str, *, system: str | None = None, corpus: Any = None
    ) -> pl.DataFrame:
        """What was retrieved for a query; see `evalframe.Report.documents`."""
        return self.fetch(query_id).documents(query_id, system=system, corpus=corpus)

    def query(self, query_id: str, **options: Any) -> QueryReport:
        """One query, its values and its list; see `evalframe.Report.query`."""
        return self.fetch(query_id).query(query_id, **options)

    def moved(self, query_id: str, a: str, b: str, *, corpus: Any = None) -> pl.DataFrame:
        """What two systems place differently; see `evalframe.Report.moved`."""
        return self.fetch(query_id).moved(query_id, a, b, corpus=corpus)

    @property
    def _frames(self) -> tuple[Any, Any]:
        """The qrels and the run in Spark."""
        frames: tuple[Any, Any] | None = self.__dict__.get("in_spark")
        if frames is None:
            raise OptionError(
                "this report was pickled: it has the values, and the qrels and the run stayed in "
                "the session of Spark that made it. Evaluate again to look at them"
            )
        return frames

    def _where(self, what: str) -> str:
        return (
            f"Spark keeps the {what} of this report: report.fetch(query_id, …) brings the rows of "
            "some queries here"
        )


def _prepared(judged: pl.DataFrame) -> PreparedQrels:
    """These judgements prepared; none at all are one of no query that could be asked for."""
    if judged.height:
        return prepare(conform(judged, "qrels"))
    return prepare(pl.DataFrame({"query_id": [""], "doc_id": [""], "relevance": [0]}))
