"""What training a tagger returns."""

from dataclasses import dataclass, field
from typing import Any

from howsure._result import Record, Training, drawn_by, shown_as
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.hmm import Hmm
from howsure.models.taggers.temperature import FittedTemperature

Tagger = Crf | Hmm


@dataclass(frozen=True, slots=True)
class Candidate(Record):
    """One value tried of the regulariser or the pseudocount, and the accuracy on held-out text."""

    setting: str
    value: float
    dev_accuracy: float | None


@dataclass(frozen=True, slots=True)
class TaggerTraining(Training):
    """A trained tagger and how it was chosen."""

    SHOWN = """verdict kind=model.kind tags=model.tags n_sentences n_tokens n_dev_tokens=n_dev dev_accuracy tried
        temperature converged"""
    __repr__ = shown_as("{model!r}, dev accuracy {dev_accuracy}")

    model: Tagger = field(repr=False)
    n_sentences: int
    n_tokens: int
    tried: tuple[Candidate, ...]
    temperature: FittedTemperature | None = None
    n_dev: int | None = None

    @property
    def chosen(self) -> Candidate:
        """What was chosen: the first of the best."""
        return max(self.tried, key=lambda t: t.dev_accuracy or 0.0)

    @property
    def dev_accuracy(self) -> float | None:
        """Accuracy on held-out text."""
        return self.chosen.dev_accuracy

    @property
    def converged(self) -> bool | None:
        """Whether the CRF's training came near enough to the least loss; None for an HMM, which is counted."""
        return self.model.settings.get("converged")

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        c = self.chosen
        said = f"Trained {self.model!r} on {self.n_sentences:,} sentences, {self.n_tokens:,} tokens."
        if c.dev_accuracy is not None:
            said += f" {c.setting} = {c.value:g} is best on held-out text: accuracy {c.dev_accuracy:.4f}."
        if (t := self.temperature) is not None:
            said += f" A temperature of {t.temperature:.3f} lowers its log loss from {t.before:.4f} to {t.after:.4f}."
        if self.converged is False:
            made = self.model.settings
            above = made.get("excess")
            far = "" if above is None else f": its loss may be up to {100 * above:.2g}% above the least"
            other = ' or `optimiser="lbfgs"`' if made["method"] == "adagrad" else ""
            said += f" NOT CONVERGED after {made['iterations']} passes{far}. Give more `max_iterations=`{other}."
        return said

    def table(self) -> list[dict[str, Any]]:
        """One row a setting tried."""
        return [t.to_dict() for t in self.tried]

    to_text = drawn_by("howsure.report.text.models.tagger_training_text")
