"""The report of `howsure coref check --html`."""

from __future__ import annotations

from typing import Any

from howsure.plots.vega import chart, curve_layers, histogram_layers
from howsure.report.calibration_page import TEST_NOTES
from howsure.report.page import render


def coref_page(k: Any, source: str) -> bytes:
    """A `CorefCheck` on one page: the calibration page of its pairs, with the sampling table and the scores."""
    c = k.pairs
    charts = {
        "curve": chart(
            curve_layers(c), 420, "Calibration curve: how often pairs corefer against the probability given"
        ),
        "histogram": chart(histogram_layers(c), 110, "Distribution of pair probabilities by label"),
    }
    return render("coref.html", charts, c=c, k=k, source=source, test_notes=TEST_NOTES)
