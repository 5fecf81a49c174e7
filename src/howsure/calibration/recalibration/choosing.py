"""Which recalibrator helps, judged on rows it has not seen.

Every method is cross-fitted: the rows of a fold are mapped by a recalibrator fitted to the other folds. The headline gain
is that of the whole procedure, choice included: for each fold the method is the best one on the *other* folds, so that
picking a winner does not flatter it. Nor does accepting it: an accepted gain is the one given acceptance, a declined one that given the refusal (`gain.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure._result import Record
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.recalibration.gain import MeanGain, impossible_share
from howsure.calibration.recalibration.recalibrator import LOG_ODDS_BOUND, Recalibrator, random_folds
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True, slots=True)
class MethodScore(Record):
    """A method's cross-validated losses, and what it gains over leaving q as it is."""

    method: str
    log_loss: float
    brier: float
    gain: Estimate  # of log loss, a row; positive is better


@dataclass(frozen=True, slots=True)
class Contest:
    """The methods' scores, the winner, and the gain of choosing a winner by cross-validation.

    `clear` is whether that gain is above 0 beyond chance. With `may_decline` a clear gain is the one given that it is clear.
    """

    before: MethodScore
    scores: tuple[MethodScore, ...]
    best: str
    clear: bool
    gain: Estimate
    brier_gain: Estimate


def contest(
    methods: Mapping[str, Recalibrator],
    p: Floats,
    y: Ints,
    groups: NDArray[Any] | None,
    *,
    n_folds: int,
    confidence_level: float,
    may_decline: bool,
    rng: np.random.Generator | int,
) -> Contest:
    """Cross-fit the methods on probabilities p, shape (n,) or (n, K), and labels y.

    `may_decline` says that nothing will be changed unless the gain is clear.
    """
    fold = random_folds(len(y), n_folds, groups, rng)
    clusters = None if groups is None else np.unique(groups, return_inverse=True)[1]
    log_losses, briers = cross_fitted(methods, p, y, groups, fold)
    before, brier_before = losses(p, y)
    gains, brier_gains = before - log_losses, brier_before - briers
    gained = [MeanGain.of(gain, clusters).estimate(confidence_level) for gain in gains]
    means = (loss.mean(axis=1).tolist() for loss in (log_losses, briers))
    scores = tuple(map(MethodScore, methods, *means, gained))
    chosen, rows = chosen_methods(log_losses, fold), np.arange(len(y))
    gain, brier_gain = (MeanGain.of(g[chosen, rows], clusters) for g in (gains, brier_gains))
    clear = gain.excess(confidence_level) > 0.0
    found, brier_found = gain.estimate(confidence_level), brier_gain.estimate(confidence_level)
    if may_decline:
        given = gain.given_accepted(confidence_level) if clear else gain.given_declined(confidence_level)
        brier_found = _moved_along(brier_found, found, given, _slope(gains[chosen, rows], brier_gains[chosen, rows]))
        found = given
    if may_decline and not clear:
        # Rows that had what they called impossible may be unseen: each would have cost this much more, or 1 of Brier score.
        share = impossible_share(*_called_impossible(p, y), len(y), confidence_level)
        found, brier_found = _raised(found, share * LOG_ODDS_BOUND), _raised(brier_found, share)
    return Contest(
        MethodScore("none", float(before.mean()), float(brier_before.mean()), Estimate(0.0)),
        scores,
        scores[int(np.argmin(log_losses.sum(axis=1)))].method,
        clear,
        found,
        brier_found,
    )


def cross_fitted(
    methods: Mapping[str, Recalibrator], p: Floats, y: Ints, groups: NDArray[Any] | None, fold: Ints
) -> tuple[Floats, Floats]:
    """Log loss and Brier score of each row, (methods, rows), by recalibrators fitted to the other folds."""
    log_losses, briers = np.empty((len(methods), len(y))), np.empty((len(methods), len(y)))
    for f in range(int(fold.max()) + 1):
        out, rest = fold == f, fold != f
        kept = None if groups is None else groups[rest]
        for i, method in enumerate(methods.values()):
            made = method.fit(p[rest], y[rest], groups=kept).transform(p[out])
            log_losses[i, out], briers[i, out] = losses(made, y[out])
    return log_losses, briers


def chosen_methods(log_losses: Floats, fold: Ints) -> Ints:
    """For each row the number of the method of least loss on the folds that it is not in."""
    by_fold = np.stack([np.bincount(fold, row) for row in log_losses])
    return np.argmin(by_fold.sum(axis=1, keepdims=True) - by_fold, axis=0)[fold]


def _called_impossible(p: Floats, y: Ints) -> tuple[int, int]:
    """How many rows call some label impossible, and in how many of them that label came up."""
    if p.ndim == 1:
        return int(np.sum((p == 0.0) | (p == 1.0))), int(np.sum(np.where(y == 1, p, 1.0 - p) == 0.0))
    return int(np.sum(np.any(p == 0.0, axis=1))), int(np.sum(p[np.arange(len(y)), y] == 0.0))


def _slope(gain: Floats, other: Floats) -> float:
    """By how much another gain of a row falls with this one, by least squares; at least 0."""
    deviation = gain - gain.mean()
    spread = float(deviation @ deviation)
    return max(float(deviation @ other) / spread, 0.0) if spread > 0.0 else 0.0


def _moved_along(estimate: Estimate, before: Estimate, after: Estimate, slope: float) -> Estimate:
    """What the decision does to an estimate that goes with the one it was decided by."""
    if estimate.low is None or estimate.high is None or before.low is None or after.low is None:
        return estimate
    value = estimate.value - slope * (before.value - after.value)
    low = estimate.low - slope * (before.low - after.low)
    return Estimate(value, min(low, value), estimate.high + slope * ((after.high or 0.0) - (before.high or 0.0)))


def _raised(estimate: Estimate, by: float) -> Estimate:
    """The same with a higher upper limit."""
    return estimate if estimate.high is None else replace(estimate, high=estimate.high + by)


def losses(p: Floats, y: Ints) -> tuple[Floats, Floats]:
    """Log loss and Brier score of each row. A log loss is at most 30: 0 counts as 1e-13, as in the recalibrators.

    The Brier score of two classes is (q - y)²; of more, the sum of squares over the classes.
    """
    if p.ndim == 1:
        at_label = np.where(y == 1, p, 1.0 - p)
        brier = (1.0 - at_label) ** 2
    else:
        at_label = p[np.arange(len(y)), y]
        brier = np.sum(p**2, axis=1) - 2.0 * at_label + 1.0
    with np.errstate(divide="ignore"):
        return np.minimum(-np.log(at_label), LOG_ODDS_BOUND), brier
