"""The report of `howsure coref check --html`."""

from __future__ import annotations

from howsure.evaluation.coreference.result import CorefCheck
from howsure.plots.vega import chart, curve_layers, histogram_layers
from howsure.report.calibration_page import TEST_NOTES
from howsure.report.page import render


def coref_page(k: CorefCheck) -> bytes:
    """A `CorefCheck` on one page: the calibration page of its pairs, with the sampling table and the scores."""
    c = k.pairs
    charts = {
        "curve": chart(
            curve_layers(c), 420, "Calibration curve: how often pairs corefer against the probability given"
        ),
        "histogram": chart(histogram_layers(c), 110, "Distribution of pair probabilities by label"),
    }
    return render("coref.html", charts, c=c, k=k, source=k.source or "data", test_notes=TEST_NOTES)
