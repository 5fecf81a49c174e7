"""Whole Vega-Lite specifications, and their files: one definition for the page, SVG, PNG and PDF."""

import re
from math import isfinite
from typing import Any

from howsure.plots.marks import BLUE, GREY, Spec, hover, layer, points

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
MOST_DRAWN = 40  # labels of a matrix, classes or systems of a chart
VALUES = tuple((field, "", ".4f") for field in ("value", "low", "high"))


def picture(title: str | None = None, **parts: Any) -> Spec:
    """A picture of fixed size, for files."""
    head = {"title": {"text": title, "fontSize": 12, "fontWeight": "normal", "anchor": "start"}}
    return {"$schema": SCHEMA, "background": "white", **({} if title is None else head), **parts}


def titled(title: str, *, size: int = 14, offset: int = 12) -> Spec:
    """How a picture of several panels begins. Without ARIA: a label for every point would be most of the file."""
    head = {"text": title, "fontSize": size, "anchor": "start", "offset": offset}
    first = {"$schema": SCHEMA, "background": "white", "padding": 8, "description": title}
    return {**first, "title": head, "config": {"aria": False}}


def chart(layers: list[Spec], height: int, described: str) -> Spec:
    """A chart as wide as the page it stands in."""
    return {"$schema": SCHEMA, "width": "container", "height": height, "description": described, "layer": layers}


def mark_at(value: float) -> Spec:
    """A dashed line across the picture."""
    return layer([{}], "rule", {"y": {"datum": value}}, color=GREY, strokeDash=[4, 3])


def intervals(records: list[Spec], y: Spec, x: Spec, tooltip: list[Spec], size: int = 60) -> list[Spec]:
    """Points `value` with rules from `low` to `high`, a line for each record."""
    limits = {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}}
    middle = {"y": y, "x": {"field": "value", **x}, "tooltip": tooltip}
    return [
        layer(records, "rule", limits, color=BLUE, opacity=0.6, strokeWidth=2),
        points(records, middle, size, color=BLUE),
    ]


def interval_layers(records: list[Spec], title: str, *, zero: bool = False) -> list[Spec]:
    """A point and its limits a line: `name`, `value`, `low`, `high`; `zero` draws where there is no difference."""
    y = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 220}}
    x = {"type": "quantitative", "title": title, "scale": {"zero": False, "padding": 12}}
    layers = intervals(records, y, x, hover(("name",), *VALUES), size=70)
    if zero:
        layers.insert(0, zero_at(x))
    return layers


def zero_at(x: Spec) -> Spec:
    """A dashed line at 0 of a channel."""
    return layer([{"at": 0}], "rule", {"x": {"field": "at", **x}}, color=GREY, strokeDash=[4, 3])


def interval_height(rows: Any) -> int:
    """Of a chart with an interval a line."""
    return 30 + 26 * min(len(rows), MOST_DRAWN)


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
