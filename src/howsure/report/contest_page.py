"""The report of `howsure compare --pred … --html`."""

from __future__ import annotations

from howsure.evaluation.contests.result import Contest
from howsure.plots.score_vega import duel_intervals, interval_height, interval_layers, system_intervals
from howsure.plots.vega import chart, overlaid_layers
from howsure.report.page import render


def contest_page(c: Contest) -> bytes:
    """Everything about one contest on one page."""
    level = f"{100 * c.confidence_level:g}% interval"
    charts = {
        "systems": chart(
            interval_layers(system_intervals(c), f"{c.metric_name}, {level}"), interval_height(c.systems), "The systems"
        ),
        "duels": chart(
            interval_layers(duel_intervals(c), f"difference of {c.metric_name}, {level}", zero=True),
            interval_height(c.duels),
            "Differences between the systems",
        ),
    }
    curves = {}
    if c.calibration is not None:
        curves = c.calibration.by_model
        charts["curve"] = chart(overlaid_layers(curves), 420, "Calibration curves of the systems compared")
    return render("contest.html", charts, c=c, models=curves)
