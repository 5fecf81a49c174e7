"""Regression of labels that are known for a few items, on what is known of all: corrected for the model's errors.

The least-squares coefficients of the whole population, β = (X'X)⁻¹ X'y, are linear in y, and so a sum over items that labels
estimate: β̂ = (X'X)⁻¹ [Σ_i x_i g_i + Σ_labelled w_i x_i (y_i - g_i)], g being the share of positives in the item's stratum
and w_i the number of items that a labelled one stands for. Its variance is that of stratified sampling; each stratum's is at
least what labels of share p̃ would have if they did not depend on x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure.counting.sample import Sample
from howsure.kernels.cells import Floats
from howsure.kernels.special import stdtrit


@dataclass(frozen=True, slots=True)
class Fitted:
    """Coefficients with standard errors and limits, and those of a regression of q itself."""

    value: Floats
    error: Floats
    low: Floats
    high: Floats
    raw: Floats


def corrected_regression(columns: Floats, sample: Sample, confidence_level: float = 0.95) -> Fitted:
    """Coefficients of `columns`, shape (C, K): what is known of the items of each cell.

    Limits are by Student's t with as many degrees of freedom as labels less strata.
    """
    items = sample.items.astype(np.float64)  # (H, C)
    by_cell = items.sum(0)
    inverse = np.linalg.pinv((columns * by_cell[:, None]).T @ columns)
    x = columns[sample.cell] @ inverse  # (n, K): what a positive of each labelled item adds to β
    g = (sample.k + 0.5) / (sample.n + 1)
    left = sample.y - g[sample.stratum]
    value = inverse @ columns.T @ (g @ items) + (x * (sample.weight * left)[:, None]).sum(0)
    every = (columns @ inverse) ** 2  # (C, K)
    variance = np.zeros(columns.shape[1])
    for h in range(len(items)):
        mine = sample.stratum == h
        size, n = items[h].sum(), sample.n[h]
        if not size or n >= size:
            continue
        z = x[mine] * left[mine, None]
        share = sample.weight[mine] / sample.weight[mine].sum()
        centred = z - share @ z
        m = mine.sum()
        spread = (share @ centred**2) * (m / (m - 1) if m > 1 else 1.0)
        floor = g[h] * (1 - g[h]) * (items[h] @ every) / size
        variance += size**2 * (1 - n / size) * np.maximum(spread, floor) / n
    error = np.sqrt(variance)
    freedom = max(sample.n.sum() - len(items), 1.0)
    t = float(stdtrit(freedom, (1 + confidence_level) / 2))
    raw = inverse @ columns.T @ sample.raw
    return Fitted(value, error, value - t * error, value + t * error, raw)
