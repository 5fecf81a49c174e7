"""Figure 6 of the paper on Matplotlib axes: mean counts over time, their bands, the one-best counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from howsure.errors import MissingExtra
from howsure.plots.vega import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BANDS = ((0.95, 0.12), (0.8, 0.13), (0.5, 0.15))


def draw_timelines(timelines: Mapping[str, Sequence[Any]], ax: Axes | None = None) -> Axes:
    """A line of means for each name with its bands, and the one-best counts, dashed; returns the axes."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra('drawing needs Matplotlib: pip install "howsure[plot]".') from None
    axes = plt.subplots(figsize=(8, 3.4))[1] if ax is None else ax
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
