"""What training and checking a tagger return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from howsure._result import Record, Result
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.multiclass import MulticlassCalibration
from howsure.calibration.result import Slice
from howsure.models.taggers.tagger import Tagger
from howsure.models.taggers.temperature import FittedTemperature


@dataclass(frozen=True, slots=True)
class Candidate(Record):
    """One value tried of the regulariser or the pseudocount, and the accuracy on held-out text."""

    setting: str
    value: float
    dev_accuracy: float | None


@dataclass(frozen=True, slots=True)
class TaggerTraining(Result):
    """A trained tagger and how it was chosen."""

    SHOWN = (
        "verdict kind=tagger.kind tags=tagger.tags n_sentences n_tokens n_dev_tokens=n_dev dev_accuracy "
        "tried temperature"
    )

    tagger: Tagger = field(repr=False)
    n_sentences: int
    n_tokens: int
    tried: tuple[Candidate, ...]
    temperature: FittedTemperature | None = None
    n_dev: int | None = None

    def __repr__(self) -> str:
        return f"TaggerTraining({self.tagger!r}, dev accuracy {self.dev_accuracy})"

    @property
    def chosen(self) -> Candidate:
        """What was chosen: the first of the best."""
        return max(self.tried, key=lambda t: t.dev_accuracy or 0.0)

    @property
    def dev_accuracy(self) -> float | None:
        """Accuracy on held-out text."""
        return self.chosen.dev_accuracy

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        c = self.chosen
        said = f"Trained {self.tagger!r} on {self.n_sentences:,} sentences, {self.n_tokens:,} tokens."
        if c.dev_accuracy is not None:
            said += f" {c.setting} = {c.value:g} is best on held-out text: accuracy {c.dev_accuracy:.4f}."
        if self.temperature is not None:
            t = self.temperature
            said += f" A temperature of {t.temperature:.3f} lowers its log loss from {t.before:.4f} to {t.after:.4f}."
        return said

    def table(self) -> list[dict[str, Any]]:
        """One row a setting tried."""
        return [t.to_dict() for t in self.tried]


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


def clear(slices: tuple[Slice, ...]) -> int:
    """How many are clearly miscalibrated."""
    return sum(s.adjusted_p_value is not None and s.adjusted_p_value < 0.05 for s in slices)
