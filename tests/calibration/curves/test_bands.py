"""Bands against their definitions: fits row by row, all runs by brute force, and laws."""

import numpy as np
import pytest
from scipy.stats import beta, norm

from howsure.calibration.curves.bands import (
    AMPLITUDE,
    LENGTH,
    Band,
    bootstrapped_band,
    gaussian_process_band,
    linear_band,
    local_polynomial,
    monotone_band,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(50)
    x = np.sort(rng.random(60))
    size = rng.integers(1, 9, 60).astype(float)
    return x, size, rng.binomial(size.astype(int), x**1.3).astype(float)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_local_polynomials_are_weighted_least_squares(data, degree):
    x, size, positive = data
    at = np.array([0.1, 0.52, 0.97])
    distance = (x[None, :] - at[:, None]) / 0.2
    weights = np.exp(-0.5 * distance**2)
    hat = local_polynomial(weights, distance, size, degree)
    for i in range(3):
        design = np.vander(distance[i], degree + 1, increasing=True) * np.sqrt(weights[i] * size)[:, None]
        expected = np.linalg.lstsq(design, np.sqrt(weights[i] * size) * positive / size, rcond=None)[0][0]
        assert hat[i] @ positive == pytest.approx(expected, abs=1e-6)
        # A polynomial of that degree is kept as it is: nothing is left of its bias.
        assert hat[i] @ (size * x**degree) == pytest.approx(at[i] ** degree, abs=1e-6)


def test_one_place_only_is_its_frequency():
    hat = local_polynomial(np.ones((1, 1)), np.array([[500.0]]), np.array([4.0]), 3)
    assert hat @ np.array([1.0]) == pytest.approx(0.25, rel=1e-6)


def test_the_error_of_a_linear_estimate(data):
    _, size, positive = data
    hat = np.full((1, 60), 1 / size.sum())
    n = size.sum()
    fitted = np.full(60, positive.sum() / n)
    made = linear_band(hat, size, positive, fitted, np.full(60, 1e12), 0.9)
    p = positive.sum() / n
    assert made.high[0] - p == pytest.approx(norm.ppf(0.95) * np.sqrt(p * (1 - p) / n), rel=1e-6)
    wide = (made.high_everywhere[0] - p) / (made.high[0] - p) * norm.ppf(0.95)
    assert wide == pytest.approx(
        norm.ppf(0.99), rel=0.08
    )  # one place: the same law, two-sided at 1 - 0.1/5, by 1,000 draws


def test_the_bootstrap_has_the_same_spread_as_theory(data):
    x, size, _ = data
    size, positive = size * 50, size * 50 * x  # on a line, so that the spread is noise alone
    at = np.array([0.3, 0.5, 0.7])
    distance = (x[None, :] - at[:, None]) / 0.2
    weights = np.exp(-0.5 * distance**2)
    fitted, rows = positive / size, np.full(60, 1e12)
    boot = bootstrapped_band(weights, distance, size, positive, fitted, rows, 0.95)
    theory = linear_band(local_polynomial(weights, distance, size, 2), size, positive, fitted, rows, 0.95)
    assert (boot.low + boot.high) / 2 == pytest.approx((theory.low + theory.high) / 2)
    assert boot.high - boot.low == pytest.approx(theory.high - theory.low, rel=0.2)


def test_the_gaussian_process_is_its_conditional_law(data):
    x, size, positive = data
    grid, noise = np.array([0.2, 0.6]), 0.2 / size
    made = gaussian_process_band(x, positive / size, grid, noise, 0.95)
    place = np.arcsin(np.sqrt(np.concatenate([grid, x])))
    law = AMPLITUDE**2 * np.exp(-0.5 * (np.subtract.outer(place, place) / LENGTH) ** 2)
    inverse = np.linalg.inv(law[2:, 2:] + np.diag(noise))
    mean = grid + law[:2, 2:] @ inverse @ (positive / size - x)
    sd = np.sqrt(np.diag(law[:2, :2] - law[:2, 2:] @ inverse @ law[2:, :2]))
    assert (made.low + made.high) / 2 == pytest.approx(mean)
    assert (made.high - made.low) / 2 == pytest.approx(norm.ppf(0.975) * sd)


def test_what_runs_say_of_a_curve_that_never_falls(data):
    x, size, positive = (v[:11] for v in data)
    grid = np.array([x[0], (x[4] + x[5]) / 2, x[10]])
    made = monotone_band(x, size, positive, grid, np.zeros(3), np.ones(3), 0.95)
    runs = [(i, i + k) for k in (1, 2, 4, 8) for i in range(11 - k + 1)]
    tail = 0.05 / len(runs) / 2
    for g, low, high in zip(grid, made.low_everywhere, made.high_everywhere, strict=True):
        bottom, top = [0.0], [1.0]
        for i, j in runs:
            k, n = positive[i:j].sum(), size[i:j].sum()
            if x[j - 1] <= g and k > 0:
                bottom.append(beta.ppf(tail, k, n - k + 1))
            if x[i] >= g and k < n:
                top.append(beta.ppf(1 - tail, k + 1, n - k))
        assert (low, high) == pytest.approx((max(bottom), min(top)))


def test_a_band_holds_its_curve_and_stays_between_0_and_1():
    made = Band(*(np.array([v]) for v in (-0.2, 0.3, -0.5, 1.4))).around(np.array([0.35]))
    assert [float(v[0]) for v in (made.low, made.high, made.low_everywhere, made.high_everywhere)] == [0, 0.35, 0, 1]
