"""Accuracy, precision, recall and F, per class and averaged, each with its interval.

A metric is a function of the totals; its gradient turns every unit into its influence u = ∂θ/∂hit·hit + ∂θ/∂gold·gold +
∂θ/∂pred·pred, and Var θ = Σ u² (times G/(G-1) for G clusters). The interval is Wilson's on the effective number of rows
n* = θ(1-θ)/Var θ: for accuracy, precision and recall of independent rows exactly Wilson's. Formulas: docs/evidence/theory.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from howsure._result import Sums
from howsure.calibration.estimation.intervals import Estimate, normal_quantile
from howsure.calibration.groups.clusters import Balance
from howsure.calibration.groups.estimates import student_quantile
from howsure.evaluation.units import Totals, Units
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints

TINY = 1e-15  # a variance below this share of θ(1-θ) is rounding


@dataclass(frozen=True)
class PerClass:
    """A metric of every class, 0 where it is 0/0, which classes are defined, and the derivatives by their own totals."""

    value: Floats
    defined: NDArray[np.bool_]
    d_hit: Floats
    d_gold: Floats
    d_pred: Floats


@dataclass(frozen=True)
class Average:
    """A metric of all classes together, and its derivatives by every class's totals."""

    value: float
    d_hit: Floats
    d_gold: Floats
    d_pred: Floats


def f_measure(t: Totals, beta: float = 1.0) -> PerClass:
    """(1 + β²) hit / (β² gold + pred)."""
    return per_class(t, "f", beta)


def per_class(t: Totals, kind: str, beta: float = 1.0) -> PerClass:
    """Precision, hit / pred; recall, hit / gold; or F."""
    b = beta * beta
    top, gold, pred = {"precision": (1.0, 0.0, 1.0), "recall": (1.0, 1.0, 0.0), "f": (1.0 + b, b, 1.0)}[kind]
    below = gold * t.gold + pred * t.pred
    defined = below > 0.0
    safe = np.where(defined, below, 1.0)
    value = np.where(defined, top * t.hit / safe, 0.0)
    slope = np.where(defined, 1.0 / safe, 0.0)
    return PerClass(value, defined, top * slope, -gold * value * slope, -pred * value * slope)


def present(t: Totals) -> NDArray[np.bool_]:
    """Classes that are the truth or said somewhere: those that averages are over."""
    return (t.gold + t.pred) > 0.0


def macro(m: PerClass, t: Totals) -> Average:
    """The mean over classes that occur; a class that occurs but whose metric is 0/0 counts as 0."""
    here = present(t)
    w = here / max(int(here.sum()), 1)
    return Average(float(w @ m.value), w * m.d_hit, w * m.d_gold, w * m.d_pred)


def weighted(m: PerClass, t: Totals) -> Average:
    """The mean over gold rows of their class's metric."""
    n = float(t.gold.sum())
    w = t.gold / n if n else t.gold
    value = float(w @ m.value)
    spread = (m.value - value) / n if n else np.zeros(len(w))
    return Average(value, w * m.d_hit, w * m.d_gold + spread, w * m.d_pred)


def micro(t: Totals, kind: str, beta: float = 1.0) -> Average:
    """The metric of all classes' decisions pooled into one table."""
    made = per_class(t.pooled, kind, beta)
    one = np.ones(len(t.gold))
    return Average(float(made.value[0]), one * made.d_hit, one * made.d_gold, one * made.d_pred)


def accuracy(t: Totals) -> Average:
    """The share of rows that are right."""
    return micro(t, "recall")


def influence(m: Average, units: Units, system: int = 0) -> Floats:
    """How each unit moves the metric."""
    return units.hit[system] @ m.d_hit + units.gold @ m.d_gold + units.pred[system] @ m.d_pred


def variance(u: Floats, units: Units) -> float:
    """Var θ from the influences."""
    return correction(units.n, units.clustered) * float(units.count @ (u * u))


def correction(n_units: int, clustered: bool) -> float:
    """G / (G - 1) for G clusters."""
    return n_units / (n_units - 1) if clustered and n_units > 1 else 1.0


def estimated(m: Average, units: Units, confidence_level: float, rows: float | None = None) -> Estimate:
    """An average with its interval; `rows` stand in for the effective number where the variance is 0."""
    spread = variance(influence(m, units), units)
    return interval(m.value, spread, units.n, units.clustered, confidence_level, rows)


def interval(
    value: float, spread: float, n_units: int, clustered: bool, confidence_level: float, rows: float | None = None
) -> Estimate:
    """The same, given the variance and the number of units. Student's quantile with G - 1 degrees for G clusters."""
    if clustered and n_units < 2:
        return Estimate(value)
    size = float(n_units) if rows is None or clustered else rows
    p = 0.5 + confidence_level / 2
    return wilson(value, spread, size, student_quantile(p, n_units - 1) if clustered else normal_quantile(p))


def class_intervals(
    m: PerClass, variances: Floats, rows: Floats, n_units: int, clustered: bool, confidence_level: float
) -> list[Estimate | None]:
    """Every class's metric with its interval, None where it is 0/0.

    `rows` is what it is a share of or, of clusters, the number that have any of it: a class that stands in few clusters
    has few degrees of freedom.
    """
    if clustered and n_units < 2:
        return [Estimate(float(v)) if d else None for v, d in zip(m.value, m.defined, strict=True)]
    p = 0.5 + confidence_level / 2
    z = special.stdtrit(np.maximum(rows - 1.0, 1.0), p) if clustered else [normal_quantile(p)] * len(rows)
    return [
        wilson(float(v), float(s), float(r), float(q)) if d else None
        for v, s, r, q, d in zip(m.value, variances, rows, z, m.defined, strict=True)
    ]


def macro_interval(
    value: float,
    variance: float,
    classes: Sequence[Estimate | None],
    variances: Floats,
    n_units: int,
    clustered: bool,
    confidence_level: float,
) -> Estimate:
    """A mean over classes with the wider of two intervals, on either side.

    Wilson's on the whole, and the classes' own put together: value ∓ √(r Σ (θ_k - limit_k)²)/K, r being by how much the linearised
    variance exceeds that of independent classes (Zou & Donner 2008). The first does not see that a class may be all right
    by luck; the second does. Both with Student's quantile.
    """
    plain = interval(value, variance, n_units, clustered, confidence_level)
    if plain.low is None or plain.high is None:
        return plain
    k, apart = len(classes), float(variances.sum())
    shared = variance * k * k / apart if apart > 0.0 else 1.0
    below = above = 0.0
    for c in classes:  # a class that is never predicted, say, has no precision: it counts as 0 and may be anything
        v, low, high = (0.0, 0.0, 1.0) if c is None or c.low is None or c.high is None else (c.value, c.low, c.high)
        below, above = below + (v - low) ** 2, above + (high - v) ** 2
    p = 0.5 + confidence_level / 2
    wider = 1.0 if clustered or n_units < 2 else student_quantile(p, n_units - 1) / normal_quantile(p)
    low = value - wider * max(value - plain.low, sqrt(shared * below) / k)
    high = value + wider * max(plain.high - value, sqrt(shared * above) / k)
    return Estimate(value, max(low, 0.0), min(high, 1.0))


def wilson(value: float, variance: float, rows: float, z: float) -> Estimate:
    """Wilson's score interval on the effective number of rows θ(1-θ)/Var θ, or `rows` where Var θ is 0."""
    spread = value * (1.0 - value)
    n = spread / variance if variance > TINY * max(spread, TINY) and spread > TINY else rows
    if n <= 0.0:
        return Estimate(value)
    middle = (value + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z / (1.0 + z * z / n) * sqrt(max(spread, 0.0) / n + z * z / (4.0 * n * n))
    return Estimate(value, max(min(middle - half, value), 0.0), min(max(middle + half, value), 1.0))


def share_of_groups(part: Floats, whole: Floats, groups: Ints, confidence_level: float) -> Estimate:
    """θ = Σ part / Σ whole of rows in independent groups: the jackknife's variance, Wilson's interval with Student's quantile.

    Groups that are all right have no variance, and still one limit: that of as many rows as there are groups of equal size.
    """
    parts, wholes = np.bincount(groups, part), np.bincount(groups, whole)
    parts, wholes = parts[wholes > 0.0], wholes[wholes > 0.0]
    n, g = float(wholes.sum()), len(wholes)
    value = float(parts.sum()) / max(n, 1.0)
    if g < 2:
        return Estimate(value)
    spread = (1.0 - 1.0 / g) * float(np.sum(((parts - value * wholes) / (n - wholes)) ** 2))
    degrees = Balance.of(wholes / n).degrees
    return wilson(value, spread, degrees + 1.0, student_quantile(0.5 + confidence_level / 2, degrees))


# How far metrics may be off: sums over units of squared influences, which add up over pieces of the units.
#
# The totals come first; from them follow every metric and its gradient. Then each unit, on its own, says how it moves each
# metric. Nothing is kept but the sums, three numbers a class and one an average.


@dataclass(frozen=True)
class Spread(Sums):
    """Sums over units."""

    n_units: int
    averages: Floats  # (A,): Σ u² of each average
    classes: Floats  # (3, K): of precision, recall and F of each class
    with_class: Floats  # (3, K): units that have any of what it is a share of: predicted, gold, either


Spreading = Callable[["SpreadLook"], Spread]  # looks at all units, wherever they are


@dataclass(frozen=True)
class SpreadLook:
    """Sees the `Spread` of units, given the metrics."""

    averages: tuple[Average, ...]
    classes: tuple[PerClass, ...]  # precision, recall and F

    def __call__(self, units: Units) -> Spread:
        hit, gold, pred, count = units.hit[0], units.gold, units.pred[0], units.count.astype(np.float64)
        gradients = (np.stack([getattr(a, d) for a in self.averages], axis=1) for d in ("d_hit", "d_gold", "d_pred"))
        u = sum(x @ g for x, g in zip((hit, gold, pred), gradients, strict=True))
        made = []
        for m in self.classes:
            parts = ((hit, m.d_hit), (gold, m.d_gold), (pred, m.d_pred))
            each = sum(x.multiply(d[None, :]) for x, d in parts).tocsr()
            made.append(np.asarray(each.power(2).T @ count))
        there = [np.bincount(x.tocsr().indices, minlength=x.shape[1]) for x in (pred, gold, pred + gold)]
        return Spread(units.n, count @ u**2, np.stack(made), np.stack(there).astype(np.float64))
