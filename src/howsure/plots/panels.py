"""Panels side by side: the pictures of studies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from howsure.plots.curves import curve_layers, histogram_layers
from howsure.plots.vega import BLUE, GREY, ORANGE, diagonal, titled

if TYPE_CHECKING:
    from howsure.calibration.result import Calibration

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
            diagonal("a", "b", most * 1.05),
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


def pair_panels(records: list[dict[str, Any]], *, title: str) -> dict[str, Any]:
    """A panel for each `panel` of the records: `p` against `q` with `low` and `high`, a colour for each `how`."""
    ways = list(dict.fromkeys(r["how"] for r in records))
    unit = {"domain": [0, 1], "clamp": True}
    x = {"field": "q", "type": "quantitative", "title": "predicted probability", "scale": unit}
    y = {"type": "quantitative", "title": "observed frequency", "scale": unit}
    colour = {
        "field": "how",
        "type": "nominal",
        "title": None,
        "scale": {"domain": ways, "range": [BLUE, ORANGE][: len(ways)]},
        "legend": {"orient": "top", "symbolOpacity": 1},
    }
    diagonal = {
        "data": {"values": [{"q": 0, "p": 0}, {"q": 1, "p": 1}]},
        "mark": {"type": "line", "color": GREY, "strokeDash": [4, 3], "strokeWidth": 1},
        "encoding": {"x": x, "y": {**y, "field": "p"}},
    }

    def panel(name: str) -> dict[str, Any]:
        data = {"values": [r for r in records if r["panel"] == name]}
        return {
            "title": {"text": name, "anchor": "start", "fontWeight": "normal", "fontSize": 12},
            "width": 300,
            "height": 300,
            "layer": [
                diagonal,
                {
                    "data": data,
                    "mark": {"type": "rule", "opacity": 0.5},
                    "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
                },
                {
                    "data": data,
                    "mark": {"type": "line", "strokeWidth": 1},
                    "encoding": {"x": x, "y": {**y, "field": "p"}, "color": colour},
                },
                {
                    "data": data,
                    "mark": {"type": "point", "filled": True, "size": 28, "opacity": 0.8},
                    "encoding": {"x": x, "y": {**y, "field": "p"}, "color": colour},
                },
            ],
        }

    return {
        **titled(title, size=13, offset=10),
        "hconcat": [panel(name) for name in dict.fromkeys(r["panel"] for r in records)],
    }


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


def share_panels(records: list[dict[str, Any]], *, title: str, y_title: str) -> dict[str, Any]:
    """Points `share` with `low` and `high` for each `range`, numbers `n` above them; a panel for each `panel`."""
    ranges = list(dict.fromkeys(r["range"] for r in records))
    x = {"field": "range", "type": "nominal", "sort": ranges, "title": "probability given", "axis": {"labelAngle": 0}}
    y = {"type": "quantitative", "title": y_title, "scale": {"domain": [0, 1]}, "axis": {"format": ".0%"}}

    def panel(name: str) -> dict[str, Any]:
        return {
            "title": {"text": name, "anchor": "start", "fontWeight": "normal", "fontSize": 12},
            "width": 300,
            "height": 200,
            "data": {"values": [r for r in records if r["panel"] == name]},
            "layer": [
                {
                    "mark": {"type": "rule", "color": BLUE, "strokeWidth": 2, "opacity": 0.6},
                    "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 60, "color": BLUE, "opacity": 1},
                    "encoding": {"x": x, "y": {**y, "field": "share"}},
                },
                {
                    "mark": {"type": "text", "baseline": "bottom", "dy": -4, "color": GREY, "fontSize": 10},
                    "encoding": {"x": x, "y": {"datum": 0}, "text": {"field": "label"}},
                },
            ],
        }

    return {
        **titled(title, size=13, offset=10),
        "hconcat": [panel(name) for name in dict.fromkeys(r["panel"] for r in records)],
    }
