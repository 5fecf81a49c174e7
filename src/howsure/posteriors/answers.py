"""What posteriors answer: how probable yes is, wherever a question was asked, and the law of a count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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

    def __repr__(self) -> str:
        return f"Answers({self.question}: {len(self):,} places, {self.y_prob.sum():,.1f} expected)"

    def y_true(self, gold: Ints) -> NDArray[np.uint8]:
        """Whether each answer is yes by the gold tags."""
        return self.truth(np.asarray(gold)).astype(np.uint8)

    @property
    def expected(self) -> float:
        """The expected number of yes: Σ q."""
        return float(self.y_prob.sum())


@dataclass(frozen=True, slots=True)
class EntityCount:
    """The law of the number of entities: `probabilities[k]` = P(there are k)."""

    probabilities: Floats
    mean: float
    variance: float

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"EntityCount(mean {self.mean:.2f}, 95% between {low} and {high})"

    def interval(self, level: float = 0.95) -> tuple[int, int]:
        """The equal-tailed interval that holds at least `level`."""
        ends = np.cumsum(self.probabilities)
        low = int(np.searchsorted(ends, (1.0 - level) / 2.0 + 1e-15))
        high = int(np.searchsorted(ends, 1.0 - (1.0 - level) / 2.0 - 1e-15))
        return low, min(high, len(ends) - 1)

    def to_dict(self) -> dict[str, Any]:
        """Mean, variance and the 95% interval."""
        low, high = self.interval()
        return {"mean": self.mean, "variance": self.variance, "low": low, "high": high}
