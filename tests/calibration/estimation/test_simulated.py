"""Simulated labels, against the quantiles of their laws; and statistics that are 0 whatever the labels."""

import numpy as np
import pytest
from scipy import stats

import howsure
from howsure.calibration.estimation import simulated


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
