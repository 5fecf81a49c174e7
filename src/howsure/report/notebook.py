"""A result as notebooks show it."""

from __future__ import annotations

from html import escape
from typing import Any

from howsure.calibration.forecasts.result import ContinuousCalibration
from howsure.calibration.result import Calibration
from howsure.plots.pit_vega import pit_figure
from howsure.plots.vega import figure, rendered


def notebook_html(c: Calibration) -> str:
    """Verdict, headline numbers and the curve."""
    rows = [
        ("rows", f"{c.n:,}"),
        ("RMS error", repr(c.error)),
        ("ECE", repr(c.ece)),
        ("Brier score", f"{c.brier.value:.4f}"),
    ]
    return _html(c.verdict, rows, figure(c))


def continuous_notebook_html(c: ContinuousCalibration) -> str:
    """Verdict, headline numbers and the two pictures of PIT values."""
    rows = [("rows", f"{c.n:,}"), ("shift", repr(c.shift)), ("spread", repr(c.spread)), ("p", f"{c.p_value:.3g}")]
    if c.crps is not None:
        rows.append((c.score_name, repr(c.crps)))
    return _html(c.verdict, rows, pit_figure(c))


def _html(verdict: str, rows: list[tuple[str, str]], specification: dict[str, Any]) -> str:
    table = "".join(f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
    picture = rendered(specification, ".svg").decode()
    return f"<p><b>{escape(verdict)}</b></p><table>{table}</table>{picture}"
