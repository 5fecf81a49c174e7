"""The main table of any result as a picture: a point for each row, with its limits."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from howsure.errors import InputError
from howsure.plots.marks import BLUE, Spec, layer, number, points
from howsure.plots.vega import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from howsure._result import Result

MOST_ROWS = 60
WIDE = 1000.0  # numbers so many times apart go on a logarithmic axis


class Point(NamedTuple):
    """A row: its name, its number and the limits of that, where there are any."""

    row: str
    value: float
    low: float
    high: float


def table_points(result: Result) -> tuple[str, list[Point]]:
    """What the numbers are, and those of the first rows: the first column with limits, else the first of numbers.

    A result's `DRAWN` names another. Where no column holds numbers, the rows are counted.
    """
    if result.DRAWN.startswith("-"):
        raise InputError(f"there is no picture of a {type(result).__name__}: {result.DRAWN[1:]}.")
    rows = result.table()
    names = list(rows[0]) if rows else []
    numeric = [n for n in names if any(_is_number(getattr(r[n], "value", r[n])) for r in rows)]
    limited = [n for n in numeric if any(hasattr(r[n], "low") for r in rows)]
    if not rows:
        raise InputError(f"this {type(result).__name__} is empty: there is nothing to draw.")
    if not numeric:
        fewest = min((Counter(str(r[n]) for r in rows) for n in names), key=len)
        return "rows", [Point(name, n, n, n) for name, n in fewest.most_common(MOST_ROWS)]
    wanted = [n for n in numeric if n == result.DRAWN]
    chosen = (wanted or limited or [n for n in numeric if n in ("value", "share")] or numeric)[0]
    made = []
    for i, r in enumerate(rows):
        v = r[chosen]
        value, low, high = getattr(v, "value", v), *(getattr(v, side, r.get(side)) for side in ("low", "high"))
        if _is_number(value):
            words = " ".join(str(r[n]) for n in names if r[n] not in (None, "", True, False) and n not in numeric)
            ends = [x if _is_number(x) else value for x in (low, high)]
            made.append(Point(words or f"{i + 1}", *map(float, (value, *ends))))
    return ("" if chosen == "value" else chosen), made[:MOST_ROWS]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")


def _is_wide(of: list[Point]) -> bool:
    least, most = min(p.low for p in of), max(p.high for p in of)
    return least > 0 and most > WIDE * least


def table_figure(result: Result) -> Spec:
    """The main table's numbers, of fixed size: for files."""
    title, found = table_points(result)
    records = [{"key": i, **p._asdict()} for i, p in enumerate(found)]
    scale = {"type": "log"} if _is_wide(found) else {"zero": False}
    named = {"labelExpr": f"{json.dumps([p.row for p in found], ensure_ascii=False)}[datum.value]", "labelLimit": 300}
    y = {"field": "key", "type": "ordinal", "title": None, "axis": named}
    limits = {"y": y, "x": number("low", title or None, scale=scale), "x2": {"field": "high"}}
    at = {"y": y, "x": number("value", title or None, scale=scale)}
    layers = [layer(records, "rule", limits, color=BLUE), points(records, at, 45, color=BLUE)]
    return picture(width=380, height={"step": 22}, layer=layers)


def draw_layers(layers: list[Spec], ax: Axes | None = None) -> Axes:
    """Lines, points, rules and bands of Vega-Lite layers on Matplotlib axes. Never calls `show`."""
    from howsure.plots.curves import axes_of

    ax = axes_of(ax, (6, 4))
    colours: dict[Any, str] = {}
    for each in layers:
        look = each["mark"] if isinstance(each["mark"], dict) else {"type": each["mark"]}
        kind = look["type"]
        of = {k: v for k, v in each["encoding"].items() if isinstance(v, dict) and "field" in v}
        parts: dict[Any, list[Any]] = {}
        for row in each["data"]["values"]:
            parts.setdefault(row[of["color"]["field"]] if "color" in of else None, []).append(row)
        for name, rows in parts.items():
            at = {k: [row[of[k]["field"]] for row in rows] for k in ("x", "y", "y2") if k in of}
            colour = look.get("color", BLUE) if name is None else colours.setdefault(name, f"C{len(colours)}")
            if "y2" in at and "x" in at:
                ax.vlines(at["x"], at["y"], at["y2"], color=colour, linewidth=1)
            elif "y2" in at:
                ax.axhspan(at["y"][0], at["y2"][0], color=colour, alpha=0.15)
            elif {"x", "y"} <= at.keys():
                marker = "o" if kind == "point" or look.get("point") else ""
                line = "-" if kind == "line" else ""
                ax.plot(at["x"], at["y"], line, marker=marker, markersize=3, linewidth=1, color=colour, label=name)
            else:
                (ax.axhline if "y" in at else ax.axvline)((at.get("y") or at["x"])[0], linestyle=":", color=colour)
        for side, label in (("x", ax.set_xlabel), ("y", ax.set_ylabel)):
            if side in of:
                label(of[side].get("title") or of[side]["field"])
        if "log" in str(of.get("y", {}).get("scale")):
            ax.set_yscale("log")
    if colours:
        handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        ax.legend(handles.values(), handles.keys())
    return ax


def draw_table(result: Result, ax: Axes | None = None) -> Axes:
    """The main table's numbers on Matplotlib axes. Never calls `show`."""
    from howsure.plots.curves import axes_of

    title, found = table_points(result)
    ax = axes_of(ax, (6, 1.2 + 0.3 * len(found)))
    at = range(len(found))
    off = [[max(p.value - p.low, 0.0) for p in found], [max(p.high - p.value, 0.0) for p in found]]
    ax.errorbar([p.value for p in found], at, xerr=off, fmt="o", markersize=4, elinewidth=1, color="#0072B2")
    ax.set_yticks(list(at), [p.row for p in found])
    ax.set(ylim=(len(found) - 0.5, -0.5), xlabel=title, xscale="log" if _is_wide(found) else "linear")
    return ax
