"""The debiased calibration error.

θ² = E[(q - p(q))²] is estimated on bins of its own, not those drawn. The plug-in Σ w_b d_b² counts the sampling
noise of every bin as miscalibration; subtracting an unbiased estimate of that noise leaves

    T = N⁻¹ Σ_b (E_b² - Q_b) / (n_b - 1),    E = Σ(y - q), Q = Σ(y - q)² of a bin,

which only multiplies residuals of different rows. Derivation and simulations: docs/evidence/theory.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure.calibration.sketch import Sketch
from howsure.kernels.cells import Floats, Ints, cell_position

MOST_BINS = 4096


@dataclass(frozen=True, slots=True)
class BinSums:
    """Per estimation bin: first cell, rows n, E = Σe, Q = Σe², and mean q(1-q) = the variance if calibrated."""

    starts: Ints
    n: Floats
    e: Floats
    q: Floats
    null_variance: Floats

    @property
    def total(self) -> float:
        """N."""
        return float(self.n.sum())

    @property
    def weight(self) -> Floats:
        """w = n_b / N."""
        return self.n / self.n.sum()

    @property
    def gap(self) -> Floats:
        """d = mean of y - q."""
        return self.e / self.n

    @property
    def variance(self) -> Floats:
        """s², the variance of y - q inside the bin, floored at ½/n_b so that an all-right bin is not certain."""
        n = self.n
        return np.maximum((self.q - n * self.gap**2) / np.maximum(n - 1.0, 1.0), 0.5 / n)

    @property
    def squared_error(self) -> float:
        """T, the debiased θ². May be negative when the truth is near 0."""
        return float(np.sum((self.e**2 - self.q) / (self.n - 1.0))) / self.total


def estimation_bins(sketch: Sketch, count: int) -> BinSums:
    """About `count` bins, spaced half by rank and half by asin √q, with an edge at ½ and two rows at least.

    Rows are placed by the fixed cell they fall into, never by a rounded sum, and no cell is parted: the bins, and so
    the estimate, are the same whether the sketch is still exact or has collapsed.
    """
    size = sketch.size.astype(np.float64)
    runs = np.flatnonzero(np.diff(sketch.fixed_cell, prepend=-1))
    position = cell_position(sketch.fixed_cell[runs])
    held = np.add.reduceat(size, runs)
    place = 0.5 * (np.cumsum(held) - 0.5 * held) / size.sum() + np.arcsin(np.sqrt(position)) / np.pi
    label = 2 * np.floor(count * place).astype(np.int64) + (position >= 0.5)
    starts = runs[np.flatnonzero(np.diff(label, prepend=-1))]
    starts = _at_least_two(starts, sketch.size)
    q = sketch.mean_q
    # Σ q(1-q) inside a cell: n q̄(1-q̄) - Σ(q - q̄)².
    null = size * np.where(sketch.upper, 1.0 - sketch.mean_m, sketch.mean_m)
    null = null * np.where(sketch.upper, sketch.mean_m, 1.0 - q) - sketch.spread_q
    n = np.add.reduceat(size, starts)
    return BinSums(
        starts,
        n,
        np.add.reduceat(sketch.sum_e, starts),
        np.add.reduceat(sketch.sum_ee, starts),
        np.add.reduceat(null, starts) / n,
    )


def _at_least_two(starts: Ints, size: Ints) -> Ints:
    """Join every bin of one row to a neighbour: the one before, or for a first bin the one after."""
    n = np.add.reduceat(size, starts)
    if n.min() >= 2 or len(n) == 1:
        return starts
    keep, held = [0], int(n[0])
    for b in range(1, len(n)):
        if held < 2 or n[b] < 2:
            held += int(n[b])
        else:
            keep.append(b)
            held = int(n[b])
    return starts[keep]


def bin_count(n: int) -> int:
    """B = max(10, N^0.4), at most 4,096."""
    return min(max(10, round(n**0.4)), MOST_BINS)


def default_bins(sketch: Sketch) -> BinSums:
    """B = max(10, N^0.4) bins, doubled while the extra noise is small beside the estimate's own."""
    n = sketch.n
    count = bin_count(n)
    bins = first = estimation_bins(sketch, count)
    t0 = max(first.squared_error, 0.0)
    d2 = float(np.sum(first.weight * first.gap**2))
    rho = float(np.sum(first.weight * first.variance * first.gap**2)) / d2 if d2 > 0 else 0.25
    while 2 * count <= min(n / 8, MOST_BINS) and 2 * null_spread(bins) <= 0.2 * (4 * rho / n) * t0:
        finer = estimation_bins(sketch, 2 * count)
        if len(finer.n) == len(bins.n):
            break
        bins, count = finer, 2 * count
    return bins


def null_spread(bins: BinSums) -> float:
    """V0, the variance of T when d = 0: 2 Σ n/(n-1) (s²/N)²."""
    return float(2.0 * np.sum(bins.n / (bins.n - 1.0) * (bins.variance / bins.total) ** 2))


def folded_mean(bins: BinSums) -> Floats:
    """E|N(d, v)| per bin, v = s²/n."""
    from scipy.special import erf

    sd = np.sqrt(bins.variance / bins.n)
    ratio = bins.gap / sd
    mean: Floats = sd * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * ratio**2) + bins.gap * erf(ratio / np.sqrt(2.0))
    return mean
