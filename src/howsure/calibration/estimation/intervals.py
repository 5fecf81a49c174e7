"""Confidence intervals for the calibration error and its companions, from the estimation bins alone.

The interval for θ² inverts the family p = q + s(p̂ - q): if the true squared error is x, the estimate T has mean x,
variance V(x) = V0 + 4ρx/N + κ'x² and a right skew that fades as x grows, so its quantiles are taken from a Pearson
type III law (Wilson-Hilferty). Formulas, derivation and coverage: docs/evidence/theory.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import erf, exp, pi, sqrt

import numpy as np

from howsure._result import Record
from howsure.calibration.estimation import tilted
from howsure.calibration.estimation.bias import calibration_slope
from howsure.calibration.estimation.estimate import (
    MOST_BINS,
    MOST_SKEW,
    BinSums,
    Ladder,
    bin_count,
    estimation_bins,
    folded_mean,
    wilson_hilferty,
)
from howsure.calibration.estimation.tilted import Design, Search, between, solved
from howsure.calibration.sketch import Sketch
from howsure.kernels import special
from howsure.kernels.cells import Floats, sum_of

TINY = 1e-100  # a mean square below this counts as 0: its powers would underflow
ENOUGH = 4.0  # events' worth of scatter in a bin from which its noise is taken for normal


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

    @property
    def limits(self) -> tuple[float, float]:
        """Both limits, where there are any."""
        assert self.low is not None
        assert self.high is not None
        return self.low, self.high

    def times(self, factor: float) -> Estimate:
        """The number and its limits, multiplied."""
        return Estimate(self.value * factor, *(limit * factor for limit in self.limits))

    def side(self, reference: float, below: str, above: str) -> str | None:
        """`below` or `above`, whichever side of the reference the whole interval lies on; None if it holds it."""
        if self.high is not None and self.high < reference:
            return below
        return above if self.low is not None and self.low > reference else None

    def squared(self) -> Estimate:
        """The square of a number that is not negative, and of its limits."""
        low, high = (None if v is None else v**2 for v in (self.low, self.high))
        return Estimate(self.value**2, low, high)

    def sqrt(self) -> Estimate:
        """The square root of the number and its limits; negative ones count as 0."""
        low, high = (None if v is None else sqrt(max(v, 0.0)) for v in (self.low, self.high))
        return Estimate(sqrt(max(self.value, 0.0)), low, high)


def at_least_bias(error: Estimate, gap: Estimate) -> Estimate:
    """The RMS error or the ECE, neither of which is below |mean q - mean y|; raised where the gap is shown to be none."""
    shown = max(gap.low or 0.0, -(gap.high or 0.0), 0.0)
    if error.low is None or error.high is None or shown == 0.0:
        return error
    value = max(error.value, abs(gap.value))
    return Estimate(value, max(error.low, shown), max(error.high, value))


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


def solve(f: Callable[[float], float], target: float, high: float = 1.0) -> float:
    """The x in [0, high] with f(x) = target, f increasing; an end if there is none."""
    below, above = f(0.0) - target, f(high) - target
    if below >= 0.0 or above <= 0.0:
        return 0.0 if below >= 0.0 else high
    return between(lambda x: f(x) - target, 0.0, below, high, above)


def squared_error_interval(r: Ladder, confidence_level: float) -> Estimate:
    """T and the confidence interval of θ².

    The lower limit is that of the planned bins or of the chosen ones, whichever is higher; it has half of the usual
    error probability on its side, since the bias has a lower limit too. The upper limit starts from the highest T of
    the chosen bins and the next doublings.
    """
    tail = 0.5 * (1.0 - confidence_level)
    strict = normal_quantile(1.0 - 0.5 * tail)
    low = max(_lower(r.levels[k], strict) for k in {r.planned, r.chosen})
    return Estimate(r.bins.squared_error, low, _upper(r.bins, r.highest, normal_quantile(1.0 - tail)))


def _lower(bins: BinSums, z: float) -> float:
    law = _law(bins, z)
    n, null = bins.total, bins.null_variance
    v0 = 2.0 * sum_of(bins.n / (bins.n - 1.0) * (null / n) ** 2)
    k3 = 8.0 * sum_of((null / n) ** 3)
    law = replace(law, variance0=max(law.variance0, v0), third0=max(law.third0, k3))
    return solve(lambda x: law.quantile(x, z), bins.squared_error)


def _upper(bins: BinSums, t: float, z: float) -> float:
    law = _law(bins, z)
    return solve(lambda x: law.quantile(x, -z), max(t, 0.0))


def _law(bins: BinSums, z: float) -> Law:
    """The law of T, with the variance that the rows show."""
    n, s2, w, d = bins.total, bins.variance, bins.weight, bins.gap
    v0, k3 = bins.null_spread, bins.null_third
    d2 = sum_of(w * d**2)
    if d2 > TINY:
        rho = sum_of(w * s2 * d**2) / d2
        rho2 = sum_of(w * s2**2 * d**2) / d2
        kappa = max(sum_of(w * d**4) / d2**2 - 1.0, 0.0)
    else:
        rho, rho2, kappa = 0.25, 0.0625, 0.0
    return Law(v0, 4.0 * rho / n, min(kappa / n, 0.5 / z**2), k3, 24.0 * rho2 / n**2)


def expected_error_interval(sketch: Sketch, r: Ladder, rms_high: float, confidence_level: float) -> Estimate:
    """The debiased ECE and a conservative interval; ECE never exceeds the RMS error.

    Value and lower limit come from max(10, N^⅓) bins, or from the bins of the RMS error where these show structure;
    the upper limit from bins one doubling finer than those.
    """
    z = normal_quantile(0.5 + confidence_level / 2)
    count = min(max(10, round(sketch.n ** (1 / 3))), MOST_BINS)
    few = r.levels[0] if count == bin_count(sketch.n) else estimation_bins(sketch, count)
    value, low = _bins_ece(few, z)
    if r.chosen > r.planned:
        strict = normal_quantile(1.0 - 0.25 * (1.0 - confidence_level))
        value, finer_low = _bins_ece(r.bins, strict)
        low = max(low, finer_low)
    high = min(_highest_ece(r.finer, z * _ece_error(r.finer)), rms_high)
    return Estimate(value, min(low, value), max(high, value))


def _bins_ece(bins: BinSums, z: float) -> tuple[float, float]:
    """ECE of independent rows, and its lower limit."""
    return debiased_ece(bins.weight, bins.gap, bins.variance / bins.n, z * _ece_error(bins))


def debiased_ece(w: Floats, d: Floats, v: Floats, half: float) -> tuple[float, float]:
    """Σ w|d| less what noise of variance v adds to it, and its lower limit; `half` allows for the noise of Σ w|d|."""
    value = 2.0 * sum_of(w * np.abs(d)) - sum_of(w * folded_mean(d, v))
    unsure = sum_of((w * np.sqrt(v))[np.abs(d) < 2.0 * np.sqrt(v)])
    return max(value, 0.0), max(value - 0.47 * unsure - half, 0.0)


def _highest_ece(bins: BinSums, half: float) -> float:
    """The largest ECE whose expected Σ w|d|, noise included, can be as low as the one seen plus `half`.

    Of all d with Σ w|d| = x, noise of variance v adds least where every |d| is the same multiple of √v (E|N(d, v)| is
    convex in d), so that E Σ w|d| ≥ S f(x/S), S = Σ w√v and f(c) = E|N(c, 1)|. Only bins with events enough for a normal
    law count as noisy.
    """
    reached = sum_of(bins.weight * np.abs(bins.gap)) + half
    scatter = bins.q - bins.n * bins.gap**2  # Σ(e - d)²
    sd = np.sqrt(np.where(scatter >= ENOUGH, scatter / np.maximum(bins.n - 1.0, 1.0), 0.0) / bins.n)
    noise = sum_of(bins.weight * sd)
    if noise <= TINY:
        return reached

    def expected(x: float) -> float:  # noise E|N(x/noise, 1)|
        c = x / noise
        return noise * (sqrt(2.0 / pi) * exp(-0.5 * c * c) + c * erf(c / sqrt(2.0)))

    return solve(expected, reached, reached)


def _ece_error(bins: BinSums) -> float:
    """Standard error of Σ w|d|."""
    w, d = bins.weight, bins.gap
    between = sum_of(w * d**2) - sum_of(w * np.abs(d)) ** 2
    return sqrt(sum_of(w**2 * bins.variance / bins.n) + max(between, 0.0) / bins.total)


def linear_intervals(
    sketches: Sequence[Sketch], level: float, *, whole: bool = True
) -> Iterator[tuple[Estimate, Estimate | None, Estimate | None]]:
    """Of each sketch the mean gap, the slope and, of the `whole`, the Brier score."""
    kinds = (_mean_gap, _slope, _brier) if whole else (_mean_gap, _slope)
    designs = [Design.of(s) for s in sketches]
    found = iter(solved(kind(s, d, level) for s, d in zip(sketches, designs, strict=True) for kind in kinds))
    for gap in found:
        assert gap is not None
        yield gap, next(found), next(found) if whole else None


def _mean_gap(sketch: Sketch, design: Design, level: float) -> Search[Estimate]:
    """Mean q less the base rate."""
    n = sketch.n
    gap = -sum_of(sketch.sum_e) / n
    if n < 2:
        return Estimate(gap)
    variance = max((sum_of(sketch.sum_ee) - n * gap**2) / (n - 1), 0.0)
    low, high = yield from tilted.gap_interval(design, gap, variance, level)
    return Estimate(gap, max(low, -1.0), min(high, 1.0))


def _brier(sketch: Sketch, design: Design, level: float) -> Search[Estimate]:
    """The Brier score; fourth powers to second order inside a cell."""
    n = sketch.n
    value = sum_of(sketch.sum_ee) / n
    if n < 2:
        return Estimate(value)
    fourth = 0.0
    for label, side in enumerate(sketch.sides):
        size = np.where(sketch.upper == bool(label), side.mean, 1.0 - side.mean)  # |y - q|
        square = size * size
        fourth += sum_of(square * (side.n * square + 6.0 * side.spread))
    variance = max((fourth - n * value**2) / (n - 1), 0.0)
    low, high = yield from tilted.brier_interval(design, value, variance, level)
    return Estimate(value, max(low, 0.0), min(high, 1.0))


def _slope(sketch: Sketch, design: Design, level: float) -> Search[Estimate | None]:
    """The slope of y on q; None if q or y does not vary."""
    found = calibration_slope(sketch)
    if found is None:
        return None
    slope, se = found
    base = sketch.n_positive / sketch.n
    return Estimate(slope, *(yield from tilted.slope_interval(design, base, slope, sketch.n * se**2, level)))


def normal_quantile(p: float) -> float:
    """The standard normal deviate below which a share p lies."""
    return float(special.ndtri(p))
