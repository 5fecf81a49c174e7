"""Results as plain data for the explorer page: columns that a browser counts from, and one document at a time.

The page gets every document's probability and date, and computes the counts itself for the actors, verbs and period that
a reader chooses. Texts are apart: in the file, one element each; from a server, one at a time.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any

from howsure.events.exploration import Exploration
from howsure.events.layer import Band
from howsure.events.reported import Reported, band_dict
from howsure.events.storage import read_table
from howsure.events.timeline import PERIODS

EPOCH = date(1970, 1, 1)
MOST_CELLS = (
    5_000  # pairs of the frame; with more, the event layer's bands of periods shorter than the run's are left out
)
SNIPPET = 320  # characters of the sentence behind an event


def overview(found: Exploration, actors: Sequence[str] = ()) -> dict[str, Any]:
    """What the page counts from, without texts: days, documents with events, probabilities, pairs, verbs."""
    layer = found.reported()
    # Those to speak of come first, or the one that the headline names; actors whose events are all undated last.
    first = [c for c in found.shown if c in found.hits] or (list(layer.totals)[:1] if found.hits else [])
    wanted = [found.code(a) for a in actors] or list(dict.fromkeys([*first, *(c for c, _ in found.totals())]))
    wanted += [] if actors else sorted(set(found.hits) - set(wanted))
    number = {code: i for i, code in enumerate(wanted)}
    rows = [
        r for r in read_table(found.folder, "events", ["id", "actor", "probability", "best"]) if r["actor"] in number
    ]
    here = {r["id"] for r in rows}
    documents, days = [], dict[int, int]()
    for row, d in enumerate(read_table(found.folder, "documents", ["id", "date", "title", "failure"])):
        day = None if d["date"] is None else (d["date"] - EPOCH).days
        if day is not None and not d["failure"]:
            days[day] = days.get(day, 0) + 1
        if d["id"] in here:
            documents.append((row, d["id"], day, d["title"] or ""))
    place = {id: i for i, (_, id, _, _) in enumerate(documents)}
    event_of = {(r["id"], r["actor"]): i for i, r in enumerate(rows)}
    chains = read_table(found.folder, "chains", ["id", "actor", "probability", "lemma", "best"])
    chains = [c for c in chains if c["actor"] in number]
    lemmas = sorted({c["lemma"] for c in chains})
    lemma_number = {lemma: i for i, lemma in enumerate(lemmas)}
    pairs = [p for p in read_table(found.folder, "pairs") if p["a"] in number and p["b"] in number]
    probability = dict(zip(zip(layer.ids, layer.codes, strict=True), layer.probability.tolist(), strict=True))
    finest = 0 if len(layer.ids) <= MOST_CELLS else PERIODS.index(found.every)
    return {
        "layer": {every: _bands(found.reported(every), wanted) for every in PERIODS[finest:]},
        "totals": {code: _numbers(layer.totals[code], 0) for code in wanted if code in layer.totals},
        "actors": [{"code": c, "name": found.name(c)} for c in wanted],
        "against": wanted[1] if len(found.shown) == 2 and wanted[:2] == found.shown else "",
        "lemmas": lemmas,
        "every": found.every,
        "days": sorted([day, n] for day, n in days.items()),
        "documents": {
            "row": [d[0] for d in documents],
            "id": [d[1] for d in documents],
            "day": [d[2] for d in documents],
            "title": [d[3] for d in documents],
        },
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
            "lemma": [lemma_number[c["lemma"]] for c in chains],
            "p": [c["probability"] for c in chains],
            "best": [int(c["best"]) for c in chains],
        },
    }


def _bands(layer: Reported, codes: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    """The event layer's numbers by actor and period; periods that name the actor in no document are left out."""
    return {c: {name: _numbers(b, n) for name, n, b in layer.periods.get(c, ())} for c in codes}


def _numbers(b: Band, named: int) -> list[float]:
    return [named, *(round(v, 4) for v in band_dict(b).values())]


def document_view(document: dict[str, Any], chains: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One document with its chains; spans are characters of the text, not tokens."""
    starts, ends = document["token_starts"] or [], document["token_ends"] or []

    def span(start: int, end: int) -> list[int]:
        return [starts[start], ends[end - 1]]

    day = document["date"]
    return {
        "id": document["id"],
        "date": None if day is None else day.isoformat(),
        "title": document["title"] or "",
        "undated": document["undated"] or "",
        "text": document["text"] or "",
        "chains": [
            {
                "actor": c["actor"],
                "p": c["probability"],
                "agent": span(c["agent_start"], c["agent_end"]),
                "verb": span(c["verb"], c["verb"] + 1),
                "lemma": c["lemma"],
                "rule": c["rule"],
                "why": c["why"],
                "best": c["best"],
                "described": [
                    {
                        "mention": span(d["start"], d["end"]),
                        "word": span(d["word"], d["word"] + 1),
                        "why": d["why"],
                        "together": d["together"],
                    }
                    for d in c["described"]
                ],
                "links": [
                    {
                        "later": span(k["later_start"], k["later_end"]),
                        "earlier": span(k["earlier_start"], k["earlier_end"]),
                        "p": k["probability"],
                    }
                    for k in c["links"]
                ],
                "uncertain": c["uncertain"],
                "with": c["with_link"],
                "without": c["without_link"],
            }
            for c in chains
        ],
    }


def snippet(document: dict[str, Any], chains: Sequence[dict[str, Any]]) -> str:
    """The sentence of the likeliest chain."""
    if not chains or not document["token_starts"]:
        return " ".join((document["text"] or "")[:SNIPPET].split())
    verb = max(chains, key=lambda c: c["probability"])["verb"]
    starts = document["sentence_starts"] or [0]
    first = max((s for s in starts if s <= verb), default=0)
    end = min((s for s in starts if s > verb), default=len(document["token_starts"]))
    said = document["text"][document["token_starts"][first] : document["token_ends"][end - 1]]
    said = " ".join(said.split())
    return said if len(said) <= SNIPPET else said[: SNIPPET - 1] + "…"
