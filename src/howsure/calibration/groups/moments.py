"""What the cluster-robust estimates need of the groups: two looks at them, piece by piece, that add up.

The groups may be more than fit in memory, as long as each is whole in some piece. The first look finds the totals, from
which bins, means and weights follow; the second sums the squares of deviations from those. Notation as in
docs/evidence/theory.md: S_gb = Σe and n_gb of group g in bin b, d_b = S_b / N_b.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Protocol, TypeVar

import numpy as np

from howsure._result import Sums
from howsure.calibration.estimation.estimate import AHEAD, FEWEST_ROWS, evidence, free_doublings
from howsure.calibration.groups.clusters import POSITIVE, ROWS, SUM_Q, SUM_QQ, SUM_QY, Balance, ClusterTable
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.grouping import Resolution, group_moments, residuals

T = TypeVar("T")


Look = Callable[[ClusterTable], T]  # what is seen of one piece of the groups


class Grouped(Protocol):
    """Groups that can be looked at: a `ClusterTable`, or pieces of them kept elsewhere."""

    @property
    def levels(self) -> tuple[Ints, ...]:
        """Resolutions of the estimation bins; see `Parts`."""

    @property
    def n_drawn(self) -> int:
        """Number of drawn bins."""

    def look(self, at: Look[T], /) -> T:
        """The sum of what is seen of each piece."""


@dataclass(frozen=True, slots=True)
class Totals(Sums):
    """The first look."""

    n_groups: int
    sums: Floats  # (5,): ROWS, POSITIVE, SUM_Q, SUM_QQ, SUM_QY
    levels: tuple[Floats, ...]  # of each resolution (5, B): Σ_g of n_gb, n_gb², S_gb, S_gb² and S_gb n_gb
    drawn: Floats  # (3, D): rows, positive, groups


def group_totals(levels: Sequence[Ints], n_drawn: int, table: ClusterTable) -> Totals:
    """Of one piece; at each resolution, bin i is counted under level[i]."""
    columns = (*table.drawn.sums[[ROWS, POSITIVE]], np.ones(len(table.drawn.bin)))
    drawn = np.stack([sums_at(table.drawn.bin, c, n_drawn) for c in columns])
    moments = tuple(group_moments(table.estimation, levels))
    return Totals(len(table.ids), table.by_group.sum(axis=1), moments, drawn)


@dataclass(frozen=True, slots=True)
class Level:
    """Bins of one resolution between the looks; `joined` is the bin that each filed one is part of."""

    joined: Ints
    n: Floats
    s: Floats
    a: Floats  # w_b / (N_b² - Σ_g n_gb²); 0 where there is one group
    d: Floats
    t: float  # T
    variance: Floats  # of a row's e about d_b, what rows of a group share included

    @staticmethod
    def of(joined: Ints, sums: Floats) -> Level:
        """From the sums over groups."""
        n, nn, s, ss, sn = sums
        pairs = n**2 - nn
        w, d, some = n / n.sum(), s / np.maximum(n, 1.0), pairs > 0.0
        a = np.divide(w, pairs, out=np.zeros(len(n)), where=some)
        spread = np.divide(n * (ss - 2.0 * d * sn + d**2 * nn), pairs, out=np.zeros(len(n)), where=some)
        variance = np.maximum(spread, 0.5 / np.maximum(n, 1.0))
        return Level(joined, n, s, a, d, float(np.sum(a * (s**2 - ss))), variance)

    @property
    def d2(self) -> float:
        """Σ w d²."""
        return float(np.sum(self.n * self.d**2)) / float(self.n.sum())

    def law(self) -> tuple[float, float]:
        """Variance and third moment that T of these bins has when d = 0, what bins share of a group left out."""
        scale = np.sqrt(self.a * self.n / self.n.sum()) * self.variance
        return 2.0 * float(np.sum(scale**2)), 8.0 * float(np.sum(scale**3))


@dataclass(frozen=True, slots=True)
class Choice:
    """The level of the estimate, and what finer ones say."""

    level: int
    rise: float  # how much higher T is on the next levels
    # One whose T is higher, by more than two standard deviations of its noise and less than it takes.
    hint: Level | None


def chosen_level(levels: Sequence[Level], worth: Sequence[float]) -> Choice:
    """The level of the estimate, as without groups.

    Finer levels must have bins `worth` eight groups of one size on average. The noise of T_k - T_j is at most that of T_k, bins taken
    one by one: what a group's rows share beyond a bin is in both.
    """
    usable = next((k for k in range(1, len(levels)) if worth[k] < FEWEST_ROWS), len(levels))
    t, laws, first = [level.t for level in levels[:usable]], [level.law() for level in levels[:usable]], levels[0]
    d2, squares = first.d2, first.n / first.n.sum() * first.variance * first.d**2
    rho = float(np.sum(squares)) / d2 if d2 > 0.0 else 0.25
    planned = free_doublings([v for v, _ in laws], 4.0 * rho / float(first.n.sum()) * max(t[0], 0.0))
    chosen = planned
    for k in range(planned + 1, len(t)):
        if laws[k][0] > 0.0 and t[k] - t[chosen] > evidence(*laws[k]):
            chosen = k
    rise = max(t[chosen : chosen + AHEAD + 1]) - t[chosen]
    hints = [k for k in range(chosen + 1, len(t)) if t[k] - t[chosen] > 2.0 * sqrt(laws[k][0])]
    return Choice(chosen, rise, levels[max(hints, key=lambda k: t[k])] if hints else None)


@dataclass(frozen=True, slots=True)
class Squares(Sums):
    """The second look: sums over groups of squares of deviations, and products between bins.

    Deviations are divided by what is left without the group, 1 - h, where h is its share of the rows (of a bin), so that
    they are those from an estimate made without it.
    """

    r: Floats  # (B, B) Σ_g R_gb R_gb'
    s: Floats  # (B, B) Σ_g S_gb S_gb', on the coarsest bins
    along: Floats  # (B,) Σ_g R_gb ψ_g, ψ_g = Σ_b d_b R_gb
    linear: Floats  # (2,): Σ_g ψ_g², and the same with the sign of d_b
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
    """The second pass: `Squares`, given the sums of the first; R_gb = (S_gb - d_B n_gb) / √(1 - n_gb/N_B), B the coarsest bin around b.

    On finer bins the d_b of ψ_g is that of the other groups: with few in a bin, its own noise would pass for a direction.
    """

    coarse: Level
    level: Level
    means: Floats  # (3,): of q - y, of (y - q)², and the slope of y on q
    mean_q: float
    base: float
    sums: Floats  # (5,) of all groups
    score_mean: Floats
    drawn_n: Floats
    p_drawn: Floats

    def __call__(self, table: ClusterTable) -> Squares:
        same = self.level is self.coarse
        fine = residuals(table.estimation, self._resolution(self.level), of_r=True, of_s=same)
        coarse = fine if same else residuals(table.estimation, self._resolution(self.coarse), of_r=False, of_s=True)
        assert fine.r is not None
        assert coarse.s is not None
        own_r, _, *psi, squared, absolute = fine.by_group
        x = table.by_group
        h = x[ROWS] / self.sums[ROWS]
        # Of a single group nothing is left without it; it has no interval anyway.
        without = np.maximum(1.0 - h, 1e-12)
        gap, brier = self.means[:2]
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
            fine.r,
            coarse.s,
            fine.along,
            np.array([_square(p) for p in psi]),
            _square(own_r),
            _square(coarse.by_group[1]),
            float(fine.fourth[0]),
            float(coarse.fourth[1]),
            _square(squared / without),
            _square(absolute / without),
            score @ score.T,
            _square((x[SUM_Q] - x[POSITIVE] - gap * x[ROWS]) / without),
            _square((x[POSITIVE] - 2.0 * x[SUM_QY] + x[SUM_QQ] - brier * x[ROWS]) / without),
            _square(self._slope_without(x, spread, cross, total_spread)),
            Balance.of(np.minimum(h, 1.0 - 1e-12)),
            Balance.of(np.minimum(share, 1.0 - 1e-12)),
            np.stack([sums_at(drawn, c, len(self.p_drawn)) for c in columns]),
        )

    def _resolution(self, level: Level) -> Resolution:
        around = np.zeros(len(level.n), np.int64)
        around[level.joined] = self.coarse.joined
        of_around = self.coarse.n[around], self.coarse.d[around]
        return Resolution(level.joined, level.n, level.s, level.a, level.d, *of_around, level is self.coarse)

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
    choice: Choice
    n_groups: int  # G
    n_rows: float  # N


def moments(grouped: Grouped) -> Moments:
    """Look at the groups twice; once more where some bin holds a single group."""
    levels, choice = list(grouped.levels), None
    while True:
        totals = grouped.look(partial(group_totals, levels, grouped.n_drawn))
        found = [Level.of(joined, sums) for joined, sums in zip(levels, totals.levels, strict=True)]
        if choice is None:
            worth = [float(np.mean(n**2 / np.maximum(nn, 1.0))) for n, nn, *_ in totals.levels]
            choice = chosen_level(found, worth)
            found = [found[k] for k in sorted({0, choice.level})]
        levels = [_two_groups_a_bin(level) for level in found]
        if all(now is level.joined for now, level in zip(levels, found, strict=True)):
            break
    rows, positive, sum_q, _qq, _qy = totals.sums.tolist()
    drawn_n, drawn_positive, _ = totals.drawn
    p_drawn = drawn_positive / np.maximum(drawn_n, 1.0)
    mean_q, base = sum_q / rows, positive / rows
    spread, cross = (float(x) for x in spreads(totals.sums, mean_q, base))
    brier = positive - 2.0 * float(totals.sums[SUM_QY]) + float(totals.sums[SUM_QQ])
    plan = SquaresLook(
        found[0],
        found[-1],
        np.array([mean_q - base, brier / rows, cross / spread if spread > 0.0 else 0.0]),
        mean_q,
        base,
        totals.sums,
        scores(totals.sums) / max(totals.n_groups, 1),
        np.maximum(drawn_n, 1.0),
        p_drawn,
    )
    return Moments(totals, grouped.look(plan), plan, spread, choice, totals.n_groups, rows)


def scores(x: Floats) -> Floats:
    """(Σe, Σe(1-2q)) of each column of sums."""
    error = x[POSITIVE] - x[SUM_Q]
    return np.stack([error, error - 2.0 * (x[SUM_QY] - x[SUM_QQ])])


def spreads(x: Floats, mean_q: float, base: float) -> tuple[Floats, Floats]:
    """Σ(q - mean q)² and Σ(q - mean q)(y - base) of each column of sums."""
    spread = x[SUM_QQ] - 2.0 * mean_q * x[SUM_Q] + x[ROWS] * mean_q**2
    cross = x[SUM_QY] - base * x[SUM_Q] - mean_q * x[POSITIVE] + x[ROWS] * mean_q * base
    return spread, cross


def _two_groups_a_bin(level: Level) -> Ints:
    """Where every bin of one group is joined to the bin before (the first to the one after); the same object if there is none."""
    lonely = level.a == 0.0
    if len(lonely) == 1 or not lonely.any():
        return level.joined
    begins = ~lonely
    begins[0] = True
    begins[1] &= not lonely[0]
    return (np.cumsum(begins) - 1)[level.joined]


def sums_at(where: Ints, values: Floats, size: int) -> Floats:
    """Sums of values by place."""
    return np.bincount(where, values, size).astype(np.float64, copy=False)


def _square(values: Floats) -> float:
    return float(values @ values)
