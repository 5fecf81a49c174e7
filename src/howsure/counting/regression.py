"""Regression of labels that are known for a few items, on what is known of all: corrected for the model's errors.

The least-squares coefficients of the whole population, β = (X'X)⁻¹ X'y, are linear in y, and so a sum over items that labels
estimate: β̂ = (X'X)⁻¹ [Σ_i x_i g_i + Σ_labelled w_i x_i (y_i - g_i)], g being the share of positives in the item's stratum
and w_i the number of items that a labelled one stands for. Its variance is that of stratified sampling; each stratum's is at
least what labels of share p̃ would have if they did not depend on x. Where whole groups were drawn (both systems' answers to a
question), it is that of the groups' sums: the difference of two systems is then a paired one.
"""

from dataclasses import dataclass

import numpy as np

from howsure.counting.sample import Sample
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True, slots=True)
class Groups:
    """Whole groups that were drawn: the group of each label, how many, and how many there are."""

    of: Ints
    number: int
    every: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """Coefficients with limits, and those of a regression of q itself."""

    value: Floats
    low: Floats
    high: Floats
    raw: Floats


def corrected_regression(
    columns: Floats, sample: Sample, confidence_level: float = 0.95, drawn: Groups | None = None
) -> Fitted:
    """Coefficients of `columns`, shape (C, K): what is known of the items of each cell.

    Limits are by Student's t with as many degrees of freedom as labels less strata or, where whole groups were `drawn`,
    groups less one.
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
    freedom = max(sample.n.sum() - len(items), 1.0)
    if drawn is not None:
        m = drawn.number
        e = np.stack([np.bincount(drawn.of, z, m) for z in (x * (sample.weight * left)[:, None]).T], axis=1)
        variance = (1 - m / drawn.every) * m / (m - 1) * ((e - e.mean(0)) ** 2).sum(0)
        freedom = m - 1
    half = float(special.stdtrit(freedom, (1 + confidence_level) / 2)) * np.sqrt(variance)
    return Fitted(value, value - half, value + half, inverse @ columns.T @ sample.raw)
