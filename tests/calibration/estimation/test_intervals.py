"""The pieces of the interval against other ways of computing them, and its laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import howsure
from howsure.calibration.analysis import analyse
from howsure.calibration.estimation.estimate import BinSums
from howsure.calibration.estimation.intervals import _highest_ece, solve, wilson_hilferty
from howsure.calibration.sketch import sketch_rows


@pytest.mark.parametrize("skew", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("z", [-1.96, 0.0, 1.0, 1.96, 2.5])
def test_wilson_hilferty_is_close_to_the_gamma_quantile(skew, z):
    from scipy.stats import norm, pearson3

    exact = pearson3.ppf(norm.cdf(z), skew)
    assert wilson_hilferty(skew, z) == pytest.approx(exact, abs=0.03 * (1 + skew**2))


def test_solve_finds_the_root_or_an_end():
    assert solve(lambda x: x * x, 0.25) == pytest.approx(0.5)
    assert solve(lambda x: x, -1.0) == 0.0
    assert solve(lambda x: x, 2.0) == 1.0


def test_upper_limit_of_the_ece_allows_for_the_least_favourable_spread():
    """No way to spread an ECE over the bins makes the expected Σ w|d| smaller than the equation says; one way attains it."""
    from scipy.optimize import minimize
    from scipy.stats import foldnorm

    n, sd, gap = np.array([50.0, 80.0, 120.0, 400.0]), np.array([0.06, 0.04, 0.03, 0.01]), 0.02
    w = n / n.sum()
    scatter = sd**2 * n * (n - 1)
    bins = BinSums(np.arange(4), n, n * gap, scatter + n * gap**2, np.full(4, 0.2))
    half = 0.015
    x = _highest_ece(bins, half)
    expected = lambda d: float(np.sum(w * foldnorm.mean(np.abs(d) / sd, scale=sd)))  # noqa: E731
    fixed = {"type": "eq", "fun": lambda d: np.sum(w * d) - x}
    least = minimize(expected, np.full(4, x), bounds=[(0, None)] * 4, constraints=fixed, options={"ftol": 1e-14})
    assert expected(least.x) == pytest.approx(gap + half, rel=1e-6)
    assert 0 < x < gap + half
    few = BinSums(np.arange(4), n, n * gap, np.full(4, 3.0), np.full(4, 0.2))
    assert _highest_ece(few, half) == pytest.approx(gap + half)


@given(
    rows=st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=2, max_size=80),
    level=st.sampled_from([0.5, 0.8, 0.9]),
)
def test_intervals_hold_their_estimates_and_grow_with_the_level(rows, level):
    y, q = [r[0] for r in rows], [r[1] for r in rows]
    narrow, wide = howsure.check(y, q, confidence_level=level), howsure.check(y, q, confidence_level=0.99)
    for c in (narrow, wide):
        for e in (c.error, c.ece, c.bias.gap, c.brier_interval):
            assert e.low <= e.value + 1e-9
            assert e.value <= e.high + 1e-9
        assert 0.0 <= c.error.low <= c.error.high <= 1.0
        assert np.all((c.bins.low <= c.bins.mean_true) & (c.bins.mean_true <= c.bins.high))
        assert all(0.0 <= t.p_value <= 1.0 for t in c.tests)
        shown = max(c.bias.gap.low, -c.bias.gap.high, 0.0)  # neither error is below |mean q - mean y|
        assert shown <= c.error.low
        assert shown <= c.ece.low
        assert not c.bias.direction or abs(c.bias.gap.value) <= c.error.value + 1e-12
        assert c.error_squared.low == pytest.approx(c.error.low**2, abs=1e-12)
    assert wide.error.low <= narrow.error.low + 1e-9
    assert wide.error.high >= narrow.error.high - 1e-9


@pytest.mark.simulation
@pytest.mark.parametrize("factor", [1.0, 0.8])
def test_default_interval_covers(factor):
    """250 samples of 2,000: at least 92%, less 3 binomial standard errors, so that 83% fails with probability 0.96 (the full grid is in docs/evidence/theory.md)."""
    rng = np.random.default_rng(24)
    grid = rng.beta(0.3, 0.3, 100_000).clip(1e-12, 1 - 1e-12)

    def truth(q):
        return 1 / (1 + ((1 - q) / q) ** factor)

    theta = np.sqrt(np.mean((grid - truth(grid)) ** 2))
    hits = rejections = 0
    for _ in range(250):
        q = rng.beta(0.3, 0.3, 2_000).clip(1e-12, 1 - 1e-12)
        c = analyse(sketch_rows((rng.random(2_000) < truth(q)).astype(np.uint8), q))  # `check` without its band
        hits += c.error.low <= theta <= c.error.high
        rejections += c.p_value < 0.05
    assert hits / 250 >= 0.92 - 3 * np.sqrt(0.92 * 0.08 / 250)
    if factor == 1.0:
        assert rejections / 250 <= 0.07 + 3 * np.sqrt(0.07 * 0.93 / 250)
    else:
        assert rejections / 250 > 0.9
