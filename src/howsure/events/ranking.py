"""Documents by probability or by uncertainty, with the sentences and the links that the answer hangs on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import partial
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
    away = [abs(r["probability"] - 0.5) if uncertain else -r["probability"] for r in rows]
    order = sorted(range(len(rows)), key=lambda i: (away[i], rows[i]["id"], rows[i]["actor"]))
    rows = [rows[i] for i in order[:limit]]
    chains: dict[tuple[str, str], list[dict[str, Any]]] = {(r["id"], r["actor"]): [] for r in rows}
    for c in read_table(found.folder, "chains"):
        chains.get((c["id"], c["actor"]), []).append(c)
    documents = {d["id"]: d for d in read_table(found.folder, "documents") if d["id"] in {i for i, _ in chains}}
    made = []
    for r in rows:
        document = documents[r["id"]]
        own = tuple(_chain(document, c) for c in chains[r["id"], r["actor"]])
        title = document["title"] or ""
        made.append(RankedDocument(r["id"], r["date"], title, r["actor"], r["probability"], r["best"], own))
    return made


def _chain(document: dict[str, Any], chain: dict[str, Any]) -> RankedChain:
    span, described = partial(said_between, document), []
    for d in chain["described"]:
        how = "its head" if d["why"] == "head" else f'{d["why"]} "{span(d["word"], d["word"] + 1)}"'
        described.append(f'"{span(d["start"], d["end"])}" ({how}, together {d["together"]:.2f})')
    links = [
        f'"{span(k["later_start"], k["later_end"])}" → "{span(k["earlier_start"], k["earlier_end"])}" {k["probability"]:.2f}'
        for k in chain["links"]
    ]
    hangs_on = ""
    if chain["uncertain"] is not None:
        with_, without = chain["with_link"], chain["without_link"]
        hangs_on = f"{links[chain['uncertain']]}: with it {with_:.2f}, without {without:.2f}"
    sentence = span(*sentence_at(document, chain["verb"]))
    return RankedChain(chain["probability"], chain["why"], sentence, tuple(described), tuple(links), hangs_on)


def said_between(document: dict[str, Any], start: int, end: int) -> str:
    """The text of some tokens of a document, a blank for each white space."""
    return " ".join(document["text"][document["token_starts"][start] : document["token_ends"][end - 1]].split())


def sentence_at(document: dict[str, Any], token: int) -> tuple[int, int]:
    """The first token of a token's sentence, and the one after the last."""
    starts = document["sentence_starts"] or [0]
    after = (s for s in starts if s > token)
    return max((s for s in starts if s <= token), default=0), min(after, default=len(document["token_starts"]))
