"""Scores, contests and agreement of labels, as Vega-Lite specifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from howsure.plots.vega import BLUE, GREY, ORANGE, SCHEMA, intervals

if TYPE_CHECKING:
    from howsure.evaluation.annotation.result import Agreement
    from howsure.evaluation.contests.result import Contest
    from howsure.evaluation.scores.result import Confusion, Score

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
    return intervals(records, y, x, tooltip)


def interval_layers(records: list[dict[str, Any]], title: str, *, zero: bool = False) -> list[dict[str, Any]]:
    """A point and its limits a line: `name`, `value`, `low`, `high`; `zero` draws where there is no difference."""
    y = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 220}}
    x = {"type": "quantitative", "title": title, "scale": {"zero": False, "padding": 12}}
    tooltip = [{"field": "name"}] + [{"field": f, "format": ".4f"} for f in ("value", "low", "high")]
    layers = intervals(records, y, x, tooltip, size=70)
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


def coefficient_layers(a: Agreement) -> list[dict[str, Any]]:
    """Each coefficient as a point with its interval; 0 is chance, 1 perfect."""
    records: list[dict[str, Any]] = [
        {
            "name": c.name,
            "value": c.value,
            "low": c.value if c.low is None else c.low,
            "high": c.value if c.high is None else c.high,
        }
        for c in a.shown_coefficients
        if c.value is not None
    ]
    if a.observed is not None:
        e = a.observed
        low, high = (e.value if v is None else v for v in (e.low, e.high))
        records.insert(0, {"name": "raw agreement", "value": e.value, "low": low, "high": high})
    lowest = min([0.0, *(max(r["low"], -1.0) for r in records)])
    y = {"field": "name", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 220}}
    return _intervals(records, y, "agreement (of the coefficients 0 is chance; 1 is perfect)", [lowest, 1.0], BLUE)


def agreement_figure(a: Agreement) -> dict[str, Any]:
    """The coefficients, of fixed size: for files."""
    return {"$schema": SCHEMA, "background": "white", "width": 420, "height": 130, "layer": coefficient_layers(a)}


def annotator_layers(a: Agreement, most: int) -> list[dict[str, Any]]:
    """Skill of each annotator with its interval, those to reject in another colour."""
    assert a.crowd is not None
    records: list[dict[str, Any]] = [
        {
            "name": m.name,
            "value": m.skill,
            "low": max(m.skill if m.low is None else m.low, -1.0),
            "high": m.skill if m.high is None else m.high,
            "verdict": m.verdict,
            "labels": m.n_labels,
            "evidence": m.evidence,
        }
        for m in a.crowd.annotators[:most]
        if m.skill is not None
    ]
    y = {"field": "name", "type": "nominal", "title": None, "sort": None}
    lowest = min([0.0, *(r["low"] for r in records)])
    colour = {
        "field": "verdict",
        "title": None,
        "scale": {"domain": ["keep", "unclear", "reject"], "range": [BLUE, GREY, ORANGE]},
        "legend": {"orient": "top"},
    }
    layers = _intervals(records, y, "skill (0 is chance, 1 is perfect)", [lowest, 1.0], colour)
    layers[-1]["encoding"]["tooltip"] += [{"field": f} for f in ("verdict", "labels", "evidence")]
    limit = {
        "data": {"values": [{"x": a.crowd.reject_below}]},
        "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]},
    }
    return [{**limit, "encoding": {"x": {"field": "x", "type": "quantitative"}}}, *layers]


def _intervals(
    records: list[dict[str, Any]], y: dict[str, Any], title: str, domain: list[float], colour: Any
) -> list[dict[str, Any]]:
    shown = {"value": colour} if isinstance(colour, str) else colour
    x = {"field": "value", "type": "quantitative", "title": title, "scale": {"domain": domain, "clamp": True}}
    tooltip = [{"field": "name", "title": "name"}] + [{"field": f, "format": ".3f"} for f in ("value", "low", "high")]
    data = {"values": records}
    return [
        {
            "data": data,
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": shown},
        },
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {"y": y, "x": x, "color": shown, "tooltip": tooltip},
        },
    ]


def confusion_layers(a: Agreement) -> list[dict[str, Any]]:
    """How often two labels meet on an item: of the ratings beside a label, the share of each."""
    r = a.ratings
    item, label, count = r.cells
    size = r.per_item[item].astype(np.float64)
    kept = size > 1
    from scipy.sparse import csr_array

    shape = (len(r.items), len(r.labels))
    counts = csr_array((count[kept].astype(float), (item[kept], label[kept])), shape=shape)
    weighted = csr_array((count[kept] / (size[kept] - 1.0), (item[kept], label[kept])), shape=shape)
    met = np.asarray((weighted.T @ counts).todense())
    met -= np.diag(np.bincount(label[kept], count[kept] / (size[kept] - 1.0), len(r.labels)))
    share = met / np.maximum(met.sum(axis=1, keepdims=True), 1e-300)
    records = [
        {"one": one, "other": other, "share": float(share[i, j])}
        for i, one in enumerate(r.labels)
        for j, other in enumerate(r.labels)
        if met[i].sum() > 0
    ]
    x = {"field": "other", "type": "nominal", "title": "another annotator", "sort": None, "axis": {"labelAngle": -40}}
    y = {"field": "one", "type": "nominal", "title": "one annotator", "sort": None}
    text = {"field": "share", "type": "quantitative", "format": ".0%"}
    dark = {"condition": {"test": "datum.share > 0.5", "value": "white"}, "value": "#1b1f24"}
    tooltip = [{"field": "one"}, {"field": "other"}, {"field": "share", "format": ".1%"}]
    scale = {"scheme": "blues", "domain": [0, 1]}
    colour = {"field": "share", "type": "quantitative", "scale": scale, "legend": None}
    data = {"values": records}
    return [
        {"data": data, "mark": "rect", "encoding": {"x": x, "y": y, "color": colour, "tooltip": tooltip}},
        {
            "data": data,
            "mark": {"type": "text", "fontSize": 11},
            "encoding": {"x": x, "y": y, "text": text, "color": dark},
        },
    ]
