"""L-BFGS for smooth losses of very many weights: the two-loop recursion and a line search by steps that grow or shrink.

SciPy's L-BFGS-B finds the same optimum (tests), but its machinery for bounds costs more per iteration than a CRF's whole
gradient when there are half a million weights.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from howsure.kernels import lbfgs_compiled
from howsure.kernels.cells import Floats

Loss = Callable[[Floats], tuple[float, Floats]]

ENOUGH, CURVED = 1e-4, 0.9  # the Wolfe conditions
SHRINK, GROW, MOST_TRIALS = 0.5, 2.1, 30


def minimise(
    loss: Loss,
    start: Floats,
    *,
    max_iterations: int,
    tolerance: float,
    after: Callable[[int, float, Floats], bool] | None = None,
    memory: int = 6,
) -> Floats:
    """The weights of least loss.

    Stops when an iteration lowers the loss by less than `tolerance` of itself, when the gradient vanishes, or when
    `after(iteration, loss, weights)` says so. Without progress along a direction the memory is dropped once.
    """
    lbfgs_compiled.compile_all()
    n = len(start)
    w = np.ascontiguousarray(start, np.float64).copy()
    value, gradient = loss(w)
    s, y, rho = np.empty((memory, n)), np.empty((memory, n)), np.zeros(memory)
    order: list[int] = []  # places of the remembered steps, oldest first
    weights, direction = np.empty(memory), np.empty(n)
    for iteration in range(1, max_iterations + 1):
        size = lbfgs_compiled.inner_product(gradient, gradient) ** 0.5
        if size <= 1e-10 * max(1.0, lbfgs_compiled.inner_product(w, w) ** 0.5):
            break
        slope = lbfgs_compiled.recursion(gradient, s, y, rho, np.array(order, np.int64), weights, direction)
        found = _searched(loss, w, value, slope, direction, 1.0 if order else 1.0 / size)
        if found is None:
            if not order:
                break
            order = []
            continue
        new_w, new_value, new_gradient = found
        free = order[0] if len(order) == memory else next(i for i in range(memory) if i not in order)
        kept = [i for i in order if i != free]
        curvature, square = lbfgs_compiled.remember(new_w, w, new_gradient, gradient, s[free], y[free])
        order = kept
        if curvature > 1e-12 * square:
            rho[free] = 1.0 / curvature
            order = [*kept, free]
        decrease = value - new_value
        w, value, gradient = new_w, new_value, new_gradient
        if (after is not None and after(iteration, value, w)) or decrease < tolerance * max(abs(value), 1.0):
            break
    return w


def _searched(
    loss: Loss, w: Floats, value: float, slope: float, direction: Floats, step: float
) -> tuple[Floats, float, Floats] | None:
    """A step along `direction` that lowers the loss enough and far enough; None if there is none."""
    if slope >= 0.0:
        return None
    low, high = 0.0, np.inf
    best = None
    for _ in range(MOST_TRIALS):
        tried = np.empty_like(w)
        lbfgs_compiled.step_along(w, step, direction, tried)
        new_value, new_gradient = loss(tried)
        if not new_value <= value + ENOUGH * step * slope:
            high = step
        else:
            best = (tried, new_value, new_gradient)
            if lbfgs_compiled.inner_product(new_gradient, direction) >= CURVED * slope:
                return best
            low = step
        step = step * GROW if high == np.inf else low + SHRINK * (high - low)
    return best
