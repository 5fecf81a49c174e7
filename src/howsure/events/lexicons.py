"""Actors and verbs as plain CSV, and where an actor's words stand in a text.

Actors have the columns `code`, `name` and `words` (names and demonyms separated by semicolons); verbs have a column `lemma`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.errors import InputError

COLUMNS = ("code", "name", "words")
_PARTS = re.compile(r"[\w.'’]+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Actor:
    """Whom events are counted for: a code, a name for people, and the words that point to it."""

    code: str
    name: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Where the words of actors stand: for each token the number of the actor whose words cover it, or -1."""

    actor: NDArray[np.int64]
    first: NDArray[np.int64]  # the first token of the words that cover a token; the token itself elsewhere


@dataclass(frozen=True)
class Lexicon:
    """Actors, and their words as a table from a first word to what may follow it, the longest first."""

    name: str
    actors: tuple[Actor, ...]
    path: Path | None = field(default=None, repr=False, compare=False)  # the file it was read from
    _table: dict[str, list[tuple[tuple[str, ...], int]]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for number, actor in enumerate(self.actors):
            for word in actor.words:
                for parts in _spellings(word):
                    table.setdefault(parts[0].lower(), []).append((parts, number))
        for phrases in table.values():
            phrases.sort(key=lambda p: -len(p[0]))
        object.__setattr__(self, "_table", table)

    def __repr__(self) -> str:
        return f"Lexicon({self.name!r}: {len(self.actors):,} actors)"

    def number(self, code: str) -> int:
        """An actor's number, by its code or, failing that, its name; case does not matter."""
        wanted = code.strip().lower()
        for kind in ("code", "name"):
            for i, actor in enumerate(self.actors):
                if str(getattr(actor, kind)).lower() == wanted:
                    return i
        raise InputError(f"there is no actor `{code}`.{_validate.nearest(code, [a.code for a in self.actors])}")

    def only(self, codes: Sequence[str]) -> Lexicon:
        """The named actors alone."""
        kept = sorted({self.number(c) for c in codes})
        return Lexicon(self.name, tuple(self.actors[i] for i in kept), self.path)

    def find(self, words: Sequence[str], upos: Sequence[str] | None = None) -> Found:
        """Where actors' words stand among the tokens of a text, longest match first.

        A word that the lexicon writes with a capital needs one in the text ("Turkey", not "turkey"), unless the whole
        text has none. One written in capitals ("US") needs capitals, and is not found in a pronoun.
        """
        n = len(words)
        actor, first = np.full(n, -1, np.int64), np.arange(n)
        caseless = not any(w != w.lower() for w in words)
        at = 0
        table = self._table
        while at < n:
            for parts, number in table.get(words[at].lower(), ()):
                end = at + len(parts)
                if end > n or not all(_same(p, w, caseless) for p, w in zip(parts, words[at:end], strict=True)):
                    continue
                if upos is not None and upos[at] == "PRON":
                    continue
                actor[at:end], first[at:end] = number, at
                at = end - 1
                break
            at += 1
        return Found(actor, first)


def _spellings(word: str) -> set[tuple[str, ...]]:
    """A name cut at spaces, and cut at hyphens too: texts are tokenised either way. A final 's is a token."""
    at_spaces: list[str] = []
    for part in word.split():
        stem = re.fullmatch(r"(.+)(['’]s)", part)
        at_spaces += [stem[1], stem[2]] if stem else [part]
    at_hyphens = [piece for part in at_spaces for piece in (_PARTS.findall(part) if "-" in part else [part])]
    return {tuple(at_spaces), tuple(at_hyphens)}


def _same(written: str, word: str, caseless: bool) -> bool:
    if written.lower() != word.lower():
        return False
    if caseless or written == word or written == written.lower():
        return True
    capitals = sum(c.isalpha() for c in written) > 1 and written == written.upper()
    return word == word.upper() if capitals else word[0] == word[0].upper()


def shipped(name: str) -> Path:
    """The path of a lexicon that comes with the package."""
    return Path(str(files("howsure.data") / "lexicons" / f"{name}.csv"))


def shipped_names(columns: Sequence[str]) -> list[str]:
    """The names of the lexicons in the package that have these columns."""
    folder = Path(str(files("howsure.data") / "lexicons"))
    first = {p.stem: p.read_text(encoding="utf-8").splitlines()[0] for p in folder.glob("*.csv")}
    return sorted(name for name, header in first.items() if header.split(",") == list(columns))


def actors(name: str) -> Lexicon:
    """A lexicon of actors: one of the package ("countries") or a CSV file with code, name and words."""
    path = _lexicon_path(name, COLUMNS, "`actors=`")
    found: dict[str, Actor] = {}
    owner: dict[str, str] = {}
    for line, row in _rows(path, COLUMNS):
        code = row["code"].strip()
        words = tuple(w.strip() for w in row["words"].split(";") if w.strip())
        if not code or not words:
            what = "code" if not code else "words"
            raise InputError(f"{path}, line {line}: the actor has no {what}.")
        if code in found:
            raise InputError(f"{path}, line {line}: the code {code} has been used before; codes are unique.")
        for word in words:
            if owner.setdefault(word, code) != code:
                raise InputError(f'{path}, line {line}: "{word}" belongs to {owner[word]} already.')
        found[code] = Actor(code, row["name"].strip() or code, tuple(dict.fromkeys(words)))
    if not found:
        raise InputError(f"{path} holds no actors.")
    return Lexicon(Path(name).stem, tuple(found.values()), path)


def verbs(given: str | Sequence[str]) -> tuple[str, ...]:
    """Lemmas of verbs: "attack", "attack,bomb", a list, a lexicon of the package or a CSV file with a column lemma."""
    if isinstance(given, str):
        if given.endswith(".csv") or given in shipped_names(("lemma",)):
            path = _lexicon_path(given, ("lemma",), "`verbs=`")
            lemmas = [row["lemma"] for _, row in _rows(path, ("lemma",))]
        else:
            lemmas = given.split(",")
    else:
        lemmas = list(given)
    made = tuple(sorted({v.strip().lower() for v in lemmas if v.strip()}))
    if not made:
        raise InputError("`verbs=` names no verb.")
    for verb in made:
        if not re.fullmatch(r"[^\W\d_]+(?:-[^\W\d_]+)*", verb):
            raise InputError(f"`verbs=` takes lemmas, single words such as attack; got {verb!r}.")
    return made


def _lexicon_path(name: str, columns: Sequence[str], option: str) -> Path:
    path = Path(name)
    if path.suffix == "" and not path.exists():
        known = shipped_names(columns)
        if name not in known:
            raise InputError(
                f"{option}: there is no lexicon `{name}` (or give a CSV file).{_validate.nearest(name, known)}"
            )
        return shipped(name)
    if not path.is_file():
        raise InputError(f"{option}: there is no file {name}.")
    return path


def _rows(path: Path, columns: Sequence[str]) -> Iterable[tuple[int, dict[str, str]]]:
    """The lines of a CSV file as dictionaries, after checking its header."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = [h.strip() for h in reader.fieldnames or []]
            missing = [c for c in columns if c not in header]
            if missing:
                raise InputError(f"{path} has no column `{missing[0]}`.{_validate.nearest(missing[0], header)}")
            reader.fieldnames = header
            for row in reader:
                if None in row or any(row[c] is None for c in columns):
                    raise InputError(f"{path}, line {reader.line_num}: {len(header)} values were expected.")
                yield reader.line_num, row
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it as UTF-8.") from None
    except csv.Error as error:
        raise InputError(f"{path} is not CSV: {error}.") from None
