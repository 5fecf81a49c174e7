"""Calibration curves, distributions of probabilities and of PIT values, and what abstaining gains, as Vega-Lite specifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from howsure.calibration.estimation.discrimination import HISTOGRAM_BINS
from howsure.plots.vega import BLUE, GREY, ORANGE, PALETTE, SCHEMA, diagonal

if TYPE_CHECKING:
    from howsure.calibration.comparing.result import Comparison
    from howsure.calibration.forecasts.result import ContinuousCalibration
    from howsure.calibration.multiclass import RiskCoverage
    from howsure.calibration.paper import PaperCalibration
    from howsure.calibration.result import Calibration


def curve_layers(c: Calibration) -> list[dict[str, Any]]:
    """Observed frequency against probability: diagonal, consistency band, intervals, bins with details on hover."""
    records = c.to_dict()["bins"]
    level = f"{100 * c.confidence_level:g}%"
    x = {
        "field": "mean_prob",
        "type": "quantitative",
        "title": "predicted probability",
        "scale": {"domain": [0, 1]},
    }
    y = {
        "field": "mean_true",
        "type": "quantitative",
        "title": "observed frequency",
        "scale": {"domain": [0, 1]},
    }
    data = {"values": records}
    tooltip = [
        {"field": "from_prob", "title": "q from", "format": ".4g"},
        {"field": "to_prob", "title": "to", "format": ".4g"},
        {"field": "n", "title": "rows", "format": ","},
        {"field": "mean_prob", "title": "mean q", "format": ".4f"},
        {"field": "mean_true", "title": "observed", "format": ".4f"},
        {"field": "low", "title": f"{level} from", "format": ".4f"},
        {"field": "high", "title": f"{level} to", "format": ".4f"},
    ]
    layers: list[dict[str, Any]] = [diagonal("q", "p")]
    if c.band is not None:
        layers.append(
            {
                "data": data,
                "mark": {"type": "area", "color": GREY, "opacity": 0.25},
                "encoding": {
                    "x": x,
                    "y": {"field": "band_low", "type": "quantitative"},
                    "y2": {"field": "band_high"},
                },
            }
        )
    if c.curve is not None:
        smooth = {"values": c.curve.to_dict()["points"]}
        at = {"field": "q", "type": "quantitative"}
        for which, opacity in (("_everywhere", 0.12), ("", 0.2)):
            band = {"x": at, "y": {"field": f"low{which}", "type": "quantitative"}, "y2": {"field": f"high{which}"}}
            layers.append(
                {"data": smooth, "mark": {"type": "area", "color": ORANGE, "opacity": opacity}, "encoding": band}
            )
        layers += [
            {
                "data": smooth,
                "mark": {"type": "line", "color": ORANGE, "strokeWidth": 2},
                "encoding": {"x": at, "y": {"field": "p", "type": "quantitative"}},
            },
        ]
    return [
        *layers,
        {
            "data": data,
            "mark": {"type": "rule", "color": BLUE, "opacity": 0.7},
            "encoding": {"x": x, "y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}},
        },
        {
            "data": data,
            "mark": {"type": "line", "color": BLUE, "strokeWidth": 1.2},
            "encoding": {"x": x, "y": y},
        },
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 55, "color": BLUE, "opacity": 1},
            "encoding": {"x": x, "y": y, "tooltip": tooltip},
        },
    ]


def histogram_layers(c: Calibration) -> list[dict[str, Any]]:
    """How q is distributed, by label; square-root scale, so that rare probabilities are seen beside common ones."""
    step = 1.0 / HISTOGRAM_BINS
    records = [
        {"from": i * step, "to": (i + 1) * step, "rows": rows, "label": label}
        for label, side in (("came true", c.positives), ("did not", c.negatives))
        for i, rows in enumerate(side.histogram.tolist())
        if rows
    ]
    return [
        {
            "data": {"values": records},
            "mark": {"type": "bar", "binSpacing": 1, "opacity": 0.55},
            "encoding": {
                "x": {
                    "field": "from",
                    "bin": {"binned": True},
                    "title": "predicted probability",
                    "scale": {"domain": [0, 1]},
                },
                "x2": {"field": "to"},
                "y": {
                    "field": "rows",
                    "type": "quantitative",
                    "title": "rows",
                    "scale": {"type": "sqrt"},
                    "stack": None,
                },
                "color": {
                    "field": "label",
                    "title": None,
                    "scale": {"domain": ["came true", "did not"], "range": [BLUE, ORANGE]},
                    "legend": {"orient": "top", "offset": 4},
                },
                "tooltip": [
                    {"field": "label", "title": "label"},
                    {"field": "from", "title": "q from", "format": ".2f"},
                    {"field": "to", "title": "to", "format": ".2f"},
                    {"field": "rows", "title": "rows", "format": ","},
                ],
            },
        }
    ]


def risk_layers(r: RiskCoverage) -> list[dict[str, Any]]:
    """Accuracy among the surest share of the items."""
    x = {
        "field": "coverage",
        "type": "quantitative",
        "title": "share of items answered, surest first",
        "scale": {"domain": [0, 1]},
    }
    y = {"field": "accuracy", "type": "quantitative", "title": "accuracy", "scale": {"domain": [0, 1]}}
    tooltip = [{"field": f, "format": ".4f"} for f in ("coverage", "accuracy", "threshold")]
    mark = {"type": "line", "color": BLUE, "point": {"size": 18, "color": BLUE}}
    return [{"data": {"values": r.to_dict()["curve"]}, "mark": mark, "encoding": {"x": x, "y": y, "tooltip": tooltip}}]


def overlaid_layers(curves: dict[str, Calibration]) -> list[dict[str, Any]]:
    """Several models' curves in one picture, told apart by colour and shape."""
    records = [{**b, "model": name} for name, c in curves.items() for b in c.bins.to_dict()]
    x = {"field": "mean_prob", "type": "quantitative", "title": "predicted probability", "scale": {"domain": [0, 1]}}
    y = {"field": "mean_true", "type": "quantitative", "title": "observed frequency", "scale": {"domain": [0, 1]}}
    names = list(curves)
    colour = {
        "field": "model",
        "title": None,
        "scale": {"domain": names, "range": [PALETTE[i % len(PALETTE)] for i in range(len(names))]},
        "legend": {"orient": "top", "symbolLimit": 50},
    }
    tooltip = [{"field": "model"}] + [
        {"field": f, "title": t, "format": ".4f"}
        for f, t in (("mean_prob", "mean q"), ("mean_true", "observed"), ("low", "from"), ("high", "to"))
    ]
    data = {"values": records}
    return [
        diagonal("q", "p"),
        {
            "data": data,
            "mark": {"type": "rule", "opacity": 0.5},
            "encoding": {
                "x": x,
                "y": {"field": "low", "type": "quantitative"},
                "y2": {"field": "high"},
                "color": colour,
            },
        },
        {"data": data, "mark": {"type": "line", "strokeWidth": 1.3}, "encoding": {"x": x, "y": y, "color": colour}},
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
            "encoding": {
                "x": x,
                "y": y,
                "color": colour,
                "shape": {**colour, "scale": {"domain": names}},
                "tooltip": tooltip,
            },
        },
    ]


def comparison_figure(c: Comparison) -> dict[str, Any]:
    """Several models' curves, of fixed size: for files."""
    return {"$schema": SCHEMA, "background": "white", "width": 400, "height": 400, "layer": overlaid_layers(c.by_model)}


def figure(c: Calibration) -> dict[str, Any]:
    """Curve above histogram, of fixed size: for files."""
    error = "" if c.error is None else f"RMS calibration error {c.error!r}, n = {c.n:,}"
    return {
        "$schema": SCHEMA,
        "background": "white",
        "title": {"text": error, "fontSize": 12, "fontWeight": "normal", "anchor": "start"},
        "resolve": {"legend": {"color": "independent"}},
        "vconcat": [
            {"width": 380, "height": 380, "layer": curve_layers(c)},
            {"width": 380, "height": 70, "layer": histogram_layers(c)},
        ],
    }


def paper_layers(c: PaperCalibration) -> list[dict[str, Any]]:
    """The points of Algorithm 1 with p̂ ± 1.96 se and the diagonal, as in the paper's figures."""
    axis = {"type": "quantitative", "scale": {"domain": [0, 1], "clamp": True}}
    x = {"field": "mean_prob", "title": "prediction strength", **axis}
    y = {"field": "mean_true", "title": "empirical frequency", **axis}
    data = {"values": c.bins.to_dict()}
    titles = {"n": "rows", "mean_prob": "q̂", "mean_true": "p̂", "low": "p̂ - 1.96 se", "high": "p̂ + 1.96 se"}
    tooltip = [{"field": f, "title": t, "format": "," if f == "n" else ".4f"} for f, t in titles.items()]
    bars = {"x": x, "y": {"field": "low", **axis}, "y2": {"field": "high"}}
    point = {"type": "point", "filled": True, "size": 40, "color": BLUE, "opacity": 1}
    return [
        diagonal("q", "p"),
        {"data": data, "mark": {"type": "rule", "color": BLUE}, "encoding": bars},
        {"data": data, "mark": {"type": "line", "color": BLUE, "strokeWidth": 1}, "encoding": {"x": x, "y": y}},
        {"data": data, "mark": point, "encoding": {"x": x, "y": y, "tooltip": tooltip}},
    ]


def paper_figure(c: PaperCalibration) -> dict[str, Any]:
    """The curve as in the paper's figures, of fixed size: for files."""
    i = c.to_the_letter.interval
    said = f"CalibErr {c.to_the_letter.calib_err:.4f} [{i.low:.4f}, {i.high:.4f}], β = {c.bin_size:,}, N = {c.n:,}"
    return {
        "$schema": SCHEMA,
        "background": "white",
        "title": {"text": said, "fontSize": 12, "fontWeight": "normal", "anchor": "start"},
        "width": 380,
        "height": 380,
        "layer": paper_layers(c),
    }


_X = {"type": "quantitative", "title": "PIT: where y falls in its forecast", "scale": {"domain": [0, 1]}}
_AT_ONE = {"mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]}, "encoding": {"y": {"datum": 1}}}


def pit_histogram_layers(c: ContinuousCalibration) -> list[dict[str, Any]]:
    """Bars of density 1 where calibrated, over the range a calibrated forecast's bars stay in."""
    records = [r | {"off": not r["low"] <= r["density"] <= r["high"]} for r in c.histogram.to_dict()]
    data = {"values": records}
    across = {"x": {"field": "from_pit", "bin": {"binned": True}, **_X}, "x2": {"field": "to_pit"}}
    return [
        {
            "data": data,
            "mark": {"type": "bar", "binSpacing": 1, "opacity": 0.75},
            "encoding": {
                **across,
                "y": {"field": "density", "type": "quantitative", "title": "density", "stack": None},
                "color": {
                    "field": "off",
                    "type": "nominal",
                    "scale": {"domain": [False, True], "range": [BLUE, ORANGE]},
                    "legend": None,
                },
                "tooltip": [
                    {"field": "from_pit", "title": "PIT from", "format": ".4g"},
                    {"field": "to_pit", "title": "to", "format": ".4g"},
                    {"field": "n", "title": "rows", "format": ","},
                    {"field": "density", "title": "density", "format": ".3f"},
                    {"field": "low", "title": "calibrated from", "format": ".3f"},
                    {"field": "high", "title": "to", "format": ".3f"},
                ],
            },
        },
        {
            "data": data,
            "mark": {"type": "rect", "color": GREY, "opacity": 0.3},
            "encoding": {**across, "y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}},
        },
        {"data": {"values": [{}]}, **_AT_ONE},
    ]


def ecdf_difference_layers(c: ContinuousCalibration) -> list[dict[str, Any]]:
    """The share of PIT values below each point less the point; outside the grey band somewhere: not calibrated."""
    ends = [{"pit": end, "difference": 0.0, "low": 0.0, "high": 0.0} for end in (0.0, 1.0)]
    data = {"values": [ends[0], *c.ecdf.to_dict(), ends[1]]}
    x = {"field": "pit", **_X}
    title = "share below, less PIT"
    return [
        {
            "data": data,
            "mark": {"type": "area", "color": GREY, "opacity": 0.25},
            "encoding": {
                "x": x,
                "y": {"field": "low", "type": "quantitative", "title": title},
                "y2": {"field": "high"},
            },
        },
        {
            "data": {"values": [{}]},
            "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]},
            "encoding": {"y": {"datum": 0}},
        },
        {
            "data": data,
            "mark": {"type": "line", "color": BLUE, "strokeWidth": 1.6},
            "encoding": {"x": x, "y": {"field": "difference", "type": "quantitative", "title": title}},
        },
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 40, "color": BLUE, "opacity": 0},
            "encoding": {
                "x": x,
                "y": {"field": "difference", "type": "quantitative", "title": title},
                "tooltip": [
                    {"field": "pit", "title": "PIT", "format": ".4g"},
                    {"field": "difference", "title": "share below - PIT", "format": "+.4f"},
                    {"field": "low", "title": "band from", "format": "+.4f"},
                    {"field": "high", "title": "to", "format": "+.4f"},
                ],
            },
        },
    ]


def pit_figure(c: ContinuousCalibration) -> dict[str, Any]:
    """Histogram above ECDF difference, of fixed size: for files."""
    return {
        "$schema": SCHEMA,
        "background": "white",
        "title": {
            "text": f"spread {c.spread!r}, shift {c.shift!r}, n = {c.n:,}",
            "fontSize": 12,
            "fontWeight": "normal",
            "anchor": "start",
        },
        "vconcat": [
            {"width": 420, "height": 180, "layer": pit_histogram_layers(c)},
            {"width": 420, "height": 200, "layer": ecdf_difference_layers(c)},
        ],
    }
