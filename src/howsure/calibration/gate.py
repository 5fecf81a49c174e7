"""May it ship? The calibration error held against a bound, or a model against the one before it."""

from dataclasses import dataclass

from howsure._result import Record
from howsure.calibration.estimation.intervals import Estimate

RULES = ("shown-above", "point", "shown-below")


@dataclass(frozen=True, slots=True)
class Gate(Record):
    """An error, a bound and the rule by which it fails.

    `shown-above` fails an error whose lower limit is above the bound, `point` one whose estimate is, and `shown-below`
    every error whose upper limit is.
    """

    SHOWN = "bound rule outcome fails"

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


@dataclass(frozen=True, slots=True)
class Regression(Record):
    """A model held against the first: is it shown to be worse?

    `differences` are the model's numbers less the first's, oriented so that above 0 is worse. One whose interval lies
    above 0 shows the model to be worse; when no interval reaches above 0, it is shown to be no worse.
    """

    SHOWN = "model first differences outcome fails"

    model: str
    first: str
    differences: dict[str, Estimate]

    @property
    def outcome(self) -> str:
        """What the intervals show: "worse", "no worse" or "undecided"."""
        found = self.differences.values()
        if any(d.low is not None and d.low > 0 for d in found):
            return "worse"
        return "no worse" if all(d.high is not None and d.high <= 0 for d in found) else "undecided"

    @property
    def fails(self) -> bool:
        """Whether the model is shown to be worse."""
        return self.outcome == "worse"

    @property
    def words(self) -> str:
        """The decision and its reason."""
        said = {
            "worse": f"fails: {self.model} is shown to be worse than {self.first}",
            "no worse": f"passes: {self.model} is shown to be no worse than {self.first}",
            "undecided": f"undecided: these rows cannot tell whether {self.model} is worse than {self.first}",
        }[self.outcome]
        by = ", ".join(
            f"{d.value:+.4f}{'' if d.low is None else f' [{d.low:+.4f}, {d.high:+.4f}]'} in {name}"
            for name, d in self.differences.items()
        )
        return f"{said} (worse by {by})."
