"""Closed-form tests, intervals, corrections and power: scipy's numbers, and what has none."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalframe.errors import EmptyError, MissingExtraError, OptionError, RowError
from evalframe.statistics import Procedure, difference_interval, mean_interval, paired_test
from evalframe.statistics.corrections import correct
from evalframe.statistics.power import minimum_detectable_difference, power_of, queries_needed
from evalframe.statistics.tukey import tukey_p

SIDES = ("two-sided", "greater", "less")
PAIR_TESTS = ("randomisation", "t", "wilcoxon", "sign")
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def columns(seed: int, n: int, *, graded: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Values of two systems; graded ones are tenths, so that differences tie and are 0."""
    rng = np.random.default_rng(seed)
    a, b = rng.beta(1, 2, (2, n))
    return (a.round(1), b.round(1)) if graded else (a, b)


def scipys_p(test: str, a: np.ndarray, b: np.ndarray, side: str) -> float:
    if test == "t":
        return stats.ttest_rel(a, b, alternative=side).pvalue
    if test == "wilcoxon":
        return stats.wilcoxon(a, b, alternative=side).pvalue
    wins, losses = int((a > b).sum()), int((a < b).sum())
    return stats.binomtest(wins, wins + losses, alternative=side).pvalue


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign"])
@pytest.mark.parametrize(
    ("n", "graded"), [(2, False), (12, False), (30, False), (80, False), (12, True), (80, True)]
)
def test_closed_forms_are_scipys(test: str, side: str, n: int, graded: bool) -> None:
    a, b = columns(n, n, graded=graded)
    ours = paired_test(a, b, test, alternative=side)
    assert ours.p == pytest.approx(scipys_p(test, a, b, side), abs=1e-12)
    assert (ours.resamples, ours.seed, ours.n) == (None, None, n)
    assert ours.difference == pytest.approx(a.mean() - b.mean(), abs=1e-15)


@pytest.mark.parametrize("n", [2, 3, 40])
def test_students_interval_is_scipys(n: int) -> None:
    a, b = columns(n, n)
    for ours, values in ((mean_interval(a, "t"), a), (difference_interval(a, b, "t"), a - b)):
        theirs = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
        assert (ours.low, ours.high) == pytest.approx(theirs, abs=1e-12)
        assert (ours.mean, ours.method, ours.resamples) == (
            pytest.approx(values.mean()),
            "t",
            None,
        )


def test_mcnemar_is_the_binomial_test_of_the_discordant_pairs() -> None:
    a, b = np.zeros(60), np.zeros(60)
    a[:13], b[10:15] = 1, 1
    assert paired_test(a, b, "mcnemar").p == pytest.approx(
        stats.binomtest(10, 12).pvalue, abs=1e-12
    )
    with pytest.raises(
        OptionError, match=r"mcnemar compares values of 0 and 1, but there is .*0\.5"
    ):
        paired_test([0.5, 1.0], [0.0, 1.0], "mcnemar")


@pytest.mark.parametrize("n_systems", [2, 3, 6])
def test_one_way_tukey_is_scipys(n_systems: int) -> None:
    values = np.random.default_rng(n_systems).random((25, n_systems))
    theirs = stats.tukey_hsd(*values.T).pvalue
    ours = tukey_p(values[:, :, None], "tukey_unblocked")[:, :, 0]
    assert np.abs(ours - theirs).max() < 1e-12


def test_tukey_with_queries_as_blocks_is_the_two_way_analysis() -> None:
    """Worked from the definition: residuals of rows and columns, (n - 1)(S - 1) degrees."""
    values = np.random.default_rng(1).random((20, 4)) + np.linspace(0, 2, 20)[:, None]
    rows, cols = values.mean(axis=1, keepdims=True), values.mean(axis=0)
    rest = values - rows - cols + values.mean()
    error = np.sqrt((rest**2).sum() / (19 * 3) / 20)
    ours = tukey_p(values[:, :, None])[:, :, 0]
    for i in range(4):
        for j in range(4):
            wanted = stats.studentized_range.sf(abs(cols[i] - cols[j]) / error, 4, 57)
            assert ours[i, j] == pytest.approx(1.0 if i == j else wanted, abs=1e-12)


def test_tukey_with_two_systems_is_the_paired_t_test() -> None:
    a, b = columns(3, 30)
    ours = tukey_p(np.column_stack([a, b])[:, :, None])[0, 1, 0]
    assert ours == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=1e-9)


@pytest.mark.parametrize("test", PAIR_TESTS)
@pytest.mark.parametrize("values", [[0.5], [0.0] * 20, [0.25, 0.5, 1.0] * 30])
def test_systems_that_are_alike_have_p_1_and_an_interval_of_width_0(
    test: str, values: list[float]
) -> None:
    assert paired_test(values, values, test).p == 1
    for method in ("t", "bca", "percentile", "studentised"):
        interval = difference_interval(values, values, method, resamples=50)
        end = None if len(values) == 1 else 0
        assert (interval.low, interval.high, interval.mean) == (end, end, 0)


@pytest.mark.parametrize("test", PAIR_TESTS)
def test_one_query_says_nothing(test: str) -> None:
    assert paired_test([1.0], [0.25], test).p == 1
    for method in ("t", "bca", "percentile", "studentised"):
        interval = difference_interval([1.0], [0.25], method, resamples=50)
        assert (interval.low, interval.high, interval.mean) == (None, None, 0.75)


def test_a_constant_difference_is_certain_to_the_t_test_and_no_more_than_that() -> None:
    a = np.linspace(0.1, 0.9, 20)
    assert paired_test(a + 0.1, a, "t").p == 0
    assert paired_test(a + 0.1, a, "t", alternative="less").p == 1
    assert paired_test(a + 0.1, a, "sign").p == pytest.approx(2 * 0.5**20)
    interval = difference_interval(a + 0.1, a, "bca", resamples=50)
    assert (interval.low, interval.high) == (pytest.approx(0.1), pytest.approx(0.1))


def test_tukey_of_systems_that_are_alike_is_1_and_of_constant_differences_0() -> None:
    alike = np.repeat(np.random.default_rng(0).random((9, 1)), 3, axis=1)
    for test in ("tukey", "randomised_tukey"):
        assert (tukey_p(alike[:, :, None], test, resamples=50) == 1).all()
        assert (tukey_p(alike[:1, :, None], test, resamples=50) == 1).all()
    moved = alike + np.array([0, 0, 1])
    assert tukey_p(moved[:, :, None])[0].ravel().tolist() == [1, 1, 0]


def test_holm_and_bonferroni_by_hand() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    assert correct(p, "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert correct(p, "bonferroni") == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert correct(p, "none") == p
    assert correct([0.5, 0.6], "bonferroni") == [1, 1]


@settings(deadline=None)
@given(P_VALUES)
def test_benjamini_hochberg_is_scipys(p: list[float]) -> None:
    ours = correct(p, "benjamini-hochberg")
    assert ours == pytest.approx(stats.false_discovery_control(p), abs=1e-12)


@pytest.mark.parametrize("short", ["bh", "fdr_bh"])
def test_the_short_names_of_scipy_and_statsmodels_stand_for_the_same_correction(short) -> None:
    p = [0.01, 0.04, None, 0.03]
    assert correct(p, short) == correct(p, "benjamini-hochberg")
    assert Procedure(correction=short) == Procedure(correction="benjamini-hochberg")
    with pytest.raises(OptionError, match=f"'benjamini-hochberg', .*'{short}'"):
        correct(p, "hb")
    with pytest.raises(OptionError, match=f"choose one of .*'{short}'"):
        Procedure(correction=[])


@settings(deadline=None)
@given(P_VALUES, st.sampled_from(["holm", "bonferroni", "benjamini-hochberg"]), st.randoms())
def test_a_correction_keeps_the_order_and_never_lowers_a_p(p: list[float], how, random) -> None:
    corrected = correct(p, how)
    assert all(before <= after <= 1 for before, after in zip(p, corrected, strict=True))
    ordered = sorted(zip(p, corrected, strict=True))
    assert [c for _, c in ordered] == sorted(c for _, c in ordered)
    order = random.sample(range(len(p)), len(p))
    assert correct([p[i] for i in order], how) == [corrected[i] for i in order]


def test_what_was_not_tested_is_no_member_of_the_family() -> None:
    for how in ("holm", "bonferroni", "benjamini-hochberg"):
        low, high = correct([0.01, 0.02], how)
        assert correct([0.01, None, 0.02], how) == [low, None, high]
    with pytest.raises(OptionError, match="between 0 and 1"):
        correct([0.5, float("nan")])


@pytest.mark.parametrize(("effect", "n"), [(0.5, 34), (0.2, 199), (0.8, 15), (1.0, 10)])
def test_queries_needed_are_those_of_the_tables(effect: float, n: int) -> None:
    """Two-sided paired t-test, alpha 0.05, power 0.8: sample sizes as G*Power gives them."""
    assert queries_needed(effect, 1.0) == n
    assert power_of(effect, 1.0, n) >= 0.8 > power_of(effect, 1.0, n - 1)


def test_power_is_that_of_the_non_central_t() -> None:
    for n, difference, sd in [(5, 0.3, 0.4), (50, 0.02, 0.1), (300, 0.5, 0.2), (2, 4.0, 0.1)]:
        critical, shift = stats.t.ppf(0.975, n - 1), difference / sd * n**0.5
        wanted = stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift)
        assert power_of(difference, sd, n) == pytest.approx(wanted, abs=1e-9)
    assert power_of(-0.02, 0.1, 50) == power_of(0.02, 0.1, 50)
    assert power_of(1e6, 1e-6, 100) == 1


@given(st.integers(2, 400), st.floats(0.01, 2.0), st.sampled_from([0.5, 0.8, 0.95]))
@settings(max_examples=20, deadline=None)
def test_the_detectable_difference_has_the_power_asked_for(n: int, sd: float, power: float) -> None:
    detectable = minimum_detectable_difference(sd, n, power=power)
    assert power_of(detectable, sd, n) == pytest.approx(power, abs=1e-6)
    assert queries_needed(detectable * 1.0001, sd, power=power) <= n


def test_nothing_to_find_and_nothing_in_the_way() -> None:
    assert queries_needed(0.0, 0.1) is None
    assert queries_needed(1e-9, 1.0) is None
    assert queries_needed(0.1, 0.0) == 2
    assert minimum_detectable_difference(0.0, 10) == 0


def test_unusable_values_and_options_are_named() -> None:
    with pytest.raises(OptionError, match="a has 1 values and b has 2"):
        paired_test([1.0], [1.0, 2.0])
    with pytest.raises(RowError, match="b holds nulls, NaN"):
        paired_test([1.0, 2.0], [None, 1.0])
    with pytest.raises(EmptyError, match="values holds no value"):
        mean_interval(pl.Series([], dtype=pl.Float64))
    with pytest.raises(OptionError, match="test='tukey' is not offered"):
        paired_test([1.0], [2.0], "tukey")
    with pytest.raises(OptionError, match="seed=-1 must be a whole number, 0 or more"):
        paired_test([1.0], [2.0], seed=-1)
    with pytest.raises(OptionError, match="confidence must be a number between 0 and 1, not 95"):
        Procedure(confidence=95)
    with pytest.raises(OptionError, match="n=1 must be a whole number, 2 or more"):
        power_of(0.1, 0.1, 1)


@pytest.mark.parametrize("package", ["numpy", "scipy"])
def test_without_the_extra_the_error_names_it(package: str, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package} .*evalframe\[stats\]"):
        paired_test([1.0], [2.0])


@pytest.mark.parametrize("values", [["a"], "ab", {"q": 1.0}, [[1.0], [2.0]], 3.0, [object()]])
def test_what_is_no_list_of_numbers_is_refused(values: object) -> None:
    with pytest.raises(RowError, match="a must be"):
        paired_test(values, [1.0])


def test_a_seed_that_no_column_holds_is_refused_and_whole_numbers_of_numpy_are_taken() -> None:
    with pytest.raises(OptionError, match=r"seed=\d+ is too large"):
        Procedure(seed=2**70)
    procedure = Procedure(seed=np.int64(3), resamples=np.int32(50))
    assert [(type(n), n) for n in (procedure.seed, procedure.resamples)] == [(int, 3), (int, 50)]


@pytest.mark.parametrize("side", SIDES)
def test_the_result_says_which_side_was_tested(side: str) -> None:
    assert paired_test([1.0, 0.5], [0.0, 0.5], alternative=side).alternative == side


@pytest.mark.parametrize("test", PAIR_TESTS)
def test_rounding_is_no_difference(test: str) -> None:
    found = paired_test([0.1 + 0.2] * 8 + [0.5], [0.3] * 8 + [0.25], test)
    only = paired_test([0.3] * 8 + [0.5], [0.3] * 8 + [0.25], test)
    assert (found.p, found.difference) == (only.p, only.difference)


def test_an_error_names_the_plain_number() -> None:
    with pytest.raises(OptionError, match=r"there is 0\.5;"):
        paired_test([0.5, 1.0], [0.0, 1.0], "mcnemar")
    assert power_of(0.05, 0.1, np.int64(34)) == power_of(0.05, 0.1, 34)
