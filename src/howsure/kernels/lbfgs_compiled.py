"""The two-loop recursion of L-BFGS, compiled: vectors of half a million weights, in place, on one thread."""

from functools import partial

from howsure.kernels.compiling import inlined, kernel, ready

_VECTOR, _MATRIX = "float64[::1]", "float64[:, ::1]"


@inlined
def dot(x, y):
    """x · y by four sums side by side."""
    n = x.size
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(n // 4):
        i = 4 * k
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
    for i in range(n - n % 4, n):
        a += x[i] * y[i]
    return (a + b) + (c + d)


@kernel(f"float64({_VECTOR}, {_VECTOR})", fused=True)
def inner_product(x, y):
    """x · y."""
    return dot(x, y)


@kernel(f"void({_VECTOR}, float64, {_VECTOR}, {_VECTOR})", fused=True)
def step_along(w, step, direction, out):
    """out = w + step × direction."""
    for i in range(w.size):
        out[i] = w[i] + step * direction[i]


@kernel(f"UniTuple(float64, 2)({', '.join([_VECTOR] * 6)})", fused=True)
def remember(new_w, w, new_gradient, gradient, s, y):
    """Fill s and y with the last step; returns y · s and y · y."""
    for i in range(w.size):
        s[i] = new_w[i] - w[i]
        y[i] = new_gradient[i] - gradient[i]
    return dot(y, s), dot(y, y)


@kernel(f"float64({_VECTOR}, {_MATRIX}, {_MATRIX}, {_VECTOR}, int64[::1], {_VECTOR}, {_VECTOR})", fused=True)
def recursion(gradient, s, y, rho, order, weights, direction):
    """direction = -H g, from the remembered steps in `order`, oldest first; returns g · direction."""
    n, kept = gradient.size, order.size
    for i in range(n):
        direction[i] = -gradient[i]
    for k in range(kept - 1, -1, -1):
        m = order[k]
        a = rho[m] * dot(s[m], direction)
        weights[m] = a
        y_m = y[m]
        for i in range(n):
            direction[i] -= a * y_m[i]
    if kept:
        m = order[kept - 1]
        scale = 1.0 / (rho[m] * dot(y[m], y[m]))
        for i in range(n):
            direction[i] *= scale
    for k in range(kept):
        m = order[k]
        b = weights[m] - rho[m] * dot(y[m], direction)
        s_m = s[m]
        for i in range(n):
            direction[i] += b * s_m[i]
    return dot(gradient, direction)


compile_all = partial(ready, __name__)  # compiles or loads the kernels of this file
