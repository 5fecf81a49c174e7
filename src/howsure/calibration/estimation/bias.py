"""In which direction q is wrong: too high or too low overall, where, and whether it is too extreme."""

from dataclasses import dataclass

import numpy as np

from howsure._result import Record
from howsure.calibration.curves.bins import Bins, side_of
from howsure.calibration.sketch import Sketch
from howsure.kernels.cells import sum_of


@dataclass(frozen=True, slots=True)
class Region(Record):
    """A run of neighbouring bins where q is clearly on one side of the observed frequency."""

    from_prob: float
    to_prob: float
    n: int
    mean_prob: float
    mean_true: float
    direction: str  # "too high" or "too low"


def calibration_slope(sketch: Sketch) -> tuple[float, float] | None:
    """Slope of the least-squares line of y on q, and its standard error; None if q or y does not vary.

    1 is right; below 1, q is too extreme (too far from the base rate); above 1, too timid. b = 1 + Σ(q - q̄)e / Σ(q - q̄)², with the heteroscedasticity-robust variance
    N/(N-2) Σ (q - q̄)² r² / (Σ(q - q̄)²)², r the residual from the line.
    """
    n = sketch.n
    mean_q = sum_of(sketch.sum_q) / n
    base = sketch.n_positive / n
    q_spread = sum_of(sketch.size * (sketch.mean_q - mean_q) ** 2 + sketch.spread_q)
    if n < 3 or q_spread <= 1e-18 * n or base in (0.0, 1.0):
        return None
    covariance = 0.0
    for label, side in enumerate(sketch.sides):
        q = np.where(sketch.upper, 1.0 - side.mean, side.mean)
        error = np.where(sketch.upper, side.mean - (1 - label), label - side.mean)  # y - q
        covariance += sum_of(side.n * (q - mean_q) * error - side.spread)
    slope = 1.0 + covariance / q_spread
    meat = 0.0
    for label, side in enumerate(sketch.sides):
        q = np.where(sketch.upper, 1.0 - side.mean, side.mean) - mean_q
        meat += sum_of(side.n * (q * (label - base - slope * q)) ** 2)
    return slope, float(np.sqrt(meat * n / (n - 2))) / q_spread


def regions(bins: Bins, confidence_level: float) -> tuple[Region, ...]:
    """Runs of bins whose interval, widened for their number (Bonferroni), leaves out their mean probability."""
    strict = 1.0 - (1.0 - confidence_level) / len(bins)
    side = side_of(bins.mean_prob, bins.mean_true * bins.effective_n, bins.effective_n, strict)
    if not side.any():
        return ()
    starts = np.flatnonzero(np.diff(side, prepend=2))
    found = []
    for first, after in zip(starts, [*starts[1:], len(side)], strict=True):
        if side[first] == 0:
            continue
        n = bins.n[first:after]
        found.append(
            Region(
                float(bins.from_prob[first]),
                float(bins.to_prob[after - 1]),
                int(n.sum()),
                float(np.average(bins.mean_prob[first:after], weights=n)),
                float(np.average(bins.mean_true[first:after], weights=n)),
                "too high" if side[first] > 0 else "too low",
            )
        )
    return tuple(found)
