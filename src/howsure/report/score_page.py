"""The report of `howsure score --html`."""

from __future__ import annotations

from howsure.evaluation.scores.result import Score
from howsure.plots.score_vega import MOST_DRAWN, class_layers, matrix_layers
from howsure.plots.vega import chart
from howsure.report.page import render


def score_page(s: Score) -> bytes:
    """Everything about one score on one page."""
    drawn = min(len(s.classes), MOST_DRAWN)
    charts = {"classes": chart(class_layers(s), 40 + 22 * drawn, f"{s.f_name} of every class with its interval")}
    if s.confusion is not None:
        side = 80 + 26 * min(len(s.confusion.labels), MOST_DRAWN)
        charts["matrix"] = chart(matrix_layers(s.confusion), min(side, 700), "Confusion matrix")
    return render("score.html", charts, s=s, cut=len(s.classes) > MOST_DRAWN, most=MOST_DRAWN)
