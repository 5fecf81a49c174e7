"""Exact laws of counts: how many documents have an event, how many entities, which of two actors has more.

Documents are independent given their own posteriors, so the law of a period's count is a convolution: Poisson-binomial
for documents, of each document's law for entities, of differences for two actors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.poisson_binomial import poisson_binomial

Floats = NDArray[np.float64]

LEVELS = (0.5, 0.8, 0.95)
NORMAL = 1.96  # the paper's m ± 1.96 s
_ROUNDING = 1e-12  # so that a level reached exactly counts as reached


@dataclass(frozen=True, slots=True)
class CountLaw:
    """`probabilities[k]` = P(the count is k + `least`)."""

    probabilities: Floats
    least: int = 0

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        return f"CountLaw(mean {self.mean:.2f}, 95% between {low} and {high})"

    @property
    def mean(self) -> float:
        return float(self.probabilities @ (np.arange(len(self.probabilities)) + self.least))

    @property
    def sd(self) -> float:
        k = np.arange(len(self.probabilities)) + self.least
        return float(np.sqrt(np.maximum(0.0, self.probabilities @ (k - self.mean) ** 2)))

    def quantile(self, level: float) -> int:
        """The least k with P(count ≤ k) ≥ level."""
        reached = np.cumsum(self.probabilities) >= level - _ROUNDING
        return self.least + (int(np.argmax(reached)) if reached.any() else len(reached) - 1)

    def interval(self, level: float) -> tuple[int, int]:
        """Equal-tailed: the quantiles of (1 - level) / 2 and (1 + level) / 2."""
        return self.quantile((1.0 - level) / 2.0), self.quantile((1.0 + level) / 2.0)

    def above(self, k: int) -> float:
        """P(count > k)."""
        return float(self.probabilities[max(0, k + 1 - self.least) :].sum())


def document_count(p: Floats) -> CountLaw:
    """How many documents have an event, given the probability of each."""
    return CountLaw(poisson_binomial(np.asarray(p, dtype=np.float64)))


def entity_count(laws: Sequence[Sequence[float]]) -> CountLaw:
    """How many entities there are in all, given each document's law of their number."""
    made = np.ones(1)
    for law in laws:
        if len(law) > 1:
            made = np.convolve(made, np.asarray(law, dtype=np.float64))
    return CountLaw(made)


def difference_count(only_a: Floats, only_b: Floats) -> CountLaw:
    """n_A - n_B, given each document's P(A has an event and B none) and P(B has one and A none)."""
    made, n = np.ones(1), len(only_a)
    for a, b in zip(only_a.tolist(), only_b.tolist(), strict=True):
        made = np.convolve(made, [b, 1.0 - a - b, a])
    return CountLaw(np.maximum(made, 0.0), -n)


def more_than(first: CountLaw, second: CountLaw) -> float:
    """P(first > second) for independent counts, such as those of two periods."""
    below = np.cumsum(second.probabilities)  # P(second ≤ least + k)
    k = np.arange(len(first.probabilities)) + first.least - 1 - second.least
    return float(first.probabilities @ np.where(k < 0, 0.0, below[np.clip(k, 0, len(below) - 1)]))
