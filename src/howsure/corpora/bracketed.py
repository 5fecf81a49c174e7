"""Bracketed trees, as in the Penn Treebank: (S (NP (DT The) (NN end)) (. .)), read and written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from howsure.corpora.reading import numbered_lines
from howsure.errors import InputError

PIECE = re.compile(r"[()]|[^\s()]+")
TOPS = frozenset(("", "ROOT", "TOP"))  # the outermost bracket, which says nothing
TRACE = "-NONE-"
DEEPEST = 300
Span = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class BracketedTree:
    """Words and tags of a sentence, and its labelled spans, an outer one before those inside it.

    Traces are left out (`n_traces` of them), and so are brackets with nothing else inside; of NP-SBJ-1 or ADVP=2 the label is NP
    or ADVP. A sentence of traces only has no words.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: tuple[Span, ...]
    n_traces: int = 0

    def __len__(self) -> int:
        return len(self.words)

    def text(self) -> str:
        """The tree in brackets, on one line."""
        made = [f"({tag} {word})" for word, tag in zip(self.words, self.tags, strict=True)]
        for start, end, label in reversed(self.spans):
            made[start] = f"({label} {made[start]}"
            made[end - 1] += ")"
        return f"( {' '.join(made)})"


@dataclass(frozen=True, slots=True)
class Treebank:
    """The trees of one file."""

    name: str
    trees: tuple[BracketedTree, ...]


def read_bracketed(path: str | Path) -> Treebank:
    """The trees of a file; an error names file and line."""
    trees = tuple(_trees(path))
    if not trees:
        raise InputError(f"{path}: there are no trees in the file.")
    return Treebank(Path(path).stem, trees)


@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet."""

    line: int
    start: int  # words before it
    place: int  # spans before it
    label: str | None = None
    word: str | None = None
    parts: int = 0


def _trees(path: str | Path) -> Iterator[BracketedTree]:
    words: list[str] = []
    tags: list[str] = []
    spans: list[Span | None] = []
    waiting: list[_Open] = []
    traces = 0
    for number, line in numbered_lines(path):
        where = f"{path}, line {number}"
        for piece in PIECE.findall(line):
            if piece == "(":
                if waiting and waiting[-1].word is not None:
                    raise InputError(f"{where}: a bracket holds one word or other brackets, not both.")
                if waiting:
                    waiting[-1].parts += 1
                    waiting[-1].label = waiting[-1].label or ""
                if len(waiting) >= DEEPEST:
                    raise InputError(f"{where}: brackets are more than {DEEPEST} deep.")
                waiting.append(_Open(number, len(words), len(spans)))
                spans.append(None)
            elif piece == ")":
                if not waiting:
                    raise InputError(f"{where}: a bracket is closed that was not opened.")
                done = waiting.pop()
                if done.word is not None:
                    if done.label == TRACE:
                        traces += 1
                    else:
                        words.append(done.word)
                        tags.append(done.label or "")
                elif done.label is None or not done.parts:
                    raise InputError(f"{where}: a bracket is empty.")
                elif len(words) > done.start and not (done.label in TOPS and not waiting):
                    spans[done.place] = (done.start, len(words), plain_label(done.label))
                if not waiting:
                    yield BracketedTree(tuple(words), tuple(tags), tuple(s for s in spans if s is not None), traces)
                    words, tags, spans, traces = [], [], [], 0
            elif not waiting:
                raise InputError(f'{where}: a tree begins with a bracket; got "{piece[:40]}".')
            elif waiting[-1].label is None:
                waiting[-1].label = piece
            elif waiting[-1].word is None and not waiting[-1].parts:
                waiting[-1].word = piece
            else:
                raise InputError(f'{where}: a bracket holds one word or other brackets; "{piece[:40]}" is too much.')
    if waiting:
        raise InputError(f"{path}: the bracket of line {waiting[0].line} is not closed.")


def plain_label(label: str) -> str:
    """A label without function tags and indices: NP of NP-SBJ-1; what begins with a hyphen stays."""
    return label if label[:1] == "-" else re.split("[-=|]", label)[0] or label
