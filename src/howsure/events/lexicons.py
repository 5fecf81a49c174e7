"""Actors and verbs as plain CSV, and where an actor's words stand in a text.

Actors have the columns `code`, `name` and `words` (names and demonyms separated by semicolons); verbs have a column `lemma`.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from itertools import repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._result import shown_as
from howsure.errors import InputError

COLUMNS = ("code", "name", "words")
_Table = dict[str, list[tuple[tuple[str, ...], int]]]
_PARTS = re.compile(r"[\w.'’]+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Actor:
    """Whom events are counted for: a code, a name for people, and the words that point to it."""

    code: str
    name: str
    words: tuple[str, ...]
    seats: tuple[str, ...] = ()  # where it governs from: they stand for it as subjects and objects ("Moscow said")


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
    paths: tuple[Path, ...] = field(default=(), repr=False, compare=False)  # the files it was read from
    # A word, its actor, who claims it too.
    shared: tuple[tuple[str, str, str], ...] = field(default=(), repr=False, compare=False)
    _table: _Table = field(init=False, repr=False, compare=False)
    _seats: _Table = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_table", _phrases(a.words for a in self.actors))
        object.__setattr__(self, "_seats", _phrases(a.seats for a in self.actors))

    __repr__ = shown_as("{name!r}: {#actors:,} actors")

    def number(self, code: str) -> int:
        """An actor's number, by its code or, failing that, its name; case does not matter."""
        wanted = code.strip().lower()
        for names in ([a.code.lower() for a in self.actors], [a.name.lower() for a in self.actors]):
            if wanted in names:
                return names.index(wanted)
        raise InputError(f"there is no actor `{code}`.{_validate.nearest(code, [a.code for a in self.actors])}")

    def only(self, codes: Sequence[str]) -> Lexicon:
        """The named actors alone."""
        kept = sorted({self.number(c) for c in codes})
        return Lexicon(self.name, tuple(self.actors[i] for i in kept), self.paths, self.shared)

    def find(self, words: Sequence[str], upos: Sequence[str] | None = None, *, seats: bool = False) -> Found:
        """Where actors' words (or seats) stand among the tokens of a text, longest match first.

        A word that the lexicon writes with a capital needs one in the text ("Turkey", not "turkey"), unless the whole
        text has none. One written in capitals ("US") needs capitals, and is not found in a pronoun.
        """
        n, table = len(words), self._seats if seats else self._table
        actor, first = np.full(n, -1, np.int64), np.arange(n)
        places = [i for i, w in enumerate(map(str.lower, words)) if w in table]
        caseless, done = bool(places) and not any(w != w.lower() for w in words), 0
        for at in places:
            if at < done or (upos is not None and upos[at] == "PRON"):
                continue
            for parts, number in table[words[at].lower()]:
                end = at + len(parts)
                if end <= n and all(map(_same, parts, words[at:end], repeat(caseless))):
                    actor[at:end], first[at:end] = number, at
                    done = end
                    break
        return Found(actor, first)


def _phrases(words: Iterable[tuple[str, ...]]) -> _Table:
    table: _Table = {}
    for number, word in ((number, word) for number, own in enumerate(words) for word in own):
        for parts in _spellings(word):
            table.setdefault(parts[0].lower(), []).append((parts, number))
    for phrases in table.values():
        phrases.sort(key=lambda p: -len(p[0]))
    return table


def _spellings(word: str) -> set[tuple[str, ...]]:
    """A name cut at spaces, and cut at hyphens too: texts are tokenised either way. A final 's is a token."""
    at_spaces: list[str] = []
    for part in word.split():
        stem = re.fullmatch(r"(.+)(['’]s)", part)
        at_spaces += [stem[1], stem[2]] if stem else [part]
    at_hyphens = [piece for part in at_spaces for piece in (_PARTS.findall(part) if "-" in part else [part])]
    return {tuple(at_spaces), tuple(at_hyphens)}


@lru_cache(1 << 16)
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
    return sorted(name for name, header in first.items() if header.split(",")[: len(columns)] == list(columns))


def actors(name: str | Sequence[str]) -> Lexicon:
    """Lexicons of actors, added up: of the package ("countries,organisations") or CSV files with code, name and words.

    A code that comes again adds its words to the first. A word that two actors claim stays with the first, and it is said so
    (`Lexicon.shared`).
    """
    names = [n.strip() for n in name.split(",") if n.strip()] if isinstance(name, str) else list(name)
    if not names:
        raise InputError("`actors=` names no lexicon.")
    parts = [_one_lexicon(n) for n in names]
    if len(parts) == 1:
        return parts[0]
    made: dict[str, Actor] = {}
    owner: dict[str, str] = {}
    shared: list[tuple[str, str, str]] = []
    for actor in (a for part in parts for a in part.actors):
        for word in (*actor.words, *actor.seats):
            if owner.setdefault(word, actor.code) != actor.code:
                shared.append((word, owner[word], actor.code))
        words, seats = (tuple(w for w in own if owner[w] == actor.code) for own in (actor.words, actor.seats))
        old = made.get(actor.code, Actor(actor.code, actor.name, ()))
        both = (tuple(dict.fromkeys(own)) for own in (old.words + words, old.seats + seats))
        made[actor.code] = Actor(actor.code, old.name, *both)
    kept = tuple(a for a in made.values() if a.words or a.seats)
    paths = tuple(path for p in parts for path in p.paths)
    return Lexicon("+".join(p.name for p in parts), kept, paths, tuple(shared))


def _one_lexicon(name: str) -> Lexicon:
    path = _lexicon_path(name, COLUMNS, "`actors=`")
    found: dict[str, Actor] = {}
    owner: dict[str, str] = {}
    for line, row in csv_rows(path, COLUMNS):
        code = row["code"].strip()
        words, seats = (tuple(filter(None, map(str.strip, (row.get(k) or "").split(";")))) for k in ("words", "seats"))
        if not code or not words:
            raise InputError(f"{path}, line {line}: the actor has no {'words' if code else 'code'}.")
        if code in found:
            raise InputError(f"{path}, line {line}: the code {code} has been used before; codes are unique.")
        for word in words:
            if owner.setdefault(word, code) != code:
                raise InputError(f'{path}, line {line}: "{word}" belongs to {owner[word]} already.')
        found[code] = Actor(code, row["name"].strip() or code, tuple(dict.fromkeys(words)), seats)
    if not found:
        raise InputError(f"{path} holds no actors.")
    return Lexicon(Path(name).stem, tuple(found.values()), (path,))


def verbs(given: str | Sequence[str]) -> tuple[str, ...]:
    """Lemmas of verbs: "attack", "attack,bomb", a list, a lexicon of the package or a CSV file with a column lemma."""
    lemmas = given.split(",") if isinstance(given, str) else given
    if isinstance(given, str) and (given.endswith(".csv") or given in shipped_names(("lemma",))):
        path = _lexicon_path(given, ("lemma",), "`verbs=`")
        lemmas = [row["lemma"] for _, row in csv_rows(path, ("lemma",))]
    made = tuple(sorted({v.strip().lower() for v in lemmas if v.strip()}))
    if not made:
        raise InputError("`verbs=` names no verb.")
    for verb in made:
        if not re.fullmatch(r"[^\W\d_]+(?:-[^\W\d_]+)*", verb):
            raise InputError(f"`verbs=` takes lemmas, single words such as attack; got {verb!r}.")
    return made


@cache
def event_words() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Verb → nouns that name the same event, verbs that are alike, irregular forms; derived from WordNet (README)."""
    with gzip.open(str(files("howsure.data") / "event_words.csv.gz"), "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split(",") for line in file][1:]
    return {verb: tuple(tuple(w for w in c.split(";") if w) for c in columns) for verb, *columns in rows}


def nouns(of: Sequence[str]) -> tuple[str, ...]:
    """Nouns that name the events of the verbs: attack for attack, bombing for bomb."""
    return tuple(sorted({n for v in of for n in event_words().get(v, ((),))[0]}))


def alike(of: Sequence[str]) -> tuple[str, ...]:
    """Verbs that share a sense with the verbs or are ways of doing them, without these."""
    return tuple(sorted({s for v in of for s in event_words().get(v, ((), ()))[1]} - set(of)))


def lemma_hints(of: Sequence[str]) -> dict[str, str]:
    """Given words that are no lemma of a verb, and the lemma that is meant: bought → buy, attacked → attack."""
    known = event_words()
    irregular = {f: v for v, words in known.items() for f in words[2]}
    made = {}
    for word in (w for w in of if w not in known):
        stems = [word.removesuffix(e) for e in ("ing", "ed", "es", "s", "d") if word.endswith(e)]
        endings = [stem + add for stem in stems for add in ("", "e")]
        doubled = [s[:-1] for s in endings if len(s) > 3 and s[-1] == s[-2]]
        lemma = irregular.get(word) or next((s for s in (*endings, *doubled) if s in known), None)
        if lemma:
            made[word] = lemma
    return made


def _lexicon_path(name: str, columns: Sequence[str], option: str) -> Path:
    path, known = Path(name), shipped_names(columns)
    if name in known:  # whatever is called so in this folder
        return shipped(name)
    if path.suffix == "" and not path.exists():
        there = _validate.nearest(name, known)
        raise InputError(f"{option}: there is no lexicon `{name}` (or give a CSV file).{there}")
    if not path.is_file():
        raise InputError(f"{option}: there is no file {name}.")
    return path


def csv_rows(path: Path, columns: Sequence[str]) -> Iterable[tuple[int, dict[str, str]]]:
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
