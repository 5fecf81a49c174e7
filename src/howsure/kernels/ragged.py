"""Runs of different lengths that stand one after another, and where each begins."""

from typing import Any

import numpy as np

from howsure.kernels.cells import Ints


def offsets(sizes: Any) -> Ints:
    """Where runs of these sizes begin, and where the last one ends."""
    made = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=made[1:])
    return made


def picked(starts: Ints, chosen: Any) -> tuple[Ints, Ints]:
    """Where the chosen ones of the runs that begin at `starts` begin when they stand alone, and where their items were."""
    sizes = np.diff(starts)[chosen]
    alone = offsets(sizes)
    return alone, np.arange(alone[-1]) + np.repeat(starts[:-1][chosen] - alone[:-1], sizes)
