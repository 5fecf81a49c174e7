"""The fixed cells of a collapsed sketch, and how rows are folded into them.

A probability q is filed by m = min(q, 1-q), which is exact in floating point, under the exponent and the top 9
mantissa bits of m, mirrored around 1/2. Cells therefore have relative width 1/512 in both tails:

    0              q = 0
    1              0 < q < 2^-54                      (the underflow cell; its logarithms are summed apart)
    2 … HALF-1     2^-54 <= q < 1/2
    HALF           q = 1/2
    …              the mirror image, up to
    N_CELLS-1      q = 1

Within a cell, m = base + u * scale with u an integer of 43 bits. All sums are kept in integers, so adding rows
or sketches in any order, on any number of threads, gives the same bits:

    COUNT  number of rows       HIGH, LOW  sums of the upper 22 and lower 21 bits of u
    SQUARE sum of v^2, v = u rounded to 12 bits: enough for the spread inside a cell

A cell holds 2^38 rows before SQUARE could overflow. The compiled kernel first packs the four sums of up to 2^20 - 1
rows a cell into two words, which halves the memory it walks through:

    word 0   sum of u                word 1   COUNT << 44 + sum of v^2
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MANTISSA_BITS = 9
OFFSET_BITS = 52 - MANTISSA_BITS  # bits of u
LOW_BITS = 21
SQUARE_SHIFT = OFFSET_BITS - 12
PACKED_ROWS = (1 << 20) - 1
COUNT_SHIFT = 44
LOWEST_EXPONENT = -54
BASE_KEY = (1023 + LOWEST_EXPONENT) << MANTISSA_BITS
HALF = ((-1 - LOWEST_EXPONENT) << MANTISSA_BITS) + 2
N_CELLS = 2 * HALF + 1
COUNT, HIGH, LOW, SQUARE = range(4)
LOG_SCALE = 1 << 24  # the underflow cell's logarithms, in fixed point
MAX_ROWS_PER_CELL = 1 << 38

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def sum_of(values: NDArray[Any]) -> float:
    """Σ values, as `np.sum` has it, which takes as long to get going as to add up a thousand numbers."""
    return float(np.add.reduce(values))


def run_begins(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value differs from the one before."""
    made = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=made[1:])
    return made


def cell_of(q: Floats) -> tuple[Ints, Ints]:
    """Cell number and integer offset u of each probability."""
    upper = q > 0.5
    m = np.where(upper, 1.0 - q, q)
    bits = m.view(np.int64)
    cell = (bits >> OFFSET_BITS) - BASE_KEY + 2
    u = bits & ((1 << OFFSET_BITS) - 1)
    tiny = cell < 2
    cell = np.where(tiny, (m > 0.0).astype(np.int64), cell)
    u = np.where(tiny, 0, u)
    return np.where(upper, N_CELLS - 1 - cell, cell), u


def cell_bounds(cell: Ints) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """For each cell: the least m it holds, the value of one unit of u, and whether it is in the upper half."""
    upper = cell > HALF
    key = np.where(upper, N_CELLS - 1 - cell, cell)
    exponent = LOWEST_EXPONENT + ((key - 2) >> MANTISSA_BITS)
    top = (key - 2) & ((1 << MANTISSA_BITS) - 1)
    scale = np.where(key < 2, 0.0, np.ldexp(1.0, exponent - 52))
    base = np.where(key < 2, 0.0, np.ldexp(1.0 + top / (1 << MANTISSA_BITS), exponent))
    return base, scale, upper


def cell_position(cell: Ints) -> Floats:
    """The probability in the middle of each cell."""
    base, scale, upper = cell_bounds(cell)
    middle = np.where(cell == HALF, 0.5, base + 0.5 * scale * (1 << OFFSET_BITS))
    return np.where(upper, 1.0 - middle, middle)


def fixed_log(q: Floats) -> Ints:
    """Natural logarithm of q > 0 in fixed point."""
    return np.rint(np.log(q) * LOG_SCALE).astype(np.int64)


def collapse(q: Floats, counts: Ints) -> tuple[Ints, Ints, int]:
    """Fold sorted distinct probabilities with (k, 2) label counts into cells.

    Returns the occupied cells in order, their (c, 2, 4) integer sums, and the underflow cell's log sum.
    """
    cell, u = cell_of(q)
    v = (u + (1 << (SQUARE_SHIFT - 1))) >> SQUARE_SHIFT
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    sums = np.zeros((len(starts), 2, 4), np.int64)
    for label in range(2) if len(q) else ():  # a column at a time: one after another in memory
        n = np.ascontiguousarray(counts[:, label])
        for k, each in enumerate((n, n * (u >> LOW_BITS), n * (u & ((1 << LOW_BITS) - 1)), n * (v * v))):
            sums[:, label, k] = np.add.reduceat(each, starts)
    tail = (cell == 1) & (counts[:, 1] > 0)
    return cell[starts], sums, int(np.sum(fixed_log(q[tail]) * counts[tail, 1]))


def distinct(q: Floats, y: NDArray[np.uint8], weight: Ints | None) -> tuple[Floats, Ints]:
    """Sorted distinct probabilities and their (k, 2) label counts."""
    q = q + 0.0  # turns -0.0 into 0.0
    if weight is None:  # q and label as one integer, in the order of q: one sort and no permutation
        keys, n = np.unique((q.view(np.int64) << 1) | y, return_counts=True)
        values, slot = keys >> 1, keys & 1
        first = np.concatenate([[True], values[1:] != values[:-1]])[: len(keys)]
        counts = np.zeros((int(first.sum()), 2), np.int64)
        counts[np.cumsum(first) - 1, slot] = n
        return values[first].view(np.float64), counts
    values, inverse = np.unique(q, return_inverse=True)
    counts = np.zeros((len(values), 2), np.int64)
    np.add.at(counts, (inverse, y), weight)
    keep = counts.any(axis=1)  # rows of weight zero leave no trace
    return values[keep], counts[keep]


def fold_widths(q: Floats, counts: Ints, n_bins: int) -> Ints:
    """Fold distinct probabilities into a (n_bins, 2, 3) table of equal-width bins, as `fill_widths` does."""
    index = np.minimum((q * n_bins).astype(np.int64), n_bins - 1)
    index -= q < index / n_bins
    index += (index < n_bins - 1) & (q >= (index + 1) / n_bins)
    fixed = np.rint(q * 2.0**52).astype(np.int64)
    per_row = np.stack([np.ones_like(fixed), fixed >> 26, fixed & ((1 << 26) - 1)], axis=1)
    table = np.zeros((n_bins, 2, 3), np.int64)
    np.add.at(table, index, counts[:, :, None] * per_row[:, None, :])
    return table


def merge_keyed(keys: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sort by key and add up the rows that share one."""
    if not len(keys):
        return keys, rows
    order = np.argsort(keys, kind="stable")
    keys, rows = keys[order], rows[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[starts], np.add.reduceat(rows, starts, axis=0)
