"""PIT values as counts, their bands and tests: against brute force, closed forms, scipy.stats and simulation."""

from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from howsure.calibration.forecasts import uniformity
from howsure.calibration.forecasts.analysis import analyse_pit
from howsure.calibration.forecasts.pit import CELLS, for_draws, for_levels, for_values
from howsure.calibration.forecasts.shift_spread import shift_and_spread
from howsure.engines.forecasts import sketch_forecasts
from howsure.kernels.pit import as_float, exact_sum, fair_crps, level_spans, mean_pinball, rank_spans

EVEN = np.arange(1, 100) * (CELLS // 100)
finite = st.floats(-1e6, 1e6, allow_nan=False)


def cells_of(pit):
    builder = for_values()
    builder.add_values(np.asarray(pit, float))
    return builder.finish().cells


def forecasts(n, s, seed, ties=False):
    rng = np.random.default_rng(seed)
    y, x = rng.normal(size=n), rng.normal(size=(n, s))
    return (np.round(y), np.round(x)) if ties else (y, x)


# Kernels


@pytest.mark.parametrize("ties", [False, True])
def test_ranks_by_counting_one_by_one(ties):
    y, x = forecasts(50, 7, 1, ties)
    for row, (first, last) in enumerate(zip(*rank_spans(y, x), strict=True)):
        below = sum(1 for v in x[row] if v < y[row])
        equal = sum(1 for v in x[row] if v == y[row])
        assert (first, last) == (below, below + equal + 1)


def test_level_spans_by_hand():
    q = np.array([[1.0, 2.0, 2.0, 3.0]])
    edges = for_levels(np.array([0.1, 0.4, 0.6, 0.8])).edges

    def span(y):
        first, last = level_spans(np.array([y]), q)
        return edges[first[0]], edges[last[0]]

    assert span(0.0) == (0.0, 0.1)  # below the lowest quantile only the gap is known
    assert span(1.5) == (0.1, 0.4)
    assert span(9.0) == (0.8, 1.0)
    assert span(2.0) == pytest.approx((0.25, 0.7))  # F jumps somewhere from below 0.4 to above 0.6
    assert span(3.0) == pytest.approx((0.7, 0.9))


def test_crps_by_its_definition():
    y, x = forecasts(30, 9, 2)
    s = x.shape[1]
    for row, got in enumerate(fair_crps(y, x)):
        pairs = sum(abs(a - b) for a in x[row] for b in x[row])
        assert got == pytest.approx(sum(abs(a - y[row]) for a in x[row]) / s - pairs / (2 * s * (s - 1)), abs=1e-12)


def test_crps_of_a_normal_in_closed_form():
    rng = np.random.default_rng(3)
    y = rng.normal(size=4000)
    closed = y * (2 * stats.norm.cdf(y) - 1) + 2 * stats.norm.pdf(y) - 1 / sqrt(np.pi)
    for s in (2, 5, 50):  # unbiased, however few the draws
        gap = fair_crps(y, rng.normal(size=(4000, s))) - closed
        assert abs(gap.mean()) < 4 * gap.std() / sqrt(4000)


def test_pinball_by_its_definition_and_towards_the_crps():
    y, _ = forecasts(20, 2, 4)
    levels = np.array([0.1, 0.5, 0.9])
    q = np.tile(stats.norm.ppf(levels), (20, 1))
    for row, got in enumerate(mean_pinball(y, q, levels)):
        loss = [
            t * (y[row] - v) if y[row] >= v else (1 - t) * (v - y[row]) for t, v in zip(levels, q[row], strict=True)
        ]
        assert got == pytest.approx(2 * sum(loss) / 3, abs=1e-12)
    many = (np.arange(4000) + 0.5) / 4000
    closed = y * (2 * stats.norm.cdf(y) - 1) + 2 * stats.norm.pdf(y) - 1 / sqrt(np.pi)
    assert mean_pinball(y, np.tile(stats.norm.ppf(many), (20, 1)), many) == pytest.approx(closed, abs=1e-3)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=50))
def test_exact_sums_are_those_of_fractions(values):
    from fractions import Fraction

    x = np.array(values)
    expected = sum(Fraction(v) for v in values)
    assert as_float(exact_sum(x)) == float(expected)
    assert exact_sum(x) == sum(exact_sum(x[i : i + 1]) for i in range(len(x)))


# The sketch


@given(st.integers(0, 2**32), st.integers(2, 40), st.booleans(), st.integers(1, 60))
def test_merge_is_union_and_order_does_not_matter(seed, s, ties, n):
    y, x = forecasts(n, s, seed, ties)
    whole = sketch_forecasts(y, x, None)
    order = np.random.default_rng(seed).permutation(n)
    cut = n // 3
    parts = sketch_forecasts(y[:cut], x[:cut], None) + sketch_forecasts(y[cut:], x[cut:], None)
    for other in (parts, sketch_forecasts(y[order], x[order], None)):
        for field in ("cells", "spans", "counts"):
            np.testing.assert_array_equal(getattr(other, field), getattr(whole, field))
        assert other.score_units == whole.score_units
        rng = np.random.default_rng(1)
        np.testing.assert_array_equal(other.placed(rng), whole.placed(np.random.default_rng(1)))


def test_sketches_of_different_detail_do_not_add():
    with pytest.raises(ValueError, match="different edges"):
        for_draws(3).finish() + for_draws(4).finish()


@given(st.integers(0, 2**32), st.integers(2, 60), st.booleans(), st.integers(1, 200))
def test_every_row_is_placed_once_inside_its_span(seed, s, ties, n):
    y, x = forecasts(n, s, seed, ties)
    sketch = sketch_forecasts(y, x, None)
    placed = sketch.placed(np.random.default_rng(0))
    assert placed.sum() == n == sketch.n
    below = np.append(0, np.cumsum(placed))
    for k, edge in enumerate(np.arange(s + 2) / (s + 1)):  # the share below an edge is known up to ties across it
        least, most = sketch.counts[sketch.spans[:, 1] <= k].sum(), sketch.counts[sketch.spans[:, 0] < k].sum()
        at = edge * CELLS
        assert below[int(np.floor(at))] <= most
        assert below[int(np.ceil(at))] >= least


def test_many_rows_in_a_span_are_spread_evenly():
    builder = for_draws(2)
    for _ in range(3):
        builder.add_spans(np.array([0, 1, 2] * 400_000), np.array([1, 2, 3] * 400_000), np.zeros(1_200_000))
    placed = builder.finish().placed(np.random.default_rng(0))
    assert placed.sum() == 3_600_000
    assert stats.chisquare(np.add.reduceat(placed, np.arange(0, CELLS, 50))).pvalue > 0.001


@given(st.lists(finite, min_size=1, max_size=30), st.integers(2, 9), st.integers(0, 99))
def test_numbers_are_finite_and_in_range(values, s, seed):
    y = np.array(values)
    x = np.random.default_rng(seed).choice(np.append(y, [0.0, 1.0]), (len(y), s))
    c = analyse_pit(
        sketch_forecasts(y, x, None), "draws", confidence_level=0.9, rng=np.random.default_rng(seed)
    ).to_dict()

    def walk(value):
        if isinstance(value, dict):
            for v in value.values():
                walk(v)
        elif isinstance(value, list):
            for v in value:
                walk(v)
        elif isinstance(value, float):
            assert np.isfinite(value)

    walk(c)
    assert 0 <= c["mean_pit"] <= 1
    assert all(0 <= t["p_value"] <= 1 for t in c["tests"])
    assert sum(b["n"] for b in c["histogram"]) == len(y)
    assert c["verdict"]


# Uniformity


def inside_by_enumeration(n, points, gamma):
    """Every way to put n values into the gaps, with its multinomial probability."""
    low, high = uniformity.binomial_limits(n, points, gamma)
    widths = np.diff(np.concatenate([[0], points, [CELLS]])) / CELLS

    def ways(left, gaps):
        if gaps == 1:
            yield (left,)
            return
        for k in range(left + 1):
            for rest in ways(left - k, gaps - 1):
                yield (k, *rest)

    total = 0.0
    for counts in ways(n, len(widths)):
        below = np.cumsum(counts)[:-1]
        if np.all((below >= low) & (below <= high)):
            probability, left = 1.0, n
            for k, width in zip(counts, widths, strict=True):
                probability *= comb(left, k) * width**k
                left -= k
            total += probability
    return total


@pytest.mark.parametrize("points", [[20_000], [4_000, 30_000], [2_000, 10_000, 20_000, 36_000]])
@pytest.mark.parametrize("gamma", [0.3, 0.05, 0.01])
def test_probability_inside_the_band_by_enumeration(points, gamma):
    at = np.array(points)
    for n in (1, 2, 9):
        assert uniformity._inside(n, at, gamma) == pytest.approx(inside_by_enumeration(n, at, gamma), abs=1e-12)


@pytest.mark.parametrize("n", [1, 7, 100, 3000])
def test_limits_are_binomial_quantiles(n):
    # Not a round number: where a tail is exactly γ/2 the two conventions differ.
    low, high = uniformity.binomial_limits(n, EVEN, 0.0213)
    np.testing.assert_array_equal(low, stats.binom.ppf(0.01065, n, EVEN / CELLS))
    np.testing.assert_array_equal(high, stats.binom.isf(0.01065, n, EVEN / CELLS))


@pytest.mark.parametrize("n", [3, 50, 2000])
def test_leaving_the_band_and_a_small_p_are_the_same(n):
    rng = np.random.default_rng(5)
    for power in (1.0, 1.0, 1.1, 1.3, 2.0):
        cells = cells_of(rng.random(n) ** power)
        outside = uniformity.ecdf_difference(cells, EVEN, 0.9).is_outside.any()
        assert outside == (uniformity.band_test(cells, EVEN).p_value <= 0.1 + 1e-4)


def test_level_has_converged_where_it_is_no_longer_computed():
    gamma = uniformity.simultaneous_level(uniformity.EXACT_ROWS, tuple(EVEN.tolist()), 0.95)
    assert uniformity._inside(3_000_000, EVEN, gamma) == pytest.approx(0.95, abs=5e-4)


@pytest.mark.parametrize("n", [20, 300, 20_000])
def test_kolmogorov_smirnov_is_scipys(n):
    for power in (1.0, 1.05, 1.2):
        u = np.random.default_rng(n).random(n) ** power
        got, expected = uniformity.kolmogorov_smirnov(cells_of(u)), stats.kstest(u, "uniform", method="exact")
        # The distance is taken at the ends of the cells: too small by one row or one cell at most.
        assert 0 <= expected.statistic - got.statistic < 1 / n + 1 / CELLS
        if n > 20:
            assert got.p_value == pytest.approx(expected.pvalue, abs=0.03, rel=0.1)


def test_moments_are_those_of_the_values():
    u = np.random.default_rng(6).random(5000) ** 1.2
    mean, variance = uniformity.moment_tests(cells_of(u))
    assert mean.statistic == pytest.approx((u.mean() - 0.5) * sqrt(12 * 5000), abs=5e-3)
    assert variance.statistic == pytest.approx((np.mean((u - 0.5) ** 2) - 1 / 12) * sqrt(180 * 5000), abs=5e-3)
    assert mean.p_value == pytest.approx(2 * stats.norm.sf(abs(mean.statistic)))


def test_shift_and_spread_are_those_of_w_when_all_is_known():
    w = np.random.default_rng(6).normal(0.3, 1.2, 20_000)
    shift, spread = shift_and_spread(cells_of(stats.norm.cdf(w)), EVEN, None, 0.95)
    assert shift.value == pytest.approx(w.mean(), abs=0.01)  # less is known at 99 points
    assert spread.value == pytest.approx(w.std(), rel=0.01)
    assert (shift.high - shift.low) == pytest.approx(2 * 1.96 * 1.2 / sqrt(20_000), rel=0.1)


@pytest.mark.parametrize("s", [2, 9, 99, 999])
@pytest.mark.parametrize(("mu", "sd"), [(0.0, 1.0), (0.0, 2.0), (0.5, 0.7), (1.0, 1.0)])
def test_the_number_of_draws_does_not_bias_shift_and_spread(s, mu, sd):
    rng = np.random.default_rng(9)
    n = 200_000
    rank = rng.binomial(s, stats.norm.cdf(rng.normal(mu, sd, n)))
    builder = for_draws(s)
    builder.add_spans(rank, rank + 1, np.zeros(n))
    c = analyse_pit(builder.finish(), "draws", confidence_level=0.9999, rng=rng)
    assert c.shift.low <= mu <= c.shift.high
    assert c.spread.low <= sd <= c.spread.high


def test_a_fit_that_runs_away_has_no_interval():
    shift, spread = shift_and_spread(cells_of(np.full(50, 0.9999)), EVEN, None, 0.95)
    assert shift.low is None
    assert spread.low is None
    assert np.isfinite([shift.value, spread.value]).all()


# Simulations


def simulated(n, s, sd, bias, repeats, seed, kind="draws"):
    """`repeats` analyses of n forecasts N(m + bias, sd²) where y is N(m, 1)."""
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        y = rng.normal(size=n)
        if kind == "draws":
            sketch = sketch_forecasts(y, rng.normal(bias, sd, (n, s)), None)
        else:
            levels = np.arange(1, s + 1) / (s + 1)
            sketch = sketch_forecasts(y, np.tile(stats.norm.ppf(levels, bias, sd), (n, 1)), levels)
        yield analyse_pit(sketch, kind, confidence_level=0.95, rng=rng)


@pytest.mark.simulation
@pytest.mark.parametrize(("kind", "n", "s"), [("draws", 400, 19), ("draws", 100, 150), ("quantiles", 1000, 9)])
def test_calibrated_forecasts_stay_inside_the_band(kind, n, s):
    repeats = 400
    made = list(simulated(n, s, 1.0, 0.0, repeats, 7, kind))
    # 0.95 less three standard errors: 0.95 - 3 √(.95 · .05/400) = 0.917; bands that hold in 86% fail with probability 0.999.
    tolerance = 3 * sqrt(0.95 * 0.05 / repeats)
    assert np.mean([not c.ecdf.is_outside.any() for c in made]) >= 0.95 - tolerance
    assert np.mean([c.is_calibrated for c in made]) >= 0.95 - tolerance
    assert np.mean([c.spread.low <= 1 <= c.spread.high for c in made]) >= 0.94 - tolerance
    assert np.mean([c.shift.low <= 0 <= c.shift.high for c in made]) >= 0.95 - tolerance


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("sd", "bias", "width", "direction"),
    [
        (0.7, 0.0, "overconfident", None),
        (1.5, 0.0, "underconfident", None),
        (1.0, 0.4, None, "too high"),
        (1.0, -0.4, None, "too low"),
        (0.7, 0.5, "overconfident", "too high"),
    ],
)
def test_shapes_are_told_apart(sd, bias, width, direction):
    made = list(simulated(500, 99, sd, bias, 60, 8))
    # At n = 500 the power is above 0.99, and a word that does not belong is said in 5% of runs: 60 runs, three standard
    # errors of either.
    assert np.mean([not c.is_calibrated for c in made]) >= 0.95
    assert np.mean([c.width == width for c in made]) >= 0.95 - 3 * sqrt(0.95 * 0.05 / 60)
    assert np.mean([c.direction == direction for c in made]) >= 0.95 - 3 * sqrt(0.95 * 0.05 / 60)
    said = made[0].verdict
    assert ("too narrow (overconfident)" in said) == (width == "overconfident")
    assert ("too wide (underconfident)" in said) == (width == "underconfident")
    assert ("y tends to be below" in said) == (direction == "too high")
