"""The paired bootstrap: rows, or clusters, drawn again through their counts.

The p-value is the share of resamples whose difference beats the observed one by as much again, δ(x⁽ⁱ⁾) >= 2δ(x): the
resamples centre on δ(x), not on 0. Two-sided it also counts δ(x⁽ⁱ⁾) <= 0: as far from δ(x) on the other side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure._result import Record
from howsure.evaluation.contests.contrast import Contrast, at_least, differences, exact_difference
from howsure.kernels.resampled import multinomial_sums


@dataclass(frozen=True, slots=True)
class Bootstrap(Record):
    """What the resamples say of δ(x) = A - B."""

    difference: float
    p_value: float  # two-sided
    p_one_sided: float  # of "the better one is no better"
    low: float
    high: float
    samples: int

    def __repr__(self) -> str:
        return f"Bootstrap({self.difference:+.4g} [{self.low:+.4g}, {self.high:+.4g}], p = {self.p_value:.3g})"


def paired_bootstrap(
    c: Contrast, samples: int = 10_000, rng: np.random.Generator | None = None, confidence_level: float = 0.95
) -> Bootstrap:
    """Resample the units of a contrast; percentile limits."""
    rng = np.random.default_rng() if rng is None else rng
    total = c.totals
    delta = exact_difference(total, c.n_classes)
    sums = multinomial_sums(c.count, c.table, samples, rng)
    k = c.n_classes
    if delta < 0:  # seen from the better system
        swapped = np.concatenate([sums[:, 2 * k :], sums[:, : 2 * k]], axis=1)
        delta_up = -delta
    else:
        swapped, delta_up = sums, delta
    beyond = int(at_least(swapped, k, 2 * delta_up).sum())
    other_way = np.concatenate([swapped[:, 2 * k :], swapped[:, : 2 * k]], axis=1)
    below = int(at_least(other_way, k, 0 * delta_up).sum())
    both = 1.0 if delta == 0 else min((beyond + below) / samples, 1.0)
    tail = 50.0 * (1.0 - confidence_level)
    low, high = np.percentile(differences(sums, k), [tail, 100.0 - tail])
    return Bootstrap(float(delta), both, beyond / samples, float(low), float(high), samples)
