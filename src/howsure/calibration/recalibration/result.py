"""The result of `howsure.recalibrate`: the recalibrator, what it gains on rows it has not seen, and words for it."""

import json
from dataclasses import dataclass, field
from typing import Any

from howsure._result import Result, drawn_by
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.recalibration.choosing import MethodScore
from howsure.calibration.recalibration.recalibrator import Recalibrator
from howsure.kernels.cells import Floats

SIZE_UNCLEAR = " That there is a gain is clear, its size is not: the interval allows for gains being reported only when they are clear."


@dataclass(frozen=True, slots=True)
class Recalibration(Result):
    """A recalibrator fitted to all rows, with the cross-validated evidence for it.

    `gain` is the mean fall of the log loss a row on held-out rows, `brier_gain` that of the Brier score. When `declined`
    is true the recalibrator changes nothing; when it could have been and was not, the gains are those given that
    (docs/evidence/theory.md). `best` is the method of least cross-validated log loss.
    """

    SHOWN = """verdict method asked best declined gain brier_gain confidence_level n n_folds n_classes
        methods=scores recalibrator=saved n_groups?"""
    recalibrator: Recalibrator
    asked: str
    best: str
    declined: bool
    is_clear: bool  # whether the gain is above 0 beyond chance
    gain: Estimate
    brier_gain: Estimate
    before: MethodScore
    methods: tuple[MethodScore, ...]
    n: int
    n_groups: int | None
    n_folds: int
    confidence_level: float
    classes: tuple[str, ...] | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        did = "declined" if self.declined else self.method
        return f"Recalibration({did}, gain={self.gain!r}, n={self.n:,})"

    @property
    def method(self) -> str:
        """The method of the recalibrator: "none" when declined."""
        return self.recalibrator.method

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.recalibrator.n_classes_

    def transform(self, y_prob: Any) -> Floats:
        """Recalibrated probabilities in the shape of `y_prob`."""
        return self.recalibrator.transform(y_prob)

    @property
    def verdict(self) -> str:
        low, high = self.gain.low or 0.0, self.gain.high or 0.0
        interval = f"{self.confidence_level:.0%} interval {_number(low)} to {_number(high)}"
        what = f"{_number(self.gain.value)} a row ({interval})"
        if self.declined:
            return (
                f"Leave the probabilities as they are: on held-out rows the best method, {self.best}, gains {what} of log "
                "loss, which is not clearly more than nothing. The recalibrator changes nothing."
            )
        after = self.before.log_loss - self.gain.value
        if self.is_clear:
            return (
                f"Recalibrate by {self.method}: on held-out rows the log loss falls from {_number(self.before.log_loss)} "
                f"to {_number(after)}, by {what}.{'' if low > 0.0 else SIZE_UNCLEAR}"
            )
        return (
            f"Recalibrated by {self.method} as asked, but the gain is not clear: on held-out rows the log loss goes from "
            f"{_number(self.before.log_loss)} to {_number(after)}, a gain of {what}."
        )

    @property
    def scores(self) -> tuple[MethodScore, ...]:
        """Of the probabilities as they are, then of every method tried."""
        return (self.before, *self.methods)

    def saved(self) -> dict[str, Any]:
        """The recalibrator as plain data, with the columns and classes it was fitted to."""
        made = {**self.recalibrator.to_dict(), **self.columns}
        if self.classes is not None:
            made["classes"] = list(self.classes)
        return made

    def to_json(self) -> str:
        """`saved` as JSON text: what `howsure recalibrate apply` and `load` read."""
        return json.dumps(self.saved(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    def table(self) -> list[dict[str, Any]]:
        """One row a method."""
        rows = [(self.before, None), *((m, m.gain) for m in self.methods)]
        return [{"": m.method, "log loss": m.log_loss, "Brier": m.brier, "gain": gain} for m, gain in rows]

    to_text = drawn_by("howsure.report.text.calibration.recalibration_text")


def _number(x: float) -> str:
    if x == 0.0 or abs(x) >= 0.001:
        return f"{x:.4f}"
    return f"{x:.2g}"
