"""Intervals of few or skewed rows: against exact laws, their limits for many rows, and coverage."""

from math import exp, inf, log, tanh

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import bisect

import howsure
from howsure.calibration.analysis import analyse
from howsure.calibration.estimation.tilted import FURTHEST, between, beyond, pearson3_quantile
from howsure.calibration.sketch import sketch_rows


@pytest.mark.parametrize("skew", [-3.0, -0.5, 0.0, 1e-4, 0.2, 1.0, 4.0])
def test_quantiles_are_those_of_pearson_3(skew):
    for p in (0.025, 0.5, 0.975):
        assert pearson3_quantile(p, skew) == pytest.approx(stats.pearson3.ppf(p, skew), abs=2e-4)


@pytest.mark.parametrize(("n", "events"), [(30, 0), (30, 1), (60, 3), (150, 10), (1000, 1)])
def test_one_probability_is_between_mid_p_and_clopper_pearson(n, events):
    """All q alike: the gap's interval is one of a proportion, close to the exact ones, whatever q is."""
    y = np.arange(n) < events
    exact = stats.binomtest(events, n).proportion_ci()
    for q in (0.001, 0.3, 0.9):
        gap = howsure.check(y, np.full(n, q)).bias.gap
        low, high = max(q - gap.high, 0.0), q - gap.low
        assert exact.low - 0.15 * events / n <= low <= events / n + 1e-9
        assert low <= exact.low + 0.35 * events / n
        assert 0.8 * exact.high <= high <= 1.1 * exact.high


def test_a_model_that_was_always_right_is_not_certain():
    for q in (np.zeros(60), np.full(60, 1e-3), np.r_[np.zeros(30), np.ones(30)]):
        brier = howsure.check(q > 0.5, q).brier_interval
        assert brier.low == 0.0
        assert 2.5 / 60 < brier.high < 3.7 / 60


def test_many_rows_have_the_usual_interval():
    rng = np.random.default_rng(36)
    q = rng.beta(0.5, 0.5, 200_000)
    y = rng.random(200_000) < np.clip(q**1.3, 0, 1)
    c = howsure.check(y, q)
    line = stats.linregress(q, y)
    x = q - q.mean()
    robust = np.sqrt(np.sum((x * (y - line.intercept - line.slope * q)) ** 2)) / np.sum(x**2)
    for e, value, se in (
        (c.bias.gap, np.mean(q - y), np.std(q - y) / np.sqrt(len(q))),
        (c.brier_interval, np.mean((q - y) ** 2), np.std((q - y) ** 2) / np.sqrt(len(q))),
        (c.bias.slope, line.slope, robust),
    ):
        assert e.value == pytest.approx(value)
        assert (e.low, e.high) == pytest.approx((value - 1.96 * se, value + 1.96 * se), abs=0.03 * se)


def test_mirrored_rows_have_the_mirrored_interval():
    rng = np.random.default_rng(37)
    q = rng.beta(0.3, 2, 80)
    y = rng.random(80) < q
    one, other = howsure.check(y, q), howsure.check(~y, 1 - q)
    assert (one.bias.gap.low, one.bias.gap.high) == pytest.approx((-other.bias.gap.high, -other.bias.gap.low), abs=1e-9)
    assert (one.brier_interval.low, one.brier_interval.high) == pytest.approx(
        (other.brier_interval.low, other.brier_interval.high), abs=1e-9
    )
    assert (one.bias.slope.low, one.bias.slope.high) == pytest.approx(
        (other.bias.slope.low, other.bias.slope.high), abs=1e-6
    )


@pytest.mark.simulation
@pytest.mark.parametrize("n", [30, 150])
def test_rare_events_are_covered(n):
    """q from Beta(.1, 4), truth logit × 1.2: 200 samples, at least 92% less 3 standard errors; Brier's was 30-80% (80% fails with
    probability 0.99)."""
    rng = np.random.default_rng(38)
    grid = rng.beta(0.1, 4, 200_000).clip(1e-12, 1 - 1e-12)

    def truth(q):
        return 1 / (1 + ((1 - q) / q) ** 1.2)

    p = truth(grid)
    wanted = (np.mean(grid - p), np.mean(p * (1 - p) + (grid - p) ** 2), np.cov(grid, p)[0, 1] / np.var(grid))
    hit = np.zeros(3)
    for _ in range(200):
        q = rng.beta(0.1, 4, n).clip(1e-12, 1 - 1e-12)
        c = analyse(sketch_rows((rng.random(n) < truth(q)).astype(np.uint8), q))  # `check` without its band
        for i, (e, w) in enumerate(zip((c.bias.gap, c.brier_interval, c.bias.slope), wanted, strict=True)):
            hit[i] += e is None or e.low - 1e-9 <= w <= e.high + 1e-9
    assert min(hit / 200) >= 0.92 - 3 * np.sqrt(0.92 * 0.08 / 200)


@pytest.mark.parametrize(
    "f", [lambda x: x**3 - 0.2, lambda x: exp(20 * x) - 2, lambda x: tanh(50 * (x - 0.3)), lambda x: x**9 - 1e-5]
)
def test_crossings_between_two_ends_are_those_of_bisection(f):
    asked = []

    def counted(x):
        asked.append(x)
        return f(x)

    assert between(counted, 0.0, f(0.0), 1.0, f(1.0)) == pytest.approx(bisect(f, 0.0, 1.0, xtol=1e-15), rel=1e-11)
    assert len(asked) < 60


@pytest.mark.parametrize("rate", [0.0, 1e-9, 1.0, 1e9])
def test_whatever_is_said_of_the_rate(rate):
    assert beyond(lambda x: exp(x) - 9.0, 0.0, rate) == pytest.approx(log(9.0), rel=1e-11)
    assert beyond(lambda x: x + 70.0, 3.0, rate) == pytest.approx(-70.0, rel=1e-11)


def test_a_function_that_never_crosses_is_followed_to_its_end():
    assert FURTHEST / 2 < beyond(lambda x: -exp(-max(x, -700.0)) - 0.1, 0.0, 1.0) < inf
    near = beyond(lambda x: -exp(-max(x, -700.0)), 0.0, 1.0, near=1e-12)
    assert exp(-near) <= 1e-12
