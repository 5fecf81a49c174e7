"""Curves, PIT values and counts over time on Matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from howsure.errors import MissingExtra
from howsure.plots.vega import PALETTE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from howsure.calibration.forecasts.result import ContinuousCalibration
    from howsure.calibration.result import Calibration


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or new ones of this size in inches."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("drawing needs Matplotlib: pip install 'howsure[plot]'.") from None
    return pyplot.subplots(figsize=size)[1]


def draw_curve(c: Calibration, ax: Axes | None = None) -> Axes:
    """Observed frequency against probability, with intervals and the consistency band. Never calls `show`."""
    ax = _axes(ax, (5, 5))
    b = c.bins
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=1)
    if c.band is not None:
        ax.fill_between(b.mean_prob, *c.band, color="0.85", linewidth=0, zorder=0, label="if calibrated")
    ax.errorbar(
        b.mean_prob,
        b.mean_true,
        yerr=[b.mean_true - b.low, b.high - b.mean_true],
        fmt="o-",
        markersize=4,
        linewidth=1,
        elinewidth=1,
        color="#0072B2",
        label=f"observed ({100 * c.confidence_level:g}% intervals)",
    )
    if c.curve is not None:
        ax.plot(c.curve.q, c.curve.p, color="#e0701a", linewidth=1.5, label=c.curve.kind)
        ax.fill_between(c.curve.q, c.curve.low, c.curve.high, color="#e0701a", alpha=0.2, linewidth=0)
        wide = c.curve.low_everywhere, c.curve.high_everywhere
        ax.fill_between(c.curve.q, *wide, color="#e0701a", alpha=0.1, linewidth=0)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="predicted probability", ylabel="observed frequency", aspect="equal")
    if c.error is not None:
        ax.set_title(f"RMS calibration error {c.error!r}", fontsize="medium")
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax


def draw_pit(c: ContinuousCalibration, ax: Axes | None = None) -> Axes:
    """Share of PIT values below each point less the point, with the simultaneous band. Never calls `show`."""
    ax = _axes(ax, (6, 4))
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


BANDS = ((0.95, 0.12), (0.8, 0.13), (0.5, 0.15))


def draw_timelines(timelines: Mapping[str, Sequence[Any]], ax: Axes | None = None) -> Axes:
    """A line of means for each name with its bands, and the one-best counts, dashed; returns the axes."""
    axes = _axes(ax, (8, 3.4))
    for i, (name, counts) in enumerate(timelines.items()):
        colour = PALETTE[i % len(PALETTE)]
        days = [c.start for c in counts]
        for level, opacity in BANDS:
            low, high = zip(*(c.intervals[level] for c in counts), strict=True)
            axes.fill_between(days, low, high, color=colour, alpha=opacity, linewidth=0)
        axes.plot(days, [c.best for c in counts], color=colour, linewidth=1, linestyle=(0, (3, 3)))
        axes.plot(days, [c.mean for c in counts], color=colour, linewidth=2, marker="o", markersize=4, label=name)
    axes.set_ylabel("documents")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return axes
