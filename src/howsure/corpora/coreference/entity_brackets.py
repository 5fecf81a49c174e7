"""Entity mentions written as brackets: `(3-person-new(4)` opens 3, opens and closes 4; `3)` closes 3."""

from __future__ import annotations

import re

from howsure.corpora.document import Mention
from howsure.errors import InputError

PIECE = re.compile(r"\(([^()]+)(\)?)|([^()]+)\)")
PART = re.compile(r"\[(\d+)/(\d+)\]$")


class BracketReader:
    """Collects the mentions of a document, token by token.

    `layout` is CoNLL-U's `global.Entity` ("GRP-etype-…"), which says which of the dash-separated values is the entity
    and which its type; without it the first value is the entity. A mention in several parts (`4[1/2]`) becomes the
    span of its longest part, the first among equals. Mentions nest; only with `crossing` may they overlap otherwise.
    """

    def __init__(self, layout: str = "", *, crossing: bool = False) -> None:
        self.crossing = crossing
        self.places: dict[int, str] = {}  # where the brackets of a token are, for messages
        names = layout.split("-") if layout else ["GRP"]
        self.entity_at = names.index("GRP") if "GRP" in names else names.index("eid") if "eid" in names else 0
        self.type_at = names.index("etype") if "etype" in names else None
        self.open: dict[str, list[tuple[int, int, str, str]]] = {}
        self.found: list[tuple[int, int, int, str, str, str]] = []  # start, -end, order, entity, type, parts' key
        self.order = 0

    def read(self, value: str, token: int, where: str) -> None:
        """The brackets at one token."""
        at = 0
        self.places[token] = where
        while at < len(value):
            match = PIECE.match(value, at)
            if match is None:
                raise InputError(f'{where}: brackets of Entity cannot be read at "{value[at:][:20]}".')
            at = match.end()
            opened, closed, ended = match.group(1), match.group(2), match.group(3)
            if opened is not None:
                fields = opened.split("-")
                entity = fields[min(self.entity_at, len(fields) - 1)]
                kind = "" if self.type_at is None or self.type_at >= len(fields) else fields[self.type_at]
                name, parts = _parts(entity)
                if closed:
                    self.found.append((token, -token - 1, self.order, name, kind, parts))
                else:
                    self.open.setdefault(name, []).append((self.order, token, kind, parts))
                self.order += 1
            else:
                fields = ended.split("-")
                name, parts = _parts(fields[0] if len(fields) == 1 else fields[min(self.entity_at, len(fields) - 1)])
                waiting = self.open.get(name)
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
        split: dict[tuple[str, int], list[tuple[int, int, int, str, str]]] = {}
        numbers: dict[str, int] = {}
        for start, minus_end, order, name, kind, parts in sorted(self.found):
            if not parts:
                whole.append((start, minus_end, order, name, kind))
                continue
            if parts.startswith("1/"):
                numbers[name] = numbers.get(name, 0) + 1
            split.setdefault((name, numbers.get(name, 0)), []).append((start, minus_end, order, name, kind))
        if not self.crossing:
            self._check_nesting(whole)
        whole += [max(pieces, key=lambda m: (-m[1] - m[0], -m[0])) for pieces in split.values()]
        return tuple(Mention(start, -minus_end, name, kind) for start, minus_end, _, name, kind in sorted(whole))

    def _check_nesting(self, whole: list[tuple[int, int, int, str, str]]) -> None:
        around: list[tuple[int, str]] = []  # end and name of the mentions that the next one is inside of
        for start, minus_end, _, name, _ in whole:
            while around and around[-1][0] <= start:
                around.pop()
            if around and -minus_end > around[-1][0]:
                raise InputError(
                    f'{self.places[start]}: the brackets of entity "{name}" cross those of "{around[-1][1]}"; '
                    "mentions must nest."
                )
            around.append((-minus_end, name))


def _parts(entity: str) -> tuple[str, str]:
    match = PART.search(entity)
    return (entity[: match.start()], f"{match[1]}/{match[2]}") if match else (entity, "")
