"""What `howsure classify cv` and `howsure tagger cv` share: predictions of all folds become one result."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from howsure import _validate
from howsure.errors import InputError
from howsure.evaluation.cross_validation import CrossValidation, Fold, fold_difference, fold_interval
from howsure.kernels.cells import Floats, Ints
from howsure.processes import Progress
from howsure.verbs.check import check
from howsure.verbs.score import score

# Rows to train on and rows to test on; returns the labels given, their probabilities, and the baseline's labels.
Trainer = Callable[[Ints, Ints], tuple[Sequence[str], Floats, Sequence[str]]]


def cross_validated(
    gold: Sequence[str],
    part: Ints,
    trained: Trainer,
    *,
    method: str,
    what: str,
    baseline: str,
    groups: Any = None,
    second: Sequence[str] | None = None,
    confidence_level: float = 0.95,
    left_out: int = 0,
    notes: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> CrossValidation:
    """Train on all folds but one, predict that one, and so on; `part` is the fold of each item."""
    level = _validate.fraction(confidence_level, "confidence_level")
    truth = np.array([str(g) for g in gold], object)
    said, plain = np.empty(len(truth), object), np.empty(len(truth), object)
    sure = np.zeros(len(truth))
    folds = []
    k = int(part.max()) + 1
    for fold in range(k):
        if progress is not None:
            progress(fold, k, f"fold {fold + 1}")
        train, test = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
        if not len(test):
            raise InputError(f"fold {fold + 1} of {k} is empty: there is too little to divide. Take fewer `folds=`.")
        labels, probs, guesses = trained(train, test)
        said[test], sure[test], plain[test] = list(labels), probs, list(guesses)
        right, easy = (float((x[test] == truth[test]).mean()) for x in (said, plain))
        folds.append(Fold(fold + 1, len(train), len(test), right, easy))
    hits = said == truth
    numbers = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)
    calibration: Any = check(hits.astype(np.uint8), np.clip(sure, 0.0, 1.0), groups=numbers, confidence_level=level)
    sizes = np.array([f.tested_on for f in folds])
    accuracy = fold_interval([f.accuracy for f in folds], sizes, level)
    gain = fold_difference([f.accuracy - f.baseline for f in folds], sizes, level)
    scored = score(truth.tolist(), said.tolist(), groups=numbers, second=second, confidence_level=level)
    found = accuracy, baseline, gain, scored, replace(calibration, of_predicted=True)
    return CrossValidation(method, what, tuple(folds), *found, left_out, level, notes)
