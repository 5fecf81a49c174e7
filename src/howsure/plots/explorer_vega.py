"""The explorer page's charts as Vega-Lite specifications without data: the page fills in `counts`, `versus` and `chosen`."""

from __future__ import annotations

from typing import Any

from howsure.plots.vega import BLUE, GREY, ORANGE, SCHEMA

# Opacities of 95, 80 and 50% bands; they lie over each other.
BANDS = (("95", 0.16), ("80", 0.18), ("50", 0.22))


def _x(field: str = "mid", **axis: Any) -> dict[str, Any]:
    # `shown` is the part of time that the reader has zoomed to; times are UTC, so that a day is a day everywhere.
    scale = {"type": "utc", "domain": {"expr": "whole"}, "domainRaw": {"expr": "shown"}, "nice": False}
    return {"field": field, "type": "temporal", "title": None, "scale": scale, "axis": {"grid": False, **axis}}


def _chosen(fill: str = GREY) -> dict[str, Any]:
    """The period that the reader has chosen."""
    return {
        "data": {"name": "chosen"},
        "mark": {"type": "rect", "color": fill, "opacity": 0.2, "clip": True},
        "encoding": {"x": _x("start"), "x2": {"field": "end"}},
    }


def _specification(height: int, layers: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "params": [{"name": "shown", "value": None}, {"name": "whole", "value": [0, 1]}],
        "layer": layers,
    }


def explorer_charts() -> dict[str, dict[str, Any]]:
    """Counts over time with their bands; which of two actors has more; all of time, to zoom in."""
    data = {"name": "counts"}
    colour = {
        "field": "actor",
        "scale": {"domain": ["A", "B"], "range": [BLUE, ORANGE]},
        "legend": None,  # the page has its own, with the actors' names
    }
    ends = {"minExtent": 44, "maxExtent": 44}  # charts under each other are in line
    y = {"type": "quantitative", "title": "documents", "axis": {"tickMinStep": 1, "format": "~s", **ends}}
    # Few periods have a block each, as wide as the period; many (`run`) an area.
    bands = [
        {
            "name": f"{kind}{level}",
            "data": data,
            "mark": {"type": mark, "opacity": opacity, "clip": True},
            "encoding": {
                **x,
                "y": {"field": f"low{level}", **y},
                "y2": {"field": f"high{level}"},
                "color": colour,
            },
        }
        for kind, mark, x in (
            ("block", "rect", {"x": _x("start"), "x2": {"field": "end"}}),
            ("run", "area", {"x": _x()}),
        )
        for level, opacity in BANDS
    ]
    lines = [
        {
            "name": "best",
            "data": data,
            "mark": {"type": "line", "strokeWidth": 1.6, "strokeDash": [4, 3], "clip": True},
            "encoding": {"x": _x(), "y": {"field": "best", **y}, "color": colour},
        },
        {
            "name": "mean",
            "data": data,
            "mark": {"type": "line", "strokeWidth": 2.4, "clip": True},
            "encoding": {"x": _x(), "y": {"field": "mean", **y}, "color": colour},
        },
        {
            "name": "points",
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 48, "opacity": 1, "clip": True},
            "encoding": {
                "x": _x(),
                "y": {"field": "mean", **y},
                "color": colour,
                "shape": {
                    "field": "actor",
                    "scale": {"domain": ["A", "B"], "range": ["circle", "square"]},
                    "legend": None,
                },
            },
        },
    ]
    versus = [
        {
            "name": f"{kind}versus",
            "data": {"name": "versus"},
            "mark": {"clip": True, "opacity": 0.85, **mark},
            "encoding": {
                **x,
                "y": {
                    "field": "from",
                    "type": "quantitative",
                    "title": "probability",
                    "scale": {"domain": [0, 1]},
                    "axis": {"values": [0, 0.5, 1], **ends},
                },
                "y2": {"field": "to"},
                "color": {
                    "field": "who",
                    "scale": {"domain": ["A", "equal", "B"], "range": [BLUE, "#9aa4af55", ORANGE]},
                    "legend": None,
                },
            },
        }
        for kind, mark, x in (
            ("block", {"type": "rect"}, {"x": _x("start"), "x2": {"field": "end"}}),
            ("run", {"type": "area", "interpolate": "step"}, {"x": _x()}),
        )
    ]
    bare = {"labels": False, "ticks": False, "domain": False, "grid": False, **ends}
    whole = {
        "data": data,
        "mark": {"type": "area", "opacity": 0.35, "line": {"strokeWidth": 1.2}},
        "encoding": {
            "x": _x(),
            "y": {"field": "mean", "type": "quantitative", "title": " ", "stack": None, "axis": bare},
            "color": colour,
        },
    }
    return {
        "timeline": _specification(300, [_chosen(), *bands, *lines]),
        "versus": _specification(104, [*versus, _chosen()]),
        "whole": _specification(66, [_chosen(BLUE), whole]),
    }
