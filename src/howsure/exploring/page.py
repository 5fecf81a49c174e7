"""The explorer page as one file: counts, and the documents behind each number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from howsure.engines.result_documents import ResultDocuments
from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.events.page_data import document_view, labelled, overview, snippet
from howsure.report.explorer_page import explorer_page

MOST_DOCUMENTS = 20_000  # with events; beyond, one file is too big to open at ease
TOGETHER = 500  # documents read at a time


def whole_page(found: Exploration, actors: Sequence[str] = ()) -> bytes:
    """The page with all its documents."""
    seen = overview(found, actors)
    rows = seen["documents"]["row"]
    if len(rows) > MOST_DOCUMENTS:
        raise InputError(
            f"{len(rows):,} documents have events: more than {MOST_DOCUMENTS:,} do not fit in one page. "
            f"Run `howsure serve {found.folder}` instead, or keep some actors with --actor."
        )
    wanted = {a["code"] for a in seen["actors"]}
    documents: list[tuple[int, dict[str, Any]]] = []
    snippets: dict[int, dict[str, str]] = {}
    for row, document, chains in _read(found, rows):
        mine = [c for c in chains if c["actor"] in wanted]
        documents.append((row, document_view(document, mine)))
        snippets[row] = snippets_of(document, mine)
    return explorer_page(**heading(found), overview=seen, documents=documents, snippets=snippets)


def heading(found: Exploration) -> dict[str, Any]:
    """What the page says about the results."""
    corpus = Path(str(found.manifest.get("corpus") or "the corpus")).name
    return {"manifest": found.manifest, "verdict": found.verdict, "corpus": corpus, "labelled": labelled(found)}


def snippets_of(document: dict[str, Any], chains: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The sentence behind the event of each actor."""
    actors = dict.fromkeys(c["actor"] for c in chains)
    return {a: snippet(document, [c for c in chains if c["actor"] == a]) for a in actors}


def _read(found: Exploration, rows: Sequence[int]) -> Iterator[tuple[int, dict[str, Any], list[dict[str, Any]]]]:
    documents = ResultDocuments(found.folder)
    try:
        for first in range(0, len(rows), TOGETHER):
            some = rows[first : first + TOGETHER]
            read = documents.page(some)
            yield from ((row, *read[row]) for row in some)
    finally:
        documents.close()
