"""The report of `howsure compare --pred … --html`."""

from __future__ import annotations

from html import escape
from typing import Any

from howsure.evaluation.contests.result import Contest
from howsure.plots.score_vega import interval_layers
from howsure.plots.vega import SCHEMA, chart, overlaid_layers, rendered
from howsure.report.page import render

MOST_DRAWN = 40


def contest_page(c: Contest) -> bytes:
    """Everything about one contest on one page."""
    level = f"{100 * c.confidence_level:g}% interval"
    charts = {
        "systems": chart(interval_layers(_systems(c), f"{c.metric_name}, {level}"), _height(c.systems), "The systems"),
        "duels": chart(
            interval_layers(_duels(c), f"difference of {c.metric_name}, {level}", zero=True),
            _height(c.duels),
            "Differences between the systems",
        ),
    }
    curves = {}
    if c.calibration is not None:
        curves = dict(zip(c.calibration.models, c.calibration.calibrations, strict=True))
        charts["curve"] = chart(overlaid_layers(curves), 420, "Calibration curves of the systems compared")
    return render("contest.html", charts, c=c, models=curves)


def contest_snippet(c: Contest) -> str:
    """Verdict and scores, for notebooks."""
    return f"<p><b>{escape(c.verdict)}</b></p>{rendered(contest_figure(c), '.svg').decode()}"


def contest_figure(c: Contest) -> dict[str, Any]:
    """The systems above their differences, of fixed size: for files."""
    level = f"{100 * c.confidence_level:g}% interval"
    parts = [
        (_systems(c), f"{c.metric_name}, {level}", False),
        (_duels(c), f"difference of {c.metric_name}, {level}", True),
    ]
    return {
        "$schema": SCHEMA,
        "background": "white",
        "vconcat": [
            {"width": 380, "height": _height(r), "layer": interval_layers(r, title, zero=zero)}
            for r, title, zero in parts
        ],
    }


def _height(rows: Any) -> int:
    return 30 + 26 * min(len(rows), MOST_DRAWN)


def _systems(c: Contest) -> list[dict[str, Any]]:
    order = sorted(c.systems, key=lambda s: -s.value.value)[:MOST_DRAWN]
    return [{"name": s.name, **s.value.to_dict()} for s in order]


def _duels(c: Contest) -> list[dict[str, Any]]:
    order = sorted(c.duels, key=lambda d: d.tests[0].p_value)[:MOST_DRAWN]
    return [{"name": f"{d.a} − {d.b}", **d.difference.estimate.to_dict()} for d in order]
