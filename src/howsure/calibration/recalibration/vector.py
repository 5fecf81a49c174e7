"""Vector scaling: a slope and an intercept for each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.calibration.recalibration.platt import softmax
from howsure.calibration.recalibration.recalibrator import Recalibrator, sigmoid
from howsure.kernels.cells import Floats
from howsure.kernels.losses import vector_loss


class Vector(Recalibrator):
    """softmax(w_k ln q_k + c_k), by penalised maximum likelihood (L-BFGS with the exact gradient).

    Parameters
    ----------
    penalty : float
        λ of ½λ(Σ(w_k - b)² + Σc_k²), added to the summed log loss; b, the common slope, is free. A large λ leaves
        temperature scaling, 0 the plain likelihood, which runs off to infinity for a class that never occurs.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger, On calibration of modern neural networks, ICML 2017.

    Examples
    --------
    >>> v = Vector().fit([[0.6, 0.3, 0.1]] * 100, [0] * 20 + [1] * 30 + [2] * 50)
    >>> bool(v.transform([[0.6, 0.3, 0.1]])[0].argmax() == 2)
    True
    """

    method = "vector"
    slopes_: Floats
    intercepts_: Floats

    def __init__(self, *, penalty: float = 1.0) -> None:
        self.penalty = penalty

    def _learn(self, log_p: Floats, y: NDArray[np.int64], weight: Floats, groups: NDArray[Any] | None) -> None:
        from scipy.optimize import minimize

        penalty = _validate.not_negative(self.penalty, "penalty")
        if log_p.ndim == 1:
            log_p = _two_columns(log_p)
        k, total = log_p.shape[1], float(weight.sum())
        start = np.zeros(2 * k + 1)
        start[0] = 1.0
        found = minimize(
            vector_loss,
            start,
            (log_p, y, weight / total, penalty / total),
            "L-BFGS-B",
            jac=True,
            options={"ftol": 1e-13, "gtol": 1e-8, "maxiter": 1000, "maxfun": 2000},
        )
        self.slopes_, self.intercepts_ = found.x[0] + found.x[1 : k + 1], found.x[k + 1 :]

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: NDArray[np.int64]) -> None:
        raise NotImplementedError  # two classes are fitted as K

    def _curve(self, x: Floats) -> Floats:
        z = self.slopes_ * _two_columns(x) + self.intercepts_
        return sigmoid(z[:, 1] - z[:, 0])

    def _classes_curve(self, log_p: Floats) -> Floats:
        return softmax(self.slopes_ * log_p + self.intercepts_)

    def _formula(self) -> str:
        return f"softmax(w_k ln q_k + c_k), w from {self.slopes_.min():.4g} to {self.slopes_.max():.4g}"


def _two_columns(x: Floats) -> Floats:
    """ln(1-q) and ln q from the log-odds."""
    return np.stack([-np.logaddexp(0.0, x), -np.logaddexp(0.0, -x)], axis=1)
