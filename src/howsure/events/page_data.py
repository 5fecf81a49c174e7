"""Results as plain data for the explorer page: columns that a browser counts from, and one document at a time.

The page gets every document's probability and date, and computes the counts itself for the actors, verbs and period that
a reader chooses. Texts are apart: in the file, one element each; from a server, one at a time.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

from howsure.events.exploration import Exploration
from howsure.events.layer import Band
from howsure.events.ranking import said_between, sentence_at
from howsure.events.reported import band_dict
from howsure.events.storage import read_table
from howsure.events.timeline import PERIODS

EPOCH = date(1970, 1, 1)
MOST_CELLS = 5_000  # pairs of the frame; with more, the event layer has no bands of periods shorter than the run's
SNIPPET = 320  # characters of the sentence behind an event


def overview(found: Exploration, actors: Sequence[str] = ()) -> dict[str, Any]:
    """What the page counts from, without texts: days, documents with events, probabilities, pairs, verbs."""
    layer = found.reported()
    # Those to speak of come first, or the one that the headline names; actors whose events are all undated last.
    first = [c for c in found.shown if c in found.hits] or (list(layer.totals)[:1] if found.hits else [])
    wanted = [found.code(a) for a in actors] or list(dict.fromkeys([*first, *(c for c, _ in found.totals())]))
    wanted += [] if actors else sorted(set(found.hits) - set(wanted))
    number = {code: i for i, code in enumerate(wanted)}
    rows = read_table(found.folder, "events", ["id", "actor", "probability", "best"])
    rows = [r for r in rows if r["actor"] in number]
    here = {r["id"] for r in rows}
    documents: dict[str, list[Any]] = {"row": [], "id": [], "day": [], "title": []}
    days = Counter[int]()
    for row, d in enumerate(read_table(found.folder, "documents", ["id", "date", "title", "failure"])):
        day = None if d["date"] is None else (d["date"] - EPOCH).days
        if day is not None and not d["failure"]:
            days[day] += 1
        if d["id"] in here:
            for column, value in zip(documents.values(), (row, d["id"], day, d["title"] or ""), strict=True):
                column.append(value)
    place = {id: i for i, id in enumerate(documents["id"])}
    event_of = {(r["id"], r["actor"]): i for i, r in enumerate(rows)}
    chains = read_table(found.folder, "chains", ["id", "actor", "probability", "lemma", "best"])
    chains = [c for c in chains if c["actor"] in number]
    lemmas = sorted({c["lemma"] for c in chains})
    pairs = [p for p in read_table(found.folder, "pairs") if p["a"] in number and p["b"] in number]
    probability = dict(zip(zip(layer.ids, layer.codes, strict=True), layer.probability.tolist(), strict=True))
    finest, bands = 0 if len(layer.ids) <= MOST_CELLS else PERIODS.index(found.every), {}
    for every in PERIODS[finest:]:  # without the periods that name the actor in no document
        periods = found.reported(every).periods
        bands[every] = {c: {name: _numbers(b, n) for name, n, b in periods.get(c, ())} for c in wanted}
    return {
        "layer": bands,
        "totals": {code: _numbers(layer.totals[code], 0) for code in wanted if code in layer.totals},
        "actors": [{"code": c, "name": found.name(c)} for c in wanted],
        "against": wanted[1] if len(found.shown) == 2 and wanted[:2] == found.shown else "",
        "lemmas": lemmas,
        "every": found.every,
        "days": sorted([day, n] for day, n in days.items()),
        "documents": documents,
        "events": {
            "document": [place[r["id"]] for r in rows],
            "actor": [number[r["actor"]] for r in rows],
            "p": [r["probability"] for r in rows],
            "best": [r["best"] for r in rows],
            "layer": [probability.get((r["id"], r["actor"])) for r in rows],
        },
        "pairs": {
            "document": [place[p["id"]] for p in pairs],
            "a": [number[p["a"]] for p in pairs],
            "b": [number[p["b"]] for p in pairs],
            "both": [p["both"] for p in pairs],
        },
        "chains": {
            "event": [event_of[c["id"], c["actor"]] for c in chains],
            "lemma": [lemmas.index(c["lemma"]) for c in chains],
            "p": [c["probability"] for c in chains],
            "best": [int(c["best"]) for c in chains],
        },
    }


def _numbers(b: Band, named: int) -> list[float]:
    return [named, *(round(v, 4) for v in band_dict(b).values())]


def document_view(document: dict[str, Any], chains: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One document with its chains; spans are characters of the text, not tokens."""
    starts, ends = document["token_starts"] or [], document["token_ends"] or []

    def span(start: int, end: int) -> list[int]:
        return [starts[start], ends[end - 1]]

    shown = []
    for c in chains:
        row = {k: c[k] for k in ("actor", "lemma", "rule", "why", "best", "uncertain")}
        row |= {"p": c["probability"], "with": c["with_link"], "without": c["without_link"]}
        row |= {"agent": span(c["agent_start"], c["agent_end"]), "verb": span(c["verb"], c["verb"] + 1)}
        row["described"], row["links"] = [], []
        for d in c["described"]:
            where = {"mention": span(d["start"], d["end"]), "word": span(d["word"], d["word"] + 1)}
            row["described"].append(where | {"why": d["why"], "together": d["together"]})
        for k in c["links"]:
            two = {side: span(k[f"{side}_start"], k[f"{side}_end"]) for side in ("later", "earlier")}
            row["links"].append(two | {"p": k["probability"]})
        shown.append(row)
    about = {k: document[k] or "" for k in ("title", "undated", "text")}
    day = None if document["date"] is None else document["date"].isoformat()
    return {"id": document["id"], "date": day, **about, "chains": shown}


def snippet(document: dict[str, Any], chains: Sequence[dict[str, Any]]) -> str:
    """The sentence of the likeliest chain."""
    if not chains or not document["token_starts"]:
        return " ".join((document["text"] or "")[:SNIPPET].split())
    said = said_between(document, *sentence_at(document, max(chains, key=lambda c: c["probability"])["verb"]))
    return said if len(said) <= SNIPPET else said[: SNIPPET - 1] + "…"
