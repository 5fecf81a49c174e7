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
VECTOR, WORD, INDEX = ir.VectorType(ir.DoubleType(), WIDTH), ir.IntType(64), ir.IntType(32)
_VECTOR, _MATRIX, _WHOLE = array("float64"), array("float64", 2), array("int64")


def matrices(context, builder, signature, args, *which):
    """Arrays among the arguments of an intrinsic."""
    return [context.make_array(signature.args[i])(context, builder, args[i]) for i in which]


def vector_at(builder, array, i, across, j):
    """Where the vector at row i and column j of an array with `across` columns lies."""
    return builder.bitcast(builder.gep(array.data, [builder.add(builder.mul(i, across), j)]), VECTOR.as_pointer())


def same(builder, x):
    """A vector of one number."""
    alone = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), x, ir.Constant(INDEX, 0))
    return builder.shuffle_vector(alone, alone, ir.Constant(ir.VectorType(INDEX, WIDTH), [0] * WIDTH))


def tile(builder, left, right, rows, columns, given=None):
    """Vectors of a tile of left @ right (plus what is `given`), by row; of as many columns of `left` as `right` has rows.

    Written as LLVM's vectors, since only so the sums stay in registers: four times what the vectoriser makes of loops.
    """
    stride, height = builder.extract_value(left.shape, 1), builder.extract_value(right.shape, 0)
    inner = builder.select(builder.icmp_signed("<", stride, height), stride, height)
    across = builder.extract_value(right.shape, 1)
    sums = [[cgutils.alloca_once(builder, VECTOR) for _ in columns] for _ in rows]
    begin = given or [[ir.Constant(VECTOR, [0.0] * WIDTH) for _ in columns] for _ in rows]
    for value, total in zip(chain(*begin), chain(*sums), strict=True):
        builder.store(value, total)
    with cgutils.for_range(builder, inner, intp=WORD) as loop:
        ahead = [builder.load(vector_at(builder, right, loop.index, across, j), align=8) for j in columns]
        for row, totals in zip(rows, sums, strict=True):
            place = builder.gep(left.data, [builder.add(builder.mul(row, stride), loop.index)])
            x = same(builder, builder.load(place))
            for y, total in zip(ahead, totals, strict=True):
                product = builder.fmul(x, y, flags=("contract",))
                builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)
    return [[builder.load(total) for total in totals] for totals in sums]


@intrinsic
def add_tile(typing, left, right, out, row, column):
    """out += left @ right for ROWS rows from `row` and COLUMNS columns from `column`; all arrays are C-ordered."""

    def generate(context, builder, signature, args):
        left, right, out = matrices(context, builder, signature, args, 0, 1, 2)
        across = builder.extract_value(out.shape, 1)
        rows = [builder.add(args[3], WORD(r)) for r in range(ROWS)]
        columns = [builder.add(args[4], WORD(WIDTH * v)) for v in range(VECTORS)]
        places = [[vector_at(builder, out, i, across, j) for j in columns] for i in rows]
        given = [[builder.load(place, align=8) for place in of_row] for of_row in places]
        made = tile(builder, left, right, rows, columns, given)
        for value, place in zip(chain(*made), chain(*places), strict=True):
            builder.store(value, place, align=8)
        return context.get_dummy_value()

    return types.void(left, right, out, types.int64, types.int64), generate


@intrinsic
def weigh_tile(typing, left, right, by, ends, at_end, values, out, total, other, row, column):
    """Of the messages m = left @ right times `by`, or `at_end` in the lanes where `ends` is not 0: out = values m, with
    its sums added to `total`, and `other` (or None) times m.
    """
    n_arrays = 8 if isinstance(other, types.NoneType) else 9

    def generate(context, builder, signature, args):
        arrays = matrices(context, builder, signature, args, *range(n_arrays))
        left, right, by, ends, at_end, values, out, total = arrays[:8]
        across, zero = builder.extract_value(values.shape, 1), ir.Constant(VECTOR, [0.0] * WIDTH)
        rows = [builder.add(args[9], WORD(r)) for r in range(ROWS)]
        columns = [builder.add(args[10], WORD(WIDTH * v)) for v in range(VECTORS)]
        made = tile(builder, left, right, rows, columns)

        def lanes(array, v):
            return vector_at(builder, array, WORD(0), across, columns[v])

        factors = [builder.load(lanes(by, v), align=8) for v in range(VECTORS)]
        ended = [builder.fcmp_unordered("!=", builder.load(lanes(ends, v), align=8), zero) for v in range(VECTORS)]
        sums = [builder.load(lanes(total, v), align=8) for v in range(VECTORS)]
        for i, messages in zip(rows, made, strict=True):
            last = same(builder, builder.load(builder.gep(at_end.data, [i])))
            for v, column in enumerate(columns):
                message = builder.select(ended[v], last, builder.fmul(messages[v], factors[v]))
                value = builder.load(vector_at(builder, values, i, across, column), align=8)
                value = builder.fmul(value, message)
                builder.store(value, vector_at(builder, out, i, across, column), align=8)
                sums[v] = builder.fadd(sums[v], value)
                for more in arrays[8:]:
                    place = vector_at(builder, more, i, across, column)
                    builder.store(builder.fmul(builder.load(place, align=8), message), place, align=8)
        for v in range(VECTORS):
            builder.store(sums[v], lanes(total, v), align=8)
        return context.get_dummy_value()

    return types.void(left, right, by, ends, at_end, values, out, total, other, types.int64, types.int64), generate


@intrinsic
def turn(typing, source, rows, source_at, by, target, columns, target_at):
    """WIDTH rows of as many numbers, each times a vector of `by`, become columns.

    Row i begins `source_at` behind rows[i] in `source`, what number i of each becomes `target_at` behind columns[i] in `target`.
    """

    def generate(context, builder, signature, args):
        source, rows, by, target, columns = matrices(context, builder, signature, args, 0, 1, 3, 4, 5)

        def place(array, starts, at, i):
            begin = builder.load(builder.gep(starts.data, [WORD(i)]))
            return vector_at(builder, array, begin, WORD(1), at)

        factor = builder.load(vector_at(builder, by, WORD(0), WORD(0), WORD(0)), align=8)
        block = [builder.fmul(builder.load(place(source, rows, args[2], i), align=8), factor) for i in range(WIDTH)]
        apart = WIDTH // 2
        while apart:
            low = [c + WIDTH - apart if c & apart else c for c in range(WIDTH)]
            high = [c + WIDTH if c & apart else c + apart for c in range(WIDTH)]
            orders = [ir.Constant(ir.VectorType(INDEX, WIDTH), order) for order in (low, high)]
            for i in range(WIDTH):
                if not i & apart:
                    two = block[i], block[i + apart]
                    block[i], block[i + apart] = (builder.shuffle_vector(*two, order) for order in orders)
            apart //= 2
        for i in range(WIDTH):
            builder.store(block[i], place(target, columns, args[6], i), align=8)
        return context.get_dummy_value()

    return types.void(source, rows, types.int64, by, target, columns, types.int64), generate


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


@kernel(f"void({_MATRIX}, {_WHOLE}, int64, float64[:, ::1])", fused=True)
def read(scores, token, n_tags, p):
    """Rows of a token of each lane."""
    if n_tags < WIDTH:
        for lane in range(LANES):
            for j in range(n_tags):
                p[j, lane] = scores[token[lane], j]
        return
    rows, columns, ones = token * n_tags, np.arange(WIDTH) * LANES, np.ones(WIDTH)
    for lane in range(0, LANES, WIDTH):
        for j in range(0, n_tags, WIDTH):
            at = min(j, n_tags - WIDTH)  # the last blocks overlap
            turn(scores, rows[lane : lane + WIDTH], at, ones, p, columns, at * LANES + lane)


@kernel("void(float64[:, ::1], float64[::1], int64)", fused=True)
def largest(p, top, n_tags):
    """The largest of each lane."""
    for lane in range(LANES):
        top[lane] = p[0, lane]
    for j in range(1, n_tags):
        for lane in range(LANES):
            top[lane] = max(top[lane], p[j, lane])


@kernel("void(float64[:, ::1], float64[::1], int64)", fused=True)
def exponentials(p, top, n_tags):
    """p = exp(p - top)."""
    for j in range(n_tags):
        for lane in range(LANES):
            p[j, lane] = exp_below(p[j, lane] - top[lane])


@kernel(
    f"void(float64[:, ::1], float64[:, ::1], {_VECTOR}, {_VECTOR}, {_VECTOR}, {_MATRIX}, float64[:, ::1], float64[::1], int64)",
    fused=True,
)
def go_forward(moves, before, by, ends, at_end, p, alpha, total, width):
    """α = p times the messages (as in `weigh_tile`), with its sums."""
    for column in range(0, width, COLUMNS):
        for lane in range(column, column + COLUMNS):
            total[lane] = 0.0
        for row in range(0, moves.shape[0], ROWS):
            weigh_tile(moves, before, by, ends, at_end, p, alpha, total, None, row, column)


@kernel(
    f"void(float64[:, ::1], float64[:, ::1], {_VECTOR}, {_VECTOR}, {_VECTOR}, {_MATRIX}, float64[:, ::1], float64[::1], float64[:, ::1], int64, int64)",
    fused=True,
)
def go_back(moves, behind, by, ends, at_end, alpha, both, total, p, first, width):
    """`both` = α times the messages, with its sums, and p times them in place, for lanes first … width-1."""
    for column in range(first, width, COLUMNS):
        for lane in range(column, column + COLUMNS):
            total[lane] = 0.0
        for row in range(0, moves.shape[0], ROWS):
            weigh_tile(moves, behind, by, ends, at_end, alpha, both, total, p, row, column)


@kernel(f"void({_MATRIX}, float64[:, ::1], float64[::1])", fused=True)
def weights_of(scores, made, top):
    """exp of each row less its largest, and that."""
    for i in range(len(scores)):
        top[i] = max_of(scores[i])
        for j in range(scores.shape[1]):
            made[i, j] = exp_below(scores[i, j] - top[i])


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


@kernel(f"void(float64[:, :, ::1], float64[:, ::1], int64, {_WHOLE}, {_WHOLE}, int64, float64[:, ::1])", fused=True)
def write(both, by, lane, begin, length, n_tags, out):
    """Marginals of up to WIDTH lanes from `lane` on: few at a time, as rows that lie apart take three times as long to write."""
    together = 0  # tokens that all WIDTH have
    if n_tags >= WIDTH and len(length) == WIDTH:
        together = length[WIDTH - 1]
        rows, columns = begin * n_tags, np.arange(WIDTH) * LANES
        for t in range(together):
            for j in range(0, n_tags, WIDTH):
                at = min(j, n_tags - WIDTH)
                source_at = (t * both.shape[1] + at) * LANES + lane
                turn(both, columns, source_at, by[t, lane : lane + WIDTH], out, rows, t * n_tags + at)
    for i in range(len(length)):
        for t in range(together, length[i]):
            row, joint, factor = out[begin[i] + t], both[t], by[t, lane + i]
            for j in range(n_tags):
                row[j] = joint[j, lane + i] * factor


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
    scores of its own, and then `out` may be `scores`. What α and p β would be divided by, the messages of the next step are.
    Unless `expected` is empty also Σ_t α_t[i] b_{t+1}[j] into it, to be multiplied by `e`, and
    P(y_t = left[k], y_{t+1} = right[k]) into `pairs` (tokens, K) at the first token of the pair.
    """
    n_tags = scores.shape[1]
    forward, backward = rows_padded(e.T), rows_padded(e)
    height = forward.shape[0]
    initial, final = np.zeros(height), np.zeros(height)
    initial[:n_tags], final[:n_tags] = e_initial, e_final
    longest = 0
    for b in range(first, last):
        s = order[b * LANES]  # they are in order of length
        longest = max(longest, starts[s + 1] - starts[s])
    alpha, p, inverse = (
        np.empty((longest, height, LANES)),
        np.empty((longest, height, LANES)),
        np.zeros((longest, LANES)),
    )
    both, following = np.empty((height, LANES)), np.zeros((LANES, expected.shape[1]))
    p[:, n_tags:] = 0.0
    if expected.size:  # what lanes hold behind their sentences is multiplied by 0
        alpha[:], p[:] = 0.0, 0.0
    begin, length, token = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    top, total, logs, product = np.zeros(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    by, last_by, ends, none = np.ones(LANES), np.ones(LANES), np.empty(LANES), np.zeros(LANES)
    for b in range(first, last):
        n_lanes = min(LANES, order.size - b * LANES)
        for lane in range(LANES):  # idle ones repeat the first sentence
            s = order[b * LANES + (lane if lane < n_lanes else 0)]
            begin[lane] = starts[s]
            length[lane] = starts[s + 1] - starts[s]
            logs[lane], product[lane], ends[lane] = 0.0, 1.0, 1.0
        steps, active = length[0], n_lanes
        for t in range(steps):
            while length[active - 1] <= t:
                active -= 1
            width = up_to(active, COLUMNS)
            for lane in range(LANES):  # behind its end a sentence repeats its last token
                token[lane] = begin[lane] + min(t, length[lane] - 1)
                if row.size:
                    token[lane] = row[token[lane]]
                    top[lane] = tops[token[lane]]
            read(scores, token, n_tags, p[t])
            if not row.size:
                largest(p[t], top, n_tags)
                exponentials(p[t], top, n_tags)
            if t == 0:
                go_forward(forward, both[:0], by, ends, initial, p[0], alpha[0], total, width)
            else:
                go_forward(forward, alpha[t - 1], by, none, initial, p[t], alpha[t], total, width)
            for lane in range(width):
                by[lane] = 1.0 / total[lane]
            for lane in range(active):
                logs[lane] += top[lane]
                last_by[lane] = by[lane]
                multiplied = product[lane] * total[lane]
                if 1e-200 < multiplied < 1e200:
                    product[lane] = multiplied
                else:
                    logs[lane] += math.log(product[lane]) + math.log(total[lane])
                    product[lane] = 1.0
        active = 0
        for t in range(steps - 1, -1, -1):
            after = active
            while active < n_lanes and length[active] > t:
                active += 1
            for lane in range(LANES):
                ends[lane] = 1.0 if after <= lane < active else 0.0
            begun, width = up_to(after, COLUMNS), up_to(active, COLUMNS)
            joint = both if expected.size else alpha[t]
            if begun:
                go_back(backward, p[t + 1], inverse[t + 1], ends, final, alpha[t], joint, total, p[t], 0, begun)
            go_back(backward, both[:0], none, ends, final, alpha[t], joint, total, p[t], begun, width)
            for lane in range(after, active):
                logs[lane] += math.log(product[lane]) + math.log(total[lane] * last_by[lane])
            for lane in range(LANES):
                inverse[t, lane] = 1.0 / total[lane] if lane < active else 0.0
            if expected.size and t < steps - 1:
                for lane in range(LANES):
                    total[lane] = inverse[t, lane] * inverse[t + 1, lane]
                scale(alpha[t], total, n_tags)
                for lane in range(LANES):
                    for j in range(n_tags):
                        following[lane, j] = p[t + 1, j, lane]
                multiply(alpha[t], following, expected, True)
                for lane in range(after if left.size else 0):
                    pair = pairs[begin[lane] + t]
                    for k in range(left.size):
                        pair[k] = alpha[t, left[k], lane] * e[left[k], right[k]] * following[lane, right[k]]
            if expected.size:
                put(both, n_tags, alpha[t])
        for lane in range(0, n_lanes, WIDTH):
            of = slice(lane, min(lane + WIDTH, n_lanes))
            write(alpha, inverse, lane, begin[of], length[of], n_tags, out)
        for lane in range(n_lanes):
            log_z[order[b * LANES + lane]] = logs[lane]


compile_all = partial(ready, __name__)  # compiles or loads the kernels of this file
