"""The report of `howsure check --html`."""

from __future__ import annotations

from dataclasses import replace

from howsure.calibration.multiclass import MulticlassCalibration
from howsure.calibration.result import Calibration
from howsure.plots.vega import chart, curve_layers, histogram_layers, risk_layers
from howsure.report.page import render


def calibration_page(c: Calibration) -> bytes:
    """Everything about one calibration on one page."""
    charts = {
        "curve": chart(curve_layers(c), 420, "Calibration curve: observed frequency against predicted probability"),
        "histogram": chart(histogram_layers(c), 110, "Distribution of predicted probabilities by label"),
    }
    return render("calibration.html", charts, c=c, source=c.source or "data", test_notes=TEST_NOTES)


def classes_page(m: MulticlassCalibration) -> bytes:
    """Many classes on one page: the predicted class's calibration, each class's, and what abstaining would gain."""
    c = m.top
    charts = {
        "curve": chart(curve_layers(c), 420, "Calibration curve of the predicted class's probability"),
        "histogram": chart(histogram_layers(c), 110, "Distribution of the predicted class's probability"),
        "risk": chart(risk_layers(m.risk_coverage), 220, "Accuracy against the share of items answered"),
    }
    # The page of one column, with the classes as its slices.
    shown = replace(c, by="class", slices=m.per_class)
    return render("classes.html", charts, c=shown, m=m, source=m.source or "data", test_notes=TEST_NOTES)


TEST_NOTES = {
    "combined": "Cauchy combination of the next two, p cut at ½ so that none cancels another; the headline.",
    "excess error": "Is the debiased squared error larger than a calibrated model's would be? Any shape.",
    "score": "Is q shifted, or its slope wrong?",
    "Spiegelhalter": "Is the Brier score what it should be if q were right?",
    "Kolmogorov-Smirnov": "The largest cumulative difference between y and q.",
    "Kuiper": "The range of the cumulative difference.",
}
