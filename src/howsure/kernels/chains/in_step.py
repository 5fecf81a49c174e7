"""Linear chains compiled, in probability space: sentences of like length in step, `LANES` at once.

A message is a matrix (tags, lanes), a sentence a lane, so that a step is a product with the transitions and sums over
tags add whole rows: nothing is left over whatever the number of tags, and no lane's numbers depend on the others.
Scores, messages and what underflows are as in compiled.py.
"""

import math
from collections.abc import Iterable
from functools import partial
from itertools import chain

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from howsure.kernels.cells import Floats, Ints
from howsure.kernels.chains.compiled import exp_below, max_of
from howsure.kernels.compiling import array, inlined, kernel, piece, ready

LANES = 32
UNEVEN = 1.3  # steps of all lanes for each token; a step of a lane takes two thirds of one of a sentence alone
WIDTH, ROWS, VECTORS = 8, 4, 2  # a tile of a product: ROWS rows of VECTORS vectors, which stay in registers
COLUMNS = WIDTH * VECTORS
_VECTOR, _MATRIX, _WHOLE = array("float64"), array("float64", 2), array("int64")


@intrinsic
def add_tile(typing, left, right, out, row, column):
    """out += left @ right for ROWS rows from `row` and COLUMNS columns from `column`; all arrays are C-ordered.

    Written as LLVM's vectors, since only so the sums stay in registers: four times what the vectoriser makes of loops.
    """
    number, word, index = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
    vector = ir.VectorType(number, WIDTH)

    def generate(context, builder, signature, args):
        of = [context.make_array(t)(context, builder, a) for t, a in zip(signature.args[:3], args, strict=False)]
        row, column = args[3:]
        inner, across = builder.extract_value(of[0].shape, 1), builder.extract_value(of[1].shape, 1)

        def place(matrix, i, size, j):
            return builder.gep(matrix.data, [builder.add(builder.mul(i, size), j)])

        def vectors(matrix, i):
            first = [builder.add(column, word(WIDTH * v)) for v in range(VECTORS)]
            return [builder.bitcast(place(matrix, i, across, j), vector.as_pointer()) for j in first]

        rows = [builder.add(row, word(r)) for r in range(ROWS)]
        targets = [vectors(of[2], r) for r in rows]
        sums = [[cgutils.alloca_once(builder, vector) for _ in range(VECTORS)] for _ in range(ROWS)]
        for target, total in zip(chain(*targets), chain(*sums), strict=True):
            builder.store(builder.load(target, align=8), total)
        with cgutils.for_range(builder, inner, intp=word) as loop:
            ahead = [builder.load(p, align=8) for p in vectors(of[1], loop.index)]
            for r in range(ROWS):
                x = builder.load(place(of[0], rows[r], inner, loop.index))
                alone = builder.insert_element(ir.Constant(vector, ir.Undefined), x, index(0))
                same = builder.shuffle_vector(alone, alone, ir.Constant(ir.VectorType(index, WIDTH), [0] * WIDTH))
                for y, total in zip(ahead, sums[r], strict=True):
                    product = builder.fmul(same, y, flags=("contract",))
                    builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)
        for target, total in zip(chain(*targets), chain(*sums), strict=True):
            builder.store(builder.load(total), target, align=8)
        return context.get_dummy_value()

    return types.void(left, right, out, types.int64, types.int64), generate


def batches(starts: Ints) -> tuple[Ints, Ints]:
    """Sentences from the longest to the shortest, and where batches of LANES of them start, in steps of one lane."""
    lengths = np.diff(starts)
    order = np.argsort(-lengths, kind="stable")
    return order, np.concatenate([[0], np.cumsum(LANES * lengths[order[::LANES]])])


def are_even(starts: Ints, parts: Iterable[tuple[int, int]] | None = None) -> bool:
    """Whether sentences (of each part, on the whole) are many and like enough in length to be quicker in step than one after another."""
    runs = [starts] if parts is None else [starts[first : after + 1] for first, after in parts]
    return bool(sum(batches(run)[1][-1] for run in runs) <= UNEVEN * starts[-1])


def pair_sums(n_tags: int) -> Floats:
    """Zeros to which expected counts of pairs can be added; the first n_tags rows and columns count."""
    return np.zeros((up_to(n_tags, ROWS), up_to(n_tags, COLUMNS)))


@piece
def up_to(n: int, multiple: int) -> int:
    """The multiple at or above n."""
    return (n + multiple - 1) // multiple * multiple


@kernel("void(float64[:, ::1], float64[:, ::1], float64[:, ::1], boolean)", fused=True)
def multiply(left, right, out, add):
    """out = left @ right, or added to it; the rows of `left` and `out` are a multiple of ROWS, the columns of `right` of COLUMNS."""
    for i in range(0 if add else out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
    for column in range(0, right.shape[1], COLUMNS):
        for row in range(0, left.shape[0], ROWS):
            add_tile(left, right, out, row, column)


@inlined
def rows_padded(matrix):
    """A copy with rows of zeros to a multiple of ROWS."""
    made = np.zeros((up_to(matrix.shape[0], ROWS), matrix.shape[1]))
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            made[i, j] = matrix[i, j]
    return made


# The passes over (tags, lanes). They are functions of their own because LLVM vectorises them only so.


@kernel(f"void({_MATRIX}, {_WHOLE}, int64, float64[:, ::1], float64[::1])", fused=True)
def read(scores, token, n_tags, p, top):
    """Scores of a token of each lane, and the largest."""
    for lane in range(LANES):
        row = scores[token[lane]]
        for j in range(n_tags):
            p[j, lane] = row[j]
    for lane in range(LANES):
        top[lane] = p[0, lane]
    for j in range(1, n_tags):
        for lane in range(LANES):
            top[lane] = max(top[lane], p[j, lane])


@kernel(f"void({_MATRIX}, {_WHOLE}, int64, float64[:, ::1])", fused=True)
def gather(weights, token, n_tags, p):
    """What a token of each lane weighs."""
    for lane in range(LANES):
        row = weights[token[lane]]
        for j in range(n_tags):
            p[j, lane] = row[j]


@kernel("void(float64[:, ::1], float64[::1], int64)", fused=True)
def exponentials(p, top, n_tags):
    """p = exp(p - top)."""
    for j in range(n_tags):
        for lane in range(LANES):
            p[j, lane] = exp_below(p[j, lane] - top[lane])


@kernel("void(float64[:, ::1], float64[::1], int64, float64[:, ::1], float64[::1])", fused=True)
def weigh(p, by, n_tags, alpha, total):
    """α times p and a number of each lane, with its sums."""
    for lane in range(LANES):
        total[lane] = 0.0
    for j in range(n_tags):
        for lane in range(LANES):
            alpha[j, lane] *= p[j, lane] * by[lane]
        for lane in range(LANES):
            total[lane] += alpha[j, lane]


@kernel(f"void({_MATRIX}, float64[:, ::1], float64[::1])", fused=True)
def weights_of(scores, made, top):
    """exp of each row less its largest, and that."""
    for i in range(len(scores)):
        top[i] = max_of(scores[i])
        for j in range(scores.shape[1]):
            made[i, j] = exp_below(scores[i, j] - top[i])


@kernel("void(float64[:, ::1], float64[:, ::1], int64, float64[:, ::1], float64[::1])", fused=True)
def join(alpha, beta, n_tags, both, total):
    """α β, with its sums."""
    for lane in range(LANES):
        total[lane] = 0.0
    for j in range(n_tags):
        for lane in range(LANES):
            both[j, lane] = alpha[j, lane] * beta[j, lane]
        for lane in range(LANES):
            total[lane] += both[j, lane]


@kernel("void(float64[:, ::1], float64[:, ::1], int64, float64[::1])", fused=True)
def join_in_place(alpha, beta, n_tags, total):
    """The same in place of α."""
    for lane in range(LANES):
        total[lane] = 0.0
    for j in range(n_tags):
        for lane in range(LANES):
            alpha[j, lane] *= beta[j, lane]
        for lane in range(LANES):
            total[lane] += alpha[j, lane]


@kernel("void(float64[:, ::1], int64, float64[:, ::1])", fused=True)
def put(values, n_tags, place):
    """A copy."""
    for j in range(n_tags):
        for lane in range(LANES):
            place[j, lane] = values[j, lane]


@kernel("void(float64[:, ::1], float64[::1], int64)", fused=True)
def scale(values, by, n_tags):
    """Each lane times a number."""
    for j in range(n_tags):
        for lane in range(LANES):
            values[j, lane] *= by[lane]


@kernel("void(float64[:, ::1], float64[:, ::1], float64[::1], int64)", fused=True)
def look_ahead(p, beta, by, n_tags):
    """b = p β, each lane times a number."""
    for j in range(n_tags):
        for lane in range(LANES):
            p[j, lane] *= beta[j, lane] * by[lane]


@kernel("void(float64[:, :, ::1], float64[:, ::1], int64, float64[:, ::1])", fused=True)
def write(both, by, lane, rows):
    """One lane's marginals: a sentence at a time, as rows that lie apart take three times as long to write."""
    for t in range(len(rows)):
        row, joint, factor = rows[t], both[t], by[t, lane]
        for j in range(row.size):
            row[j] = joint[j, lane] * factor


@kernel(
    f"void({_MATRIX}, {_WHOLE}, {_VECTOR}, {_WHOLE}, {_WHOLE}, {_MATRIX}, {_VECTOR}, {_VECTOR}, {_WHOLE}, {_WHOLE}, int64, int64, "
    "float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1])",
    fused=True,
)
def scaled(
    scores, row, tops, starts, order, e, e_initial, e_final, left, right, first, last, out, log_z, pairs, expected
):
    """Marginals of batches first … last-1 of sentences `order` into `out`, and log Z less the constants taken out of the transitions.

    A token's scores are those of its `row`, in a table of `weights_of` with its `tops`; both are empty where each token has
    scores of its own, and then `out` may be `scores`. What α would be divided by to sum to one, that of the next
    step is. Unless `expected` is empty also Σ_t α_t[i] b_{t+1}[j] into it, to be multiplied by `e`, and
    P(y_t = left[k], y_{t+1} = right[k]) into `pairs` (tokens, K) at the first token of the pair.
    """
    n_tags = scores.shape[1]
    forward, backward = rows_padded(e.T), rows_padded(e)
    height = forward.shape[0]
    longest = 0
    for b in range(first, last):
        s = order[b * LANES]  # they are in order of length
        longest = max(longest, starts[s + 1] - starts[s])
    alpha, p = np.empty((longest, height, LANES)), np.empty((longest, height, LANES))
    beta, both = np.empty((height, LANES)), np.empty((height, LANES))
    following = np.zeros((LANES, expected.shape[1]))
    begin, length, token = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    top, total, logs = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    by, last_by, inverse = np.empty(LANES), np.empty(LANES), np.empty((longest, LANES))
    for b in range(first, last):
        n_lanes = min(LANES, order.size - b * LANES)
        for lane in range(LANES):  # idle ones repeat the first sentence
            s = order[b * LANES + (lane if lane < n_lanes else 0)]
            begin[lane] = starts[s]
            length[lane] = starts[s + 1] - starts[s]
            logs[lane] = 0.0
            by[lane] = 1.0
        steps = length[0]
        for t in range(steps):
            for lane in range(LANES):  # behind its end a sentence repeats its last token
                token[lane] = begin[lane] + min(t, length[lane] - 1)
                if row.size:
                    token[lane] = row[token[lane]]
                    top[lane] = tops[token[lane]]
            if row.size:
                gather(scores, token, n_tags, p[t])
            else:
                read(scores, token, n_tags, p[t], top)
                exponentials(p[t], top, n_tags)
            if t == 0:
                for j in range(n_tags):
                    for lane in range(LANES):
                        alpha[0, j, lane] = e_initial[j]
            else:
                multiply(forward, alpha[t - 1], alpha[t], False)
            weigh(p[t], by, n_tags, alpha[t], total)
            for lane in range(LANES):
                by[lane] = 1.0 / total[lane]
                if t < length[lane]:
                    logs[lane] += math.log(total[lane]) + top[lane]
                    last_by[lane] = by[lane]
        for t in range(steps - 1, -1, -1):
            for lane in range(LANES):
                if t == steps - 1 or t == length[lane] - 1:
                    for j in range(n_tags):
                        beta[j, lane] = e_final[j]
            if expected.size:
                join(alpha[t], beta, n_tags, both, total)
            else:
                join_in_place(alpha[t], beta, n_tags, total)
            for lane in range(LANES):
                if t == length[lane] - 1:
                    logs[lane] += math.log(total[lane] * last_by[lane])
                total[lane] = 1.0 / total[lane] if t < length[lane] and lane < n_lanes else 0.0
                inverse[t, lane] = total[lane]
            if expected.size and t < steps - 1:
                scale(alpha[t], total, n_tags)
                for lane in range(LANES):
                    for j in range(n_tags):
                        following[lane, j] = p[t + 1, j, lane]
                multiply(alpha[t], following, expected, True)
                for lane in range(n_lanes if left.size else 0):
                    if t < length[lane] - 1:
                        pair = pairs[begin[lane] + t]
                        for k in range(left.size):
                            pair[k] = alpha[t, left[k], lane] * e[left[k], right[k]] * following[lane, right[k]]
            if expected.size:
                put(both, n_tags, alpha[t])
            if t > 0:
                look_ahead(p[t], beta, total, n_tags)
                multiply(backward, p[t], beta, False)
        for lane in range(n_lanes):
            write(alpha, inverse, lane, out[begin[lane] : begin[lane] + length[lane]])
            log_z[order[b * LANES + lane]] = logs[lane]


compile_all = partial(ready, __name__)  # compiles or loads the kernels of this file
