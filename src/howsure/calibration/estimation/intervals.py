"""Confidence intervals for the calibration error and its companions, from the estimation bins alone.

The interval for θ² inverts the family p = q + s(p̂ - q): if the true squared error is x, the estimate T has mean x,
variance V(x) = V0 + 4ρx/N + κ'x² and a right skew that fades as x grows, so its quantiles are taken from a Pearson
type III law (Wilson-Hilferty). Formulas, derivation and coverage: docs/evidence/theory.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from howsure._result import Record
from howsure.calibration.estimation.estimate import BinSums, folded_mean, null_spread
from howsure.calibration.sketch import Sketch

MOST_SKEW = 2.8
TINY = 1e-100  # a mean square below this counts as 0: its powers would underflow


@dataclass(frozen=True, slots=True)
class Estimate(Record):
    """A number with its confidence limits; None where no interval is derived."""

    value: float
    low: float | None = None
    high: float | None = None

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        limits = "" if self.low is None or self.high is None else f" [{self.low:.4f}, {self.high:.4f}]"
        return f"{self.value:.4f}{limits}"

    def sqrt(self) -> Estimate:
        """The square root of the number and its limits; negative ones count as 0."""
        low, high = (None if v is None else sqrt(max(v, 0.0)) for v in (self.low, self.high))
        return Estimate(sqrt(max(self.value, 0.0)), low, high)


@dataclass(frozen=True, slots=True)
class Law:
    """Mean, variance and skew of T as a function of the true squared error x."""

    variance0: float
    variance1: float  # times x
    variance2: float  # times x²
    third0: float
    third1: float  # times x

    def quantile(self, x: float, z: float) -> float:
        """The value of T that a standard normal deviate z maps to when the truth is x."""
        variance = self.variance0 + self.variance1 * x + self.variance2 * x * x
        if variance < TINY:
            return x
        skew = min((self.third0 + self.third1 * x) / variance**1.5, MOST_SKEW)
        return x + wilson_hilferty(skew, z) * sqrt(variance)


def wilson_hilferty(skew: float, z: float) -> float:
    """Quantile of a standardised Pearson III law of the given skew."""
    if abs(skew) < 1e-6:
        return z
    base = 1.0 + skew * z / 6.0 - skew * skew / 36.0
    return -2.0 / skew if base <= 0.0 else 2.0 / skew * (base**3 - 1.0)


def solve(f: Callable[[float], float], target: float, high: float = 1.0) -> float:
    """The x in [0, high] with f(x) = target, f increasing; an end if there is none."""
    low = 0.0
    if f(low) >= target:
        return low
    if f(high) <= target:
        return high
    for _ in range(80):
        middle = 0.5 * (low + high)
        if f(middle) < target:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def squared_error_interval(bins: BinSums, confidence_level: float) -> Estimate:
    """T and the confidence interval of θ²."""
    z = normal_quantile(0.5 + confidence_level / 2)
    n, s2, w, d = bins.total, bins.variance, bins.weight, bins.gap
    v0, k3 = null_spread(bins), float(8.0 * np.sum((s2 / n) ** 3))
    null = bins.null_variance
    v0_null = float(2.0 * np.sum(bins.n / (bins.n - 1.0) * (null / n) ** 2))
    k3_null = float(8.0 * np.sum((null / n) ** 3))
    d2 = float(np.sum(w * d**2))
    if d2 > TINY:
        rho = float(np.sum(w * s2 * d**2)) / d2
        rho2 = float(np.sum(w * s2**2 * d**2)) / d2
        kappa = max(float(np.sum(w * d**4)) / d2**2 - 1.0, 0.0)
    else:
        rho, rho2, kappa = 0.25, 0.0625, 0.0
    slope, bend, third = 4.0 * rho / n, min(kappa / n, 0.5 / z**2), 24.0 * rho2 / n**2
    t = bins.squared_error
    lower = Law(max(v0, v0_null), slope, bend, max(k3, k3_null), third)
    upper = Law(v0, slope, bend, k3, third)
    low = solve(lambda x: lower.quantile(x, z), t)
    high = solve(lambda x: upper.quantile(x, -z), max(t, 0.0))
    return Estimate(t, low, high)


def expected_error_interval(bins: BinSums, rms_high: float, confidence_level: float) -> Estimate:
    """The debiased ECE on its own bins, and a conservative interval; ECE never exceeds the RMS error."""
    z = normal_quantile(0.5 + confidence_level / 2)
    w, d, v = bins.weight, bins.gap, bins.variance / bins.n
    plug_in = float(np.sum(w * np.abs(d)))
    value = max(0.0, 2.0 * plug_in - float(np.sum(w * folded_mean(bins))))
    se = sqrt(float(np.sum(w**2 * v)) + max(float(np.sum(w * d**2)) - plug_in**2, 0.0) / bins.total)
    unsure = float(np.sum((w * np.sqrt(v))[np.abs(d) < 2.0 * np.sqrt(v)]))
    low = max(0.0, 2.0 * plug_in - float(np.sum(w * folded_mean(bins))) - 0.47 * unsure - z * se)
    high = min(plug_in + z * se, rms_high)
    return Estimate(value, min(low, value), max(high, value))


def mean_gap_interval(sketch: Sketch, confidence_level: float) -> Estimate:
    """Mean q less the base rate, ± z √(variance of y - q / N)."""
    z = normal_quantile(0.5 + confidence_level / 2)
    n = sketch.n
    gap = -float(np.sum(sketch.sum_e)) / n
    if n < 2:
        return Estimate(gap)
    variance = max((float(np.sum(sketch.sum_ee)) - n * gap**2) / (n - 1), 0.5 / n)
    half = z * sqrt(variance / n)
    return Estimate(gap, max(gap - half, -1.0), min(gap + half, 1.0))


def brier_interval(sketch: Sketch, confidence_level: float) -> Estimate:
    """The Brier score ± z √(variance of (y - q)² / N), fourth powers to second order inside a cell."""
    z = normal_quantile(0.5 + confidence_level / 2)
    n = sketch.n
    value = float(np.sum(sketch.sum_ee)) / n
    if n < 2:
        return Estimate(value)
    fourth = 0.0
    for label, side in enumerate(sketch.sides):
        size = np.where(sketch.upper == bool(label), side.mean, 1.0 - side.mean)  # |y - q|
        fourth += float(np.sum(side.n * size**4 + 6.0 * size**2 * side.spread))
    half = z * sqrt(max((fourth - n * value**2) / (n - 1), 0.0) / n)
    return Estimate(value, max(value - half, 0.0), min(value + half, 1.0))


def normal_quantile(p: float) -> float:
    """The standard normal deviate below which a share p lies."""
    from scipy.special import ndtri

    return float(ndtri(p))
