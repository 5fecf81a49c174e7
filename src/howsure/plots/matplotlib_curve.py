"""The calibration curve on Matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howsure.calibration.result import Calibration
from howsure.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(c: Calibration, ax: Axes | None = None) -> Axes:
    """Observed frequency against probability, with intervals and the consistency band. Never calls `show`."""
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise MissingExtra("drawing needs Matplotlib: pip install 'howsure[plot]'.") from None
        ax = pyplot.subplots(figsize=(5, 5))[1]
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
