"""The explorer page, as one file with all its documents or from a small server on this machine."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from howsure.engines.result_documents import ResultDocuments
from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.events.page_data import document_view, overview, snippet
from howsure.events.reported import band_dict
from howsure.exploring.labelling import labelled_actors
from howsure.exploring.loopback import LoopbackHandler, LoopbackServer, Refused, as_json
from howsure.report.explorer_page import explorer_page

MOST_DOCUMENTS = 20_000  # with events; beyond, one file is too big to open at ease
MOST_ACTORS = 20  # in the table of what documents report
TOGETHER = 500  # documents read at a time


def whole_page(found: Exploration, actors: Sequence[str] = ()) -> bytes:
    """The page with all its documents; of these actors alone, if any are named."""
    found = found.showing(actors)
    seen = overview(found, actors)
    rows = seen["documents"]["row"]
    if len(rows) > MOST_DOCUMENTS:
        raise InputError(
            f"{len(rows):,} documents have events: more than {MOST_DOCUMENTS:,} do not fit in one page. "
            f"Serve it with `howsure.serve` instead, or keep some actors with `actors=`."
        )
    wanted = {a["code"] for a in seen["actors"]}
    documents: list[tuple[int, dict[str, Any]]] = []
    snippets: dict[int, dict[str, str]] = {}
    for row, document, chains in _documents(found, rows):
        mine = [c for c in chains if c["actor"] in wanted]
        documents.append((row, document_view(document, mine)))
        snippets[row] = snippets_of(document, mine)
    return explorer_page(heading(found), seen, documents=documents, snippets=snippets)


def heading(found: Exploration) -> dict[str, Any]:
    """What the page says about the results."""
    corpus = Path(str(found.manifest.get("corpus") or "the corpus")).name
    layer, (steps, to_try) = found.reported(), found.funnel()
    reported = {
        "checked": layer.checked.replace("`", ""),
        "actors": [
            {"name": found.name(c), "named": sum(n for _, n, _ in layer.periods[c]), **band_dict(b)}
            for c, b in [t for t in layer.totals.items() if found.speaks_of(t[0])][:MOST_ACTORS]
        ],
        "steps": steps,
        "to_try": to_try,
    }
    made = {"manifest": found.manifest, "corpus": corpus, "labelled": labelled_actors(found), "reported": reported}
    return made | {"verdict": found.reported_verdict, "alone": found.verdict}


def snippets_of(document: dict[str, Any], chains: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The sentence behind the event of each actor."""
    actors = dict.fromkeys(c["actor"] for c in chains)
    return {a: snippet(document, [c for c in chains if c["actor"] == a]) for a in actors}


def _documents(found: Exploration, rows: Sequence[int]) -> Iterator[tuple[int, dict[str, Any], list[dict[str, Any]]]]:
    with closing(ResultDocuments(found.folder)) as documents:
        for first in range(0, len(rows), TOGETHER):
            some = rows[first : first + TOGETHER]
            read = documents.page(some)
            yield from ((row, *read[row]) for row in some)


MOST_ROWS = 500  # documents in one answer


class ExplorerServer(LoopbackServer):
    """The explorer page and its documents. It reads; nothing can be changed through it."""

    def __init__(self, found: Exploration, port: int) -> None:
        overviewed = overview(found)
        self.rows = frozenset(overviewed["documents"]["row"])
        self.page = explorer_page(heading(found), overviewed, served=True)
        self.documents = ResultDocuments(found.folder)
        super().__init__(_Handler, port)

    def server_close(self) -> None:
        super().server_close()
        self.documents.close()


class _Handler(LoopbackHandler):
    server: ExplorerServer

    def content(self) -> tuple[str, bytes]:
        asked = urlsplit(self.path)
        values = {name: value[-1] for name, value in parse_qs(asked.query).items()}
        if asked.path == "/":
            return "text/html; charset=utf-8", self.server.page
        if asked.path == "/documents":
            read = self._read(values.get("rows", ""))
            return as_json({row: {"snippets": snippets_of(*d)} for row, d in read.items()})
        if asked.path == "/document":
            for document, chains in self._read(values.get("row", "")).values():
                return as_json(document_view(document, chains))
        if asked.path == "/search":
            return as_json(self.server.documents.search(values.get("q", "")))
        raise Refused(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def _read(self, rows: str) -> dict[int, tuple[dict[str, Any], list[dict[str, Any]]]]:
        named = rows.split(",")
        if len(named) > MOST_ROWS or not all(r.isascii() and r.isdigit() and len(r) < 12 for r in named):
            raise Refused(HTTPStatus.BAD_REQUEST, f"Rows are numbers, {MOST_ROWS} at most.")
        return self.server.documents.page([r for r in map(int, named) if r in self.server.rows])
