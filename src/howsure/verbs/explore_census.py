"""One pass over a corpus before the work: how many documents, which dates, what is wrong, and a hash of each block."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from howsure.corpora.news.dated import DatedText
from howsure.errors import InputError
from howsure.events.storage import part_name
from howsure.verbs.explore_corpus import Corpus

BLOCK = 32  # documents; the unit of work that is kept or done again, whatever the number of workers


@dataclass(slots=True)
class Census:
    """One pass over the corpus before the work: parts, dates, what is wrong."""

    parts: list[str] = field(default_factory=list)
    days: list[date] = field(default_factory=list)
    n: int = 0
    undated: dict[str, int] = field(default_factory=dict)
    future: int = 0
    html: int = 0
    parsed: int = 0


def census(corpus: Corpus) -> Census:
    """Ids, dates and hashes of all documents; an id that comes twice is an error."""
    made, seen, today = Census(), set(), date.today()
    for number, block in enumerate(blocks(corpus)):
        digest = hashlib.blake2b(digest_size=8)
        for t in block:
            if t.id in seen:
                raise InputError(f"two documents have the id {t.id!r}; ids are unique. Name another column with --id.")
            seen.add(t.id)
            digest.update(
                f"{t.id}\0{t.date}\0{t.title}\0{t.undated}\0{t.failure}\0{t.text}\0".encode("utf-8", "replace")
            )
            if t.document is not None and t.document.heads is not None:
                digest.update(t.document.heads.tobytes())
            made.n += 1
            made.html += t.was_html
            made.parsed += t.document is not None
            if t.date is None:
                made.undated[_kind(t.undated)] = made.undated.get(_kind(t.undated), 0) + 1
            else:
                made.days.append(t.date)
                made.future += t.date > today
        made.parts.append(part_name(number, digest.hexdigest()))
    if not made.n:
        raise InputError(f"{corpus.name} holds no documents.")
    return made


def _kind(reason: str) -> str:
    """Reasons that differ only in the value at fault are one kind."""
    if reason.startswith("there is no day"):
        return "impossible date"
    return "not a date" if "is not a date" in reason else reason.split(" (")[0]


def blocks(corpus: Corpus) -> Iterator[list[DatedText]]:
    """The documents in order, 32 at a time."""
    block: list[DatedText] = []
    for t in corpus:
        block.append(t)
        if len(block) == BLOCK:
            yield block
            block = []
    if block:
        yield block
