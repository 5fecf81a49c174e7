"""Tests of perfect calibration against direct formulas and simulated laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import howsure
from howsure.calibration.estimation.estimate import ladder
from howsure.calibration.estimation.perfection import (
    PerfectionTest,
    _eigen,
    brownian_maximum_tail,
    brownian_range_tail,
    combined,
    combined_p_value,
    pearson3_tail,
    perfection_tests,
)
from howsure.calibration.sketch import sketch_rows


def judged(sketch):
    return perfection_tests(sketch, ladder(sketch))


def by_name(y, q):
    return {t.name: t for t in judged(sketch_rows(y, q))}


def test_statistics_from_the_sketch_equal_sums_over_rows(skewed):
    y, q = skewed[0][:3000], skewed[1][:3000]
    t = by_name(y, q)
    e, slope = y - q, 1 - 2 * q
    v = q * (1 - q)
    assert t["Spiegelhalter"].statistic == pytest.approx(np.sum(e * slope) / np.sqrt(np.sum(slope**2 * v)))
    u = np.array([e.sum(), (e * slope).sum()])
    cov = np.array([[v.sum(), (slope * v).sum()], [(slope * v).sum(), (slope**2 * v).sum()]])
    chi2 = u @ np.linalg.solve(cov, u)
    assert t["score"].statistic == pytest.approx(chi2)
    assert t["score"].p_value == pytest.approx(stats.chi2.sf(chi2, 2), rel=1e-6)
    path = np.cumsum(e[np.argsort(q)]) / np.sqrt(v.sum())
    assert t["Kolmogorov-Smirnov"].statistic == pytest.approx(np.abs(path).max())
    assert t["Kuiper"].statistic == pytest.approx(max(path.max(), 0) - min(path.min(), 0))


def test_collapsed_statistics_are_close(skewed):
    sketch = sketch_rows(*skewed)
    for a, b in zip(judged(sketch), judged(sketch.collapsed()), strict=True):
        assert a.statistic == pytest.approx(b.statistic, rel=2e-3)


def test_combination_of_equal_p_values_is_that_value():
    for p in (0.001, 0.03, 0.5, 0.9):
        parts = (PerfectionTest("a", 0, p), PerfectionTest("b", 0, p))
        assert combined(parts).p_value == pytest.approx(p)


P_VALUES = st.just(0.0) | st.floats(1e-290, 1)


@given(P_VALUES, P_VALUES, P_VALUES)
def test_evidence_never_cancels(a, b, c):
    """However unconvincing one test, the other's p-value is at most doubled; and less of one p is never more of all."""
    p = float(combined_p_value(np.array(a), np.array(b)))
    assert min(a, b) * (1 - 1e-9) <= p <= min(2 * min(a, b), 1.0) * (1 + 1e-9)
    assert float(combined_p_value(np.array(min(a, c)), np.array(b))) <= p * (1 + 1e-9)


def exact_p_values(n, q, ones):
    """Every outcome of two heaps of rows, its probability, and the tails of the statistics: nothing simulated."""
    k = np.stack(np.meshgrid(*(np.arange(m + 1) for m in n), indexing="ij"), -1).reshape(-1, 2)
    weight = np.prod(stats.binom.pmf(k, n, q), axis=1)
    e, slope, v = k - n * q, 1 - 2 * q, n * q * (1 - q)
    u = np.stack([e.sum(1), (e * slope).sum(1)])
    cov = np.array([[v.sum(), (slope * v).sum()], [(slope * v).sum(), (slope**2 * v).sum()]])
    score = np.einsum("ik,ij,jk->k", u, np.linalg.inv(cov), u)
    excess = ((e**2 - k * (1 - q) ** 2 - (n - k) * q**2) / (n - 1)).sum(1)

    def tails(x):
        x = np.round(x, 9)
        return np.array([weight[x >= v].sum() for v in x])

    parts = tails(excess), tails(score)
    whole = tails(-combined_p_value(*parts))
    here = int(np.flatnonzero((k == ones).all(axis=1))[0])
    return whole[here], parts[0][here], parts[1][here]


@pytest.mark.parametrize(
    ("n", "q", "ones"),
    [
        ((50, 50), (0.99, 0.999), (50, 49)),  # p was 2e-4 by the limit law
        ((50, 50), (0.99, 0.999), (49, 49)),  # p was 1: one test wiped out the other
        ((50, 50), (0.99, 0.999), (47, 50)),
        ((60, 20), (0.02, 0.6), (4, 9)),
        ((30, 30), (0.3, 0.5), (14, 18)),
    ],
)
def test_p_values_of_few_or_all_but_certain_rows_are_exact(n, q, ones):
    """Within 4 standard errors of 1,000 simulations or more, of what summing over all outcomes gives."""
    n, q, ones = np.array(n), np.array(q), np.array(ones)
    y = np.concatenate([np.arange(m) < k for m, k in zip(n, ones, strict=True)])
    found = judged(sketch_rows(y, np.repeat(q, n)))
    for exact, test in zip(exact_p_values(n, q, ones), found, strict=False):
        simulations = 4_999 if found[0].p_value <= 0.2 else 499
        assert test.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / simulations) + 1 / 500)
        assert exact / 2 < test.p_value < exact * 2


def test_far_tails_are_bounded_where_no_simulation_reaches():
    """60 of 200 rows wrong at q = .99: the binomial tail is 1e-67; Chernoff's bound is not below it, and not far off."""
    y, q = np.arange(200) >= 60, np.full(200, 0.99)
    exact = stats.binom.sf(59, 200, 0.01)
    found = by_name(y, q)["score"].p_value
    assert exact < found < 100 * exact


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e-3])
def test_no_p_value_is_below_the_probability_of_what_was_seen(scale):
    """Two to five rows of small and nearly equal q: the covariance of the score is nearly singular, and labels often are as far as they
    can go."""
    rng = np.random.default_rng(44)
    for _ in range(40):
        n = rng.integers(2, 6)
        q, y = rng.random(n) * scale, rng.random(n) < 0.5
        if rng.random() < 0.3:
            q = np.where(rng.random(n) < 0.5, q, 1.0 - q)
        chance = np.prod(np.where(y, q, 1.0 - q))
        if chance < 1e-4:  # so that simulations do not count
            assert by_name(y, q)["score"].p_value >= chance * (1.0 - 1e-9)


def test_what_q_ruled_out_refutes_it():
    rng = np.random.default_rng(3)
    q = np.concatenate([[0.0], rng.random(500)])
    y = rng.random(501) < q
    assert howsure.check(y, q).p_value > 0.0
    y[0] = True
    c = howsure.check(y, q)
    assert c.p_value == 0.0
    assert howsure.check(y, q, groups=np.arange(501) // 5).p_value == 0.0
    assert "Not calibrated" in c.verdict


@pytest.mark.simulation
@pytest.mark.parametrize("q", [0.02, 0.98])
def test_limit_laws_take_over_smoothly(q):
    """Just above and just below the border of 30 rows' worth, the two ways of computing a p-value differ little."""
    n = round(30 / (q * (1 - q)))
    for more in (9, 13, -10):
        p = [by_name(np.arange(m) < round(m * q) + more, np.full(m, q))["combined"].p_value for m in (n - 8, n + 8)]
        assert max(p) / min(p) < 2.0


def test_pearson3_tail():
    for skew in (0.2, 1.0, 2.5):
        for x in (-0.5, 0.0, 1.0, 3.0):
            assert pearson3_tail(x, skew) == pytest.approx(stats.pearson3.sf(x, skew), rel=1e-9)
    assert pearson3_tail(1.0, 0.0) == pytest.approx(stats.norm.sf(1.0))


@pytest.mark.simulation
def test_brownian_tails_against_random_walks():
    """20,000 walks of 2,000 steps; the discrete walk falls short of the continuous one by about 0.58/√steps."""
    rng = np.random.default_rng(25)
    short = 0.5826 / np.sqrt(2000)
    furthest, extent = [], []
    for _ in range(20):
        path = np.cumsum(rng.choice([-1.0, 1.0], (1000, 2000)), axis=1) / np.sqrt(2000)
        furthest.append(np.abs(path).max(axis=1))
        extent.append(np.maximum(path.max(axis=1), 0) - np.minimum(path.min(axis=1), 0))
    furthest, extent = np.concatenate(furthest) + short, np.concatenate(extent) + 2 * short
    for x in (0.8, 1.2, 2.0, 2.5):
        assert brownian_maximum_tail(x) == pytest.approx(np.mean(furthest > x), abs=0.015)
        assert brownian_range_tail(x) == pytest.approx(np.mean(extent > x), abs=0.015)


def test_certain_predictions_do_not_break_the_tests():
    for y in ([0, 1, 1], [1, 0, 0]):
        c = howsure.check(y, [0.0, 1.0, 1.0])
        assert all(t.statistic is None or np.isfinite(t.statistic) for t in c.tests)


def test_paths_of_few_steps_have_their_own_law():
    """Two values of q: the path is a, then a + b, both normal; its extremes follow by integrating over a."""
    n, ones = np.array([400, 600]), np.array([135, 331])
    y = np.concatenate([np.arange(k) < m for k, m in zip(n, ones, strict=True)])
    t = by_name(y, np.repeat([0.3, 0.6], n))
    first, second = np.sqrt(n * [0.21, 0.24] / (n @ [0.21, 0.24]))
    a = np.linspace(-8, 8, 16_001) * first
    density = stats.norm.pdf(a, 0, first) * (a[1] - a[0])

    def inside(x, low, high):  # a + b between low and high, where |a| <= x
        between = stats.norm.cdf((high - a) / second) - stats.norm.cdf((low - a) / second)
        return float(np.sum((density * between)[np.abs(a) <= x]))

    x = t["Kolmogorov-Smirnov"].statistic
    assert t["Kolmogorov-Smirnov"].p_value == pytest.approx(1 - inside(x, -x, x), abs=0.035)
    x = t["Kuiper"].statistic
    assert t["Kuiper"].p_value == pytest.approx(1 - inside(x, np.maximum(a, 0) - x, np.minimum(a, 0) + x), abs=0.035)


def test_paths_of_few_rows_are_exact():
    """Nine rows: every outcome is enumerated."""
    q = np.array([0.1, 0.2, 0.25, 0.4, 0.5, 0.55, 0.7, 0.8, 0.95])
    outcomes = (np.arange(512)[:, None] >> np.arange(9)) & 1
    chance = np.prod(np.where(outcomes, q, 1 - q), axis=1)
    path = np.cumsum(outcomes - q, axis=1)
    furthest = np.abs(path).max(axis=1)
    extent = np.maximum(path.max(axis=1), 0) - np.minimum(path.min(axis=1), 0)
    for i in (0b000101011, 0b110000111):
        t = by_name(outcomes[i], q)
        for name, x in (("Kolmogorov-Smirnov", furthest), ("Kuiper", extent)):
            assert t[name].p_value == pytest.approx(chance[x >= x[i] - 1e-9].sum(), abs=0.06)


@pytest.mark.parametrize(
    "matrix",
    [[[2.0, 0.0], [0.0, 5.0]], [[1.0, 0.5], [0.5, 0.25]], [[0.0, 0.0], [0.0, 0.0]], [[3.0, -1.0], [-1.0, 3.0]]],
)
@pytest.mark.parametrize("scale", [1e-90, 1.0, 1e12])
def test_eigenvalues_of_two_rows_are_lapacks(matrix, scale):
    a = scale * np.array(matrix)
    values, vectors = _eigen(a)
    assert np.sort(values) == pytest.approx(np.linalg.eigvalsh(a), rel=1e-12, abs=1e-15 * scale)
    assert vectors * values @ vectors.T == pytest.approx(a, rel=1e-12, abs=1e-15 * scale)
    assert vectors @ vectors.T == pytest.approx(np.eye(2), abs=1e-15)
