"""Small panels of one score beside its expectation, another estimate of the same thing, and the truth."""

from __future__ import annotations

from typing import Any

from howsure.plots.vega import BLUE, GREY, ORANGE, SCHEMA

SERIES = {"thesis's score": BLUE, "its expectation": GREY, "debiased, 95% interval": ORANGE, "truth": "#222222"}
NEAR_ZERO = 1e-5  # below it the log axis turns linear, so that 0 can be drawn


def score_panels(
    records: list[dict[str, Any]], *, title: str, x_title: str, log_scales: bool = False, separate: bool = False
) -> dict[str, Any]:
    """A panel for each `law` of the records: `score`, `expected`, `ours` from `low` to `high`, and `truth`, along `x`.

    `separate` draws an interval at each x; otherwise one estimate serves all and is drawn as a band.
    """
    panels = list(dict.fromkeys(r["law"] for r in records))
    y_axis: dict[str, Any] = {"format": "~g" if log_scales else "~r", "tickCount": 5}
    y_scale: dict[str, Any] = {"zero": False, "nice": True}
    x_scale: dict[str, Any] = {"zero": False, "nice": False}
    x_axis: dict[str, Any] = {"format": "~s", "tickCount": 5, "grid": False}
    if log_scales:
        y_scale = {"type": "symlog", "constant": NEAR_ZERO}
        y_axis = {"values": [0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1], "format": "~g"}
        x_scale = {"type": "log", "base": 2, "nice": False}
        x_axis = {"values": [2**i for i in range(1, 17, 3)], "format": ",", "grid": False}
    x = {"field": "x", "type": "quantitative", "title": x_title, "scale": x_scale, "axis": x_axis}

    def y(field: str) -> dict[str, Any]:
        shared = {"title": "squared error", "scale": y_scale, "axis": y_axis}
        return {"field": field, "type": "quantitative", **shared}

    def series(name: str) -> dict[str, Any]:
        scale = {"domain": list(SERIES), "range": list(SERIES.values())}
        legend = {"title": None, "orient": "top", "symbolType": "circle", "symbolSize": 90, "symbolStrokeWidth": 0}
        legend |= {"symbolFillColor": None, "labelFontSize": 12, "columnPadding": 24, "symbolOpacity": 1}
        legend.pop("symbolFillColor")
        return {"datum": name, "type": "nominal", "scale": scale, "legend": legend}

    def layer(mark: dict[str, Any], field: str, name: str, **more: Any) -> dict[str, Any]:
        return {"mark": mark, "encoding": {"x": x, "y": y(field), "color": series(name), **more}}

    ours = "debiased, 95% interval"
    limits = {"type": "rule", "opacity": 0.45} if separate else {"type": "area", "opacity": 0.25}
    middle = {"type": "point", "filled": True, "size": 14} if separate else {"type": "line", "strokeWidth": 1.5}
    return {
        "$schema": SCHEMA,
        "background": "white",
        "title": {"text": title, "fontSize": 14, "anchor": "start", "offset": 12},
        "data": {"values": records},
        "facet": {
            "field": "law",
            "type": "nominal",
            "sort": panels,
            "header": {"title": None, "labelFontSize": 12, "labelFontWeight": "bold"},
        },
        "columns": 3,
        "resolve": {"scale": {"y": "independent"}, "axis": {"x": "independent"}},
        "spec": {
            "width": 230,
            "height": 170,
            "layer": [
                layer(limits, "low", ours, y2={"field": "high"}),
                layer(middle, "ours", ours),
                layer({"type": "line", "strokeWidth": 1.5}, "expected", "its expectation"),
                layer({"type": "line", "strokeDash": [5, 3], "strokeWidth": 1.5}, "truth", "truth"),
                layer({"type": "point", "filled": True, "size": 22, "opacity": 1}, "score", "thesis's score"),
            ],
        },
    }
