"""What is independent, and what each piece of it counts: cells of labels, or clusters of rows.

Every metric here is a smooth function of three totals a class: how often it is the truth (`gold`), how often it is said
(`pred`) and how often both (`hit`). A unit holds its share of them; rows that are alike are one unit with a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import Floats, Ints

MOST_CELLS = 1 << 22  # cells counted in one array; above, they are sorted


@dataclass(frozen=True)
class Totals:
    """Per class: gold, predicted and both."""

    gold: Floats
    pred: Floats
    hit: Floats

    @property
    def pooled(self) -> Totals:
        """All classes as one."""
        return Totals(*(np.array([x.sum()]) for x in (self.gold, self.pred, self.hit)))


@dataclass(frozen=True)
class Units:
    """T independent units of `count` copies each; sparse (T, K) shares of gold, and of each system's pred and hit."""

    count: Ints
    gold: Any
    pred: tuple[Any, ...]
    hit: tuple[Any, ...]
    clustered: bool

    @property
    def n(self) -> int:
        """Number of independent units."""
        return int(self.count.sum())

    def totals(self, system: int = 0) -> Totals:
        """The totals of one system."""
        w = self.count.astype(np.float64)
        return Totals(*(np.asarray(x.T @ w) for x in (self.gold, self.pred[system], self.hit[system])))


def label_units(
    gold: Ints, preds: tuple[Ints, ...], n_classes: int, groups: Ints | None, count: Ints | None = None
) -> Units:
    """Units of rows that each have one label: distinct rows if they are independent, else the groups.

    `count` says how often each row counts.
    """
    if groups is None:
        cells, count = distinct([gold, *preds], n_classes, count)
        truth, *others = (_one_hot(c, n_classes) for c in cells)
        right = tuple(_one_hot(p, n_classes, p == cells[0]) for p in cells[1:])
        return Units(count, truth, tuple(others), right, False)
    n_groups = int(groups.max()) + 1 if len(groups) else 0
    shape = (n_groups, n_classes)

    def each(codes: Ints, keep: NDArray[np.bool_]) -> Any:
        return summed(groups[keep], codes[keep], shape, None if count is None else count[keep])

    every = np.ones(len(gold), bool)
    said, hits = tuple(each(p, every) for p in preds), tuple(each(p, p == gold) for p in preds)
    return Units(np.ones(n_groups, np.int64), each(gold, every), said, hits, True)


def distinct(codes: list[Ints], n_classes: int, count: Ints | None = None) -> tuple[list[Ints], Ints]:
    """Distinct combinations of codes below `n_classes`, and how many rows have each."""
    if n_classes ** len(codes) < 2**62:
        packed = np.zeros(len(codes[0]), np.int64)
        for c in codes:
            packed = packed * n_classes + c
        if n_classes ** len(codes) <= MOST_CELLS:
            every = _counted(packed, count)
            found = np.flatnonzero(every)
            total = every[found]
        else:
            found, where = np.unique(packed, return_inverse=True)
            total = _counted(where, count)
        made = []
        for _ in codes:
            found, part = np.divmod(found, n_classes)
            made.append(part)
        return made[::-1], total
    rows, where = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    return list(rows.T), _counted(where.ravel(), count)


def _counted(where: Ints, count: Ints | None) -> Ints:
    if count is None:
        return np.bincount(where)
    return np.rint(np.bincount(where, count)).astype(np.int64)  # exact up to 2⁵³ rows


def _one_hot(codes: Ints, n_classes: int, keep: NDArray[np.bool_] | None = None) -> Any:
    from scipy.sparse import csr_array

    kept = np.arange(len(codes)) if keep is None else np.flatnonzero(keep)
    return csr_array((np.ones(len(kept)), (kept, codes[kept])), shape=(len(codes), n_classes))


def summed(rows: Ints, columns: Ints, shape: tuple[int, int], count: Ints | None = None) -> Any:
    """A sparse matrix that counts how often each (row, column) occurs."""
    from scipy.sparse import csr_array

    values = np.ones(len(rows)) if count is None else count.astype(np.float64)
    return csr_array((values, (rows, columns)), shape=shape)  # adds what falls together
