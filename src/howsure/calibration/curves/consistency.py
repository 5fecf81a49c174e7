"""The consistency band: where the curve of a perfectly calibrated model would fall, given these q and these bins."""

from __future__ import annotations

import numpy as np

from howsure.calibration.curves.bins import Bins
from howsure.calibration.sketch import Sketch
from howsure.kernels.cells import Floats, Ints

REPLICATES = 500
MOST_BINS = 2_000  # more than anyone looks at
MOST_GROUPS = 256  # runs of cells simulated together: inside one, q hardly varies


def consistency_band(
    sketch: Sketch, bins: Bins, starts: Ints | None, confidence_level: float, rng: np.random.Generator
) -> tuple[Floats, Floats] | None:
    """Pointwise limits of each bin's frequency when every y is Bernoulli(q), by simulation.

    None for equal-width bins of a collapsed sketch, whose cells do not nest in the bins, and for very many bins.
    """
    if starts is None or len(starts) > MOST_BINS:
        return None
    groups = _finer(starts, sketch.size, max(MOST_GROUPS // len(starts), 1))
    n = np.add.reduceat(sketch.size, groups)
    q = np.clip(np.add.reduceat(sketch.sum_q, groups) / n, 0.0, 1.0)
    draws = rng.binomial(n, q, size=(REPLICATES, len(n)))
    frequency = np.add.reduceat(draws, np.searchsorted(groups, starts), axis=1) / bins.n
    tail = (1.0 - confidence_level) / 2.0
    low, high = np.quantile(frequency, [tail, 1.0 - tail], axis=0)
    return low, high


def _finer(starts: Ints, size: Ints, parts: int) -> Ints:
    """Cut each bin of cells into up to `parts` runs of about equal mass."""
    end = np.cumsum(size)
    before = np.concatenate([[0], end])[np.append(starts, len(size))]
    marks = before[:-1, None] + np.diff(before)[:, None] * np.arange(1, parts)[None, :] / parts
    cuts = np.searchsorted(end, marks.ravel(), side="left") + 1
    return np.unique(np.concatenate([starts, cuts[cuts < len(size)]]))
