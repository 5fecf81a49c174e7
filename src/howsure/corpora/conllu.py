"""CoNLL-U: ten columns, sentences separated by an empty line, comments that begin with #."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from howsure.corpora.conll2012 import BracketReader, first_crossing
from howsure.corpora.document import Document, Mention
from howsure.corpora.reading import numbered_lines
from howsure.errors import InputError

NAMES = ("lemma", "upos", "xpos", "features", "relation", "misc")
POSITIONS = (2, 3, 4, 5, 7, 9)
OFFSETS = re.compile(r"start_char=(\d+)\|end_char=(\d+)")  # Stanza's, in the last column


def read_conllu(path: str | Path) -> list[Document]:
    """The documents of a CoNLL-U file, split at `# newdoc`; a file without one is a document named like the file.

    Ranges of a multi-word token (`3-4`) only tell where the spaces are; empty nodes (`8.1`) are left out. Where nothing says
    `SpaceAfter`, spaces are read from Stanza's offsets. Mentions come from `Entity=` in the last column where the file has
    any: GUM's or CorefUD's, whose layout (`global.Entity`) may be given once a file, whose mentions may cross, and may begin or
    end at empty nodes; one that has no other word is left out. An error names file and line.
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
                building = _Builder(source, value or f"{name}-{number}", building.layout)
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

    def __init__(self, source: str, name: str, layout: str = "") -> None:
        self.source, self.name, self.layout = source, name, layout
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
        self.offsets: list[tuple[int, int]] = []  # -1 where there are none
        self.joined_offsets = (-1, -1)
        self.says_spaces = False

    def comment(self, key: str, value: str) -> None:
        if not self.words and (key.startswith("meta::") or key.startswith("global.")):
            self.metadata[key.removeprefix("meta::")] = value
            self.layout = value if key == "global.Entity" else self.layout
        else:
            self.pending[key] = value

    def token(self, number: int, line: str) -> None:
        fields = line.split("\t")
        where = f"{self.source}, line {number}"
        if len(fields) != 10:
            raise InputError(f"{where}: CoNLL-U has 10 columns separated by tabs; this line has {len(fields)}.")
        identity, misc = fields[0], fields[9]
        self.says_spaces |= "SpaceAfter=" in misc or "SpacesAfter=" in misc
        found = OFFSETS.search(misc)
        offsets = (int(found[1]), int(found[2])) if found else (-1, -1)
        if not identity.isdecimal():
            first, mark, last = identity.partition("-")
            if mark and first.isdecimal() and last.isdecimal():
                self.joined_until, self.space_after_joined = int(last), "SpaceAfter=No" not in misc
                self.joined_offsets = offsets
            elif "." not in identity:
                raise InputError(f'{where}: the first column numbers the words of a sentence; got "{identity}".')
            else:
                self.entity(misc, len(self.words) - 0.5, where)
            return
        position = len(self.words) - self.starts[-1] + 1
        if int(identity) != position:
            raise InputError(f"{where}: word {position} of the sentence was expected; got {identity}.")
        if not fields[1]:
            raise InputError(f"{where}: the word (second column) is empty.")
        if fields[6] != "_" and not fields[6].isdecimal():
            raise InputError(f'{where}: the head (column 7) must be a word\'s number or "_"; got "{fields[6]}".')
        self.entity(misc, len(self.words), where)
        space = "SpaceAfter=No" not in misc
        if position <= self.joined_until:
            space = position == self.joined_until and self.space_after_joined
            begin, end = self.joined_offsets  # of the whole: known where its first word begins and its last one ends
            offsets, self.joined_offsets = (begin, end if position == self.joined_until else -1), (-1, end)
        self.offsets.append(offsets)
        self.words.append(fields[1])
        for column, at in zip(self.columns, POSITIONS, strict=True):
            column.append(fields[at])
        self.heads.append(-2 if fields[6] == "_" else int(fields[6]) - 1)
        self.lines.append(number)
        self.spaces.append(space)

    def entity(self, misc: str, at: float, where: str) -> None:
        if "Entity=" in misc:
            value = next((f[7:] for f in misc.split("|") if f.startswith("Entity=")), "")
            if self.brackets is None:
                self.brackets = BracketReader(self.layout, crossing="eid" in self.layout.split("-"))
            self.brackets.read(value, at, where)

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
        if not self.says_spaces:
            for i, ((_, end), (begin, _)) in enumerate(zip(self.offsets, self.offsets[1:], strict=False)):
                self.spaces[i] = begin > end if begin >= 0 and end >= 0 else self.spaces[i]
        return Document(
            self.name,
            tuple(self.words),
            np.array(self.starts, dtype=np.int64),
            {n: tuple(c) for n, c in zip(NAMES, self.columns, strict=True) if any(v != "_" for v in c)},
            None if (heads == -2).any() else heads,
            np.array(self.spaces, dtype=bool),
            self.metadata,
            tuple(self.sentence_metadata),
            None if self.brackets is None else self.brackets.mentions(self.source),
        )


LAYOUT = "GRP-etype"


def conllu_text(document: Document) -> str:
    """One document, with `# newdoc id`, its metadata, `# text` of each sentence, and mentions as `Entity=` brackets."""
    return "".join(_lines(document))


def _lines(document: Document) -> Iterator[str]:
    yield f"# newdoc id = {_one_line(document.name, document.name)}\n"
    metadata = dict(document.metadata)
    if document.mentions is not None:
        metadata["global.Entity"] = LAYOUT
    for key, value in metadata.items():
        shown = key if key.startswith("global.") else f"meta::{key}"
        yield f"# {_one_line(shown, document.name)} = {_one_line(value, document.name)}\n"
    columns = [document.columns.get(name, ("_",) * len(document)) for name in NAMES]
    brackets = None if document.mentions is None else _brackets(document.name, document.mentions)
    for number, part in enumerate(document.sentences()):
        comments = document.sentence_metadata[number] if document.sentence_metadata else {}
        for key, value in comments.items():
            yield f"# {_one_line(key, document.name)}{f' = {_one_line(value, document.name)}' if value else ''}\n"
        if "text" not in comments:
            text = _one_line(document.text(part).strip(), document.name)
            yield f"# text = {text}\n" if text else "# text\n"
        for i in range(part.start, part.stop):
            word = document.words[i]
            if not word or set("\t\n\r") & set(word):
                raise InputError(f'document "{document.name}": CoNLL-U cannot hold word {i + 1}, {word!r}.')
            head = "_" if document.heads is None else _head(int(document.heads[i]), part, document.name, i)
            spaced = True if document.space_after is None else bool(document.space_after[i])
            lemma, upos, xpos, features, relation, misc = (column[i] for column in columns)
            last = _misc(misc, spaced, None if brackets is None else brackets.get(i, ""))
            number_in = str(i - part.start + 1)
            yield "\t".join((number_in, word, lemma, upos, xpos, features, head, relation, "_", last)) + "\n"
        yield "\n"


def _head(head: int, part: slice, name: str, token: int) -> str:
    if head == -1:
        return "0"
    if not part.start <= head < part.stop:
        raise InputError(f'document "{name}": the head of word {token + 1} is outside its sentence.')
    return str(head - part.start + 1)


def _misc(kept: str, spaced: bool, bracket: str | None) -> str:
    """The last column: what it held, with the space and the brackets that the document says."""
    entries = [e for e in kept.split("|") if e != "_" and not e.startswith("SpaceAfter=")]
    if bracket is not None:
        entries = [e for e in entries if not e.startswith("Entity=")]
        if bracket:
            entries.append(f"Entity={bracket}")
    if not spaced:
        entries.append("SpaceAfter=No")
    return "|".join(entries) or "_"


def _brackets(name: str, mentions: tuple[Mention, ...]) -> dict[int, str]:
    """The brackets at each token: what closes there, then what opens; the longest opens first and closes last."""
    made: defaultdict[int, str] = defaultdict(str)
    for m in sorted(mentions, key=lambda m: (m.end, -m.start)):
        if m.end > m.start + 1:
            made[m.end - 1] += f"{m.entity})"
    ordered = sorted(mentions, key=lambda m: (m.start, -m.end))
    for m in ordered:  # one of a single word comes last, as the shortest
        if set("()-|[]") & set(m.entity + m.type) or not m.entity:
            raise InputError(f'document "{name}": an entity\'s name in CoNLL-U has none of ()-|[]; got "{m.entity}".')
        made[m.start] += f"({m.entity}-{m.type}" if m.type else f"({m.entity}"
        made[m.start] += ")" if m.end == m.start + 1 else ""
    if crossed := first_crossing((m.start, m.end, m.entity) for m in ordered):
        raise InputError(
            f'document "{name}": mentions of entities "{crossed[2]}" and "{crossed[1]}" overlap in part; '
            "brackets of CoNLL-U must nest."
        )
    return made


def _one_line(value: str, name: str) -> str:
    if "\n" in value or "\r" in value:
        raise InputError(f'document "{name}": a comment of CoNLL-U is one line; got {value[:40]!r}.')
    return value
