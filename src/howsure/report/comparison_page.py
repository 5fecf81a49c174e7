"""The report of `howsure compare --html`."""

from __future__ import annotations

from howsure.calibration.comparing.result import Comparison
from howsure.plots.vega import chart, overlaid_layers
from howsure.report.page import render


def comparison_page(c: Comparison) -> bytes:
    """Everything about one comparison on one page."""
    curves = c.by_model
    charts = {"curve": chart(overlaid_layers(curves), 420, "Calibration curves of the models compared")}
    return render("comparison.html", charts, c=c, models=curves)
