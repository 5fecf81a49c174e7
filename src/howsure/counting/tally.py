"""What one pass over the items leaves: how many are in each cell at each place of the grid of probabilities, and the labels.

A cell is a tuple of names, one for each thing that items are counted by. Sums are whole numbers: rows may come in any order and
from any number of pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from howsure.counting.strata import GRID, grid_places
from howsure.kernels.cells import Floats, Ints, merge_keyed

UNIT = 1 << 32  # probabilities are summed as whole numbers of this fraction
Cell = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Labels:
    """Labelled items: cell (a number), probability, place on the grid, label, inclusion probability (NaN: not known)."""

    cell: Ints
    y_prob: Floats
    place: Ints
    y: NDArray[np.uint8]
    inclusion: Floats
    group: NDArray[np.uint64]  # what was drawn whole; 0 without such groups
    key: Ints  # the number of the label in the file of labels; -1 without one

    def __len__(self) -> int:
        return len(self.y)

    def take(self, at: Ints | NDArray[np.bool_]) -> Labels:
        """Some of them."""
        return Labels(*(getattr(self, name)[at] for name in self.__slots__))


def no_labels() -> Labels:
    """Of no item."""
    whole = np.zeros(0, np.int64)
    return Labels(whole, np.zeros(0), whole, np.zeros(0, np.uint8), np.zeros(0), np.zeros(0, np.uint64), whole)


def joined(parts: Sequence[Labels]) -> Labels:
    """One after another."""
    return Labels(*(np.concatenate([getattr(part, name) for part in parts]) for name in Labels.__slots__))


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of items by cell and place, sparse: entry j has `n` items of cell number `cell` at `place`, Σq = `sum` ÷ 2³²."""

    cells: tuple[Cell, ...]
    cell: Ints
    place: Ints
    n: Ints
    sum: Ints
    labels: Labels
    groups: NDArray[np.uint64]  # distinct, in order
    group_sizes: Ints

    def __add__(self, other: Tally) -> Tally:
        number = {name: i for i, name in enumerate(self.cells)}
        moved = np.array([number.setdefault(name, len(number)) for name in other.cells], np.int64)
        labels = joined([self.labels, replace(other.labels, cell=moved[other.labels.cell])])
        code = np.concatenate([self.cell, moved[other.cell]]) * GRID + np.concatenate([self.place, other.place])
        sums = np.stack([np.concatenate([self.n, other.n]), np.concatenate([self.sum, other.sum])], axis=1)
        found, both = merge_keyed(code, sums)
        groups, sizes = merge_keyed(
            np.concatenate([self.groups, other.groups]),
            np.concatenate([self.group_sizes, other.group_sizes])[:, None],
        )
        return Tally(tuple(number), found // GRID, found % GRID, both[:, 0], both[:, 1], labels, groups, sizes[:, 0])

    @property
    def n_items(self) -> int:
        """In all."""
        return int(self.n.sum())

    def in_order(self) -> Tally:
        """The same with cells and labels in an order that does not depend on that of the rows."""
        names = tuple(sorted(self.cells))
        place = {name: i for i, name in enumerate(names)}
        return self.renumbered(names, np.array([place[name] for name in self.cells], np.int64))

    def renumbered(self, cells: tuple[Cell, ...], number: Ints) -> Tally:
        """The cells in another order, or joined: cell i becomes number[i] of `cells`. Labels are put in order too."""
        labels = self.labels
        code, both = merge_keyed(number[self.cell] * GRID + self.place, np.stack([self.n, self.sum], axis=1))
        moved = replace(labels, cell=number[labels.cell])
        order = (moved.group, moved.key, moved.inclusion, moved.y, moved.y_prob, moved.place, moved.cell)
        moved = moved.take(np.lexsort(order))
        return Tally(cells, code // GRID, code % GRID, both[:, 0], both[:, 1], moved, self.groups, self.group_sizes)


def tally_of(
    y_prob: Floats,
    y: NDArray[np.uint8],
    labelled: NDArray[np.bool_],
    cell: Ints,
    cells: tuple[Cell, ...],
    inclusion: Floats | None = None,
    group: NDArray[np.uint64] | None = None,
) -> Tally:
    """Of items in memory: `y` counts where `labelled`."""
    at, q = grid_places(y_prob), np.rint(y_prob * UNIT)
    code = cell * GRID + at
    size = len(cells) * GRID
    if size <= 4 * len(code) + (1 << 16):
        # Sums of whole numbers below 2⁵³ are exact in floating point.
        n, total = np.bincount(code, minlength=size), np.bincount(code, weights=q, minlength=size)
        found: Ints = np.flatnonzero(n)
        n, whole = n[found], total[found].astype(np.int64)
    else:
        found, both = merge_keyed(code, np.stack([np.ones(len(code), np.int64), q.astype(np.int64)], axis=1))
        n, whole = both[:, 0], both[:, 1]
    groups, sizes = np.unique(np.zeros(0, np.uint64) if group is None else group, return_counts=True)
    inclusion = np.broadcast_to(np.nan, len(code)) if inclusion is None else inclusion
    group = np.broadcast_to(np.uint64(0), len(code)) if group is None else group
    key = np.broadcast_to(np.int64(-1), len(code))
    labels = Labels(cell, y_prob, at, y, inclusion, group, key).take(np.flatnonzero(labelled))
    return Tally(cells, found // GRID, found % GRID, n, whole, labels, groups, sizes)
