"""The debiased error: unbiased, and equal to its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import howsure
from howsure.calibration.analysis import analyse
from howsure.calibration.estimation.estimate import BinSums, estimation_bins, folded_mean, ladder
from howsure.calibration.sketch import sketch_rows


def test_squared_error_is_a_sum_over_pairs_of_rows(skewed):
    """T = N⁻¹ Σ_b Σ_{i≠j} e_i e_j / (n_b - 1): only products of different rows."""
    y, q = skewed[0][:300], skewed[1][:300]
    sketch = sketch_rows(y, q)
    bins = ladder(sketch).bins
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
        made.append(ladder(sketch_rows(rng.random(800) < truth[k], values[k])).bins.squared_error)
    assert np.mean(made) == pytest.approx(target, abs=4 * np.std(made) / 20)


def test_every_bin_has_two_rows_and_one_side_of_a_half():
    rng = np.random.default_rng(9)
    q = np.concatenate([rng.beta(0.05, 0.5, 500), [0.5, 0.999]])
    sketch = sketch_rows(rng.random(len(q)) < q, q)
    bins = estimation_bins(sketch, 40)
    assert bins.n.min() >= 2
    assert bins.n.sum() == len(q)


@given(st.lists(st.sampled_from([0.0, 0.01, 0.2, 0.3, 0.4999, 0.5, 0.6, 0.7, 0.99, 1.0]), min_size=2, max_size=14))
def test_single_rows_join_a_neighbour_wherever_they_are(values):
    q = np.array(values)
    for count in (10, 80):
        bins = estimation_bins(sketch_rows(q > 0.5, q), count)
        assert bins.n.min() >= 2
        assert bins.n.sum() == len(q)
        assert np.all(np.diff(bins.starts) > 0)
        assert bins.starts[0] == 0


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
        assert folded_mean(bins.gap, bins.variance / bins.n)[0] == pytest.approx(expected, rel=1e-6)


def test_collapsed_error_is_close_to_exact(skewed):
    exact = sketch_rows(*skewed)
    rough = exact.collapsed()
    a, b = ladder(exact).bins.squared_error ** 0.5, ladder(rough).bins.squared_error ** 0.5
    assert abs(a - b) < 1e-9
    assert abs(analyse(exact).ece.value - analyse(rough).ece.value) < 1e-9


def test_a_calibrated_model_is_not_charged_for_noise():
    rng = np.random.default_rng(10)
    q = rng.random(20_000)
    c = howsure.check(rng.random(20_000) < q, q)
    assert c.error.value < 0.01
    assert c.error.low == 0.0


HEAPS = np.array([0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0])


def test_heaps_have_bins_of_their_own():
    rng = np.random.default_rng(12)
    q = np.concatenate([np.repeat(HEAPS, 40), rng.random(200)])
    sketch = sketch_rows(rng.random(len(q)) < q, q)
    bins = estimation_bins(sketch, 10)
    first, after = bins.starts, np.append(bins.starts[1:], len(sketch.size))
    alone = sketch.mean_q[first[after - first == 1]]
    assert np.isin(HEAPS, alone).all()
    few = sketch_rows(np.arange(280) % 3 == 0, np.repeat(HEAPS, 40))
    assert ladder(few).resolution.is_full


def test_bins_of_the_mirror_image_are_the_mirror_image():
    """1 - q and 1 - y have the error of q and y."""
    rng = np.random.default_rng(13)
    for n in (60, 600, 6_000):
        q = np.where(rng.random(n) < 0.6, rng.choice(HEAPS, n), rng.integers(1, 1 << 20, n) / (1 << 20))
        y = rng.random(n) < q**1.5
        a, b = ladder(sketch_rows(y, q)), ladder(sketch_rows(~y, 1.0 - q))
        for here, there in zip(a.levels, b.levels, strict=True):
            assert here.n.tolist() == there.n[::-1].tolist()
            assert here.squared_error == pytest.approx(there.squared_error, abs=1e-12)


def test_every_level_only_parts_bins_of_the_level_before(skewed):
    made = ladder(sketch_rows(*skewed))
    assert len(made.levels) > 2
    for coarse, fine in zip(made.levels, made.levels[1:], strict=False):
        assert np.isin(coarse.starts, fine.starts).mean() > 0.98  # single rows may join another neighbour


def test_steps_and_fast_waves_are_seen_and_noise_is_not():
    rng = np.random.default_rng(14)
    q = rng.random(50_000)
    wave = sketch_rows(rng.random(50_000) < np.clip(q + 0.1 * np.sin(80 * np.pi * q), 0, 1), q)
    found = ladder(wave)
    assert found.chosen > found.planned
    theta = 0.1 / np.sqrt(2)
    assert found.levels[0].squared_error ** 0.5 < 0.5 * theta < 0.9 * theta < found.bins.squared_error**0.5
    finer = [ladder(sketch_rows(rng.random(2_000) < q[:2_000], q[:2_000])) for _ in range(200)]
    assert sum(x.chosen > x.planned for x in finer) <= 5


@pytest.mark.simulation
@pytest.mark.parametrize(("n", "steps"), [(1_000, 3), (5_000, 5)])
def test_intervals_cover_steps(n, steps):
    """200 samples: at least 92%, less 3 binomial standard errors; with bins of one resolution 66% and 52%."""
    rng = np.random.default_rng(15)
    hits = ece = 0
    for _ in range(200):
        q = rng.random(n)
        c = analyse(sketch_rows(rng.random(n) < (np.floor(steps * q) + 0.5) / steps, q))
        hits += c.error.low <= 1 / (steps * 12**0.5) <= c.error.high
        ece += c.ece.low <= 1 / (4 * steps) <= c.ece.high
    assert min(hits, ece) / 200 >= 0.92 - 3 * np.sqrt(0.92 * 0.08 / 200)
