"""The debiased error: unbiased, and equal to its definition."""

import numpy as np
import pytest

import howsure
from howsure.calibration.analysis import analyse
from howsure.calibration.estimation.estimate import BinSums, default_bins, estimation_bins, folded_mean
from howsure.calibration.sketch import sketch_rows


def test_squared_error_is_a_sum_over_pairs_of_rows(skewed):
    """T = N⁻¹ Σ_b Σ_{i≠j} e_i e_j / (n_b - 1): only products of different rows."""
    y, q = skewed[0][:300], skewed[1][:300]
    sketch = sketch_rows(y, q)
    bins = default_bins(sketch)
    edges = sketch.mean_q[bins.starts]
    e = y - q
    total = 0.0
    for b, low in enumerate(edges):
        high = edges[b + 1] if b + 1 < len(edges) else 2.0
        inside = e[(q >= low) & (q < high)]
        products = np.outer(inside, inside)
        total += (products.sum() - np.trace(products)) / (len(inside) - 1)
    assert bins.squared_error == pytest.approx(total / len(y), rel=1e-9)


@pytest.mark.simulation
def test_squared_error_is_unbiased():
    """Discrete q, so that the target does not depend on the bins: mean over 400 samples within 4 standard errors."""
    rng = np.random.default_rng(8)
    values = np.arange(1, 10) / 10
    truth = values**1.3
    target = np.mean((values - truth) ** 2)
    made = []
    for _ in range(400):
        k = rng.integers(0, 9, 800)
        made.append(default_bins(sketch_rows(rng.random(800) < truth[k], values[k])).squared_error)
    assert np.mean(made) == pytest.approx(target, abs=4 * np.std(made) / 20)


def test_every_bin_has_two_rows_and_one_side_of_a_half():
    rng = np.random.default_rng(9)
    q = np.concatenate([rng.beta(0.05, 0.5, 500), [0.5, 0.999]])
    sketch = sketch_rows(rng.random(len(q)) < q, q)
    bins = estimation_bins(sketch, 40)
    assert bins.n.min() >= 2
    assert bins.n.sum() == len(q)


def test_folded_mean_against_integration():
    from scipy.integrate import quad

    for d, v in [(0.0, 0.01), (0.3, 0.04), (-0.2, 0.5)]:
        bins = BinSums(
            np.array([0]),
            np.array([10.0]),
            np.array([10 * d]),
            np.array([9 * 10 * v + 10 * d * d]),
            np.array([0.2]),
        )
        sd = v**0.5
        density = lambda x: abs(x) * np.exp(-0.5 * ((x - d) / sd) ** 2) / (sd * (2 * np.pi) ** 0.5)  # noqa: B023, E731
        expected = quad(density, -8, 0)[0] + quad(density, 0, 8)[0]
        assert folded_mean(bins)[0] == pytest.approx(expected, rel=1e-6)


def test_collapsed_error_is_close_to_exact(skewed):
    exact = sketch_rows(*skewed)
    rough = exact.collapsed()
    a, b = default_bins(exact).squared_error ** 0.5, default_bins(rough).squared_error ** 0.5
    assert abs(a - b) < 1e-9
    assert abs(analyse(exact).ece.value - analyse(rough).ece.value) < 1e-9


def test_a_calibrated_model_is_not_charged_for_noise():
    rng = np.random.default_rng(10)
    q = rng.random(20_000)
    c = howsure.check(rng.random(20_000) < q, q)
    assert c.error.value < 0.01
    assert c.error.low == 0.0
