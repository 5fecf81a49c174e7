"""The verdict on predictive distributions, in words.

"Too high" and "too low" compare forecasts with what happened; "overconfident" only ever means too narrow,
"underconfident" too wide.
"""

from __future__ import annotations

from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.forecasts.result import ContinuousCalibration


def continuous_verdict(c: ContinuousCalibration) -> str:
    """One to four sentences: calibrated or not, the shape, its size, what it does to the intervals."""
    if c.n < 3:
        return f"Too little to judge: {c.n:,} row{'s' * (c.n != 1)}."
    if c.is_calibrated:
        limits = (
            f"; outcomes are spread between {c.spread.low:.2f} and {c.spread.high:.2f} times as widely as forecast"
            if c.spread.low is not None and c.spread.high is not None
            else ""
        )
        return f"No miscalibration found in {c.n:,} forecasts (p {_p(c.p_value)}){limits}."
    said = [f"Not calibrated: PIT values are not uniform, p {_p(c.p_value)}."]
    if c.width == "overconfident":
        said.append(
            f"The forecasts are too narrow (overconfident): outcomes are spread {c.spread.value:.2f} times as widely"
            f"{_limits(c, c.spread)}{_shape(c)}."
        )
    elif c.width == "underconfident":
        said.append(
            f"The forecasts are too wide (underconfident): outcomes are spread only {c.spread.value:.2f} times as widely"
            f"{_limits(c, c.spread)}{_shape(c)}."
        )
    if c.direction is not None:
        where = "above" if c.direction == "too low" else "below"
        said.append(
            f"{'They' if c.width else 'The forecasts'} are {c.direction}: y tends to be {where} them, by "
            f"{abs(c.shift.value):.2f} of their standard deviations{_limits(c, c.shift, absolute=True)}."
        )
    if c.width is None and c.direction is None:
        said.append("It is neither a shift nor a wrong width; see where the curve leaves its band.")
    elif c.width is not None and c.coverage:
        worst = max(c.coverage, key=lambda k: abs(k.observed.value - k.nominal))
        said.append(
            f"Central {worst.nominal * 100:.3g}% intervals hold {worst.observed.value * 100:.3g}% of the outcomes."
        )
    return " ".join(said)


def _shape(c: ContinuousCalibration) -> str:
    """What the histogram looks like, when both its ends agree."""
    ends = (c.histogram.density[0], c.histogram.density[-1])
    if min(ends) > 1.0:
        return ", and the histogram is U-shaped"
    return ", and the histogram is a hump" if max(ends) < 1.0 else ""


def _limits(c: ContinuousCalibration, e: Estimate, absolute: bool = False) -> str:
    if e.low is None or e.high is None:
        return ""
    low, high = sorted((abs(e.low), abs(e.high))) if absolute else (e.low, e.high)
    return f" ({c.confidence_level:.0%} interval {low:.2f} to {high:.2f})"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"
