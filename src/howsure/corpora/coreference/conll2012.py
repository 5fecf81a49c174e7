"""CoNLL-2012: a token a line in columns, coreference as brackets in the last; read and written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from howsure.corpora.coreference.entity_brackets import BracketReader
from howsure.corpora.document import Document, Mention
from howsure.corpora.reading import numbered_lines
from howsure.errors import InputError

BEGIN = re.compile(r"#\s*begin document\s*\(?(.*?)\)?\s*;?\s*(?:part\s*(\d+))?\s*$")
WORD, POS, LEMMA, SPEAKER = 3, 4, 6, 9  # of the full layout, 12 columns or more


def read_conll2012(path: str | Path) -> list[Document]:
    """The documents of a file in CoNLL-2012's layout, or in the scorers' short one (any columns, brackets last).

    A document's name is what `#begin document` says, with `#part` when the part is not 0. A speaker, where the
    full layout has one, is in each sentence's metadata. An error names file and line.
    """
    return list(conll2012_documents(numbered_lines(path), str(path)))


def conll2012_documents(lines: Iterable[tuple[int, str]], source: str) -> Iterator[Document]:
    """Documents from numbered lines."""
    building: _Builder | None = None
    began = False
    for number, line in lines:
        if line.startswith("#"):
            match = BEGIN.match(line)
            if match:
                if building is not None:
                    raise InputError(f"{source}, line {number}: a document begins before the last one has ended.")
                part = int(match[2] or 0)
                building = _Builder(match[1].strip() + (f"#{part}" if part else ""))
                began = True
            elif line[1:].strip().startswith("end document"):
                if building is None:
                    raise InputError(f"{source}, line {number}: a document ends that has not begun.")
                yield building.document(source)
                building = None
        elif not line.strip():
            if building is not None:
                building.end_sentence()
        elif building is None:
            raise InputError(f"{source}, line {number}: a token outside `#begin document` … `#end document`.")
        else:
            building.token(line, f"{source}, line {number}")
    if building is not None:
        raise InputError(f'{source}: document "{building.name}" has no `#end document`.')
    if not began:
        raise InputError(f"{source}: there is no `#begin document`; is this CoNLL-2012?")


class _Builder:
    """One document as its lines come in."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.words: list[str] = []
        self.pos: list[str] = []
        self.lemmas: list[str] = []
        self.starts = [0]
        self.speakers: list[dict[str, str]] = []
        self.speaker = ""
        self.brackets = BracketReader(crossing=True)

    def token(self, line: str, where: str) -> None:
        fields = line.split()
        value = fields[-1]
        if len(fields) < 2:
            raise InputError(f"{where}: a token has two columns at least, coreference in the last; got {line!r}.")
        if value not in ("-", "_"):
            for piece in value.split("|"):
                self.brackets.read(piece, len(self.words), where)
        full = len(fields) >= 12
        self.words.append(fields[WORD] if len(fields) > WORD + 1 else fields[-2] if len(fields) == 3 else "_")
        self.pos.append(fields[POS] if full else "_")
        self.lemmas.append(fields[LEMMA] if full else "_")
        self.speaker = fields[SPEAKER] if full and fields[SPEAKER] != "-" else ""

    def end_sentence(self) -> None:
        if len(self.words) > self.starts[-1]:
            self.starts.append(len(self.words))
            self.speakers.append({"speaker": self.speaker} if self.speaker else {})

    def document(self, source: str) -> Document:
        self.end_sentence()
        columns = {"xpos": tuple(self.pos), "lemma": tuple(self.lemmas)}
        return Document(
            self.name,
            tuple(self.words),
            np.array(self.starts, dtype=np.int64),
            {n: c for n, c in columns.items() if any(v != "_" for v in c)},
            sentence_metadata=tuple(self.speakers),
            mentions=self.brackets.mentions(f"{source}, {self.name}"),
        )


def conll2012_text(documents: Iterable[Document], mentions: Sequence[Sequence[Mention]] | None = None) -> str:
    """Documents as CoNLL-2012 with five columns: name, part, number in the sentence, word, coreference.

    `mentions`, one sequence for each document, stand in for the documents' own.
    """
    made: list[str] = []
    for at, document in enumerate(documents):
        own = (document.mentions or ()) if mentions is None else mentions[at]
        name, _, part = document.name.partition("#")
        number = int(part) if part.isdecimal() else 0
        made.append(f"#begin document ({name}); part {number:03d}\n")
        column = bracket_column(own, len(document))
        for sentence in document.sentences():
            for i in range(sentence.start, sentence.stop):
                made.append(f"{name}\t{number}\t{i - sentence.start}\t{document.words[i]}\t{column[i]}\n")
            made.append("\n")
        made.append("#end document\n")
    return "".join(made)


def bracket_column(mentions: Iterable[Mention], n_tokens: int) -> list[str]:
    """The coreference column: entities numbered in order of appearance; `-` where nothing opens or closes."""
    opens: list[list[str]] = [[] for _ in range(n_tokens)]
    alone: list[list[str]] = [[] for _ in range(n_tokens)]
    closes: list[list[str]] = [[] for _ in range(n_tokens)]
    numbers: dict[str, int] = {}
    # Outer brackets open first and close last.
    ordered = sorted(mentions, key=lambda m: (m.start, -m.end))
    for m in ordered:
        number = numbers.setdefault(m.entity, len(numbers))
        if m.end - m.start == 1:
            alone[m.start].append(f"({number})")
        else:
            opens[m.start].append(f"({number}")
    for m in reversed(ordered):
        if m.end - m.start > 1:
            closes[m.end - 1].append(f"{numbers[m.entity]})")
    return ["|".join(o + a + c) or "-" for o, a, c in zip(opens, alone, closes, strict=True)]
