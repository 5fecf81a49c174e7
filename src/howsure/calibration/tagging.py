"""How calibrated a tagger is: the predicted tag, each tag, pairs of tags and spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from howsure._result import Result, drawn_by
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.multiclass import MulticlassCalibration
from howsure.calibration.result import Slice


@dataclass(frozen=True, slots=True)
class TaggerCheck(Result):
    """How right a tagger is, and how right to be sure. Made by `howsure.verbs.tagger.check_tagger`."""

    SHOWN = (
        "verdict n=classes.n n_sentences groups n_groups accuracy viterbi_accuracy "
        "log_loss_per_token=log_loss calibration=classes per_tag per_pair per_span unseen_tags=unseen"
    )

    classes: MulticlassCalibration
    accuracy: Estimate
    viterbi_accuracy: float
    n_sentences: int
    groups: str
    n_groups: int
    log_loss: float  # of the gold sequence, per token
    per_pair: tuple[Slice, ...]
    per_span: tuple[Slice, ...]
    unseen: tuple[str, ...] = ()
    source: str = ""

    def __repr__(self) -> str:
        return f"TaggerCheck(accuracy={self.accuracy!r}, error={self.classes.error!r}, n={self.classes.n:,})"

    @property
    def per_tag(self) -> tuple[Slice, ...]:
        """Each tag's own calibration, worst first."""
        return self.classes.per_class

    @property
    def verdict(self) -> str:
        """The answer in words."""
        said = (
            f"Accuracy {self.accuracy.value:.4f}. Of the predicted tag's probability: {self.classes.top.verdict} "
            f"{clear(self.per_tag)} of {len(self.per_tag)} tags and {clear(self.per_pair)} of {len(self.per_pair)} tag "
            "pairs are clearly miscalibrated."
        )
        if self.per_span:
            said += f" Of {len(self.per_span)} kinds of span, {clear(self.per_span)} are."
        return said + self.note

    @property
    def note(self) -> str:
        """What the model could not know."""
        if not self.unseen:
            return ""
        names = ", ".join(self.unseen[:5]) + (", …" if len(self.unseen) > 5 else "")
        return f" Tags that the model has never seen have probability 0: {names}."

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints and the page shows."""
        made = Result.to_dict(self)
        del made["calibration"]["per_class"]  # as `per_tag`
        return made

    def table(self) -> list[dict[str, Any]]:
        """The predicted tag, then each tag."""
        return self.classes.table()

    def headline(self) -> dict[str, str]:
        """Of the predicted tag."""
        return self.classes.headline()

    def figure(self) -> dict[str, Any]:
        """The picture of `--plot`, a Vega-Lite specification."""
        return self.classes.figure()

    to_text = drawn_by("howsure.report.text.models.tagger_text")
    to_html = drawn_by("howsure.report.pages.tagger_page")


def clear(slices: tuple[Slice, ...]) -> int:
    """How many are clearly miscalibrated."""
    return sum(s.adjusted_p_value is not None and s.adjusted_p_value < 0.05 for s in slices)
