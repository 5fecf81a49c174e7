"""Documents by probability or by uncertainty, with the sentences and the links that the answer hangs on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from howsure._result import Record, Result, drawn_by, shown_as
from howsure.events.exploration import Exploration
from howsure.events.storage import read_table


@dataclass(frozen=True, slots=True)
class RankedChain(Record):
    """A chain of a document in words: its probability, why it counts, the sentences, the links."""

    probability: float
    why: str
    sentence: str
    described: tuple[str, ...]
    links: tuple[str, ...]
    hangs_on: str


@dataclass(frozen=True, slots=True)
class RankedDocument(Record):
    """A document with its event's probability, the one-best answer and its chains."""

    id: str
    date: date | None
    title: str
    actor: str
    probability: float
    best: int
    chains: tuple[RankedChain, ...]

    __repr__ = shown_as("{id!r}, {actor}, probability {probability:.2f}")


@dataclass(frozen=True, slots=True)
class Ranking(Result):
    """Documents with events in order. Made by `howsure top`."""

    SHOWN = "documents"

    documents: tuple[RankedDocument, ...]
    names: dict[str, str]  # of the actors

    @property
    def verdict(self) -> str:
        """How many there are."""
        return f"{len(self.documents)} documents." if self.documents else "No document has an event of an actor."

    def table(self) -> list[dict[str, Any]]:
        """One row a document."""
        return [{k: v for k, v in d.to_dict().items() if k != "chains"} for d in self.documents]

    to_text = drawn_by("howsure.report.text.exploration.ranking_text")


def ranked_documents(
    found: Exploration, actor: str | None = None, *, uncertain: bool = False, limit: int = 10
) -> list[RankedDocument]:
    """Documents with events, the most probable first, or the nearest to one half."""
    wanted = None if actor is None else found.code(actor)
    rows = [r for r in read_table(found.folder, "events") if wanted is None or r["actor"] == wanted]

    def order(row: dict[str, Any]) -> tuple[float, str, str]:
        p = row["probability"]
        return (abs(p - 0.5) if uncertain else -p), row["id"], row["actor"]

    rows = sorted(rows, key=order)[:limit]
    keys = {(r["id"], r["actor"]) for r in rows}
    names = {r["id"] for r in rows}
    documents = {d["id"]: d for d in read_table(found.folder, "documents") if d["id"] in names}
    chains: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for c in read_table(found.folder, "chains"):
        if (c["id"], c["actor"]) in keys:
            chains.setdefault((c["id"], c["actor"]), []).append(c)
    made = []
    for r in rows:
        document = documents[r["id"]]
        own = tuple(_chain(document, c) for c in chains.get((r["id"], r["actor"]), []))
        title = document["title"] or ""
        made.append(RankedDocument(r["id"], r["date"], title, r["actor"], r["probability"], r["best"], own))
    return made


def _chain(document: dict[str, Any], chain: dict[str, Any]) -> RankedChain:
    def span(start: int, end: int) -> str:
        return " ".join(document["text"][document["token_starts"][start] : document["token_ends"][end - 1]].split())

    described = [
        f'"{span(d["start"], d["end"])}" ({_how(d["why"], span(d["word"], d["word"] + 1))}, together {d["together"]:.2f})'
        for d in chain["described"]
    ]
    links = [
        f'"{span(k["later_start"], k["later_end"])}" → "{span(k["earlier_start"], k["earlier_end"])}" {k["probability"]:.2f}'
        for k in chain["links"]
    ]
    hangs_on = ""
    if chain["uncertain"] is not None:
        with_, without = chain["with_link"], chain["without_link"]
        hangs_on = f"{links[chain['uncertain']]}: with it {with_:.2f}, without {without:.2f}"
    starts = document["sentence_starts"]
    first = max(s for s in starts if s <= chain["verb"])
    end = min([s for s in starts if s > chain["verb"]], default=len(document["token_starts"]))
    return RankedChain(chain["probability"], chain["why"], span(first, end), tuple(described), tuple(links), hangs_on)


def _how(why: str, word: str) -> str:
    return "its head" if why == "head" else f'{why} "{word}"'
