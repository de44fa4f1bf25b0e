"""Order: who stands where in a run, and the judged frame that every ranking metric works on."""

from evalframe.ranking.judged import Judged, Order, judge, judged_frame, judged_plan, rank_in_list
from evalframe.ranking.prepared import PreparedQrels, prepare
from evalframe.ranking.ties import TieRule, Ties

__all__ = [
    "Judged",
    "Order",
    "PreparedQrels",
    "TieRule",
    "Ties",
    "judge",
    "judged_frame",
    "judged_plan",
    "prepare",
    "rank_in_list",
]
