"""The debiased calibration error.

θ² = E[(q - p(q))²] is estimated on bins of its own, not those drawn. The plug-in Σ w_b d_b² counts the sampling
noise of every bin as miscalibration; subtracting an unbiased estimate of that noise leaves

    T = N⁻¹ Σ_b (E_b² - Q_b) / (n_b - 1),    E = Σ(y - q), Q = Σ(y - q)² of a bin,

which only multiplies residuals of different rows. How fine the bins are is decided by the data. Derivation and
simulations: docs/evidence/theory.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import ClassVar

import numpy as np

from howsure._result import Record
from howsure.calibration.sketch import Sketch
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints, run_begins, sum_of

MOST_BINS = 4096
MOST_SKEW = 2.8
FEWEST_ROWS = 8  # rows a bin on average, where bins are doubled
EVIDENCE = 3.0  # normal deviate that a rise of T with finer bins must reach to be taken for structure
AHEAD = 3  # doublings beyond the chosen bins that the upper limit allows for


@dataclass(frozen=True)
class BinSums:
    """Per estimation bin: first cell, rows n, E = Σe, Q = Σe², and mean q(1-q) = the variance if calibrated."""

    starts: Ints
    n: Floats
    e: Floats
    q: Floats
    null_variance: Floats

    @cached_property
    def total(self) -> float:
        """N."""
        return float(self.n.sum())

    @cached_property
    def weight(self) -> Floats:
        """w = n_b / N."""
        return self.n / self.total

    @cached_property
    def gap(self) -> Floats:
        """d = mean of y - q."""
        return self.e / self.n

    @cached_property
    def variance(self) -> Floats:
        """s², the variance of y - q inside the bin, floored at ½/n_b so that an all-right bin is not certain."""
        n = self.n
        return np.maximum((self.q - n * self.gap**2) / np.maximum(n - 1.0, 1.0), 0.5 / n)

    @cached_property
    def squared_error(self) -> float:
        """T, the debiased θ². May be negative when the truth is near 0."""
        return sum_of((self.e**2 - self.q) / (self.n - 1.0)) / self.total

    @cached_property
    def null_spread(self) -> float:
        """V0, the variance of T when d = 0: 2 Σ n/(n-1) (s²/N)²."""
        return 2.0 * sum_of(self.n / (self.n - 1.0) * (self.variance / self.total) ** 2)

    @cached_property
    def null_third(self) -> float:
        """K3, the third central moment of T when d = 0: 8 Σ (s²/N)³."""
        return 8.0 * sum_of((self.variance / self.total) ** 3)


def estimation_bins(sketch: Sketch, count: int, *, heaps: bool = True) -> BinSums:
    """About `count` bins, spaced half by rank and half by asin √q, with an edge at ½ and two rows at least.

    With `heaps`, a value that holds N/(2 count) rows has a bin of its own, as has ½. Rows are placed by the fixed cell
    they fall into, never by a rounded sum, and no cell is parted: the bins, and so the estimate, are the same whether
    the sketch is still exact or has collapsed.
    """
    return nested_bins(sketch, [count], heaps=heaps)[0]


def nested_bins(sketch: Sketch, counts: Sequence[int], *, heaps: bool = True) -> list[BinSums]:
    """`estimation_bins` for several counts."""
    c = sketch.fixed
    made = []
    for count in counts:
        begins = run_begins(3.0 * np.floor(count * c.place) + c.half)
        if heaps:
            heap = c.sums[0] >= max(sketch.n / (2 * count), 2.0)
            begins |= heap
            begins[1:] |= heap[:-1]
        first = np.flatnonzero(begins)
        first = _at_least_two(first, c.sums[0], c.half[first])
        n, e, ee, null = np.add.reduceat(c.sums, first, axis=1)
        made.append(BinSums(c.starts[first], n, e, ee, null / n))
    return made


def _at_least_two(starts: Ints, size: Floats, half: Ints) -> Ints:
    """Join every bin of one row to its neighbour towards ½, so that the bins of 1 - q mirror those of q.

    `half` is 0, 1 or 2 for bins below, at and above ½.
    """
    n = np.add.reduceat(size, starts)
    if n.min() >= 2 or len(n) == 1:
        return starts
    below, above = np.searchsorted(half, [1, 2]).tolist()
    firsts = _pairs(n[above:][::-1])  # from 1 downwards
    ends = [above, *(len(n) - first for first in firsts[:0:-1])][: len(firsts)]
    made = starts[[*_pairs(n[:below]), *range(below, above), *ends]]
    rows = np.add.reduceat(size, made)
    for short in np.flatnonzero(rows < 2)[::-1].tolist():  # a side, or ½ itself, that holds one row in all
        if len(made) > 1:
            made = np.delete(made, short if short else 1)
    return made


def _pairs(n: Floats) -> list[int]:
    """First index of runs with two rows at least, the last run joined to the one before if it is short.

    A bin of one row that begins a run takes in the next.
    """
    firsts: list[int] = []
    takes = False
    for i, rows in enumerate(n.tolist()):
        if not takes:
            firsts.append(i)
        takes = not takes and rows < 2
    return firsts[:-1] if takes and len(firsts) > 1 else firsts


def bin_count(n: int) -> int:
    """B = max(10, N^0.4), at most 4,096."""
    return min(max(10, round(n**0.4)), MOST_BINS)


@dataclass(frozen=True, slots=True)
class Resolution(Record):
    """How fine the bins are that the error is estimated on: what changes faster than they do is averaged out."""

    SHOWN: ClassVar[str] = "bins rows_per_bin is_full"

    bins: int
    values: int  # distinct probabilities
    n: int

    @property
    def rows_per_bin(self) -> float:
        """On average."""
        return self.n / self.bins

    @property
    def is_full(self) -> bool:
        """Whether every distinct probability has a bin of its own, so that nothing is averaged out."""
        return self.bins == self.values

    @property
    def words(self) -> str:
        """What the bins can see."""
        if self.is_full:
            return "each distinct probability by itself"
        return f"about {max(round(self.rows_per_bin), 1):,} rows in each; faster changes are averaged out"


@dataclass(frozen=True, slots=True)
class Ladder:
    """Bins of one resolution after another, and the one that the error is estimated on.

    T can only see what differs between bins: θ² of the bins is at most θ². Finer bins see more and add noise.
    """

    levels: tuple[BinSums, ...]  # max(10, N^0.4) bins, then doubled each time
    planned: int  # the level that costs next to nothing, chosen without looking for structure
    chosen: int  # the level of the estimate: the planned one, or a finer one that shows structure
    values: int  # distinct probabilities (fixed cells)

    @property
    def bins(self) -> BinSums:
        """The bins of the estimate."""
        return self.levels[self.chosen]

    @property
    def finer(self) -> BinSums:
        """The bins one doubling beyond, if there are any."""
        return self.levels[min(self.chosen + 1, len(self.levels) - 1)]

    @property
    def highest(self) -> float:
        """The largest T of the estimate's bins and of the next doublings."""
        return max(b.squared_error for b in self.levels[self.chosen : self.chosen + AHEAD + 1])

    @property
    def resolution(self) -> Resolution:
        """How fine the bins of the estimate are."""
        return Resolution(len(self.bins.n), self.values, round(self.bins.total))


def ladder(sketch: Sketch) -> Ladder:
    """Bins as fine as the data ask for.

    B = max(10, N^0.4), doubled while the extra noise is small beside the estimate's own; from there to the finest bins
    whose T is higher than the noise that they add can explain (a normal deviate of `EVIDENCE`).
    """
    n, levels = sketch.n, resolutions(sketch, MOST_BINS)
    spread, third = [b.null_spread for b in levels], [b.null_third for b in levels]
    t = [b.squared_error for b in levels]
    first = levels[0]
    d2 = sum_of(first.weight * first.gap**2)
    rho = sum_of(first.weight * first.variance * first.gap**2) / d2 if d2 > 0 else 0.25
    planned = free_doublings(spread, 4 * rho / n * max(t[0], 0.0))
    chosen = planned
    for k in range(planned + 1, len(levels)):
        # The noise that finer bins add is independent of what was there; at least half of their share of it.
        least = 0.5 - 0.5 * len(levels[chosen].n) / len(levels[k].n)
        added = max(spread[k] - spread[chosen], least * spread[k])
        if t[k] - t[chosen] > evidence(added, max(third[k] - third[chosen], least * third[k])):
            chosen = k
    return Ladder(tuple(levels), planned, chosen, len(sketch.fixed.starts))


def resolutions(sketch: Sketch, most: int) -> list[BinSums]:
    """max(10, N^0.4) bins, then doubled up to N/8 or `most`, until there are no more to be had."""
    counts = [bin_count(sketch.n)]
    while 2 * counts[-1] <= min(sketch.n / FEWEST_ROWS, most):
        counts.append(2 * counts[-1])
    levels = nested_bins(sketch, counts)
    while len(levels) > 1 and len(levels[-1].n) == len(levels[-2].n):
        levels.pop()
    return levels


def free_doublings(spread: Sequence[float], linear: float) -> int:
    """The level that doubling reaches while it costs little: `spread` is V0 of each, `linear` the rest of the first's variance."""
    level = 0
    while level + 1 < len(spread) and 2 * spread[level] <= 0.2 * linear:
        level += 1
    return level


def evidence(variance: float, third: float) -> float:
    """How far T must rise with finer bins to be taken for structure, given the law of the noise that they add."""
    return wilson_hilferty(min(third / variance**1.5, MOST_SKEW), EVIDENCE) * sqrt(variance)


def wilson_hilferty(skew: float, z: float) -> float:
    """Quantile of a standardised Pearson III law of the given skew."""
    if abs(skew) < 1e-6:
        return z
    base = 1.0 + skew * z / 6.0 - skew * skew / 36.0
    return -2.0 / skew if base <= 0.0 else 2.0 / skew * (base**3 - 1.0)


def folded_mean(d: Floats, v: Floats) -> Floats:
    """E|N(d, v)| of each bin."""
    sd = np.sqrt(v)
    ratio = d / sd
    return sd * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * ratio**2) + d * special.erf(ratio / np.sqrt(2.0))
