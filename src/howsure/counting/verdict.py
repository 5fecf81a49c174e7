"""What a count says, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howsure.calibration.estimation.intervals import Estimate

if TYPE_CHECKING:
    from howsure.counting.result import Counts


def percent(value: float, like: float | None = None) -> str:
    """A share as a percentage, with as many places as `like` (by default itself) needs for two figures."""
    size = abs(100 * (value if like is None else like))
    places = 0 if size >= 99.95 else 1 if size >= 0.95 else 2 if size >= 0.095 else 3 if size >= 0.0095 else 4
    return f"{100 * value:.{places}f}"


def percent_range(share: Estimate) -> str:
    """4.4% (3.6 to 5.4)."""
    assert share.low is not None
    assert share.high is not None
    scale = max(share.value, share.high / 2)
    return f"{percent(share.value, scale)}% ({percent(share.low, scale)} to {percent(share.high, scale)})"


def verdict(c: Counts) -> str:
    """The share and count first, then what the model alone would have said, then how it moves."""
    share = c.share
    assert share.low is not None
    assert share.high is not None
    scale = max(share.value, share.high / 2)
    said = f"about {percent_range(share)}, {c.count.value:,.0f} of {c.n_items:,}; the model alone says {percent(c.raw_share, scale)}%"
    if c.raw_share > share.high:
        said += ", which is too high"
    elif c.raw_share < share.low:
        said += ", which is too low"
    said += "."
    if c.trend is not None:
        said += f" {_trend(c)}"
    groups = [x for x in c.cells if not x.period and x.share is not None]
    if len(groups) > 1:
        order = sorted(groups, key=lambda x: -(x.share.value if x.share else 0))
        first, last = order[0], order[-1]
        assert first.share is not None
        assert last.share is not None
        said += f" Most: {first.name} with {percent_range(first.share)}; least: {last.name} with {percent_range(last.share)}."
    return said


def _trend(c: Counts) -> str:
    t = c.trend
    assert t is not None
    assert t.low is not None
    assert t.high is not None
    unit = f"points a {c.every}" if c.every else "points a step"
    size = max(abs(t.low), abs(t.high))
    limits = f"({percent(t.low, size)} to {percent(t.high, size)})"
    if t.low > 0 or t.high < 0:
        way = "rises" if t.value > 0 else "falls"
        return f"It {way} by {percent(abs(t.value), size)} {unit} {limits}."
    return f"No clear trend: {percent(t.value, size)} {unit} {limits}."
