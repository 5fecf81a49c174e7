"""Answers to a yes/no question asked of structures: where it was asked, and how probable yes is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

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
