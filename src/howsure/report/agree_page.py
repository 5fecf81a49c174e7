"""The report of `howsure agree --html`."""

from __future__ import annotations

from typing import Any

from howsure.evaluation.annotation.result import Agreement
from howsure.plots.agreement_vega import annotator_layers, coefficient_layers, confusion_layers
from howsure.plots.vega import chart
from howsure.report.page import render

MOST_PAIRS = 500
MOST_DRAWN = 60  # annotators
MOST_LABELS = 25  # of a confusion that is drawn


def agreement_page(a: Agreement) -> bytes:
    """Everything about one set of labels on one page."""
    charts: dict[str, dict[str, Any]] = {"coefficients": chart(coefficient_layers(a), 150, "Agreement coefficients")}
    if 2 < len(a.ratings.labels) <= MOST_LABELS and a.confused:
        charts["confusion"] = chart(
            confusion_layers(a), 26 * len(a.ratings.labels) + 40, "Labels given to the same item"
        )
    if a.crowd is not None:
        shown = min(len(a.crowd.annotators), MOST_DRAWN)
        charts["annotators"] = chart(annotator_layers(a, shown), 16 * shown + 40, "Skill of the annotators")
    return render("agree.html", charts, a=a, r=a.ratings, most_pairs=MOST_PAIRS, most_drawn=MOST_DRAWN)
