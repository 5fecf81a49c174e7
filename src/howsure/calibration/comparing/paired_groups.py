"""Rows in groups that several models scored: two looks at the groups, piece by piece, that add up.

Every group is whole in some piece. The first look finds the totals, from which the weights a_b, the means d_b and the
mean differences follow; the second sums products of deviations from those. Notation as in `cluster_moments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.comparing.paired_rows import Plan, row_log_loss
from howsure.kernels.cells import Floats, Ints

Seen = TypeVar("Seen", covariant=True)


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
        ids, group = np.unique(groups, return_inverse=True)
        g = len(ids)
        e = [y - q for y, q in zip(ys, qs, strict=True)]
        sides = []
        for m, q, residual in zip(plan.models, qs, e, strict=True):
            code, where = np.unique(group * len(m) + m.bins(q), return_inverse=True)
            n = np.bincount(where, minlength=len(code)).astype(np.float64)
            sides.append(Side(code // len(m), code % len(m), n, _sums(where, residual, len(code))))
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


class PairedLook(Protocol[Seen]):
    """What is seen of one piece."""

    def __call__(self, piece: PairedPiece, /) -> Seen: ...


@dataclass(frozen=True)
class PairedTotals:
    """The first look."""

    n_groups: int
    n_rows: float
    bins: tuple[Floats, ...]  # each model's (4, B): Σ_g n_gb, Σ_g n_gb², Σ_g S_gb, Σ_g S_gb²
    deltas: Floats  # (2, P)

    def __add__(self, other: PairedTotals) -> PairedTotals:
        return PairedTotals(
            self.n_groups + other.n_groups,
            self.n_rows + other.n_rows,
            tuple(a + b for a, b in zip(self.bins, other.bins, strict=True)),
            self.deltas + other.deltas,
        )


@dataclass(frozen=True, slots=True)
class PairedTotalsLook:
    """Sees `PairedTotals`, given how many bins each model has."""

    sizes: tuple[int, ...]

    def __call__(self, piece: PairedPiece) -> PairedTotals:
        made = []
        for side, size in zip(piece.sides, self.sizes, strict=True):
            columns = (side.n, side.n**2, side.s, side.s**2)
            made.append(np.stack([_sums(side.bin, c, size) for c in columns]))
        return PairedTotals(len(piece.rows), float(piece.rows.sum()), tuple(made), piece.deltas.sum(axis=2))


@dataclass(frozen=True, slots=True)
class Weighing:
    """One model between the looks: its estimate T, weights and means."""

    t: float
    a: Floats
    d: Floats
    d2: float

    @staticmethod
    def of(bins: Floats) -> Weighing:
        """From the totals by bin."""
        size, nn, s, ss = bins
        total = float(size.sum())
        pairs = size**2 - nn
        # A bin of one group has no pairs of groups and cannot be estimated; it carries no weight.
        a = np.divide(size / total, pairs, out=np.zeros(len(size)), where=pairs > 0)
        d = s / np.maximum(size, 1.0)
        return Weighing(float(np.sum(a * (s**2 - ss))), a, d, float(np.sum(size * d**2)) / total)


@dataclass(frozen=True)
class PairedSquares:
    """The second look, sums over groups."""

    linear: Floats  # (P,): of the squared difference of influences
    own: Floats  # (M, M): of products of Σ_b a_b R_gb²
    grams: tuple[tuple[Floats, ...], ...]  # of models i <= j: √a RᵀR' √a'
    deltas: Floats  # (2, P): Σ_g (Σδ - mean n_g)²

    def __add__(self, other: PairedSquares) -> PairedSquares:
        return PairedSquares(
            self.linear + other.linear,
            self.own + other.own,
            tuple(
                tuple(a + b for a, b in zip(x, y, strict=True)) for x, y in zip(self.grams, other.grams, strict=True)
            ),
            self.deltas + other.deltas,
        )

    def gram(self, i: int, j: int) -> Floats:
        """Of models i <= j."""
        return self.grams[i][j - i]


@dataclass(frozen=True, slots=True)
class PairedSquaresLook:
    """Sees `PairedSquares`, given what the first look told."""

    pairs: tuple[tuple[int, int], ...]
    weighings: tuple[Weighing, ...]
    n_rows: float
    means: Floats  # (2, P)

    def __call__(self, piece: PairedPiece) -> PairedSquares:
        from scipy.sparse import csr_array

        g = len(piece.rows)
        influence, own, matrix = [], [], []
        for side, w in zip(piece.sides, self.weighings, strict=True):
            d = w.d[side.bin]
            r = side.s - d * side.n
            # How a group moves T: Σ_b [2 d_b R_gb + (d_b² - D2) n_gb] / N.
            influence.append(np.bincount(side.group, 2.0 * d * r + (d**2 - w.d2) * side.n, g) / self.n_rows)
            own.append(_sums(side.group, w.a[side.bin] * r**2, g))
            weighted = np.sqrt(w.a[side.bin]) * r
            matrix.append(csr_array((weighted, (side.group, side.bin)), shape=(g, len(w.d))))
        every = np.stack(own)
        about = piece.deltas - self.means[:, :, None] * piece.rows
        return PairedSquares(
            np.array([np.sum((influence[i] - influence[j]) ** 2) for i, j in self.pairs]),
            every @ every.T,
            tuple(tuple((x.T @ y).toarray() for y in matrix[i:]) for i, x in enumerate(matrix)),
            np.sum(about**2, axis=2),
        )


def _sums(where: Ints, values: Floats, size: int) -> Floats:
    made: Floats = np.bincount(where, values, size).astype(np.float64, copy=False)
    return made
