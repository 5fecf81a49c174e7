"""Tests of perfect calibration against direct formulas and simulated laws."""

import numpy as np
import pytest
from scipy import stats

import howsure
from howsure.calibration.estimation.perfection import (
    PerfectionTest,
    brownian_maximum_tail,
    brownian_range_tail,
    combined,
    pearson3_tail,
    perfection_tests,
)
from howsure.calibration.sketch import sketch_rows


def by_name(y, q):
    return {t.name: t for t in perfection_tests(sketch_rows(y, q))}


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
    for a, b in zip(perfection_tests(sketch), perfection_tests(sketch.collapsed()), strict=True):
        assert a.statistic == pytest.approx(b.statistic, rel=2e-3)


def test_cauchy_combination_of_equal_p_values_is_that_value():
    for p in (0.001, 0.03, 0.5, 0.9):
        parts = (PerfectionTest("a", 0, p), PerfectionTest("b", 0, p))
        assert combined(parts).p_value == pytest.approx(p)
    assert combined((PerfectionTest("a", 0, 0.0), PerfectionTest("b", 0, 1.0))).p_value <= 1.0


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
