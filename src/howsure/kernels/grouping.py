"""Rows by group: groups as numbers, sums of rows by group and bin, and products of such sums between bins.

Small inputs are sorted with NumPy; large ones go to the compiled kernels of `grouping_compiled.py`, which never sort the rows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import N_CELLS, Floats, Ints, cell_of

COMPILED_FROM = 1_000_000  # rows, or twice the pairs of group and bin
PIECE_COMPILED_FROM = 50_000  # where they are a piece of many more
N_SUMS = 5
Entries = tuple[Ints, Ints, Floats]
PORTIONS = 8  # of the groups; not the number of threads, on which no result may depend


_here = threading.local()


@contextmanager
def one_of_many_pieces() -> Iterator[None]:
    """What this thread does meanwhile is part of work that is long enough for compiled kernels."""
    _here.compiled_from = PIECE_COMPILED_FROM
    try:
        yield
    finally:
        del _here.compiled_from


def _is_large(n: int) -> bool:
    return n >= getattr(_here, "compiled_from", COMPILED_FROM)


def numbered(groups: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], Ints]:
    """The distinct groups in order, and the number of each row's among them."""
    if not _is_large(len(groups)):
        ids, number = np.unique(groups, return_inverse=True)
        return ids, number
    from howsure.kernels import grouping_compiled as compiled

    return compiled.numbered(groups)


def bins_of_cells(first: Ints, q: Floats) -> Ints:
    """The bin of each probability, for bins that begin at the fixed cells `first`."""
    if not _is_large(len(q)):
        return np.searchsorted(first, cell_of(q)[0], side="right") - 1
    from howsure.kernels import grouping_compiled as compiled

    return compiled.bins(np.searchsorted(first, np.arange(N_CELLS), side="right") - 1, q)


@dataclass(frozen=True, slots=True)
class Arranged:
    """Rows in order of their group; those of group g are starts[g] … starts[g+1]-1, as they came."""

    starts: Ints
    y: NDArray[np.uint8]
    q: Floats
    weight: Floats | None

    @staticmethod
    def of(number: Ints, n_groups: int, y: NDArray[np.uint8], q: Floats, weight: Floats | None = None) -> Arranged:
        """Arrange rows by the number of their group."""
        starts = np.zeros(n_groups + 1, np.int64)
        np.cumsum(np.bincount(number, minlength=n_groups), out=starts[1:])
        if _is_large(len(q)):
            from howsure.kernels import grouping_compiled as compiled

            return Arranged(starts, *compiled.dealt(number, starts, y, q, weight))
        order = np.argsort(number, kind="stable")
        return Arranged(starts, y[order], q[order], None if weight is None else weight[order])


@dataclass(frozen=True, slots=True)
class Filed:
    """Sums of rows by group and bin, of each pair that occurs, in order."""

    group: Ints
    bin: Ints
    sums: Floats  # (5, k): rows, positive, Σq, Σq², Σqy, or the first of these

    def joined(self, number: Ints) -> Filed:
        """Bin i counted under number[i], which rises with i."""
        if not len(self.group) or number[-1] == len(number) - 1:
            return self
        if _is_large(2 * len(self.group)):
            from howsure.kernels import grouping_compiled as compiled

            return Filed(*compiled.joined(self.group, self.bin, self.sums, number))
        bins = number[self.bin]
        first = np.flatnonzero((np.diff(self.group, prepend=-1) != 0) | (np.diff(bins, prepend=-1) != 0))
        return Filed(self.group[first], bins[first], np.add.reduceat(self.sums, first, axis=1))


def group_moments(filed: Filed, levels: Sequence[Ints]) -> list[Floats]:
    """For each level (5, B) by bin, bin i counted under level[i]: sums over groups of n, n², S, S² and Sn; `filed` holds n and S."""
    if _is_large(2 * len(filed.group)):
        from howsure.kernels import grouping_compiled as compiled

        return compiled.group_moments(filed.group, filed.bin, filed.sums, levels)
    made: list[Floats] = []
    for level in levels:
        at = filed.joined(level)
        n, s = at.sums
        columns = (np.bincount(at.bin, x, level[-1] + 1) for x in (n, n * n, s, s * s, s * n))
        made.append(np.stack([c.astype(np.float64, copy=False) for c in columns]))
    return made


def binned_sums(rows: Arranged, bins: Ints, n_sums: int = N_SUMS) -> Filed:
    """The first `n_sums` sums by group and bin."""
    if _is_large(len(rows.q)):
        from howsure.kernels import grouping_compiled as compiled

        return Filed(*compiled.binned_sums(rows.starts, bins, rows.y, rows.q, rows.weight, n_sums))
    y, q, w = rows.y, rows.q, np.ones(len(rows.q)) if rows.weight is None else rows.weight
    sums = np.stack([w, w * y, w * q, w * q * q, w * q * y][:n_sums])
    return merged(np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts)), bins, sums)


def merged(group: Ints, bins: Ints, sums: Floats) -> Filed:
    """Columns of sums in order of group and bin, those of the same pair added up."""
    if not len(group):
        return Filed(group, bins, sums)
    width = int(bins.max()) + 1
    code = group * width + bins
    order = np.argsort(code, kind="stable")
    code = code[order]
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    return Filed(code[starts] // width, code[starts] % width, np.add.reduceat(sums[:, order], starts, axis=1))


def products(x: Entries, y: Entries, n_groups: int, n_x: int, n_y: int) -> Floats:
    """XᵀY of sparse (G, B) matrices, each given as group (in order), bin and value of its entries; x and y may be the same."""
    if _is_large(2 * len(x[0])):
        from howsure.kernels import grouping_compiled as compiled

        return compiled.products(x, y, n_groups, n_x, n_y)
    from scipy.sparse import csr_array

    def matrix(entries: Entries, n_bins: int) -> Any:
        return csr_array((entries[2], entries[:2]), shape=(n_groups, n_bins))

    left = matrix(x, n_x)
    made: Floats = (left.T @ (left if x is y else matrix(y, n_y))).toarray()
    return made
