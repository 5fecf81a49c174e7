"""A text classifier's labels and probabilities, checked together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from howsure._result import Result, drawn_by
from howsure.calibration.multiclass import MulticlassCalibration
from howsure.calibration.result import Calibration
from howsure.evaluation.scores.result import Score


@dataclass(frozen=True, slots=True)
class ClassifierCheck(Result):
    """How good a classifier's labels are, and whether its probabilities are right."""

    SHOWN = "verdict positive left_out score calibration"

    score: Score
    calibration: Calibration | MulticlassCalibration
    positive: str | None
    left_out: int

    def __repr__(self) -> str:
        return f"ClassifierCheck({self.score!r}, {self.calibration!r})"

    @property
    def verdict(self) -> str:
        """Both answers in words."""
        return f"{self.score.verdict} {self.calibration.verdict}"

    def table(self) -> list[dict[str, Any]]:
        """One row a class, then the averages."""
        return self.score.table()

    def figure(self) -> dict[str, Any]:
        """The picture of `--plot`, a Vega-Lite specification."""
        return self.calibration.figure()

    def to_html(self) -> bytes:
        """The calibration's page."""
        return self.calibration.to_html()

    to_text = drawn_by("howsure.report.text.models.classifier_text")
