"""A page to label on, from a small server on this machine: one item at a time, by mouse or by key.

Texts travel as JSON and are set as text, never as markup. Answers are taken only from the page itself: a request must name
this server as its host, come from its own origin, and carry the token that the page was given.
"""

import json
import secrets
from http import HTTPStatus
from threading import Lock
from typing import Any

from howsure.counting.answers import Answers
from howsure.exploring.loopback import LoopbackHandler, LoopbackServer, Refused, as_json
from howsure.report.page import render

MOST_BYTES = 10_000  # of a request


class LabelServer(LoopbackServer):
    """The page, the next item, and the answers."""

    def __init__(self, answers: Answers, question: str, port: int) -> None:
        self.answers, self.token, self.lock = answers, secrets.token_urlsafe(24), Lock()
        self.skipped: list[str] = []
        shown = {"question": question, "annotator": answers.annotator, "file": answers.path.name, "token": self.token}
        self.page = render("label.html", {}, scripts=["label.js"], styles=["label.css"], connect="'self'", **shown)
        super().__init__(_Handler, port)

    def state(self) -> dict[str, Any]:
        """What is to be shown now."""
        left = self.answers.left()
        open_ = [item for item in left if item.key not in self.skipped]
        made: dict[str, Any] = {"done": len(self.answers), "total": len(self.answers.items)}
        made |= {"yes": sum(self.answers.given.values()), "skipped": len(left) - len(open_), "item": None}
        for item in open_[:1]:
            made["item"] = {"key": item.key, "text": item.text, "fields": [list(pair) for pair in item.fields]}
        return made

    def act(self, what: str, key: str) -> dict[str, Any]:
        """Answer, skip or undo; gives what is to be shown then."""
        items = {item.key: item for item in self.answers.items}
        with self.lock:
            if what == "undo":
                if self.answers.undo() is None and self.skipped:
                    self.skipped.pop()
            elif what == "again":
                self.skipped.clear()
            elif key not in items:
                raise Refused(HTTPStatus.BAD_REQUEST, "There is no such item.")
            elif what in ("yes", "no"):
                self.answers.answer(items[key], what == "yes")
            elif what == "skip":
                self.skipped.append(key)
            else:
                raise Refused(HTTPStatus.BAD_REQUEST, "Answers are yes, no, skip, undo or again.")
            return self.state()


class _Handler(LoopbackHandler):
    server: LabelServer

    def do_POST(self) -> None:
        self.do_GET()

    def content(self) -> tuple[str, bytes]:
        if self.command != "POST":
            if self.path == "/":
                return "text/html; charset=utf-8", self.server.page
            raise Refused(HTTPStatus.NOT_FOUND, "There is nothing here.")
        size = self.headers.get("Content-Length", "")
        if not size.isascii() or not size.isdigit() or int(size) > MOST_BYTES:
            self.close_connection = True
            too_long = "The request is too long, or does not say how long it is."
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_long)
        body = self.rfile.read(int(size))
        if not secrets.compare_digest(self.headers.get("X-Token", "").encode(), self.server.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "Open the page again: it does not belong to this server.")
        try:
            asked = json.loads(body)
            what, key = str(asked["what"]), str(asked.get("key", ""))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Refused(HTTPStatus.BAD_REQUEST, "The request is not understood.") from None
        if self.path != "/answer":
            raise Refused(HTTPStatus.NOT_FOUND, "There is nothing here.")
        return as_json(self.server.state() if what == "state" else self.server.act(what, key))
