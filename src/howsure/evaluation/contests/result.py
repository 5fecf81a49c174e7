"""Systems' labels on the same items: which is better, by how much, and how surely. The result of `howsure compare --pred`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from howsure._result import Record, Result, drawn_by
from howsure.calibration.comparing.difference import Difference
from howsure.calibration.comparing.result import Comparison
from howsure.calibration.estimation.intervals import Estimate
from howsure.evaluation.contests.power import Power
from howsure.evaluation.contests.resampling import Bootstrap
from howsure.evaluation.contests.significance import Test


@dataclass(frozen=True, slots=True)
class SystemScore(Record):
    """One system: the metric compared, and its accuracy."""

    name: str
    value: Estimate
    accuracy: Estimate


@dataclass(frozen=True, slots=True)
class Duel(Record):
    """System `a` less system `b`: a positive difference favours `a`. The first test is the one that counts."""

    SHOWN = (
        "a b effect_size=difference.value difference adjusted_p_value tests bootstrap power "
        "only_a_right=a_only only_b_right=b_only"
    )

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


@dataclass(frozen=True, slots=True)
class Contest(Result):
    """How systems compare on the same items. Made by `howsure.compare` when it is given labels."""

    SHOWN = "verdict metric positive n n_groups confidence_level systems pairs=duels left_out notes"

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
        """Everything as plain data: what `--json` prints and the page shows."""
        made = Result.to_dict(self) | {"left_out": dict(self.left_out)}
        if self.planned is not None:
            made["planned"] = {"rows": self.planned, "power": [d.power.power(self.planned) for d in self.duels]}
        return made | ({} if self.calibration is None else {"calibration": self.calibration.to_dict()})

    def table(self) -> list[dict[str, Any]]:
        """One row a system."""
        return [{"": s.name, self.metric_name: s.value, "accuracy": s.accuracy.value} for s in self.systems]

    figure = drawn_by("howsure.plots.labels.contest_figure")
    to_text = drawn_by("howsure.report.text.comparison.contest_text")
    to_html = drawn_by("howsure.report.pages.contest_page")
