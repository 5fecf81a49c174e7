"""Charts as Vega-Lite specifications, in plain data: one definition for the page, SVG, PNG and PDF."""

from __future__ import annotations

import re
from math import isfinite
from pathlib import Path
from typing import Any

from howsure.calibration.comparing.result import Comparison
from howsure.calibration.estimation.discrimination import HISTOGRAM_BINS
from howsure.calibration.multiclass import RiskCoverage
from howsure.calibration.result import Calibration
from howsure.errors import InputError

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
BLUE, ORANGE, GREY = "#1f83c4", "#e0701a", "#8a8a8a"  # after Okabe & Ito: told apart by colour-blind readers
STATIC_FORMATS = (".svg", ".png", ".pdf")


def titled(title: str, *, size: int = 14, offset: int = 12) -> dict[str, Any]:
    """How a picture of several panels begins. Without ARIA: a label for every point would be most of the file."""
    return {
        "$schema": SCHEMA,
        "background": "white",
        "padding": 8,
        "description": title,
        "title": {"text": title, "fontSize": size, "anchor": "start", "offset": offset},
        "config": {"aria": False},
    }


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
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": [{"q": 0, "p": 0}, {"q": 1, "p": 1}]},
            "mark": {"type": "line", "color": GREY, "strokeDash": [4, 3], "strokeWidth": 1},
            "encoding": {
                "x": {"field": "q", "type": "quantitative"},
                "y": {"field": "p", "type": "quantitative"},
            },
        }
    ]
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


PALETTE = ["#1f83c4", "#e0701a", "#009e73", "#cc79a7", "#b5a000", "#56b4e9", "#7a7a7a"]


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
        {
            "data": {"values": [{"q": 0, "p": 0}, {"q": 1, "p": 1}]},
            "mark": {"type": "line", "color": GREY, "strokeDash": [4, 3], "strokeWidth": 1},
            "encoding": {"x": {"field": "q", "type": "quantitative"}, "y": {"field": "p", "type": "quantitative"}},
        },
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


def chart(layers: list[dict[str, Any]], height: int, described: str) -> dict[str, Any]:
    """A chart as wide as the page it stands in."""
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": height,
        "description": described,
        "layer": layers,
    }


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


def check_plot_name(path: str) -> None:
    """A plot's name must end in a format we draw."""
    if Path(path).suffix.lower() not in STATIC_FORMATS:
        raise InputError(f"--plot must name a file ending in {', '.join(STATIC_FORMATS)}; got {path!r}.")
