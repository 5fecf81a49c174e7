"""The sketch's laws: every row counts once, order and partition never matter, merging is union."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure._validate import BadRow
from howsure.calibration import sketch as module
from howsure.calibration.sketch import Sketch, SketchBuilder, sketch_rows
from howsure.kernels import cells, cells_compiled

EXTREMES = [0.0, 5e-324, 1e-300, 2.0**-55, 2.0**-54, 0.5, np.nextafter(0.5, 1), np.nextafter(1, 0), 1.0]
probability = st.one_of(st.floats(0, 1), st.sampled_from(EXTREMES))
pairs = st.lists(st.tuples(st.integers(0, 1), probability), min_size=1, max_size=60)


def build(rows, weight=None, *, exact_limit=None, compiled=False, monkeypatch=None):
    if exact_limit is not None:
        monkeypatch.setattr(module, "EXACT_LIMIT", exact_limit)
    if compiled:
        monkeypatch.setattr(module, "COMPILE_FROM", 0)
    builder = SketchBuilder()
    y = np.array([r[0] for r in rows], np.uint8)
    q = np.array([r[1] for r in rows], np.float64)
    builder.add(y, q, None if weight is None else np.array(weight, np.int64))
    return builder.finish()


@pytest.mark.parametrize("limit", [100_000, 0], ids=["exact", "collapsed"])
@pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "numba"])
class TestLaws:
    @pytest.fixture(autouse=True)
    def _paths(self, limit, compiled):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "EXACT_LIMIT", limit)
            if compiled:
                patch.setattr(module, "COMPILE_FROM", 0)
            yield

    @given(rows=pairs, data=st.data())
    def test_order_never_matters(self, rows, data):
        assert build(rows) == build(data.draw(st.permutations(rows)))

    @given(rows=pairs, cut=st.integers(0, 60))
    def test_merge_is_union(self, rows, cut):
        first, second = rows[:cut], rows[cut:]
        assert build(first) + build(second) == build(rows)

    @given(rows=pairs)
    def test_doubled_rows_are_weight_two(self, rows):
        assert build(rows + rows) == build(rows, weight=[2] * len(rows))

    @given(rows=pairs)
    def test_rows_of_weight_zero_leave_no_trace(self, rows):
        assert build([*rows, (1, 0.123)], weight=[1] * len(rows) + [0]) == build(rows)

    @given(rows=pairs)
    def test_every_row_counts_once(self, rows):
        made = build(rows)
        assert made.n == len(rows)
        assert made.n_positive == sum(y for y, _ in rows)

    @given(rows=pairs)
    def test_sums_equal_a_plain_loop(self, rows):
        made = build(rows)
        assert made.sum_q.sum() == pytest.approx(sum(q for _, q in rows), rel=1e-12, abs=1e-16)
        assert made.sum_e.sum() == pytest.approx(sum(y - q for y, q in rows), abs=1e-12)
        assert made.sum_ee.sum() == pytest.approx(sum((y - q) ** 2 for y, q in rows), rel=1e-6)
        # A cell's variance is off by the rounding of v to 12 bits at most.

    @given(rows=pairs)
    def test_log_loss_equals_a_plain_loop(self, rows):
        likelihoods = [q if y else 1 - q for y, q in rows]
        # 1 - q of a tiny q rounds to 1; the sketch keeps it.
        expected = sum(-np.log(p) for p in likelihoods if p > 0)
        total, infinite = build(rows).log_loss
        assert infinite == sum(p == 0 for p in likelihoods)
        assert total == pytest.approx(expected, rel=2e-6, abs=1e-6)


def test_numpy_and_numba_make_the_same_bits(monkeypatch):
    rng = np.random.default_rng(1)
    q = np.concatenate([rng.beta(0.05, 0.5, 150_000), rng.integers(0, 101, 50_000) / 100, EXTREMES])
    y = (rng.random(len(q)) < q).astype(np.uint8)
    weight = rng.integers(0, 4, len(q))
    for w in (None, weight):
        monkeypatch.setattr(module, "LOADED_FROM", 1_000_000)
        plain = SketchBuilder(width=7)
        plain.add(y, q, w)
        monkeypatch.setattr(module, "COMPILE_FROM", 10_000)
        compiled = SketchBuilder(width=7)
        for part in np.array_split(np.arange(len(q)), 23):
            compiled.add(y[part], q[part], None if w is None else w[part])
        monkeypatch.undo()
        a, b = plain.finish(), compiled.finish()
        assert not a.exact
        assert a == b
        assert np.array_equal(a.widths, b.widths)


@pytest.mark.parametrize("shape", ["spread", "crowded"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("labels", [np.bool_, np.int16, np.uint32, np.int64])
def test_packed_sums_are_those_of_the_distinct_values(shape, kind, labels, monkeypatch):
    """A cell of the packed table takes more than 2^19 rows, which sets the sign of its count, and then is full."""
    rng = np.random.default_rng(5)
    if shape == "spread":
        q = np.concatenate([rng.beta(0.05, 0.5, 30_000), EXTREMES, np.nextafter(EXTREMES, 0.5), -np.zeros(1)])
    else:
        q = np.concatenate([rng.random(1000), np.full(1_300_000, 0.3), np.full(700_000, 2.0**-53), rng.random(1000)])
    q = q.astype(kind)
    y = (rng.random(len(q)) < np.maximum(q, 0.1)) | (q < 1e-10)
    monkeypatch.setattr(module, "EXACT_LIMIT", 0)
    monkeypatch.setattr(module, "COMPILE_FROM", 0)
    builder = SketchBuilder()
    for first in range(0, len(q), 1 << 17):  # uneven blocks at the end of each
        builder.add(y[first : first + (1 << 17) - 5].astype(labels), q[first : first + (1 << 17) - 5])
    taken = np.arange(len(q)) % (1 << 17) < (1 << 17) - 5
    wanted = Sketch(
        True, *cells.distinct(q[taken].astype(np.float64), y[taken].view(np.uint8), None), np.zeros((0, 2, 4), np.int64)
    ).collapsed()
    assert builder.finish() == wanted


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.uint32, np.int64, np.uint64])
def test_what_is_no_label_is_found_by_the_kernels_too(kind):
    """Also where only its upper bytes say so."""
    top = np.iinfo(kind).max
    for wrong in (2, top, top - 1, top & ~0xFF, *(-1, -256, np.iinfo(kind).min)[: 3 * (np.iinfo(kind).min < 0)]):
        builder = SketchBuilder(at_once=True)
        builder.add(np.zeros(5, kind), np.full(5, 0.5))
        with pytest.raises(BadRow, match=r"must be 0 or 1; got .* in index 1"):
            builder.add(np.array([0, wrong, 1], kind), np.full(3, 0.5))


def test_few_distinct_values_stay_exact_at_any_size(monkeypatch):
    monkeypatch.setattr(module, "COMPILE_FROM", 1000)
    rng = np.random.default_rng(2)
    q = rng.integers(0, 1001, 300_000) / 1000
    made = sketch_rows(rng.random(len(q)) < q, q)
    assert made.exact
    assert len(made.keys) == 1001


def test_collapsed_is_close_to_exact():
    rng = np.random.default_rng(3)
    q = rng.beta(0.3, 0.3, 80_000)
    y = rng.random(len(q)) < q**1.2
    exact = sketch_rows(y, q)
    rough = exact.collapsed()
    assert exact.exact
    assert not rough.exact
    n = len(q)
    assert abs(rough.sum_ee.sum() - exact.sum_ee.sum()) / n < 1e-12
    assert abs(rough.log_loss[0] - exact.log_loss[0]) / n < 1e-8


@given(st.lists(probability, min_size=1, max_size=50))
def test_cells_are_ordered_and_hold_their_rows(values):
    q = np.sort(np.array(values) + 0.0)
    cell, u = cells.cell_of(q)
    assert np.all(np.diff(cell) >= 0)
    base, scale, upper = cells.cell_bounds(cell)
    m = np.where(upper, 1 - q, q)
    back = base + u * scale
    assert np.all((back == m) | (cell == 1))
    assert np.array_equal(upper, q > 0.5)


def test_mirrored_probabilities_share_mirrored_cells():
    q = np.random.default_rng(4).random(1000) * 0.5
    q = 1.0 - (1.0 - q)  # so that 1 - q is exact
    low, _ = cells.cell_of(q)
    high, _ = cells.cell_of(1.0 - q)
    assert np.array_equal(high, np.where(q == 0.5, low, cells.N_CELLS - 1 - low))


def test_kernels_refuse_to_compile_twice():
    cells_compiled.compile_all()
    with pytest.raises(TypeError):
        cells_compiled.unpack(np.zeros((2, 2), np.float32), np.zeros((2, 4), np.float32))


def test_too_many_rows_in_a_cell_is_an_error():
    huge = np.zeros((1, 2, 4), np.int64)
    huge[0, 0, 0] = cells.MAX_ROWS_PER_CELL
    part = Sketch(False, np.array([7]), huge[:, :, 0], huge)
    with pytest.raises(ValueError, match="sketch the data in parts"):
        part + part
