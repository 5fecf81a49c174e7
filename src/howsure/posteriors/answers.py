"""What posteriors answer: how probable yes is, wherever a question was asked, and the law of a count."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure._result import shown_as
from howsure.kernels.cells import Floats, Ints

_ROUNDING = 1e-12  # so that a level reached exactly counts as reached


@dataclass(frozen=True, slots=True)
class Answers:
    """One row per place where `question` was asked.

    `start` and `end` are the tokens asked about (end excluded), `sentence` their sentence: what is dependent. `y_true`
    needs the gold tags, as numbers of the posterior's tags, one per token; -1 is a tag that the model has not.
    """

    question: str
    start: Ints
    end: Ints
    sentence: Ints
    y_prob: Floats
    truth: Callable[[Ints], NDArray[np.bool_]] = field(repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.y_prob)

    __repr__ = shown_as("{question}: {#y_prob:,} places, {expected:,.1f} expected")

    def y_true(self, gold: Ints) -> NDArray[np.uint8]:
        """Whether each answer is yes by the gold tags."""
        return self.truth(np.asarray(gold)).astype(np.uint8)

    @property
    def expected(self) -> float:
        """The expected number of yes: Σ q."""
        return float(self.y_prob.sum())


@dataclass(frozen=True, slots=True)
class CountLaw:
    """`probabilities[k]` = P(the count is k + `least`)."""

    probabilities: Floats
    least: int = 0

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"CountLaw(mean {self.mean:.2f}, 95% between {low} and {high})"

    @property
    def mean(self) -> float:
        return float(self.probabilities @ (np.arange(len(self.probabilities)) + self.least))

    @property
    def variance(self) -> float:
        k = np.arange(len(self.probabilities)) + self.least
        return float(np.maximum(0.0, self.probabilities @ (k - self.mean) ** 2))

    @property
    def sd(self) -> float:
        return sqrt(self.variance)

    def quantile(self, level: float) -> int:
        """The least k with P(count ≤ k) ≥ level."""
        reached = np.cumsum(self.probabilities) >= level - _ROUNDING
        return self.least + (int(np.argmax(reached)) if reached.any() else len(reached) - 1)

    def interval(self, level: float = 0.95) -> tuple[int, int]:
        """Equal-tailed: the quantiles of (1 - level) / 2 and (1 + level) / 2."""
        return self.quantile((1.0 - level) / 2.0), self.quantile((1.0 + level) / 2.0)

    def above(self, k: int) -> float:
        """P(count > k)."""
        return float(self.probabilities[max(0, k + 1 - self.least) :].sum())

    def to_dict(self) -> dict[str, Any]:
        """Mean, variance and the 95% interval."""
        low, high = self.interval()
        return {"mean": self.mean, "variance": self.variance, "low": low, "high": high}
