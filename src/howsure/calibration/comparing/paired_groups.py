"""Rows in groups that several models scored: two looks at the groups, piece by piece, that add up.

Every group is whole in some piece. The first look finds the totals, from which the weights a_b, the means d_b and the
mean differences follow; the second sums products of deviations from those. Notation as in `cluster_moments`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from howsure._result import Sums
from howsure.calibration.comparing.paired_rows import Plan, row_log_loss
from howsure.calibration.groups.clusters import Balance
from howsure.calibration.groups.moments import sums_at
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.grouping import Arranged, binned_sums, numbered, products

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Side:
    """One model's residuals by group and bin: rows and Σe of each pair that occurs."""

    group: Ints
    bin: Ints
    n: Floats
    s: Floats


@dataclass(frozen=True)
class PairedPiece:
    """Some whole groups."""

    rows: Floats  # (G,)
    sides: tuple[Side, ...]
    deltas: Floats  # (2, P, G): Σ of the difference in Brier score and in log loss, by pair and group

    @staticmethod
    def of(plan: Plan, groups: NDArray[Any], ys: Sequence[NDArray[np.uint8]], qs: Sequence[Floats]) -> PairedPiece:
        """File rows; `groups` are numbers of any kind, one a row."""
        ids, group = numbered(groups)
        g = len(ids)
        e = [y - q for y, q in zip(ys, qs, strict=True)]
        sides = []
        for m, y, q in zip(plan.models, ys, qs, strict=True):
            rows = Arranged.of(group, g, y, q)
            filed = binned_sums(rows, m.bins(rows.q), less_q=True)
            sides.append(Side(filed.group, filed.bin, *filed.sums))
        squares = [x**2 for x in e]
        losses = [
            None if m.log_loss is None else row_log_loss(y, q) for m, y, q in zip(plan.models, ys, qs, strict=True)
        ]
        deltas = np.zeros((2, len(plan.pairs), g))
        for p, (i, j) in enumerate(plan.pairs):
            deltas[0, p] = np.bincount(group, squares[i] - squares[j], g)
            one, other = losses[i], losses[j]
            if one is not None and other is not None:
                deltas[1, p] = np.bincount(group, one - other, g)
        return PairedPiece(np.bincount(group, minlength=g).astype(np.float64), tuple(sides), deltas)


PairedLook = Callable[[PairedPiece], T]  # what is seen of one piece


@dataclass(frozen=True)
class PairedTotals(Sums):
    """The first look."""

    n_groups: int
    n_rows: float
    bins: tuple[Floats, ...]  # each model's (4, B): Σ_g n_gb, Σ_g n_gb², Σ_g S_gb, Σ_g S_gb²
    deltas: Floats  # (2, P)

    @property
    def means(self) -> Floats:
        """The mean differences, (2, P)."""
        return self.deltas / self.n_rows


def paired_totals(sizes: Sequence[int], piece: PairedPiece) -> PairedTotals:
    """Of one piece, given how many bins each model has."""
    made = []
    for side, size in zip(piece.sides, sizes, strict=True):
        columns = (side.n, side.n**2, side.s, side.s**2)
        made.append(np.stack([sums_at(side.bin, c, size) for c in columns]))
    return PairedTotals(len(piece.rows), float(piece.rows.sum()), tuple(made), piece.deltas.sum(axis=2))


@dataclass(frozen=True, slots=True)
class Weighing:
    """One model between the looks: its estimate T, and by bin rows, Σe, weights, means and unbiased squares of means."""

    t: float
    n: Floats
    s: Floats
    a: Floats
    d: Floats
    u: Floats

    @staticmethod
    def of(bins: Floats) -> Weighing:
        """From the totals by bin."""
        size, nn, s, ss = bins
        total = float(size.sum())
        pairs = size**2 - nn
        # A bin of one group has no pairs of groups and cannot be estimated; it carries no weight.
        a = np.divide(size / total, pairs, out=np.zeros(len(size)), where=pairs > 0)
        u = np.divide(s**2 - ss, pairs, out=np.zeros(len(size)), where=pairs > 0)
        return Weighing(float(np.sum(a * (s**2 - ss))), size, s, a, s / np.maximum(size, 1.0), u)


@dataclass(frozen=True)
class PairedSquares(Sums):
    """The second look, sums over groups."""

    influence: Floats  # (P,): of the squared difference of influences, with the bins as they are
    weight: Floats  # (P,): of what a group's rows change in the weights of the bins
    own: Floats  # (M, M): of products of Σ_b a_b R_gb²
    grams: tuple[tuple[Floats, ...], ...]  # of models i <= j: √a RᵀR' √a'
    deltas: Floats  # (2, P): Σ_g [(Σδ - mean n_g) / (1 - h_g)]²
    balance: Balance


def paired_squares(
    plan: Plan, weighings: Sequence[Weighing], totals: PairedTotals, piece: PairedPiece
) -> PairedSquares:
    """Of one piece, given the sums of the first look; R_gb = (S_gb - d_b n_gb) / √(1 - n_gb/N_b)."""
    g = len(piece.rows)
    h = piece.rows / totals.n_rows
    influence, weight, own, entries = [], [], [], []
    for side, w in zip(piece.sides, weighings, strict=True):
        others = w.n[side.bin] - side.n
        alone = others <= 0.0
        others = np.where(alone, 1.0, others)
        r = np.where(alone, 0.0, (side.s - w.d[side.bin] * side.n) * np.sqrt(w.n[side.bin] / others))
        without = (w.s[side.bin] - side.s) / others  # the mean of the bin's other groups
        influence.append(np.bincount(side.group, 2.0 * without * r, g) / totals.n_rows)
        weight.append(np.bincount(side.group, (w.u[side.bin] - w.t) * side.n, g) / totals.n_rows)
        own.append(sums_at(side.group, w.a[side.bin] * r**2, g))
        entries.append((side.group, side.bin, np.sqrt(w.a[side.bin]) * r))

    def between(i: int, j: int) -> Floats:
        return products(entries[i], entries[j], g, len(weighings[i].d), len(weighings[j].d))

    every = np.stack(own)
    about = (piece.deltas - totals.means[:, :, None] * piece.rows) / (1.0 - h)
    return PairedSquares(
        np.array([np.sum((influence[i] - influence[j]) ** 2) for i, j in plan.pairs]),
        np.array([np.sum(((weight[i] - weight[j]) / (1.0 - h)) ** 2) for i, j in plan.pairs]),
        every @ every.T,
        tuple(tuple(between(i, j) for j in range(i, len(entries))) for i in range(len(entries))),
        np.sum(about**2, axis=2),
        Balance.of(h),
    )
