"""A document in columns: one entry per token, sentences as runs of tokens, entity mentions as spans of tokens."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from howsure.errors import InputError


@dataclass(frozen=True, slots=True)
class Mention:
    """Tokens `start` up to but not including `end`, of the entity named `entity`."""

    start: int
    end: int
    entity: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """Tokens of one document, in columns of equal length.

    `columns` holds what the format had: "lemma", "upos", "xpos", "features", "relation", "misc" of CoNLL-U, or the
    column of a simpler format under the same name. `heads` counts tokens of the document from 0, -1 for a root.
    `starts` has one entry per sentence and a last one, the number of tokens.
    """

    name: str
    words: tuple[str, ...]
    starts: np.ndarray
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    heads: np.ndarray | None = None
    space_after: np.ndarray | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    sentence_metadata: tuple[dict[str, str], ...] = ()
    mentions: tuple[Mention, ...] | None = None

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        mentions = "" if self.mentions is None else f", {len(self.mentions):,} mentions"
        return f"Document({self.name!r}: {len(self):,} tokens, {self.n_sentences:,} sentences{mentions})"

    @property
    def n_sentences(self) -> int:
        return len(self.starts) - 1

    def sentences(self) -> Iterator[slice]:
        """The tokens of each sentence, as slices."""
        for start, end in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            yield slice(start, end)

    def sentence_of(self) -> np.ndarray:
        """The sentence number of each token."""
        return np.repeat(np.arange(self.n_sentences), np.diff(self.starts))

    def children(self) -> list[list[int]]:
        """The dependents of each token, in order; none without a parse."""
        made: list[list[int]] = [[] for _ in self.words]
        for i, h in enumerate(() if self.heads is None else self.heads.tolist()):
            if h >= 0:
                made[h].append(i)
        return made

    def column(self, name: str) -> tuple[str, ...]:
        """A column by name; "word" is the words."""
        if name == "word":
            return self.words
        if name not in self.columns:
            has = ", ".join(["word", *self.columns])
            raise InputError(f'document "{self.name}" has no column "{name}"; it has {has}.')
        return self.columns[name]

    def text(self, part: slice = slice(None)) -> str:
        """The words, or some of them, spaced as in the source where that is known."""
        if self.space_after is None:
            return " ".join(self.words[part])
        both = zip(self.words[part], self.space_after[part].tolist(), strict=True)
        return "".join(w + " " * s for w, s in both).rstrip()

    def with_(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return replace(self, **changes)
