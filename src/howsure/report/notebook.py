"""A result as notebooks show it."""

from __future__ import annotations

from html import escape

from howsure.calibration.result import Calibration
from howsure.plots.vega import figure, rendered


def notebook_html(c: Calibration) -> str:
    """Verdict, headline numbers and the curve."""
    rows = [
        ("rows", f"{c.n:,}"),
        ("RMS error", repr(c.error)),
        ("ECE", repr(c.ece)),
        ("Brier score", f"{c.brier.value:.4f}"),
    ]
    table = "".join(f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
    picture = rendered(figure(c), ".svg").decode()
    return f"<p><b>{escape(c.verdict)}</b></p><table>{table}</table>{picture}"
