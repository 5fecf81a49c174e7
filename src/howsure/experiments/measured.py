"""Calibration as the experiments measure and show it: 95% intervals, what is dependent counted together."""

from __future__ import annotations

import numpy as np

from howsure.calibration.analysis import analyse, cluster_rows
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.result import Calibration
from howsure.calibration.sketch import sketch_rows
from howsure.kernels.cells import Floats, Ints

CONFIDENCE_LEVEL = 0.95


def calibrated(y: np.ndarray, q: Floats, groups: Ints | None, bins: int | str | None = None) -> Calibration:
    """A calibration whose intervals take the groups, numbered from 0, for what is independent."""
    y, q = np.ascontiguousarray(y, np.uint8), np.ascontiguousarray(q)
    sketch = sketch_rows(y, q)
    table = cluster_rows(sketch, y, q, groups, bins, CONFIDENCE_LEVEL)
    return analyse(sketch, bins=bins, confidence_level=CONFIDENCE_LEVEL, clusters=table)


def shown(e: Estimate | None, digits: int = 4) -> str:
    """A number with its interval.

    >>> shown(Estimate(0.12345, 0.1, 0.2), 3)
    '0.123 [0.100, 0.200]'
    """
    if e is None:
        return "–"
    limits = "" if e.low is None or e.high is None else f" [{e.low:.{digits}f}, {e.high:.{digits}f}]"
    return f"{e.value:.{digits}f}{limits}"


def leaning(c: Calibration) -> str:
    """Too extreme, not extreme enough, or neither, by the slope's interval."""
    return c.bias.extremity or "neither over- nor underconfident"
