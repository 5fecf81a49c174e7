"""Pages from a small server on this machine.

It listens on 127.0.0.1 alone, answers only requests that name it so (a page elsewhere that points a name of its own here
gets nothing), and refuses what another site asks for.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from howsure.errors import InputError

ADDRESS = "127.0.0.1"
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page has its own for the rest
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class LoopbackServer(ThreadingHTTPServer):
    """A page for this machine alone; `address` is where to open it. Close it with `server_close()`."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, handler: type[LoopbackHandler], port: int) -> None:
        try:
            super().__init__((ADDRESS, port), handler)
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


class Refused(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class LoopbackHandler(BaseHTTPRequestHandler):
    """Answers only the page's own requests, and those that someone types into the browser."""

    server: LoopbackServer
    server_version = "howsure"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        try:
            self.check()
            kind, content = self.content()
            self._send(HTTPStatus.OK, kind, content)
        except Refused as refused:
            self._send(refused.status, "text/plain; charset=utf-8", f"{refused}\n".encode())
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: what is read is nobody's business."""

    def check(self) -> None:
        """Only this page's own requests, and those that someone types into the browser."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, f"Open {self.server.address} instead.")
        origin = self.headers.get("Origin")
        if origin is not None and origin.lower() not in {f"http://{h}" for h in self.server.hosts}:
            raise Refused(HTTPStatus.FORBIDDEN, "Requests from other sites are refused.")
        if self.headers.get("Sec-Fetch-Site", "none").lower() not in ("none", "same-origin"):
            raise Refused(HTTPStatus.FORBIDDEN, "Requests from other sites are refused.")

    def content(self) -> tuple[str, bytes]:
        """The kind and the bytes of what was asked for."""
        raise NotImplementedError

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def as_json(value: Any) -> tuple[str, bytes]:
    """Plain data as the body of an answer."""
    return "application/json", json.dumps(value, allow_nan=False).encode()
