"""Curves without bins against direct O(n²) references, from the definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import howsure
from howsure.calibration.curves.smooth import (
    COLUMNS,
    KINDS,
    best_bandwidth,
    kernel,
    leave_one_out,
    log_odds,
    neighbours,
    points,
    smooth_curve,
)
from howsure.calibration.sketch import sketch_rows


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(38)
    q = rng.random(200).round(2)
    return (rng.random(200) < q**1.4).astype(float), q


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("scale", [np.asarray, log_odds])
def test_kernel_against_each_row(rows, linear, scale):
    y, q = rows
    x, size, positive = points(sketch_rows(y, q), 512)
    at = np.array([0.2, 0.5, 0.83])
    h = 0.1 if scale is np.asarray else 0.6
    made = kernel(scale(x), size, positive, scale(at), h, linear=linear)
    for a, p in zip(scale(at), made, strict=True):
        w = np.exp(-0.5 * ((scale(q) - a) / h) ** 2)
        if linear:
            design = np.column_stack([np.ones(200), scale(q) - a])
            expected = np.linalg.solve(design.T @ (w[:, None] * design), design.T @ (w * y))[0]
        else:
            expected = np.sum(w * y) / np.sum(w)
        assert p == pytest.approx(np.clip(expected, 0, 1), abs=1e-7)


@pytest.mark.parametrize("linear", [False, True])
def test_leave_one_out_is_leaving_each_row_out(rows, linear):
    y, q = rows[0][:60], rows[1][:60]
    x, size, positive = points(sketch_rows(y, q), 512)
    total = 0.0
    for i in range(60):
        keep = np.arange(60) != i
        w = np.exp(-0.5 * ((q[keep] - q[i]) / 0.15) ** 2)
        if linear:
            design = np.column_stack([np.ones(59), q[keep] - q[i]])
            p = np.linalg.solve(design.T @ (w[:, None] * design), design.T @ (w * y[keep]))[0]
        else:
            p = np.sum(w * y[keep]) / np.sum(w)
        total += (y[i] - p) ** 2
    assert leave_one_out(x, size, positive, 0.15, linear=linear) == pytest.approx(total / 60, rel=1e-6)
    assert best_bandwidth(x, size, positive, linear=linear) > 0


def test_neighbours_against_a_sort(rows):
    y, q = rows
    x, size, positive = points(sketch_rows(y, q), 512)
    at = np.array([0.111, 0.5, 0.9777])
    made = neighbours(x, size, positive, at, 30)
    for a, p in zip(at, made, strict=True):
        reach = np.sort(np.abs(q - a))[29]
        assert p == pytest.approx(y[np.abs(q - a) <= reach + 1e-12].mean())


def test_isotonic_is_monotone_and_pooled(rows):
    from sklearn.isotonic import IsotonicRegression

    y, q = rows
    curve = smooth_curve(sketch_rows(y, q), "isotonic")
    fit = IsotonicRegression().fit(q, y)
    seen = np.isin(curve.q.round(6), q)
    assert curve.p[seen] == pytest.approx(fit.predict(curve.q[seen]))
    assert np.all(np.diff(curve.p) >= 0)


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=2, max_size=40), st.sampled_from(KINDS))
def test_curves_are_finite_and_inside_their_bands(rows, kind):
    c = howsure.check([r[0] for r in rows], [r[1] for r in rows], curve=kind).curve
    for array in (getattr(c, name) for name in COLUMNS):
        assert np.all(np.isfinite(array))
        assert np.all((array >= 0) & (array <= 1))
    assert np.all((c.low <= c.p) & (c.p <= c.high))
    assert np.all((c.low_everywhere <= c.low) & (c.high <= c.high_everywhere))


@pytest.mark.parametrize("kind", KINDS)
def test_large_data_come_close_to_the_truth(kind):
    rng = np.random.default_rng(39)
    q = rng.random(150_000)
    curve = howsure.check(rng.random(len(q)) < q**1.5, q, curve=kind).curve
    inner = (curve.q > 0.05) & (curve.q < 0.95)
    assert np.abs(curve.p - curve.q**1.5)[inner].max() < 0.03


@pytest.mark.simulation
@pytest.mark.parametrize("kind", KINDS)
def test_bands_hold(kind):
    """40 samples of 1,000 with a bend: places inside one band, samples wholly inside the other (docs/evidence/theory.md has more)."""
    rng = np.random.default_rng(40)
    inside, everywhere = [], []
    for _ in range(40):
        q = rng.random(1000)
        c = smooth_curve(sketch_rows(rng.random(1000) < q**1.4, q), kind)
        inside.append(np.mean((c.low <= c.q**1.4) & (c.q**1.4 <= c.high)))
        everywhere.append(np.all((c.low_everywhere <= c.q**1.4) & (c.q**1.4 <= c.high_everywhere)))
    assert np.mean(inside) >= 0.92 - 3 * np.std(inside) / np.sqrt(40)
    assert np.mean(everywhere) >= 0.92 - 3 * np.sqrt(0.92 * 0.08 / 40)


def test_unknown_curve():
    with pytest.raises(howsure.InputError, match="unknown curve 'spline'; there are: kernel"):
        howsure.check([0, 1], [0.2, 0.8], curve="spline")


def test_a_heap_that_is_its_own_neighbourhood():
    rng = np.random.default_rng(2)
    q = np.append(rng.uniform(0.5, 0.9, 300), np.ones(400))
    curve = smooth_curve(sketch_rows((rng.random(700) < q).astype(np.uint8), q), "neighbours")
    assert all(np.isfinite(getattr(curve, c)).all() for c in COLUMNS)
