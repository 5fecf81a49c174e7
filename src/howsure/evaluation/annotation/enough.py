"""How many labels an item needs: simulated from the fitted confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from howsure._result import Record
from howsure.evaluation.annotation.crowds import DawidSkene
from howsure.kernels.cells import Floats, Ints

MOST_LABELS = 40
HELD = 400_000


@dataclass(frozen=True, slots=True)
class LabelsNeeded(Record):
    """Expected certainty of the most probable label after 1, 2, … labels, and how many reach the target.

    The certainty is also the accuracy, if annotators err independently of one another given the true label. Where hard
    items make them err together, more labels are needed than this says.
    """

    target: float
    n: int | None  # None: not reached with as many as were tried
    certainty: tuple[float, ...]
    standard_error: float  # the largest, of the simulation

    def __repr__(self) -> str:
        many = f"more than {len(self.certainty)}" if self.n is None else str(self.n)
        return f"LabelsNeeded({many} for {self.target:g})"


def labels_needed(
    fitted: DawidSkene,
    share: Floats,
    target: float,
    rng: np.random.Generator,
    most: int = MOST_LABELS,
    draws: int | None = None,
) -> LabelsNeeded:
    """Simulate items whose labels come from annotators drawn by `share` (of the labels that each gave).

    An item's true label is drawn from the prior and each label from its annotator's confusion; after each label the
    posterior's maximum is averaged over items. Averaging the maximum, not whether it is right, has the same mean and
    less noise.
    """
    k = len(fitted.prior)
    size = draws or max(min(20_000, HELD // k), 1000)
    true = _drawn(np.broadcast_to(fitted.prior, (size, k)), rng)
    log_confusion = np.log(np.maximum(fitted.confusion, 1e-300))
    log_joint = np.broadcast_to(np.log(np.maximum(fitted.prior, 1e-300)), (size, k)).copy()
    chances = share / share.sum()
    certainty: list[float] = []
    error = 0.0
    for _ in range(most):
        who = rng.choice(len(chances), size, p=chances)
        label = _drawn(fitted.confusion[who, true], rng)
        log_joint += log_confusion[who, :, label]
        weight = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        surest = 1.0 / weight.sum(axis=1)
        certainty.append(float(surest.mean()))
        error = max(error, float(surest.std()) / sqrt(size))
    reached = next((i + 1 for i, c in enumerate(certainty) if c >= target), None)
    return LabelsNeeded(target, reached, tuple(certainty), error)


def _drawn(probs: Floats, rng: np.random.Generator) -> Ints:
    """One number from each row of probabilities."""
    edges = np.cumsum(probs, axis=1)
    return np.asarray(np.sum(rng.random((len(probs), 1)) * edges[:, -1:] >= edges[:, :-1], axis=1))


def crowd_shares(labels_each: Ints, left_out: Sequence[bool] | None = None) -> Floats:
    """Each annotator's share of the labels, without those left out."""
    share = labels_each.astype(np.float64)
    if left_out is not None:
        share[np.asarray(left_out, bool)] = 0.0
    return share / share.sum()
