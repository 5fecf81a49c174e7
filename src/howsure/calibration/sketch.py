"""The sketch: one small, mergeable table that every number and picture is computed from.

Up to `EXACT_LIMIT` distinct probabilities are kept as they are, each with its count of 0 and 1 labels. Beyond that
the sketch collapses onto the fixed cells of `howsure.kernels.cells`. Either way all that is stored is integers, so
`sketch(A) + sketch(B) == sketch(A + B)` to the bit, whatever the order of the rows or the number of threads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.errors import InputError
from howsure.kernels import cells as _cells
from howsure.kernels.cells import COUNT, HIGH, LOW, LOW_BITS, SQUARE, SQUARE_SHIFT, Floats, Ints, run_begins, sum_of

EXACT_LIMIT = 100_000
COMPILE_FROM = 1_000_000  # rows; below this NumPy is done before Numba would be loaded
LOADED_FROM = 100_000  # once it is loaded, it is faster from here

_HASH_SLOTS = 1 << 18
_HALF_PACKED = _cells.PACKED_ROWS // 2
_NO_WEIGHT = np.zeros(0, np.int64)
_ONE = int(np.float64(1.0).view(np.uint64))
_HERE = Origin()


def compile_from() -> int:
    """From how many rows on the compiled kernels are worth it. Both ways give the same bits."""
    loaded = "howsure.kernels.cells_compiled" in sys.modules
    return min(COMPILE_FROM, LOADED_FROM) if loaded else COMPILE_FROM


@dataclass(frozen=True)
class LabelSide:
    """The rows of one label, cell by cell: how many, their mean m = min(q, 1-q), and Σ(m - mean)²."""

    n: Ints
    mean: Floats
    spread: Floats


@dataclass(frozen=True)
class FixedCells:
    """The rows by fixed cell: where estimation bins may begin, and what they add up."""

    starts: Ints  # the sketch's first cell in each
    place: Floats  # half the rank of its rows, and half asin √q: from 0 to 1
    half: Ints  # 0, 1 or 2: below, at or above ½
    sums: Floats  # (4, k): rows, Σe, Σe² and Σq(1-q)


@dataclass(frozen=True)
class Sketch:
    """Counts and power sums of q by cell and label. Build one with `SketchBuilder` or merge two with `+`."""

    exact: bool
    keys: NDArray[Any]  # distinct q in order (float64) if exact, else cell numbers (int64)
    counts: Ints  # (k, 2): rows with label 0 and 1
    sums: Ints  # (k, 2, 4): the cells' integer sums; empty if exact
    log_tail: int = 0
    widths: Ints | None = None  # (K, 2, 3) table of equal-width bins, when asked for

    def __reduce__(self) -> tuple[Any, ...]:
        """Without what was computed from it, and with counts in no more bytes than they need."""
        counts = self.counts.astype(np.min_scalar_type(int(self.counts.max(initial=0))))
        return _unpickled, (self.exact, self.keys, counts, self.sums, self.log_tail, self.widths)

    # -- merging -------------------------------------------------------------------------------------------------

    def __add__(self, other: Sketch) -> Sketch:
        widths = None if self.widths is None or other.widths is None else self.widths + other.widths
        if self.exact and other.exact:
            q, counts = _cells.merge_keyed(
                np.concatenate([self.keys, other.keys]), np.concatenate([self.counts, other.counts])
            )
            return from_distinct(q, counts, widths)
        a, b = self.collapsed(), other.collapsed()
        keys, sums = _cells.merge_keyed(
            np.concatenate([a.keys, b.keys]), np.concatenate([a.sums, b.sums]).reshape(-1, 8)
        )
        return _from_cells(keys, sums.reshape(-1, 2, 4), a.log_tail + b.log_tail, widths)

    def collapsed(self) -> Sketch:
        """The same rows on the fixed cells."""
        if not self.exact:
            return self
        return _from_cells(*_cells.collapse(self.keys, self.counts), self.widths)

    def __eq__(self, other: object) -> bool:
        parts = ("exact", "log_tail", "keys", "counts", "sums")
        return isinstance(other, Sketch) and all(np.array_equal(getattr(self, p), getattr(other, p)) for p in parts)

    __hash__ = None  # type: ignore[assignment]

    # -- what the cells hold -------------------------------------------------------------------------------------

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @cached_property
    def n_positive(self) -> int:
        """Number of rows with label 1."""
        return int(self.counts[:, 1].sum())

    @cached_property
    def size(self) -> Ints:
        """Rows per cell."""
        return self.counts.sum(axis=1)

    @cached_property
    def ends(self) -> list[int]:
        """Rows up to and including each cell, as Python numbers for bisection."""
        return np.cumsum(self.size).tolist()

    @cached_property
    def upper(self) -> NDArray[np.bool_]:
        """Whether a cell lies above 1/2, where m = 1 - q."""
        return self.keys > 0.5 if self.exact else self.keys > _cells.HALF

    @cached_property
    def fixed_cell(self) -> Ints:
        """The fixed cell that each of the sketch's own cells belongs to: itself once collapsed."""
        return _cells.cell_of(self.keys)[0] if self.exact else self.keys

    @cached_property
    def sides(self) -> tuple[LabelSide, LabelSide]:
        """The rows with label 0 and with label 1."""
        if self.exact:
            m = np.where(self.upper, 1.0 - self.keys, self.keys)
            zero = np.zeros_like(m)
            return LabelSide(self.counts[:, 0], m, zero), LabelSide(self.counts[:, 1], m, zero)
        base, scale, _ = _cells.cell_bounds(self.keys)
        made = []
        for label in (0, 1):
            s = self.sums[:, label].astype(np.float64)
            n = np.maximum(s[:, COUNT], 1.0)
            offset = (s[:, HIGH] * (1 << LOW_BITS) + s[:, LOW]) / n  # mean u
            square = s[:, SQUARE] * 4.0**SQUARE_SHIFT / n
            spread = np.maximum(square - offset * offset, 0.0) * scale * scale * s[:, COUNT]
            made.append(LabelSide(self.counts[:, label], base + offset * scale, spread))
        return made[0], made[1]

    @cached_property
    def sum_m(self) -> Floats:
        """Σ m per cell."""
        zero, one = self.sides
        return zero.n * zero.mean + one.n * one.mean

    @cached_property
    def mean_m(self) -> Floats:
        """Mean m per cell."""
        if self.exact:  # not n m / n, which need not round to m
            return self.sides[0].mean
        return self.sum_m / np.maximum(self.size, 1)

    @cached_property
    def mean_q(self) -> Floats:
        """Mean probability per cell; the value itself while the sketch is exact."""
        if self.exact:
            return self.keys.astype(np.float64)
        return np.where(self.upper, 1.0 - self.mean_m, self.mean_m)

    @cached_property
    def sum_q(self) -> Floats:
        """Σ q per cell."""
        return np.where(self.upper, self.size - self.sum_m, self.sum_m)

    @cached_property
    def sum_e(self) -> Floats:
        """Σ (y - q) per cell, free of cancellation in both tails."""
        return np.where(self.upper, self.sum_m - self.counts[:, 0], self.counts[:, 1] - self.sum_m)

    @cached_property
    def spread_q(self) -> Floats:
        """Σ (q - mean q)² per cell; zero while the sketch is exact."""
        if self.exact:
            return np.zeros(len(self.keys))
        zero, one = self.sides
        between = np.maximum(self.size, 1)
        return zero.spread + one.spread + zero.n * one.n * (zero.mean - one.mean) ** 2 / between

    @cached_property
    def sum_ee(self) -> Floats:
        """Σ (y - q)² per cell, to the exactness of the power sums."""
        zero, one = self.sides
        near, far = _by_side(self.upper, zero, one)  # |e| = m where the label agrees with the side, else 1 - m
        return near.n * near.mean**2 + near.spread + far.n * (1.0 - far.mean) ** 2 + far.spread

    @cached_property
    def fixed(self) -> FixedCells:
        """The same rows by fixed cell."""
        starts = np.flatnonzero(run_begins(self.fixed_cell))
        # Σ q(1-q) inside a cell: n q̄(1-q̄) - Σ(q - q̄)².
        null = self.size * self.mean_m * (1.0 - self.mean_m) - self.spread_q
        sums = np.add.reduceat(np.stack([self.size.astype(np.float64), self.sum_e, self.sum_ee, null]), starts, axis=1)
        position = _cells.cell_position(self.fixed_cell[starts])
        rank = (np.cumsum(sums[0]) - 0.5 * sums[0]) / sums[0].sum()
        half = (position >= 0.5).astype(np.int64) + (position > 0.5)
        return FixedCells(starts, 0.5 * rank + np.arcsin(np.sqrt(position)) / np.pi, half, sums)

    def total(self, f: Callable[[Floats], Floats], second: Callable[[Floats], Floats]) -> float:
        """Σ f(q) over all rows, to second order inside a cell; `second` is f''."""
        q = self.mean_q
        return sum_of(self.size * f(q) + 0.5 * second(q) * self.spread_q)

    @cached_property
    def log_loss(self) -> tuple[float, int]:
        """Σ -log P(label) over the rows where it is finite, and the number of rows where it is not."""
        near, far = _by_side(self.upper, *self.sides)
        with np.errstate(divide="ignore", invalid="ignore"):
            # P(label) = 1 - m on the near side, m on the far side.
            near_loss = -np.log1p(-near.mean) * near.n + 0.5 * near.spread / (1.0 - near.mean) ** 2
            bend = np.where(far.spread > 0.0, 0.5 * far.spread / far.mean**2, 0.0)
            far_loss = -np.log(far.mean) * far.n + bend
        far_loss = np.where((far.mean == 0.0) | (far.n == 0), 0.0, far_loss)
        return sum_of(near_loss) + sum_of(far_loss) - self.log_tail / _cells.LOG_SCALE, self.n_impossible

    @cached_property
    def n_impossible(self) -> int:
        """Rows with the label that q = 0 or q = 1 had ruled out."""
        zero, one = (0.0, 1.0) if self.exact else (0, _cells.N_CELLS - 1)
        return int(self.counts[self.keys == zero, 1].sum() + self.counts[self.keys == one, 0].sum())


def _by_side(upper: NDArray[np.bool_], zero: LabelSide, one: LabelSide) -> tuple[LabelSide, LabelSide]:
    """Regroup label sides into rows whose label agrees with the cell's side of 1/2, and rows whose does not."""

    def pick(a: LabelSide, b: LabelSide) -> LabelSide:
        return LabelSide(*(np.where(upper, getattr(a, f), getattr(b, f)) for f in ("n", "mean", "spread")))

    return pick(one, zero), pick(zero, one)


def _unpickled(exact: bool, keys: NDArray[Any], counts: NDArray[Any], *more: Any) -> Sketch:
    return Sketch(exact, keys, counts.astype(np.int64), *more)


def from_distinct(q: Floats, counts: Ints, widths: Ints | None = None) -> Sketch:
    """A sketch of sorted distinct probabilities with (k, 2) label counts, collapsed if there are too many."""
    sketch = Sketch(True, q, counts, np.zeros((0, 2, 4), np.int64), 0, widths)
    return sketch if len(q) <= EXACT_LIMIT else sketch.collapsed()


def _from_cells(keys: Ints, sums: Ints, log_tail: int, widths: Ints | None) -> Sketch:
    sums[:, :, HIGH] += sums[:, :, LOW] >> LOW_BITS  # one way to write each sum
    sums[:, :, LOW] &= (1 << LOW_BITS) - 1
    counts = np.ascontiguousarray(sums[:, :, COUNT])
    if counts.size and counts.max() > _cells.MAX_ROWS_PER_CELL:
        raise InputError(
            f"one cell holds more than {_cells.MAX_ROWS_PER_CELL:,} rows, beyond what the sketch can add exactly; "
            "sketch the data in parts."
        )
    return Sketch(False, keys, counts, sums, log_tail, widths)


class SketchBuilder:
    """Takes rows in batches of any size, validates them and makes a `Sketch` in one pass and constant memory.

    The first million rows wait for NumPy; only when more arrive is Numba loaded. A builder serves one thread:
    give each its own and add the sketches.
    """

    def __init__(self, width: int | None = None, *, at_once: bool = False) -> None:
        """`width` asks for this number of equal-width bins too; `at_once` does not wait for a million rows."""
        self._width = width
        self._pending: list[tuple[Floats, NDArray[np.uint8], Ints | None]] = []
        self._n_pending = 0
        self._compiled = _CompiledState(width) if at_once else None

    def add(
        self,
        y: NDArray[Any],
        q: NDArray[Any],
        weight: NDArray[Any] | None = None,
        origin: Origin = _HERE,
        *,
        scale: str | None = None,
    ) -> None:
        """Take rows: labels 0/1, probabilities on a scale, repetition counts; `origin` says where they are from."""
        labels = None if self._compiled is None else self._compiled.narrowed(y)
        if labels is None:
            labels = _validate.labels(y, origin)
        w = None if weight is None else _validate.weights(weight, origin)
        if self._compiled is not None:
            self._compiled.add(q, labels, w, origin, scale)
            return
        self._pending.append((_validate.probabilities(q, origin, scale=scale), labels, w))
        self._n_pending += len(q)
        if self._n_pending > compile_from():
            self._compiled = _CompiledState(self._width)
            for batch in self._pending:
                self._compiled.add(*batch, _HERE, None)
            self._pending.clear()

    def finish(self) -> Sketch:
        """The sketch of all rows taken so far."""
        if self._compiled is not None:
            return self._compiled.finish()
        if not self._pending:
            q, counts = np.zeros(0), np.zeros((0, 2), np.int64)
        else:
            qs, ys, weights = zip(*self._pending, strict=True)
            weight = None if weights[0] is None else np.concatenate(weights)
            q, counts = _cells.distinct(np.concatenate(qs), np.concatenate(ys), weight)
        widths = None if self._width is None else _cells.fold_widths(q, counts, self._width)
        return from_distinct(q, counts, widths)


class _CompiledState:
    """The tables that the compiled kernels fill: distinct values first, fixed cells once there are too many."""

    def __init__(self, width: int | None) -> None:
        from howsure.kernels import cells_compiled

        cells_compiled.compile_all()
        self._kernels = cells_compiled
        self._slots: Ints | None = np.full(_HASH_SLOTS, cells_compiled.EMPTY)
        self._slot_counts = np.zeros((_HASH_SLOTS, 2), np.int64)
        self._used = 0
        self._table: Ints | None = None  # (2 N_CELLS, 4)
        self._packed = np.zeros((0, 2), np.int64)
        self._n_packed = 0  # no cell holds more of the packed rows
        self._log_tail = 0
        self._widths = None if width is None else np.zeros((width, 2, 3), np.int64)
        self._labels = np.zeros(0, np.uint8)

    def narrowed(self, y: NDArray[Any]) -> NDArray[np.uint8] | None:
        """Labels that are wider integers as bytes, good until the next call; None for what `_validate.labels` has to look at."""
        if y.dtype.kind not in "iu" or y.itemsize == 1 or not (y.flags.c_contiguous and y.dtype.isnative):
            return None
        if len(self._labels) < len(y):
            self._labels = np.empty(len(y), np.uint8)
        made = self._labels[: len(y)]
        return made if self._kernels.narrowed(y.view(f"i{y.itemsize}"), made) in (0, 1) else None

    def add(
        self, q: NDArray[Any], y: NDArray[np.uint8], weight: Ints | None, origin: Origin, scale: str | None
    ) -> None:
        w = _NO_WEIGHT if weight is None else weight
        quick = self._slots is None and self._widths is None and weight is None and scale in (None, "probability")
        if not (quick and q.dtype in (np.float64, np.float32) and q.flags.c_contiguous):
            q, quick = _validate.probabilities(q, origin, scale=scale), False
        if self._widths is not None:
            self._kernels.fill_widths(q, y, w, self._widths)
        if self._slots is not None:
            taken, self._used = self._kernels.count_distinct(
                q, y, w, self._slots, self._slot_counts, self._used, EXACT_LIMIT
            )
            if taken == len(q):
                return
            self._collapse()
            q, y, w = q[taken:], y[taken:], w[taken:]
        if weight is not None:
            self._log_tail += self._kernels.fill_weighted(q, y, w, self._table)
            return
        for first in range(0, len(q), _HALF_PACKED):
            part = slice(first, first + _HALF_PACKED)
            if self._n_packed + len(q[part]) > _cells.PACKED_ROWS:
                self._n_packed = int(self._packed[:, 1].view(np.uint64).max()) >> _cells.COUNT_SHIFT
                if self._n_packed > _HALF_PACKED:  # seldom: looking for the fullest cell is quicker than unpacking all
                    self._unpack()
            log_tail, largest = self._kernels.fill_packed(q[part], y[part], self._packed)
            if quick and largest > _ONE:  # the kernel saw what it passed over; -0.0 is the one that may stay
                _validate.probabilities(q, origin)
            self._log_tail += log_tail
            self._n_packed += len(q[part])

    def _unpack(self) -> None:
        self._kernels.unpack(self._packed, self._table)
        self._n_packed = 0

    def _distinct(self) -> tuple[Floats, Ints]:
        assert self._slots is not None
        full = np.flatnonzero(self._slots != self._kernels.EMPTY)
        q = self._slots[full].view(np.float64)
        order = np.argsort(q)
        return q[order], self._slot_counts[full][order]

    def _collapse(self) -> None:
        q, counts = self._distinct()
        self._slots, self._slot_counts = None, self._slot_counts[:0].copy()
        self._table = np.zeros((2 * _cells.N_CELLS, 4), np.int64)
        self._packed = np.zeros((2 * _cells.N_CELLS, 2), np.int64)
        for label in range(2):
            y, n = np.full(len(q), label, np.uint8), np.ascontiguousarray(counts[:, label])
            self._log_tail += self._kernels.fill_weighted(q, y, n, self._table)

    def finish(self) -> Sketch:
        if self._slots is not None:
            return from_distinct(*self._distinct(), self._widths)
        assert self._table is not None
        self._unpack()
        table = self._table.reshape(_cells.N_CELLS, 2, 4)
        occupied = np.flatnonzero(table[:, :, COUNT].any(axis=1))
        return _from_cells(occupied, table[occupied], self._log_tail, self._widths)


def sketch_rows(y: NDArray[Any], q: NDArray[Any]) -> Sketch:
    """The sketch of rows in memory, on this thread."""
    builder = SketchBuilder()
    builder.add(y, q)
    return builder.finish()
