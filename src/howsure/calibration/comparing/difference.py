"""Is B better calibrated than A, on the same rows?

θ_A² - θ_B² is estimated by T_A - T_B. Its variance has a linear part (rows, or groups, that pull one model's error up)
and a quadratic part (noise squared inside the bins, shared by the two models as far as their residuals are). An
interval for θ_A - θ_B itself fails when one of them is near 0; the sign is the same. Derivation: docs/evidence/theory.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import inf, sqrt
from typing import Protocol, TypeVar

import numpy as np

from howsure._result import Record
from howsure.calibration.comparing.paired_groups import PairedLook, Weighing, paired_squares, paired_totals
from howsure.calibration.comparing.paired_rows import BRIER, INFLUENCE, LOG_LOSS, WEIGHT, Plan, RowSums
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.groups.clusters import Balance
from howsure.calibration.groups.estimates import student_quantile
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Difference(Record):
    """By how much one thing exceeds another, with its interval and the p-value of no difference."""

    value: float
    low: float | None
    high: float | None
    p_value: float | None

    def __repr__(self) -> str:
        limits = "" if self.low is None else f" [{self.low:+.4g}, {self.high:+.4g}], p = {self.p_value:.3g}"
        return f"{self.value:+.4g}{limits}"

    def __neg__(self) -> Difference:
        """The same, seen from the other side."""
        low, high = (None if x is None else 0.0 - x for x in (self.high, self.low))
        return Difference(0.0 - self.value, low, high, self.p_value)

    @property
    def estimate(self) -> Estimate:
        """The same without the p-value."""
        return Estimate(self.value, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Differences:
    """Of two models, A less B: squared calibration error, Brier score and log loss (None where some row makes one infinite)."""

    error_squared: Difference
    brier: Difference
    log_loss: Difference | None


def _variance(influence: float, quadratic: float, weight: float) -> float:
    """Variance of T_A - T_B.

    `influence` is the sum of squares of what each row or group contributes; it holds the linear part and twice the
    quadratic part, so that the variance is at least half of it. `weight` comes from the rows that fall into each bin.
    """
    return max(influence - max(quadratic, 0.0), 0.5 * influence) + weight


def row_differences(plan: Plan, sums: RowSums, level: float) -> tuple[Differences, ...]:
    """Every pair's differences, rows independent."""
    total = float(sums.n)

    def product(sums: Floats, a: Floats, b: Floats) -> float:
        """2 Σ over pairs of different rows that share a bin of A and one of B."""
        return 2.0 / total**2 * float(np.sum((sums[:, 0] ** 2 - sums[:, 1]) / ((a - 1.0) * (b - 1.0))))

    own = [product(s, m.n, m.n) for s, m in zip(sums.models, plan.models, strict=True)]

    def mean(pair: int, what: int) -> Difference:
        value, variance = sums.mean_and_variance(plan, pair, what)
        bound = inf if what == LOG_LOSS else 1.0
        return _judged(value, variance / (total - 1.0), total - 1.0, level, -bound, bound)

    made = []
    for p, (i, j) in enumerate(plan.pairs):
        a, b, joint = plan.models[i], plan.models[j], sums.joint[p]
        in_a, in_b = np.divmod(joint.code, len(b))
        shared = product(joint.sums, a.n[in_a], b.n[in_b])
        variance = _variance(
            float(sums.pairs[p, INFLUENCE, 1]) / total**2,
            own[i] + own[j] - 2.0 * shared,
            sums.mean_and_variance(plan, p, WEIGHT)[1] / (total - 1.0),
        )
        loss = mean(p, LOG_LOSS) if plan.is_finite((i, j)) else None
        made.append(Differences(_judged(a.t - b.t, variance, total - 1.0, level), mean(p, BRIER), loss))
    return tuple(made)


class PairedGroups(Protocol):
    """Groups that can be looked at in pieces."""

    def look(self, plan: Plan, at: PairedLook[T], /) -> T:
        """The sum of what is seen of each piece, all models side by side."""


def group_differences(plan: Plan, groups: PairedGroups, level: float) -> tuple[Differences, ...]:
    """Every pair's differences, groups independent; there are two at least."""
    totals = groups.look(plan, partial(paired_totals, [len(m) for m in plan.models]))
    weighings = [Weighing.of(b) for b in totals.bins]
    squares = groups.look(plan, partial(paired_squares, plan, weighings, totals))
    few, degrees = 1.0 - 1.0 / totals.n_groups, squares.balance.degrees

    def product(i: int, j: int) -> float:
        """2 Σ over pairs of different groups that share a bin of each model."""
        return 2.0 * (float(np.sum(squares.grams[i][j - i] ** 2)) - float(squares.own[i, j]))

    def mean(pair: int, what: int) -> Difference:
        variance = few * float(squares.deltas[what, pair]) / totals.n_rows**2
        bound = inf if what else 1.0
        return _judged(float(totals.means[what, pair]), variance, degrees, level, -bound, bound)

    own = [product(i, i) for i in range(len(weighings))]
    made = []
    for p, (i, j) in enumerate(plan.pairs):
        variance = _variance(
            float(squares.influence[p]), own[i] + own[j] - 2.0 * product(i, j), few * float(squares.weight[p])
        )
        error = _judged(weighings[i].t - weighings[j].t, variance, degrees, level)
        made.append(Differences(error, mean(p, 0), mean(p, 1) if plan.is_finite((i, j)) else None))
    return tuple(made)


def mean_difference(delta: Floats, groups: Ints | None, confidence_level: float, least: float = -1.0) -> Difference:
    """The mean of a per-row difference between `least` and 1, rows or groups independent."""
    n = len(delta)
    mean = float(delta.mean())
    if groups is None:
        if n < 2:
            return Difference(mean, None, None, None)
        return _judged(mean, float(np.var(delta, ddof=1)) / n, n - 1, confidence_level, least)
    size, total = np.bincount(groups), np.bincount(groups, delta)
    size, total = size[size > 0], total[size > 0]
    g = len(size)
    if g < 2:
        return Difference(mean, None, None, None)
    variance = (1.0 - 1.0 / g) * float(np.sum(((total - mean * size) / (n - size)) ** 2))
    return _judged(mean, variance, Balance.of(size / n).degrees, confidence_level, least)


def _judged(
    value: float, variance: float, degrees: float, level: float, least: float = -1.0, most: float = 1.0
) -> Difference:
    """Against t of the given degrees of freedom; no limit lies beyond what the number can be."""
    se = sqrt(max(variance, 0.0))
    if se == 0.0:
        return Difference(value, value, value, 1.0 if value == 0.0 else 0.0)
    half = student_quantile(0.5 + level / 2, degrees) * se
    low, high = max(value - half, min(least, value)), min(value + half, max(most, value))
    return Difference(value, low, high, 2.0 * float(special.stdtr(degrees, -abs(value) / se)))
