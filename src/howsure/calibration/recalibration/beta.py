"""Beta calibration: two slopes, one for each end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.recalibration.recalibrator import Recalibrator, sigmoid
from howsure.kernels.cells import Floats
from howsure.kernels.losses import logistic_fit, logistic_loss


class Beta(Recalibrator):
    """logit q̂ = a ln q - b ln(1-q) + c with a, b ≥ 0, by maximum likelihood.

    Platt scaling is a = b; a ≠ b bends the curve where one end is further off than the other.

    Notes
    -----
    The loss is convex, so the constrained minimum is the best among the minima of the faces (a free or 0, b free or 0)
    that obey the constraints: four small Newton fits at most.

    References
    ----------
    Kull, Silva Filho & Flach, Beta calibration, AISTATS 2017.

    Examples
    --------
    >>> q, y = [0.1, 0.1, 0.5, 0.5, 0.9, 0.9], [0, 1, 0, 1, 1, 1]
    >>> made = Beta().fit(q, y)
    >>> made.a_ >= 0 and made.b_ >= 0
    True
    """

    method = "beta"
    a_: float
    b_: float
    c_: float

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: NDArray[np.int64]) -> None:
        design = _design(x)
        best = np.inf
        for face in ([0, 1, 2], [0, 2], [1, 2], [2]):
            found = np.zeros(3)
            found[face] = logistic_fit(design[:, face], y, weight, np.array([1.0, 1.0, 0.0])[face])
            if min(found[:2]) < 0.0:
                continue
            loss = logistic_loss(found, design, y, weight)[0]
            if loss < best:
                best, (self.a_, self.b_, self.c_) = loss, found.tolist()
            if len(face) == 3:
                break  # the free minimum obeys the constraints

    def _curve(self, x: Floats) -> Floats:
        return sigmoid(_design(x) @ np.array([self.a_, self.b_, self.c_]))

    def _formula(self) -> str:
        return f"logit q' = {self.a_:.4g} ln q - {self.b_:.4g} ln(1-q) {self.c_:+.4g}"


def _design(x: Floats) -> Floats:
    """Columns ln q, -ln(1-q), 1 from the log-odds."""
    return np.stack([-np.logaddexp(0.0, -x), np.logaddexp(0.0, x), np.ones_like(x)], axis=1)
