"""Columns of labels counted in pieces on any engine: distinct rows with their counts, and rows by group.

What is held is an entry for each distinct row of labels, not the rows; of groups, a piece of them at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from howsure._validate import BadRow, Origin
from howsure.engines.paired_work import group_key
from howsure.engines.pairs import numbers
from howsure.engines.rows import Chunk, Keying, Work
from howsure.engines.slices import SliceNames
from howsure.engines.tables import first_missing
from howsure.evaluation.scores.spread import Spread, SpreadLook
from howsure.evaluation.units import distinct, label_units
from howsure.kernels.cells import Ints

COMPACT_FROM = 1_000_000  # entries


@dataclass(frozen=True)
class LabelCounts:
    """Distinct rows of labels: numbers into `names`, one of which may stand for a missing label, and counts."""

    names: tuple[str, ...]
    codes: Ints  # (k, columns)
    count: Ints

    def __add__(self, other: LabelCounts) -> LabelCounts:
        index = {name: i for i, name in enumerate(self.names)}
        moved = np.array([index.setdefault(name, len(index)) for name in other.names], np.int64)
        codes = np.concatenate([self.codes, moved[other.codes] if len(moved) else other.codes])
        return _compact(tuple(index), codes, np.concatenate([self.count, other.count]))

    @property
    def index(self) -> SliceNames:
        """The names by number."""
        made = SliceNames()
        made.index.update((name, i) for i, name in enumerate(self.names))
        return made


def _compact(names: tuple[str, ...], codes: Ints, count: Ints) -> LabelCounts:
    if not len(codes):
        return LabelCounts(names, codes, count)
    columns, total = distinct(list(codes.T), max(len(names), 1), count)
    return LabelCounts(names, np.stack(columns, axis=1), total)


@dataclass(frozen=True, slots=True)
class LabelWork(Work[LabelCounts]):
    """Counts distinct rows of the named columns."""

    columns: tuple[str, ...]

    def gather(self, chunks: Iterator[Chunk]) -> LabelCounts:
        names = SliceNames()
        held: list[tuple[Ints, Ints]] = []
        size = compacted = 0

        def together() -> LabelCounts:
            none = np.zeros((0, len(self.columns)), np.int64)
            codes, counts = [h[0] for h in held], [h[1] for h in held]
            return _compact(
                tuple(names.names), np.concatenate([none, *codes]), np.concatenate([np.zeros(0, np.int64), *counts])
            )

        for chunk in chunks:
            codes = [names.codes(chunk[c]) for c in self.columns]
            if not len(codes[0]):
                continue
            columns, count = distinct(codes, len(names.index))
            held.append((np.stack(columns, axis=1), count))
            size += len(count)
            if size > max(COMPACT_FROM, 2 * compacted):
                whole = together()
                held = [(whole.codes, whole.count)]
                size = compacted = len(whole.count)
        return together()


@dataclass(frozen=True)
class LabelKeying(Keying):
    """Rows that miss no label, as label numbers, brought together by group."""

    columns: tuple[str, ...]
    names: tuple[str, ...]
    groups: str
    origin: Origin

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([("key", pa.uint64()), ("groups", pa.uint64()), *((c, pa.int32()) for c in self.columns)])

    def spread(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        number = {name: i for i, name in enumerate(self.names)}
        for chunk in chunks:
            groups = group_ids(chunk, self.groups, self.origin)
            made = []
            for column in self.columns:
                names = SliceNames()
                local = names.codes(chunk[column])
                made.append(np.array([number.get(n, -1) for n in names.names], np.int32)[local])
            keep = np.all([m >= 0 for m in made], axis=0)
            kept = groups[keep]
            arrays = [group_key(kept), kept, *(m[keep] for m in made)]
            yield pa.RecordBatch.from_arrays([pa.array(a) for a in arrays], schema=self.schema)


def group_ids(chunk: Chunk, name: str, origin: Origin) -> Any:
    """The groups of a chunk; none may be missing."""
    column = chunk["groups"]
    if not isinstance(column, np.ndarray) and column.null_count:
        i, first = first_missing(column), chunk.first or 0
        where = Origin(origin.true, first=first, from_file=origin.from_file, numbered=chunk.first is not None)
        raise BadRow(f"`{name}` is missing in {where.at(i)}; every row needs one.", first + i)
    return numbers(column).astype(np.uint64, copy=False)


def grouped_labels(chunks: Iterator[Chunk], columns: Sequence[str]) -> tuple[Ints, list[Ints]]:
    """The records of a piece: groups numbered from 0, and the columns."""
    held = list(chunks)
    groups = [numbers(c["groups"]).astype(np.uint64, copy=False) for c in held]
    made = [[numbers(c[name]).astype(np.int64) for c in held] for name in columns]
    _, local = np.unique(np.concatenate([np.zeros(0, np.uint64), *groups]), return_inverse=True)
    return local, [np.concatenate([np.zeros(0, np.int64), *m]) for m in made]


@dataclass(frozen=True)
class SpreadWork(Work[Spread]):
    """What the groups of a piece say of the metrics of one column against gold."""

    look: SpreadLook
    column: str
    n_classes: int

    def gather(self, chunks: Iterator[Chunk]) -> Spread:
        groups, (gold, pred) = grouped_labels(chunks, ("gold", self.column))
        return self.look(label_units(gold, (pred,), self.n_classes, groups))


@dataclass(frozen=True)
class GroupCounts:
    """Groups of several systems' labels, in pieces: distinct rows of each group with counts."""

    pieces: tuple[tuple[Ints, Ints, Ints], ...]  # groups from 0, (k, columns) codes, counts

    def __add__(self, other: GroupCounts) -> GroupCounts:
        return GroupCounts(self.pieces + other.pieces)

    def together(self) -> tuple[Ints, Ints, Ints]:
        """All groups, numbered from 0: group, codes and count of each distinct row."""
        sizes = [int(g[-1]) + 1 if len(g) else 0 for g, *_ in self.pieces]
        begins = np.cumsum([0, *sizes[:-1]])
        groups = np.concatenate([g + b for (g, *_), b in zip(self.pieces, begins.tolist(), strict=True)])
        return groups, np.concatenate([c for _, c, _ in self.pieces]), np.concatenate([n for *_, n in self.pieces])


@dataclass(frozen=True, slots=True)
class GroupCountsWork(Work[GroupCounts]):
    """Counts distinct rows of each group of a piece."""

    columns: tuple[str, ...]

    def gather(self, chunks: Iterator[Chunk]) -> GroupCounts:
        groups, columns = grouped_labels(chunks, self.columns)
        order = np.lexsort((*columns[::-1], groups))
        table = np.stack([groups, *columns], axis=1)[order]
        new = np.ones(len(table), bool)
        new[1:] = np.any(table[1:] != table[:-1], axis=1)
        first = np.flatnonzero(new)
        count = np.diff(np.append(first, len(table)))
        # Numbers of labels and rows of a group are small: 4 bytes each.
        return GroupCounts(((table[first, 0], table[first, 1:].astype(np.int32), count),))
