"""Reading values: systems side by side, and how far their numbers can be trusted."""

from evalframe.comparing.agreement import (
    kendall_tau,
    metric_agreement,
    rbo,
    run_agreement,
    system_agreement,
    tau_ap,
)
from evalframe.comparing.ap_correlation import tau_ap_b
from evalframe.comparing.compare import compare, compare_frames
from evalframe.comparing.comparison_report import Comparison
from evalframe.comparing.explaining import Explanation, explain_difference
from evalframe.comparing.honest import Sensitivity, tie_sensitivity, unjudged_bounds
from evalframe.comparing.influence import leave_one_out
from evalframe.comparing.regression import assert_no_regression

__all__ = [
    "Comparison",
    "Explanation",
    "Sensitivity",
    "assert_no_regression",
    "compare",
    "compare_frames",
    "explain_difference",
    "kendall_tau",
    "leave_one_out",
    "metric_agreement",
    "rbo",
    "run_agreement",
    "system_agreement",
    "tau_ap",
    "tau_ap_b",
    "tie_sensitivity",
    "unjudged_bounds",
]
