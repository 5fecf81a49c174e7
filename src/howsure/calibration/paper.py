"""Algorithms 1 and 2 of Nguyen & O'Connor (2015) and the thesis's MSE, to the letter.

They are here to reproduce published numbers. Algorithm 1 counts sampling noise as miscalibration and Algorithm 2
adds that noise a second time, so its interval misses the truth on well-calibrated data; `howsure.check` is debiased.

One deviation: rows with the same q could fall into different bins by the accident of their order, so each is given
the mean label of its ties. Without ties the numbers are the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure import _validate
from howsure.kernels.cells import Floats, Ints

Z = 1.96  # the paper's normal quantile
_BLOCK = 1 << 20  # simulated frequencies held at a time


@dataclass(frozen=True, slots=True)
class PaperBins:
    """Bins of exactly `bin_size` rows, the last short one merged: size, p̂, q̂ and p̂ ± 1.96 se."""

    n: Ints
    mean_prob: Floats
    mean_true: Floats
    low: Floats
    high: Floats

    def __repr__(self) -> str:
        return f"PaperBins({len(self.n)} bins, n={int(self.n.sum()):,})"


@dataclass(frozen=True, slots=True)
class PaperInterval:
    """Algorithm 2: the mean of the simulated errors, plus and minus 1.96 times their standard deviation."""

    value: float
    low: float
    high: float
    n_samples: int
    n: int

    def __repr__(self) -> str:
        return f"PaperInterval({self.value:.4f} [{self.low:.4f}, {self.high:.4f}], n={self.n:,})"


def adaptive_bins(y_true: Any, y_prob: Any, bin_size: int = 5000) -> PaperBins:
    """Steps 1-4 of Algorithm 1, with the thesis's interval p̂ ± 1.96 √(p̂(1-p̂)/n) for each bin.

    >>> adaptive_bins([0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5], bin_size=2).n
    array([2, 3])
    """
    origin = _validate.Origin()
    y_array = _validate.one_dimensional(y_true, "y_true")
    q_array = _validate.one_dimensional(y_prob, "y_prob")
    total = _validate.same_length(y_true=y_array, y_prob=q_array)
    size = _validate.bins(bin_size)
    assert isinstance(size, int)
    q = _validate.probabilities(q_array, origin)
    order = np.argsort(q, kind="stable")
    q, y = q[order], _validate.labels(y_array, origin)[order].astype(np.float64)
    y = shared_labels(y, q)
    starts = bin_starts(total, size)
    n = np.diff(np.append(starts, total))
    p = np.clip(np.add.reduceat(y, starts) / n, 0.0, 1.0)
    half = Z * np.sqrt(p * (1.0 - p) / n)
    return PaperBins(n, np.add.reduceat(q, starts) / n, p, p - half, p + half)


def shared_labels(y: Floats, q: Floats) -> Floats:
    """Labels in order of q, each replaced by the mean label of the rows with the same q.

    >>> shared_labels(np.array([0.0, 1.0, 1.0]), np.array([0.2, 0.2, 0.7]))
    array([0.5, 0.5, 1. ])
    """
    ties = np.flatnonzero(np.diff(q, prepend=-1.0))
    count = np.diff(np.append(ties, len(q)))
    return np.repeat(np.add.reduceat(y, ties) / count, count)


def bin_starts(total: int, bin_size: int) -> Ints:
    """First row of each bin of `bin_size` rows out of `total`; a short last bin joins the one before.

    >>> bin_starts(7, 2)
    array([0, 2, 4])
    """
    return np.arange(max(1, total // bin_size)) * bin_size


def calibration_mse(y_true: Any, y_prob: Any, bin_size: int = 5000) -> float:
    """The thesis's score, N⁻¹ Σ |B| (q̂ - p̂)².

    >>> round(calibration_mse([0, 1], [0.2, 0.6], bin_size=1), 6)
    0.1
    """
    bins = adaptive_bins(y_true, y_prob, bin_size)
    return float(np.sum(bins.n * (bins.mean_prob - bins.mean_true) ** 2) / bins.n.sum())


def calibration_error(y_true: Any, y_prob: Any, bin_size: int = 5000) -> float:
    """Algorithm 1: the root mean square of q̂ - p̂ over the bins.

    >>> round(calibration_error([0, 1], [0.2, 0.6], bin_size=1), 6)
    0.316228
    """
    return float(np.sqrt(calibration_mse(y_true, y_prob, bin_size)))


def calibration_interval(
    y_true: Any,
    y_prob: Any,
    bin_size: int = 5000,
    n_samples: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> PaperInterval:
    """Algorithm 2: draw p̂ ~ N(p̂, p̂(1-p̂)/n) per bin, clip to [0, 1], and compute the error of each draw.

    >>> calibration_interval([0, 1] * 500, [0.5] * 1000, bin_size=100, rng=0)
    PaperInterval(0.0488 [0.0272, 0.0704], n=1,000)
    """
    bins = adaptive_bins(y_true, y_prob, bin_size)
    generator = _validate.generator(rng)
    sd = np.sqrt(bins.mean_true * (1.0 - bins.mean_true) / bins.n)
    weight = bins.n / bins.n.sum()
    errors = np.empty(n_samples)
    step = max(1, _BLOCK // len(bins.n))
    for first in range(0, n_samples, step):
        part = errors[first : first + step]
        p_samples = np.clip(generator.normal(bins.mean_true, sd, (len(part), len(sd))), 0.0, 1.0)
        part[:] = np.sqrt((p_samples - bins.mean_prob) ** 2 @ weight)
    centre, half = float(errors.mean()), float(Z * errors.std())
    return PaperInterval(centre, centre - half, centre + half, n_samples, int(bins.n.sum()))
