"""Labels and probabilities, of one model or of several: what `check` and `compare` compute on any engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from howsure._result import Sums
from howsure.calibration.sketch import Sketch, SketchBuilder
from howsure.engines import arrow as pa
from howsure.engines.items import ItemRows, Items, numbers
from howsure.engines.rows import Chunk, Keying, Rows
from howsure.engines.tables import as_arrow, text_array
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints

if TYPE_CHECKING:  # loaded where models are compared, or there are groups or slices
    from howsure.calibration.comparing.paired_groups import PairedLook, PairedPiece
    from howsure.calibration.comparing.paired_rows import Plan, RowSums
    from howsure.calibration.comparing.result import Pair
    from howsure.calibration.groups.clusters import ClusterTable, Parts
    from howsure.calibration.groups.moments import Grouped, Look
    from howsure.engines.slice_analysis import Analysis
    from howsure.engines.slices import SliceNames, SlicesFound
    from howsure.processes import Progress

T = TypeVar("T")


class ScoredItems:
    """Rows that one or more models scored, wherever they are; closed by whoever opened them."""

    def __init__(self, found: ItemRows, models: Sequence[str], width: int | None = None) -> None:
        self._found, self.models, self._width = found, tuple(models), width
        self._piece: tuple[Plan, PairedPiece] | None = None

    @cached_property
    def _sketches(self) -> tuple[Sketch, ...]:
        made = self._found.rows.fold(partial(sketched, self._found.items, self._width)).each
        self._found.check_positive(made[0].n_positive)
        return made

    def sketches(self) -> Sequence[Sketch]:
        """The sketch of each model, in one pass over all rows."""
        if not self._sketches[0].n:
            raise InputError("there are no rows to compare.")
        return self._sketches

    def sketch(self) -> Sketch:
        """The sketch of the one model."""
        return self._sketches[0]

    def row_sums(self, plan: Plan) -> RowSums:
        """Sums over independent rows, in a second pass."""
        return self._found.rows.fold(partial(row_sums, self._found.items, plan))

    def clusters(self, model: int, filed: Parts) -> Grouped | None:
        """One model's rows by group; None without groups."""
        return None if self._found.items.groups is None else GroupedPieces(self._by_group, filed, model)

    def look(self, plan: Plan, at: PairedLook[T]) -> T:
        """Applies one aggregation pass to the groups, all models side by side."""
        if not self._by_group.is_one_piece:
            return cast(T, self._by_group.fold(partial(paired_look, plan, at)))
        if self._piece is None or self._piece[0] is not plan:
            self._piece = plan, self._by_group.fold(partial(paired_look, plan, _itself))
        return at(self._piece[1])

    @property
    def _by_group(self) -> Rows:
        found = self._found
        if found.keyed is None:
            found.keyed = found.rows.by_key(RecordKeying(found.items, sliced=False))
        return found.keyed

    def slices(self, bins: int | str | None, level: float, progress: Progress | None = None) -> SlicesFound:
        """Each slice of one model analysed, and the sketch of all rows; progress is that of many, on this machine."""
        from howsure.engines.slice_analysis import Analysis
        from howsure.engines.slices import SliceKeying, analysed_sketches

        rows, items = self._found.rows, self._found.items
        is_grouped = items.groups is not None
        keying = RecordKeying(items, sliced=True) if is_grouped else SliceKeying(items, rows.room)
        with rows.by_key(keying) as found, closing(Analysis(bins, level, found.jobs, progress)) as analysis:
            return found.fold(partial(analysed_rows if is_grouped else analysed_sketches, analysis))

    def compared_slices(self, level: float) -> tuple[ComparedSlice, ...]:
        """Each slice compared in memory; none without `by`."""
        if self._found.items.by is None:
            return ()
        with self._found.rows.by_key(RecordKeying(self._found.items, sliced=True)) as by_slice:
            return by_slice.fold(partial(compared_pairs, self.models, level))


@dataclass(frozen=True, slots=True)
class Sketches(Sums):
    """A sketch of each model."""

    each: tuple[Sketch, ...]


def sketched(items: Items, width: int | None, chunks: Iterator[Chunk]) -> Sketches:
    """The sketches of all models."""
    builders = [SketchBuilder(width) for _ in items.probs]
    for chunk in chunks:
        for builder, (y, q, weight, origin, scale) in zip(builders, items.pairs(chunk), strict=True):
            builder.add(y, q, weight, origin, scale=scale)
    return Sketches(tuple(b.finish() for b in builders))


def row_sums(items: Items, plan: Plan, chunks: Iterator[Chunk]) -> RowSums:
    """Sums over independent rows."""
    from howsure.calibration.comparing.paired_rows import RowSumsBuilder

    builder = RowSumsBuilder(plan)
    for chunk in chunks:
        batch = items.batch(chunk)
        builder.add(batch.ys, batch.qs)
    return builder.finish()


# -- records: checked rows, repartitioned by slice or by group -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordKeying(Keying):
    """Repartitions checked rows with all models' probabilities by slice, or else by group."""

    items: Items
    sliced: bool

    @property
    def schema(self) -> pa.Schema:
        every = range(len(self.items.probs))
        columns = [("key", pa.uint64())]
        columns += [("slice", pa.string())] if self.sliced else []
        columns += [("groups", pa.uint64())] if self.sliced and self.items.groups is not None else []  # else the key
        columns += [(f"y{i}", pa.uint8()) for i in every] if self.items.judged else [("y", pa.uint8())]
        columns += [(f"q{i}", pa.float64()) for i in every]
        return pa.schema(columns + ([] if self.items.weight is None else [("weight", pa.int64())]))

    def spread(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        from howsure.engines.slices import SliceNames, slice_key

        names, keys = SliceNames(), np.zeros(0, np.uint64)
        for chunk in chunks:
            batch = self.items.batch(chunk)
            columns: list[Any] = []
            if self.sliced:
                codes = names.codes(batch.by)
                listed = names.names
                keys = np.append(keys, np.array([slice_key(n) for n in listed[len(keys) :]], np.uint64))
                columns += [keys[codes], text_array(listed).take(as_arrow(codes))]
                columns += [c for c in (batch.groups,) if c is not None]
            else:
                assert batch.groups is not None
                columns.append(group_key(batch.groups))
            columns += [*(batch.ys if self.items.judged else batch.ys[:1]), *batch.qs]
            columns += [c for c in (batch.weight,) if c is not None]
            arrays = [as_arrow(c) if isinstance(c, np.ndarray) else c for c in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def group_key(groups: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Another number for each group, of which the low bits choose the piece: those of small numbers' hashes need not differ."""
    mixed = groups * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(32))


@dataclass(frozen=True, slots=True)
class Records:
    """Such records of a piece: columns by name, slices as numbers into `names`."""

    columns: dict[str, Any]
    names: SliceNames

    @staticmethod
    def of(chunks: Iterator[Chunk]) -> Records:
        """All records of the chunks."""
        from howsure.engines.slices import SliceNames

        names = SliceNames()
        parts: dict[str, list[Any]] = {}
        for chunk in chunks:
            for key, column in record_columns(chunk, names).items():
                parts.setdefault(key, []).append(column)
        return Records({key: np.concatenate(p) for key, p in parts.items()}, names)

    def ys(self, n_models: int) -> tuple[NDArray[np.uint8], ...]:
        """The labels that each model is judged by."""
        none = np.zeros(0, np.uint8)
        return tuple(self.columns.get(f"y{i}", self.columns.get("y", none)) for i in range(n_models))

    def qs(self, n_models: int) -> tuple[Floats, ...]:
        """Each model's probabilities."""
        return tuple(self.columns.get(f"q{i}", np.zeros(0)) for i in range(n_models))

    def slices(self) -> Iterator[tuple[str, Ints]]:
        """Each slice's name and the numbers of its records."""
        codes = self.columns.get("slice")
        if codes is None:
            return
        listed, sizes = self.names.names, np.bincount(codes)
        few = codes.astype(np.uint16) if len(sizes) <= 1 << 16 else codes  # NumPy counts numbers of 16 bits
        parts = np.split(np.argsort(few, kind="stable"), np.cumsum(sizes)[:-1])
        yield from ((name, rows) for name, rows in zip(listed, parts, strict=False) if len(rows))


def record_columns(chunk: Chunk, names: SliceNames) -> dict[str, Any]:
    """The columns of a chunk of records as NumPy arrays of the right types: Spark has no unsigned numbers."""
    kinds: dict[str, Any] = {"groups": np.uint64, "y": np.uint8}
    made = {}
    for key, column in chunk.columns.items():
        if key != "key":
            values = names.codes(column) if key == "slice" else numbers(column)
            made[key] = values.astype(kinds.get(key.rstrip("0123456789"), values.dtype), copy=False)
    if "slice" not in made and "groups" not in made:
        made["groups"] = numbers(chunk["key"]).astype(np.uint64, copy=False)
    return made


def analysed_rows(analysis: Analysis, chunks: Iterator[Chunk]) -> SlicesFound:
    """Each slice of a piece analysed, with its groups."""
    from howsure.engines.slices import EMPTY, SlicesFound

    held = Records.of(chunks)
    if not held.columns:
        return SlicesFound(EMPTY, ())
    y, q, groups = (held.columns[k] for k in ("y", "q0", "groups"))
    weight = held.columns.get("weight")
    builder = SketchBuilder()
    builder.add(y, q, weight)
    named = (
        (name, (y[rows], q[rows], groups[rows], None if weight is None else weight[rows]))
        for name, rows in held.slices()
        if weight is None or weight[rows].any()  # else rows that all weigh nothing
    )
    return SlicesFound(builder.finish(), tuple(analysis.found(named, len(held.names.index))))


@dataclass(frozen=True, slots=True)
class ComparedSlice:
    """One slice: its rows, each model's error, and the first pair."""

    name: str
    n: int
    errors: tuple[float | None, ...]
    pair: Pair | None


def compared_pairs(models: tuple[str, ...], level: float, chunks: Iterator[Chunk]) -> tuple[ComparedSlice, ...]:
    """The models compared on each slice of a piece."""
    from howsure.calibration.comparing.result import compare_rows

    held, k = Records.of(chunks), len(models)
    found = []
    for name, rows in held.slices():
        groups = held.columns["groups"][rows] if "groups" in held.columns else None
        ys = {m: y[rows] for m, y in zip(models, held.ys(k), strict=True)}
        qs = {m: q[rows] for m, q in zip(models, held.qs(k), strict=True)}
        calibrations, pairs = compare_rows(ys, qs, groups, level, None)
        errors = tuple(None if c.error is None else c.error.value for c in calibrations)
        found.append(ComparedSlice(name, len(rows), errors, pairs[0] if pairs else None))
    return tuple(found)


# -- groups --------------------------------------------------------------------------------------------------------


def clustered_look(parts: Parts, model: int, at: Look[Any], chunks: Iterator[Chunk]) -> Any:
    """Applies one aggregation pass to a partition's groups, as one model scored them."""
    from howsure.calibration.groups.clusters import ClusterBuilder
    from howsure.engines.slices import SliceNames

    builder = ClusterBuilder(parts)
    for chunk in chunks:
        c = record_columns(chunk, SliceNames())
        y = c[f"y{model}"] if f"y{model}" in c else c["y"]
        builder.add(c["groups"], y, c[f"q{model}"], c.get("weight"))
    return at(builder.finish())


class GroupedPieces:
    """Records repartitioned by group, filed under the bins of `parts`."""

    def __init__(self, rows: Rows, parts: Parts, model: int = 0) -> None:
        self._rows, self._look = rows, partial(clustered_look, parts, model)
        self.levels, self.n_drawn = parts.levels, len(parts.drawn)
        self._table: ClusterTable | None = rows.fold(partial(self._look, _itself)) if rows.is_one_piece else None

    def look(self, at: Look[T]) -> T:
        """The sum of the pass over all pieces."""
        if self._table is not None:
            return at(self._table)
        return cast(T, self._rows.fold(partial(self._look, at)))


def paired_look(plan: Plan, at: PairedLook[Any], chunks: Iterator[Chunk]) -> Any:
    """Applies one aggregation pass to a partition's groups, all models side by side."""
    from howsure.calibration.comparing.paired_groups import PairedPiece

    held, k = Records.of(chunks), len(plan.models)
    groups = held.columns.get("groups", np.zeros(0, np.uint64))
    return at(PairedPiece.of(plan, groups, held.ys(k), held.qs(k)))


def _itself(piece: Any) -> Any:
    """A pass that keeps the piece, where there is only one."""
    return piece
