"""What parsing gives back: the documents, and what there is to say about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from howsure._result import Result, printable, shown_as
from howsure.corpora.document import Document
from howsure.english.confidence import probabilities

MOST_NOTES = 5
COLUMNS = ("word", "lemma", "upos", "xpos", "relation")


@dataclass(frozen=True, slots=True)
class ParsedTexts(Result):
    """Parsed documents in order; `notes` are (name, note) of those that look unlike what the model knows."""

    DRAWN = "-it is parsed text"
    __repr__ = shown_as("{verdict}")

    documents: tuple[Document, ...]
    model: str

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def __getitem__(self, at: int) -> Document:
        return self.documents[at]

    def _count(self) -> ParseCount:
        made = ParseCount()
        for _ in made(self.documents):
            pass
        return made

    @property
    def n_words(self) -> int:
        return self._count().words

    @property
    def n_sentences(self) -> int:
        return self._count().sentences

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        return tuple(self._count().notes)

    @property
    def verdict(self) -> str:
        return self._count().verdict

    def to_dict(self) -> dict[str, Any]:
        """Everything, documents in columns."""
        said = {"verdict": self.verdict, "model": self.model} | self._count().to_dict()
        return said | {"documents": [document_dict(d) for d in self.documents]}

    def _repr_html_(self) -> str:
        """The verdict and the first sentence."""
        first = next((d for d in self.documents if len(d)), None)
        if first is None:
            return f"<p><b>{escape(self.verdict)}</b></p>"
        part = next(first.sentences())
        names = [n for n in COLUMNS if n == "word" or n in first.columns]
        cells = {n: "".join(f"<td>{escape(v)}</td>" for v in first.column(n)[part]) for n in names}
        rows = "".join(f"<tr><th style='text-align:left'>{n}</th>{row}</tr>" for n, row in cells.items())
        return f"<p><b>{escape(self.verdict)}</b></p><table>{rows}</table>"

    def table(self) -> list[dict[str, Any]]:
        """One row a document."""
        return [{"document": d.name, "sentences": d.n_sentences, "words": len(d)} for d in self.documents]


def document_dict(document: Document) -> dict[str, Any]:
    """A document as plain data: columns of equal length."""
    return {
        "name": document.name,
        "metadata": document.metadata,
        "words": list(document.words),
        "starts": document.starts.tolist(),
        "heads": None if document.heads is None else document.heads.tolist(),
        "space_after": None if document.space_after is None else document.space_after.tolist(),
        **{name: list(values) for name, values in document.columns.items()},
        **{name: values.tolist() for name, values in probabilities(document).items()},
    }


class ParseCount:
    """Counts documents as they go by."""

    def __init__(self) -> None:
        self.documents = self.sentences = self.words = 0
        self.notes: list[tuple[str, str]] = []

    def __call__(self, documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            self.documents += 1
            self.sentences += document.n_sentences
            self.words += len(document)
            if "note" in document.metadata:
                self.notes.append((document.name, document.metadata["note"]))
            yield document

    @property
    def verdict(self) -> str:
        counts = {"document": self.documents, "sentence": self.sentences, "word": self.words}
        said = ", ".join(f"{n:,} {what}{'' if n == 1 else 's'}" for what, n in counts.items())
        return said + (f"; {len(self.notes):,} with words mostly unknown to the model" if self.notes else "") + "."

    def to_dict(self) -> dict[str, Any]:
        counts = {f"n_{what}": getattr(self, what) for what in ("documents", "sentences", "words")}
        notes = [{"document": name, "note": note} for name, note in self.notes]
        return {"verdict": self.verdict, **counts, "notes": notes}

    def note_lines(self) -> list[str]:
        """The first notes, and how many documents have more."""
        shown = [f"{printable(name)}: {printable(note)}" for name, note in self.notes[:MOST_NOTES]]
        rest = len(self.notes) - MOST_NOTES
        return shown + ([f"… and {rest:,} documents more."] if rest > 0 else [])
