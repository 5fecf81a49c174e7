"""The report of `howsure tagger check --html`."""

from __future__ import annotations

from dataclasses import replace

from howsure.calibration.tagging import TaggerCheck
from howsure.plots.vega import chart, curve_layers, histogram_layers, risk_layers
from howsure.report.calibration_page import TEST_NOTES
from howsure.report.page import render


def tagger_page(t: TaggerCheck) -> bytes:
    """The predicted tag's calibration, each tag's, the tag pairs' and the spans', on one page."""
    m, c = t.classes, t.classes.top
    facts = {"log loss of the gold sequence, per token": f"{t.log_loss:.4f}", "sentences": f"{t.n_sentences:,}"}
    charts = {
        "curve": chart(curve_layers(c), 420, "Calibration curve of the predicted tag's probability"),
        "histogram": chart(histogram_layers(c), 110, "Distribution of the predicted tag's probability"),
        "risk": chart(risk_layers(m.risk_coverage), 220, "Accuracy against the share of tokens answered"),
    }
    shown = replace(c, by="tag", slices=m.per_class)
    tables = {name: slices for name, slices in (("pair", t.per_pair), ("span", t.per_span)) if slices}
    return render(
        "tagger.html",
        charts,
        c=shown,
        m=m,
        verdict=t.verdict,
        tables=tables,
        facts=facts,
        source=t.source,
        test_notes=TEST_NOTES,
    )
