"""Platt scaling and temperature scaling: a straight line in log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.recalibration.recalibrator import LOG_ODDS_BOUND, Recalibrator, sigmoid
from howsure.kernels.cells import Floats
from howsure.kernels.losses import logistic_fit, temperature_loss


class Platt(Recalibrator):
    """logit q̂ = a + b logit q with b ≥ 0, by maximum likelihood.

    Parameters
    ----------
    smoothing : bool
        Replace the labels by Platt's targets (N₁+1)/(N₁+2) and 1/(N₀+2), which keeps the fit finite when
        probabilities part the labels perfectly.

    Notes
    -----
    b is never negative: a recalibrator does not turn the order of predictions round. Where the likelihood would have
    it so, b = 0 and every prediction becomes the base rate.

    References
    ----------
    Platt, Probabilistic outputs for support vector machines, 1999.

    Examples
    --------
    >>> q, y = [0.05, 0.05, 0.95, 0.95, 0.95], [0, 1, 1, 1, 0]
    >>> Platt().fit(q, y).transform([0.05, 0.95]).round(4).tolist()
    [0.5, 0.6667]
    """

    method = "platt"
    intercept_: float
    slope_: float

    def __init__(self, *, smoothing: bool = False) -> None:
        self.smoothing = smoothing

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: NDArray[np.int64]) -> None:
        if self.smoothing:
            positive = float(weight @ y)
            negative = float(weight.sum()) - positive
            y = np.where(y > 0, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
        self.intercept_, self.slope_ = platt_line(x, y, weight)

    def _curve(self, x: Floats) -> Floats:
        return sigmoid(self.intercept_ + self.slope_ * x)

    def _formula(self) -> str:
        return f"logit q' = {self.intercept_:.4g} + {self.slope_:.4g} logit q"


def platt_line(x: Floats, target: Floats, weight: Floats) -> tuple[float, float]:
    """Intercept and slope of the likeliest line with slope ≥ 0."""
    one = np.ones_like(x)
    a, b = logistic_fit(np.stack([one, x], axis=1), target, weight, np.array([0.0, 1.0])).tolist()
    if b >= 0.0:
        return a, b
    return float(logistic_fit(one[:, None], target, weight, np.zeros(1))[0]), 0.0


class Temperature(Recalibrator):
    """Every log-probability times b = 1/T ≥ 0, renormalised: softmax(b ln q). For two classes logit q̂ = b logit q.

    The one number is fitted by maximum likelihood, with Newton's method for two classes and L-BFGS for more.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger, On calibration of modern neural networks, ICML 2017.

    Examples
    --------
    >>> t = Temperature().fit([[0.9, 0.05, 0.05]] * 10, [0] * 6 + [1] * 2 + [2] * 2)
    >>> round(t.slope_, 4), t.transform([[0.9, 0.05, 0.05]]).round(4).tolist()
    (0.3801, [[0.6, 0.2, 0.2]])
    """

    method = "temperature"
    slope_: float

    def _learn(self, log_p: Floats, y: NDArray[np.int64], weight: Floats, groups: NDArray[Any] | None) -> None:
        if log_p.ndim == 1 or log_p.shape[1] == 2:
            super()._learn(log_p, y, weight, groups)
            return
        from scipy.optimize import minimize

        share = weight / weight.sum()
        options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 500}
        start, bounds = np.ones(1), [(0.0, 1e3)]
        found = minimize(
            temperature_loss, start, (log_p, y, share), "L-BFGS-B", jac=True, bounds=bounds, options=options
        )
        self.slope_ = float(found.x[0])

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: NDArray[np.int64]) -> None:
        self.slope_ = max(float(logistic_fit(x[:, None], y, weight, np.ones(1))[0]), 0.0)

    def _curve(self, x: Floats) -> Floats:
        return sigmoid(self.slope_ * x)

    def _classes_curve(self, log_p: Floats) -> Floats:
        return softmax(self.slope_ * log_p)

    def _formula(self) -> str:
        return f"softmax({self.slope_:.4g} ln q)"


def softmax(z: Floats) -> Floats:
    """Rows of probabilities, none below 1e-13 of the largest."""
    p = np.exp(np.maximum(z - z.max(axis=1, keepdims=True), -LOG_ODDS_BOUND))
    return p / p.sum(axis=1, keepdims=True)
