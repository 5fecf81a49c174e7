"""A `ContinuousCalibration` in words, tables and a histogram."""

from __future__ import annotations

from howsure.calibration.forecasts.result import ContinuousCalibration
from howsure.report.text.layout import aligned, filled, joined, limits, notes, p_text

BAR = 40  # characters of the longest bar


def continuous_text(c: ContinuousCalibration) -> str:
    """Verdict first, then the numbers, the central intervals and the histogram."""
    coverage = _coverage(c) if c.coverage else ""
    return joined([filled(c.verdict), _numbers(c), coverage, _histogram(c), "\n".join(notes(c.notes))])


def _numbers(c: ContinuousCalibration) -> str:
    detail = "" if c.detail is None else f"{c.detail:,} {c.kind} each"
    rows = [
        ("rows", f"{c.n:,}", detail),
        ("spread", f"{c.spread.value:.4f}", f"{limits(c.spread)} (above 1: too narrow)"),
        ("shift", f"{c.shift.value:+.4f}", f"{limits(c.shift)} (above 0: y above the forecasts)"),
        ("mean PIT", f"{c.mean_pit:.4f}", "½ if calibrated"),
        ("variance of PIT", f"{c.variance_pit:.4f}", "0.0833 if calibrated"),
    ]
    if c.crps is not None:
        rows.append((c.score_name, f"{c.crps.value:.5g}", f"{limits(c.crps, '.5g')} {c.crps_method}"))
    for name, test in zip(("calibrated?", "", "", "", ""), c.tests, strict=True):
        rows.append((name, f"p {p_text(test.p_value)}", f"{test.name} test" + " (headline)" * (name != "")))
    return aligned(rows)


def _coverage(c: ContinuousCalibration) -> str:
    lines = ["Central intervals:", f"  {'should hold':>11} {'hold':>9}  {c.confidence_level:.0%} interval"]
    for k in c.coverage:
        mark = ""
        if k.observed.low is not None and k.observed.high is not None:
            mark = "too few" if k.observed.high < k.nominal else "too many" if k.observed.low > k.nominal else ""
        lines.append(
            f"  {k.nominal * 100:>10.4g}% {k.observed.value * 100:>8.2f}%"
            f"  {(k.observed.low or 0.0) * 100:.2f}% – {(k.observed.high or 1.0) * 100:.2f}%  {mark}".rstrip()
        )
    return "\n".join(lines)


def _histogram(c: ContinuousCalibration) -> str:
    h = c.histogram
    scale = BAR / max(float(h.density.max()), float(h.high.max()))
    lines = [
        "PIT, where y falls in its forecast:   █ observed density  ┊ 1, if calibrated",
        "    from      to     rows",
    ]
    one = round(scale)
    for i in range(len(h)):
        bar = list("█" * round(float(h.density[i]) * scale) + " " * (BAR + 1))[: BAR + 1]
        if bar[one] == " ":
            bar[one] = "┊"
        mark = "many" if h.density[i] > h.high[i] else "few" if h.density[i] < h.low[i] else ""
        lines.append(f"  {h.from_pit[i]:6.4f}  {h.to_pit[i]:6.4f} {h.n[i]:>8,} {''.join(bar)} {mark}".rstrip())
    return "\n".join(lines)
