"""Calibration curves in panels side by side, each above the distribution of its probabilities; errors of many questions."""

from __future__ import annotations

from typing import Any

from howsure.calibration.result import Calibration
from howsure.plots.vega import BLUE, GREY, ORANGE, curve_layers, histogram_layers, titled

SIDE = 270


def _bare(layers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Layers without what only a page can show on hover."""
    return [
        {**layer, "encoding": {k: v for k, v in layer["encoding"].items() if k != "tooltip"}}
        if "encoding" in layer
        else layer
        for layer in layers
    ]


def curve_panels(
    curves: dict[str, Calibration],
    *,
    title: str,
    said: dict[str, str] | None = None,
    distribution_of: str | None = None,
) -> dict[str, Any]:
    """A panel for each name: the curve with its bins' intervals and below it, on a square-root scale, the rows.

    Below a panel's name stands its error, or what is `said` of it. With `distribution_of`, all curves are of the same
    probabilities: their distribution is a panel of its own, of that name, and comes first.
    """

    def panel(name: str, c: Calibration) -> dict[str, Any]:
        words = said[name] if said else "" if c.error is None else f"RMS error {c.error!r}"
        head = {"text": name, "fontSize": 12, "anchor": "start"}
        head |= {"subtitle": words, "subtitleFontSize": 11, "subtitleColor": "#555"}
        curve = {"title": head, "width": SIDE, "height": SIDE, "layer": _bare(curve_layers(c))}
        if distribution_of is not None:
            return curve
        return {"vconcat": [curve, {"width": SIDE, "height": 50, "layer": _histogram(c)}]}

    panels = [panel(name, c) for name, c in curves.items()]
    if distribution_of is not None:
        first = next(iter(curves.values()))
        head = {"text": distribution_of, "fontSize": 12, "anchor": "start", "subtitle": f"{first.n:,} rows"}
        head |= {"subtitleFontSize": 11, "subtitleColor": "#555"}
        panels.insert(0, {"title": head, "width": SIDE, "height": SIDE, "layer": _histogram(first)})
    return {
        **titled(title),
        "resolve": {"legend": {"color": "independent"}},
        "columns": 3 if len(panels) % 3 == 0 else 2,
        "spacing": 28,
        "concat": panels,
    }


def _histogram(c: Calibration) -> list[dict[str, Any]]:
    """The distribution by label, its legend out of the way of a panel's name."""
    layers = _bare(histogram_layers(c))
    for layer in layers:
        e = layer["encoding"]
        e["color"] = {**e["color"], "legend": {"orient": "bottom", "offset": 4}}
        e["y"] = {**e["y"], "axis": {"tickCount": 4, "format": "~s"}}
    return layers


def error_dots(records: list[dict[str, Any]], *, title: str, models: tuple[str, str]) -> dict[str, Any]:
    """Errors of two models on each `question`, in the order given: `error` from `low` to `high`, by `model`.

    A record without limits is drawn as a diamond: an average.
    """
    order = list(dict.fromkeys(r["question"] for r in records))
    x = {
        "field": "question",
        "type": "nominal",
        "sort": order,
        "title": None,
        "axis": {"labelAngle": -90, "labelFontSize": 10, "grid": True, "gridOpacity": 0.3},
    }
    colour = {
        "field": "model",
        "type": "nominal",
        "scale": {"domain": list(models), "range": [BLUE, ORANGE]},
        "legend": {"title": None, "orient": "top", "symbolType": "circle", "symbolOpacity": 1},
    }
    aside = {"field": "model", "type": "nominal", "sort": list(models)}
    y = {"field": "error", "type": "quantitative", "title": "RMS calibration error", "scale": {"zero": True}}
    return {
        **titled(title, offset=8),
        "data": {"values": records},
        "width": {"step": 8 if len(order) > 25 else 30},
        "height": 280,
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.6},
                "encoding": {
                    "x": x,
                    "xOffset": aside,
                    "y": {**y, "field": "low"},
                    "y2": {"field": "high"},
                    "color": colour,
                },
            },
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "point", "filled": True, "size": 30, "opacity": 1},
                "encoding": {"x": x, "xOffset": aside, "y": y, "color": colour},
            },
            {
                "transform": [{"filter": "!isValid(datum.low)"}],
                "mark": {"type": "point", "filled": True, "shape": "diamond", "size": 90, "opacity": 1},
                "encoding": {"x": x, "xOffset": aside, "y": y, "color": colour},
            },
        ],
    }


def error_scatter(records: list[dict[str, Any]], *, title: str, models: tuple[str, str]) -> dict[str, Any]:
    """Error of the second model against the first's, a point for each question; `side` says who is surely better."""
    most = max(max(r["first"], r["second"]) for r in records)
    scale = {"domain": [0, most * 1.05], "nice": False}
    sides = [f"{models[0]} significantly better", f"{models[1]} significantly better", "neither"]
    return {
        **titled(title, offset=8),
        "width": 360,
        "height": 360,
        "layer": [
            {
                "data": {"values": [{"a": 0, "b": 0}, {"a": most * 1.05, "b": most * 1.05}]},
                "mark": {"type": "line", "color": GREY, "strokeDash": [4, 3], "strokeWidth": 1},
                "encoding": {"x": {"field": "a", "type": "quantitative"}, "y": {"field": "b", "type": "quantitative"}},
            },
            {
                "data": {"values": records},
                "mark": {"type": "point", "filled": True, "size": 40, "opacity": 0.85},
                "encoding": {
                    "x": {
                        "field": "first",
                        "type": "quantitative",
                        "title": f"RMS error, {models[0]}",
                        "scale": scale,
                    },
                    "y": {
                        "field": "second",
                        "type": "quantitative",
                        "title": f"RMS error, {models[1]}",
                        "scale": scale,
                    },
                    "color": {
                        "field": "side",
                        "type": "nominal",
                        "scale": {"domain": sides, "range": [BLUE, ORANGE, "#b8b8b8"]},
                        "legend": {"title": None, "orient": "top", "columns": 1},
                    },
                },
            },
        ],
    }
