"""CoNLL-2012, and entity mentions written as brackets: `(3-person-new(4)` opens 3, opens and closes 4; `3)` closes 3."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path

import numpy as np

from howsure.corpora.document import Document, Mention
from howsure.corpora.reading import numbered_lines
from howsure.errors import InputError

PIECE = re.compile(r"\(([^()]+)(\)?)|([^()]+)\)")
PART = re.compile(r"\[(\d+)/(\d+)\]$")
BEGIN = re.compile(r"#\s*begin document\s*\(?(.*?)\)?\s*;?\s*(?:part\s*(\d+))?\s*$")
WORD, POS, LEMMA, SPEAKER = 3, 4, 6, 9  # of the full layout, 12 columns or more


class BracketReader:
    """Collects the mentions of a document, token by token.

    `layout` is CoNLL-U's `global.Entity` ("GRP-etype-…"), which says which of the dash-separated values is the entity
    and which its type; without it the first value is the entity. A mention in several parts (`4[1/2]`) becomes the
    span of its longest part, the first among equals. Mentions nest; only with `crossing` may they overlap otherwise. An empty
    node behind token k is at k + ½; a mention without any token is left out.
    """

    def __init__(self, layout: str = "", *, crossing: bool = False) -> None:
        self.crossing = crossing
        self.places: dict[float, str] = {}  # where the brackets of a token are, for messages
        names = layout.split("-") if layout else ["GRP"]
        self.entity_at = names.index("GRP") if "GRP" in names else names.index("eid") if "eid" in names else 0
        self.type_at = names.index("etype") if "etype" in names else None
        self.open: defaultdict[str, list[tuple[int, float, str, str]]] = defaultdict(list)
        self.found: list[tuple[float, float, int, str, str, str]] = []  # start, -end, order, entity, type, parts' key
        self.order = 0

    def read(self, value: str, token: float, where: str) -> None:
        """The brackets at one token."""
        at = 0
        self.places[token] = where
        while at < len(value):
            match = PIECE.match(value, at)
            if match is None:
                raise InputError(f'{where}: brackets of Entity cannot be read at "{value[at:][:20]}".')
            at = match.end()
            opened, closed, ended = match.groups()
            fields = (opened or ended).split("-")
            name, parts = _parts(fields[min(self.entity_at, len(fields) - 1)])
            waiting = self.open[name]
            if opened:
                kind = "" if self.type_at is None or self.type_at >= len(fields) else fields[self.type_at]
                if closed:
                    self.found.append((token, -token - 1, self.order, name, kind, parts))
                else:
                    waiting.append((self.order, token, kind, parts))
                self.order += 1
            else:
                if not waiting:
                    raise InputError(f'{where}: entity "{name}" is closed but was not opened.')
                # Brackets of one entity nest: the last opened closes first; parts of a split mention close by number.
                pick = next((i for i in reversed(range(len(waiting))) if waiting[i][3] == parts), len(waiting) - 1)
                order, start, kind, parts = waiting.pop(pick)
                self.found.append((start, -token - 1, order, name, kind, parts))

    def mentions(self, source: str) -> tuple[Mention, ...]:
        """All mentions by position, the longer first where several begin together, then as they were opened."""
        left = [name for name, waiting in self.open.items() if waiting]
        if left:
            raise InputError(f'{source}: entity "{left[0]}" is opened but never closed.')
        whole: list[tuple[int, int, int, str, str]] = []
        split: defaultdict[tuple[str, int], list[tuple[int, int, int, str, str]]] = defaultdict(list)
        numbers: Counter[str] = Counter()
        for first, minus_last, order, name, kind, parts in sorted(self.found):
            start, minus_end = ceil(first), ceil(minus_last)
            if -minus_end <= start:
                continue
            self.places.setdefault(start, self.places[first])
            numbers[name] += parts.startswith("1/")
            (split[name, numbers[name]] if parts else whole).append((start, minus_end, order, name, kind))
        spans = [(start, -minus_end, name) for start, minus_end, _, name, _ in whole]
        if not self.crossing and (crossed := first_crossing(spans)):
            at, one, other = crossed
            raise InputError(
                f'{self.places[at]}: the brackets of entity "{one}" cross those of "{other}"; mentions must nest.'
            )
        whole += [max(pieces, key=lambda m: (-m[1] - m[0], -m[0])) for pieces in split.values()]
        return tuple(Mention(start, -minus_end, name, kind) for start, minus_end, _, name, kind in sorted(whole))


def first_crossing(spans: Iterable[tuple[int, int, str]]) -> tuple[int, str, str] | None:
    """Of spans (start, end, name), an outer one before those inside it, the first that does not nest: its start, name, the other's."""
    around: list[tuple[int, str]] = []  # end and name of those that the next one is inside of
    for start, end, name in spans:
        while around and around[-1][0] <= start:
            around.pop()
        if around and end > around[-1][0]:
            return start, name, around[-1][1]
        around.append((end, name))
    return None


def _parts(entity: str) -> tuple[str, str]:
    match = PART.search(entity)
    return (entity[: match.start()], f"{match[1]}/{match[2]}") if match else (entity, "")


def read_conll2012(path: str | Path) -> list[Document]:
    """The documents of a file in CoNLL-2012's layout, or in the scorers' short one (any columns, brackets last).

    A document's name is what `#begin document` says, with `#part` when the part is not 0. A speaker, where the
    full layout has one, is in each sentence's metadata. An error names file and line.
    """
    building: _Builder | None = None
    made: list[Document] = []
    for number, line in numbered_lines(path):
        where = f"{path}, line {number}"
        if match := BEGIN.match(line):
            if building is not None:
                raise InputError(f"{where}: a document begins before the last one has ended.")
            part = int(match[2] or 0)
            building = _Builder(match[1].strip() + (f"#{part}" if part else ""))
        elif line.startswith("#"):
            if line[1:].strip().startswith("end document"):
                if building is None:
                    raise InputError(f"{where}: a document ends that has not begun.")
                made.append(building.document(str(path)))
                building = None
        elif not line.strip():
            if building is not None:
                building.end_sentence()
        elif building is None:
            raise InputError(f"{where}: a token outside `#begin document` … `#end document`.")
        else:
            building.token(line, where)
    if building is not None:
        raise InputError(f'{path}: document "{building.name}" has no `#end document`.')
    if not made:
        raise InputError(f"{path}: there is no `#begin document`; is this CoNLL-2012?")
    return made


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
        given = {"xpos": tuple(self.pos), "lemma": tuple(self.lemmas)}
        columns = {n: c for n, c in given.items() if any(v != "_" for v in c)}
        starts, mentions = np.array(self.starts, dtype=np.int64), self.brackets.mentions(f"{source}, {self.name}")
        said = tuple(self.speakers)
        return Document(self.name, tuple(self.words), starts, columns, sentence_metadata=said, mentions=mentions)


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
    made: list[list[str]] = [[] for _ in range(n_tokens)]
    # Outer brackets open first and close last.
    ordered = sorted(mentions, key=lambda m: (m.start, -m.end))
    numbers = {entity: number for number, entity in enumerate(dict.fromkeys(m.entity for m in ordered))}
    long = [m for m in ordered if m.end - m.start > 1]
    for m in long:
        made[m.start].append(f"({numbers[m.entity]}")
    for m in ordered:
        if m.end - m.start == 1:
            made[m.start].append(f"({numbers[m.entity]})")
    for m in reversed(long):
        made[m.end - 1].append(f"{numbers[m.entity]})")
    return ["|".join(brackets) or "-" for brackets in made]
