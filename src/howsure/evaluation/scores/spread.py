"""How far metrics may be off: sums over units of squared influences, which add up over pieces of the units.

The totals come first; from them follow every metric and its gradient. Then each unit, on its own, says how it moves each
metric. Nothing is kept but the sums, three numbers a class and one an average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from howsure.evaluation.scores.metrics import Average, PerClass
from howsure.evaluation.units import Units
from howsure.kernels.cells import Floats

PRECISION, RECALL, F = range(3)


@dataclass(frozen=True)
class Spread:
    """Sums over units."""

    n_units: int
    averages: Floats  # (A,): Σ u² of each average
    classes: Floats  # (3, K): of precision, recall and F of each class
    with_class: Floats  # (3, K): units that have any of what it is a share of: predicted, gold, either

    def __add__(self, other: Spread) -> Spread:
        return Spread(
            self.n_units + other.n_units,
            self.averages + other.averages,
            self.classes + other.classes,
            self.with_class + other.with_class,
        )


Spreading = Callable[["SpreadLook"], Spread]  # looks at all units, wherever they are


@dataclass(frozen=True)
class SpreadLook:
    """Sees the `Spread` of units, given the metrics."""

    averages: tuple[Average, ...]
    classes: tuple[PerClass, PerClass, PerClass]

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
