"""No change: what is saved when recalibration would not clearly help."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.calibration.recalibration.recalibrator import Recalibrator, sigmoid
from howsure.kernels.cells import Floats


class Identity(Recalibrator):
    """Leaves probabilities as they are, to the bit; rows of many classes are only made to sum to one.

    >>> Identity().fit([0.2, 0.9], [0, 1]).transform([0.0, 0.5]).tolist()
    [0.0, 0.5]
    """

    method = "none"

    def _mapped(self, probs: NDArray[Any]) -> Floats:
        self._check_classes(2 if probs.ndim == 1 else probs.shape[1])
        check = _validate.probabilities if probs.ndim == 1 else _validate.class_probabilities
        return check(probs, Origin("y", "X"))

    def _learn(self, log_p: Floats, y: NDArray[np.int64], weight: Floats, groups: NDArray[Any] | None) -> None:
        pass

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: NDArray[np.int64]) -> None:
        pass

    def _curve(self, x: Floats) -> Floats:
        return sigmoid(x)

    def _formula(self) -> str:
        return "no change"
