"""What a CRF adds to chains: scores of tokens from their features' weights, and expected counts of the weights.

A feature's weights are a row: those of the tags it was seen with, or all T of them when that is most (then zeros that
never move fill the rest, and the row is added as a vector). Indices are unsigned: Numba tests a signed one for counting from the end.
"""

from functools import partial

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from howsure.kernels.compiling import array, inlined, kernel, ready

WIDTH = 8  # of a vector
_VECTOR, _MATRIX, _WHOLE = array("float64"), array("float64", 2), array("int64")
_ROWS = f"{_WHOLE}, {array('int32')}, {_WHOLE}, {array('int16')}"


@intrinsic
def sum_rows(typing, weight, begins, n, columns, score):
    """The sums of the n rows that begin at `begins`, a vector from each of a tuple of columns, in registers."""
    vector, word = ir.VectorType(ir.DoubleType(), WIDTH), ir.IntType(64)

    def generate(context, builder, signature, args):
        weight, begins, score = (
            context.make_array(signature.args[i])(context, builder, args[i]).data for i in (0, 1, 4)
        )
        chosen = [builder.extract_value(args[3], v) for v in range(signature.args[3].count)]
        sums = [cgutils.alloca_once(builder, vector) for _ in chosen]

        def place(array, at):
            return builder.bitcast(builder.gep(array, [at]), vector.as_pointer())

        for total in sums:
            builder.store(ir.Constant(vector, [0.0] * WIDTH), total)
        with cgutils.for_range(builder, args[2], intp=word) as loop:
            begin = builder.load(builder.gep(begins, [loop.index]))
            for column, total in zip(chosen, sums, strict=True):
                row = builder.load(place(weight, builder.add(begin, column)), align=8)
                builder.store(builder.fadd(builder.load(total), row), total)
        for column, total in zip(chosen, sums, strict=True):
            builder.store(builder.load(total), place(score, column), align=8)
        return context.get_dummy_value()

    return types.void(weight, begins, types.int64, columns, score), generate


@inlined
def sum_whole_rows(weight, begins, n, score):
    """score = the sums of n whole rows. The last vectors overlap: what two of them write is the same."""
    n_tags = score.size
    if n_tags < WIDTH:
        for j in range(n_tags):
            score[j] = 0.0
        for i in range(n):
            row = weight[begins[i] : begins[i] + n_tags]
            for j in range(n_tags):
                score[j] += row[j]
    else:
        last = n_tags - WIDTH
        for j in range(0, n_tags, 4 * WIDTH):
            columns = min(j, last), min(j + WIDTH, last), min(j + 2 * WIDTH, last), min(j + 3 * WIDTH, last)
            sum_rows(weight, begins, n, columns, score)


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
    n_tags, most = scores.shape[1], 0
    for t in range(first, last):
        most = max(most, ptr[t + 1] - ptr[t])
    whole, begins, ends = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    for t in range(first, last):
        n_whole, n_parts = np.uint64(0), np.uint64(0)
        for a in range(np.uint64(ptr[t]), np.uint64(ptr[t + 1])):
            f = np.uint32(ids[a])
            begin, end = row_ptr[f], row_ptr[f + 1]
            is_whole = end - begin == n_tags
            whole[n_whole], begins[n_parts], ends[n_parts] = begin, begin, end  # to both lists: no branch to foresee
            n_whole += np.uint64(is_whole)
            n_parts += np.uint64(not is_whole)
        score = scores[t]
        sum_whole_rows(weight, whole, np.int64(n_whole), score)
        for i in range(n_parts):
            for k in range(np.uint64(begins[i]), np.uint64(ends[i])):
                score[np.uint32(row_tag[k])] += weight[k]


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
