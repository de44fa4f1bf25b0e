"""Resampled intervals and tests: scipy's numbers, the coverage and the error that they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats._resampling import BootstrapResult

from evalframe.errors import OptionError
from evalframe.statistics.closed_tests import intervals_of, p_values_of
from evalframe.statistics.contrasts import on_a_grid
from evalframe.statistics.resampling import bootstrap_intervals, replicated_means, sign_flip_p
from evalframe.statistics.tukey import randomised_tukey_p, tukey_p

N_SETS = 5_000


def alone(n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Every column by itself."""
    return np.arange(n_columns), np.full(n_columns, -1)


def skewed(n: int, n_columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).beta(1, 3, (n, n_columns))


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_intervals_are_what_scipy_makes_of_the_same_replicates(
    method: str, confidence: float
) -> None:
    values = skewed(37, 4)
    means = replicated_means(values, resamples=2_000, seed=3)
    low, high = bootstrap_intervals(
        values, *alone(4), method=method, confidence=confidence, resamples=2_000, seed=3
    )
    for column in range(4):
        given_replicates = BootstrapResult(None, means[:, column], 0.0)
        theirs = stats.bootstrap(
            (values[:, column],),
            np.mean,
            n_resamples=0,
            confidence_level=confidence,
            method=method,
            bootstrap_result=given_replicates,
        ).confidence_interval
        assert (low[column], high[column]) == pytest.approx(theirs, abs=1e-12)


def test_the_studentised_interval_is_its_definition() -> None:
    """Worked with a loop over the resamples, which are drawn in the same way."""
    x = skewed(23, 1)[:, 0]
    rng = np.random.default_rng(5)
    draws = [rng.integers(0, 23, (256, 23), dtype=np.uint16) for _ in range(2)]
    error = x.std() / 23**0.5
    t = [(x[i].mean() - x.mean()) / (x[i].std() / 23**0.5) for d in draws for i in d]
    wanted = x.mean() - np.quantile(t, [0.975, 0.025]) * error
    low, high = bootstrap_intervals(
        x[:, None], *alone(1), method="studentised", resamples=512, seed=5
    )
    assert (low[0], high[0]) == pytest.approx(tuple(wanted), abs=1e-12)


@pytest.mark.parametrize("n", [60, 70_000])
def test_every_row_is_drawn_as_often(n: int) -> None:
    """Means of the replicates lie around the mean, with the spread of a mean."""
    values = skewed(n, 1)
    means = replicated_means(values, resamples=400, seed=0)
    error = values.std() / n**0.5
    assert abs(means.mean() - values.mean()) < 4 * error / 400**0.5
    assert means.std() == pytest.approx(error, rel=0.15)


def test_a_difference_is_resampled_pair_by_pair() -> None:
    """Whether its sums are taken from the columns' sums, as for many pairs, or from its own."""
    values = skewed(40, 4)
    values[:, 3] = values[:, 0] + 0.25
    left, right = np.array([0, 2, 1, 3, 0, 3]), np.array([1, 0, 2, 0, -1, 1])
    differences = np.column_stack(
        [values[:, a] - (values[:, b] if b >= 0 else 0) for a, b in zip(left, right, strict=True)]
    )
    for method in ("percentile", "bca", "studentised"):
        of_pairs = bootstrap_intervals(values, left, right, method=method, resamples=300)
        of_columns = bootstrap_intervals(differences, *alone(6), method=method, resamples=300)
        assert np.abs(np.subtract(of_pairs, of_columns)).max() < 1e-12
        low, high = of_pairs
        assert low[3] == high[3] == pytest.approx(0.25)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("n", [1, 4, 12])
@pytest.mark.parametrize("digits", [1, 6])
def test_few_differences_are_tested_exactly_as_scipy_does(n: int, side: str, digits: int) -> None:
    a, b = skewed(n, 2, seed=n).round(digits).T
    p, exact = sign_flip_p(np.column_stack([a, b]), np.array([0]), np.array([1]), alternative=side)
    difference = a - b
    signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    sums = (signs * difference).sum(axis=1).round(9)
    observed = difference.sum().round(9)
    far = {
        "two-sided": abs(sums) >= abs(observed),
        "greater": sums >= observed,
        "less": sums <= observed,
    }[side]
    assert exact[0]
    assert p[0] == far.mean()
    if digits == 6 and n > 1:
        theirs = stats.permutation_test(
            (a, b), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples",
            alternative=side, vectorized=True, n_resamples=np.inf,
        )  # fmt: skip
        assert p[0] == pytest.approx(theirs.pvalue, abs=1e-12)


def test_many_differences_are_tested_within_monte_carlo_error_of_scipys() -> None:
    values = skewed(50, 6)
    values[:, 0] += 0.05
    left, right = np.array([0, 1, 2]), np.array([3, 4, 5])
    p, exact = sign_flip_p(values, left, right, resamples=20_000, seed=1)
    assert not exact.any()
    theirs = stats.permutation_test(
        (values[:, :3], values[:, 3:]), lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type="samples", vectorized=True, n_resamples=20_000, axis=0, batch=1_000,
        rng=np.random.default_rng(2),
    ).pvalue  # fmt: skip
    error = np.sqrt(theirs * (1 - theirs) / 20_000) * 2
    assert (np.abs(p - theirs) < 4 * error).all()


def test_the_observed_differences_are_one_of_the_draws() -> None:
    """So that p is never 0, however few are drawn."""
    apart = np.column_stack([np.ones(40), np.zeros(40)])
    p, _ = sign_flip_p(apart, np.array([0]), np.array([1]), resamples=99)
    assert p[0] == 1 / 100


def test_each_column_chooses_its_own_wilcoxon() -> None:
    """Of 20 queries: without ties it is tested exactly, with ties by the normal distribution."""
    values = skewed(20, 4)
    values[:, 2:] = values[:, 2:].round(1)
    left, right = np.array([0, 2]), np.array([1, 3])
    p, _, _ = p_values_of(values, left, right, test="wilcoxon", resamples=1, seed=0)
    for i, column in enumerate(p):
        theirs = stats.wilcoxon(values[:, left[i]], values[:, right[i]]).pvalue
        assert column == pytest.approx(theirs, abs=1e-12)


def test_queries_on_which_two_systems_are_alike_do_not_matter() -> None:
    few = skewed(9, 2)
    many = np.vstack([few, np.repeat(skewed(200, 1), 2, axis=1)])
    pair = np.array([0]), np.array([1])
    assert sign_flip_p(many, *pair) == sign_flip_p(few, *pair)


def test_a_sum_that_differs_by_rounding_is_as_far() -> None:
    """0.3 - 0.2 is not 0.2 - 0.1 in floating point: ten ones of 20 tenths are the median."""
    a = np.array([0.3, 0.2] * 10)
    b = np.array([0.2, 0.3] * 10)
    p, _ = sign_flip_p(np.column_stack([a, b]), np.array([0]), np.array([1]), resamples=2_000)
    assert p[0] == 1


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32), st.integers(18, 300))
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(seed: int, n: int) -> None:
    values = skewed(n, 2)
    pair = np.array([0]), np.array([1])
    once, again, other = (
        bootstrap_intervals(values, *pair, resamples=300, seed=s) for s in (seed, seed, seed + 1)
    )
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)
    p = [sign_flip_p(values, *pair, resamples=300, seed=s)[0][0] for s in (seed, seed)]
    assert p[0] == p[1]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["t", "percentile", "bca", "studentised"])
@pytest.mark.parametrize("what", ["mean", "difference"])
def test_95_of_100_intervals_hold_the_true_mean(method: str, what: str) -> None:
    """5,000 sets of 200 queries: skewed values, and differences of two such systems."""
    left, right = alone(N_SETS)
    values, truth = skewed(200, N_SETS, seed=11), 0.25
    if what == "difference":
        values = np.column_stack([values, skewed(200, N_SETS, seed=12) ** 2])
        right, truth = left + N_SETS, 0.25 - 0.1
    low, high = intervals_of(
        values, left, right, method=method, confidence=0.95, resamples=2_000, seed=0
    )
    covered = ((low <= truth) & (truth <= high)).mean()
    assert 0.94 <= covered <= 0.96


def size_of_sign_test(n: int) -> float:
    """The chance that the exact sign test of n wins or losses gives p < 0.05."""
    wins = np.arange(n + 1)
    p = np.minimum(1, 2 * stats.binom.cdf(np.minimum(wins, n - wins), n, 0.5))
    return float(stats.binom.pmf(wins, n, 0.5)[p < 0.05].sum())


@pytest.mark.slow
@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomisation"])
@pytest.mark.parametrize("n", [60, 14])
def test_tests_of_systems_that_are_alike_are_wrong_as_often_as_they_say(test: str, n: int) -> None:
    """5,000 sets of queries. The sign test's own size is known, and below 0.05."""
    n_sets = 1_500 if (test, n) == ("wilcoxon", 14) else N_SETS
    rng = np.random.default_rng(7)
    shared = rng.normal(size=(n, n_sets))
    values = np.column_stack([shared + rng.normal(size=(n, n_sets)) for _ in range(2)])
    left = np.arange(n_sets)
    p, _, _ = p_values_of(values, left, left + n_sets, test=test, resamples=2_000, seed=0)
    size = size_of_sign_test(n) if test == "sign" else 0.05
    wrong = (p < 0.05).mean()
    assert abs(wrong - size) < 3.3 * np.sqrt(size * (1 - size) / n_sets)


@pytest.mark.slow
def test_mcnemar_is_wrong_no_more_often_than_it_says() -> None:
    rng = np.random.default_rng(8)
    values = (rng.random((200, 2 * N_SETS)) < 0.4).astype(float)
    left = np.arange(N_SETS)
    p, _, _ = p_values_of(values, left, left + N_SETS, test="mcnemar", resamples=1, seed=0)
    assert 0.025 < (p < 0.05).mean() < 0.05


@pytest.mark.slow
def test_tukey_is_wrong_about_any_pair_as_often_as_it_says() -> None:
    """p falls as the range of the means grows, so that it is looked at around p = 0.05 alone."""
    rng = np.random.default_rng(10)
    values = rng.normal(size=(15, 1, N_SETS)) + rng.normal(size=(15, 3, N_SETS))
    means = values.mean(axis=0)
    rest = values - means - values.mean(axis=1, keepdims=True) + means.mean(axis=0)
    error = np.sqrt((rest**2).sum(axis=(0, 1)) / 28 / 15)
    ranges = np.ptp(means, axis=0) / error
    order = np.argsort(ranges)
    first_wrong = np.searchsorted(ranges[order], stats.studentized_range.ppf(0.95, 3, 28))
    p = tukey_p(values[:, :, order[first_wrong - 1 : first_wrong + 1]]).min(axis=(0, 1))
    assert p[0] > 0.05 > p[1]
    assert abs((N_SETS - first_wrong) / N_SETS - 0.05) < 3.3 * (0.05 * 0.95 / N_SETS) ** 0.5


@pytest.mark.slow
def test_randomised_tukey_is_wrong_about_any_pair_as_often_as_it_says() -> None:
    rng = np.random.default_rng(9)
    n_sets = 2_500
    values = rng.normal(size=(15, 1, n_sets)) + rng.normal(size=(15, 3, n_sets))
    p = randomised_tukey_p(values, resamples=400, seed=0)
    wrong = (p.reshape(9, -1).min(axis=0) < 0.05).mean()
    assert abs(wrong - 0.05) < 0.015
    by_range = tukey_p(values[:, :, :20])
    assert np.abs(by_range - p[:, :, :20])[by_range < 0.3].max() < 0.1


def test_randomised_tukey_of_two_systems_is_the_randomisation_test() -> None:
    values = skewed(40, 2)
    p = randomised_tukey_p(values[:, :, None], resamples=20_000, seed=0)[0, 1, 0]
    flipped = sign_flip_p(values, np.array([0]), np.array([1]), resamples=20_000, seed=0)[0][0]
    assert p == pytest.approx(flipped, abs=4 * (flipped * (1 - flipped) / 10_000) ** 0.5)


def test_what_cannot_be_drawn_is_refused() -> None:
    values = skewed(20, 1)
    with pytest.raises(OptionError, match="resamples=0 must be a whole number, 1 or more"):
        bootstrap_intervals(values, *alone(1), resamples=0)
    with pytest.raises(OptionError, match="seed=None must be"):
        sign_flip_p(values, *alone(1), seed=None)
    with pytest.raises(OptionError, match="method='basic' is not offered"):
        bootstrap_intervals(values, *alone(1), method="basic")


@pytest.mark.parametrize("method", ["percentile", "bca", "studentised", "t"])
def test_columns_beside_and_their_order_change_no_bit_of_an_interval(method: str) -> None:
    values = skewed(83, 24, seed=2)
    left, right = np.triu_indices(24, 1)
    together = intervals_of(
        values, left, right, method=method, confidence=0.95, resamples=300, seed=1
    )
    for number in (0, 1, 40, 200):
        pair = values[:, [left[number], right[number]]]
        alone_ = intervals_of(
            pair, np.array([0]), np.array([1]), method=method, confidence=0.95, resamples=300,
            seed=1,
        )  # fmt: skip
        assert [side[0] for side in alone_] == [side[number] for side in together]


def test_sums_on_a_grid_are_exact_in_any_order() -> None:
    x = on_a_grid(skewed(1_000, 3) - 0.25)
    assert np.abs(x - (skewed(1_000, 3) - 0.25)).max() < 1_000 * 2**-52
    shuffled = np.random.default_rng(0).permutation(x)
    for column in range(3):
        exact = math.fsum(x[:, column])
        assert [sum(x[:, column]), sum(shuffled[:, column]), x[:, column].sum()] == [exact] * 3
