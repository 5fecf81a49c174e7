"""What a CRF adds to chains: scores of tokens from their features' weights, and expected counts of the weights.

A feature's weights are a row: those of the tags it was seen with, or all T of them when that is most (then zeros that
never move fill the rest, and the row is added as a vector). Indices are unsigned: Numba tests a signed one for counting from the end.
"""

from functools import partial

import numpy as np

from howsure.kernels.compiling import array, inlined, kernel, ready

_VECTOR, _MATRIX, _WHOLE = array("float64"), array("float64", 2), array("int64")
_ROWS = f"{_WHOLE}, {array('int32')}, {_WHOLE}, {array('int16')}"


@inlined
def add_rows(ptr, ids, row_ptr, row_tag, weight, t, score):
    """score += the weight rows of token t's features."""
    n_tags = score.size
    for j in range(n_tags):
        score[j] = 0.0
    for a in range(np.uint64(ptr[t]), np.uint64(ptr[t + 1])):
        f = np.uint32(ids[a])
        begin, end = row_ptr[f], row_ptr[f + 1]
        if end - begin == n_tags:
            row = weight[begin:end]  # a slice, whose loop is vectorised
            for j in range(n_tags):
                score[j] += row[j]
        else:
            for k in range(np.uint64(begin), np.uint64(end)):
                score[np.uint32(row_tag[k])] += weight[k]


@inlined
def add_expected(ptr, ids, row_ptr, row_tag, t, marginal, expected):
    """The rows of token t's features += its marginals."""
    n_tags = marginal.size
    for a in range(np.uint64(ptr[t]), np.uint64(ptr[t + 1])):
        f = np.uint32(ids[a])
        begin, end = row_ptr[f], row_ptr[f + 1]
        if end - begin == n_tags:
            row = expected[begin:end]
            for j in range(n_tags):
                row[j] += marginal[j]
        else:
            for k in range(np.uint64(begin), np.uint64(end)):
                expected[k] += marginal[np.uint32(row_tag[k])]


@kernel(f"void({_ROWS}, {_VECTOR}, int64, int64, float64[:, ::1])", fused=True)
def state_scores(ptr, ids, row_ptr, row_tag, weight, first, last, scores):
    """Scores of tokens first … last-1, from their features."""
    for t in range(first, last):
        add_rows(ptr, ids, row_ptr, row_tag, weight, t, scores[t])


@kernel(f"void({_ROWS}, {_MATRIX}, int64, int64, float64[::1])", fused=True)
def state_expectations(ptr, ids, row_ptr, row_tag, marginals, first, last, expected):
    """Expected counts of (feature, tag) from marginals, added to `expected`."""
    for t in range(first, last):
        add_expected(ptr, ids, row_ptr, row_tag, t, marginals[t], expected)


@kernel(f"float64(float64[::1], {_VECTOR}, {_VECTOR}, float64, {array('boolean')})", fused=True)
def regularised(gradient, observed, weight, l2, movable):
    """Expected counts become the gradient, in place; returns Σ w²."""
    square = 0.0
    for i in range(weight.size):
        square += weight[i] * weight[i]
    for i in range(weight.size):
        gradient[i] = (gradient[i] - observed[i] + 2.0 * l2 * weight[i]) if movable[i] else 0.0
    return square


compile_all = partial(ready, __name__)  # compiles or loads the kernels of this file
