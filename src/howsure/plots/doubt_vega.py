"""Shares with intervals over ranges of probability, one panel for each question."""

from __future__ import annotations

from typing import Any

from howsure.plots.vega import BLUE, GREY, titled


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
