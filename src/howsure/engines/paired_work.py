"""What becomes of pieces of rows that several models scored: sketches, sums, records by group or slice, comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure.calibration.comparing.paired_groups import PairedLook, PairedPiece
from howsure.calibration.comparing.paired_rows import Plan, RowSums, RowSumsBuilder
from howsure.calibration.comparing.result import Pair, compare_rows
from howsure.calibration.sketch import Sketch, SketchBuilder
from howsure.engines.pairs import Batch, Pairs, numbers
from howsure.engines.rows import Chunk, Keying, Rows, T, Work
from howsure.engines.sketching import slice_key
from howsure.engines.slices import SliceNames
from howsure.kernels.cells import Floats


@dataclass(frozen=True, slots=True)
class Models:
    """The models' names, and how the columns `y` and `q0`, `q1`, … are read as pairs of each.

    With `own_labels`, `y0`, `y1`, … stand for `y`.
    """

    names: tuple[str, ...]
    pairs: tuple[Pairs, ...]
    own_labels: bool = False

    def batches(self, chunk: Chunk) -> list[Batch]:
        """The chunk as each model's pairs, checked."""
        return [p.batch(of_model(chunk, i)) for i, p in enumerate(self.pairs)]


def of_model(chunk: Chunk, model: int) -> Chunk:
    """The chunk as one model sees it."""
    own = chunk.get(f"y{model}")
    columns = {"y": chunk["y"] if own is None else own, "q": chunk[f"q{model}"]}
    return Chunk(columns | {k: c for k in ("by", "groups") if (c := chunk.get(k)) is not None}, chunk.first)


@dataclass(frozen=True, slots=True)
class Sketches:
    """A sketch of each model."""

    each: tuple[Sketch, ...]

    def __add__(self, other: Sketches) -> Sketches:
        return Sketches(tuple(a + b for a, b in zip(self.each, other.each, strict=True)))


@dataclass(frozen=True, slots=True)
class SketchesWork(Work[Sketches]):
    """The sketches of all models."""

    models: Models

    def gather(self, chunks: Iterator[Chunk]) -> Sketches:
        builders = [SketchBuilder() for _ in self.models.names]
        for chunk in chunks:
            for i, (builder, pairs) in enumerate(zip(builders, self.models.pairs, strict=True)):
                part = of_model(chunk, i)
                origin = pairs.origin_of(chunk)
                builder.add(numbers(part["y"]), numbers(part["q"]), None, origin, logits=pairs.logits)
        return Sketches(tuple(b.finish() for b in builders))


@dataclass(frozen=True, slots=True)
class RowSumsWork(Work[RowSums]):
    """Sums over independent rows."""

    models: Models
    plan: Plan

    def gather(self, chunks: Iterator[Chunk]) -> RowSums:
        builder = RowSumsBuilder(self.plan)
        for chunk in chunks:
            batches = self.models.batches(chunk)
            builder.add([b.y for b in batches], [b.q for b in batches])
        return builder.finish()


@dataclass(frozen=True, slots=True)
class ModelKeying(Keying):
    """Rows with all models' probabilities, brought together by slice or else by group."""

    models: Models
    sliced: bool
    grouped: bool

    @property
    def schema(self) -> pa.Schema:
        every = range(len(self.models.names))
        columns = [("key", pa.uint64())]
        columns += [("slice", pa.string())] if self.sliced else []
        columns += [("groups", pa.uint64())] if self.grouped else []
        columns += [(f"y{i}", pa.uint8()) for i in every] if self.models.own_labels else [("y", pa.uint8())]
        return pa.schema([*columns, *((f"q{i}", pa.float64()) for i in every)])

    def spread(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        names = SliceNames()
        keys = np.zeros(0, np.uint64)
        for chunk in chunks:
            batches = self.models.batches(chunk)
            first = batches[0]
            columns: list[Any] = []
            if self.sliced:
                codes = names.codes(first.by)
                listed = names.names
                keys = np.append(keys, np.array([slice_key(n) for n in listed[len(keys) :]], np.uint64))
                columns += [keys[codes], pa.array(listed, pa.string()).take(pa.array(codes))]
            else:
                assert first.groups is not None
                columns.append(group_key(first.groups))
            if self.grouped:
                columns.append(first.groups)
            columns += [np.ascontiguousarray(b.y) for b in (batches if self.models.own_labels else [first])]
            columns += [b.q for b in batches]
            yield pa.RecordBatch.from_arrays([pa.array(c) for c in columns], schema=self.schema)


def group_key(groups: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """What chooses the piece: hashes of small numbers need not differ in their low bits."""
    return (groups * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)


@dataclass(frozen=True, slots=True)
class OfModel(Work[T]):
    """Work on one model's pairs."""

    work: Work[T]
    model: int

    def gather(self, chunks: Iterator[Chunk]) -> T:
        return self.work.gather(of_model(c, self.model) for c in chunks)


class ModelRows(Rows):
    """Records of all models as one of them sees them."""

    def __init__(self, rows: Rows, model: int) -> None:
        self._rows, self._model, self.name = rows, model, rows.name

    @property
    def is_one_piece(self) -> bool:
        return self._rows.is_one_piece

    def fold(self, work: Work[T]) -> T:
        return self._rows.fold(OfModel(work, self._model))

    def by_key(self, keying: Keying) -> Rows:
        raise NotImplementedError("records that have a key already")


@dataclass(frozen=True, slots=True)
class _Held:
    """The records of a piece."""

    names: SliceNames
    slices: NDArray[np.int64] | None
    groups: NDArray[np.uint64] | None
    ys: tuple[NDArray[np.uint8], ...]
    qs: tuple[Floats, ...]

    @staticmethod
    def of(chunks: Iterator[Chunk], n_models: int) -> _Held:
        names = SliceNames()
        parts: dict[str, list[Any]] = {}
        for c in chunks:
            for key, column in c.columns.items():
                made = names.codes(column) if key == "slice" else numbers(column)
                # Spark has no unsigned numbers.
                kind = {"groups": np.uint64, "y": np.uint8}.get(key.rstrip("0123456789"))
                parts.setdefault(key, []).append(made if kind is None else made.astype(kind, copy=False))
        whole = {key: np.concatenate(p) for key, p in parts.items() if key != "key"}
        every = range(n_models)
        none, zero = np.zeros(0, np.uint8), np.zeros(0)
        return _Held(
            names,
            whole.get("slice"),
            whole.get("groups"),
            tuple(whole.get(f"y{i}", whole.get("y", none)) for i in every),
            tuple(whole.get(f"q{i}", zero) for i in every),
        )


@dataclass(frozen=True, slots=True)
class PairedLookWork(Work[Any]):
    """What a look sees of the groups of a piece."""

    plan: Plan
    at: PairedLook[Any]

    def gather(self, chunks: Iterator[Chunk]) -> Any:
        held = _Held.of(chunks, len(self.plan.models))
        groups = np.zeros(0, np.uint64) if held.groups is None else held.groups
        return self.at(PairedPiece.of(self.plan, groups, held.ys, held.qs))


def itself(piece: PairedPiece) -> PairedPiece:
    """A look that sees the piece as it is, where there is only one."""
    return piece


@dataclass(frozen=True, slots=True)
class SliceFound:
    """One slice: its rows, each model's error, and the first pair."""

    name: str
    n: int
    errors: tuple[float | None, ...]
    pair: Pair | None


@dataclass(frozen=True, slots=True)
class SlicePairsWork(Work[tuple[SliceFound, ...]]):
    """Rows of whole slices to a comparison of each."""

    models: tuple[str, ...]
    level: float

    def gather(self, chunks: Iterator[Chunk]) -> tuple[SliceFound, ...]:
        held = _Held.of(chunks, len(self.models))
        if held.slices is None:
            return ()
        order = np.argsort(held.slices, kind="stable")
        first = np.flatnonzero(np.diff(held.slices[order], prepend=-1))
        listed, found = held.names.names, []
        for rows in np.split(order, first[1:]):
            groups = None if held.groups is None else held.groups[rows]
            ys = {m: y[rows] for m, y in zip(self.models, held.ys, strict=True)}
            qs = {m: q[rows] for m, q in zip(self.models, held.qs, strict=True)}
            calibrations, pairs = compare_rows(ys, qs, groups, self.level, None)
            errors = tuple(None if c.error is None else c.error.value for c in calibrations)
            found.append(SliceFound(listed[held.slices[rows[0]]], len(rows), errors, pairs[0] if pairs else None))
        return tuple(found)
