"""Projective dependency trees, one root (Eisner 1996): inside sums, and marginals backwards through them.

right[i, j]: i heads i … j; left[i, j]: j heads i … j; arc_right[i, j]: with the arc i → j; arc_left[i, j]: j → i. The
arrays whose second index runs in the inner loops are kept transposed (…_t).
"""

import math

import numpy as np

from howsure.kernels.compiling import kernel, piece
from howsure.kernels.trees.spanning import counted


@piece
def total_of(a, b, x, first, n, shift, most):
    """log Σ_k exp(a[k] + b[k + shift]) over n places from `first`, or the largest if `most`; exponentials are left in x."""
    top = -math.inf
    for k in range(first, first + n):
        top = max(top, a[k] + b[k + shift])
    if most or top == -math.inf:
        return top
    total = 0.0
    for k in range(first, first + n):
        x[k] = math.exp(a[k] + b[k + shift] - top)
    for k in range(first, first + n):
        total += x[k]
    return top + math.log(total)


@piece
def inside(scores, most, charts, x):
    """Fill the charts of one sentence; returns log Z (or the weight of the best tree)."""
    n = scores.shape[1]
    right, right_t, left, left_t, arc_right, arc_left_t, both = charts
    for i in range(n):
        right[i, i] = right_t[i, i] = left[i, i] = left_t[i, i] = 0.0
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            both[i, j] = total_of(right[i], left_t[j], x, i, width, 1, most)
            arc_right[i, j] = both[i, j] + scores[i + 1, j]
            arc_left_t[j, i] = both[i, j] + scores[j + 1, i]
            right[i, j] = right_t[j, i] = total_of(arc_right[i], right_t[j], x, i + 1, width, 0, most)
            left[i, j] = left_t[j, i] = total_of(left[i], arc_left_t[j], x, i, width, 0, most)
    for r in range(n):
        x[r] = scores[0, r] + left[0, r]
    return total_of(x, right_t[n - 1], np.empty(n), 0, n, 0, most)


@piece
def _shared(mu, whole, a, b, to_a, to_b, first, n, shift):
    """Hand the marginal `mu` of an item on to its parts, in proportion to exp(a + b - whole)."""
    if mu > 0.0:
        for k in range(first, first + n):
            f = mu * math.exp(a[k] + b[k + shift] - whole)
            to_a[k] += f
            to_b[k + shift] += f


@piece
def outside(scores, log_z, charts, q):
    """Arcs' marginals of one sentence in `q`. An item is complete once all wider spans are done."""
    n = scores.shape[1]
    right, right_t, left, left_t, arc_right, arc_left_t, both = charts
    q[:, :] = 0.0
    of_right, of_right_t, of_left, of_left_t = np.zeros((4, n, n))
    for r in range(n):
        q[0, r] = math.exp(scores[0, r] + left[0, r] + right[r, n - 1] - log_z)
        of_left[0, r] += q[0, r]
        of_right[r, n - 1] += q[0, r]
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            mu = of_right[i, j] + of_right_t[j, i]
            _shared(mu, right[i, j], arc_right[i], right_t[j], q[i + 1], of_right_t[j], i + 1, width, 0)
            mu = of_left[i, j] + of_left_t[j, i]
            _shared(mu, left[i, j], left[i], arc_left_t[j], of_left[i], q[j + 1], i, width, 0)
            mu = q[i + 1, j] + q[j + 1, i]
            _shared(mu, both[i, j], right[i], left_t[j], of_right[i], of_left_t[j], i, width, 1)


@piece
def summed(scores, wanted, q):
    """log Z of one sentence, and the marginals in `q` if wanted."""
    n = scores.shape[1]
    charts = np.full((7, n, n), -math.inf)
    log_z = inside(scores, False, charts, np.empty(n))
    if wanted and log_z > -math.inf:
        outside(scores, log_z, charts, q)
    return log_z


@kernel("float64(float64[:, ::1], boolean, boolean, float64[:, ::1])")
def tree_sums(scores, is_projective, wanted, q):
    """log Z of one sentence, and its arcs' marginals in `q` if wanted."""
    return summed(scores, wanted, q) if is_projective else counted(scores, wanted, q)


@kernel("float64(float64[:, ::1], boolean, float64[:, :, ::1])")
def eisner_charts(scores, most, charts):
    """The inside charts of one sentence, of sums or (`most`) of best trees; returns log Z or the best weight."""
    return inside(scores, most, charts, np.empty(scores.shape[1]))
