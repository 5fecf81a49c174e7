"""One system's labels against the gold: the result of `howsure score`, and what it says in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure._result import Record, Result, drawn_by
from howsure.calibration.estimation.intervals import Estimate
from howsure.kernels.cells import Ints


@dataclass(frozen=True, slots=True)
class Confusion(Record):
    """Counts of (gold, predicted): a row each gold label, a column each predicted one."""

    SHOWN = "labels rows_gold_columns_predicted=counts"

    labels: tuple[str, ...]
    counts: Ints

    @staticmethod
    def of(labels: tuple[str, ...], gold: Ints, pred: Ints, count: Ints) -> Confusion:
        """Of pairs of label numbers, each with its count."""
        k = len(labels)
        counts = np.zeros((k, k), np.int64)
        np.add.at(counts, (gold, pred), count)
        counts.flags.writeable = False
        return Confusion(labels, counts)

    def __repr__(self) -> str:
        right = int(np.trace(self.counts))
        return f"Confusion({len(self.labels)} labels, {right:,} of {int(self.counts.sum()):,} right)"

    def most_confused(self, most: int = 10) -> list[dict[str, Any]]:
        """The commonest mistakes: gold, predicted, rows, and the share of the gold label's rows."""
        wrong = self.counts - np.diag(np.diag(self.counts))
        order = np.argsort(-wrong, axis=None, kind="stable")[:most]
        size = self.counts.sum(axis=1)
        made = []
        for g, p in (divmod(int(i), len(self.labels)) for i in order if wrong.flat[i] > 0):
            n = int(wrong[g, p])
            made.append({"gold": self.labels[g], "predicted": self.labels[p], "n": n, "share": n / int(size[g])})
        return made


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

    DRAWN = "F1"
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
        """How good, against what, and where it fails."""
        name, head = (f"span {self.f_name}", self.micro.f) if self.spans else ("accuracy", self.accuracy)
        level = f"{100 * self.confidence_level:g}% interval"
        limits = "" if head.low is None else f" ({level} {head.low:.3f} to {head.high:.3f})"
        said = [f"{head.value:.3f} {name}{limits}, macro {self.f_name} {self.macro.f.value:.3f}."]
        if self.baselines:
            said.append(_against(self))
        if self.ceiling is not None:
            said.append(_below(head, self.ceiling.micro.f if self.spans else self.ceiling.accuracy, name))
        known = [(c.f.value, c) for c in self.classes if c.f is not None and c.gold > 0]
        if len(known) > 2:
            value, low = min(known, key=lambda k: k[0])
            said.append(f"Weakest on {low.label!r} ({self.f_name} {value:.3f} of {low.gold:,}).")
        if self.left_out:
            said.append(left_out_text(self.left_out))
        return " ".join(said)

    @property
    def of(self) -> str:
        """What is scored."""
        return "spans" if self.spans else "labels"

    def to_dict(self) -> dict[str, Any]:
        made = Result.to_dict(self) | {"left_out": dict(self.left_out)}
        if self.confusion is not None:
            made |= {"confusion": self.confusion.to_dict(), "most_confused": self.confusion.most_confused()}
        if self.ceiling is not None:
            made["ceiling"] = {k: v for k, v in self.ceiling.to_dict().items() if k != "verdict"}
        return made

    def table(self) -> list[dict[str, Any]]:
        """One row a class, then the averages."""
        means = {"macro": self.macro, "micro": self.micro, "weighted": self.weighted}
        rows = [(c.label, c.gold, c) for c in self.classes] + [(name, None, a) for name, a in means.items()]
        names = ("", "gold", "precision", "recall", self.f_name)
        return [dict(zip(names, (name, n, x.precision, x.recall, x.f), strict=True)) for name, n, x in rows]

    figure = drawn_by("howsure.plots.labels.score_figure")
    to_text = drawn_by("howsure.report.text.labels.score_text")
    to_html = drawn_by("howsure.report.pages.score_page")


def left_out_text(left_out: tuple[tuple[str, int], ...]) -> str:
    """How many rows were left out, and why."""
    total = sum(n for _, n in left_out)
    why = ", ".join(f"{n:,} without {name}" for name, n in left_out)
    return f"{total:,} row{'s' if total > 1 else ''} left out: {why}."


def _against(s: Score) -> str:
    majority = s.baselines[0]
    how = s.accuracy.side(majority.accuracy, "Worse", "Better") or "Not clearly better"
    return f"{how} than no look at the items: {majority.name} would get {majority.accuracy:.3f}."


def _below(head: Estimate, top: Estimate, name: str) -> str:
    second = f"a second annotator's {name} is {top.value:.3f}"
    if head.low is None or top.high is None or top.low is None or head.high is None:
        return f"For comparison, {second}."
    if head.high < top.low:
        return f"There is room: {second}."
    return f"{'Above' if head.low > top.high else 'Not clearly below'} the ceiling: {second}."
