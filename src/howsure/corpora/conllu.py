"""CoNLL-U: ten columns, sentences apart by an empty line, comments that begin with #."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from howsure.corpora.coreference.entity_brackets import BracketReader
from howsure.corpora.document import Document, Mention
from howsure.corpora.lines import numbered_lines
from howsure.errors import InputError

NAMES = ("lemma", "upos", "xpos", "features", "relation", "misc")
POSITIONS = (2, 3, 4, 5, 7, 9)


def read_conllu(path: str | Path) -> list[Document]:
    """The documents of a CoNLL-U file, split at `# newdoc`; a file without one is a document named like the file.

    Ranges of a multi-word token (`3-4`) only tell where the spaces are; empty nodes (`8.1`) are left out. Mentions
    come from `Entity=` in the last column where the file has any. An error names file and line.
    """
    return list(conllu_documents(numbered_lines(path), str(path), Path(path).stem))


def conllu_documents(lines: Iterable[tuple[int, str]], source: str, name: str) -> Iterator[Document]:
    """Documents from numbered lines; `source` is what errors call the file."""
    building = _Builder(source, name)
    for number, line in lines:
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            key, value = key.strip(), value.strip()
            if key == "newdoc id" or line[1:].strip() == "newdoc":
                building.end_sentence()
                if building.words:
                    yield building.document()
                building = _Builder(source, value or f"{name}-{number}")
            else:
                building.comment(key, value)
        elif not line.strip():
            building.end_sentence()
        else:
            building.token(number, line)
    building.end_sentence()
    if building.words:
        yield building.document()


class _Builder:
    """One document as its lines come in."""

    def __init__(self, source: str, name: str) -> None:
        self.source, self.name = source, name
        self.words: list[str] = []
        self.columns: tuple[list[str], ...] = tuple([] for _ in NAMES)
        self.heads: list[int] = []
        self.lines: list[int] = []
        self.spaces: list[bool] = []
        self.starts = [0]
        self.metadata: dict[str, str] = {}
        self.pending: dict[str, str] = {}
        self.sentence_metadata: list[dict[str, str]] = []
        self.brackets: BracketReader | None = None
        self.joined_until, self.space_after_joined = 0, True

    def comment(self, key: str, value: str) -> None:
        if not self.words and (key.startswith("meta::") or key.startswith("global.")):
            self.metadata[key.removeprefix("meta::")] = value
        else:
            self.pending[key] = value

    def token(self, number: int, line: str) -> None:
        fields = line.split("\t")
        where = f"{self.source}, line {number}"
        if len(fields) != 10:
            raise InputError(f"{where}: CoNLL-U has 10 columns apart by tabs; this line has {len(fields)}.")
        identity = fields[0]
        if not identity.isdecimal():
            first, mark, last = identity.partition("-")
            if mark and first.isdecimal() and last.isdecimal():
                self.joined_until, self.space_after_joined = int(last), "SpaceAfter=No" not in fields[9]
            elif "." not in identity:
                raise InputError(f'{where}: the first column numbers the words of a sentence; got "{identity}".')
            return
        position = len(self.words) - self.starts[-1] + 1
        if int(identity) != position:
            raise InputError(f"{where}: word {position} of the sentence was expected; got {identity}.")
        if not fields[1]:
            raise InputError(f"{where}: the word (second column) is empty.")
        if fields[6] != "_" and not fields[6].isdecimal():
            raise InputError(f'{where}: the head (column 7) must be a word\'s number or "_"; got "{fields[6]}".')
        misc = fields[9]
        if "Entity=" in misc:
            value = next((f[7:] for f in misc.split("|") if f.startswith("Entity=")), "")
            if self.brackets is None:
                self.brackets = BracketReader(self.metadata.get("global.Entity", ""))
            self.brackets.read(value, len(self.words), where)
        space = "SpaceAfter=No" not in misc
        if position <= self.joined_until:
            space = position == self.joined_until and self.space_after_joined
        self.words.append(fields[1])
        for column, at in zip(self.columns, POSITIONS, strict=True):
            column.append(fields[at])
        self.heads.append(-2 if fields[6] == "_" else int(fields[6]) - 1)
        self.lines.append(number)
        self.spaces.append(space)

    def end_sentence(self) -> None:
        start, end = self.starts[-1], len(self.words)
        if end == start:
            return
        for i in range(start, end):
            if self.heads[i] >= end - start:
                raise InputError(
                    f"{self.source}, line {self.lines[i]}: head {self.heads[i] + 1} is outside the sentence."
                )
            if self.heads[i] >= 0:
                self.heads[i] += start
        self.starts.append(end)
        self.sentence_metadata.append(self.pending)
        self.pending, self.joined_until = {}, 0

    def document(self) -> Document:
        heads = np.array(self.heads, dtype=np.int64)
        mentions: tuple[Mention, ...] | None = None
        if self.brackets is not None:
            mentions = self.brackets.mentions(self.source)
        return Document(
            self.name,
            tuple(self.words),
            np.array(self.starts, dtype=np.int64),
            {n: tuple(c) for n, c in zip(NAMES, self.columns, strict=True) if any(v != "_" for v in c)},
            None if (heads == -2).any() else heads,
            np.array(self.spaces, dtype=bool),
            self.metadata,
            tuple(self.sentence_metadata),
            mentions,
        )
