"""Agreement in pictures: coefficients with intervals, labels given together, annotators by skill."""

from __future__ import annotations

from typing import Any

import numpy as np

from howsure.evaluation.annotation.result import Agreement
from howsure.plots.vega import BLUE, GREY, ORANGE, SCHEMA


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
