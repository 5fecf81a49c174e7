"""Many tests at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values adjusted so that, of those called significant, at most a share α is false (1995); None stays None.

    >>> benjamini_hochberg([0.01, None, 0.04, 0.03])
    [0.03, None, 0.04, 0.04]
    """
    known = np.array([p for p in p_values if p is not None])
    order = np.argsort(known)[::-1]
    scaled = known[order] * len(known) / (len(known) - np.arange(len(known)))
    adjusted = np.empty(len(known))
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    rest = iter(adjusted.tolist())
    return [None if p is None else next(rest) for p in p_values]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values adjusted so that any false alarm at all has probability at most α (1979); None stays None.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    known = np.array([p for p in p_values if p is not None])
    order = np.argsort(known)
    scaled = known[order] * (len(known) - np.arange(len(known)))
    adjusted = np.empty(len(known))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    rest = iter(adjusted.tolist())
    return [None if p is None else next(rest) for p in p_values]
