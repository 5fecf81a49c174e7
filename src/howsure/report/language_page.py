"""The report of `howsure lm check --html`."""

from __future__ import annotations

from howsure.calibration.language import LanguageCalibration
from howsure.plots.vega import chart, curve_layers, histogram_layers
from howsure.report.calibration_page import TEST_NOTES
from howsure.report.page import render


def language_page(m: LanguageCalibration) -> bytes:
    """A language model's calibration on one page: the predicted word, then all words by their frequency."""
    charts = {
        "curve": chart(curve_layers(m.top), 420, "Calibration curve of the predicted next word's probability"),
        "histogram": chart(histogram_layers(m.top), 110, "Distribution of the predicted next word's probability"),
    }
    return render("language.html", charts, c=m.top, m=m, source=m.model or "the model", test_notes=TEST_NOTES)
