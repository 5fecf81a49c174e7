"""The likelihood-base-rate side of Murphy & Winkler: how q is distributed among positives and negatives."""

from dataclasses import dataclass

import numpy as np

from howsure._result import Record
from howsure.calibration.sketch import Sketch
from howsure.kernels.cells import Floats, Ints

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
HISTOGRAM_BINS = 20


@dataclass(frozen=True, slots=True)
class LabelDistribution(Record):
    """Rows of one label: how many, mean and quantiles of q, and a histogram of 20 equal widths."""

    SHOWN = "n mean quantiles=by_level histogram"

    n: int
    mean: float | None
    quantiles: Floats  # at LEVELS; empty when there are no rows
    histogram: Ints

    def __repr__(self) -> str:
        mean = "–" if self.mean is None else f"{self.mean:.4f}"
        return f"LabelDistribution(n={self.n:,}, mean={mean})"

    @property
    def by_level(self) -> dict[str, float]:
        """Quantiles keyed by level."""
        return {f"{level:g}": v for level, v in zip(LEVELS, self.quantiles.tolist(), strict=False)}


def area_under_curve(sketch: Sketch) -> float | None:
    """P(q of a random positive > q of a random negative), ties counted half; None with one class only."""
    negative, positive = sketch.counts[:, 0], sketch.counts[:, 1]
    n0, n1 = int(negative.sum()), int(positive.sum())
    if n0 == 0 or n1 == 0:
        return None
    below = np.cumsum(negative) - negative
    return float(np.sum(positive.astype(np.float64) * (below + 0.5 * negative)) / (float(n0) * n1))


def label_distribution(sketch: Sketch, label: int) -> LabelDistribution:
    """How q is distributed among the rows with `label`."""
    count = sketch.counts[:, label]
    n = int(count.sum())
    slot = np.minimum((sketch.mean_q * HISTOGRAM_BINS).astype(np.int64), HISTOGRAM_BINS - 1)
    histogram = np.bincount(slot, count, HISTOGRAM_BINS).astype(np.int64)
    if n == 0:
        return LabelDistribution(0, None, np.zeros(0), histogram)
    side = sketch.sides[label]
    mean_q = np.where(sketch.upper, 1.0 - side.mean, side.mean)
    place = np.searchsorted(np.cumsum(count), np.ceil(np.array(LEVELS) * n))
    quantiles = sketch.mean_q[np.minimum(place, len(count) - 1)]
    for array in (quantiles, histogram):
        array.flags.writeable = False
    return LabelDistribution(n, float(np.sum(count * mean_q)) / n, quantiles, histogram)
