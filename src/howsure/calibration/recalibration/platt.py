"""Parametric recalibrators: identity, Platt scaling, temperature, beta calibration and vector scaling."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.calibration.recalibration.recalibrator import LOG_ODDS_BOUND, Recalibrator, sigmoid
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.losses import logistic_fit, logistic_loss, temperature_loss, vector_loss


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
    FORMULA = "logit q' = {intercept_:.4g} + {slope_:.4g} logit q"
    intercept_: float
    slope_: float

    def __init__(self, *, smoothing: bool = False) -> None:
        self.smoothing = smoothing

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: Ints) -> None:
        if self.smoothing:
            positive = float(weight @ y)
            negative = float(weight.sum()) - positive
            y = np.where(y > 0, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
        self.intercept_, self.slope_ = platt_line(x, y, weight)

    def _curve(self, x: Floats) -> Floats:
        return sigmoid(self.intercept_ + self.slope_ * x)


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
    FORMULA = "softmax({slope_:.4g} ln q)"
    slope_: float

    def _learn(self, log_p: Floats, y: Ints, weight: Floats, groups: NDArray[Any] | None) -> None:
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

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: Ints) -> None:
        self.slope_ = max(float(logistic_fit(x[:, None], y, weight, np.ones(1))[0]), 0.0)

    def _curve(self, x: Floats) -> Floats:
        return sigmoid(self.slope_ * x)

    def _classes_curve(self, log_p: Floats) -> Floats:
        return softmax(self.slope_ * log_p)


def softmax(z: Floats) -> Floats:
    """Rows of probabilities, none below 1e-13 of the largest."""
    p = np.exp(np.maximum(z - z.max(axis=1, keepdims=True), -LOG_ODDS_BOUND))
    return p / p.sum(axis=1, keepdims=True)


class Identity(Recalibrator):
    """Leaves probabilities as they are, to the bit; rows of many classes are only made to sum to one.

    >>> Identity().fit([0.2, 0.9], [0, 1]).transform([0.0, 0.5]).tolist()
    [0.0, 0.5]
    """

    method = "none"
    FORMULA = "no change"

    def _mapped(self, probs: NDArray[Any]) -> Floats:
        self._check_classes(2 if probs.ndim == 1 else probs.shape[1])
        check = _validate.probabilities if probs.ndim == 1 else _validate.class_probabilities
        return check(probs, Origin("y", "X"))

    def _learn(self, log_p: Floats, y: Ints, weight: Floats, groups: NDArray[Any] | None) -> None:
        pass


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
    FORMULA = "logit q' = {a_:.4g} ln q - {b_:.4g} ln(1-q) {c_:+.4g}"
    a_: float
    b_: float
    c_: float

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: Ints) -> None:
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


def _design(x: Floats) -> Floats:
    """Columns ln q, -ln(1-q), 1 from the log-odds."""
    return np.stack([-np.logaddexp(0.0, -x), np.logaddexp(0.0, x), np.ones_like(x)], axis=1)


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

    def _learn(self, log_p: Floats, y: Ints, weight: Floats, groups: NDArray[Any] | None) -> None:
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
