"""Panels side by side: the pictures of studies."""

from collections.abc import Callable
from typing import Any

from howsure.calibration.result import Calibration
from howsure.plots.curves import curve_layers, histogram_layers
from howsure.plots.marks import BLUE, GREY, ORANGE, Spec, coloured, diagonal, layer, number, points, share
from howsure.plots.vega import titled

SIDE = 270


def _bare(layers: list[Spec]) -> list[Spec]:
    """Layers without what only a page can show on hover."""
    return [{**each, "encoding": {k: v for k, v in each["encoding"].items() if k != "tooltip"}} for each in layers]


def curve_panels(
    curves: dict[str, Calibration],
    *,
    title: str,
    said: dict[str, str] | None = None,
    distribution_of: str | None = None,
) -> Spec:
    """A panel for each name: the curve with its bins' intervals and below it, on a square-root scale, the rows.

    Below a panel's name stands its error, or what is `said` of it. With `distribution_of`, all curves are of the same
    probabilities: their distribution is a panel of its own, of that name, and comes first.
    """

    def panel(name: str, c: Calibration) -> Spec:
        words = said[name] if said else "" if c.error is None else f"RMS error {c.error!r}"
        curve = square(name, words, _bare(curve_layers(c)))
        if distribution_of is not None:
            return curve
        return {"vconcat": [curve, {"width": SIDE, "height": 50, "layer": _histogram(c)}]}

    def square(name: str, words: str, layers: list[Spec]) -> Spec:
        head = {"text": name, "fontSize": 12, "anchor": "start"}
        head |= {"subtitle": words, "subtitleFontSize": 11, "subtitleColor": "#555"}
        return {"title": head, "width": SIDE, "height": SIDE, "layer": layers}

    panels = [panel(name, c) for name, c in curves.items()]
    if distribution_of is not None:
        first = next(iter(curves.values()))
        panels.insert(0, square(distribution_of, f"{first.n:,} rows", _histogram(first)))
    laid_out = {"columns": 3 if len(panels) % 3 == 0 else 2, "spacing": 28, "concat": panels}
    return {**titled(title), "resolve": {"legend": {"color": "independent"}}, **laid_out}


def _histogram(c: Calibration) -> list[Spec]:
    """The distribution by label, its legend out of the way of a panel's name."""
    layers = _bare(histogram_layers(c))
    e = layers[0]["encoding"]
    e["color"] = {**e["color"], "legend": {"orient": "bottom", "offset": 4}}
    e["y"] = {**e["y"], "axis": {**e["y"]["axis"], "tickCount": 4}}
    return layers


def error_dots(records: list[Spec], *, title: str, models: tuple[str, str]) -> Spec:
    """Errors of two models on each `question`, in the order given: `error` from `low` to `high`, by `model`.

    A record without limits is drawn as a diamond: an average.
    """
    order = list(dict.fromkeys(r["question"] for r in records))
    axis = {"labelAngle": -90, "labelFontSize": 10, "grid": True, "gridOpacity": 0.3}
    legend = {"title": None, "orient": "top", "symbolType": "circle", "symbolOpacity": 1}
    at: Spec = {
        "x": {"field": "question", "type": "nominal", "sort": order, "title": None, "axis": axis},
        "xOffset": {"field": "model", "type": "nominal", "sort": list(models)},
        "y": number("error", "RMS calibration error", scale={"zero": True}),
        "color": coloured("model", models, [BLUE, ORANGE], type="nominal", legend=legend),
    }
    limits = {**at, "y": {**at["y"], "field": "low"}, "y2": {"field": "high"}}
    known, average = ({"transform": [{"filter": f"{sign}isValid(datum.low)"}]} for sign in ("", "!"))
    return {
        **titled(title, offset=8),
        "data": {"values": records},
        "width": {"step": 8 if len(order) > 25 else 30},
        "height": 280,
        "layer": [
            known | layer(None, "rule", limits, strokeWidth=1.5, opacity=0.6),
            known | points(None, at, 30),
            average | points(None, at, 90, shape="diamond"),
        ],
    }


def error_scatter(records: list[Spec], *, title: str, models: tuple[str, str]) -> Spec:
    """Error of the second model against the first's, a point for each question; `side` says who is surely better."""
    most = max(max(r["first"], r["second"]) for r in records)
    scale = {"domain": [0, most * 1.05], "nice": False}
    sides = [f"{models[0]} significantly better", f"{models[1]} significantly better", "neither"]
    legend = {"title": None, "orient": "top", "columns": 1}
    at = {
        "x": number("first", f"RMS error, {models[0]}", scale=scale),
        "y": number("second", f"RMS error, {models[1]}", scale=scale),
        "color": coloured("side", sides, [BLUE, ORANGE, "#b8b8b8"], type="nominal", legend=legend),
    }
    layers = [diagonal("a", "b", most * 1.05), points(records, at, 40, opacity=0.85)]
    return {**titled(title, offset=8), "width": 360, "height": 360, "layer": layers}


def pair_panels(records: list[Spec], *, title: str) -> Spec:
    """A panel for each `panel` of the records: `p` against `q` with `low` and `high`, a colour for each `how`."""
    ways = list(dict.fromkeys(r["how"] for r in records))
    unit = {"domain": [0, 1], "clamp": True}
    x, y = number("q", "predicted probability", scale=unit), number("p", "observed frequency", scale=unit)
    legend = {"orient": "top", "symbolOpacity": 1}
    colour = coloured("how", ways, [BLUE, ORANGE][: len(ways)], type="nominal", title=None, legend=legend)
    at = {"x": x, "y": y, "color": colour}
    equal = {**diagonal("q", "p"), "encoding": {"x": x, "y": y}}

    def layers(shown: list[Spec]) -> list[Spec]:
        return [
            equal,
            layer(shown, "rule", {**at, "y": {**y, "field": "low"}, "y2": {"field": "high"}}, opacity=0.5),
            layer(shown, "line", at, strokeWidth=1),
            points(shown, at, 28, opacity=0.8),
        ]

    return _side_by_side(records, title, 300, lambda shown: {"layer": layers(shown)})


def _side_by_side(records: list[Spec], title: str, height: int, panel: Callable[[list[Spec]], Spec]) -> Spec:
    """A panel for each `panel` of the records, under its name."""
    panels = []
    for name in dict.fromkeys(r["panel"] for r in records):
        head = {"text": name, "anchor": "start", "fontWeight": "normal", "fontSize": 12}
        made = panel([r for r in records if r["panel"] == name])
        panels.append({"title": head, "width": 300, "height": height, **made})
    return {**titled(title, size=13, offset=10), "hconcat": panels}


SERIES = {"thesis's score": BLUE, "its expectation": GREY, "debiased, 95% interval": ORANGE, "truth": "#222222"}
NEAR_ZERO = 1e-5  # below it the log axis turns linear, so that 0 can be drawn


def score_panels(
    records: list[Spec], *, title: str, x_title: str, log_scales: bool = False, separate: bool = False
) -> Spec:
    """A panel for each `law` of the records: `score`, `expected`, `ours` from `low` to `high`, and `truth`, along `x`.

    `separate` draws an interval at each x; otherwise one estimate serves all and is drawn as a band.
    """
    panels = list(dict.fromkeys(r["law"] for r in records))
    x_scale: Spec = {"zero": False, "nice": False, "padding": 6}
    x_axis: Spec = {"format": "~s", "tickCount": 5, "grid": False}
    y_scale: Spec = {"zero": False}
    y_axis: Spec = {"format": "~r", "tickCount": 5}
    if log_scales:
        x_scale |= {"type": "log", "base": 2}
        del x_axis["tickCount"], y_axis["tickCount"]
        x_axis |= {"values": [2**i for i in range(1, 17, 5)], "format": ","}
        ends = [min(r["ours"] for r in records), max(max(r["score"], r["expected"]) for r in records)]
        y_scale |= {"type": "symlog", "constant": NEAR_ZERO, "domain": ends, "nice": False, "padding": 4}
        y_axis |= {"values": [0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1], "labelOverlap": False}
        y_axis |= {"labelExpr": "datum.value == 0 ? '0' : format(datum.value, '.0e')"}
    x = number("x", x_title, scale=x_scale, axis=x_axis)

    def series(name: str) -> Spec:
        scale = {"domain": list(SERIES), "range": list(SERIES.values())}
        legend = {"title": None, "orient": "top", "symbolType": "circle", "symbolSize": 90, "symbolOpacity": 1}
        legend |= {"labelFontSize": 12, "columnPadding": 24}
        return {"datum": name, "type": "nominal", "scale": scale, "legend": legend}

    def drawn(mark: Spec, field: str, name: str, **more: Any) -> Spec:
        y = number(field, "squared calibration error", scale=y_scale, axis=y_axis)
        return {"mark": mark, "encoding": {"x": x, "y": y, "color": series(name), **more}}

    ours = "debiased, 95% interval"
    header = {"title": None, "labelFontSize": 12, "labelFontWeight": "bold"}
    limits = {"type": "rule", "opacity": 0.45} if separate else {"type": "area", "opacity": 0.25}
    line, dots = {"type": "line", "strokeWidth": 1.5}, {"type": "point", "filled": True, "opacity": 1}
    return {
        **titled(title),
        "data": {"values": records},
        "facet": {"field": "law", "type": "nominal", "sort": panels, "header": header},
        "columns": 3,
        "align": "all",
        "bounds": "flush",
        "spacing": {"row": 76, "column": 76},
        "resolve": {"scale": {"y": "independent"}, "axis": {"x": "independent"}},
        "spec": {
            "width": 230,
            "height": 170,
            "layer": [
                drawn(limits, "low", ours, y2={"field": "high"}),
                drawn(dots | {"size": 14} if separate else line, "ours", ours),
                drawn(line, "expected", "its expectation"),
                drawn(line | {"strokeDash": [5, 3]}, "truth", "truth"),
                drawn(dots | {"size": 22}, "score", "thesis's score"),
            ],
        },
    }


def share_panels(records: list[Spec], *, title: str, y_title: str) -> Spec:
    """Points `share` with `low` and `high` for each `range`, numbers `n` above them; a panel for each `panel`."""
    ranges = list(dict.fromkeys(r["range"] for r in records))
    x = {"field": "range", "type": "nominal", "sort": ranges, "title": "probability given", "axis": {"labelAngle": 0}}
    y = share("share", y_title, axis={"format": ".0%"})
    limits = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    label = {"x": x, "y": {"datum": 0}, "text": {"field": "label"}}
    layers = [
        layer(None, "rule", limits, color=BLUE, strokeWidth=2, opacity=0.6),
        points(None, {"x": x, "y": y}, 60, color=BLUE),
        layer(None, "text", label, baseline="bottom", dy=-4, color=GREY, fontSize=10),
    ]
    return _side_by_side(records, title, 200, lambda shown: {"data": {"values": shown}, "layer": layers})
