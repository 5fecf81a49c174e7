"""Multinomial weights over many cells, compiled.

A multinomial of n draws is a vector of independent Poisson numbers with a total N <= n, and n - N further draws: given
N the Poisson vector is multinomial, so the sum is too, exactly. Every draw reads an alias table: constant time.
"""

from functools import partial

import numpy as np

from howsure.kernels.compiling import kernel, mix, piece, ready

_TABLES = "uint32[::1], int32[::1]"


@kernel("void(float64[::1], uint32[::1], int32[::1], int64, int64)")
def alias_table(weight, threshold, other, first, size):
    """Fill `size` slots (a power of two, at least len(weight)) from `first`: Walker's alias method, thresholds of 32 bits.

    The share of a slot that keeps its own value is rounded to 2⁻³²; the rest goes to `other`.
    """
    total = weight.sum()
    scaled = np.zeros(size)
    for i in range(weight.size):
        scaled[i] = weight[i] * size / total
    small, large = np.empty(size, np.int64), np.empty(size, np.int64)
    n_small = n_large = 0
    for i in range(size):
        threshold[first + i], other[first + i] = np.uint32(4294967295), i
        if scaled[i] < 1.0:
            small[n_small] = i
            n_small += 1
        else:
            large[n_large] = i
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        s, g = small[n_small], large[n_large - 1]
        threshold[first + s] = np.uint32(min(scaled[s] * 4294967296.0, 4294967295.0))
        other[first + s] = g
        scaled[g] -= 1.0 - scaled[s]
        if scaled[g] < 1.0:
            n_large -= 1
            small[n_small] = g
            n_small += 1


@piece
def _value(z, first, mask, threshold, other):
    """What a random number of 64 bits draws from an alias table."""
    slot = np.int64((z >> np.uint64(32)) & mask)
    alias = np.int64(other[first + slot])  # read whether needed or not: a choice without a branch
    return alias if np.uint32(z) >= threshold[first + slot] else slot


@kernel(f"void(uint64[::1], int64, int64[::1], int64[::1], uint64[::1], {_TABLES}, int64, uint64, float32[:, ::1])")
def fill_weights(states, n, low, first, mask, threshold, other, top_first, top_mask, weights):
    """One column of `weights` per state of a generator: how often each cell is drawn, n draws in all.

    A cell's Poisson table has its slots from `first`, `mask` + 1 of them, and its values from `low`. The last table, from
    `top_first`, draws a cell. Cells are the outer loop, so that a table is read while it is in the cache.
    """
    step = np.uint64(0x9E3779B97F4A7C15)
    totals = np.zeros(states.size, np.int64)
    for cell in range(low.size):
        for i in range(states.size):
            states[i] += step
            drawn = _value(mix(states[i]), first[cell], mask[cell], threshold, other) + low[cell]
            weights[cell, i] = drawn
            totals[i] += drawn
    for i in range(states.size):
        state, total = states[i], totals[i]
        while total > n:  # rare: drawn again
            total = np.int64(0)
            for cell in range(low.size):
                state += step
                drawn = _value(mix(state), first[cell], mask[cell], threshold, other) + low[cell]
                weights[cell, i] = drawn
                total += drawn
        for _ in range(n - total):
            state += step
            weights[_value(mix(state), top_first, top_mask, threshold, other), i] += np.float32(1.0)


compile_kernels = partial(ready, __name__)
