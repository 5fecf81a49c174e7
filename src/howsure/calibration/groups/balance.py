"""What unequal groups are worth: degrees of freedom, and the number of equal groups that would say as much.

A group with a large share of the rows has a large part in the estimate and in the variance around it, and t with
G - 1 degrees of freedom is then far too sure. With h_g the share of group g and rows independent as a working
assumption, Satterthwaite's degrees of freedom of Σ_g u_g²/(1 - h_g), u_g = S_g - h_g S, are

    1 / [Σ h² + 2 Σ_{g<k} β_g β_k],   β = h²/(1 - h),

which is G - 1 when all groups are of one size. Derivation: docs/evidence/theory.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure.kernels.cells import Floats

FEW = 30.0  # with more groups than this, t is close to the normal law


@dataclass(frozen=True, slots=True)
class Balance:
    """Sums over groups of powers of their shares h; pieces of the groups add up."""

    squares: float  # Σ h²
    cross: float  # Σ β
    pairs: float  # Σ_{g<k} β_g β_k: sums of positive terms, since (Σβ)² - Σβ² would cancel when one group is nearly all
    largest: float

    @staticmethod
    def of(h: Floats) -> Balance:
        """Of some groups' shares, all below 1."""
        beta = np.sort(h**2 / (1.0 - h))
        before = np.cumsum(np.concatenate([[0.0], beta]))[:-1]
        return Balance(float(np.sum(h**2)), float(np.sum(beta)), float(before @ beta), float(h.max(initial=0.0)))

    def __add__(self, other: Balance) -> Balance:
        return Balance(
            self.squares + other.squares,
            self.cross + other.cross,
            self.pairs + other.pairs + self.cross * other.cross,
            max(self.largest, other.largest),
        )

    @property
    def degrees(self) -> float:
        """Degrees of freedom."""
        return 1.0 / (self.squares + 2.0 * self.pairs)

    @property
    def effective(self) -> float:
        """How many groups of one size have the same degrees of freedom."""
        return self.degrees + 1.0

    @property
    def is_dominated(self) -> bool:
        """Whether one group makes up most of Σh², and the degrees of freedom are few."""
        return self.effective < FEW and self.largest**2 > 0.5 * self.squares * (1.0 + 1e-9)
