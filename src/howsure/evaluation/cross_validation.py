"""k-fold cross-validation: the result, and intervals that know that folds share their training data."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from howsure._result import Record, Result, drawn_by
from howsure.calibration.comparing.difference import Difference
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.groups.estimates import student_quantile
from howsure.calibration.result import Calibration
from howsure.evaluation.scores.result import Score
from howsure.kernels import special


def fold_difference(values: Any, sizes: Any, confidence_level: float) -> Difference:
    """An average over folds with the corrected resampled interval and test (Nadeau & Bengio 2003).

    Var = (1/k + n_test/n_train) s², s² the variance between folds: the second term stands for the training data that folds
    share. Student's t with k - 1 degrees of freedom.
    """
    k, mean = len(values), float(np.mean(values))
    shared = float(np.mean(sizes)) / float(np.sum(sizes) - np.mean(sizes))
    se = sqrt((1 / k + shared) * float(np.var(values, ddof=1)))
    half = student_quantile(0.5 + confidence_level / 2, k - 1) * se
    p = 2.0 * float(special.stdtr(k - 1, -abs(mean) / se)) if se else float(mean == 0.0)
    return Difference(mean, mean - half, mean + half, p)


def fold_interval(scores: Any, sizes: Any, confidence_level: float) -> Estimate:
    """The same of a share, within 0 and 1."""
    d = fold_difference(scores, sizes, confidence_level)
    return Estimate(d.value, max(d.low or 0.0, 0.0), min(1.0 if d.high is None else d.high, 1.0))


@dataclass(frozen=True, slots=True)
class Fold(Record):
    """One fold: items trained and tested on, accuracy, and that of the baseline."""

    fold: int
    trained_on: int
    tested_on: int
    accuracy: float
    baseline: float


@dataclass(frozen=True, slots=True)
class CrossValidation(Result):
    """Every item predicted by a model that did not see it. Made by `howsure classify cv` and `howsure tagger cv`."""

    SHOWN = """verdict method accuracy folds baseline=baseline_name baseline_accuracy gain score calibration
        left_out confidence_level notes"""
    method: str
    what: str  # the items: texts or tokens
    folds: tuple[Fold, ...]
    accuracy: Estimate  # the average over folds; the interval allows for the training data that they share
    baseline_name: str
    gain: Difference  # accuracy less that of the baseline learnt on the same folds
    score: Score  # of the pooled predictions, given the models; with the ceiling
    calibration: Calibration  # of the predicted label's probability
    left_out: int = 0
    confidence_level: float = 0.95
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What the page is about."""
        return f"Cross-validation of {self.method}, {len(self.folds)} folds"

    @property
    def baseline_accuracy(self) -> float:
        """Of the baseline, learnt on the same folds."""
        return self.accuracy.value - self.gain.value

    @property
    def verdict(self) -> str:
        """Accuracy with both intervals, the baseline, the ceiling, and whether the probabilities are right."""
        g, way = self.gain, self.gain.estimate.side(0.0, "worse", "better")
        against = f"{way} by {abs(g.value):.3f} [{g.low:+.3f}, {g.high:+.3f}]" if way else "no clear difference"
        said = [
            f"Accuracy {_shown(self.accuracy)}, the average over {len(self.folds)} folds of {self.score.n:,} {self.what}; the interval "
            f"allows for the training data that folds share.",
            f"The baseline ({self.baseline_name}) has {self.baseline_accuracy:.3f}: {against}.",
        ]
        plain = self.score.baselines[0]
        if self.what == "tokens":  # the baseline is not the commonest label already
            said[-1] = f"{said[-1][:-1]}; {plain.name} has {plain.accuracy:.3f}."
        if self.score.ceiling is not None:
            said.append(f"The ceiling, a second annotator, has {_shown(self.score.ceiling.accuracy)}.")
        else:
            said.append("No ceiling is known: it takes a second annotator's labels (`second=`).")
        said.append(f"Of the predicted label's probability: {self.calibration.verdict}")
        return " ".join(said)

    def table(self) -> list[dict[str, Any]]:
        """One row a fold, then the average."""
        n = sum(f.tested_on for f in self.folds)
        last = {"fold": "average", "trained_on": None, "tested_on": n, "accuracy": self.accuracy.value}
        return [*(f.to_dict() for f in self.folds), last | {"baseline": self.baseline_accuracy}]

    layers = drawn_by("howsure.plots.labels.fold_layers")
    to_text = drawn_by("howsure.report.tables.verdict_and_table")
    to_html = drawn_by("howsure.report.pages.table_page")


def _shown(e: Estimate) -> str:
    return f"{e.value:.3f}" + ("" if e.low is None or e.high is None else f" [{e.low:.3f}, {e.high:.3f}]")
