"""The ECDF difference of PIT values on Matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from howsure.calibration.forecasts.result import ContinuousCalibration
from howsure.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(c: ContinuousCalibration, ax: Axes | None = None) -> Axes:
    """Share of PIT values below each point less the point, with the simultaneous band. Never calls `show`."""
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise MissingExtra("drawing needs Matplotlib: pip install 'howsure[plot]'.") from None
        ax = pyplot.subplots(figsize=(6, 4))[1]
    e = c.ecdf
    points = np.concatenate([[0.0], e.points, [1.0]])
    difference, low, high = (np.concatenate([[0.0], side, [0.0]]) for side in (e.difference, e.low, e.high))
    ax.axhline(0.0, color="0.6", linewidth=1, zorder=1)
    label = f"if calibrated ({c.confidence_level:.0%}, all points together)"
    ax.fill_between(points, low, high, color="0.85", linewidth=0, zorder=0, label=label)
    ax.plot(points, difference, color="#0072B2", linewidth=1.2, label="observed")
    ax.set(xlim=(0, 1), xlabel="PIT: where y falls in its forecast", ylabel="share below, less PIT")
    ax.set_title(f"spread {c.spread!r}, shift {c.shift!r}", fontsize="medium")
    ax.legend(loc="best", frameon=False, fontsize="small")
    return ax
