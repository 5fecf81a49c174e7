"""The gain of recalibration: empirical likelihood against its definition, and what acceptance leaves of a normal law."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

import howsure
from howsure.calibration.recalibration.gain import ENDS, FARTHEST, MeanGain, impossible_share, truncated_quantile


def ratio_by_definition(total, size, mean):
    """-2 log of the largest Π G w with Σ w = 1 and Σ w (total - mean size) = 0, by a general optimiser."""
    n, d = len(total), total - mean * size
    found = minimize(
        lambda w: -np.sum(np.log(n * w)),
        np.full(n, 1 / n),
        jac=lambda w: -1 / w,
        bounds=[(1e-9, 1)] * n,
        constraints=[
            {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(n)},
            {"type": "eq", "fun": lambda w: w @ d, "jac": lambda w: d},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return 2 * found.fun


@pytest.mark.parametrize("seed", range(4))
def test_the_signed_root_is_that_of_the_empirical_likelihood(seed):
    rng = np.random.default_rng(seed)
    values = rng.exponential(size=12) - 0.4
    made = MeanGain.of(values, None)
    for mean in (-0.1, 0.2, 0.6, 1.0):
        expected = ratio_by_definition(values, np.ones(12), mean)
        assert made.root(mean) ** 2 == pytest.approx(expected, rel=1e-4, abs=1e-6)
        assert np.sign(made.root(mean)) == np.sign(values.mean() - mean)


def test_groups_are_the_units():
    rng = np.random.default_rng(1)
    groups = np.array([0, 0, 1, 2, 2, 2, 3, 4, 4, 5, 6, 6, 7])
    values = rng.normal(size=13)
    total, size = np.bincount(groups, values), np.bincount(groups).astype(float)
    made = MeanGain.of(values, groups)
    assert made.mean == pytest.approx(values.mean())
    assert made.root(0.1) ** 2 == pytest.approx(ratio_by_definition(total, size, 0.1), rel=1e-4)


@given(st.lists(st.floats(-3, 30), min_size=5, max_size=40, unique=True), st.sampled_from([0.5, 0.9, 0.95]))
@settings(max_examples=60, deadline=None)
def test_limits_are_where_the_root_is_its_quantile(values, level):
    made = MeanGain.of(np.array(values), None)
    found = made.estimate(level)
    assert min(values) <= found.low <= found.value <= found.high <= max(values)
    assert made.root(found.low) == pytest.approx(-made.root(found.high), rel=1e-3)


def test_pooled_units_change_little():
    values = np.random.default_rng(2).standard_t(4, size=20 * ENDS)
    pooled, whole = MeanGain.of(values, None), MeanGain(np.sort(values), np.ones(len(values)), np.ones(len(values)))
    assert len(pooled.total) == 4 * ENDS
    assert pooled.count.sum() == len(values)
    assert pooled.mean == pytest.approx(whole.mean)
    for mean in (-0.02, 0.03):
        assert pooled.root(mean) == pytest.approx(whole.root(mean), rel=2e-3)


def test_many_rows_give_the_textbook_interval():
    values = np.random.default_rng(3).normal(0.3, 1, size=3000)
    half = norm.ppf(0.975) * values.std() / np.sqrt(3000)
    found = MeanGain.of(values, None).estimate(0.95)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.02 * half)


def test_a_few_large_gains_leave_few_degrees_of_freedom():
    values = np.full(100, -0.02)
    values[:2] = 30.0
    made = MeanGain.of(values, None)
    assert made.degrees == pytest.approx(2 * 100 / 47, rel=0.05)
    assert made.excess(0.95) > 0  # two impossible events among a hundred rows are found ...
    mean, se = values.mean(), values.std(ddof=1) / 10
    assert mean - 1.96 * se < 0  # ... where the usual interval would not
    values[1] = -0.02
    assert MeanGain.of(values, None).excess(0.95) < 0  # one is not enough: it says little about the mean


@pytest.mark.parametrize(("excess", "tail"), [(0.5, 0.025), (0.5, 0.5), (2.0, 0.025), (2.0, 0.5), (1.0, 0.975)])
def test_what_is_left_of_a_normal_law(excess, tail):
    r = truncated_quantile(excess, tail)
    if r < FARTHEST:
        draws = np.random.default_rng(4).normal(size=2_000_000)
        kept = draws[draws > r - excess]
        share = (kept > r).mean()
        assert share == pytest.approx(tail, abs=4 * np.sqrt(tail * (1 - tail) / len(kept)))
    else:
        assert norm.sf(FARTHEST) / norm.sf(FARTHEST - excess) >= tail


def test_beyond_doubt_acceptance_changes_nothing():
    made = MeanGain.of(np.random.default_rng(5).normal(1, 1, size=2000), None)
    plain, accepted = made.estimate(0.95), made.given_accepted(0.95)
    assert accepted.value == pytest.approx(plain.value, rel=1e-9)
    assert (accepted.low, accepted.high) == pytest.approx((plain.low, plain.high), rel=1e-9)


def test_a_gain_that_was_just_clear_is_reported_smaller():
    rng = np.random.default_rng(6)
    values = rng.normal(size=400)
    values += 2.1 / 20 - values.mean()
    made = MeanGain.of(values, None)
    assert 0 < made.excess(0.95) < 0.4
    found = made.given_accepted(0.95)
    assert 0 <= found.value < made.mean / 1.5
    assert found.low < 0 < found.high


@pytest.mark.simulation
def test_given_acceptance_limits_hold_and_the_value_is_in_the_middle():
    """250 accepted means of 60 skewed gains, true mean half a standard deviation of their noise beyond what is asked."""
    rng = np.random.default_rng(7)
    mean, n, seen, held, above, naive = 0.25, 60, 0, 0, 0, 0
    while seen < 250:
        made = MeanGain.of(rng.exponential(size=n) - 1 + mean, None)
        if made.excess(0.95) <= 0:
            continue
        found = made.given_accepted(0.95)
        seen += 1
        held += found.low <= mean <= found.high
        above += found.value > mean
        naive += made.mean > mean
    assert held / seen > 0.95 - 3 * np.sqrt(0.95 * 0.05 / seen)
    assert abs(above / seen - 0.5) < 0.13  # exact for normal gains; these are skewed
    assert naive / seen > 0.6


def test_impossible_events_are_found():
    """q of 0 or 1 that are wrong one time in ten: 100 rows, a true gain of more than half a nat a row."""
    rng = np.random.default_rng(8)
    accepted = seen = 0
    for _ in range(12):
        n = 100
        q = rng.random(n)
        p = q.copy()
        extreme = rng.random(n) < 0.3
        one = rng.random(n) < 0.5
        q = np.where(extreme, one * 1.0, q)
        p = np.where(extreme, np.where(one, 0.9, 0.1), p)
        y = rng.random(n) < p
        if (extreme & (y != one)).sum() < 2:
            continue
        seen += 1
        made = howsure.recalibrate(y, q)
        accepted += not made.declined
        assert made.declined or made.gain.value >= 0
    assert accepted / seen > 0.6


@pytest.mark.simulation
def test_given_refusal_limits_hold():
    """250 declined means of 60 skewed gains whose true mean is at what is asked: plain limits miss those that were unlucky."""
    rng = np.random.default_rng(8)
    mean, n, seen, held, plain = 0.3, 60, 0, 0, 0
    while seen < 250:
        made = MeanGain.of(rng.exponential(size=n) - 1 + mean, None)
        if made.excess(0.95) > 0:
            continue
        found, usual = made.given_declined(0.95), made.estimate(0.95)
        assert found.value == usual.value
        assert found.low < usual.low
        seen += 1
        held += found.low <= mean <= found.high
        plain += usual.low <= mean <= usual.high
    assert held / seen > 0.95 - 3 * np.sqrt(0.95 * 0.05 / seen)
    assert plain < held


def test_impossible_rows_that_were_all_right_may_still_be_wrong():
    assert impossible_share(30, 0, 100, 0.95) == pytest.approx(0.3 * (1 - 0.025 ** (1 / 30)))
    assert impossible_share(0, 0, 100, 0.95) == 0.0
    q = np.r_[np.zeros(20), np.ones(20), np.full(60, 0.5)]
    y = np.r_[np.zeros(20), np.ones(20), np.tile([0, 1], 30)].astype(int)
    found = howsure.recalibrate(y, q)
    assert found.declined
    assert found.gain.high == pytest.approx(30 * 0.4 * (1 - 0.025 ** (1 / 40)), abs=0.01)


def test_held_out_gains_of_noise_have_twice_the_variance_of_independent_rows():
    """A shift fitted to calibrated rows: what each fold gains depends on the other folds' noise, and theirs on its own."""
    rng = np.random.default_rng(9)
    e = rng.normal(size=(4_000, 5, 100))
    shift = (e.sum(axis=(1, 2), keepdims=True) - e.sum(axis=2, keepdims=True)) / 400
    gain = (shift * e - shift**2 / 2).reshape(4_000, 500)
    truth = -np.mean(shift**2, axis=(1, 2)) / 2
    ratio = np.var(gain.mean(axis=1) - truth) / np.mean(gain.var(axis=1) / 500)
    assert ratio == pytest.approx(2.0, abs=0.2)
