"""Small panels of one score beside its expectation, another estimate of the same thing, and the truth."""

from __future__ import annotations

from typing import Any

from howsure.plots.vega import BLUE, GREY, ORANGE, titled

SERIES = {"thesis's score": BLUE, "its expectation": GREY, "debiased, 95% interval": ORANGE, "truth": "#222222"}
NEAR_ZERO = 1e-5  # below it the log axis turns linear, so that 0 can be drawn


def score_panels(
    records: list[dict[str, Any]], *, title: str, x_title: str, log_scales: bool = False, separate: bool = False
) -> dict[str, Any]:
    """A panel for each `law` of the records: `score`, `expected`, `ours` from `low` to `high`, and `truth`, along `x`.

    `separate` draws an interval at each x; otherwise one estimate serves all and is drawn as a band.
    """
    panels = list(dict.fromkeys(r["law"] for r in records))
    x_scale: dict[str, Any] = {"zero": False, "nice": False, "padding": 6}
    x_axis: dict[str, Any] = {"format": "~s", "tickCount": 5, "grid": False}
    y_scale: dict[str, Any] = {"zero": False}
    y_axis: dict[str, Any] = {"format": "~r", "tickCount": 5}
    if log_scales:
        x_scale |= {"type": "log", "base": 2}
        del x_axis["tickCount"], y_axis["tickCount"]
        x_axis |= {"values": [2**i for i in range(1, 17, 5)], "format": ","}
        ends = [min(r["ours"] for r in records), max(max(r["score"], r["expected"]) for r in records)]
        y_scale |= {"type": "symlog", "constant": NEAR_ZERO, "domain": ends, "nice": False, "padding": 4}
        y_axis |= {"values": [0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1], "labelOverlap": False}
        y_axis |= {"labelExpr": "datum.value == 0 ? '0' : format(datum.value, '.0e')"}
    x = {"field": "x", "type": "quantitative", "title": x_title, "scale": x_scale, "axis": x_axis}

    def y(field: str) -> dict[str, Any]:
        shared = {"title": "squared error", "scale": y_scale, "axis": y_axis}
        return {"field": field, "type": "quantitative", **shared}

    def series(name: str) -> dict[str, Any]:
        scale = {"domain": list(SERIES), "range": list(SERIES.values())}
        legend = {"title": None, "orient": "top", "symbolType": "circle", "symbolSize": 90, "symbolOpacity": 1}
        legend |= {"labelFontSize": 12, "columnPadding": 24}
        return {"datum": name, "type": "nominal", "scale": scale, "legend": legend}

    def layer(mark: dict[str, Any], field: str, name: str, **more: Any) -> dict[str, Any]:
        return {"mark": mark, "encoding": {"x": x, "y": y(field), "color": series(name), **more}}

    ours = "debiased, 95% interval"
    limits = {"type": "rule", "opacity": 0.45} if separate else {"type": "area", "opacity": 0.25}
    middle = (
        {"type": "point", "filled": True, "size": 14, "opacity": 1}
        if separate
        else {"type": "line", "strokeWidth": 1.5}
    )
    return {
        **titled(title),
        "data": {"values": records},
        "facet": {
            "field": "law",
            "type": "nominal",
            "sort": panels,
            "header": {"title": None, "labelFontSize": 12, "labelFontWeight": "bold"},
        },
        "columns": 3,
        "align": "all",
        "bounds": "flush",
        "spacing": {"row": 76, "column": 76},
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
