"""What an evaluation found, as frames, and every way to look further."""

from __future__ import annotations

import os
from typing import Any, overload

import polars as pl

from evalframe.errors import OptionError, did_you_mean, whole_number
from evalframe.page import write_document
from evalframe.report.as_page import page_of
from evalframe.report.evaluated import Evaluated
from evalframe.report.lists import judged_lists, with_texts
from evalframe.report.moving import side_by_side
from evalframe.report.one_query import NEAR, QueryReport, query_report
from evalframe.report.slicing import By, joined, sliced
from evalframe.report.spread import histogram
from evalframe.tables import (
    ROWS_SHOWN,
    in_one_line,
    latex_table,
    markdown_notes,
    markdown_table,
    more_rows,
    notebook_table,
    rows_kept,
    text_table,
)

__all__ = ["Report"]


class Report(Evaluated):
    """What an evaluation found, as frames.

    Attributes
    ----------
    per_query
        `query_id` (after `system`, where the run has one) and a column for each metric.
    summary
        A row for each metric (of each system): `metric`, `value` (the mean, or what the metric's
        `how` says: sum, geometric_mean), `how`, `queries`, `min`, `median`, `max`, `zeros`.
    counts
        `queries_in_qrels`, `queries_in_run`, `scored`, `missing` (in the qrels, not in the run),
        `extra` (in the run, not in the qrels), `without_positive`, and the mean of `judged@k` for
        the largest cut-off; a row for each system.
    contract
        What counted, and how.
    qrels, run
        What was evaluated, as it was checked.
    """

    def worst(self, metric: str, n: int = 10) -> pl.DataFrame:
        """The queries on which a metric is worst: lowest first, or highest where less is better.

        Queries without a value come last.

        Parameters
        ----------
        metric
            A metric of this report, by the name it was asked for.
        n
            How many rows (of each system).

        Examples
        --------
        >>> import evalframe as evf
        >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
        >>> report = evf.evaluate(qrels, {"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 1.0}}, ["mrr"])
        >>> report.worst("mrr", n=1).row(0)
        ('q1', 0.5)
        """
        asked = self._asked(metric)
        n = min(whole_number("n", n), self.per_query.height)
        worst_first = [False for _ in self._system] + [asked.better == "lower", False]
        value = pl.col(metric).cast(pl.Float64).fill_nan(None)
        ordered = self.per_query.sort(
            *self._system, value, "query_id", descending=worst_first, nulls_last=True
        )
        return (
            ordered.group_by(self._system, maintain_order=True).head(n)
            if self._system
            else (ordered.head(n))
        )

    def documents(
        self, query_id: str, *, system: str | None = None, corpus: Any = None
    ) -> pl.DataFrame:
        """What was retrieved for a query, judged, and what was relevant but missed.

        Parameters
        ----------
        query_id
            A query of the qrels or of the run.
        system
            Whose list, where the run has several systems.
        corpus
            A corpus (frame, dict, path), whose title and text are put beside each document.

        Returns
        -------
        pl.DataFrame
            `rank`, `doc_id`, `score`, `relevance` (null: no judgement) and `verdict`: `relevant`,
            `not relevant`, `unjudged` or `missed`. By rank; missed documents follow, without a
            rank, by falling grade.

        Examples
        --------
        >>> import evalframe as evf
        >>> report = evf.evaluate({"q": {"a": 1, "b": 2}}, {"q": {"x": 2.0, "a": 1.0}}, ["mrr"])
        >>> report.documents("q").select("rank", "doc_id", "verdict").rows()
        [(1, 'x', 'unjudged'), (2, 'a', 'relevant'), (None, 'b', 'missed')]
        """
        query_id = str(query_id)
        wanted = self._wanted(query_id, system)
        found = judged_lists(self.qrels, self.run, self.contract, wanted).drop(wanted.columns)
        if not found.height and not (self.qrels.query_ids == query_id).any():
            known = self.per_query["query_id"].unique().to_list()
            raise OptionError(f"no query {query_id!r}{did_you_mean(query_id, known)}")
        return found if corpus is None else with_texts(found, corpus)

    def query(
        self,
        query_id: str,
        *,
        system: str | None = None,
        corpus: Any = None,
        queries: Any = None,
        epsilon: float = NEAR,
    ) -> QueryReport:
        """One query looked at closely.

        Parameters
        ----------
        query_id
            A query of the qrels or of the run.
        system
            Whose list, where the run has several systems.
        corpus, queries
            Where titles and texts are (frame, dict, path).
        epsilon
            The relative gap up to which two scores are nearly equal.

        Returns
        -------
        QueryReport
            `.values` (beside those of the other queries), `.documents`, `.missed`,
            `.first_relevant`, `.near_ties` and `.text`.

        Examples
        --------
        >>> import evalframe as evf
        >>> qrels = {"q": {"a": 1, "b": 2}, "r": {"a": 1}}
        >>> run = {"q": {"x": 2.0, "a": 2.0}, "r": {"a": 1.0}}
        >>> looked = evf.evaluate(qrels, run, ["mrr"]).query("q")
        >>> looked.values.row(0)
        ('mrr', 0.5, 0.75, 'mean', 0.5)
        >>> looked.first_relevant, looked.missed["doc_id"].to_list()
        (2, ['b'])
        >>> looked.near_ties.select("rank", "doc_id", "next_doc_id", "gap").rows()
        [(1, 'x', 'a', 0.0)]
        """
        documents = self.documents(query_id, system=system, corpus=corpus)
        own, summary = (
            frame.filter(pl.col("system") == system) if self._system else frame
            for frame in (self.per_query, self.summary)
        )
        better = {metric.name: metric.better for metric in self.scored.asked}
        return query_report(
            str(query_id), system, documents, own, summary, better, queries, epsilon
        )

    def slices(self, by: By, queries: Any = None) -> pl.DataFrame:
        """The mean of each metric over each slice of the queries.

        Parameters
        ----------
        by
            A column of the queries, several, or an expression over them, such as
            `pl.col("text").str.len_chars() > 40`; `.alias()` names its column.
        queries
            The queries with their columns (frame, dict, path). Without them, `by` is an expression
            over `query_id`.

        Returns
        -------
        pl.DataFrame
            For each slice and metric (of each system): `n` (queries with a value), `mean`, `low`
            and `high` (null below two queries), `difference` (from the mean over all slices),
            `interval` (`t`: it may reach beyond what the metric can be) and `confidence` (0.95); by
            slice, null last. Means are arithmetic, whatever a metric's own summary is. Queries
            without a row in `queries` are a slice of nulls, and are counted in a warning.

        Raises
        ------
        ColumnError
            No such column, or one whose name the result itself needs.
        OptionError
            A column of more than 20 different numbers: put them into bins, for example
            `pl.col("length") // 20`.

        Examples
        --------
        >>> import evalframe as evf
        >>> import polars as pl
        >>> run = {"q1": ["a"], "q2": ["x", "a"], "q3": ["a"]}
        >>> report = evf.evaluate({q: {"a": 1} for q in run}, run, ["mrr"])
        >>> queries = {"q1": "ndcg", "q2": "what is it?", "q3": "map"}
        >>> found = report.slices(pl.col("text").str.contains(" ").alias("long"), queries)
        >>> found.select("long", "metric", "n", "mean").rows()
        [(False, 'mrr', 2, 1.0), (True, 'mrr', 1, 0.5)]
        """
        return sliced(self.per_query, list(self.how), by, queries)

    def join(self, queries: Any) -> pl.DataFrame:
        """The values of each query with all columns of the queries, to go on from.

        Queries that have no row there keep their values, with nulls beside them, and are counted
        in a warning.

        >>> import evalframe as evf
        >>> report = evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["mrr"])
        >>> report.join({"q": "what is ndcg?"}).row(0, named=True)
        {'query_id': 'q', 'mrr': 1.0, 'text': 'what is ndcg?'}
        """
        return joined(self.per_query, queries)

    def histogram(self, metric: str, bins: int = 10) -> pl.DataFrame:
        """How many queries have a value in each bin.

        Returns
        -------
        pl.DataFrame
            `low`, `high` and `count`, after `system`, where there are several, which share their
            bins. A bin holds its lower end, the last both ends. The bins go from 0 to 1 where all
            values do, else from the least value to the greatest.

        Examples
        --------
        >>> import evalframe as evf
        >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
        >>> report = evf.evaluate(qrels, {"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 1.0}}, ["mrr"])
        >>> report.histogram("mrr", bins=2).rows()
        [(0.0, 0.5, 0), (0.5, 1.0, 2)]
        """
        return histogram(self.per_query, self._asked(metric).name, bins)

    def moved(self, query_id: str, a: str, b: str, *, corpus: Any = None) -> pl.DataFrame:
        """Two systems' lists of a query side by side: which documents moved.

        Parameters
        ----------
        query_id
            A query of the qrels or of the run.
        a, b
            Two systems of this report. For two reports there is `side_by_side`.
        corpus
            A corpus, whose title and text are put beside each document.

        Returns
        -------
        pl.DataFrame
            `doc_id`, `rank_a`, `rank_b` (null where a list lacks it), `move` (places that it stands
            higher in b's list), `score_a`, `score_b`, `relevance`, `verdict`. What changes a
            discounted gain most comes first: grade × difference of 1 / log2(rank + 1), then by
            that difference alone.

        Examples
        --------
        >>> import evalframe as evf
        >>> runs = {"old": {"q": ["x", "y", "a"]}, "new": {"q": ["a", "x", "z"]}}
        >>> report = evf.evaluate({"q": {"a": 1}}, runs, ["mrr"])
        >>> report.moved("q", "old", "new").select("doc_id", "rank_a", "rank_b", "move").row(0)
        ('a', 3, 1, 2)
        """
        if not self._system:
            raise OptionError("the report has a single system; see evalframe.report.side_by_side")
        return side_by_side(self, self, query_id, system_a=a, system_b=b, corpus=corpus)

    def to_markdown(self, *, rows: int | None = ROWS_SHOWN) -> str:
        """The means as a Markdown table, the counts and the contract below; further rows counted.

        Of several systems, so many counts are listed as there are rows.

        >>> import evalframe as evf
        >>> report = evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["mrr"])
        >>> report.to_markdown().splitlines()[2]
        '| mrr | 1.0000 |'
        """
        notes = markdown_notes(self._footnotes(rows))
        return "\n".join([markdown_table(self.table(), rows), "", *notes])

    def to_latex(self, *, rows: int | None = ROWS_SHOWN) -> str:
        r"""The means as a LaTeX `tabular` (`\usepackage{booktabs}`), the rest as comments."""
        return latex_table(self.table(), self._footnotes(rows), rows)

    @overload
    def to_html(
        self,
        path: None = ...,
        *,
        corpus: Any = ...,
        queries: Any = ...,
        worst: int = ...,
        title: str = ...,
    ) -> str: ...
    @overload
    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        corpus: Any = ...,
        queries: Any = ...,
        worst: int = ...,
        title: str = ...,
        overwrite: bool = ...,
    ) -> None: ...
    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        corpus: Any = None,
        queries: Any = None,
        worst: int = 10,
        title: str = "Evaluation",
        overwrite: bool = False,
    ) -> str | None:
        """One page to hand on: means, charts, what counted, and the worst queries with their lists.

        It loads nothing and runs nothing, so it opens anywhere, without a network.

        Parameters
        ----------
        path
            The file; without it, the page is given back as text.
        corpus, queries
            Where titles and texts are (frame, dict, path). A warning says where none is found.
        worst
            How many queries of each system are looked at: the worst by the first metric.
        title
            What the page is called.
        overwrite
            Replace what is there.

        Raises
        ------
        FileExistsError
            Something is there and `overwrite` is not set.

        Examples
        --------
        >>> import evalframe as evf
        >>> page = evf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["mrr"]).to_html(title="BM25")
        >>> "<h1>BM25</h1>" in page
        True
        """
        page = page_of(self, title, whole_number("worst", worst, 0), corpus, queries)
        if path is None:
            return page
        write_document(page, path, overwrite=overwrite)
        return None

    def __repr__(self) -> str:
        """The means and the counts as a small table."""
        return "\n".join([text_table(self.table(), ROWS_SHOWN), *self._footnotes()])

    def _repr_html_(self) -> str:
        return notebook_table(self.table(), self._footnotes())

    def _wanted(self, query_id: str, system: str | None) -> pl.DataFrame:
        if not self._system:
            if system is not None:
                raise OptionError(
                    f"system={system!r}: the run has no column `system`; leave it out"
                )
            return pl.DataFrame({"query_id": [query_id]})
        if system not in self.systems:
            raise OptionError(f"system={system!r}: the run has the systems {self.systems}")
        return pl.DataFrame({"system": [system], "query_id": [query_id]})

    def _footnotes(self, rows: int | None = ROWS_SHOWN) -> list[str]:
        lines = [
            (f"{in_one_line(row['system'])}: " if self._system else "")
            + ", ".join(
                f"{name.replace('_', ' ')} {value:.3f}"
                if isinstance(value, float)
                else f"{name.replace('_', ' ')} {value}"
                for name, value in row.items()
                if name != "system"
            )
            for row in self.counts.head(rows_kept(self.counts, rows)).to_dicts()
        ]
        lines += [f"{more} of counts" for more in more_rows(self.counts, rows)]
        settings = ", ".join(f"{k}={v}" for k, v in self.contract.to_dict().items())
        return [*lines, settings]
