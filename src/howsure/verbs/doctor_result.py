"""What `howsure.doctor` returns: packages, extras, machine, caches and corpora, with a verdict in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Package:
    """A package that is needed, the oldest version that will do, and the one that is there."""

    name: str
    needed: str  # "" when any will do
    version: str | None  # None: not installed

    @property
    def trouble(self) -> str | None:
        """What is wrong with it, in words; None when nothing is."""
        if self.version is None:
            return "not installed"
        return f"{self.needed} or newer is needed" if _numbers(self.version) < _numbers(self.needed) else None

    def to_dict(self) -> dict[str, Any]:
        """Fields and what is wrong."""
        return {"name": self.name, "needed": self.needed, "version": self.version, "trouble": self.trouble}


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional set of packages, what it is for, and what else it lacks (Spark needs Java)."""

    name: str
    purpose: str
    packages: tuple[Package, ...]
    lacks: str | None = None
    remark: str = ""

    @property
    def is_there(self) -> bool:
        """Whether all of it can be used."""
        return self.lacks is None and all(p.trouble is None for p in self.packages)

    @property
    def remedy(self) -> str | None:
        """How to get it."""
        if any(p.trouble is not None for p in self.packages):
            return f"pip install 'howsure[{self.name}]'"
        return self.lacks

    def to_dict(self) -> dict[str, Any]:
        """Fields, whether it is there, and how to get it."""
        return {
            "name": self.name,
            "purpose": self.purpose,
            "is_there": self.is_there,
            "remedy": self.remedy,
            "remark": self.remark,
            "packages": [p.to_dict() for p in self.packages],
        }


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder in which things are kept: its size in bytes, and whether one can write there."""

    what: str
    path: str
    size: int | None  # None: it does not exist yet
    is_writable: bool
    is_whole: bool = True  # False: too many files to add up; the size is a lower bound

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return {name: getattr(self, name) for name in Folder.__slots__}


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it runs: cores that may be used, memory in all and free disk of the temporary folder in bytes."""

    python: str
    platform: str
    cores: int
    memory: int | None
    temporary: str
    free_disk: int

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return {name: getattr(self, name) for name in Machine.__slots__}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is installed, what is missing, and how to get it. Made by `howsure.doctor`."""

    version: str
    base: tuple[Package, ...]
    extras: tuple[Extra, ...]
    english: str | None  # what is wrong with the model that ships; None: nothing
    machine: Machine
    folders: tuple[Folder, ...]
    data: str | None  # HOWSURE_DATA
    corpora: tuple[str, ...]
    troubles: tuple[str, ...] = ()  # of a thorough examination
    is_thorough: bool = False

    def __repr__(self) -> str:
        state = "well" if self.is_well else "broken"
        return f"Diagnosis({state}, {len(self.missing)} of {len(self.extras)} extras missing)"

    @property
    def is_well(self) -> bool:
        """Whether the base works: its packages are there and new enough, and so is the model that ships."""
        return not self.troubles and self.english is None and all(p.trouble is None for p in self.base)

    @property
    def missing(self) -> tuple[Extra, ...]:
        """The extras that cannot be used."""
        return tuple(e for e in self.extras if not e.is_there)

    @property
    def verdict(self) -> str:
        """The answer in words, with what to do."""
        if not self.is_well:
            wrong = [f"{p.name} ({p.trouble})" for p in self.base if p.trouble is not None]
            wrong += [] if self.english is None else [f"the English model ({self.english})"]
            wrong += self.troubles
            return f"howsure {self.version} is broken: {'; '.join(wrong)}. Mend it with: pip install --force-reinstall howsure"
        said = f"howsure {self.version} is well: "
        if not self.base:
            return said + "but it runs from sources that were never installed, so that what it needs is not known."
        if not self.missing:
            return said + "everything is installed."
        names = ", ".join(e.name for e in self.missing)
        few = "one extra is" if len(self.missing) == 1 else f"{len(self.missing)} extras are"
        said += f"the base is complete; {few} missing ({names})."
        return said + " " + "; ".join(dict.fromkeys(str(e.remedy) for e in self.missing))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints."""
        return {
            "verdict": self.verdict,
            "is_well": self.is_well,
            "version": self.version,
            "base": [p.to_dict() for p in self.base],
            "extras": [e.to_dict() for e in self.extras],
            "english_model": {"is_whole": self.english is None, "trouble": self.english},
            "machine": self.machine.to_dict(),
            "folders": [f.to_dict() for f in self.folders],
            "data": self.data,
            "corpora": list(self.corpora),
            "is_thorough": self.is_thorough,
            "troubles": list(self.troubles),
        }

    def _repr_html_(self) -> str:
        from html import escape

        rows = [(p.name, p.version or "–", p.trouble or "") for p in self.base]
        rows += [(f"[{e.name}]", "there" if e.is_there else "missing", e.remedy or "") for e in self.extras]
        cells = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
        return f"<p><b>{escape(self.verdict)}</b></p><table>{cells}</table>"


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: (2, 4, 0) of "2.4.0rc1"."""
    found: list[int] = []
    for piece in version.split("."):
        digits = piece[: len(piece) - len(piece.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
        if digits != piece:
            break
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)
