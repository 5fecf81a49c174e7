"""L-BFGS for smooth losses of very many weights: the two-loop recursion and a line search by steps that grow or shrink.

SciPy's L-BFGS-B finds the same optimum (tests), but its machinery for bounds costs more per iteration than a CRF's whole
gradient when there are half a million weights.
"""

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from howsure.kernels.cells import Floats

Loss = Callable[[Floats], tuple[float, Floats]]
Step = tuple[Floats, Floats, float]  # how the weights moved, how the gradient changed, and one over their product

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
    w = np.array(start, np.float64)
    value, gradient = loss(w)
    steps: deque[Step] = deque(maxlen=memory)
    for iteration in range(1, max_iterations + 1):
        size = _dot(gradient, gradient) ** 0.5
        if size <= 1e-10 * max(1.0, _dot(w, w) ** 0.5):
            break
        found = _searched(loss, w, value, gradient, _direction(gradient, steps), 1.0 if steps else 1.0 / size)
        if found is None:
            if not steps:
                break
            steps.clear()
            continue
        new_w, new_value, new_gradient = found
        s, y = new_w - w, new_gradient - gradient
        curvature, decrease = _dot(y, s), value - new_value
        if curvature > 1e-12 * _dot(y, y):
            steps.append((s, y, 1.0 / curvature))
        w, value, gradient = found
        if (after is not None and after(iteration, value, w)) or decrease < tolerance * max(abs(value), 1.0):
            break
    return w


def _dot(x: Floats, y: Floats) -> float:
    """x · y, not by BLAS, whose sums depend on the number of threads."""
    return float(np.einsum("i,i->", x, y))


def _direction(gradient: Floats, steps: Sequence[Step]) -> Floats:
    """-H g, from the remembered steps, oldest first."""
    direction, weights, work = -gradient, [], np.empty_like(gradient)  # new arrays of this size cost more than the sums
    for s, y, rho in reversed(steps):
        weights.append(rho * _dot(s, direction))
        direction -= np.multiply(y, weights[-1], out=work)
    if steps:
        _, y, rho = steps[-1]
        direction /= rho * _dot(y, y)
    for (s, y, rho), a in zip(steps, reversed(weights), strict=True):
        direction += np.multiply(s, a - rho * _dot(y, direction), out=work)
    return direction


def _searched(
    loss: Loss, w: Floats, value: float, gradient: Floats, direction: Floats, step: float
) -> tuple[Floats, float, Floats] | None:
    """A step along `direction` that lowers the loss enough and far enough; None if there is none."""
    slope = _dot(gradient, direction)
    if slope >= 0.0:
        return None
    low, high = 0.0, np.inf
    best = None
    for _ in range(MOST_TRIALS):
        tried = step * direction
        tried += w
        new_value, new_gradient = loss(tried)
        if not new_value <= value + ENOUGH * step * slope:
            high = step
        else:
            best = (tried, new_value, new_gradient)
            if _dot(new_gradient, direction) >= CURVED * slope:
                return best
            low = step
        step = step * GROW if high == np.inf else low + SHRINK * (high - low)
    return best
