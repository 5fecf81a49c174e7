"""Agreement beyond chance: every coefficient is 1 - D_o/D_e, and has its interval on the scale of log D_o/D_e.

D_o is the disagreement observed, D_e the one expected by chance. Items (or groups of items) are what is independent;
each contributes its influence on D_o and on D_e, and the sum of squares of those is the variance (docs/evidence/theory.md).
Few items may by luck show no disagreement, or a rare label only where annotators agree: limits are computed with an item and a
half added, one on which all agree and half of one on which all disagree, as Agresti and Coull do for a share.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np

from howsure._result import Record
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.groups.estimates import student_quantile
from howsure.kernels.cells import Floats, Ints

NONE_OBSERVED = 1e-12  # less disagreement than this is none
AGREEING, DISAGREEING = 1.0, 0.5  # items, or groups of items, added for the limits; spread evenly over the labels


@dataclass(frozen=True, slots=True)
class Coefficient(Record):
    """A coefficient of agreement: 1 is perfect, 0 is chance. Where it is undefined, `reason` says why."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    observed: float | None = None  # agreement
    expected: float | None = None  # agreement by chance
    n: int = 0  # items it rests on
    reason: str | None = None

    def __repr__(self) -> str:
        if self.value is None:
            return f"{self.name}: – ({self.reason})"
        limits = "" if self.low is None or self.high is None else f" [{self.low:.4f}, {self.high:.4f}]"
        return f"{self.name} {self.value:.4f}{limits}"


def limits_of_ratio(
    observed: float, expected: float, influence: Floats, groups: Ints | None, added: Floats, confidence_level: float
) -> tuple[float | None, float | None]:
    """Limits of 1 - D_o/D_e. `influence` is each item's on log D_o/D_e; `added` those of the items added, times √weight."""
    sums = influence if groups is None else _per_group(influence, groups)
    g = len(sums)
    if g < 2:
        return None, None
    z = student_quantile(0.5 + confidence_level / 2, g - 1)
    half = min(z * sqrt(g / (g - 1) * float(sums @ sums + added @ added)), 50.0)
    ratio = observed / expected
    return 1.0 - ratio * exp(half), 1.0 - ratio * exp(-half)


def limits_of_perfect(
    n: int, groups: Ints | None, expected: float, confidence_level: float, worst: float = 1.0
) -> tuple[float | None, float | None]:
    """Limits where no disagreement was seen: the share of items with any is at most 1 - (α/2)^(1/G), theirs at most `worst`."""
    g = n if groups is None else len(np.unique(groups))
    if g < 2:
        return None, None
    share = 1.0 - (0.5 - confidence_level / 2) ** (1.0 / g)
    return 1.0 - share * worst / expected, 1.0


def items_per_group(n: int, groups: Ints | None) -> float:
    """How many items are one independent unit, on average."""
    return 1.0 if groups is None or not n else n / len(np.unique(groups))


def reaching(value: float, limits: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    """The limits, moved out to the value where it lies beyond them: they were computed with items added."""
    low, high = limits
    return None if low is None else min(low, value), None if high is None else max(high, value)


def mean_share(values: Floats, groups: Ints | None, confidence_level: float) -> Estimate:
    """The mean of shares in [0, 1] over items, with Wilson's interval at the effective number of items.

    n* = p(1-p)/variance of the mean: the number of independent yes-or-no items that would leave as much doubt.
    """
    n = len(values)
    p = float(values.mean())
    influence = (values - p) / n
    sums = influence if groups is None else _per_group(influence, groups)
    g = len(sums)
    if g < 2:
        return Estimate(p)
    variance = g / (g - 1) * float(sums @ sums)
    size = p * (1.0 - p) / variance if variance > 1e-18 and 0.0 < p < 1.0 else float(g)
    z = student_quantile(0.5 + confidence_level / 2, g - 1)
    middle = (p + z * z / (2 * size)) / (1.0 + z * z / size)
    half = z / (1.0 + z * z / size) * sqrt(p * (1.0 - p) / size + (z / (2 * size)) ** 2)
    return Estimate(p, min(max(middle - half, 0.0), p), max(min(middle + half, 1.0), p))


def _per_group(influence: Floats, groups: Ints) -> Floats:
    """Sums over each group that is there."""
    codes = np.unique(groups, return_inverse=True)[1]
    return np.bincount(codes, influence).astype(np.float64)
