"""Rows to sketches on any engine: of all rows, and of each slice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure.calibration.analysis import analyse, filing
from howsure.calibration.groups.clusters import ClusterBuilder
from howsure.calibration.packed_slices import FoundSlice
from howsure.calibration.sketch import Sketch, SketchBuilder, from_distinct
from howsure.engines.pairs import Pairs, numbers, row_columns, row_records, row_schema
from howsure.engines.rows import Chunk, Keying, Work
from howsure.engines.slices import SlicedSketchBuilder, SliceNames
from howsure.engines.tables import as_arrow, as_numpy, bytes_array, text_array
from howsure.kernels.cells import Ints

FLUSH_FROM = 1_000_000  # entries of slices held before they go to their keys
_FLAT = np.zeros((0, 2, 4), np.int64)


@dataclass(frozen=True, slots=True)
class SketchWork(Work[Sketch]):
    """The sketch of all rows."""

    pairs: Pairs
    width: int | None = None

    def gather(self, chunks: Iterator[Chunk]) -> Sketch:
        builder = SketchBuilder(self.width)
        for chunk in chunks:
            weight = chunk.get("weight")
            builder.add(
                numbers(chunk["y"]),
                numbers(chunk["q"]),
                None if weight is None else numbers(weight),
                self.pairs.origin_of(chunk),
                logits=self.pairs.logits,
            )
        return builder.finish()


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
    """Sketches of the slices of a piece, brought together by slice."""

    pairs: Pairs

    @property
    def schema(self) -> pa.Schema:
        return _RECORD

    def spread(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        builder, names = SlicedSketchBuilder(), SliceNames()
        for chunk in chunks:
            batch = self.pairs.batch(chunk)
            builder.add(names.codes(batch.by), batch.y, batch.q, batch.weight)
            if builder.size > FLUSH_FROM:
                yield _records(builder, names)
                builder, names = SlicedSketchBuilder(), SliceNames()
        yield _records(builder, names)


def _records(builder: SlicedSketchBuilder, names: SliceNames) -> pa.RecordBatch:
    codes, values, counts, cells = builder.parts()
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


@dataclass(frozen=True, slots=True)
class SliceWork(Work[SlicesFound]):
    """Records of sketches to an analysis of each slice."""

    bins: int | str | None
    level: float

    def gather(self, chunks: Iterator[Chunk]) -> SlicesFound:
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
        _, q, counts, collapsed = builder.parts()
        order = np.argsort(q, kind="stable")
        starts = np.flatnonzero(np.diff(q[order], prepend=-1.0))
        whole = from_distinct(q[order][starts], np.add.reduceat(counts[order], starts, axis=0)) if len(q) else EMPTY
        whole = reduce(add, collapsed.values(), whole)
        found = []
        for code, sketch in builder.sketches():  # one at a time: what is computed from a sketch stays with it
            found.append(FoundSlice.of(listed[code], analyse(sketch, bins=self.bins, confidence_level=self.level)))
        return SlicesFound(whole, tuple(found))


EMPTY = Sketch(True, np.zeros(0), np.zeros((0, 2), np.int64), _FLAT)


def _flat(column: pa.Array, kind: type) -> tuple[NDArray[Any], Ints]:
    """Binary values one after another, and how many numbers each held."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]] if len(column) else b""
    return np.frombuffer(data, kind), np.diff(offsets).astype(np.int64) // 8 if len(column) else np.zeros(0, np.int64)


# -- slices of rows in groups: a record is a row -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SliceRowsKeying(Keying):
    """Rows brought together by slice."""

    pairs: Pairs
    weighted: bool

    @property
    def schema(self) -> pa.Schema:
        return row_schema([("slice", pa.string())], self.weighted)

    def spread(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        names = SliceNames()
        keys = np.zeros(0, np.uint64)
        for chunk in chunks:
            batch = self.pairs.batch(chunk)
            codes = names.codes(batch.by)
            listed = names.names
            keys = np.append(keys, np.array([slice_key(n) for n in listed[len(keys) :]], np.uint64))
            text = text_array(listed).take(as_arrow(codes))
            yield row_records(keys[codes], [text, batch.groups], batch, self.schema)


@dataclass(frozen=True, slots=True)
class SliceRowsWork(Work[SlicesFound]):
    """Rows of whole slices to an analysis of each, with its groups."""

    bins: int | str | None
    level: float

    def gather(self, chunks: Iterator[Chunk]) -> SlicesFound:
        names = SliceNames()
        held = [(names.codes(c["slice"]), *row_columns(c)) for c in chunks]
        if not held:
            return SlicesFound(EMPTY, ())
        codes, groups, y, q = (np.concatenate([h[i] for h in held]) for i in range(4))
        weight = None if held[0][4] is None else np.concatenate([h[4] for h in held])
        held.clear()
        order = np.argsort(codes, kind="stable")
        first = np.flatnonzero(np.diff(codes[order], prepend=-1))
        whole, found, listed = EMPTY, [], names.names
        for rows in np.split(order, first[1:]):
            w = None if weight is None else weight[rows]
            builder = SketchBuilder()
            builder.add(y[rows], q[rows], w)
            sketch = builder.finish()
            if sketch.n == 0:  # rows that all weigh nothing
                continue
            table = ClusterBuilder(filing(sketch, self.bins, self.level))
            table.add(groups[rows], y[rows], q[rows], w)
            made = analyse(sketch, bins=self.bins, confidence_level=self.level, clusters=table.finish())
            found.append(FoundSlice.of(listed[codes[rows[0]]], made))
            whole = whole + sketch
        return SlicesFound(whole, tuple(found))
