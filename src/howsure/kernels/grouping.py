"""Rows by group: groups as numbers, sums of rows by group and bin, and products of such sums between bins.

Small inputs are sorted with NumPy; large ones go to the compiled kernels of `grouping_compiled.py`, which never sort the rows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import N_CELLS, Floats, Ints, cell_of
from howsure.kernels.ragged import offsets

COMPILED_FROM = 1_000_000  # rows, or twice the pairs of group and bin
PIECE_COMPILED_FROM = 50_000  # where they are a piece of many more
ROUNDING = 1e-12  # what sums of floating-point numbers in another order may leave of a mean that is 0
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


def _compiled(n: int) -> Any:
    """The compiled kernels where so many rows are worth it, else None."""
    if n < getattr(_here, "compiled_from", COMPILED_FROM):
        return None
    from howsure.kernels import grouping_compiled

    grouping_compiled.compile_all()
    return grouping_compiled


def numbered(groups: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], Ints]:
    """The distinct groups in order, and the number of each row's among them."""
    if compiled := _compiled(len(groups)):
        return compiled.numbered(groups)
    ids, number = np.unique(groups, return_inverse=True)
    return ids, number


def bins_of_cells(first: Ints, q: Floats) -> Ints:
    """The bin of each probability, for bins that begin at the fixed cells `first`."""
    if compiled := _compiled(len(q)):
        return compiled.bins(np.searchsorted(first, np.arange(N_CELLS), side="right") - 1, q)
    return np.searchsorted(first, cell_of(q)[0], side="right") - 1


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
        if compiled := _compiled(len(q)):
            return Arranged(*compiled.dealt(number, n_groups, y, q, weight))
        order = np.argsort(number, kind="stable")
        return Arranged(
            offsets(np.bincount(number, minlength=n_groups)),
            y[order],
            q[order],
            None if weight is None else weight[order],
        )

    def totals(self, bins: Ints) -> Floats:
        """(5, G) of each group: rows, positive, Σq, Σq², Σqy; few rows bin by bin, so that their order changes next to nothing."""
        if compiled := _compiled(len(self.q)):
            return compiled.totals(self.starts, self.y, self.q, self.weight)
        y, q, w = self.y, self.q, np.ones(len(self.q)) if self.weight is None else self.weight
        n_groups = len(self.starts) - 1
        filed = merged(_groups(self.starts), n_groups, bins, np.stack([w, w * y, w * q, w * q * q, w * q * y]))
        return np.stack([np.bincount(filed.group, x, n_groups).astype(np.float64, copy=False) for x in filed.sums])


def _groups(starts: Ints) -> Ints:
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


@dataclass(frozen=True)
class Filed:
    """Sums of rows by group and bin, of each pair that occurs, in order; those of group g are starts[g] … starts[g+1]-1."""

    starts: Ints
    bin: Ints
    sums: Floats  # (2, k): rows, and Σe or how many are positive; while totals are made, all five

    @cached_property
    def group(self) -> Ints:
        """The group of each pair."""
        return _groups(self.starts)

    def joined(self, number: Ints) -> tuple[Ints, Ints, Floats]:
        """Group, bin and sums, bin i counted under number[i], which rises with i."""
        bins = number[self.bin]
        if not len(bins) or number[-1] == len(number) - 1:
            return self.group, bins, self.sums
        first = np.flatnonzero((np.diff(self.group, prepend=-1) != 0) | (np.diff(bins, prepend=-1) != 0))
        return self.group[first], bins[first], np.add.reduceat(self.sums, first, axis=1)


def group_moments(filed: Filed, levels: Sequence[Ints]) -> list[Floats]:
    """For each level (5, B) by bin, bin i counted under level[i]: sums over groups of n, n², S, S² and Sn."""
    if compiled := _compiled(2 * len(filed.bin)):
        return compiled.group_moments(filed.starts, filed.bin, filed.sums, levels)
    made: list[Floats] = []
    for level in levels:
        _, b, (n, s) = filed.joined(level)
        columns = (np.bincount(b, x, level[-1] + 1) for x in (n, n * n, s, s * s, s * n))
        made.append(np.stack([c.astype(np.float64, copy=False) for c in columns]))
    return made


@dataclass(frozen=True, slots=True)
class Resolution:
    """Bins that filed ones are part of (`number`, which rises), and what is known of each: what residuals are taken from."""

    number: Ints
    n: Floats  # rows of the bin
    s: Floats  # and Σe
    a: Floats
    d: Floats
    n_around: Floats  # of the coarsest bin that this one is part of
    d_around: Floats
    is_coarse: bool  # there is none but itself

    def deviations(self) -> Floats:
        """(2, B): d_b² and |d_b|, each less its mean over rows."""
        both, w = np.stack([self.d**2, np.abs(self.d)]), self.n / self.n.sum()
        return both - (both @ w)[:, None]


@dataclass(frozen=True, slots=True)
class Residuals:
    """Sums over groups of products of r = (S - d n) / √(1 - n/N), d and N of the bin around, and of S itself; see `moments.Squares`."""

    r: Floats | None  # (B, B) Σ_g r r'
    s: Floats | None  # (B, B) Σ_g S S'
    along: Floats  # (B,) Σ_g r ψ
    fourth: Floats  # (2,): Σ (a r²)² and Σ (a S²)²
    by_group: Floats  # (6, G): Σ_b a r², Σ_b a S², ψ, ψ by the signs of d_b, and Σ_b n times either of `Resolution.deviations`


def residuals(filed: Filed, at: Resolution, *, of_r: bool, of_s: bool) -> Residuals:
    """Of all groups, with the products that are asked for."""
    if compiled := _compiled(2 * len(filed.bin)):
        return compiled.residuals(filed.starts, filed.bin, filed.sums, at, of_r, of_s)
    group, b, (n, s) = filed.joined(at.number)
    g, n_bins = len(filed.starts) - 1, len(at.n)
    left = 1.0 - n / at.n_around[b]
    r = (s - at.d_around[b] * n) / np.sqrt(np.where(left > 0.0, left, np.inf))
    d = at.d[b]
    if not at.is_coarse:
        d = np.divide(at.s[b] - s, at.n[b] - n, out=np.zeros(len(n)), where=at.n[b] > n)
    weighted = at.a[b] * r * r, at.a[b] * s * s
    sign = np.where(np.abs(d) > ROUNDING, np.sign(d), 0.0)
    each = (*weighted, d * r, sign * r, *(at.deviations()[:, b] * n))
    by_group = np.stack([np.bincount(group, x, g).astype(np.float64, copy=False) for x in each])

    def products_of(x: Floats) -> Floats:
        entries = group, b, x
        return products(entries, entries, g, n_bins, n_bins)

    return Residuals(
        products_of(r) if of_r else None,
        products_of(s) if of_s else None,
        np.bincount(b, r * by_group[2][group], n_bins).astype(np.float64, copy=False),
        np.array([x @ x for x in weighted]),
        by_group,
    )


def binned_sums(rows: Arranged, bins: Ints, *, less_q: bool) -> Filed:
    """Rows and Σe, e = y - q, by group and bin; without `less_q` how many are positive."""
    if compiled := _compiled(len(rows.q)):
        return Filed(*compiled.binned_sums(rows.starts, bins, rows.y, rows.q, rows.weight, less_q))
    w = np.ones(len(rows.q)) if rows.weight is None else rows.weight
    sums = np.stack([w, w * (rows.y - rows.q if less_q else rows.y)])
    return merged(_groups(rows.starts), len(rows.starts) - 1, bins, sums)


def merged(group: Ints, n_groups: int, bins: Ints, sums: Floats) -> Filed:
    """Columns of sums in order of group and bin, those of the same pair added up."""
    width = int(bins.max(initial=0)) + 1
    code = group * width + bins
    order = np.argsort(code, kind="stable")
    code = code[order]
    first = np.flatnonzero(np.diff(code, prepend=-1))
    starts = np.searchsorted(code[first], np.arange(n_groups + 1) * width)
    added = np.add.reduceat(sums[:, order], first, axis=1) if len(first) else sums
    return Filed(starts, code[first] % width, added)


def products(x: Entries, y: Entries, n_groups: int, n_x: int, n_y: int) -> Floats:
    """XᵀY of sparse (G, B) matrices, each given as group (in order), bin and value of its entries; x and y may be the same."""
    if compiled := _compiled(2 * len(x[0])):
        return compiled.products(x, y, n_groups, n_x, n_y)
    from scipy.sparse import csr_array

    def matrix(entries: Entries, n_bins: int) -> Any:
        return csr_array((entries[2], entries[:2]), shape=(n_groups, n_bins))

    left = matrix(x, n_x)
    return (left.T @ (left if x is y else matrix(y, n_y))).toarray()
