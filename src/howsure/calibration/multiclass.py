"""Many classes: the top label's probability, each class's, and all of them pooled; and what abstaining would gain."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure._result import Record, drawn_by, records, shown_as
from howsure.calibration.analysis import analyse_rows
from howsure.calibration.result import Calibration, Composite, Slice, adjusted_slices, worst_first
from howsure.calibration.sketch import Sketch
from howsure.kernels.cells import Floats, Ints

COVERAGES = (0.5, 0.8, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class RiskCoverage(Record):
    """Accuracy among the surest share of the items, for every share; ties in confidence are answered together."""

    SHOWN = "area curve"
    __repr__ = shown_as("area={area:.4f}")

    coverage: Floats
    accuracy: Floats
    threshold: Floats  # answer when the top probability is at least this
    area: float  # under the risk (1 - accuracy) by coverage; lower is better

    def at(self, share: float) -> float:
        """Accuracy when at least this share of the items is answered."""
        return float(self.accuracy[np.searchsorted(self.coverage, share - 1e-12)])

    @property
    def curve(self) -> list[dict[str, float]]:
        """A record for each point."""
        return records(coverage=self.coverage, accuracy=self.accuracy, threshold=self.threshold)


@dataclass(frozen=True, slots=True)
class MulticlassCalibration(Composite):
    """How calibrated the probabilities of many classes are. Made by `howsure.check`."""

    SHOWN = """*top verdict n classes accuracy multiclass_brier=brier multiclass_log_loss=log_loss
        class_wise_error=class_wise pooled per_class risk_coverage"""
    __repr__ = shown_as("top-label error={top.error!r}, {#classes} classes, n={n:,}")

    n: int
    classes: tuple[str, ...]
    accuracy: float
    top: Calibration  # is the probability of the predicted class right?
    pooled: Calibration  # all (item, class) events together, items (or groups) independent
    class_wise: float  # root mean over the classes of their squared calibration errors
    per_class: tuple[Slice, ...]  # worst first
    risk_coverage: RiskCoverage
    brier: float  # Σ_k (y_k - q_k)², mean over items
    log_loss: float | None  # None: the true class had probability 0 somewhere
    source: str = ""

    @property
    def verdict(self) -> str:
        clear = sum(s.adjusted_p_value is not None and s.adjusted_p_value < 0.05 for s in self.per_class)
        return (
            f"Of the predicted class's probability: {self.top.verdict} Accuracy is {self.accuracy:.3f}; "
            f"{clear} of {len(self.classes)} classes are clearly miscalibrated."
        )

    def table(self) -> list[dict[str, Any]]:
        """The predicted class (and in each slice), then each class."""
        slices = [Slice(f"{self.top.by}: {s.name}", s.calibration, s.adjusted_p_value) for s in self.top.slices]
        return [s.row() for s in (Slice("all", self.top, None), *slices, *self.per_class)]

    def explanation(self) -> str:
        """What the numbers of the predicted class mean."""
        return self.top.explanation()

    to_text = drawn_by("howsure.report.text.calibration.classes_text")
    to_html = drawn_by("howsure.report.pages.classes_page")


def analyse_classes(
    y: Ints,
    probs: Floats,
    classes: tuple[str, ...],
    *,
    groups: Ints | None = None,
    bins: int | str | None = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | None = None,
    source: str = "",
    by: tuple[str, NDArray[Any]] | None = None,
    notes: tuple[str, ...] = (),
) -> MulticlassCalibration:
    """Analyse (n, K) probabilities of validated rows; `y` holds the number of each item's true class.

    `by` names what the predicted class's calibration is compared by, and says its value for each row.
    """
    n, k = probs.shape
    items, level = np.arange(n), confidence_level
    predicted = probs.argmax(axis=1)
    right, confidence = (predicted == y).astype(np.uint8), probs[items, predicted]
    top, top_sketch = analyse_rows(right, confidence, groups, level, bins, rng=rng, source=source)
    top = replace(top, of_predicted=True, notes=(*notes, *top.notes))
    if by is not None:
        top = replace(top, by=by[0], slices=_slices(right, confidence, by[1], groups, level))
    per_class = []
    for c, name in enumerate(classes):
        q = np.ascontiguousarray(probs[:, c])
        per_class.append((name, analyse_rows((y == c).astype(np.uint8), q, groups, level, source=source)[0]))
    squares = [c.error_squared.value for _, c in per_class if c.error_squared is not None]

    # All events of an item move together, so the item (or the user's group) is what is independent.
    events = (y[:, None] == np.arange(k)[None, :]).astype(np.uint8).ravel()
    flat = np.ascontiguousarray(probs).ravel()
    pooled_groups = np.repeat(items if groups is None else groups, k)
    pooled, _ = analyse_rows(events, flat, pooled_groups, level, bins, source=source)
    true_prob = probs[items, y]
    return MulticlassCalibration(
        n=n,
        classes=classes,
        accuracy=float(right.mean()),
        top=top,
        pooled=pooled,
        class_wise=float(np.sqrt(max(float(np.mean(squares)), 0.0))) if squares else 0.0,
        per_class=worst_first(adjusted_slices(per_class)),
        risk_coverage=risk_coverage(top_sketch),
        brier=float(np.mean(np.sum(probs**2, axis=1) - 2.0 * true_prob + 1.0)),
        log_loss=float(-np.mean(np.log(true_prob))) if true_prob.min() > 0 else None,
        source=source,
    )


def _slices(
    right: NDArray[np.uint8], confidence: Floats, values: NDArray[Any], groups: Ints | None, level: float
) -> tuple[Slice, ...]:
    """The predicted class's calibration for each value of a column, worst first."""
    names, number = np.unique(values.astype(str), return_inverse=True)
    made = []
    for i, name in enumerate(names.tolist()):
        rows = number == i
        mine = None if groups is None else np.unique(groups[rows], return_inverse=True)[1].astype(np.int64)
        mine = None if mine is None or mine.max() < 1 else mine  # one group alone tells nothing of groups
        made.append((name, analyse_rows(right[rows], confidence[rows], mine, level)[0]))
    return worst_first(adjusted_slices(made))


def risk_coverage(sketch: Sketch, points: int = 100) -> RiskCoverage:
    """The risk-coverage curve of a sketch of (right, confidence), at up to `points` shares; its area is exact."""
    size, right = sketch.size[::-1], sketch.counts[::-1, 1]
    answered, correct = np.cumsum(size), np.cumsum(right)
    coverage, accuracy = answered / sketch.n, correct / answered
    area = float(np.sum(size * (1.0 - accuracy)) / sketch.n)
    shown = np.unique(np.searchsorted(coverage, np.linspace(0, 1, points + 1)[1:] - 1e-12))
    return RiskCoverage(coverage[shown], accuracy[shown], sketch.mean_q[::-1][shown], area)
