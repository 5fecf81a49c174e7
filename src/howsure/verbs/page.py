"""`howsure page`: results of `howsure explore` as one file that opens in a browser, with no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from howsure.engines.result_documents import ResultDocuments
from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.events.page_data import document_view, labelled, overview, snippet
from howsure.events.storage import SCHEMAS
from howsure.files import check_outputs, write_whole
from howsure.report.explorer_page import explorer_page

MOST_DOCUMENTS = 20_000  # with events; beyond, one file is too big to open at ease
TOGETHER = 500  # documents read at a time


def page(results: str | Path | Exploration, out: str | Path | None = None, *, actors: Sequence[str] = ()) -> bytes:
    """The explorer page: counts with their bands, and the documents behind each number.

    Parameters
    ----------
    results : path or Exploration
        A folder that `howsure explore` has written, or what it gave back.
    out : path or None
        The file to write; it is written whole or not at all.
    actors : sequence of str
        Codes or names; by default all actors with an event.

    Returns
    -------
    bytes
        The page, HTML that holds its data, scripts and styles.

    Examples
    --------
    >>> import howsure
    >>> howsure.page(howsure.explore()).startswith(b"<!doctype html>")
    True
    """
    found = opened(results)
    if out is not None:
        read = [found.folder / f"{table}.parquet" for table in SCHEMAS]
        check_outputs(str(out), inputs=[*read, found.folder / "manifest.json", f"{found.folder}/labels-*.jsonl"])
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
    made = explorer_page(**heading(found), overview=seen, documents=documents, snippets=snippets)
    if out is not None:
        write_whole(str(out), made)
    return made


def opened(results: str | Path | Exploration) -> Exploration:
    """Results by their folder, or as they are."""
    return results if isinstance(results, Exploration) else Exploration.open(results)


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
