"""What all Vega-Lite specifications share, in plain data: one definition for the page, SVG, PNG and PDF."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
BLUE, ORANGE, GREY = "#1f83c4", "#e0701a", "#8a8a8a"  # after Okabe & Ito: told apart by colour-blind readers
PALETTE = ["#1f83c4", "#e0701a", "#009e73", "#cc79a7", "#b5a000", "#56b4e9", "#7a7a7a"]


def titled(title: str, *, size: int = 14, offset: int = 12) -> dict[str, Any]:
    """How a picture of several panels begins. Without ARIA: a label for every point would be most of the file."""
    return {
        "$schema": SCHEMA,
        "background": "white",
        "padding": 8,
        "description": title,
        "title": {"text": title, "fontSize": size, "anchor": "start", "offset": offset},
        "config": {"aria": False},
    }


def chart(layers: list[dict[str, Any]], height: int, described: str) -> dict[str, Any]:
    """A chart as wide as the page it stands in."""
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": height,
        "description": described,
        "layer": layers,
    }


def diagonal(x: str, y: str, end: float = 1, **axes: Any) -> dict[str, Any]:
    """Where both axes are equal, from 0 to `end`; `axes` are shared by both."""
    axis = {"type": "quantitative", **axes}
    return {
        "data": {"values": [{x: 0, y: 0}, {x: end, y: end}]},
        "mark": {"type": "line", "color": GREY, "strokeDash": [4, 3], "strokeWidth": 1},
        "encoding": {"x": {"field": x, **axis}, "y": {"field": y, **axis}},
    }


def intervals(
    records: list[dict[str, Any]], y: dict[str, Any], x: dict[str, Any], tooltip: list[dict[str, Any]], size: int = 60
) -> list[dict[str, Any]]:
    """Points `value` with rules from `low` to `high`, a line for each record."""
    data = {"values": records}
    return [
        {
            "data": data,
            "mark": {"type": "rule", "color": BLUE, "opacity": 0.6, "strokeWidth": 2},
            "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}},
        },
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": size, "color": BLUE, "opacity": 1},
            "encoding": {"y": y, "x": {"field": "value", **x}, "tooltip": tooltip},
        },
    ]


def rendered(specification: dict[str, Any], suffix: str) -> bytes:
    """A specification as the bytes of an SVG, PNG or PDF file."""
    import vl_convert

    specification = drawable(specification)
    if suffix == ".svg":
        return str(vl_convert.vegalite_to_svg(specification)).encode()
    if suffix == ".png":
        return bytes(vl_convert.vegalite_to_png(specification, scale=2))
    return bytes(vl_convert.vegalite_to_pdf(specification))


# vl-convert measures a text by writing it as XML and reading that back; what XML cannot hold ends the process.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def drawable(value: Any) -> Any:
    """A specification that draws any text: characters that XML cannot hold are written out, numbers that JSON cannot
    hold left out, and titles have neither line breaks nor backslashes, as Vega-Lite makes code of them."""
    if isinstance(value, str):
        return _NOT_XML.sub(lambda c: chr(0x2400 + ord(c[0])) if c[0] < " " else f"\\u{ord(c[0]):04x}", value)
    if isinstance(value, dict):
        made = {drawable(k): drawable(v) for k, v in value.items()}
        if isinstance(title := made.get("title"), str):
            made["title"] = re.sub("[\r\n\u2028\u2029]+", " ", title).replace("\\", "\u2216")
        return made
    if isinstance(value, list | tuple):
        return [drawable(v) for v in value]
    return None if isinstance(value, float) and not isfinite(value) else value
