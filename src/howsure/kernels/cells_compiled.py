"""The same folding as `cells`, compiled: one pass over the rows, no temporary arrays."""

import math
from functools import partial

import numpy as np

from howsure.kernels.cells import (
    BASE_KEY,
    COUNT,
    COUNT_SHIFT,
    HALF,
    HIGH,
    LOG_SCALE,
    LOW,
    LOW_BITS,
    N_CELLS,
    OFFSET_BITS,
    SQUARE,
    SQUARE_SHIFT,
)
from howsure.kernels.compiling import array, kernel, ready

EMPTY = -1
_OFFSET_MASK = (1 << OFFSET_BITS) - 1
_LOW_MASK = (1 << LOW_BITS) - 1
_ROUND = 1 << (SQUARE_SHIFT - 1)
# Labels may be a strided view: the low bytes of wider integers.
_LABELS, _WEIGHT = array("uint8", order="A"), array("int64")
_PAIRS = f"{array('float64')}, {_LABELS}"
_BLOCK = 1024  # rows whose cells and sums stay in the first cache


@kernel(f"UniTuple(int64, 2)({_PAIRS}, {_WEIGHT}, int64[::1], int64[:, ::1], int64, int64)")
def count_distinct(q, y, weight, keys, counts, used, limit):
    """Count rows per distinct q in an open-addressing table, until there are more than `limit` values.

    Returns the number of rows taken and of slots used. `weight` of length 0 means one each.
    """
    mask = keys.size - 1
    for i in range(q.size):
        w = weight[i] if weight.size else 1
        if w == 0:
            continue
        bits = np.float64(q[i] + 0.0).view(np.int64)
        mixed = np.uint64(bits) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(mask))
        while keys[slot] != bits:
            if keys[slot] == EMPTY:
                if used == limit:
                    return i, used
                keys[slot] = bits
                used += 1
                break
            slot = (slot + 1) & mask
        counts[slot, y[i]] += w
    return q.size, used


@kernel(*(f"int64({array(kind)}, uint8[::1])" for kind in ("int64", "int32", "int16")))
def narrowed(values, labels):
    """Copy integers to bytes; the bits that any of them has, together: 0 or 1 where all are labels."""
    bits = 0
    for i in range(values.size):
        bits |= values[i]
        labels[i] = values[i]
    return bits


@kernel(*(f"Tuple((int64, uint64))({array(kind)}, {_LABELS}, int64[:, ::1])" for kind in ("float64", "float32")))
def fill_packed(q, y, packed):
    """Add rows to the (2 N_CELLS, 2) packed table.

    Returns the underflow cell's log sum and the largest bit pattern of q: above that of 1.0, some q was not in
    [0, 1], and the table is spoilt but nothing else is.

    A block of rows at a time, in loops that do one thing each: the first two are without branches, which makes vector
    instructions of them, and only the last goes all over the table.
    """
    labels, slots = np.empty(_BLOCK, np.uint8), np.empty(_BLOCK, np.int32)
    offsets, others = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    log_tail = 0
    largest = np.uint64(0)
    for first in range(0, q.size, _BLOCK):
        part, near = q[first : first + _BLOCK], y[first : first + _BLOCK]
        for k in range(part.size):
            labels[k] = near[k]
        tail = False
        for k in range(part.size):
            x = np.float64(part[k])
            largest = max(largest, x.view(np.uint64))
            m = min(x, 1.0 - x)  # 1 - x is exact where it is the smaller
            bits = np.float64(m).view(np.int64)
            cell = min((bits >> OFFSET_BITS) - BASE_KEY + 2, HALF)  # a NaN would lie beyond
            tiny = cell < 2
            u = 0 if tiny else bits & _OFFSET_MASK
            cell = np.int64(m > 0.0) if tiny else cell
            cell = N_CELLS - 1 - cell if x > 0.5 else cell
            # In the tails one label is rare: apart, it leaves the cache alone.
            slot = cell + (N_CELLS if labels[k] else 0)
            tail |= slot == N_CELLS + 1
            v = np.uint32((u + _ROUND) >> SQUARE_SHIFT)  # so that v^2 is a product of 32 bits by 32
            slots[k] = slot
            offsets[k] = u
            others[k] = (1 << COUNT_SHIFT) + np.int64(v * v)
        if tail:
            for k in range(part.size):
                if slots[k] == N_CELLS + 1:
                    log_tail += np.int64(np.rint(math.log(np.float64(part[k])) * LOG_SCALE))
        for k in range(part.size):
            slot = np.uint32(slots[k])  # unsigned: no test for an index that counts from the end
            packed[slot, 0] += offsets[k]
            packed[slot, 1] += others[k]
    return log_tail, largest


@kernel("void(int64[:, ::1], int64[:, ::1])")
def unpack(packed, table):
    """Move the packed sums (label by label) into the (2 N_CELLS, 4) table (cell by cell) and clear them."""
    for label in range(2):
        for cell in range(N_CELLS):
            slot = cell + N_CELLS * label
            word = packed[slot, 1]
            if word:
                u = packed[slot, 0]
                to = 2 * cell + label
                table[to, COUNT] += np.int64(np.uint64(word) >> np.uint64(COUNT_SHIFT))  # the sign is a bit of it
                table[to, HIGH] += u >> LOW_BITS
                table[to, LOW] += u & _LOW_MASK
                table[to, SQUARE] += word & ((1 << COUNT_SHIFT) - 1)
                packed[slot, 0] = packed[slot, 1] = 0


@kernel(f"int64({_PAIRS}, {_WEIGHT}, int64[:, ::1])")
def fill_weighted(q, y, weight, table):
    """Add rows that count several times straight to the (2 N_CELLS, 4) table; returns the log sum."""
    log_tail = 0
    for i in range(q.size):
        w, x = weight[i], q[i]
        m = min(x, 1.0 - x)
        bits = np.float64(m).view(np.int64)
        cell, u = (bits >> OFFSET_BITS) - BASE_KEY + 2, bits & _OFFSET_MASK
        if cell < 2:
            cell, u = np.int64(m > 0.0), np.int64(0)
            if m > 0.0 and y[i] == 1:
                log_tail += w * np.int64(np.rint(math.log(m) * LOG_SCALE))
        cell += np.int64(x > 0.5) * (N_CELLS - 1 - 2 * cell)
        v = (u + _ROUND) >> SQUARE_SHIFT
        slot = 2 * cell + y[i]
        table[slot, COUNT] += w
        table[slot, HIGH] += w * (u >> LOW_BITS)
        table[slot, LOW] += w * (u & _LOW_MASK)
        table[slot, SQUARE] += w * v * v
    return log_tail


@kernel(f"void({_PAIRS}, {_WEIGHT}, int64[:, :, ::1])")
def fill_widths(q, y, weight, table):
    """Add rows to a (K, 2, 3) table of equal-width bins [k/K, (k+1)/K): count, and Σ q 2^52 in two words."""
    n_bins = table.shape[0]
    for i in range(q.size):
        w = weight[i] if weight.size else 1
        b = min(int(q[i] * n_bins), n_bins - 1)
        if q[i] < b / n_bins:
            b -= 1
        elif b < n_bins - 1 and q[i] >= (b + 1) / n_bins:
            b += 1
        fixed = np.int64(np.rint(q[i] * 4503599627370496.0))
        sums = table[b, y[i]]
        sums[0] += w
        sums[1] += w * (fixed >> 26)
        sums[2] += w * (fixed & 67108863)


compile_all = partial(ready, __name__)  # compiles or loads the kernels of this file
