"""The explorer page, as one file with all its documents or from a small server on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
    for row, document, chains in _documents(found, rows):
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


def _documents(found: Exploration, rows: Sequence[int]) -> Iterator[tuple[int, dict[str, Any], list[dict[str, Any]]]]:
    documents = ResultDocuments(found.folder)
    try:
        for first in range(0, len(rows), TOGETHER):
            some = rows[first : first + TOGETHER]
            read = documents.page(some)
            yield from ((row, *read[row]) for row in some)
    finally:
        documents.close()


ADDRESS = "127.0.0.1"
MOST_ROWS = 500  # documents in one answer
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page has its own for the rest
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class ExplorerServer(ThreadingHTTPServer):
    """The page and its documents; `address` is where to open it. Close it with `server_close()`."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, found: Exploration, port: int) -> None:
        overviewed = overview(found)
        self.rows = frozenset(overviewed["documents"]["row"])
        self.page = explorer_page(**heading(found), overview=overviewed, served=True)
        self.documents = ResultDocuments(found.folder)
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise InputError(
                f"cannot listen on {ADDRESS}:{port}: {error.strerror or error}. Try another --port."
            ) from None

    @property
    def address(self) -> str:
        return f"http://{ADDRESS}:{self.server_address[1]}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which it may be asked."""
        port = self.server_address[1]
        return (f"{ADDRESS}:{port}", f"localhost:{port}") + ((ADDRESS, "localhost") if port == 80 else ())

    def server_close(self) -> None:
        super().server_close()
        self.documents.close()


class _Refused(Exception):
    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: ExplorerServer
    server_version = "howsure"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        try:
            self._check()
            kind, content = self._content()
            self._send(HTTPStatus.OK, kind, content)
        except _Refused as refused:
            self._send(refused.status, "text/plain; charset=utf-8", f"{refused}\n".encode())
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: what is read is nobody's business."""

    def _check(self) -> None:
        """Only this page's own requests, and those that someone types into the browser."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            raise _Refused(HTTPStatus.MISDIRECTED_REQUEST, f"Open {self.server.address} instead.")
        origin = self.headers.get("Origin")
        if origin is not None and origin.lower() not in {f"http://{h}" for h in self.server.hosts}:
            raise _Refused(HTTPStatus.FORBIDDEN, "Requests from other sites are refused.")
        if self.headers.get("Sec-Fetch-Site", "none").lower() not in ("none", "same-origin"):
            raise _Refused(HTTPStatus.FORBIDDEN, "Requests from other sites are refused.")

    def _content(self) -> tuple[str, bytes]:
        asked = urlsplit(self.path)
        values = {name: value[-1] for name, value in parse_qs(asked.query).items()}
        if asked.path == "/":
            return "text/html; charset=utf-8", self.server.page
        if asked.path == "/documents":
            return _json({row: {"snippets": snippets_of(*d)} for row, d in self._read(values.get("rows", "")).items()})
        if asked.path == "/document":
            for document, chains in self._read(values.get("row", "")).values():
                return _json(document_view(document, chains))
        if asked.path == "/search":
            return _json(self.server.documents.search(values.get("q", "")))
        raise _Refused(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def _read(self, rows: str) -> dict[int, tuple[dict[str, Any], list[dict[str, Any]]]]:
        named = rows.split(",")
        if len(named) > MOST_ROWS or not all(r.isascii() and r.isdigit() and len(r) < 12 for r in named):
            raise _Refused(HTTPStatus.BAD_REQUEST, f"Rows are numbers, {MOST_ROWS} at most.")
        return self.server.documents.page([r for r in map(int, named) if r in self.server.rows])

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _json(value: Any) -> tuple[str, bytes]:
    return "application/json", json.dumps(value, allow_nan=False).encode()
