"""Channels and layers of Vega-Lite specifications, in plain data."""

from collections.abc import Sequence
from typing import Any

BLUE, ORANGE, GREY = "#1f83c4", "#e0701a", "#8a8a8a"  # after Okabe & Ito: colour-blind readers can distinguish them
PALETTE = ["#1f83c4", "#e0701a", "#009e73", "#cc79a7", "#b5a000", "#56b4e9", "#7a7a7a"]
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


def diagonal(x: str, y: str, end: float = 1, **axes: Any) -> Spec:
    """Where both axes are equal, from 0 to `end`; `axes` are shared by both."""
    encoding = {"x": number(x, **axes), "y": number(y, **axes)}
    return layer([{x: 0, y: 0}, {x: end, y: end}], "line", encoding, color=GREY, strokeDash=[4, 3], strokeWidth=1)
