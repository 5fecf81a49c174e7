"""`howsure label`: people's answers as the test of event probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from howsure import _validate
from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.events.labelling import Answers, Labelled, Question, calibration_of, draw
from howsure.events.storage import read_table
from howsure.report.text.layout import filled, printable

LONGEST = 2_000  # characters of a document that are shown at once


class Labelling:
    """A stratified sample of documents to label, and the answers so far, which are kept in the results folder."""

    def __init__(self, results: str | Path, *, actor: str | None = None, n: int = 40, seed: int = 0) -> None:
        self.found = Exploration.open(results)
        if not self.found.totals():
            raise InputError(f"{results} has no events: there is nothing to label.")
        self.actor = self.found.code(actor) if actor else self.found.totals()[0][0]
        questions = draw(self.found, self.actor, _validate.count(n, "n"), seed)
        kept = "".join(c if c.isalnum() else "-" for c in self.actor)
        self.answers = Answers(Path(results) / f"labels-{kept}-{seed}.jsonl", questions)
        self._documents: dict[str, dict[str, Any]] = {}

    def next_question(self, skipped: set[str]) -> Question | None:
        """The next document that is neither answered nor skipped."""
        given = self.answers.given
        return next((q for q in self.answers.questions if q.id not in given and q.id not in skipped), None)

    def shown(self, question: Question) -> str:
        """The document, with its title and its place in the sample."""
        if not self._documents:
            wanted = {q.id for q in self.answers.questions}
            self._documents = {d["id"]: d for d in read_table(self.found.folder, "documents") if d["id"] in wanted}
        d = self._documents[question.id]
        text = d["text"] if len(d["text"]) <= LONGEST else d["text"][:LONGEST] + " …"
        head = f"\n[{len(self.answers) + 1} of {len(self.answers.questions)}]  {printable(d['title'] or question.id)}\n"
        return head + "\n" + "\n\n".join(filled(printable(p)) for p in text.split("\n\n"))

    def asked(self) -> str:
        """The question about a document."""
        verbs = self.found.manifest["settings"]["verbs"]
        action = verbs[0] if len(verbs) == 1 else "one of: " + ", ".join(verbs)
        name = self.found.name(self.actor)
        return "\n" + printable(f"Does this say that {name} (its forces, its people) did {action}? [y/n/u/s/q] ")

    def result(self) -> Labelled:
        """What the answers say about the probabilities."""
        return calibration_of(self.found, self.actor, self.answers.pairs())
