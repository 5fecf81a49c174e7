"""The mean gain of held-out rows: whether it is clear, its limits, and what they are given that it was found clear.

Gains are skewed: a few rows that the model called impossible can make up all of it. Empirical likelihood (Owen 1988) lets the
rows say how skewed they are. A gain that is reported because it was clear is on average too large; its limits and its value are
therefore those of the law that is left when the gains that would not have been reported are taken away.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf, log, sqrt
from typing import Self

import numpy as np

from howsure.calibration.estimation.intervals import Estimate, normal_quantile
from howsure.calibration.groups.estimates import student_quantile
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints

ENDS = 1000  # units at either end that are kept as they are when there are many; those between are pooled
# Of a noisy recalibrator's held-out gain Σ S_f S_g over pairs of folds, f and g each being held out once.
SHARED = sqrt(2.0)
FARTHEST = 4.0  # standard errors by which a limit may be moved for having been accepted


@dataclass(frozen=True)
class MeanGain:
    """Sums of gains over independent units: rows, or groups of rows."""

    total: Floats
    size: Floats
    count: Floats  # units pooled into one

    @classmethod
    def of(cls, values: Floats, clusters: Ints | None) -> Self:
        """Rows are units unless they belong to clusters, numbered from 0."""
        if clusters is None:
            total, size = np.asarray(values, np.float64), np.ones(len(values))
        else:
            size = np.bincount(clusters).astype(np.float64)
            total = np.bincount(clusters, values).astype(np.float64)
            total, size = total[size > 0], size[size > 0]
        order = np.argsort(total / size, kind="stable")
        total, size = total[order], size[order]
        if len(total) <= 4 * ENDS:
            return cls(total, size, np.ones(len(total)))
        inner = np.linspace(ENDS, len(total) - ENDS, 2 * ENDS + 1).astype(np.int64)[:-1]
        starts = np.concatenate([np.arange(ENDS), inner, np.arange(len(total) - ENDS, len(total))])
        count = np.diff(starts, append=len(total)).astype(np.float64)
        return cls(np.add.reduceat(total, starts) / count, np.add.reduceat(size, starts) / count, count)

    @cached_property
    def units(self) -> float:
        """How many."""
        return float(self.count.sum())

    @cached_property
    def mean(self) -> float:
        """Gain a row."""
        return float(self.count @ self.total) / float(self.count @ self.size)

    @cached_property
    def degrees(self) -> float:
        """Degrees of freedom of the variance, 2G/(kurtosis - 1): few where few units make up most of it."""
        squares = (self.total - self.mean * self.size) ** 2
        second = float(self.count @ squares)
        if second <= 0.0:
            return self.units - 1.0
        kurtosis = self.units * float(self.count @ squares**2) / second**2
        return min(max(2.0 * self.units / max(kurtosis - 1.0, 1e-9), 1.0), self.units - 1.0)

    def root(self, mean: float) -> float:
        """Signed root of the empirical likelihood ratio of `mean`: near a standard normal if that is the truth."""
        d = self.total - mean * self.size
        lowest, highest = float(d.min()), float(d.max())
        sign = 1.0 if self.mean > mean else -1.0
        if lowest == highest == 0.0 or self.mean == mean:
            return 0.0
        if lowest >= 0.0 or highest <= 0.0:
            return sign * inf
        # λ solves Σ d/(1 + λd) = 0, whose left side falls: Newton's method between bounds.
        low, high, step = -1.0 / highest, -1.0 / lowest, 0.0
        for _ in range(200):
            below = 1.0 + step * d
            slope = float(self.count @ (d / below))
            if slope > 0.0:
                low = step
            else:
                high = step
            newton = step + slope / float(self.count @ (d / below) ** 2)
            new = newton if low < newton < high else (low + high) / 2.0
            done = abs(new - step) <= 1e-12 * abs(new)
            step = new
            if done:
                break
        return sign * sqrt(max(2.0 * float(self.count @ np.log1p(step * d)), 0.0))

    def at_root(self, root: float) -> float:
        """The mean whose signed root is `root`; the end of the gains where there is none."""
        from scipy.optimize import brentq

        if root == 0.0:
            return self.mean
        ratios = self.total / self.size
        end = float(ratios.min() if root > 0.0 else ratios.max())
        if end == self.mean:
            return end
        # The root is infinite at the end: look just inside, on a scale that reaches it.

        def inside(share: float) -> float:
            return self.mean + (end - self.mean) * float(-np.expm1(-share))

        if abs(self.root(inside(30.0))) <= abs(root):
            return end
        return inside(float(brentq(lambda s: max(min(self.root(inside(s)), 1e9), -1e9) - root, 0.0, 30.0, xtol=1e-10)))

    def _student(self, normal: float) -> float:
        """The quantile of Student's law, at its degrees of freedom, where the normal law has `normal`."""
        if abs(normal) > 8.0:
            return normal
        return float(-np.sign(normal) * special.stdtrit(self.degrees, special.ndtr(-abs(normal))))

    def estimate(self, confidence_level: float) -> Estimate:
        """The mean and its limits."""
        if self.units < 2:
            return Estimate(self.mean)
        z = self._student(normal_quantile(0.5 + confidence_level / 2))
        return Estimate(self.mean, self.at_root(z), self.at_root(-z))

    def excess(self, confidence_level: float) -> float:
        """By how much the signed root of a gain of 0 exceeds what is asked: above 0 the gain is clear."""
        if self.units < 2:
            return -inf
        return self.root(0.0) - student_quantile(0.5 + confidence_level / 2, int(self.units) - 1)

    def given_accepted(self, confidence_level: float) -> Estimate:
        """Median-unbiased value, at least 0, and lower limit given that the gain was clear; upper limit as it was.

        If the true mean is μ, the signed root R(μ) is standard normal, and the gain was accepted when R(μ) exceeded its value
        here less `excess`. What is left of the normal law gives the quantiles.
        """
        excess = self.excess(confidence_level)
        plain = self.estimate(confidence_level)
        middle = self.at_root(self._student(truncated_quantile(excess, 0.5)))
        low = self.at_root(self._student(truncated_quantile(excess, 0.5 - confidence_level / 2)))
        value = max(middle, 0.0)
        return Estimate(value, min(low, plain.limits[0], value), plain.high)

    def given_declined(self, confidence_level: float) -> Estimate:
        """The mean, and its limits given that the gain was not clear.

        The upper limit is the mirror image of `given_accepted`'s lower one: gains that would have been accepted are taken away
        from the law. Near a gain of 0 what folds lend each other counts twice in the variance (`SHARED`).
        """
        if self.units < 2:
            return Estimate(self.mean)
        z = SHARED * normal_quantile(0.5 + confidence_level / 2)
        short = truncated_quantile(-self.excess(confidence_level), 0.5 - confidence_level / 2)
        return Estimate(self.mean, self.at_root(self._student(z)), self.at_root(-self._student(max(z, short))))


def impossible_share(impossible: int, wrong: int, rows: int, confidence_level: float) -> float:
    """By how much the share of rows that had the label called impossible may exceed the one seen: Clopper-Pearson's limit."""
    if impossible == 0 or wrong == impossible:
        return 0.0
    upper = float(special.betaincinv(wrong + 1.0, impossible - wrong, 0.5 + confidence_level / 2))
    return (upper * impossible - wrong) / rows


def truncated_quantile(excess: float, tail: float) -> float:
    """R with Φ(-R)/Φ(excess - R) = tail, at most `FARTHEST`: the upper quantile of a normal law cut at R - excess."""
    from scipy.optimize import brentq

    if excess > 30.0:
        return normal_quantile(1.0 - tail)

    def short(r: float) -> float:
        return float(special.log_ndtr(-r) - special.log_ndtr(excess - r)) - log(tail)

    return FARTHEST if short(FARTHEST) >= 0.0 else float(brentq(short, -9.0, FARTHEST, xtol=1e-12))
