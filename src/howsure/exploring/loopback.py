"""Pages from a small server on this machine.

It listens on 127.0.0.1 alone, answers only requests that name it so (a page elsewhere that points a name of its own here
gets nothing), and refuses what another site asks for.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from howsure._result import harmless
from howsure.errors import InputError

ADDRESS = "127.0.0.1"
THREADS = 64
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page has its own for the rest
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class LoopbackServer(HTTPServer):
    """A page for this machine alone; `address` is where to open it. Close it with `server_close()`.

    Connections beyond `THREADS` wait for one that ends.
    """

    allow_reuse_address = True
    request_queue_size = 512

    def __init__(self, handler: type[LoopbackHandler], port: int) -> None:
        self._open: set[Any] = set()
        self._pool = ThreadPoolExecutor(THREADS)
        try:
            super().__init__((ADDRESS, port), handler)
        except OSError as error:
            why = error.strerror or error
            raise InputError(f"cannot listen on {ADDRESS}:{port}: {why}. Try another `port=`.") from None

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        self._pool.submit(self._answer, request, client_address)

    def _answer(self, request: Any, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except Exception:  # a thread must end well
            self.handle_error(request, client_address)
        finally:
            self.shutdown_request(request)
            self._open.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Someone who hangs up is no error; anything else is a line of the log."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            complain(sys.exception())

    def server_close(self) -> None:
        super().server_close()
        for request in list(self._open):  # they may wait for a browser's next request
            self.shutdown_request(request)
        self._pool.shutdown(cancel_futures=True)

    @property
    def address(self) -> str:
        return f"http://{ADDRESS}:{self.server_address[1]}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which it may be asked."""
        port = self.server_address[1]
        return (f"{ADDRESS}:{port}", f"localhost:{port}") + ((ADDRESS, "localhost") if port == 80 else ())


def complain(error: BaseException | None) -> None:
    """One line of the log."""
    print(f"howsure: {type(error).__name__}: {harmless(' '.join(str(error).split()))}", file=sys.stderr, flush=True)


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
    timeout = 10  # seconds that a connection may be silent

    def do_GET(self) -> None:
        try:
            self.check()
            kind, content = self.content()
            self._send(HTTPStatus.OK, kind, content)
        except Refused as refused:
            self._send(refused.status, "text/plain; charset=utf-8", f"{refused}\n".encode())
        except ConnectionError:
            self.close_connection = True
        except Exception as error:  # whatever is wrong with the results
            complain(error)
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", b"The results cannot be read.\n")

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
