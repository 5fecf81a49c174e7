"""Bins are unions of cells: by mass, by width, or isotonic."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import howsure
from howsure.calibration.curves.bins import _quantile, best_bin_size, clopper_pearson, equal_mass_starts, side_of
from howsure.calibration.sketch import sketch_rows


def test_five_rows_in_bins_of_two():
    made = howsure.check([0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5], bins=2)
    assert made.bins.n.tolist() == [2, 3]


@given(
    rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 12)), min_size=1, max_size=80),
    size=st.integers(1, 30),
)
def test_equal_mass_never_parts_ties_and_counts_every_row(rows, size):
    y, q = np.array([r[0] for r in rows]), np.array([r[1] for r in rows]) / 12
    b = howsure.check(y, q, bins=size).bins
    assert b.n.sum() == len(rows)
    assert np.all(b.to_prob[:-1] < b.from_prob[1:])
    assert np.all(b.n >= min(size, len(rows)))
    for i in range(len(b)):
        inside = (q >= b.from_prob[i]) & (q <= b.to_prob[i])
        assert inside.sum() == b.n[i]
        assert b.mean_true[i] == pytest.approx(y[inside].mean())
        assert b.mean_prob[i] == pytest.approx(q[inside].mean())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.integers(1, 40))
def test_equal_width_matches_exact_fractions(values, k):
    values = values + [i / k for i in range(k + 1)]
    b = howsure.check([0, 1] * (len(values) // 2) + [0] * (len(values) % 2), values, bins=f"width:{k}").bins
    # Edges are the floating-point numbers i / k, so that q = 0.29 falls into [0.29, 0.30).
    expected = [0] * k
    for v in values:
        expected[max(i for i in range(k) if v >= i / k)] += 1
    assert b.n.tolist() == [n for n in expected if n]
    assert Fraction(int(b.n.sum())) == len(values)


def test_equal_width_of_a_collapsed_sketch_is_exact():
    rng = np.random.default_rng(5)
    q = rng.beta(0.4, 0.4, 120_000)
    y = rng.random(len(q)) < q
    b = howsure.check(y, q, bins="width:10").bins
    index = np.minimum((q * 10).astype(int), 9)
    assert b.n.tolist() == np.bincount(index, minlength=10).tolist()
    assert b.mean_prob == pytest.approx(np.bincount(index, q) / b.n, rel=1e-12)
    assert b.mean_true == pytest.approx(np.bincount(index, y) / b.n, rel=1e-12)


def test_isotonic_bins_rise():
    rng = np.random.default_rng(6)
    q = rng.random(500)
    b = howsure.check(rng.random(500) < q, q, bins="isotonic").bins
    assert np.all(np.diff(b.mean_true) > 0)


def test_leave_one_out_risk_equals_leaving_each_row_out():
    rng = np.random.default_rng(7)
    q = np.sort(rng.random(60))
    y = (rng.random(60) < q).astype(float)
    risks = {}
    for wanted in range(1, 21):
        size = -(-60 // wanted)
        starts = list(range(0, 60, size))
        if 60 - starts[-1] < size and len(starts) > 1:
            starts.pop()
        total = 0.0
        for a, b in zip(starts, [*starts[1:], 60], strict=True):
            total += sum((y[i] - (y[a:b].sum() - y[i]) / (b - a - 1)) ** 2 for i in range(a, b))
        risks.setdefault(size, total)
    assert best_bin_size(sketch_rows(y, q)) == min(risks, key=risks.get)


@pytest.mark.parametrize("digits", [0, 1, 2, 9])
def test_bins_to_choose_from_never_part_ties(digits):
    """Whether rows are distinct, so that where bins end is known from their number, or share probabilities."""
    rng = np.random.default_rng(9)
    q = rng.random(97).round(digits)
    y = (rng.random(97) < q).astype(np.uint8)
    sketch = sketch_rows(y, q)
    assert (len(sketch.ends) == sketch.n) == (digits == 9)
    risks = {}
    for wanted in range(1, 21):
        size = -(-97 // wanted)
        cells = np.append(equal_mass_starts(sketch.ends, size), len(sketch.keys))
        total = 0.0
        for first, after in pairwise(cells.tolist()):
            n, k = sketch.counts[first:after].sum(), sketch.counts[first:after, 1].sum()
            total += k * (n - k) * n / (n - 1) ** 2 if n > 1 else np.inf
        risks.setdefault(size, total)
    assert best_bin_size(sketch) == min(risks, key=risks.get)


def test_clopper_pearson_published_values():
    # Newcombe (1998), table I: 81/263, 15/148, 0/20, 1/29; exact limits to four decimals.
    low, high = clopper_pearson(np.array([81, 15, 0, 1]), np.array([263, 148, 20, 29]), 0.95)
    assert np.round(low, 4).tolist() == [0.2527, 0.0578, 0.0, 0.0009]
    assert np.round(high, 4).tolist() == [0.3676, 0.1617, 0.1684, 0.1776]


@pytest.mark.parametrize("n", [2, 3, 10, 500])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99, 0.9999999])
def test_quantiles_are_numpys_bit_for_bit(n, level):
    values = np.random.default_rng(n).binomial(30, 0.3, (n, 7)) / np.arange(31.0, 38.0)
    for share in ((1 - level) / 2, 1 - (1 - level) / 2):
        assert (_quantile(np.sort(values, axis=0), share) == np.quantile(values, share, axis=0)).all()


@pytest.mark.parametrize("level", [0.9, 0.95, 0.9999])
def test_side_of_is_where_the_limits_lie(level):
    rng = np.random.default_rng(4)
    n = rng.integers(1, 60, 2000) * rng.choice([1.0, 0.73], 2000)
    k = np.floor(n * rng.random(2000) * 1.3).clip(0, n)
    p = rng.random(2000)
    p[:100] = 0.0
    p[100:200] = 1.0
    low, high = clopper_pearson(k, n, level)
    high[(k < n) & (p == 1.0)] = 0.5  # of 1 - 1e-17 nothing is left of the difference to 1
    assert np.array_equal(side_of(p, k, n, level), np.where(p > high, 1, np.where(p < low, -1, 0)))
