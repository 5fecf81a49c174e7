"""The explorer page of `howsure page` and `howsure serve`: counts over time, the documents behind them, their sentences."""

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

from howsure.plots.marks import BLUE, diagonal, hover, layer, number, share
from howsure.plots.timelines import explorer_charts
from howsure.plots.vega import SCHEMA
from howsure.report.page import embedded, render

SCRIPTS = ("explorer_counts.js", "explorer_document.js", "explorer.js")


def explorer_page(
    about: dict[str, Any],
    overview: dict[str, Any],
    *,
    documents: Iterable[tuple[int, dict[str, Any]]] = (),
    snippets: dict[int, dict[str, str]] | None = None,
    served: bool = False,
) -> bytes:
    """One page. `about` is what it says of the results; `documents` are kept in it, by row; a served page asks for them."""
    manifest, labelled = about["manifest"], about["labelled"]
    settings, version = manifest["settings"], manifest.get("version", "?")
    verbs = f"“{settings['verbs'][0]}”" if len(settings["verbs"]) == 1 else f"{len(settings['verbs'])} verbs"
    citation = (
        f"Events of {len(manifest['actors'])} actors as agents of {verbs} in {about['corpus']} ({manifest['n_documents']:,} documents, "
        f"fingerprint {manifest['fingerprint'][:12]}), counted with howsure {version} (rules {settings['rules']}, coreference "
        f"{_name(settings['coref'], 'shipped model')}, {settings['samples']} samples, seed {settings['seed']}); method of Nguyen & O'Connor (EMNLP 2015)."
    )
    data = overview | {"served": served, "snippets": snippets or {}, "citation": citation}
    charts = {"calibration": _calibration(labelled)} if labelled else {}
    shown = about | {"verbs": verbs, "settings": _settings(manifest), "any": bool(overview["actors"])}
    shown |= {"data": embedded(data), "specifications": embedded(explorer_charts())}
    shown |= {"documents": ((row, embedded(d)) for row, d in documents)}
    connect = "'self'" if served else "'none'"
    return render("explorer.html", charts, scripts=SCRIPTS, styles=("explorer.css",), connect=connect, **shown)


def _name(path: str | None, otherwise: str = "shipped") -> str:
    """A file's name without its folders: the page may travel."""
    return PurePath(path).name if path else otherwise


def _settings(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    settings = manifest["settings"]
    said = {
        "howsure": manifest.get("version", "?"),
        "documents": f"{manifest['n_documents']:,} ({manifest['n_undated']:,} undated, {manifest['n_failed']:,} not usable)",
        "dates": f"{manifest['first'] or '–'} to {manifest['last'] or '–'}",
        "corpus fingerprint": manifest["fingerprint"],
        "actors": f"{_name(settings['actors'])} ({len(manifest['actors'])}; lexicon {settings['lexicon']})",
        "verbs": ", ".join(settings["verbs"]),
        "rules": settings["rules"],
        "English pipeline": _name(settings["model"]),
        "coreference": _name(settings["coref"]),
        "samples per document": settings["samples"],
        "seed": settings["seed"],
        "temperature": settings["temperature"],
    }
    return [(name, str(value)) for name, value in said.items()]


def _calibration(labelled: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Share of yes against the mean probability, by range of probability; larger where more documents were read."""
    names = {"q": "mean_q", "y": "share_yes", "n": "labelled"}
    points = [{k: s[v] for k, v in names.items()} | {"actor": m["name"]} for m in labelled for s in m["strata"]]
    at: dict[str, Any] = {"x": share("q", "probability"), "y": share("y", "share of yes")}
    at["size"] = number("n", legend=None, scale={"range": [40, 240]})
    at["tooltip"] = hover(("actor",), ("q",), ("y",), ("n",))
    dots = layer(points, "point", at, filled=True, color=BLUE, opacity=0.9)
    line = diagonal("q", "y", scale={"domain": [0, 1]})
    return {"$schema": SCHEMA, "width": "container", "height": 240, "layer": [line, dots]}
