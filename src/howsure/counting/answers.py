"""Answers of people to "is this item positive?", kept in a CSV file: resumable, with undo, for several people at once."""

import csv
import io
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from howsure.errors import InputError
from howsure.files import locked, write_whole

COLUMNS = ("label", "annotator", "stratum", "inclusion", "time")


@dataclass(frozen=True, slots=True)
class Item:
    """Something to label: its key, its text, what else is shown, and how it was drawn (empty: not known)."""

    key: str
    text: str
    fields: tuple[tuple[str, str], ...] = ()
    stratum: str = ""
    inclusion: str = ""


class Answers:
    """One person's answers to some items, in a file that may hold those of others; what it holds already is taken up again.

    `key` is what its column of keys is called, `annotator` whose answers these are.
    """

    def __init__(self, path: str | Path, key: str, items: Sequence[Item], annotator: str = "1") -> None:
        self.path, self.key, self.items, self.annotator = Path(path), key, tuple(items), annotator
        if key in COLUMNS:
            raise InputError(f"the key cannot be called `{key}`: files of labels have a column of that name.")
        self._by_key = {item.key: item for item in items}
        if len(self._by_key) < len(items):
            twice = next(k for i, k in enumerate(x.key for x in items) if k in {y.key for y in items[:i]})
            raise InputError(f"the key {twice!r} stands in several rows; `{key}` must be unique.")
        self.given = {r[key]: r["label"] == "1" for r in self._read() if r["annotator"] == annotator}

    def __len__(self) -> int:
        return sum(k in self._by_key for k in self.given)

    def left(self) -> list[Item]:
        """Items without an answer, in their order."""
        return [item for item in self.items if item.key not in self.given]

    def answer(self, item: Item, yes: bool) -> None:
        """Keep an answer, on disk at once."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        values = (item.key, "1" if yes else "0", self.annotator, item.stratum, item.inclusion, now)
        row, mine = dict(zip((self.key, *COLUMNS), values, strict=True)), (self.annotator, item.key)
        with self._locked():
            self._write([r for r in self._read() if (r["annotator"], r[self.key]) != mine] + [row])
        self.given[item.key] = yes

    def undo(self) -> Item | None:
        """Take this person's last answer back."""
        with self._locked():
            rows = self._read()
            mine = [i for i, r in enumerate(rows) if r["annotator"] == self.annotator and r[self.key] in self._by_key]
            if not mine:
                return None
            last = rows.pop(mine[-1])
            self._write(rows)
        self.given.pop(last[self.key], None)
        return self._by_key[last[self.key]]

    def everyone(self) -> dict[str, dict[str, bool]]:
        """All people's answers to these items: by annotator, then by key."""
        made: dict[str, dict[str, bool]] = {}
        for r in self._read():
            if r[self.key] in self._by_key:
                made.setdefault(r["annotator"], {})[r[self.key]] = r["label"] == "1"
        return made

    def settled(self) -> dict[str, bool]:
        """The label that most people gave to each item; items on which as many said yes as no are left out."""
        votes: dict[str, int] = {}
        for answers in self.everyone().values():
            for k, yes in answers.items():
                votes[k] = votes.get(k, 0) + (1 if yes else -1)
        return {k: v > 0 for k, v in votes.items() if v}

    def inclusions(self) -> dict[str, float]:
        """The inclusion probability of each answered item, as the file says."""
        return {r[self.key]: float(r["inclusion"]) for r in self._read() if r["inclusion"]}

    def _read(self) -> list[dict[str, str]]:
        if not self.path.is_file():
            return []
        try:
            rows = list(csv.DictReader(io.StringIO(self.path.read_text(encoding="utf-8"), newline=""), strict=True))
            good = all({self.key, *COLUMNS} <= set(r) and r["label"] in ("0", "1") and None not in r for r in rows)
        except (csv.Error, UnicodeDecodeError):
            good = False
        if not good:
            raise InputError(
                f"{self.path} is not a file of answers (columns {self.key}, {', '.join(COLUMNS)}); name another with -o."
            )
        return rows

    def _write(self, rows: Sequence[dict[str, str]]) -> None:
        file = io.StringIO(newline="")
        writer = csv.DictWriter(file, [self.key, *COLUMNS], lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
        write_whole(self.path, file.getvalue().encode())

    def _locked(self) -> AbstractContextManager[None]:
        """Two people who answer at once never lose each other's answers: the folder is locked while one writes."""
        return locked(self.path.resolve().parent)
