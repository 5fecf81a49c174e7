"""Figure 6 of the paper as a Vega-Lite specification: mean counts over time, their bands, the one-best counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.plots.vega import PALETTE, SCHEMA

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
