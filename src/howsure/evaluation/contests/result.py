"""Systems' labels on the same items: which is better, by how much, and how surely. The result of `howsure compare --pred`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from howsure.calibration.comparing.difference import Difference
from howsure.calibration.comparing.result import Comparison
from howsure.calibration.estimation.intervals import Estimate
from howsure.evaluation.contests.power import Power
from howsure.evaluation.contests.resampling import Bootstrap
from howsure.evaluation.contests.significance import Test


@dataclass(frozen=True, slots=True)
class SystemScore:
    """One system: the metric compared, and its accuracy."""

    name: str
    value: Estimate
    accuracy: Estimate

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return {"name": self.name, "value": self.value.to_dict(), "accuracy": self.accuracy.to_dict()}


@dataclass(frozen=True, slots=True)
class Duel:
    """System `a` less system `b`: a positive difference favours `a`. The first test is the one that counts."""

    a: str
    b: str
    difference: Difference
    tests: tuple[Test, ...]
    bootstrap: Bootstrap
    power: Power
    adjusted_p_value: float | None = None
    a_only: int | None = None  # rows that only `a` has right
    b_only: int | None = None

    def __repr__(self) -> str:
        return f"Duel({self.a} - {self.b}: {self.difference!r})"

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return {
            "a": self.a,
            "b": self.b,
            "effect_size": self.difference.value,
            "difference": self.difference.to_dict(),
            "adjusted_p_value": self.adjusted_p_value,
            "tests": [t.to_dict() for t in self.tests],
            "bootstrap": self.bootstrap.to_dict(),
            "power": self.power.to_dict(),
            "only_a_right": self.a_only,
            "only_b_right": self.b_only,
        }


@dataclass(frozen=True, slots=True)
class Contest:
    """How systems compare on the same items. Made by `howsure.compare` when it is given labels."""

    metric: str
    systems: tuple[SystemScore, ...]
    duels: tuple[Duel, ...]
    n: int
    n_groups: int | None = None
    confidence_level: float = 0.95
    positive: str | None = None
    planned: int | None = None
    calibration: Comparison | None = None  # of the probabilities, where given
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()
    source: str = "arrays"

    def __repr__(self) -> str:
        scores = ", ".join(f"{s.name} {s.value!r}" for s in self.systems)
        return f"Contest({self.metric}: {scores}, n={self.n:,})"

    @property
    def metric_name(self) -> str:
        """The metric as people write it."""
        names = {"accuracy": "accuracy", "macro-f1": "macro F1", "span-f1": "span F1"}
        return names.get(self.metric, f"F1 of {self.positive!r}")

    @property
    def verdict(self) -> str:
        """The answer in words."""
        from howsure.evaluation.contests.verdict import verdict

        return verdict(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints."""
        made: dict[str, Any] = {
            "verdict": self.verdict,
            "metric": self.metric,
            "positive": self.positive,
            "n": self.n,
            "n_groups": self.n_groups,
            "confidence_level": self.confidence_level,
            "systems": [s.to_dict() for s in self.systems],
            "pairs": [d.to_dict() for d in self.duels],
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }
        if self.planned is not None:
            made["planned"] = {"rows": self.planned, "power": [d.power.power(self.planned) for d in self.duels]}
        if self.calibration is not None:
            made["calibration"] = self.calibration.to_dict()
        return made

    def _repr_html_(self) -> str:
        from howsure.report.contest_page import contest_snippet

        return contest_snippet(self)
