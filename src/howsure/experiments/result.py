"""What an experiment returns: its findings, with figures and tables."""

from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from howsure._result import Result, shown_as
from howsure.calibration.analysis import analyse_rows
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.result import Calibration
from howsure.experiments.findings import Finding
from howsure.kernels.cells import Floats, Ints
from howsure.report.text.layout import filled, joined


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as a Vega-Lite specification in plain data."""

    name: str
    caption: str
    specification: dict[str, Any]

    __repr__ = shown_as("{name}: {caption}")


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns of numbers and words."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    __repr__ = shown_as("{name}: {#rows} rows")


@dataclass(frozen=True, slots=True)
class Reproduction(Result):
    """An experiment done again. Made by `howsure.reproduce`."""

    DRAWN = "-its figures are files of their own, beside its page"
    __repr__ = shown_as("{name}: {verdict}")

    name: str
    title: str
    shows: str
    settings: dict[str, Any]
    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    data: str = ""  # on what it was done, in words
    version: str = ""
    cached: bool = field(default=False, compare=False)
    files: tuple[str, ...] = field(default=(), compare=False)

    @property
    def verdict(self) -> str:
        """How many claims hold."""
        verdicts = [f.verdict for f in self.findings]
        first = [f"{verdicts.count('confirmed')} claims confirmed", f"{verdicts.count('corrected')} corrected"]
        rest = [f"{verdicts.count(v)} {v}" for v in ("differs", "undecided", "not tested", "extended") if v in verdicts]
        return ", ".join(first + rest)

    def table(self) -> list[dict[str, Any]]:
        """One row a claim."""
        return [{"claim": f.claim, "source": f.source, "verdict": f.verdict, "said": f.said} for f in self.findings]

    def to_text(self) -> str:
        """Title, findings and what was written."""
        parts = [self.title + (f"\nData: {self.data}" if self.data else "")]
        for f in self.findings:
            claim = filled(f"{f.verdict.upper()}: {f.claim} ({f.source})", "  ")
            if f.paper or f.ours:
                claim += "\n" + filled(f"source: {f.paper}; here: {f.ours}", "    ")
            parts.append(claim + "\n" + filled(f.said, "    "))
        parts.append("\n".join(f"Written: {path}" for path in self.files))
        return joined(parts)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints and the cache keeps."""
        made = asdict(self)
        del made["cached"], made["files"]
        return made

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> Self:
        """The result that `to_dict` was made from."""
        tables = [{**t, "columns": tuple(t["columns"]), "rows": tuple(map(tuple, t["rows"]))} for t in kept["tables"]]
        parts = {
            "findings": tuple(Finding(**f) for f in kept["findings"]),
            "figures": tuple(Figure(**f) for f in kept["figures"]),
            "tables": tuple(Table(**t) for t in tables),
            "notes": tuple(kept["notes"]),
        }
        return cls(**{**kept, **parts})


CONFIDENCE_LEVEL = 0.95


def calibrated(y: np.ndarray, q: Floats, groups: Ints | None, bins: int | str | None = None) -> Calibration:
    """A calibration whose intervals take the groups, numbered from 0, for what is independent."""
    y, q = np.ascontiguousarray(y, np.uint8), np.ascontiguousarray(q)
    return analyse_rows(y, q, groups, CONFIDENCE_LEVEL, bins)[0]


def error_of(c: Calibration) -> Estimate:
    """The RMS error, of more than one row or group."""
    assert c.error is not None
    return c.error


def short(value: float, digits: int = 6) -> float:
    """Rounded to a few digits, more than a figure shows."""
    return float(f"{value:.{digits}g}")
