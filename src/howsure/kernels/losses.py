"""Losses with their gradients: logistic and softmax regression on few columns with a damped Newton fit, a soft calibration error.

Targets t may be fractions (Platt's smoothed labels); weights w are per row. Nothing here is penalised unless it says so.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.kernels import special
from howsure.kernels.cells import Floats

MOST_STEPS = 100
HATS = 15


def logistic_loss(coefficients: Floats, design: Floats, target: Floats, weight: Floats) -> tuple[float, Floats]:
    """Σ w [ln(1 + e^z) - t z], z = design · coefficients, and its gradient."""
    z = design @ coefficients
    gradient: Floats = design.T @ (weight * (special.expit(z) - target))
    return float(np.sum(weight * (np.logaddexp(0.0, z) - target * z))), gradient


def logistic_fit(design: Floats, target: Floats, weight: Floats, start: Floats) -> Floats:
    """The coefficients of least logistic loss, by Newton's method (iteratively reweighted least squares).

    A step that does not lower the loss is halved; columns that do not vary keep their start (least-norm steps). On
    separable data, where the loss has no minimum, it stops once the loss is as good as its limit.
    """
    coefficients, total = start.astype(np.float64), float(weight.sum())
    loss, gradient = logistic_loss(coefficients, design, target, weight)
    for _ in range(MOST_STEPS):
        p = special.expit(design @ coefficients)
        hessian = design.T @ (design * (weight * p * (1.0 - p))[:, None])
        step = np.linalg.lstsq(hessian, gradient, rcond=1e-13)[0]
        if float(gradient @ step) <= 1e-9 * total:
            return coefficients - step  # so near that one more step, quadratic, is exact to rounding
        for halving in range(40):
            trial = coefficients - step * 0.5**halving
            trial_loss, trial_gradient = logistic_loss(trial, design, target, weight)
            if trial_loss < loss:
                break
        else:
            break
        coefficients, loss, gradient = trial, trial_loss, trial_gradient
    return coefficients


def temperature_loss(b: Floats, log_p: Floats, y: NDArray[Any], weight: Floats) -> tuple[float, Floats]:
    """Log loss of softmax(b · log_p), summed over the rows, and its derivative; b is an array of one number."""
    loss, slope = _softmax_loss(b[0] * log_p, y, weight)
    return loss, np.array([float(np.sum(slope * log_p))])


def vector_loss(theta: Floats, log_p: Floats, y: NDArray[Any], weight: Floats, penalty: float) -> tuple[float, Floats]:
    """Log loss of softmax((b + u_k) log_p_k + c_k) + ½ penalty (Σu² + Σc²), and its gradient; θ = (b, u, c)."""
    k = log_p.shape[1]
    u, c = theta[1 : k + 1], theta[k + 1 :]
    loss, slope = _softmax_loss((theta[0] + u) * log_p + c, y, weight)
    by_class = np.sum(slope * log_p, axis=0)
    gradient = np.concatenate([[by_class.sum()], by_class + penalty * u, slope.sum(axis=0) + penalty * c])
    return loss + 0.5 * penalty * float(u @ u + c @ c), gradient


def _softmax_loss(z: Floats, y: NDArray[Any], weight: Floats) -> tuple[float, Floats]:
    """Σ w [logsumexp(z) - z_y], and its derivative by z."""
    z = z - z.max(axis=1, keepdims=True)
    rows = np.arange(len(y))
    at_label = z[rows, y]
    p = np.exp(z)
    total = p.sum(axis=1)
    loss = float(np.sum(weight * (np.log(total) - at_label)))
    p *= (weight / total)[:, None]
    p[rows, y] -= weight
    return loss, p


# A calibration error that has a gradient: bins are replaced by overlapping hats, so that it can be part of a loss.
#
# φ_b are the hat functions of an even grid on [0, 1] (they sum to one), S_b = Σ φ_b(q_i)(y_i - q_i), N_b = Σ φ_b(q_i):
#
#     CE² = Σ_b S_b² / (N_b n)


def soft_calibration_error(y: np.ndarray, q: np.ndarray, hats: int = HATS) -> tuple[float, np.ndarray]:
    """CE² and its derivative by each q. Cost: two hats per item."""
    n = len(q)
    at = q * (hats - 1)
    left = np.minimum(at.astype(np.int64), hats - 2)
    share = at - left  # of the right hat
    gap = y - q
    mass = np.bincount(left, 1.0 - share, hats) + np.bincount(left + 1, share, hats)
    total = np.bincount(left, (1.0 - share) * gap, hats) + np.bincount(left + 1, share * gap, hats)
    mean = np.divide(total, mass, out=np.zeros(hats), where=mass > 0)  # S_b / N_b
    slope = hats - 1.0
    turned = slope * (mean[left + 1] - mean[left])  # Σ_b φ_b' S_b/N_b
    squared = slope * (mean[left + 1] ** 2 - mean[left] ** 2)
    held = (1.0 - share) * mean[left] + share * mean[left + 1]
    return float((mean * total).sum() / n), (2.0 * (turned * gap - held) - squared) / n
