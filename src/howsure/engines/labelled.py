"""Columns of labels on any engine: what `score` and `compare --pred` compute.

Held is an entry for each distinct row of labels with its count, not the rows; of groups, a piece of them at a time. Spans
depend on the order of rows, which are held in memory as numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure import _validate, _written
from howsure._validate import Origin
from howsure.calibration.comparing.result import HeldRows
from howsure.engines.columns import label_column, predicted_column
from howsure.engines.items import ItemRows, Items, items_from_arrays, items_from_table, numbers
from howsure.engines.rows import Chunk, Keying, Rows
from howsure.engines.scored import ScoredItems, group_key
from howsure.engines.slices import MISSING, SliceNames, in_order
from howsure.engines.tables import Table, as_arrow
from howsure.errors import InputError
from howsure.evaluation.scores.metrics import Spread, Spreading, SpreadLook
from howsure.evaluation.units import distinct, label_units
from howsure.kernels.cells import Floats, Ints

COMPACT_FROM = 1_000_000  # entries
ONE_GROUP = "all rows are in one group; intervals need two groups at least."


class Counted(NamedTuple):
    """Distinct rows that miss no label."""

    codes: dict[str, Ints]  # numbers of labels by column: gold, pred0, … second
    counts: Ints  # how many rows are like each
    labels: tuple[str, ...]
    left_out: tuple[tuple[str, int], ...]  # rows that miss a label, by column


class LabelledItems:
    """Gold, one or more systems, perhaps a second annotator and groups; closed by whoever opened the rows."""

    def __init__(self, found: ItemRows) -> None:
        self._found = found
        self.name, self.groups, self.preds = found.name, found.items.groups, found.items.preds

    @property
    def notes(self) -> tuple[str, ...]:
        """What a result must say of how it was read."""
        return self._found.notes

    @cached_property
    def counted(self) -> Counted:
        """The distinct rows, in one pass."""
        named = self._found.items.named
        found = self._found.rows.fold(partial(counted_labels, tuple(named)))
        if not len(found.count):
            raise InputError("there are no rows to score.")
        columns = {role: found.codes[:, i] for i, role in enumerate(named)}
        codes, names, keep, lost = numbered_labels(columns, found.count, found.index, named)
        return Counted(codes, found.count[keep], names, lost)

    @property
    def _by_group(self) -> Rows:
        found = self._found
        if found.keyed is None:
            found.keyed = found.rows.by_key(LabelKeying(found.items, self.counted.labels))
        return found.keyed

    def group_counts(self) -> tuple[Ints, dict[str, Ints], Ints]:
        """Distinct rows of each group: the group's number, label numbers by column, and counts."""
        columns = tuple(self._found.items.named)
        groups, codes, count = self._by_group.fold(partial(counted_groups, columns)).together()
        if len(groups) and groups[-1] < 1:
            raise InputError(ONE_GROUP)
        return groups, {c: codes[:, i].astype(np.int64) for i, c in enumerate(columns)}, count

    def scored(self, positive: str | None) -> tuple[ItemRows, ScoredItems] | None:
        """The systems' probabilities that their labels are right or, given it, that the gold label is `positive`."""
        if not self._found.items.probs:
            return None
        judged = self._found.judged(positive)
        return judged, ScoredItems(judged, tuple(self.preds))

    def spreading(self, column: str) -> Spreading | None:
        """Passes over the groups; None without groups."""
        return None if self.groups is None else partial(self._spread, column)

    def _spread(self, column: str, look: SpreadLook) -> Spread:
        made = self._by_group.fold(partial(spread_of, look, column, len(self.counted.labels)))
        if made.n_units < 2:
            raise InputError(ONE_GROUP)
        return made

    def in_order(self, *, tags: bool) -> LabelSequences:
        """All rows in memory, in their order; `tags` are of tokens, and none may be missing."""
        items = self._found.items
        named = items.named
        extra = [role for role in ("groups", "sentence") if getattr(items, role) is not None]
        probs = [f"q{i}" for i in range(len(items.probs))]
        held = self._found.held(*named, *extra, *probs)
        if not held or not len(held["gold"]):
            raise InputError("there are no rows to score.")
        whole = Chunk(held, 0)
        ids = {role: items.group_ids(whole, role=role) for role in extra}
        qs = items.probabilities(whole)
        coder = SliceNames()
        codes = {role: coder.codes(held[role]) for role in named}
        every, names, keep, left_out = numbered_labels(
            codes, None, coder.index, named, items.origin(whole) if tags else None
        )
        groups = None
        if "groups" in ids:
            groups = as_appearing(ids["groups"][keep])
            if groups.max() < 1:
                raise InputError(ONE_GROUP)
        new = None
        if "sentence" in ids or (tags and groups is not None):
            new = np.ones(int(keep.sum()), bool)
            new[1:] = np.any([i[keep][1:] != i[keep][:-1] for i in ids.values()], axis=0)
        preds = {named[role]: v for role, v in every.items() if role.startswith("pred")}
        probabilities = dict(zip(items.probs, (q[keep] for q in qs), strict=True)) or None
        return LabelSequences(names, every["gold"], preds, groups, new, probabilities, every.get("second"), left_out)


def labels_from_arrays(
    y_true: Any,
    y_preds: Mapping[str, Any],
    *,
    second: Any = None,
    probs: Mapping[str, Any] | None = None,
    scale: str | None = None,
    **extra: Any,
) -> ItemRows:
    """Arrays in memory, of one length; `extra` are groups and sentences, or None."""
    given = {"gold": ("y_true", y_true)} | {f"pred{i}": pair for i, pair in enumerate(y_preds.items())}
    if second is not None:
        given["second"] = "second", second
    labels = {r: (n, _validate.one_dimensional(v, n, numbers=False)) for r, (n, v) in given.items()}
    more: Any = {r: _validate.one_dimensional(v, r, numbers=False) for r, v in extra.items() if v is not None}
    numbers_ = {n: _validate.one_dimensional(v, n) for n, v in (probs or {}).items()}
    # By role where two have one name: a system's labels and its probabilities.
    _validate.same_length(**dict(labels.values()), **more, **{f"q{i}": q for i, q in enumerate(numbers_.values())})
    return items_from_arrays(labels=labels, probs=numbers_, **more, scale=scale)


def labels_from_table(
    table: Table,
    true: str | None,
    preds: Sequence[str] | None,
    *,
    second: str | None = None,
    probs: Sequence[str] = (),
    **reading: str | None,
) -> ItemRows:
    """Columns of an open table; without `preds`, the one named like a prediction. `reading` is as of `items_from_table`."""
    columns = [table.column(p) for p in preds] if preds else [predicted_column(table, true)]
    names = [c.name for c in columns]
    gold = label_column(table, true, skip=set(names))
    if len(set(names)) < len(names) or gold.name in names:
        raise InputError("each `pred=` column may be named once, and none of them is `true=`.")
    texts = {"gold": gold} | {f"pred{i}": c for i, c in enumerate(columns)}
    if second is not None:
        texts["second"] = table.column(second)
    numbers_ = [table.column(p) for p in probs]
    return items_from_table(table, labels=texts, probs=numbers_, **reading)  # type: ignore[arg-type]


def as_appearing(values: NDArray[Any]) -> Ints:
    """Values numbered from 0 in the order of their first appearance."""
    _, first, codes = np.unique(values, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[codes]


@dataclass(frozen=True)
class LabelSequences:
    """Rows with no label missing, in their order: numbers into `labels`, and what was left out."""

    labels: tuple[str, ...]
    gold: Ints
    preds: dict[str, Ints]
    groups: Ints | None = None
    new_sentence: NDArray[np.bool_] | None = None
    probs: dict[str, Floats] | None = None
    second: Ints | None = None
    left_out: tuple[tuple[str, int], ...] = ()

    @property
    def clusters(self) -> Ints | None:
        """What is dependent: the groups or, failing them, the sentences."""
        if self.groups is not None or self.new_sentence is None:
            return self.groups
        return np.cumsum(self.new_sentence) - 1

    def scored(self, positive: str | None) -> HeldRows | None:
        """The probabilities: of the label given being right or, with `positive`, of the item being positive."""
        if self.probs is None:
            return None
        if positive is not None:
            truth = (self.gold == self.labels.index(positive)).astype(np.uint8)
            own = (truth,) * len(self.preds)
        else:
            own = tuple((p == self.gold).astype(np.uint8) for p in self.preds.values())
        groups = None if self.clusters is None else self.clusters.astype(np.uint64)
        return HeldRows(tuple(self.preds), own, tuple(self.probs.values()), groups)


def numbered_labels(
    codes: dict[str, Ints],
    count: Ints | None,
    index: dict[str, int],
    named: dict[str, str],
    tags_from: Origin | None = None,
) -> tuple[dict[str, Ints], tuple[str, ...], NDArray[np.bool_], tuple[tuple[str, int], ...]]:
    """Columns of labels without the rows that miss one, numbered in the labels' order; which rows stay; what was lost.

    Each row counts `count` times. With `tags_from` the labels are tags of tokens, of which none may be missing.
    """
    keep = np.ones(len(codes["gold"]), bool)
    left_out: list[tuple[str, int]] = []
    absent = index.get(MISSING)
    for key, column in codes.items():
        lost = keep & (column == absent)
        if lost.any():
            if tags_from is not None:
                at = tags_from.at(int(np.argmax(lost)))
                raise InputError(f"`{named[key]}` is missing in {at}; every token needs a tag.")
            left_out.append((named[key], int(lost.sum() if count is None else count[lost].sum())))
            keep &= ~lost
    if not keep.any():
        raise InputError("no row has all its labels: " + ", ".join(f"{n:,} without {k}" for k, n in left_out) + ".")
    order = in_order([n for n in index if n != MISSING])
    number = np.full(len(index), -1, np.int64)
    number[[index[n] for n in order]] = np.arange(len(order))
    every = {k: number[column[keep]] for k, column in codes.items()}
    used = np.unique(np.concatenate([np.unique(v) for v in every.values()]))
    renumbered = {k: np.searchsorted(used, v) for k, v in every.items()}
    names = tuple(order[i] for i in used)
    for k in (k for k in renumbered if tags_from is None and k.startswith("pred")):
        here, there = np.unique(renumbered["gold"]), np.unique(renumbered[k])
        if not len(np.intersect1d(here, there)):
            one, two = (_validate.some([names[i] for i in x], 4) for x in (here, there))
            alike = " Only case or spaces differ." if _written.spelt_alike(names) else ""
            said = f"`{named['gold']}` and `{named[k]}` have no label in common: {one} against {two}."
            raise InputError(said + alike)
    return renumbered, names, keep, tuple(left_out)


@dataclass(frozen=True)
class LabelCounts:
    """Distinct rows of labels: numbers into `names`, one of which may stand for a missing label, and counts."""

    names: tuple[str, ...]
    codes: Ints  # (k, columns)
    count: Ints

    def __add__(self, other: LabelCounts) -> LabelCounts:
        index = self.index
        moved = np.array([index.setdefault(name, len(index)) for name in other.names], np.int64)
        codes = np.concatenate([self.codes, moved[other.codes] if len(moved) else other.codes])
        return _compact(tuple(index), codes, np.concatenate([self.count, other.count]))

    @property
    def index(self) -> dict[str, int]:
        """The number of each name."""
        return {name: i for i, name in enumerate(self.names)}


def _compact(names: tuple[str, ...], codes: Ints, count: Ints) -> LabelCounts:
    if not len(codes):
        return LabelCounts(names, codes, count)
    columns, total = distinct(list(codes.T), max(len(names), 1), count)
    return LabelCounts(names, np.stack(columns, axis=1), total)


def counted_labels(columns: tuple[str, ...], chunks: Iterator[Chunk]) -> LabelCounts:
    """Counts distinct rows of the named columns."""
    names = SliceNames()
    held = [(np.zeros((0, len(columns)), np.int64), np.zeros(0, np.int64))]
    size = compacted = 0

    def together() -> LabelCounts:
        codes, counts = (np.concatenate([h[i] for h in held]) for i in (0, 1))
        return _compact(tuple(names.names), codes, counts)

    for chunk in chunks:
        codes = [names.codes(chunk[c]) for c in columns]
        if not len(codes[0]):
            continue
        found, count = distinct(codes, len(names.index))
        held.append((np.stack(found, axis=1), count))
        size += len(count)
        if size > max(COMPACT_FROM, 2 * compacted):
            whole = together()
            held = [(whole.codes, whole.count)]
            size = compacted = len(whole.count)
    return together()


@dataclass(frozen=True)
class LabelKeying(Keying):
    """Repartitions rows that miss no label, as label numbers, by group."""

    items: Items
    names: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        columns = [(role, pa.int32()) for role in self.items.named]
        return pa.schema([("key", pa.uint64()), ("groups", pa.uint64()), *columns])

    def spread(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        number = {name: i for i, name in enumerate(self.names)}
        for chunk in chunks:
            groups = self.items.group_ids(chunk)
            made = []
            for role in self.items.named:
                names = SliceNames()
                local = names.codes(chunk[role])
                made.append(np.array([number.get(n, -1) for n in names.names], np.int32)[local])
            keep = np.all([m >= 0 for m in made], axis=0)
            arrays: list[NDArray[Any]] = [group_key(groups[keep]), groups[keep], *(m[keep] for m in made)]
            yield pa.RecordBatch.from_arrays([as_arrow(a) for a in arrays], schema=self.schema)


def grouped_labels(chunks: Iterator[Chunk], columns: Sequence[str]) -> tuple[Ints, list[Ints]]:
    """The records of a piece: groups numbered from 0, and the columns."""
    held = list(chunks)
    groups = [numbers(c["groups"]).astype(np.uint64, copy=False) for c in held]
    made = [[numbers(c[name]).astype(np.int64) for c in held] for name in columns]
    _, local = np.unique(np.concatenate([np.zeros(0, np.uint64), *groups]), return_inverse=True)
    return local, [np.concatenate([np.zeros(0, np.int64), *m]) for m in made]


def spread_of(look: SpreadLook, column: str, n_classes: int, chunks: Iterator[Chunk]) -> Spread:
    """Applies one aggregation pass to a partition's groups: the metrics of one column against gold."""
    groups, (gold, pred) = grouped_labels(chunks, ("gold", column))
    return look(label_units(gold, (pred,), n_classes, groups))


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


def counted_groups(names: tuple[str, ...], chunks: Iterator[Chunk]) -> GroupCounts:
    """Counts distinct rows of each group of a piece."""
    groups, columns = grouped_labels(chunks, names)
    order = np.lexsort((*columns[::-1], groups))
    table = np.stack([groups, *columns], axis=1)[order]
    new = np.ones(len(table), bool)
    new[1:] = np.any(table[1:] != table[:-1], axis=1)
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, len(table)))
    # Numbers of labels and rows of a group are small: 4 bytes each.
    return GroupCounts(((table[first, 0], table[first, 1:].astype(np.int32), count),))
