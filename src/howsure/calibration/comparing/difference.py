"""Is B better calibrated than A, on the same rows?

θ_A² - θ_B² is estimated by T_A - T_B. Its variance has a linear part (rows, or groups, that pull one model's error up)
and a quadratic part (noise squared inside the bins, shared by the two models as far as their residuals are). An
interval for θ_A - θ_B itself fails when one of them is near 0; the sign is the same. Derivation: docs/evidence/theory.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Protocol, TypeVar

import numpy as np

from howsure.calibration.comparing.paired_groups import PairedLook, PairedSquaresLook, PairedTotalsLook, Weighing
from howsure.calibration.comparing.paired_rows import BRIER, INFLUENCE, LOG_LOSS, Plan, RowSums
from howsure.calibration.estimation.intervals import Estimate, normal_quantile
from howsure.calibration.groups.estimates import student_quantile
from howsure.kernels.cells import Floats, Ints

T = TypeVar("T")
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """A number of model A less that of model B, with its interval and the p-value of no difference."""

    value: float
    low: float | None
    high: float | None
    p_value: float | None

    def __repr__(self) -> str:
        limits = "" if self.low is None else f" [{self.low:+.4g}, {self.high:+.4g}], p = {self.p_value:.3g}"
        return f"{self.value:+.4g}{limits}"

    def to_dict(self) -> dict[str, float | None]:
        """All fields by name."""
        return {name: getattr(self, name) for name in Difference.__slots__}

    @property
    def estimate(self) -> Estimate:
        """The same without the p-value."""
        return Estimate(self.value, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Differences:
    """Of two models: in squared error, Brier score and log loss (None where some row makes one infinite)."""

    error_squared: Difference
    brier: Difference
    log_loss: Difference | None


@dataclass(frozen=True)
class _Moments:
    """Per bin: rows and s² (floored); and T."""

    n: Floats
    s2: Floats
    t: float

    @staticmethod
    def of(sums: Floats, d: Floats) -> _Moments:
        """From a model's sums by bin, about d."""
        n, x, xx = sums.T
        shift = x / n
        s2 = (xx - n * shift**2) / (n - 1.0)
        t = float(np.sum(n * (d + shift) ** 2 - s2)) / float(n.sum())  # Σ (E² - Q) / (n - 1) with nothing to cancel
        return _Moments(n, np.maximum(s2, 0.5 / n), t)


def _variance(linear: float, quadratic: float) -> float:
    """Variance of T_A - T_B from its linear part, as estimated, and its quadratic part.

    The bins' own noise enters the linear estimate, on average with twice the quadratic part; taking that off and adding
    the quadratic part itself leaves linear - quadratic, and never less than the quadratic part alone.
    """
    return max(linear - quadratic, quadratic)


def _quadratic(own: float, shared: float) -> float:
    """The models' own quadratic parts less what they share; a rest that is rounding is none."""
    rest = own - shared
    return rest if rest > ROUNDING * own else 0.0


def row_differences(plan: Plan, sums: RowSums, level: float) -> tuple[Differences, ...]:
    """Every pair's differences, rows independent."""
    total, z = float(sums.n), normal_quantile(0.5 + level / 2)
    models = [_Moments.of(s, m.d) for s, m in zip(sums.models, plan.models, strict=True)]
    v0 = [2.0 * float(np.sum(m.n / (m.n - 1.0) * (m.s2 / total) ** 2)) for m in models]

    def mean(pair: int, what: int) -> Difference:
        value, variance = sums.mean_and_variance(plan, pair, what)
        return _judged(value, variance / (total - 1.0), z, None)

    made = []
    for p, (i, j) in enumerate(plan.pairs):
        a, b, joint = models[i], models[j], sums.joint[p]
        linear = sums.mean_and_variance(plan, p, INFLUENCE)[1] / total
        in_a, in_b = np.divmod(joint.code, len(b.n))
        shared = 4.0 / total**2 * float(np.sum(joint.value**2 / (a.n[in_a] * b.n[in_b])))
        variance = _variance(linear, _quadratic(v0[i] + v0[j], shared))
        loss = mean(p, LOG_LOSS) if plan.is_finite((i, j)) else None
        made.append(Differences(_judged(a.t - b.t, variance, z, None), mean(p, BRIER), loss))
    return tuple(made)


class PairedGroups(Protocol):
    """Groups that can be looked at in pieces."""

    def look(self, plan: Plan, at: PairedLook[T], /) -> T:
        """The sum of what is seen of each piece."""


def group_differences(plan: Plan, groups: PairedGroups, level: float) -> tuple[Differences, ...]:
    """Every pair's differences, groups independent; there are two at least."""
    totals = groups.look(plan, PairedTotalsLook(tuple(map(len, plan.models))))
    weighings = tuple(Weighing.of(b) for b in totals.bins)
    means = totals.deltas / totals.n_rows
    squares = groups.look(plan, PairedSquaresLook(plan.pairs, weighings, totals.n_rows, means))
    g = totals.n_groups
    f = g / (g - 1)
    z = student_quantile(0.5 + level / 2, g - 1)

    def product(i: int, j: int) -> float:
        """2 (Σ gram² - f² Σ own own'), gram = f √a RᵀR' √a'."""
        return 2.0 * f**2 * (float(np.sum(squares.gram(i, j) ** 2)) - float(squares.own[i, j]))

    def mean(pair: int, what: int) -> Difference:
        variance = f * float(squares.deltas[what, pair]) / totals.n_rows**2
        return _judged(float(means[what, pair]), variance, z, g - 1)

    v0 = [max(product(i, i), 0.0) for i in range(len(weighings))]
    made = []
    for p, (i, j) in enumerate(plan.pairs):
        variance = _variance(f * float(squares.linear[p]), _quadratic(v0[i] + v0[j], 2.0 * product(i, j)))
        error = _judged(weighings[i].t - weighings[j].t, variance, z, g - 1)
        made.append(Differences(error, mean(p, 0), mean(p, 1) if plan.is_finite((i, j)) else None))
    return tuple(made)


def mean_difference(delta: Floats, groups: Ints | None, confidence_level: float) -> Difference:
    """The mean of a per-row difference, rows or groups independent."""
    n = len(delta)
    mean = float(delta.mean())
    if groups is None:
        if n < 2:
            return Difference(mean, None, None, None)
        return _judged(mean, float(np.var(delta, ddof=1)) / n, normal_quantile(0.5 + confidence_level / 2), None)
    size, total = np.bincount(groups), np.bincount(groups, delta)
    g = len(size)
    if g < 2:
        return Difference(mean, None, None, None)
    variance = g / (g - 1) * float(np.sum((total - mean * size) ** 2)) / n**2
    return _judged(mean, variance, student_quantile(0.5 + confidence_level / 2, g - 1), g - 1)


def _judged(value: float, variance: float, z: float, degrees: int | None) -> Difference:
    from scipy.special import ndtr, stdtr

    se = sqrt(max(variance, 0.0))
    if se == 0.0:
        return Difference(value, value, value, 1.0 if value == 0.0 else 0.0)
    ratio = -abs(value) / se
    p = 2.0 * float(ndtr(ratio) if degrees is None else stdtr(degrees, ratio))
    return Difference(value, value - z * se, value + z * se, p)
