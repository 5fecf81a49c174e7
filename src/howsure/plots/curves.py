"""Calibration curves, distributions of probabilities and of PIT values, and what abstaining gains: Vega-Lite, and on Matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from howsure.calibration.estimation.discrimination import HISTOGRAM_BINS
from howsure.errors import MissingExtra
from howsure.plots.marks import BLUE, GREY, ORANGE, Spec, coloured, diagonal, hover, layer, number, points, share
from howsure.plots.vega import interval_height, interval_layers, mark_at, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    import howsure
    from howsure.calibration.multiclass import RiskCoverage

X, Y = share("mean_prob", "predicted probability"), share("mean_true", "observed frequency")
ROWS = "rows (√ scale)"
COUNTS: Spec = {"labelExpr": "format(abs(datum.value), '~s')", "tickCount": 5, "grid": False}
LIMITS = {"y": number("low"), "y2": {"field": "high"}}


def curve_layers(c: howsure.Calibration) -> list[Spec]:
    """Observed frequency against probability: diagonal, consistency band, intervals, bins with details on hover."""
    bins = c.to_dict()["bins"]
    level = f"{100 * c.confidence_level:g}%"
    tooltip = hover(("from_prob", "q from", ".4g"), ("to_prob", "to", ".4g"), ("n", "rows", ","))
    means = {"mean_prob": "mean q", "mean_true": "observed", "low": f"{level} from", "high": f"{level} to"}
    tooltip += hover(*((field, title, ".4f") for field, title in means.items()))
    layers = [diagonal("q", "p")]
    if c.band is not None:
        band = {"x": X, "y": number("band_low"), "y2": {"field": "band_high"}}
        layers.append(layer(bins, "area", band, color=GREY, opacity=0.25))
    if c.curve is not None:
        smooth = c.curve.to_dict()["points"]
        for which, opacity in (("_everywhere", 0.12), ("", 0.2)):
            band = {"x": number("q"), "y": number(f"low{which}"), "y2": {"field": f"high{which}"}}
            layers.append(layer(smooth, "area", band, color=ORANGE, opacity=opacity))
        layers.append(layer(smooth, "line", {"x": number("q"), "y": number("p")}, color=ORANGE, strokeWidth=2))
    return [
        *layers,
        layer(bins, "rule", {"x": X, **LIMITS}, color=BLUE, opacity=0.7),
        layer(bins, "line", {"x": X, "y": Y}, color=BLUE, strokeWidth=1.2),
        points(bins, {"x": X, "y": Y, "tooltip": tooltip}, 55, color=BLUE),
    ]


def histogram_layers(c: howsure.Calibration) -> list[Spec]:
    """How q is distributed: what came true above the line, what did not below it.

    The scale is that of square roots, so that rare probabilities are seen beside common ones.
    """
    step = 1.0 / HISTOGRAM_BINS
    records = [
        {"from": i * step, "to": (i + 1) * step, "rows": rows, "height": sign * rows, "label": label}
        for label, side, sign in (("came true", c.positives, 1), ("did not", c.negatives, -1))
        for i, rows in enumerate(side.histogram.tolist())
        if rows
    ]
    legend = {"orient": "top", "offset": 4}
    encoding = {
        "x": {"field": "from", "bin": {"binned": True}, "title": X["title"], "scale": X["scale"]},
        "x2": {"field": "to"},
        "y": number("height", ROWS, scale={"type": "sqrt"}, stack=None, axis=COUNTS),
        "color": coloured("label", ["came true", "did not"], [BLUE, ORANGE], title=None, legend=legend),
        "tooltip": hover(("label", "label"), ("from", "q from", ".2f"), ("to", "to", ".2f"), ("rows", "rows", ",")),
    }
    return [layer(records, "bar", encoding, binSpacing=1), mark_at(0)]


def risk_layers(r: RiskCoverage) -> list[Spec]:
    """Accuracy among the surest share of the items."""
    encoding = {
        "x": share("coverage", "share of items answered, surest first"),
        "y": share("accuracy", "accuracy"),
        "tooltip": hover(*((f, "", ".4f") for f in ("coverage", "accuracy", "threshold"))),
    }
    return [layer(r.to_dict()["curve"], "line", encoding, color=BLUE, point={"size": 18, "color": BLUE})]


def abstention_layers(a: howsure.Abstention) -> list[Spec]:
    """The share of wrong answers by that of answers given, the risk allowed, and the threshold chosen."""
    shown = [{**point, "wrong": 1.0 - point["accuracy"]} for point in a.risk_coverage.curve]
    at = {"x": share("coverage", "share of answers given, surest first"), "y": number("wrong", "share of them wrong")}
    tooltip = hover(*((f, "", ".4f") for f in ("coverage", "wrong", "threshold")))
    layers = [
        layer(shown, "line", {**at, "tooltip": tooltip}, color=BLUE, point={"size": 18, "color": BLUE}),
        layer([{"wrong": a.risk}], "rule", {"y": at["y"]}, color=GREY, strokeDash=[4, 3]),
    ]
    chosen = [{"coverage": c.share, "name": c.name} for c in a.certificates if c.threshold is not None]
    if a.by is None and chosen:
        layers.append(layer(chosen, "rule", {"x": at["x"]}, color=GREY))
    return layers


def source_layers(s: howsure.SourceCalibrations) -> list[Spec]:
    """The curves of all sources of confidence."""
    return overlaid_layers(dict(s.sources))


def overlaid_layers(curves: dict[str, howsure.Calibration]) -> list[Spec]:
    """Several models' curves in one picture, distinguished by colour and shape."""
    records = [{**b, "model": name} for name, c in curves.items() for b in c.bins.to_dict()]
    legend = {"orient": "top", "symbolLimit": 50, "symbolOpacity": 1}
    colour = coloured("model", list(curves), title=None, legend=legend)
    numbers = (("mean_prob", "mean q"), ("mean_true", "observed"), ("low", "from"), ("high", "to"))
    at = {"x": X, "y": Y, "color": colour}
    shape = {**colour, "scale": {"domain": list(curves)}}
    tooltip = hover(("model",), *((f, t, ".4f") for f, t in numbers))
    return [
        diagonal("q", "p"),
        layer(records, "area", {"x": X, **LIMITS, "color": colour}, opacity=0.14),
        layer(records, "line", at, strokeWidth=1.6),
        points(records, {**at, "shape": shape, "tooltip": tooltip}, 45),
    ]


def distribution_layers(curves: dict[str, howsure.Calibration]) -> list[Spec]:
    """How many rows each model gives which probability."""
    records = []
    for name, c in curves.items():
        rows = (c.positives.histogram + c.negatives.histogram).tolist()
        steps = enumerate([*rows, rows[-1]])
        records += [{"model": name, "from": i / HISTOGRAM_BINS, "rows": n} for i, n in steps]
    encoding = {
        "x": share("from", X["title"]),
        "y": number("rows", ROWS, scale={"type": "sqrt"}, axis=COUNTS),
        "color": coloured("model", list(curves), title=None, legend=None),
        "tooltip": hover(("model",), ("from", "q from", ".2f"), ("rows", "rows", ",")),
    }
    return [layer(records, "line", encoding, interpolate="step-after", strokeWidth=1.6)]


LOSSES = {"error_squared": "squared calibration error", "brier": "Brier score", "log_loss": "log loss"}


def difference_charts(c: howsure.Comparison) -> dict[str, list[Spec]]:
    """Of each loss, by how much the first model of each pair is better, with its interval; none that is infinite."""
    made = {}
    for field, name in LOSSES.items():
        found = {f"{p.a} against {p.b}": getattr(p, field) for p in c.pairs}
        known = {n: d for n, d in found.items() if d is not None and d.low is not None}
        records = [{"name": n, **d.estimate.to_dict()} for n, d in known.items()]
        title = f"difference of {name}, {100 * c.confidence_level:g}% interval"
        if records:
            made[field] = interval_layers(records, title, zero=True)
    return made


def comparison_figure(c: howsure.Comparison) -> Spec:
    """Several models' curves, their distributions and differences, of fixed size: for files."""
    curves = c.by_model
    parts = [(400, overlaid_layers(curves)), (80, distribution_layers(curves))]
    parts += [(interval_height(c.pairs), layers) for layers in difference_charts(c).values()]
    drawn = [{"width": 400, "height": height, "layer": layers} for height, layers in parts]
    return picture("Differences: positive favours the first" if c.pairs else None, vconcat=drawn)


def figure(c: howsure.Calibration) -> Spec:
    """Curve above histogram, of fixed size: for files."""
    error = "" if c.error is None else f"RMS calibration error {c.error!r}, n = {c.n:,}"
    parts = [
        {"width": 380, "height": 380, "layer": curve_layers(c)},
        {"width": 380, "height": 90, "layer": histogram_layers(c)},
    ]
    return picture(error, resolve={"legend": {"color": "independent"}}, vconcat=parts)


def paper_layers(c: howsure.PaperCalibration) -> list[Spec]:
    """The points of Algorithm 1 with p̂ ± 1.96 se and the diagonal, as in the paper's figures."""
    scale = {"domain": [0, 1], "clamp": True}
    x = number("mean_prob", "prediction strength", scale=scale)
    y = number("mean_true", "empirical frequency", scale=scale)
    bins = c.bins.to_dict()
    titles = {"n": "rows", "mean_prob": "q̂", "mean_true": "p̂", "low": "p̂ - 1.96 se", "high": "p̂ + 1.96 se"}
    tooltip = hover(*((f, t, "," if f == "n" else ".4f") for f, t in titles.items()))
    limits = {"x": x, "y": number("low", scale=scale), "y2": {"field": "high"}}
    return [
        diagonal("q", "p"),
        layer(bins, "rule", limits, color=BLUE),
        layer(bins, "line", {"x": x, "y": y}, color=BLUE, strokeWidth=1),
        points(bins, {"x": x, "y": y, "tooltip": tooltip}, 40, color=BLUE),
    ]


def paper_figure(c: howsure.PaperCalibration) -> Spec:
    """The curve as in the paper's figures, of fixed size: for files."""
    i = c.to_the_letter.interval
    said = f"CalibErr {c.to_the_letter.calib_err:.4f} [{i.low:.4f}, {i.high:.4f}], β = {c.bin_size:,}, N = {c.n:,}"
    return picture(said, width=380, height=380, layer=paper_layers(c))


PIT = "PIT: where y falls in its forecast"


def pit_histogram_layers(c: howsure.ContinuousCalibration) -> list[Spec]:
    """Bars of density 1 where calibrated, over the range a calibrated forecast's bars stay in."""
    records = [r | {"off": not r["low"] <= r["density"] <= r["high"]} for r in c.histogram.to_dict()]
    across = {"x": share("from_pit", PIT, bin={"binned": True}), "x2": {"field": "to_pit"}}
    tooltip = hover(("from_pit", "PIT from", ".4g"), ("to_pit", "to", ".4g"), ("n", "rows", ","))
    densities = {"density": "density", "low": "calibrated from", "high": "to"}
    tooltip += hover(*((field, title, ".3f") for field, title in densities.items()))
    scale = {"domain": [False, True], "range": [BLUE, ORANGE]}
    off = {"field": "off", "type": "nominal", "scale": scale, "legend": None}
    bars = {**across, "y": number("density", "density", stack=None), "color": off, "tooltip": tooltip}
    return [
        layer(records, "bar", bars, binSpacing=1, opacity=0.75),
        layer(records, "rect", {**across, **LIMITS}, color=GREY, opacity=0.3),
        mark_at(1),
    ]


def ecdf_difference_layers(c: howsure.ContinuousCalibration) -> list[Spec]:
    """The share of PIT values below each point less the point; outside the grey band somewhere: not calibrated."""
    ends = [{"pit": end, "difference": 0.0, "low": 0.0, "high": 0.0} for end in (0.0, 1.0)]
    records = [ends[0], *c.ecdf.to_dict(), ends[1]]
    title = "share below, less PIT"
    at = {"x": share("pit", PIT), "y": number("difference", title)}
    differences = {"difference": "share below - PIT", "low": "band from", "high": "to"}
    tooltip = hover(("pit", "PIT", ".4g"), *((field, title, "+.4f") for field, title in differences.items()))
    return [
        layer(records, "area", {**at, "y": number("low", title), "y2": {"field": "high"}}, color=GREY, opacity=0.25),
        mark_at(0),
        layer(records, "line", at, color=BLUE, strokeWidth=1.6),
        points(records, {**at, "tooltip": tooltip}, 40, color=BLUE, opacity=0),
    ]


def pit_figure(c: howsure.ContinuousCalibration) -> Spec:
    """Histogram above ECDF difference, of fixed size: for files."""
    parts = [
        {"width": 420, "height": 180, "layer": pit_histogram_layers(c)},
        {"width": 420, "height": 200, "layer": ecdf_difference_layers(c)},
    ]
    return picture(f"spread {c.spread!r}, shift {c.shift!r}, n = {c.n:,}", vconcat=parts)


def axes_of(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or new ones of this size in inches."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("drawing needs Matplotlib: pip install 'howsure[plot]'.") from None
    return pyplot.subplots(figsize=size)[1]


def draw_curve(c: howsure.Calibration, ax: Axes | None = None) -> Axes:
    """Observed frequency against probability, with intervals and the consistency band. Never calls `show`."""
    ax = axes_of(ax, (5, 5))
    b = c.bins
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=1)
    if c.band is not None:
        ax.fill_between(b.mean_prob, *c.band, color="0.85", linewidth=0, zorder=0, label="if calibrated")
    look: Spec = {"fmt": "o-", "markersize": 4, "linewidth": 1, "elinewidth": 1, "color": "#0072B2"}
    label = f"observed ({100 * c.confidence_level:g}% intervals)"
    ax.errorbar(b.mean_prob, b.mean_true, yerr=[b.mean_true - b.low, b.high - b.mean_true], label=label, **look)
    if c.curve is not None:
        ax.plot(c.curve.q, c.curve.p, color="#e0701a", linewidth=1.5, label=c.curve.kind)
        ax.fill_between(c.curve.q, c.curve.low, c.curve.high, color="#e0701a", alpha=0.2, linewidth=0)
        wide = c.curve.low_everywhere, c.curve.high_everywhere
        ax.fill_between(c.curve.q, *wide, color="#e0701a", alpha=0.1, linewidth=0)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="predicted probability", ylabel="observed frequency", aspect="equal")
    if c.error is not None:
        ax.set_title(f"RMS calibration error {c.error!r}", fontsize="medium")
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax


def draw_pit(c: howsure.ContinuousCalibration, ax: Axes | None = None) -> Axes:
    """Share of PIT values below each point less the point, with the simultaneous band. Never calls `show`."""
    ax = axes_of(ax, (6, 4))
    e = c.ecdf
    points = np.concatenate([[0.0], e.points, [1.0]])
    difference, low, high = (np.concatenate([[0.0], side, [0.0]]) for side in (e.difference, e.low, e.high))
    ax.axhline(0.0, color="0.6", linewidth=1, zorder=1)
    label = f"if calibrated ({c.confidence_level:.0%}, all points together)"
    ax.fill_between(points, low, high, color="0.85", linewidth=0, zorder=0, label=label)
    ax.plot(points, difference, color="#0072B2", linewidth=1.2, label="observed")
    ax.set(xlim=(0, 1), xlabel="PIT: where y falls in its forecast", ylabel="share below, less PIT")
    ax.set_title(f"spread {c.spread!r}, shift {c.shift!r}", fontsize="medium")
    ax.legend(loc="best", frameon=False, fontsize="small")
    return ax
