"""The law of the number of entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
