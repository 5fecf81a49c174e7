"""What the cluster-robust estimates need of the groups: two looks at them, piece by piece, that add up.

The groups may be more than fit in memory, as long as each is whole in some piece. The first look finds the totals, from
which bins, means and weights follow; the second sums the squares of deviations from those. Notation as in
docs/evidence/theory.md: S_gb = Σe and n_gb of group g in bin b, d_b = S_b / N_b.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from howsure._result import Sums
from howsure.calibration.groups.clusters import POSITIVE, ROWS, SUM_Q, SUM_QQ, SUM_QY, Balance, ClusterTable
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.grouping import products

T = TypeVar("T")
Seen = TypeVar("Seen", covariant=True)
_NOBODY = np.iinfo(np.uint64).max


class Look(Protocol[Seen]):
    """What is seen of one piece of the groups."""

    def __call__(self, table: ClusterTable, /) -> Seen: ...


class Grouped(Protocol):
    """Groups that can be looked at: a `ClusterTable`, or pieces of them kept elsewhere."""

    @property
    def n_estimation(self) -> int:
        """Number of estimation bins."""

    @property
    def n_drawn(self) -> int:
        """Number of drawn bins."""

    def look(self, at: Look[T], /) -> T:
        """The sum of what is seen of each piece."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The first look. By estimation bin: the least and the greatest group, and sums over groups."""

    n_groups: int
    sums: Floats  # (5,): ROWS, POSITIVE, SUM_Q, SUM_QQ, SUM_QY
    least: NDArray[np.uint64]
    greatest: NDArray[np.uint64]
    n: Floats  # Σ_g n_gb
    nn: Floats  # Σ_g n_gb²
    s: Floats  # Σ_g S_gb
    ss: Floats  # Σ_g S_gb²
    drawn_n: Floats
    drawn_positive: Floats
    drawn_groups: Ints

    def __add__(self, other: Totals) -> Totals:
        made: dict[str, Any] = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        made["least"] = np.minimum(self.least, other.least)
        made["greatest"] = np.maximum(self.greatest, other.greatest)
        return Totals(**made)


@dataclass(frozen=True, slots=True)
class TotalsLook:
    """Sees `Totals`, with estimation bin i counted under joined[i]."""

    joined: Ints
    n_drawn: int

    def __call__(self, table: ClusterTable) -> Totals:
        filed = table.estimated(self.joined)
        b, sums = filed.bin, filed.sums
        n_bins = int(self.joined.max()) + 1
        least = np.full(n_bins, _NOBODY)
        greatest = np.zeros(n_bins, np.uint64)
        named = table.ids[filed.group]
        least[b[::-1]] = named[::-1]  # groups are in order, and the last to be written stays
        greatest[b] = named
        n, s = sums[ROWS], sums[POSITIVE] - sums[SUM_Q]
        drawn, of_drawn = table.drawn.bin, table.drawn.sums
        return Totals(
            table.n_groups,
            table.by_group.sum(axis=1),
            least,
            greatest,
            _sums(b, n, n_bins),
            _sums(b, n**2, n_bins),
            _sums(b, s, n_bins),
            _sums(b, s**2, n_bins),
            _sums(drawn, of_drawn[ROWS], self.n_drawn),
            _sums(drawn, of_drawn[POSITIVE], self.n_drawn),
            np.bincount(drawn, minlength=self.n_drawn),
        )


@dataclass(frozen=True, slots=True)
class Squares(Sums):
    """The second look: sums over groups of squares of deviations, and products between bins.

    Deviations are divided by what is left without the group, 1 - h, where h is its share of the rows (of a bin), so that
    they are those from an estimate made without it.
    """

    r: Floats  # (B, B) Σ_g R_gb R_gb'
    s: Floats  # (B, B) Σ_g S_gb S_gb'
    own_r: float  # Σ_g (Σ_b a_b R_gb²)²
    own_s: float
    fourth_r: float  # Σ_gb (a_b R_gb²)²
    fourth_s: float
    shared: float  # Σ_g (Σ_b (d_b² - D2) n_gb / (1 - h_g))²
    apart: float  # Σ_g (Σ_b (|d_b| - Σ w|d|) n_gb / (1 - h_g))²
    score: Floats  # (2, 2) of the score statistics about their mean over groups
    gap: float  # Σ_g [(Σ(q - y) - mean n_g) / (1 - h_g)]²
    brier: float
    slope: float  # Σ_g (the slope without g less the slope)²
    rows: Balance  # of the groups' shares of the rows
    leverage: Balance  # of their shares of Σ(q - mean q)²
    drawn: Floats  # (4, D) by drawn bin: Σ_g [(k_g - p n_g) / (1 - h_gb)]², Σ h², Σ β and Σ β² (see `Balance`)


@dataclass(frozen=True, slots=True)
class SquaresLook:
    """The second pass: `Squares`, given the sums of the first; R_gb = (S_gb - d_b n_gb) / √(1 - n_gb/N_b)."""

    joined: Ints
    size: Floats
    a: Floats
    d: Floats
    d2: float
    means: Floats  # (3,): of q - y, of (y - q)², and the slope of y on q
    mean_q: float
    base: float
    sums: Floats  # (5,) of all groups
    score_mean: Floats
    drawn_n: Floats
    p_drawn: Floats

    def __call__(self, table: ClusterTable) -> Squares:
        filed = table.estimated(self.joined)
        group, b, sums = filed.group, filed.bin, filed.sums
        n, s = sums[ROWS], sums[POSITIVE] - sums[SUM_Q]
        left = np.maximum(1.0 - n / self.size[b], 0.0)
        r = np.divide(s - self.d[b] * n, np.sqrt(left), out=np.zeros(len(n)), where=left > 0.0)
        weighted_r, weighted_s = self.a[b] * r**2, self.a[b] * s**2
        g = table.n_groups
        x = table.by_group
        h = x[ROWS] / self.sums[ROWS]
        # Of a single group nothing is left without it; it has no interval anyway.
        without = np.maximum(1.0 - h, 1e-12)
        gap, brier = self.means[:2]
        plug_in = float(np.sum(self.size * np.abs(self.d))) / self.sums[ROWS]
        score = scores(x) - self.score_mean[:, None]
        spread, cross = spreads(x, self.mean_q, self.base)
        total_spread = float(spreads(self.sums, self.mean_q, self.base)[0])
        share = np.clip(spread / total_spread, 0.0, 1.0 - 1e-12) if total_spread > 0.0 else h
        drawn, of_drawn = table.drawn.bin, table.drawn.sums
        part = of_drawn[ROWS] / self.drawn_n[drawn]
        rest = np.maximum(1.0 - part, 1e-12)
        residual = (of_drawn[POSITIVE] - self.p_drawn[drawn] * of_drawn[ROWS]) / rest
        beta = np.where(part < 1.0, part**2 / rest, 0.0)
        columns = (np.where(part < 1.0, residual**2, 0.0), part**2, beta, beta**2)
        return Squares(
            _squares((group, b, r), g, len(self.d)),
            _squares((group, b, s), g, len(self.d)),
            _square(_sums(group, weighted_r, g)),
            _square(_sums(group, weighted_s, g)),
            _square(weighted_r),
            _square(weighted_s),
            _square(_sums(group, (self.d[b] ** 2 - self.d2) * n, g) / without),
            _square(_sums(group, (np.abs(self.d[b]) - plug_in) * n, g) / without),
            score @ score.T,
            _square((x[SUM_Q] - x[POSITIVE] - gap * x[ROWS]) / without),
            _square((x[POSITIVE] - 2.0 * x[SUM_QY] + x[SUM_QQ] - brier * x[ROWS]) / without),
            _square(self._slope_without(x, spread, cross, total_spread)),
            Balance.of(np.minimum(h, 1.0 - 1e-12)),
            Balance.of(np.minimum(share, 1.0 - 1e-12)),
            np.stack([_sums(drawn, c, len(self.p_drawn)) for c in columns]),
        )

    def _slope_without(self, x: Floats, spread: Floats, cross: Floats, total_spread: float) -> Floats:
        """The slope of all other groups less the slope of all, for each group.

        Without the group the other rows have the mean q̄ - (Σ_g(q - q̄))/(N - n_g), hence Σ(q - q̄)² less the group's and less
        (Σ_g(q - q̄))²/(N - n_g), and Σ(q - q̄) r, r the residuals from the line of all, in the same way.
        """
        if total_spread <= 0.0:
            return np.zeros_like(spread)
        others = np.maximum(self.sums[ROWS] - x[ROWS], 1e-12)
        away = x[SUM_Q] - self.mean_q * x[ROWS]
        slope = float(self.means[2])
        residual = x[POSITIVE] - self.base * x[ROWS] - slope * away
        below = total_spread - spread - away**2 / others
        above = -(cross - slope * spread) - away * residual / others
        # q that does not vary without the group leaves the slope open: as far off as can be known.
        return above / np.maximum(below, 1e-9 * total_spread)


@dataclass(frozen=True, slots=True)
class Moments:
    """Both looks, and the constants between them."""

    totals: Totals
    squares: Squares
    plan: SquaresLook
    q_spread: float  # Σ (q - mean q)²

    @property
    def n_groups(self) -> int:
        """G."""
        return self.totals.n_groups

    @property
    def n_rows(self) -> float:
        """N."""
        return float(self.totals.sums[ROWS])


def moments(grouped: Grouped) -> Moments:
    """Look at the groups twice; once more where some bin holds a single group."""
    every = np.arange(grouped.n_estimation)
    totals = grouped.look(TotalsLook(every, grouped.n_drawn))
    joined = _two_groups_a_bin(totals.least, totals.greatest)
    if joined[-1] < every[-1]:
        totals = grouped.look(TotalsLook(joined, grouped.n_drawn))
    rows, positive, sum_q, _qq, _qy = totals.sums.tolist()
    size = totals.n
    d = totals.s / size
    with np.errstate(divide="ignore", invalid="ignore"):
        a = (size / rows) / (size**2 - totals.nn)
        p_drawn = np.nan_to_num(totals.drawn_positive / totals.drawn_n)
    mean_q, base = sum_q / rows, positive / rows
    spread, cross = (float(x) for x in spreads(totals.sums, mean_q, base))
    brier = positive - 2.0 * float(totals.sums[SUM_QY]) + float(totals.sums[SUM_QQ])
    plan = SquaresLook(
        joined,
        size,
        np.where(np.isfinite(a), a, 0.0),
        d,
        float(np.sum(size / rows * d**2)),
        np.array([mean_q - base, brier / rows, cross / spread if spread > 0.0 else 0.0]),
        mean_q,
        base,
        totals.sums,
        scores(totals.sums) / max(totals.n_groups, 1),
        np.maximum(totals.drawn_n, 1.0),
        p_drawn,
    )
    return Moments(totals, grouped.look(plan), plan, spread)


def scores(x: Floats) -> Floats:
    """(Σe, Σe(1-2q)) of each column of sums."""
    error = x[POSITIVE] - x[SUM_Q]
    return np.stack([error, error - 2.0 * (x[SUM_QY] - x[SUM_QQ])])


def spreads(x: Floats, mean_q: float, base: float) -> tuple[Floats, Floats]:
    """Σ(q - mean q)² and Σ(q - mean q)(y - base) of each column of sums."""
    spread = x[SUM_QQ] - 2.0 * mean_q * x[SUM_Q] + x[ROWS] * mean_q**2
    cross = x[SUM_QY] - base * x[SUM_Q] - mean_q * x[POSITIVE] + x[ROWS] * mean_q * base
    return spread, cross


def _two_groups_a_bin(least: NDArray[np.uint64], greatest: NDArray[np.uint64]) -> Ints:
    """The number of each bin once every bin of one group is joined to the bin before (the first to the one after)."""
    # A bin that nobody is in belongs to the one before.
    number = np.maximum(np.cumsum(least <= greatest) - 1, 0)
    there = np.flatnonzero(least <= greatest)
    least, greatest = least[there], greatest[there]
    while True:
        lonely = np.flatnonzero(least == greatest)
        if not len(lonely) or len(least) == 1:
            return number
        begins = np.ones(len(least), bool)  # whether a bin still begins one
        begins[lonely] = False
        begins[0] = True
        if lonely[0] == 0:
            begins[1] = False
        starts = np.flatnonzero(begins)
        least, greatest = np.minimum.reduceat(least, starts), np.maximum.reduceat(greatest, starts)
        number = (np.cumsum(begins) - 1)[number]


def _squares(x: tuple[Ints, Ints, Floats], n_groups: int, n_bins: int) -> Floats:
    """XᵀX for the sparse (G, B) matrix X of group, bin and value."""
    return products(x, x, n_groups, n_bins, n_bins)


def _sums(where: Ints, values: Floats, size: int) -> Floats:
    made: Floats = np.bincount(where, values, size).astype(np.float64, copy=False)
    return made


def _square(values: Floats) -> float:
    return float(np.sum(values**2))
