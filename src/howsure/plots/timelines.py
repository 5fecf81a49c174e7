"""Counts over time: the picture of an exploration, and the charts of its page, whose data the page fills in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from howsure.errors import InputError
from howsure.events.timeline import next_start
from howsure.plots.curves import axes_of
from howsure.plots.marks import BLUE, GREY, ORANGE, PALETTE, Spec, coloured, hover, layer, number, points, share
from howsure.plots.vega import SCHEMA, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from howsure.events.exploration import Exploration

STEP = {"interpolate": "step-after"}  # from the first days of periods
# Every label has its year: alone on the first of January, below the month or the day elsewhere.
YEAR = "utcFormat(datum.value, '%Y')"
TIME_AXIS: Spec = {
    "labelExpr": f"utcdate(datum.value) != 1 ? [utcFormat(datum.value, '%b %e'), {YEAR}] : "
    f"utcmonth(datum.value) != 0 ? [utcFormat(datum.value, '%b'), {YEAR}] : {YEAR}",
    "labelOverlap": True,
    "grid": False,
}
BANDS = (("95", 0.12), ("80", 0.13), ("50", 0.15))


def timeline_layers(timelines: dict[str, list[Spec]], every: str) -> list[Spec]:
    """A line of means for each actor with 50/80/95% bands, and its one-best counts, dashed; a step for each period."""

    def during(count: Spec) -> Spec:
        start = date.fromisoformat(count["start"])
        end = next_start(start, every)
        return {**count, "end": end.isoformat(), "middle": (start + (end - start) / 2).isoformat()}

    timelines = {name: [during(count) for count in counts] for name, counts in timelines.items()}
    records = [{**count, "actor": name} for name, counts in timelines.items() for count in counts]
    names = list(timelines)
    legend = {"orient": "top", "symbolLimit": 50, "symbolOpacity": 1}
    x = {"field": "start", "type": "temporal", "title": None, "scale": {"type": "utc"}, "axis": TIME_AXIS}
    at: Spec = {"x": x, "y": number("mean"), "color": coloured("actor", names, title=None, legend=legend)}
    # A period's numbers hold from its first day to the next one's: steps, the last of them to its own end.
    steps = records + [{**counts[-1], "start": counts[-1]["end"], "actor": name} for name, counts in timelines.items()]
    whole = {"low95": "95% from", "high95": "to", "best": "one-best"}
    numbers = (("mean", "mean", ".2f"), *((f, t, ".0f") for f, t in whole.items()), ("documents", "documents", ","))
    tooltip = hover(("actor",), ("period",), *numbers)
    low = {level: number(f"low{level}", "documents", axis={"tickMinStep": 1}) for level, _ in BANDS}
    shape = {**at["color"], "scale": {"domain": names}}
    return [
        *(
            layer(steps, "area", {**at, "y": low[level], "y2": {"field": f"high{level}"}}, opacity=opacity, **STEP)
            for level, opacity in BANDS
        ),
        layer(steps, "line", {**at, "y": number("best")}, strokeWidth=1.2, strokeDash=[3, 3], opacity=0.9, **STEP),
        layer(steps, "line", at, strokeWidth=2.2, **STEP),
        points(records, {**at, "x": {**x, "field": "middle"}, "shape": shape, "tooltip": tooltip}, 35),
    ]


def exploration_figure(found: Exploration, actors: Sequence[str] = ()) -> Spec:
    """The counts of the actors named over time; of none, of the two with most events."""
    chosen = found.chosen(actors)
    if not chosen:
        raise InputError("there are no events to draw.")
    verbs = found.manifest["settings"]["verbs"]
    shown = ", ".join(verbs[:4]) + (", …" if len(verbs) > 4 else "")
    timelines = {found.name(c): [count.to_dict() for count in found.reported_timeline(c)] for c in chosen}
    title = f"Documents that report an agent of: {shown} (per {found.every})"
    return timeline_figure(timelines, title, found.every, "the event layer")


def timeline_figure(timelines: dict[str, list[Spec]], title: str, every: str, of: str = "the posterior") -> Spec:
    """The picture of fixed size, for files."""
    meant = f"line: mean of {of}; bands: 50, 80 and 95% of it; dashed: one-best"
    head: Spec = {"text": title, "subtitle": meant, "subtitleColor": "#666"}
    head |= {"anchor": "start", "fontSize": 13, "fontWeight": "normal"}
    return {**picture(width=640, height=260, layer=timeline_layers(timelines, every)), "title": head}


# Opacities of 95, 80 and 50% bands; they lie over each other.
PAGE_BANDS = (("95", 0.16), ("80", 0.18), ("50", 0.22))


def _x(field: str = "mid", **axis: Any) -> Spec:
    # `shown` is the part of time that the reader has zoomed to; times are UTC, so that a day is a day everywhere.
    scale = {"type": "utc", "domain": {"expr": "whole"}, "domainRaw": {"expr": "shown"}, "nice": False}
    return {"field": field, "type": "temporal", "title": None, "scale": scale, "axis": {**TIME_AXIS, **axis}}


def _chosen(fill: str = GREY) -> Spec:
    """The period that the reader has chosen."""
    drawn = layer(None, "rect", {"x": _x("start"), "x2": {"field": "end"}}, color=fill, opacity=0.2, clip=True)
    return {"data": {"name": "chosen"}, **drawn}


def _specification(height: int, layers: list[Spec]) -> Spec:
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "params": [{"name": "shown", "value": None}, {"name": "whole", "value": [0, 1]}],
        "layer": layers,
    }


def explorer_charts() -> dict[str, Spec]:
    """Counts over time with their bands; which of two actors has more; all of time, to zoom in."""
    ends = {"minExtent": 44, "maxExtent": 44}  # charts under each other are in line
    axis = {"tickMinStep": 1, "format": "~s", **ends}
    colour = coloured("actor", ["A", "B"], [BLUE, ORANGE], legend=None)  # the page has its own, with the actors' names
    spots = coloured("actor", ["A", "B"], ["circle", "square"], legend=None)
    who = coloured("who", ["A", "equal", "B"], [BLUE, "#9aa4af55", ORANGE], legend=None)
    # Few periods have a block each, as wide as the period; many (`run`) an area.
    wide: Spec = {"x": _x("start"), "x2": {"field": "end"}}
    run: Spec = {"x": _x("start")}

    def named(name: str, mark: str, encoding: Spec, data: str = "counts", **look: Any) -> Spec:
        return {"name": name, "data": {"name": data}, **layer(None, mark, encoding, clip=True, **look)}

    def counts(field: str) -> Spec:
        return {"y": number(field, "documents", axis=axis), "color": colour}

    def between(level: str) -> Spec:
        return {**counts(f"low{level}"), "y2": {"field": f"high{level}"}}

    bands = [
        named(f"{kind}{level}", mark, {**x, **between(level)}, opacity=opacity, **look)
        for kind, mark, x, look in (("block", "rect", wide, {}), ("run", "area", run, {"data": "steps", **STEP}))
        for level, opacity in PAGE_BANDS
    ]
    lines = [
        named("best", "line", run | counts("best"), "steps", strokeWidth=1.6, strokeDash=[4, 3], **STEP),
        named("mean", "line", run | counts("mean"), "steps", strokeWidth=2.4, **STEP),
        named("points", "point", {"x": _x(), **counts("mean"), "shape": spots}, filled=True, size=48, opacity=1),
    ]
    sure = share("from", "probability", axis={"values": [0, 0.5, 1], **ends})
    order = {"y": sure, "y2": {"field": "to"}, "color": who}
    versus = [
        named("blockversus", "rect", wide | order, "versus", opacity=0.85),
        named("runversus", "area", run | order, "versus", opacity=0.85, **STEP),
    ]
    bare = {"labels": False, "ticks": False, "domain": False, "grid": False, **ends}
    all_time = {"x": _x("start"), "y": number("mean", " ", stack=None, axis=bare), "color": colour}
    area = layer(None, "area", all_time, opacity=0.35, line={"strokeWidth": 1.2}, **STEP)
    whole = {"data": {"name": "counts"}, **area}
    return {
        "timeline": _specification(300, [_chosen(), *bands, *lines]),
        "versus": _specification(104, [*versus, _chosen()]),
        "whole": _specification(66, [_chosen(BLUE), whole]),
    }


def draw_timelines(timelines: Mapping[str, Sequence[Any]], every: str, ax: Axes | None = None) -> Axes:
    """A line of means for each name with its bands, and the one-best counts, dashed; returns the axes."""
    axes = axes_of(ax, (8, 3.4))
    for i, (name, counts) in enumerate(timelines.items()):
        colour = PALETTE[i % len(PALETTE)]
        days = [*(c.start for c in counts), next_start(counts[-1].start, every)]
        steps = [*counts, counts[-1]]
        for level, opacity in BANDS:
            low, high = zip(*(c.intervals[int(level) / 100] for c in steps), strict=True)
            axes.fill_between(days, low, high, step="post", color=colour, alpha=opacity, linewidth=0)
        dashed: dict[str, Any] = {"color": colour, "linewidth": 1, "linestyle": (0, (3, 3))}
        axes.plot(days, [c.best for c in steps], drawstyle="steps-post", **dashed)
        axes.plot(days, [c.mean for c in steps], drawstyle="steps-post", color=colour, linewidth=2, label=name)
    axes.set_ylabel("documents")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return axes
