"""`howsure check --draws` and `--quantiles`: the run, and a `ContinuousCalibration` in words and tables."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path

from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.forecasts.result import ContinuousCalibration
from howsure.cli.text import WIDTH, aligned, p_text
from howsure.errors import InputError

BAR = 40  # characters of the longest bar


def check_forecasts(
    file: str,
    *,
    draws: str | None,
    quantiles: str | None,
    true: str | None,
    where: str | None,
    confidence: float,
    rng: int,
    html: str | None,
    plot: str | None,
    as_json: bool,
) -> int:
    """Check predictive distributions, print what was found and write what was asked for."""
    from howsure.files import write_whole
    from howsure.plots.pit_vega import pit_figure
    from howsure.plots.vega import rendered
    from howsure.report.continuous_page import continuous_page
    from howsure.verbs.check_continuous import check_continuous

    result = check_continuous(
        file, draws, quantiles=quantiles, true=true, where=where, confidence_level=confidence, rng=rng
    )
    if as_json:
        said = json.dumps(result.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)
    else:
        said = continuous_text(result)
    if html is not None:
        write_whole(html, continuous_page(result))
    if plot is not None:
        write_whole(plot, rendered(pit_figure(result), Path(plot).suffix.lower()))
    print(said.rstrip("\n"))
    if not as_json:
        for path in filter(None, (html, plot)):
            print(f"\nWritten: {path}")
    return 0


def refuse_options(given: Mapping[str, object], with_option: str) -> None:
    """Options that say something about probabilities mean nothing here; naming them is better than ignoring them."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} does not go with {with_option}.")


def continuous_text(c: ContinuousCalibration) -> str:
    """Verdict first, then the numbers, the central intervals and the histogram."""
    parts = [textwrap.fill(c.verdict, WIDTH), _numbers(c)]
    if c.coverage:
        parts.append(_coverage(c))
    parts.append(_histogram(c))
    if c.notes:
        parts.append(
            "\n".join(textwrap.fill(n, WIDTH, initial_indent="Note: ", subsequent_indent="  ") for n in c.notes)
        )
    return "\n\n".join(parts) + "\n"


def _numbers(c: ContinuousCalibration) -> str:
    detail = "" if c.detail is None else f"{c.detail:,} {c.kind} each"
    rows = [
        ("rows", f"{c.n:,}", detail),
        ("spread", f"{c.spread.value:.4f}", _limits(c.spread, "(above 1: too narrow)")),
        ("shift", f"{c.shift.value:+.4f}", _limits(c.shift, "(above 0: y above the forecasts)")),
        ("mean PIT", f"{c.mean_pit:.4f}", "½ if calibrated"),
        ("variance of PIT", f"{c.variance_pit:.4f}", "0.0833 if calibrated"),
    ]
    if c.crps is not None:
        rows.append((c.score_name, f"{c.crps.value:.5g}", f"{_general(c.crps)} {c.crps_method}"))
    for name, test in zip(("calibrated?", "", "", "", ""), c.tests, strict=True):
        rows.append((name, f"p {p_text(test.p_value)}", f"{test.name} test" + " (headline)" * (name != "")))
    return aligned(rows)


def _limits(e: Estimate, said: str) -> str:
    return said if e.low is None or e.high is None else f"[{e.low:.4f}, {e.high:.4f}] {said}"


def _general(e: Estimate) -> str:
    return "" if e.low is None or e.high is None else f"[{e.low:.5g}, {e.high:.5g}]"


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
