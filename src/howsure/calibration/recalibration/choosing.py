"""Which recalibrator helps, judged on rows it has not seen.

Every method is cross-fitted: the rows of a fold are mapped by a recalibrator fitted to the other folds. The headline gain
is that of the whole procedure, choice included: for each fold the method is the best one on the *other* folds, so that
picking a winner does not flatter it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.groups.estimates import student_quantile
from howsure.calibration.recalibration.folds import random_folds
from howsure.calibration.recalibration.recalibrator import LOG_ODDS_BOUND, Recalibrator
from howsure.kernels.logistic import Floats


@dataclass(frozen=True, slots=True)
class MethodScore:
    """A method's cross-validated losses, and what it gains over leaving q as it is."""

    method: str
    log_loss: float
    brier: float
    gain: Estimate  # of log loss, a row; positive is better

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "method": self.method,
            "log_loss": self.log_loss,
            "brier": self.brier,
            "gain": self.gain.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Contest:
    """The methods' scores, the winner, and the gain of choosing a winner by cross-validation."""

    before: MethodScore
    scores: tuple[MethodScore, ...]
    best: str
    gain: Estimate
    brier_gain: Estimate


def contest(
    methods: Mapping[str, Recalibrator],
    p: Floats,
    y: NDArray[np.int64],
    groups: NDArray[Any] | None,
    *,
    n_folds: int,
    confidence_level: float,
    rng: np.random.Generator | int,
) -> Contest:
    """Cross-fit the methods on probabilities p, shape (n,) or (n, K), and labels y."""
    fold = random_folds(len(y), n_folds, groups, rng)
    clusters = None if groups is None else np.unique(groups, return_inverse=True)[1]
    names = list(methods)
    log_losses, briers = np.empty((len(names), len(y))), np.empty((len(names), len(y)))
    for f in range(n_folds):
        out, rest = fold == f, fold != f
        kept = None if groups is None else groups[rest]
        for i, name in enumerate(names):
            made = methods[name].fit(p[rest], y[rest], groups=kept).transform(p[out])
            log_losses[i, out], briers[i, out] = losses(made, y[out])
    before, brier_before = losses(p, y)
    gains, brier_gains = before - log_losses, brier_before - briers
    scores = tuple(
        MethodScore(
            name,
            float(log_losses[i].mean()),
            float(briers[i].mean()),
            mean_estimate(gains[i], clusters, confidence_level),
        )
        for i, name in enumerate(names)
    )
    by_fold = np.stack([np.bincount(fold, row, n_folds) for row in log_losses])
    chosen = np.argmin(by_fold.sum(axis=1, keepdims=True) - by_fold, axis=0)[fold]
    rows = np.arange(len(y))
    return Contest(
        MethodScore("none", float(before.mean()), float(brier_before.mean()), Estimate(0.0)),
        scores,
        names[int(np.argmin(log_losses.sum(axis=1)))],
        mean_estimate(gains[chosen, rows], clusters, confidence_level),
        mean_estimate(brier_gains[chosen, rows], clusters, confidence_level),
    )


def losses(p: Floats, y: NDArray[np.int64]) -> tuple[Floats, Floats]:
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


def mean_estimate(values: Floats, clusters: NDArray[np.int64] | None, confidence_level: float) -> Estimate:
    """Mean ± t √(G/(G-1) Σ_g (Σ values - mean n_g)²)/N over G groups; without groups each row is one."""
    n, mean = len(values), float(values.mean())
    residual = values - mean if clusters is None else np.bincount(clusters, values - mean)
    g = len(residual)
    half = student_quantile(0.5 + confidence_level / 2, g - 1) * sqrt(g / (g - 1) * float(residual @ residual)) / n
    return Estimate(mean, mean - half, mean + half)
