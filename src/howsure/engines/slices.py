"""Slices: one sketch per value of a column, filled together in one pass, and repartitioned by slice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure.calibration.result import FoundSlice
from howsure.calibration.sketch import EXACT_LIMIT, Sketch, SketchBuilder, from_distinct
from howsure.engines.items import Items
from howsure.engines.rows import Chunk, Keying
from howsure.engines.slice_analysis import Analysis
from howsure.engines.tables import as_arrow, as_numpy, bytes_array, text_array
from howsure.kernels.cells import Floats, Ints

MISSING = "(missing value)"
STEP = 250_000  # rows taken at a time
COMPACT_FROM = 1_000_000  # pending rows
FLUSH_FROM = 1_000_000  # entries of slices held before they go to their keys
LARGE_FROM, MOST_LARGE = 10_000, 64  # pending rows of a slice that gets a table of its own; and how many may
TABLE = 6 << 20  # bytes of such a table
_FLAT = np.zeros((0, 2, 4), np.int64)
EMPTY = Sketch(True, np.zeros(0), np.zeros((0, 2), np.int64), _FLAT)


def in_order(names: Iterable[str]) -> list[str]:
    """Numbers by size, anything else by name."""
    try:
        return sorted(names, key=lambda n: (float(n), n))
    except ValueError:
        return sorted(names)


class SliceNames:
    """Numbers the values of a column in order of appearance."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def codes(self, values: pa.Array) -> Ints:
        """The number of each row's value."""
        encoded = values.dictionary_encode(null_encoding="encode")
        local = [MISSING if v is None else str(v) for v in encoded.dictionary.to_pylist()]
        numbers = np.array([self.index.setdefault(v, len(self.index)) for v in local], np.int64)
        return numbers[as_numpy(encoded.indices)]

    @property
    def names(self) -> list[str]:
        """The values in order of their number."""
        return list(self.index)


def _in_order(codes: Ints, values: Floats) -> Ints:
    """The order by code, then by value: the values by a vectorised sort, the codes by stable ones of 16 bits, which count."""
    order: Ints = np.argsort(values)
    for shift in range(0, int(codes.max(initial=0)).bit_length(), 16):
        digits = (codes[order] >> shift).astype(np.uint16)
        order = order[np.argsort(digits, kind="stable")]
    return order


Parts = tuple[Ints, Floats, Ints, dict[int, Sketch]]  # slice, value and counts, in that order; and collapsed sketches


def _nothing() -> Parts:
    return np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 2), np.int64), {}


class SlicedSketchBuilder:
    """A table keyed by (slice, q), compacted as it grows; a slice with too many values moves to fixed cells.

    Rows of the largest slices go to builders of their own, which need no sort, as soon as a million rows have come. No loop
    over rows: memory is one entry per distinct (slice, q), at most 100,000 a slice or 55,000 cells once collapsed.
    """

    def __init__(self, room: int = MOST_LARGE * TABLE) -> None:
        """`room` is how many bytes the tables of large slices may take."""
        self._most_large = min(MOST_LARGE, room // TABLE)
        self._hold(_nothing())
        self._large: list[tuple[int, SketchBuilder]] = []
        self._place = np.zeros(0, np.uint8)  # of each slice: 0, or one more than its place among the large ones

    def _hold(self, parts: Parts) -> None:
        """Of what is pending, these parts alone."""
        codes, values, counts, self._cells = parts
        self._slices, self._values, self._counts = [codes], [values], [counts]
        self._pending = self._compacted = len(codes)

    @property
    def size(self) -> int:
        """Entries held, about, but for the large slices."""
        return self._pending + sum(len(s.keys) for s in self._cells.values())

    def add(self, codes: Ints, y: NDArray[np.uint8], q: Floats, weight: Ints | None = None) -> None:
        """Take rows with their slice numbers."""
        if self._large:
            place = np.append(self._place, np.zeros(int(codes.max(initial=0)) + 1, np.uint8))[codes]
            order = np.argsort(place, kind="stable")
            parts = np.split(order, np.cumsum(np.bincount(place, minlength=len(self._large) + 1))[:-1])
            for (_, builder), rows in zip(self._large, parts[1:], strict=True):
                if len(rows):
                    builder.add(y[rows], q[rows], None if weight is None else weight[rows])
            rest = parts[0]
            codes, y, q, weight = codes[rest], y[rest], q[rest], None if weight is None else weight[rest]
        w = np.ones(len(q), np.int64) if weight is None else weight
        counts = np.zeros((len(q), 2), np.int64)
        counts[np.arange(len(q)), y] = w
        if self.add_counts(codes, q + 0.0, counts):
            self._set_apart()

    def add_sketch(self, code: int, sketch: Sketch) -> None:
        """Take a collapsed sketch of a slice."""
        before = self._cells.get(code)
        self._cells[code] = sketch if before is None else before + sketch

    def add_counts(self, codes: Ints, q: Floats, counts: Ints) -> bool:
        """Take values with (k, 2) counts of labels 0 and 1, and their slice numbers; says whether it compacted them."""
        self._slices.append(codes)
        self._values.append(q)
        self._counts.append(counts)
        self._pending += len(q)
        due = self._pending > max(COMPACT_FROM, 2 * self._compacted)
        if due:
            self._compact()
        return due

    def _set_apart(self) -> None:
        """Give the slices with most rows builders of their own."""
        codes, values, counts = self._slices[0], self._values[0], self._counts[0]
        rows = np.bincount(codes, weights=counts.sum(axis=1), minlength=max(self._cells, default=-1) + 1)
        for code, sketch in self._cells.items():
            rows[code] = sketch.n
        rows[[code for code, _ in self._large if code < len(rows)]] = 0
        chosen = np.argsort(-rows, kind="stable")[: self._most_large - len(self._large)]
        chosen = chosen[rows[chosen] >= LARGE_FROM]
        self._place = np.append(self._place, np.zeros(max(0, len(rows) - len(self._place)), np.uint8))
        first, after = np.searchsorted(codes, chosen), np.searchsorted(codes, chosen, side="right")
        stay = np.ones(len(codes), bool)
        for code, a, b in zip(chosen.tolist(), first.tolist(), after.tolist(), strict=True):
            builder = SketchBuilder(at_once=True)
            for label in range(2):
                there = a + np.flatnonzero(counts[a:b, label])
                builder.add(np.full(len(there), label, np.uint8), values[there], counts[there, label])
            self._large.append((code, builder))
            self._place[code] = len(self._large)
            stay[a:b] = False
        self._hold((codes[stay], values[stay], counts[stay], self._cells))

    def _compact(self) -> None:
        codes, values = np.concatenate(self._slices), np.concatenate(self._values)
        counts = np.concatenate(self._counts)
        order = _in_order(codes, values)
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
        self._hold((codes[stay], values[stay], counts[stay], self._cells))

    def parts(self) -> Parts:
        """Slices still exact as (slice, value, counts) in that order, and the sketches of the others."""
        for code, builder in self._large:
            sketch = builder.finish()
            if sketch.exact:
                self.add_counts(np.full(len(sketch.keys), code), sketch.keys, sketch.counts)
            else:
                self.add_sketch(code, sketch)
        self._large, self._place = [], np.zeros(0, np.uint8)
        return self.taken()

    def taken(self) -> Parts:
        """The same but for the large slices, which stay; the builder then holds no others."""
        self._compact()
        found = self._slices[0], self._values[0], self._counts[0], self._cells
        self._hold(_nothing())
        return found

    def renumbered(self, names: SliceNames) -> SliceNames:
        """The names of the large slices alone, numbered again; nothing else may be pending. All names would fill the memory."""
        listed = names.names
        kept = SliceNames()
        for code, _ in self._large:
            kept.index[listed[code]] = len(kept.index)
        self._large = [(i, builder) for i, (_, builder) in enumerate(self._large)]
        self._place = np.arange(1, len(self._large) + 1).astype(np.uint8)
        return kept


def sketches(parts: Parts) -> Iterator[tuple[int, Sketch]]:
    """The sketch of each slice, one after another."""
    codes, values, counts, cells = parts
    yield from cells.items()
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    for a, b in zip(first, [*first[1:], len(codes)][: len(first)], strict=True):
        yield int(codes[a]), from_distinct(values[a:b], counts[a:b])


# -- slices: a record is a part of the sketch of one slice ---------------------------------------------------------

_RECORD = pa.schema(
    [
        ("key", pa.uint64()),
        ("slice", pa.string()),
        ("exact", pa.bool_()),
        ("keys", pa.binary()),
        ("counts", pa.binary()),  # of labels 0 and 1; of a collapsed sketch all sums of its cells
        ("log_tail", pa.string()),  # a whole number of any size
    ]
)


@dataclass(frozen=True, slots=True)
class SliceKeying(Keying):
    """Repartitions the sketches of a piece's slices by slice; `room` as for their builder."""

    items: Items
    room: int

    @property
    def schema(self) -> pa.Schema:
        return _RECORD

    def spread(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        builder, names = SlicedSketchBuilder(self.room), SliceNames()
        for chunk in chunks:
            batch = self.items.batch(chunk)
            y, q, weight = batch.ys[0], batch.qs[0], batch.weight
            by: pa.Array = batch.by
            for first in range(0, len(q), STEP):
                part = slice(first, first + STEP)
                builder.add(names.codes(by[part]), y[part], q[part], None if weight is None else weight[part])
                if builder.size > FLUSH_FROM:
                    yield _records(builder.taken(), names)
                    names = builder.renumbered(names)
        yield _records(builder.parts(), names)


def _records(parts: Parts, names: SliceNames) -> pa.RecordBatch:
    codes, values, counts, cells = parts
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(first[1:], len(codes)) if len(first) else first
    exact = codes[first]
    listed = np.array(names.names, object)
    collapsed = list(cells.items())
    every = [*listed[exact].tolist(), *(listed[c] for c, _ in collapsed)]
    n_exact = len(exact)
    keys = _binary(values, first, ends, 8), bytes_array([s.keys.tobytes() for _, s in collapsed], pa.binary())
    sums = _binary(counts, first, ends, 16), bytes_array([s.sums.tobytes() for _, s in collapsed], pa.binary())
    return pa.RecordBatch.from_arrays(
        [
            as_arrow(np.array([slice_key(n) for n in every], np.uint64)),
            text_array(every),
            as_arrow(np.arange(len(every)) < n_exact),
            pa.concat_arrays(keys),
            pa.concat_arrays(sums),
            text_array([*["0"] * n_exact, *(str(s.log_tail) for _, s in collapsed)]),
        ],
        schema=_RECORD,
    )


def _binary(values: NDArray[Any], first: Ints, ends: Ints, width: int) -> pa.Array:
    """Runs of an array as binary values, without a loop."""
    offsets = np.append(first, ends[-1:] if len(ends) else 0).astype(np.int64) * width
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(values).tobytes())]
    return pa.BinaryArray.from_buffers(pa.binary(), len(first), buffers)


def slice_key(name: str) -> int:
    """The same 64-bit number for a name in every process."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class SlicesFound:
    """The sketch of all rows of some slices, and what each of them says."""

    whole: Sketch
    found: tuple[FoundSlice, ...]

    def __add__(self, other: SlicesFound) -> SlicesFound:
        return SlicesFound(self.whole + other.whole, self.found + other.found)


def analysed_sketches(analysis: Analysis, chunks: Iterator[Chunk]) -> SlicesFound:
    """Records of sketches to an analysis of each slice."""
    builder, names = SlicedSketchBuilder(), SliceNames()
    for chunk in chunks:
        codes, exact = names.codes(chunk["slice"]), as_numpy(chunk["exact"]).astype(bool)
        keep = as_arrow(exact)
        q, lengths = _flat(chunk["keys"].filter(keep), np.float64)
        counts, _ = _flat(chunk["counts"].filter(keep), np.int64)
        builder.add_counts(np.repeat(codes[exact], lengths), q, counts.reshape(-1, 2))
        for i in np.flatnonzero(~exact).tolist():
            cells = np.frombuffer(chunk["keys"][i].as_py(), np.int64)
            sums = np.frombuffer(chunk["counts"][i].as_py(), np.int64).reshape(-1, 2, 4)
            tail = int(chunk["log_tail"][i].as_py())
            made = Sketch(False, cells, np.ascontiguousarray(sums[:, :, 0]), sums, tail)
            builder.add_sketch(int(codes[i]), made)
    listed = names.names
    parts = _, q, counts, collapsed = builder.parts()
    order = np.argsort(q, kind="stable")
    starts = np.flatnonzero(np.diff(q[order], prepend=-1.0))
    whole = from_distinct(q[order][starts], np.add.reduceat(counts[order], starts, axis=0)) if len(q) else EMPTY
    whole = reduce(add, collapsed.values(), whole)
    named = ((listed[code], sketch) for code, sketch in sketches(parts))
    return SlicesFound(whole, tuple(analysis.found(named, len(listed))))


def _flat(column: pa.Array, kind: type) -> tuple[NDArray[Any], Ints]:
    """Binary values one after another, and how many numbers each held."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]] if len(column) else b""
    return np.frombuffer(data, kind), np.diff(offsets).astype(np.int64) // 8 if len(column) else np.zeros(0, np.int64)
