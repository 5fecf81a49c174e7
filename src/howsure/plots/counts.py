"""Counts over periods and groups, and calibration by stratum, as Vega-Lite specifications."""

from howsure.counting.result import CellCount, Counts
from howsure.plots.marks import BLUE, ORANGE, Spec, coloured, diagonal, hover, layer, number, points
from howsure.plots.vega import intervals, titled, zero_at

GREEN = "#009e73"
SERIES = {"labels and model": BLUE, "labels only": GREEN, "sum of probabilities": ORANGE}
MOST_DRAWN = 60


def _records(cells: list[CellCount]) -> list[Spec]:
    made = []
    for c in (c for c in cells if c.n_items and c.share is not None):
        about = {"name": c.name, "items": c.n_items, "labels": c.n_labels}
        for kind, e in zip(SERIES, (c.share, c.labels_only), strict=False):
            made += [] if e is None else [{**about, "kind": kind, **e.to_dict()}]
        made.append({**about, "kind": "sum of probabilities", "value": c.raw / c.n_items})
    return made


TOOLTIP = hover(("name", "cell"), ("kind", "from"), ("items", "", ","), ("labels", "", ","))
TOOLTIP += hover(*((f, "", ".2%") for f in ("value", "low", "high")))
LEGEND = {"orient": "top", "symbolOpacity": 1}
COLOUR = coloured("kind", list(SERIES), list(SERIES.values()), type="nominal", title=None, legend=LEGEND)
NAMES: Spec = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 220}}


def series_layers(c: Counts, group: str = "") -> list[Spec]:
    """Shares in time: the corrected one with its band, the labels' alone with theirs, and the model's."""
    cells = [x for x in c.cells if x.period and x.group == group]
    records, order = _records(cells), [x.period for x in cells]
    for r in records:
        r["period"] = r["name"].split(",")[0] if group else r["name"]
    x = {"field": "period", "type": "ordinal", "sort": order, "title": None, "axis": {"labelOverlap": True}}
    # A few labels alone say so little that they would set the scale: their bands are cut off.
    tops = [r["high" if "high" in r else "value"] for r in records if r["kind"] != "labels only"]
    scale = {"domain": [0, min(1.0, 1.5 * max(tops, default=1.0) + 0.001)]}
    both, alone, raw = ([r for r in records if r["kind"] == kind] for kind in SERIES)

    def y(field: str) -> Spec:
        return number(field, "share of positives", axis={"format": "~%"}, scale=scale)

    band = {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": COLOUR}
    line = {"x": x, "y": y("value"), "color": COLOUR, "tooltip": TOOLTIP}
    aside: Spec = {"xOffset": 7, "clip": True}
    return [
        layer(alone, "rule", band, strokeWidth=2, opacity=0.5, **aside),
        points(alone, line, 30, opacity=0.8, **aside),
        layer(both, "area", band, opacity=0.22),
        layer(both, "rule", band, strokeWidth=2, opacity=0.5),
        layer(raw, "line", line, strokeDash=[5, 3], strokeWidth=2, point=True),
        layer(both, "line", line, strokeWidth=2.4, point={"filled": True, "size": 55}),
    ]


def group_layers(cells: list[CellCount]) -> list[Spec]:
    """Shares of groups, one line each, with the same three."""
    records = _records(cells[:MOST_DRAWN])
    at = {"y": NAMES, "yOffset": {"field": "kind", "sort": list(SERIES)}, "color": COLOUR}

    def x(field: str) -> Spec:
        return number(field, "share of positives", axis={"format": "~%"})

    limited = {"transform": [{"filter": "datum.kind != 'sum of probabilities'"}]}
    limits = layer(records, "rule", {**at, "x": x("low"), "x2": {"field": "high"}}, strokeWidth=2, opacity=0.6)
    return [limited | limits, points(records, {**at, "x": x("value"), "tooltip": TOOLTIP}, 60)]


def overall_layers(c: Counts) -> list[Spec]:
    """The three shares of all items."""
    everything = CellCount("", "", c.n_items, c.n_labels, c.n_positive, c.raw, c.count, c.share, c.labels_only)
    return group_layers([everything])


def stratum_layers(c: Counts) -> list[Spec]:
    """Each stratum's share of positive labels against its mean probability."""
    q, p = "mean probability", "share of positives"
    records = []
    for s in c.strata:
        limits = {q: s.mean_prob, p: s.share.value, "low": s.share.low, "high": s.share.high}
        records.append(limits | {"items": s.n_items, "labels": s.n_labels})
    per_cent: Spec = {"axis": {"format": "~%"}}
    x, y = number(q, **per_cent), number(p, "share of positive labels", **per_cent)
    tooltip = hover(*((f, "", ".2%") for f in (q, p, "low", "high")), ("items", "", ","), ("labels", "", ","))
    band = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    return [
        diagonal(q, p),
        layer(records, "rule", band, color=BLUE, strokeWidth=2, opacity=0.6),
        points(records, {"x": x, "y": y, "tooltip": tooltip}, 70, color=BLUE),
    ]


def next_label_layers(c: Counts) -> list[Spec]:
    """Where the next label would bring most."""
    records = []
    for s in c.strata:
        about = {"stratum": f"{s.from_prob:.2g} to {s.to_prob:.2g}", "value": s.next_label}
        records.append(about | {"labels": s.n_labels, "items": s.n_items})
    encoding = {
        "y": {"field": "stratum", "type": "nominal", "sort": None, "title": "probability"},
        "x": number("value", "worth of the next label (best: 1)"),
        "tooltip": hover(("stratum",), ("items", "", ","), ("labels", "", ",")),
    }
    return [layer(records, "bar", encoding, color=BLUE)]


def coefficient_layers(c: Counts) -> list[Spec]:
    """Coefficients with their intervals, and those of q alone."""
    shown = [b for b in c.coefficients if b.name != "(intercept)"]
    records = [{"name": b.name, "raw": b.raw, **b.value.to_dict()} for b in shown]
    x = {"type": "quantitative", "title": "change of the share", "axis": {"format": "+~%"}}
    tooltip = hover(("name",), *((f, "", "+.2%") for f in ("value", "low", "high", "raw")))
    at = {"y": NAMES, "x": {"field": "raw", **x}, "tooltip": tooltip}
    raw = layer(records, "point", at, shape="diamond", color=ORANGE, filled=True, size=60)
    return [zero_at(x), *intervals(records, NAMES, x, tooltip), raw]


def height_of(cells: list[CellCount]) -> int:
    """Of a chart of groups."""
    return 40 + 44 * min(len(cells), MOST_DRAWN)


def counts_figure(c: Counts) -> Spec:
    """The series, the groups or the three shares, of fixed size: for files."""
    panels = []
    if any(x.period for x in c.cells):
        panels.append({"width": 620, "height": 300, "layer": series_layers(c)})
    groups = [x for x in c.cells if x.group and not x.period]
    if groups:
        panels.append({"width": 480, "height": height_of(groups), "layer": group_layers(groups)})
    if not panels:
        panels.append({"width": 480, "height": 90, "layer": overall_layers(c)})
    said = f"Share of positives of {c.n_items:,} items, from {c.n_labels:,} labels"
    return {**titled(f"{said}; {100 * c.confidence_level:g}% intervals"), "vconcat": panels}
