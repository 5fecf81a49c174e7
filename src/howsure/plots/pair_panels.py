"""Panels of calibration curves in bins of equal size, two ways of making the same probabilities in each."""

from __future__ import annotations

from typing import Any

from howsure.plots.vega import BLUE, GREY, ORANGE, titled


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
