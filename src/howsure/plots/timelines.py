"""Counts over time: the picture of an exploration, and the charts of its page, whose data the page fills in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from howsure.errors import InputError
from howsure.plots.vega import BLUE, GREY, ORANGE, PALETTE, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howsure.events.exploration import Exploration

BANDS = (("95", 0.12), ("80", 0.13), ("50", 0.15))


def timeline_layers(timelines: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """A line of means for each actor with 50/80/95% bands, and its one-best counts, dashed."""
    records = [{**count, "actor": name} for name, counts in timelines.items() for count in counts]
    names = list(timelines)
    colour = {
        "field": "actor",
        "title": None,
        "scale": {"domain": names, "range": [PALETTE[i % len(PALETTE)] for i in range(len(names))]},
        "legend": {"orient": "top", "symbolLimit": 50, "symbolOpacity": 1},
    }
    x = {"field": "start", "type": "temporal", "title": None, "axis": {"labelOverlap": True, "grid": False}}
    tooltip = [{"field": "actor"}, {"field": "period"}] + [
        {"field": field, "title": title, "format": form}
        for field, title, form in (
            ("mean", "mean", ".2f"),
            ("low95", "95% from", ".0f"),
            ("high95", "to", ".0f"),
            ("best", "one-best", ".0f"),
            ("documents", "documents", ","),
        )
    ]
    data = {"values": records}
    layers: list[dict[str, Any]] = [
        {
            "data": data,
            "mark": {"type": "area", "opacity": opacity},
            "encoding": {
                "x": x,
                "y": {"field": f"low{level}", "type": "quantitative", "title": "documents", "axis": {"tickMinStep": 1}},
                "y2": {"field": f"high{level}"},
                "color": colour,
            },
        }
        for level, opacity in BANDS
    ]
    layers += [
        {
            "data": data,
            "mark": {"type": "line", "strokeWidth": 1.2, "strokeDash": [3, 3], "opacity": 0.9},
            "encoding": {"x": x, "y": {"field": "best", "type": "quantitative"}, "color": colour},
        },
        {
            "data": data,
            "mark": {"type": "line", "strokeWidth": 2.2},
            "encoding": {"x": x, "y": {"field": "mean", "type": "quantitative"}, "color": colour},
        },
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 35, "opacity": 1},
            "encoding": {
                "x": x,
                "y": {"field": "mean", "type": "quantitative"},
                "color": colour,
                "shape": {**colour, "scale": {"domain": names}},
                "tooltip": tooltip,
            },
        },
    ]
    return layers


def exploration_figure(found: Exploration, actors: Sequence[str] = ()) -> dict[str, Any]:
    """The counts of the actors named over time; of none, of the two with most events."""
    chosen = found.chosen(actors)
    if not chosen:
        raise InputError("there are no events to draw.")
    verbs = found.manifest["settings"]["verbs"]
    shown = ", ".join(verbs[:4]) + (", …" if len(verbs) > 4 else "")
    timelines = {found.name(c): [count.to_dict() for count in found.timeline(c)] for c in chosen}
    return timeline_figure(timelines, f"Documents with an agent of: {shown} (per {found.every})")


def timeline_figure(timelines: dict[str, list[dict[str, Any]]], title: str) -> dict[str, Any]:
    """The picture of fixed size, for files."""
    return {
        "$schema": SCHEMA,
        "background": "white",
        "width": 640,
        "height": 260,
        "title": {
            "text": title,
            "subtitle": "line: posterior mean; bands: 50, 80 and 95% of the posterior; dashed: one-best",
            "anchor": "start",
            "fontSize": 13,
            "fontWeight": "normal",
            "subtitleColor": "#666",
        },
        "layer": timeline_layers(timelines),
    }


# Opacities of 95, 80 and 50% bands; they lie over each other.
PAGE_BANDS = (("95", 0.16), ("80", 0.18), ("50", 0.22))


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
        for level, opacity in PAGE_BANDS
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
