"""What an experiment returns: the claims of the source beside what was found, with figures and tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Verdict = Literal["confirmed", "corrected"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim of the source, whether it holds, and the numbers that say so."""

    claim: str
    source: str
    verdict: Verdict
    said: str
    numbers: dict[str, float | int]

    def __repr__(self) -> str:
        return f"Finding({self.verdict}: {self.claim})"


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as a Vega-Lite specification in plain data."""

    name: str
    caption: str
    specification: dict[str, Any]

    def __repr__(self) -> str:
        return f"Figure({self.name}: {self.caption})"


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns of numbers and words."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __repr__(self) -> str:
        return f"Table({self.name}: {len(self.rows)} rows)"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """An experiment done again. Made by `howsure.reproduce`."""

    name: str
    title: str
    shows: str
    settings: dict[str, Any]
    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    version: str = ""
    cached: bool = field(default=False, compare=False)
    files: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        held = sum(f.verdict == "confirmed" for f in self.findings)
        return f"Reproduction({self.name}: {held} claims confirmed, {len(self.findings) - held} corrected)"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints and the cache keeps."""
        made = asdict(self)
        del made["cached"], made["files"]
        return made

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> Reproduction:
        """The result that `to_dict` was made from."""
        tables = [{**t, "columns": tuple(t["columns"]), "rows": tuple(map(tuple, t["rows"]))} for t in kept["tables"]]
        parts = {
            "findings": tuple(Finding(**f) for f in kept["findings"]),
            "figures": tuple(Figure(**f) for f in kept["figures"]),
            "tables": tuple(Table(**t) for t in tables),
            "notes": tuple(kept["notes"]),
        }
        return cls(**{**kept, **parts})
