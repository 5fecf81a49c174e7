"""Scores, contests and agreement of labels, as Vega-Lite specifications."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure.plots.marks import BLUE, GREY, ORANGE, Spec, coloured, hover, layer, number, points
from howsure.plots.vega import MOST_DRAWN, VALUES, interval_height, interval_layers, intervals, picture

if TYPE_CHECKING:
    import howsure
    from howsure.evaluation.cross_validation import CrossValidation
    from howsure.evaluation.scores.result import Confusion

WITH_NUMBERS = 15  # labels up to which each cell shows its count


def matrix_layers(c: Confusion) -> list[Spec]:
    """Rows are gold, columns predicted; shaded by the share of the gold label. The commonest labels only, if many."""
    size = c.counts.sum(axis=0) + c.counts.sum(axis=1)
    chosen = np.sort(np.argsort(-size, kind="stable")[:MOST_DRAWN])
    labels = [c.labels[i] for i in chosen]
    whole = np.maximum(c.counts.sum(axis=1), 1)
    records = []
    for g, p in product(chosen.tolist(), repeat=2):
        cell = {"gold": c.labels[g], "predicted": c.labels[p], "rows": int(c.counts[g, p])}
        records.append(cell | {"share": cell["rows"] / int(whole[g])})
    axis = {"labelLimit": 110, "labelAngle": -40 if len(labels) > 4 or max(map(len, labels)) > 9 else 0}
    named = {"type": "nominal", "sort": labels}
    at: Spec = {
        "x": {"field": "predicted", **named, "title": "predicted", "axis": {**axis, "orient": "top"}},
        "y": {"field": "gold", **named, "title": "gold", "axis": {"labelLimit": 130}},
    }
    tooltip = hover(("gold",), ("predicted",), ("rows", "", ","), ("share", "share of gold", ".1%"))
    scale = {"domain": [0, 1], "range": ["#eef4f9", "#08457e"]}
    colour = number("share", "share of gold", scale=scale, legend=None)
    layers = [layer(records, "rect", {**at, "color": colour, "tooltip": tooltip}, stroke="#ffffff", strokeWidth=1)]
    if len(labels) <= WITH_NUMBERS:
        ink = {"condition": {"test": "datum.share > 0.5", "value": "#ffffff"}, "value": "#1b1f24"}
        text = {**at, "text": {"field": "rows", "format": ","}, "color": ink}
        layers.append(layer([r for r in records if r["rows"]], "text", text, fontSize=12))
    return layers


def class_layers(s: howsure.Score) -> list[Spec]:
    """F of every class with its interval, worst last; the commonest only, if there are many."""
    kept = sorted((c for c in s.classes if c.f is not None), key=lambda c: -(c.gold + c.predicted))[:MOST_DRAWN]
    kept.sort(key=lambda c: -float(c.f or 0))
    records = [{"label": c.label, "gold": c.gold, **c.f.to_dict()} for c in kept if c.f]
    y = {"field": "label", "type": "nominal", "sort": [r["label"] for r in records], "title": None}
    title = f"{s.f_name}, {100 * s.confidence_level:g}% interval"
    x = {"type": "quantitative", "title": title, "scale": {"domain": [0, 1]}}
    return intervals(records, y, x, hover(("label",), ("gold", "", ","), *VALUES))


def score_figure(s: howsure.Score) -> Spec:
    """The matrix, or the types of spans, of fixed size: for files."""
    if s.confusion is not None:
        side = 60 + 28 * min(len(s.confusion.labels), MOST_DRAWN)
        return picture(width=side, height=side, layer=matrix_layers(s.confusion))
    return picture(width=380, height=40 + 22 * min(len(s.classes), MOST_DRAWN), layer=class_layers(s))


def fold_layers(c: CrossValidation) -> list[Spec]:
    """Accuracy and baseline of each fold; the average's interval as a band."""
    records = []
    for f in c.folds:
        for name, value in ((c.method, f.accuracy), ("baseline", f.baseline)):
            records.append({"fold": str(f.fold), "accuracy": value, "of": name})
    y = {"type": "quantitative", "scale": {"zero": False}, "title": "accuracy"}
    limits = {"y": {"field": "low", **y}, "y2": {"field": "high"}}
    at = {
        "x": {"field": "fold", "type": "ordinal", "sort": None, "axis": {"labelAngle": 0}},
        "y": {"field": "accuracy", **y},
        "color": coloured("of", [c.method, "baseline"], type="nominal", title=None),
    }
    band = layer([{"low": c.accuracy.low, "high": c.accuracy.high}], "rect", limits, opacity=0.15)
    return [band, points(records, at, 60)]


def contest_figure(c: howsure.Contest) -> Spec:
    """The systems above their differences, of fixed size: for files."""
    drawn = [{"width": 380, "height": height, "layer": layers} for height, layers in contest_charts(c).values()]
    return picture(vconcat=drawn)


def contest_charts(c: howsure.Contest) -> dict[str, tuple[int, list[Spec]]]:
    """The systems and their differences: height and layers of each."""
    level = f"{100 * c.confidence_level:g}% interval"
    ordered = sorted(c.systems, key=lambda s: -s.value.value)[:MOST_DRAWN]
    systems = [{"name": s.name, **s.value.to_dict()} for s in ordered]
    clearest = sorted(c.duels, key=lambda d: d.tests[0].p_value)[:MOST_DRAWN]
    duels = [{"name": f"{d.a} against {d.b}", **d.difference.estimate.to_dict()} for d in clearest]
    difference = interval_layers(duels, f"difference of {c.metric_name}, {level}", zero=True)
    return {
        "systems": (interval_height(systems), interval_layers(systems, f"{c.metric_name}, {level}")),
        "duels": (interval_height(duels), difference),
    }


def benchmark_layers(b: howsure.Benchmark) -> list[Spec]:
    """Each model on the average of all parts, or on the only one."""
    shown = [s for s in b.scores if s.part == b.scores[0].part][:MOST_DRAWN]
    records = [{"name": s.model, **_limited(s.value.value, s.value.low, s.value.high)} for s in shown]
    return interval_layers(records, f"{b.metric}, {100 * b.confidence_level:g}% interval")


def coefficient_layers(a: howsure.Agreement) -> list[Spec]:
    """Each coefficient as a point with its interval; 0 is chance, 1 perfect."""
    named: list[tuple[str, Any]] = [] if a.observed is None else [("raw agreement", a.observed)]
    named += [(c.name, c) for c in a.shown_coefficients if c.value is not None]
    records = [{"name": name, **_limited(e.value, e.low, e.high)} for name, e in named]
    lowest = min([0.0, *(max(r["low"], -1.0) for r in records)])
    y = {"field": "name", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 220}}
    return _intervals(records, y, "agreement (of the coefficients 0 is chance; 1 is perfect)", [lowest, 1.0], BLUE)


def agreement_figure(a: howsure.Agreement) -> Spec:
    """The coefficients, of fixed size: for files."""
    return picture(width=420, height=130, layer=coefficient_layers(a))


def annotator_layers(a: howsure.Agreement, most: int) -> list[Spec]:
    """Skill of each annotator with its interval, those to reject in another colour."""
    assert a.crowd is not None
    records = [
        {"name": m.name, **_limited(m.skill, m.low, m.high, -1.0)}
        | {"verdict": m.verdict, "labels": m.n_labels, "evidence": m.evidence}
        for m in a.crowd.annotators[:most]
        if m.skill is not None
    ]
    y = {"field": "name", "type": "nominal", "title": None, "sort": None}
    lowest = min([0.0, *(r["low"] for r in records)])
    verdicts, colours = ["keep", "unclear", "reject"], [BLUE, GREY, ORANGE]
    colour = coloured("verdict", verdicts, colours, title=None, legend={"orient": "top"})
    layers = _intervals(records, y, "skill (0 is chance, 1 is perfect)", [lowest, 1.0], colour)
    layers[-1]["encoding"]["tooltip"] += [{"field": f} for f in ("verdict", "labels", "evidence")]
    limit = layer([{"x": a.crowd.reject_below}], "rule", {"x": number("x")}, color=GREY, strokeDash=[4, 3])
    return [limit, *layers]


def _limited(value: float, low: float | None, high: float | None, least: float = -np.inf) -> Spec:
    """A value and its limits, itself where there are none; the lower one is at least `least`."""
    low, high = (value if v is None else v for v in (low, high))
    return {"value": value, "low": max(low, least), "high": high}


def _intervals(records: list[Spec], y: Spec, title: str, domain: list[float], colour: Any) -> list[Spec]:
    shown = {"value": colour} if isinstance(colour, str) else colour
    x = number("value", title, scale={"domain": domain, "clamp": True})
    tooltip = hover(("name", "name"), *((field, "", ".3f") for field in ("value", "low", "high")))
    limits = {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": shown}
    return [
        layer(records, "rule", limits, strokeWidth=2),
        points(records, {"y": y, "x": x, "color": shown, "tooltip": tooltip}, 60),
    ]


def confusion_layers(a: howsure.Agreement) -> list[Spec]:
    """How often two labels meet on an item: of the ratings beside a label, the share of each."""
    from scipy.sparse import csr_array

    r = a.ratings
    kept = r.per_item[r.cells[0]] > 1
    item, label, count = (v[kept] for v in r.cells)
    weight = count / (r.per_item[item] - 1.0)
    columns = count.astype(float), weight
    counts, weighted = (csr_array((v, (item, label)), shape=(len(r.items), len(r.labels))) for v in columns)
    met = np.asarray((weighted.T @ counts).todense()) - np.diag(np.bincount(label, weight, len(r.labels)))
    share = met / np.maximum(met.sum(axis=1, keepdims=True), 1e-300)
    records = []
    for i, j in product(np.flatnonzero(met.sum(axis=1) > 0).tolist(), range(len(r.labels))):
        records.append({"one": r.labels[i], "other": r.labels[j], "share": float(share[i, j])})
    plain = {"type": "nominal", "sort": None}
    at: Spec = {
        "x": {"field": "other", "title": "another annotator", "axis": {"labelAngle": -40}, **plain},
        "y": {"field": "one", "title": "one annotator", **plain},
    }
    dark = {"condition": {"test": "datum.share > 0.5", "value": "white"}, "value": "#1b1f24"}
    colour = number("share", scale={"scheme": "blues", "domain": [0, 1]}, legend=None)
    return [
        layer(records, "rect", {**at, "color": colour, "tooltip": hover(("one",), ("other",), ("share", "", ".1%"))}),
        layer(records, "text", {**at, "text": number("share", format=".0%"), "color": dark}, fontSize=11),
    ]
