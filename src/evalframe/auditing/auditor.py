"""The audit: every check that needs no evaluation, in one frame of findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from evalframe.auditing import lists, sides
from evalframe.auditing.findings import table_of
from evalframe.auditing.loose import loosened
from evalframe.errors import OptionError, one_of, whole_number

__all__ = ["CUTOFFS", "audit"]

CUTOFFS = (1, 10, 100)
"""Cut-offs at which ties and judgements are looked at by default."""


def audit(
    qrels: Any,
    run: Any,
    queries: Any = None,
    corpus: Any = None,
    *,
    cutoffs: int | Iterable[int] = CUTOFFS,
    score_dtype: Any = pl.Float64,
) -> pl.DataFrame:
    """Look for what makes an evaluation fail, or its values mean something else than they seem.

    Parameters
    ----------
    qrels, run, queries, corpus
        Frames, dicts or paths, in any state: what a reader refuses is reported here, and the
        further checks look at the rest. A run may hold several systems.
    cutoffs
        The places k at which tied scores and the share of judged documents are looked at.
    score_dtype
        Float64, or Float32 to see the ties that trec_eval 9 sees.

    Returns
    -------
    pl.DataFrame
        A row for each finding, errors first: `severity` (`error`, `warning`, `info`), `kind`,
        `where`, `count`, `what` (in words), `examples` (the first five) and `what_to_do`. No rows
        where nothing was found. The kinds:

        - rows: `empty`, `bad_lines`, `null`, `nan`, `infinite`, `not_a_number`, `id_type`,
          `duplicates`;
        - ids: `queries_missing_from_run`, `queries_missing_from_qrels`, `no_common_doc_ids`,
          `doc_ids_missing_from_run`, `int_against_string_ids`, `ids_differ_by_white_space`,
          `…_case`, `…_leading_zeros`, `…_decimals` (a trailing .0), `…_several` of these,
          `…_prefix`; with queries and corpus `queries_without_text`, `queries_unused`,
          `dangling_doc_ids`;
        - lists: `self_hits`, `ties_at_cutoff`, `rank_against_score`, `repeated_ranks`,
          `constant_scores`, `unjudged`;
        - grades and texts: `queries_without_positives`, `grades_below_0`, `grades_above_4`,
          `empty_texts`.

    Raises
    ------
    ColumnError
        A column is missing, or holds what cannot be ids or numbers.
    FileNotFoundError, ReadError
        A path that leads nowhere, or to a file that is damaged.

    Examples
    --------
    >>> import evalframe as evf
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d2": 0}}
    >>> found = evf.audit(qrels, {"Q1": {"d1": 0.5}, "q2": {"d2": 0.7}})
    >>> found.select("severity", "kind", "examples").rows()
    [('error', 'ids_differ_by_case', ["'Q1' → 'q1'"]),
     ('warning', 'queries_missing_from_run', ['q1']),
     ('warning', 'queries_without_positives', ['q2']),
     ('info', 'queries_missing_from_qrels', ['Q1'])]
    """
    given = [cutoffs] if isinstance(cutoffs, int) else [*cutoffs]
    ks = sorted({whole_number("cutoffs", k) for k in given})
    if not ks:
        raise OptionError("cutoffs are empty: name at least one, for example 10")
    one_of("score_dtype", score_dtype, (pl.Float64, pl.Float32))
    held = sides.Sides(
        loosened(qrels, "qrels"),
        loosened(run, "run"),
        None if queries is None else loosened(queries, "queries"),
        None if corpus is None else loosened(corpus, "corpus"),
    )
    findings = [
        finding
        for loose in (held.qrels, held.run, held.queries, held.corpus)
        if loose is not None
        for finding in loose.findings
    ]
    if held.qrels.frame.height and held.run.frame.height:
        findings += sides.queries(held)
        findings += sides.documents(held)
        findings += lists.judged_shares(held.qrels, held.run, ks, score_dtype)
    if held.run.frame.height:
        findings += lists.ranked_lists(held.run, ks, score_dtype)
    findings += lists.grades(held.qrels)
    if held.queries is not None:
        findings += lists.texts(held.queries, "queries", "query_id")
    if held.corpus is not None:
        findings += lists.texts(held.corpus, "corpus", "doc_id")
    return table_of(findings)
