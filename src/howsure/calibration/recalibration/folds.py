"""Folds for cross-validation: deterministic, and whole groups stay together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import Floats

INNER_FOLDS = 5


def random_folds(
    n: int, n_folds: int, groups: NDArray[Any] | None, rng: np.random.Generator | int
) -> NDArray[np.int64]:
    """The fold of each row: rows, or whole groups, dealt out in random order."""
    generator = np.random.default_rng(rng)
    if groups is None:
        return generator.permutation(n) % n_folds
    names, number = np.unique(groups, return_inverse=True)
    dealt: NDArray[np.int64] = (generator.permutation(len(names)) % n_folds)[number]
    return dealt


def inner_folds(x: Floats, y: Floats, groups: NDArray[Any] | None) -> NDArray[np.int64]:
    """Folds inside an estimator: rows dealt out in order of (x, y), so that the order given does not matter."""
    if groups is not None:
        return random_folds(len(x), INNER_FOLDS, groups, 0)
    fold = np.empty(len(x), np.int64)
    fold[np.lexsort((y, x))] = np.arange(len(x)) % INNER_FOLDS
    return fold
