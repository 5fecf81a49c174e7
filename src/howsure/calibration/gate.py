"""May it ship? The calibration error held against a bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from howsure._result import Record
from howsure.calibration.estimation.intervals import Estimate

RULES = ("shown-above", "point", "shown-below")


@dataclass(frozen=True, slots=True)
class Gate(Record):
    """An error, a bound and the rule by which it fails.

    `shown-above` fails an error whose lower limit is above the bound, `point` one whose estimate is, and `shown-below`
    every error whose upper limit is.
    """

    SHOWN: ClassVar[str] = "bound rule outcome fails"

    error: Estimate
    bound: float
    rule: str

    @property
    def outcome(self) -> str:
        """What the interval shows: "above" the bound, "below" it (or at it), or "undecided"."""
        if self.error.low is not None and self.error.low > self.bound:
            return "above"
        return "below" if self.error.high is not None and self.error.high <= self.bound else "undecided"

    @property
    def fails(self) -> bool:
        """Whether the error fails by the rule."""
        if self.rule == "point":
            return self.error.value > self.bound
        return self.outcome == "above" if self.rule == "shown-above" else self.outcome != "below"

    @property
    def words(self) -> str:
        """The decision and its reason."""
        shown = {
            "above": f"the error is shown to be above {self.bound:g}",
            "below": f"the error is shown to be at most {self.bound:g}",
            "undecided": f"these rows cannot tell on which side of {self.bound:g} the error is",
        }[self.outcome]
        estimate = f" (estimate {self.error.value:.4f})" if self.rule == "point" else ""
        limits = "" if self.error.low is None else f"; it is between {self.error.low:.4f} and {self.error.high:.4f}"
        undecided = self.outcome == "undecided" and self.rule == "shown-above"
        decision = "fails" if self.fails else "undecided" if undecided else "passes"
        return f"{decision} by {self.rule}{estimate}: {shown}{limits}."
