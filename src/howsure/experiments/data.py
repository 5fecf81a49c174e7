"""Which data an experiment is done on: the source's own where HOWSURE_DATA has them, else what is public.

An experiment names its corpora in order of preference. A corpus is there when its folder has a file of the pattern.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from howsure.data import table
from howsure.errors import InputError


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder below HOWSURE_DATA, what lies there, and where it is to be had."""

    folder: str
    title: str
    pattern: str
    source: str
    public: bool = True

    @property
    def path(self) -> Path | None:
        """The folder, if it is there with a file of the pattern."""
        root = os.environ.get("HOWSURE_DATA")
        if not root:
            return None
        path = Path(root, self.folder)
        return path if next(path.glob(self.pattern), None) is not None else None


CORPORA = {row["folder"]: Corpus(**{**row, "public": row["public"] == "yes"}) for row in table("corpora")}  # type: ignore[arg-type]


def chosen(wanted: Sequence[str]) -> str | None:
    """The first of the corpora that is there; "a+b" is two together, "" no corpus at all."""
    return next((w for w in wanted if all(CORPORA[c].path for c in w.split("+") if c)), None)


def title(name: str) -> str:
    """What a choice is called on a page."""
    return " and ".join(CORPORA[c].title for c in name.split("+")) if name else "no corpus"


def missing(experiment: str, wanted: Sequence[str]) -> InputError:
    """One line: what the experiment would need, and where that is to be had."""
    where = os.environ.get("HOWSURE_DATA")
    folders = [w for w in wanted if w]
    named = " or ".join(" and ".join(f"{c}/" for c in w.split("+")) for w in folders)
    offered = [CORPORA[c] for w in folders for c in w.split("+")]
    easy = next((c for c in offered if c.public), offered[0])
    place = f"not below HOWSURE_DATA ({where})" if where else "HOWSURE_DATA names no folder"
    return InputError(f"{experiment} needs {named}, {place}: {easy.folder}/ is {easy.title} ({easy.source}).")


def fingerprint(name: str) -> str:
    """Changes when a file of the corpora comes, goes or has another size: a result of other data is not used again."""
    seen = hashlib.sha256()
    for folder in (c for c in name.split("+") if c):
        path = CORPORA[folder].path
        if path is not None:
            for file in sorted(f for f in path.rglob("*") if f.is_file()):
                seen.update(f"{folder}/{file.relative_to(path)} {file.stat().st_size}\n".encode())
    return seen.hexdigest()[:16] if name else ""
