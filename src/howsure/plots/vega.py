"""What all Vega-Lite specifications share, in plain data: one definition for the page, SVG, PNG and PDF."""

import re
from collections.abc import Sequence
from math import isfinite
from typing import Any

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
BLUE, ORANGE, GREY = "#1f83c4", "#e0701a", "#8a8a8a"  # after Okabe & Ito: colour-blind readers can distinguish them
PALETTE = ["#1f83c4", "#e0701a", "#009e73", "#cc79a7", "#b5a000", "#56b4e9", "#7a7a7a"]


MOST_DRAWN = 40  # labels of a matrix, classes or systems of a chart
VALUES = tuple((field, "", ".4f") for field in ("value", "low", "high"))


Spec = dict[str, Any]


def number(field: str, title: str | None = "", **more: Any) -> Spec:
    """A channel of numbers; an empty title leaves it to Vega-Lite."""
    return {"field": field, "type": "quantitative", **({} if title == "" else {"title": title}), **more}


def share(field: str, title: str | None = "", **more: Any) -> Spec:
    """A channel of numbers from 0 to 1."""
    return number(field, title, scale={"domain": [0, 1]}, **more)


def layer(data: Any, mark: str, encoding: Spec, **look: Any) -> Spec:
    """Marks for the records of `data`, or of the picture's own data if None."""
    own = {} if data is None else {"data": {"values": data}}
    return {**own, "mark": {"type": mark, **look}, "encoding": encoding}


def points(data: Any, encoding: Spec, size: int, **look: Any) -> Spec:
    """A layer of filled points."""
    return layer(data, "point", encoding, **{"filled": True, "size": size, "opacity": 1, **look})


def hover(*fields: tuple[str, ...]) -> list[Spec]:
    """What is shown on hover: fields with their title and format; without a title, the field's name is shown."""
    return [{k: v for k, v in zip(("field", "title", "format"), f, strict=False) if v} for f in fields]


def coloured(field: str, names: Sequence[str], colours: Sequence[str] | None = None, **more: Any) -> Spec:
    """A colour for each name, of the palette unless others are given."""
    wheel = [PALETTE[i % len(PALETTE)] for i in range(len(names))] if colours is None else list(colours)
    return {"field": field, "scale": {"domain": list(names), "range": wheel}, **more}


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


def diagonal(x: str, y: str, end: float = 1, **axes: Any) -> Spec:
    """Where both axes are equal, from 0 to `end`; `axes` are shared by both."""
    encoding = {"x": number(x, **axes), "y": number(y, **axes)}
    return layer([{x: 0, y: 0}, {x: end, y: end}], "line", encoding, color=GREY, strokeDash=[4, 3], strokeWidth=1)


def mark_at(axis: str, value: float) -> Spec:
    """A dashed line across the picture."""
    return layer([{}], "rule", {axis: {"datum": value}}, color=GREY, strokeDash=[4, 3])


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
        layers.insert(0, layer([{"at": 0}], "rule", {"x": {"field": "at", **x}}, color=GREY, strokeDash=[4, 3]))
    return layers


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
