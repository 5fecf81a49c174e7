"""One system's labels against the gold: the result of `howsure score`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from howsure._result import Record, Result, drawn_by
from howsure.calibration.estimation.intervals import Estimate
from howsure.evaluation.scores.confusion import Confusion


@dataclass(frozen=True, slots=True)
class ClassScore(Record):
    """One class, or one type of span; a metric is None where it is 0/0."""

    SHOWN = "label gold predicted hit precision recall f note?"

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


@dataclass(frozen=True, slots=True)
class Averages(Record):
    """Precision, recall and F of all classes, averaged one way."""

    precision: Estimate
    recall: Estimate
    f: Estimate


@dataclass(frozen=True, slots=True)
class Baseline(Record):
    """What one would score without looking at the items; of expected counts where it guesses."""

    name: str
    accuracy: float
    macro_f: float


@dataclass(frozen=True, slots=True)
class Score(Result):
    """How good labels are. Made by `howsure.score`."""

    SHOWN = "verdict n n_groups confidence_level beta of accuracy macro micro weighted classes baselines left_out notes"

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

    @property
    def of(self) -> str:
        """What is scored."""
        return "spans" if self.spans else "labels"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints and the page shows."""
        made = Result.to_dict(self) | {"left_out": dict(self.left_out)}
        if self.confusion is not None:
            made |= {"confusion": self.confusion.to_dict(), "most_confused": self.confusion.most_confused()}
        if self.ceiling is not None:
            made["ceiling"] = {k: v for k, v in self.ceiling.to_dict().items() if k != "verdict"}
        return made

    def table(self) -> list[dict[str, Any]]:
        """One row a class, then the averages."""
        rows = [
            {"": c.label, "gold": c.gold, "precision": c.precision, "recall": c.recall, self.f_name: c.f}
            for c in self.classes
        ]
        means = (("macro", self.macro), ("micro", self.micro), ("weighted", self.weighted))
        return rows + [
            {"": name, "gold": None, "precision": a.precision, "recall": a.recall, self.f_name: a.f}
            for name, a in means
        ]

    figure = drawn_by("howsure.plots.labels.score_figure")
    to_text = drawn_by("howsure.report.text.score.score_text")
    to_html = drawn_by("howsure.report.pages.score_page")
