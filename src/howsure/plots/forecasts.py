"""PIT values as Vega-Lite specifications: the histogram, and the ECDF difference with its simultaneous band."""

from __future__ import annotations

from typing import Any

from howsure.calibration.forecasts.result import ContinuousCalibration
from howsure.plots.vega import BLUE, GREY, ORANGE, SCHEMA

_X = {"type": "quantitative", "title": "PIT: where y falls in its forecast", "scale": {"domain": [0, 1]}}
_AT_ONE = {"mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]}, "encoding": {"y": {"datum": 1}}}


def pit_histogram_layers(c: ContinuousCalibration) -> list[dict[str, Any]]:
    """Bars of density 1 where calibrated, over the range a calibrated forecast's bars stay in."""
    records = [r | {"off": not r["low"] <= r["density"] <= r["high"]} for r in c.histogram.to_dict()]
    data = {"values": records}
    across = {"x": {"field": "from_pit", "bin": {"binned": True}, **_X}, "x2": {"field": "to_pit"}}
    return [
        {
            "data": data,
            "mark": {"type": "bar", "binSpacing": 1, "opacity": 0.75},
            "encoding": {
                **across,
                "y": {"field": "density", "type": "quantitative", "title": "density", "stack": None},
                "color": {
                    "field": "off",
                    "type": "nominal",
                    "scale": {"domain": [False, True], "range": [BLUE, ORANGE]},
                    "legend": None,
                },
                "tooltip": [
                    {"field": "from_pit", "title": "PIT from", "format": ".4g"},
                    {"field": "to_pit", "title": "to", "format": ".4g"},
                    {"field": "n", "title": "rows", "format": ","},
                    {"field": "density", "title": "density", "format": ".3f"},
                    {"field": "low", "title": "calibrated from", "format": ".3f"},
                    {"field": "high", "title": "to", "format": ".3f"},
                ],
            },
        },
        {
            "data": data,
            "mark": {"type": "rect", "color": GREY, "opacity": 0.3},
            "encoding": {**across, "y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}},
        },
        {"data": {"values": [{}]}, **_AT_ONE},
    ]


def ecdf_difference_layers(c: ContinuousCalibration) -> list[dict[str, Any]]:
    """The share of PIT values below each point less the point; outside the grey band somewhere: not calibrated."""
    ends = [{"pit": end, "difference": 0.0, "low": 0.0, "high": 0.0} for end in (0.0, 1.0)]
    data = {"values": [ends[0], *c.ecdf.to_dict(), ends[1]]}
    x = {"field": "pit", **_X}
    title = "share below, less PIT"
    return [
        {
            "data": data,
            "mark": {"type": "area", "color": GREY, "opacity": 0.25},
            "encoding": {
                "x": x,
                "y": {"field": "low", "type": "quantitative", "title": title},
                "y2": {"field": "high"},
            },
        },
        {
            "data": {"values": [{}]},
            "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]},
            "encoding": {"y": {"datum": 0}},
        },
        {
            "data": data,
            "mark": {"type": "line", "color": BLUE, "strokeWidth": 1.6},
            "encoding": {"x": x, "y": {"field": "difference", "type": "quantitative", "title": title}},
        },
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 40, "color": BLUE, "opacity": 0},
            "encoding": {
                "x": x,
                "y": {"field": "difference", "type": "quantitative", "title": title},
                "tooltip": [
                    {"field": "pit", "title": "PIT", "format": ".4g"},
                    {"field": "difference", "title": "share below - PIT", "format": "+.4f"},
                    {"field": "low", "title": "band from", "format": "+.4f"},
                    {"field": "high", "title": "to", "format": "+.4f"},
                ],
            },
        },
    ]


def pit_figure(c: ContinuousCalibration) -> dict[str, Any]:
    """Histogram above ECDF difference, of fixed size: for files."""
    return {
        "$schema": SCHEMA,
        "background": "white",
        "title": {
            "text": f"spread {c.spread!r}, shift {c.shift!r}, n = {c.n:,}",
            "fontSize": 12,
            "fontWeight": "normal",
            "anchor": "start",
        },
        "vconcat": [
            {"width": 420, "height": 180, "layer": pit_histogram_layers(c)},
            {"width": 420, "height": 200, "layer": ecdf_difference_layers(c)},
        ],
    }
