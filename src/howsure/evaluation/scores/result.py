"""One system's labels against the gold: the result of `howsure score`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from howsure.calibration.estimation.intervals import Estimate
from howsure.evaluation.scores.confusion import Confusion


@dataclass(frozen=True, slots=True)
class ClassScore:
    """One class, or one type of span; a metric is None where it is 0/0."""

    label: str
    gold: int
    predicted: int
    hit: int
    precision: Estimate | None
    recall: Estimate | None
    f: Estimate | None

    @property
    def note(self) -> str:
        """Why a metric is missing."""
        if self.gold == 0:
            return "never in gold: recall is 0/0"
        return "" if self.predicted else "never predicted: precision is 0/0"

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        made: dict[str, Any] = {name: getattr(self, name) for name in ("label", "gold", "predicted", "hit")}
        for name in ("precision", "recall", "f"):
            e = getattr(self, name)
            made[name] = None if e is None else e.to_dict()
        return made | ({"note": self.note} if self.note else {})


@dataclass(frozen=True, slots=True)
class Averages:
    """Precision, recall and F of all classes, averaged one way."""

    precision: Estimate
    recall: Estimate
    f: Estimate

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return {name: getattr(self, name).to_dict() for name in ("precision", "recall", "f")}


@dataclass(frozen=True, slots=True)
class Baseline:
    """What one would score without looking at the items; of expected counts where it guesses."""

    name: str
    accuracy: float
    macro_f: float

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return {"name": self.name, "accuracy": self.accuracy, "macro_f": self.macro_f}


@dataclass(frozen=True, slots=True)
class Score:
    """How good labels are. Made by `howsure.score`."""

    n: int
    accuracy: Estimate
    classes: tuple[ClassScore, ...]
    macro: Averages
    micro: Averages
    weighted: Averages
    beta: float = 1.0
    confidence_level: float = 0.95
    confusion: Confusion | None = None
    baselines: tuple[Baseline, ...] = ()
    ceiling: Score | None = None
    n_groups: int | None = None
    spans: bool = False
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()
    source: str = "arrays"

    def __repr__(self) -> str:
        head = f"micro {self.f_name} {self.micro.f!r}" if self.spans else f"accuracy {self.accuracy!r}"
        return f"Score({head}, macro {self.f_name} {self.macro.f!r}, n={self.n:,})"

    @property
    def f_name(self) -> str:
        """F1, F2, F0.5 …"""
        return f"F{self.beta:g}"

    @property
    def verdict(self) -> str:
        """The answer in words."""
        from howsure.evaluation.scores.verdict import verdict

        return verdict(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints."""
        made: dict[str, Any] = {
            "verdict": self.verdict,
            "n": self.n,
            "n_groups": self.n_groups,
            "confidence_level": self.confidence_level,
            "beta": self.beta,
            "of": "spans" if self.spans else "labels",
            "accuracy": self.accuracy.to_dict(),
            "macro": self.macro.to_dict(),
            "micro": self.micro.to_dict(),
            "weighted": self.weighted.to_dict(),
            "classes": [c.to_dict() for c in self.classes],
            "baselines": [b.to_dict() for b in self.baselines],
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }
        if self.confusion is not None:
            made |= {"confusion": self.confusion.to_dict(), "most_confused": self.confusion.most_confused()}
        if self.ceiling is not None:
            made["ceiling"] = {k: v for k, v in self.ceiling.to_dict().items() if k != "verdict"}
        return made

    def _repr_html_(self) -> str:
        from howsure.report.score_page import score_snippet

        return score_snippet(self)
