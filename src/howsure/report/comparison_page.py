"""The report of `howsure compare --html`."""

from __future__ import annotations

from html import escape

from howsure.calibration.comparing.result import Comparison
from howsure.plots.vega import chart, overlaid_figure, overlaid_layers, rendered
from howsure.report.page import render


def comparison_page(c: Comparison) -> bytes:
    """Everything about one comparison on one page."""
    curves = dict(zip(c.models, c.calibrations, strict=True))
    charts = {"curve": chart(overlaid_layers(curves), 420, "Calibration curves of the models compared")}
    return render("comparison.html", charts, c=c, models=curves)


def comparison_snippet(c: Comparison) -> str:
    """Verdict and curves, for notebooks."""
    curves = dict(zip(c.models, c.calibrations, strict=True))
    return f"<p><b>{escape(c.verdict)}</b></p>{rendered(overlaid_figure(curves), '.svg').decode()}"
