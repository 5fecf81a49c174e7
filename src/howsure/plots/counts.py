"""Counts over periods and groups, and calibration by stratum, as Vega-Lite specifications."""

from __future__ import annotations

from typing import Any

from howsure.counting.result import CellCount, Counts
from howsure.plots.vega import BLUE, GREY, ORANGE, diagonal, intervals, titled

GREEN = "#009e73"
SERIES = {"labels and model": BLUE, "labels only": GREEN, "sum of probabilities": ORANGE}
MOST_DRAWN = 60


def _records(cells: list[CellCount]) -> list[dict[str, Any]]:
    made = []
    for c in cells:
        if not c.n_items or c.share is None:
            continue
        about = {"name": c.name, "items": c.n_items, "labels": c.n_labels}
        made.append({**about, "kind": "labels and model", **c.share.to_dict()})
        if c.labels_only is not None:
            made.append({**about, "kind": "labels only", **c.labels_only.to_dict()})
        made.append({**about, "kind": "sum of probabilities", "value": c.raw / c.n_items})
    return made


def _tooltip() -> list[dict[str, Any]]:
    return [
        {"field": "name", "title": "cell"},
        {"field": "kind", "title": "from"},
        {"field": "items", "format": ","},
        {"field": "labels", "format": ","},
        *({"field": f, "format": ".2%"} for f in ("value", "low", "high")),
    ]


def _colour() -> dict[str, Any]:
    return {
        "field": "kind",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(SERIES), "range": list(SERIES.values())},
        "legend": {"orient": "top", "symbolOpacity": 1},
    }


def series_layers(c: Counts, group: str = "") -> list[dict[str, Any]]:
    """Shares in time: the corrected one with its band, the labels' alone with theirs, and the model's."""
    records = _records([x for x in c.cells if x.period and x.group == group])
    order = [x.period for x in c.cells if x.period and x.group == group]
    for r in records:
        r["period"] = r["name"].split(",")[0] if group else r["name"]
    x = {"field": "period", "type": "ordinal", "sort": order, "title": None, "axis": {"labelOverlap": True}}
    # A few labels alone say so little that they would set the scale: their bands are cut off.
    tops = [r.get("high", r["value"]) for r in records if r["kind"] != "labels only"]
    scale = {"domain": [0, min(1.0, 1.5 * max(tops, default=1.0) + 0.001)]}
    y = {"type": "quantitative", "title": "share of positives", "axis": {"format": "~%"}, "scale": scale}

    def of(kind: str) -> dict[str, Any]:
        return {"values": [r for r in records if r["kind"] == kind]}

    band = {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}, "color": _colour()}
    line = {"x": x, "y": {"field": "value", **y}, "color": _colour()}
    return [
        {
            "data": of("labels only"),
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5, "xOffset": 7, "clip": True},
            "encoding": band,
        },
        {
            "data": of("labels only"),
            "mark": {"type": "point", "filled": True, "size": 30, "opacity": 0.8, "xOffset": 7, "clip": True},
            "encoding": {**line, "tooltip": _tooltip()},
        },
        {"data": of("labels and model"), "mark": {"type": "area", "opacity": 0.22}, "encoding": band},
        {"data": of("labels and model"), "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5}, "encoding": band},
        {
            "data": of("sum of probabilities"),
            "mark": {"type": "line", "strokeDash": [5, 3], "strokeWidth": 2, "point": True},
            "encoding": {**line, "tooltip": _tooltip()},
        },
        {
            "data": of("labels and model"),
            "mark": {"type": "line", "strokeWidth": 2.4, "point": {"filled": True, "size": 55}},
            "encoding": {**line, "tooltip": _tooltip()},
        },
    ]


def group_layers(cells: list[CellCount]) -> list[dict[str, Any]]:
    """Shares of groups, one line each, with the same three."""
    records = _records(cells[:MOST_DRAWN])
    y = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 220}}
    x = {"type": "quantitative", "title": "share of positives", "axis": {"format": "~%"}}
    offset = {"yOffset": {"field": "kind", "sort": list(SERIES)}}
    data = {"values": records}
    return [
        {
            "data": data,
            "transform": [{"filter": "datum.kind != 'sum of probabilities'"}],
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.6},
            "encoding": {
                "y": y,
                **offset,
                "x": {"field": "low", **x},
                "x2": {"field": "high"},
                "color": _colour(),
            },
        },
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {
                "y": y,
                **offset,
                "x": {"field": "value", **x},
                "color": _colour(),
                "tooltip": _tooltip(),
            },
        },
    ]


def overall_layers(c: Counts) -> list[dict[str, Any]]:
    """The three shares of all items."""
    everything = CellCount("", "", c.n_items, c.n_labels, c.n_positive, c.raw, c.count, c.share, c.labels_only)
    return group_layers([everything])


def stratum_layers(c: Counts) -> list[dict[str, Any]]:
    """Each stratum's share of positive labels against its mean probability."""
    records = [
        {
            "mean probability": s.mean_prob,
            "share of positives": s.share.value,
            "low": s.share.low,
            "high": s.share.high,
            "items": s.n_items,
            "labels": s.n_labels,
        }
        for s in c.strata
    ]
    x = {"field": "mean probability", "type": "quantitative", "axis": {"format": "~%"}}
    y = {"type": "quantitative", "title": "share of positive labels", "axis": {"format": "~%"}}
    tooltip = [
        *({"field": f, "format": ".2%"} for f in ("mean probability", "share of positives", "low", "high")),
        *({"field": f, "format": ","} for f in ("items", "labels")),
    ]
    data = {"values": records}
    return [
        diagonal("mean probability", "share of positives"),
        {
            "data": data,
            "mark": {"type": "rule", "color": BLUE, "strokeWidth": 2, "opacity": 0.6},
            "encoding": {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}},
        },
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 70, "color": BLUE, "opacity": 1},
            "encoding": {"x": x, "y": {"field": "share of positives", **y}, "tooltip": tooltip},
        },
    ]


def next_label_layers(c: Counts) -> list[dict[str, Any]]:
    """Where the next label would bring most."""
    records = [
        {
            "stratum": f"{s.from_prob:.2g} to {s.to_prob:.2g}",
            "value": s.next_label,
            "labels": s.n_labels,
            "items": s.n_items,
        }
        for s in c.strata
    ]
    return [
        {
            "data": {"values": records},
            "mark": {"type": "bar", "color": BLUE},
            "encoding": {
                "y": {"field": "stratum", "type": "nominal", "sort": None, "title": "probability"},
                "x": {"field": "value", "type": "quantitative", "title": "worth of the next label (best: 1)"},
                "tooltip": [
                    {"field": "stratum"},
                    {"field": "items", "format": ","},
                    {"field": "labels", "format": ","},
                ],
            },
        }
    ]


def coefficient_layers(c: Counts) -> list[dict[str, Any]]:
    """Coefficients with their intervals, and those of q alone."""
    shown = [b for b in c.coefficients if b.name != "(intercept)"]
    records = [{"name": b.name, "raw": b.raw, **b.value.to_dict()} for b in shown]
    y = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 220}}
    x = {"type": "quantitative", "title": "change of the share", "axis": {"format": "+~%"}}
    tooltip = [{"field": "name"}] + [{"field": f, "format": "+.2%"} for f in ("value", "low", "high", "raw")]
    raw = {
        "data": {"values": records},
        "mark": {"type": "point", "shape": "diamond", "color": ORANGE, "filled": True, "size": 60},
        "encoding": {"y": y, "x": {"field": "raw", **x}, "tooltip": tooltip},
    }
    zero = {
        "data": {"values": [{"at": 0}]},
        "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]},
        "encoding": {"x": {"field": "at", **x}},
    }
    return [zero, *intervals(records, y, x, tooltip), raw]


def height_of(cells: list[CellCount]) -> int:
    """Of a chart of groups."""
    return 40 + 44 * min(len(cells), MOST_DRAWN)


def counts_figure(c: Counts) -> dict[str, Any]:
    """The series, the groups or the three shares, of fixed size: for files."""
    panels = []
    if any(x.period for x in c.cells):
        panels.append({"width": 620, "height": 300, "layer": series_layers(c)})
    groups = [x for x in c.cells if x.group and not x.period]
    if groups:
        panels.append({"width": 480, "height": height_of(groups), "layer": group_layers(groups)})
    if not panels:
        panels.append({"width": 480, "height": 90, "layer": overall_layers(c)})
    level = f"{100 * c.confidence_level:g}% intervals"
    return titled(f"Share of positives of {c.n_items:,} items, from {c.n_labels:,} labels; {level}") | {
        "vconcat": panels
    }
