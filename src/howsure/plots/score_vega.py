"""Confusion matrices and metrics with their intervals, as Vega-Lite specifications."""

from __future__ import annotations

from typing import Any

import numpy as np

from howsure.evaluation.contests.result import Contest
from howsure.evaluation.scores.confusion import Confusion
from howsure.evaluation.scores.result import Score
from howsure.plots.vega import BLUE, SCHEMA

MOST_DRAWN = 40  # labels of a matrix, classes of a chart
WITH_NUMBERS = 15  # labels up to which each cell shows its count


def matrix_layers(c: Confusion) -> list[dict[str, Any]]:
    """Rows are gold, columns predicted; shaded by the share of the gold label. The commonest labels only, if many."""
    size = c.counts.sum(axis=0) + c.counts.sum(axis=1)
    chosen = np.sort(np.argsort(-size, kind="stable")[:MOST_DRAWN])
    labels = [c.labels[i] for i in chosen]
    whole = np.maximum(c.counts.sum(axis=1), 1)
    records = [
        {
            "gold": c.labels[g],
            "predicted": c.labels[p],
            "rows": int(c.counts[g, p]),
            "share": float(c.counts[g, p] / whole[g]),
        }
        for g in chosen
        for p in chosen
    ]
    axis = {"labelLimit": 110, "labelAngle": -40 if len(labels) > 4 or max(map(len, labels)) > 9 else 0}
    x = {
        "field": "predicted",
        "type": "nominal",
        "sort": labels,
        "title": "predicted",
        "axis": {**axis, "orient": "top"},
    }
    y = {"field": "gold", "type": "nominal", "sort": labels, "title": "gold", "axis": {"labelLimit": 130}}
    tooltip = [
        {"field": "gold"},
        {"field": "predicted"},
        {"field": "rows", "format": ","},
        {"field": "share", "title": "share of gold", "format": ".1%"},
    ]
    colour = {
        "field": "share",
        "type": "quantitative",
        "title": "share of gold",
        "scale": {"domain": [0, 1], "range": ["#eef4f9", "#08457e"]},
        "legend": None,
    }
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": records},
            "mark": {"type": "rect", "stroke": "#ffffff", "strokeWidth": 1},
            "encoding": {"x": x, "y": y, "color": colour, "tooltip": tooltip},
        }
    ]
    if len(labels) <= WITH_NUMBERS:
        ink = {"condition": {"test": "datum.share > 0.5", "value": "#ffffff"}, "value": "#1b1f24"}
        layers.append(
            {
                "data": {"values": [r for r in records if r["rows"]]},
                "mark": {"type": "text", "fontSize": 12},
                "encoding": {"x": x, "y": y, "text": {"field": "rows", "format": ","}, "color": ink},
            }
        )
    return layers


def class_layers(s: Score) -> list[dict[str, Any]]:
    """F of every class with its interval, worst last; the commonest only, if there are many."""
    kept = sorted((c for c in s.classes if c.f is not None), key=lambda c: -(c.gold + c.predicted))[:MOST_DRAWN]
    records = [
        {"label": c.label, "gold": c.gold, **c.f.to_dict()} for c in sorted(kept, key=lambda c: -float(c.f or 0)) if c.f
    ]
    y = {"field": "label", "type": "nominal", "sort": [r["label"] for r in records], "title": None}
    x = {
        "type": "quantitative",
        "title": f"{s.f_name}, {100 * s.confidence_level:g}% interval",
        "scale": {"domain": [0, 1]},
    }
    tooltip = [{"field": "label"}, {"field": "gold", "format": ","}] + [
        {"field": f, "format": ".4f"} for f in ("value", "low", "high")
    ]
    data = {"values": records}
    return [
        {
            "data": data,
            "mark": {"type": "rule", "color": BLUE, "opacity": 0.6, "strokeWidth": 2},
            "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}},
        },
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 60, "color": BLUE, "opacity": 1},
            "encoding": {"y": y, "x": {"field": "value", **x}, "tooltip": tooltip},
        },
    ]


def interval_layers(records: list[dict[str, Any]], title: str, *, zero: bool = False) -> list[dict[str, Any]]:
    """A point and its limits a line: `name`, `value`, `low`, `high`; `zero` draws where there is no difference."""
    y = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 220}}
    x = {"type": "quantitative", "title": title, "scale": {"zero": False, "padding": 12}}
    data = {"values": records}
    tooltip = [{"field": "name"}] + [{"field": f, "format": ".4f"} for f in ("value", "low", "high")]
    layers: list[dict[str, Any]] = [
        {
            "data": data,
            "mark": {"type": "rule", "color": BLUE, "opacity": 0.6, "strokeWidth": 2},
            "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}},
        },
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 70, "color": BLUE, "opacity": 1},
            "encoding": {"y": y, "x": {"field": "value", **x}, "tooltip": tooltip},
        },
    ]
    if zero:
        rule = {"data": {"values": [{"at": 0}]}, "mark": {"type": "rule", "color": "#8a8a8a", "strokeDash": [4, 3]}}
        layers.insert(0, {**rule, "encoding": {"x": {"field": "at", **x}}})
    return layers


def score_figure(s: Score) -> dict[str, Any]:
    """The matrix, or the types of spans, of fixed size: for files."""
    if s.confusion is not None:
        side = 60 + 28 * min(len(s.confusion.labels), MOST_DRAWN)
        layers, height = matrix_layers(s.confusion), side
    else:
        side, layers, height = 380, class_layers(s), 40 + 22 * min(len(s.classes), MOST_DRAWN)
    return {"$schema": SCHEMA, "background": "white", "width": side, "height": height, "layer": layers}


def contest_figure(c: Contest) -> dict[str, Any]:
    """The systems above their differences, of fixed size: for files."""
    level = f"{100 * c.confidence_level:g}% interval"
    parts = [
        (system_intervals(c), f"{c.metric_name}, {level}", False),
        (duel_intervals(c), f"difference of {c.metric_name}, {level}", True),
    ]
    return {
        "$schema": SCHEMA,
        "background": "white",
        "vconcat": [
            {"width": 380, "height": interval_height(r), "layer": interval_layers(r, title, zero=zero)}
            for r, title, zero in parts
        ],
    }


def interval_height(rows: Any) -> int:
    return 30 + 26 * min(len(rows), MOST_DRAWN)


def system_intervals(c: Contest) -> list[dict[str, Any]]:
    order = sorted(c.systems, key=lambda s: -s.value.value)[:MOST_DRAWN]
    return [{"name": s.name, **s.value.to_dict()} for s in order]


def duel_intervals(c: Contest) -> list[dict[str, Any]]:
    order = sorted(c.duels, key=lambda d: d.tests[0].p_value)[:MOST_DRAWN]
    return [{"name": f"{d.a} − {d.b}", **d.difference.estimate.to_dict()} for d in order]
