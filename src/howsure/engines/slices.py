"""One sketch per value of a column, filled together in one pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure.calibration.sketch import EXACT_LIMIT, Sketch, from_distinct
from howsure.engines.tables import as_numpy
from howsure.kernels.cells import Floats, Ints

MISSING = "(missing value)"
COMPACT_FROM = 1_000_000  # pending rows


class SliceNames:
    """Numbers the values of a column in order of appearance."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def codes(self, values: pa.Array) -> Ints:
        """The number of each row's value."""
        encoded = values.dictionary_encode(null_encoding="encode")
        local = [MISSING if v is None else str(v) for v in encoded.dictionary.to_pylist()]
        numbers = np.array([self.index.setdefault(v, len(self.index)) for v in local], np.int64)
        codes: Ints = numbers[as_numpy(encoded.indices)]
        return codes

    @property
    def names(self) -> list[str]:
        """The values in order of their number."""
        return list(self.index)


class SlicedSketchBuilder:
    """A table keyed by (slice, q), compacted as it grows; a slice with too many values moves to fixed cells.

    No loop over rows or slices: memory is one entry per distinct (slice, q), at most 100,000 a slice or 55,000
    cells once collapsed.
    """

    def __init__(self) -> None:
        self._slices: list[Ints] = []
        self._values: list[Floats] = []
        self._counts: list[Ints] = []
        self._pending = self._compacted = 0
        self._cells: dict[int, Sketch] = {}

    @property
    def size(self) -> int:
        """Entries held, about."""
        return self._pending + sum(len(s.keys) for s in self._cells.values())

    def add(self, codes: Ints, y: NDArray[np.uint8], q: Floats, weight: Ints | None = None) -> None:
        """Take rows with their slice numbers."""
        w = np.ones(len(q), np.int64) if weight is None else weight
        counts = np.zeros((len(q), 2), np.int64)
        counts[np.arange(len(q)), y] = w
        self.add_counts(codes, q + 0.0, counts)

    def add_sketch(self, code: int, sketch: Sketch) -> None:
        """Take a collapsed sketch of a slice."""
        before = self._cells.get(code)
        self._cells[code] = sketch if before is None else before + sketch

    def add_counts(self, codes: Ints, q: Floats, counts: Ints) -> None:
        """Take values with (k, 2) counts of labels 0 and 1, and their slice numbers."""
        self._slices.append(codes)
        self._values.append(q)
        self._counts.append(counts)
        self._pending += len(q)
        if self._pending > max(COMPACT_FROM, 2 * self._compacted):
            self._compact()

    def _compact(self) -> None:
        codes, values = np.concatenate(self._slices), np.concatenate(self._values)
        counts = np.concatenate(self._counts)
        order = np.lexsort((values, codes))
        codes, values, counts = codes[order], values[order], counts[order]
        new = np.ones(len(codes), bool)
        new[1:] = (codes[1:] != codes[:-1]) | (values[1:] != values[:-1])
        starts = np.flatnonzero(new)
        codes, values, counts = codes[starts], values[starts], np.add.reduceat(counts, starts, axis=0)
        kept = counts.any(axis=1)
        codes, values, counts = codes[kept], values[kept], counts[kept]
        first = np.flatnonzero(np.diff(codes, prepend=-1))
        sizes = np.diff(np.append(first, len(codes)))
        stay = np.ones(len(codes), bool)
        for a, size in zip(first, sizes, strict=True):
            code = int(codes[a])
            if size > EXACT_LIMIT or code in self._cells:
                part = slice(a, a + size)
                sketch = Sketch(True, values[part], counts[part], np.zeros((0, 2, 4), np.int64)).collapsed()
                self.add_sketch(code, sketch)
                stay[part] = False
        self._slices, self._values, self._counts = [codes[stay]], [values[stay]], [counts[stay]]
        self._pending = self._compacted = int(stay.sum())

    def finish(self) -> dict[int, Sketch]:
        """The sketch of each slice that has rows."""
        return dict(self.sketches())

    def sketches(self) -> Iterator[tuple[int, Sketch]]:
        """The same, one after another."""
        codes, values, counts, cells = self.parts()
        yield from cells.items()
        first = np.flatnonzero(np.diff(codes, prepend=-1))
        for a, b in zip(first, [*first[1:], len(codes)][: len(first)], strict=True):
            yield int(codes[a]), from_distinct(values[a:b], counts[a:b])

    def parts(self) -> tuple[Ints, Floats, Ints, dict[int, Sketch]]:
        """Slices still exact as (slice, value, counts) in that order, and the sketches of the others."""
        if not self._slices:
            return np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 2), np.int64), self._cells
        self._compact()
        return self._slices[0], self._values[0], self._counts[0], self._cells
