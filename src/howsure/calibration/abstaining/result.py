"""The result of `howsure.abstain`: when to answer, what that promises, and what other thresholds would give."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure._result import Record, Result, drawn_by, shown_as
from howsure.calibration.curves.bins import clopper_pearson
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.multiclass import RiskCoverage
from howsure.kernels.cells import Floats, Ints

COSTS = (2, 5, 10, 20, 50, 100)  # of a wrong answer, in units of one that is not given
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class CutOff(Record):
    """What a threshold gives: precision is the share of right among the answers, recall that of the right ones that are given."""

    threshold: float
    answered: float
    risk: Estimate
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class Cost(Record):
    """The threshold of least cost when a wrong answer costs `wrong` times as much as one that is not given."""

    wrong: int
    threshold: float | None  # None: answer nothing
    answered: float
    per_thousand: float


@dataclass(frozen=True, slots=True)
class Certificate(Record):
    """Of all answers, or of one subgroup: answer when the confidence is at least `threshold`."""

    name: str
    n: int
    threshold: float | None
    answered: int
    wrong: int

    @property
    def share(self) -> float:
        """Of the labelled answers."""
        return self.answered / self.n


@dataclass(frozen=True, slots=True)
class Abstention(Result):
    """Above which confidence to answer so that P(wrong | answered) ≤ risk. Made by `howsure.abstain`."""

    SHOWN = """verdict risk confidence_level n accuracy n_groups by certificates rests_on cut_offs costs risk_coverage
        prob notes"""
    __repr__ = shown_as("risk={risk:g}, {certificates!r}")

    risk: float
    confidence_level: float
    n: int
    accuracy: float
    certificates: tuple[Certificate, ...]
    cut_offs: tuple[CutOff, ...]
    costs: tuple[Cost, ...]
    risk_coverage: RiskCoverage
    n_groups: int | None = None
    by: str | None = None
    prob: str = ""
    rests_on: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = "arrays"

    @property
    def title(self) -> str:
        """Of the page."""
        return f"When to answer: {self.source}"

    @property
    def threshold(self) -> float | None:
        """The least confidence to answer at; of the whole, not of subgroups."""
        return self.certificates[0].threshold if self.by is None else None

    @property
    def verdict(self) -> str:
        """The rule and its promise."""
        sure = f"with {100 * self.confidence_level:g}% confidence"
        if self.by is None:
            c = self.certificates[0]
            if c.threshold is None:
                return (
                    f"No threshold is shown to keep the share of wrong answers at {100 * self.risk:g}% ({sure}): abstain always, "
                    "allow more risk, or label more answers."
                )
            return (
                f"Answer when the confidence is at least {c.threshold:.4g}: {sure}, at most {100 * self.risk:g}% of what is answered is "
                f"wrong. {100 * c.share:.1f}% of the labelled answers are given, {c.wrong:,} of {c.answered:,} wrong."
            )
        good = [c for c in self.certificates if c.threshold is not None]
        given = sum(c.answered for c in good) / self.n
        said = f"{len(good)} of {len(self.certificates)} values of {self.by} have a threshold that keeps the share of wrong answers at "
        return (
            f"{said}{100 * self.risk:g}%, {sure} for all at once. {100 * given:.1f}% of the labelled answers are given."
        )

    def table(self) -> list[dict[str, Any]]:
        """The cut-offs."""
        names = ("confidence at least", "answered", "wrong", "precision", "recall")
        rows = ((c.threshold, c.answered, c.risk, c.precision, c.recall) for c in self.cut_offs)
        return [dict(zip(names, row, strict=True)) for row in rows]

    layers = drawn_by("howsure.plots.curves.abstention_layers")
    to_text = drawn_by("howsure.report.text.calibration.abstention_text")
    to_html = drawn_by("howsure.report.pages.abstention_page")


def cut_offs(confidence: Floats, right: Ints, level: float, chosen: Sequence[float]) -> tuple[CutOff, ...]:
    """At the thresholds chosen and those that answer a tenth, …, all."""
    ordered = np.sort(confidence)[::-1]
    at = {float(ordered[max(round(s * len(ordered)), 1) - 1]) for s in SHARES}
    made = []
    for t in sorted({*at, *chosen}, reverse=True):
        given = confidence >= t
        n, wrong = int(given.sum()), int((1 - right[given]).sum())
        low, high = (float(x) for x in clopper_pearson(np.array(wrong), np.array(n), level))
        recall = (n - wrong) / max(int(right.sum()), 1)
        made.append(CutOff(t, n / len(right), Estimate(wrong / n, low, high), 1.0 - wrong / n, recall))
    return tuple(made)


def least_costs(confidence: Floats, right: Ints) -> tuple[Cost, ...]:
    """The cheapest threshold on these answers, for each cost of a wrong one."""
    value = np.unique(-confidence)
    order = np.argsort(-confidence, kind="stable")
    answered = np.concatenate([[0], np.searchsorted(-confidence[order], value, side="right")])
    wrong = np.concatenate([[0], np.cumsum(1 - right[order])])[answered]
    made = []
    for cost in COSTS:
        total = cost * wrong + (len(right) - answered)
        i = int(np.argmin(total))
        threshold = None if i == 0 else float(-value[i - 1])
        made.append(Cost(cost, threshold, answered[i] / len(right), 1000.0 * total[i] / len(right)))
    return tuple(made)
