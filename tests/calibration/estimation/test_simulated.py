"""Simulated labels, against the quantiles of their laws; and statistics that are 0 whatever the labels."""

import numpy as np
import pytest
from scipy import stats

import howsure
from howsure.calibration.estimation import simulated
from howsure.calibration.estimation.perfection import combined_p_value


@pytest.mark.parametrize("rows", [1, 3, 40, 2000])
def test_binomials_are_quantiles_of_uniform_numbers(rows):
    q = np.array([0.0, 1e-6, 0.003, 0.2, 0.5, 0.98, 1.0])
    n = np.full(len(q), rows)
    made = simulated._drawn(np.arange(len(q)), simulated._tables(n, q), 499)
    assert made[:, 0].tolist() == list(range(len(q)))
    uniform = np.random.default_rng(simulated.SEED).random((len(q), 499))
    wanted = np.where(q[:, None] == 1.0, rows, stats.binom.ppf(uniform, n[:, None], q[:, None]))
    assert np.array_equal(made[:, 1:], wanted)


def test_what_is_0_whatever_the_labels_says_nothing():
    """A certain row leaves no product of two residuals: 0 in all samples, but for rounding."""
    tests = {t.name: t for t in howsure.check([1, 1], [0.1, 1.0]).tests}
    assert tests["excess error"].statistic == pytest.approx(0.0)
    assert tests["excess error"].p_value == 1.0


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("place", [0.0, 0.01, 0.3, 0.7, 1.0])
def test_the_combined_p_value_is_its_rank_among_all(place, ties):
    """Of which only those that can be as small are looked at."""
    rng = np.random.default_rng(46)
    for _ in range(20):
        excess, score = rng.normal(size=500), rng.chisquare(2, 500)
        if ties:
            excess, score = excess.round(1), score.round(1)
        excess[0], score[0] = np.quantile(excess, 1.0 - place), np.quantile(score, 1.0 - rng.random())
        p_excess, p_score = ((x >= x[:, None] - 1e-9 * np.abs(x[:, None])).mean(axis=1) for x in (excess, score))
        both = combined_p_value(p_excess, p_score)
        wanted = (both <= both[0] * (1 + 1e-9)).mean()
        assert simulated._combined(excess, score, 0.0) == pytest.approx((wanted, p_excess[0], p_score[0]), abs=1e-12)
