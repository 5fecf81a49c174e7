"""Algorithms 1 and 2 against ten-line references."""

import numpy as np
import pytest

from howsure.calibration import paper


def reference_bins(y, q, size):
    pairs = sorted(zip(q, y, strict=True))
    bins = [pairs[i : i + size] for i in range(0, len(pairs), size)]
    if len(bins) > 1 and len(bins[-1]) < size:
        bins[-2].extend(bins.pop())
    return [(len(b), sum(q for q, _ in b) / len(b), sum(y for _, y in b) / len(b)) for b in bins]


@pytest.mark.parametrize("size", [200, 1000, 5000])
def test_algorithm_1(skewed, size):
    y, q = skewed
    bins = reference_bins(y, q, size)
    expected = (sum(n * (a - b) ** 2 for n, a, b in bins) / len(y)) ** 0.5
    assert paper.calibration_error(y, q, bin_size=size) == pytest.approx(expected, rel=1e-12)
    assert paper.calibration_mse(y, q, bin_size=size) == pytest.approx(expected**2, rel=1e-12)
    shuffled = np.random.default_rng(0).permutation(len(y))
    assert paper.calibration_error(y[shuffled], q[shuffled], size) == pytest.approx(expected, rel=1e-12)


def test_algorithm_2(skewed):
    y, q = skewed
    rng = np.random.default_rng(1)
    bins = reference_bins(y, q, 1000)
    errors = []
    for _ in range(4000):
        total = 0.0
        for n, mean_q, p in bins:
            draw = min(1.0, max(0.0, rng.normal(p, (p * (1 - p) / n) ** 0.5)))
            total += n * (mean_q - draw) ** 2
        errors.append((total / len(y)) ** 0.5)
    made = paper.calibration_interval(y, q, 1000, n_samples=4000, rng=7)
    noise = 5 * np.std(errors) / 4000**0.5
    assert made.value == pytest.approx(np.mean(errors), abs=noise)
    assert made.low == pytest.approx(np.mean(errors) - 1.96 * np.std(errors), abs=3 * noise)
    assert made.high == pytest.approx(np.mean(errors) + 1.96 * np.std(errors), abs=3 * noise)


def test_ties_do_not_depend_on_order():
    y, q = np.array([1, 0, 0, 1, 0, 1, 1]), np.array([0.5, 0.5, 0.5, 0.5, 0.2, 0.9, 0.9])
    errors = {
        round(paper.calibration_error(y[o], q[o], 2), 12)
        for o in (np.random.default_rng(i).permutation(7) for i in range(30))
    }
    assert len(errors) == 1


def test_bin_intervals_are_the_thesis_formula(skewed):
    bins = paper.adaptive_bins(*skewed, 5000)
    half = 1.96 * np.sqrt(bins.mean_true * (1 - bins.mean_true) / bins.n)
    assert bins.high - bins.mean_true == pytest.approx(half)
    assert bins.n.tolist() == [5000] * 5 + [8306]


def test_small_input_is_one_bin():
    assert paper.adaptive_bins([0, 1], [0.2, 0.4]).n.tolist() == [2]
    with pytest.raises(ValueError, match="lengths differ"):
        paper.calibration_error([0, 1], [0.2])
