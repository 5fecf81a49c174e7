"""Multinomial weights over many cells, compiled.

A multinomial of n draws is a vector of independent Poisson numbers with a total N <= n, and n - N further draws: given
N the Poisson vector is multinomial, so the sum is too, exactly. Every draw reads an alias table: constant time.
"""

import numpy as np

from howsure.kernels.compiling import kernel, ready


@kernel
def alias_table(weight, threshold, other, first, size):
    """Fill `size` slots (a power of two, at least len(weight)) from `first`: Walker's alias method, thresholds of 32 bits.

    The share of a slot that keeps its own value is rounded to 2⁻³²; the rest goes to `other`.
    """
    total = weight.sum()
    scaled = np.zeros(size)
    for i in range(weight.size):
        scaled[i] = weight[i] * size / total
    small = np.empty(size, np.int64)
    large = np.empty(size, np.int64)
    n_small = 0
    n_large = 0
    for i in range(size):
        if scaled[i] < 1.0:
            small[n_small] = i
            n_small += 1
        else:
            large[n_large] = i
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        s = small[n_small]
        g = large[n_large - 1]
        threshold[first + s] = np.uint64(scaled[s] * 4294967296.0)
        other[first + s] = g
        scaled[g] -= 1.0 - scaled[s]
        if scaled[g] < 1.0:
            n_large -= 1
            small[n_small] = g
            n_small += 1
    for i in range(n_large):
        threshold[first + large[i]] = np.uint64(4294967296)
        other[first + large[i]] = large[i]
    for i in range(n_small):
        s = small[i]
        threshold[first + s] = np.uint64(4294967296)
        other[first + s] = s
    return size


@kernel
def fill_weights(seeds, n, kind, low, first, mask, threshold, other, top_first, top_mask, weights):
    """One row of `weights` per seed: how often each cell is drawn, n draws in all.

    `kind` names each cell's Poisson table: its slots begin at `first`, `mask` + 1 of them, its values at `low`. The last
    table, from `top_first`, draws a cell.
    """
    step = np.uint64(0x9E3779B97F4A7C15)
    m1 = np.uint64(0xBF58476D1CE4E5B9)
    m2 = np.uint64(0x94D049BB133111EB)
    half = np.uint64(0xFFFFFFFF)
    for row in range(seeds.size):
        state = seeds[row]
        total = n + 1
        while total > n:  # a total above n is drawn anew
            total = np.int64(0)
            for cell in range(kind.size):
                state += step
                z = state
                z = (z ^ (z >> np.uint64(30))) * m1
                z = (z ^ (z >> np.uint64(27))) * m2
                z = z ^ (z >> np.uint64(31))
                k = kind[cell]
                slot = np.int64((z >> np.uint64(32)) & mask[k])
                at = first[k] + slot
                alias = other[at]  # read whether needed or not: a choice without a branch
                drawn = (alias if (z & half) >= threshold[at] else slot) + low[k]
                weights[row, cell] = drawn
                total += drawn
        for _ in range(n - total):
            state += step
            z = state
            z = (z ^ (z >> np.uint64(30))) * m1
            z = (z ^ (z >> np.uint64(27))) * m2
            z = z ^ (z >> np.uint64(31))
            slot = np.int64((z >> np.uint64(32)) & top_mask)
            if (z & half) >= threshold[top_first + slot]:
                slot = other[top_first + slot]
            weights[row, slot] += np.float32(1.0)
    return seeds.size


def compile_kernels() -> None:
    """Compile or load both kernels."""
    ready(
        alias_table,
        fill_weights,
        signatures=(
            "int64(float64[::1], uint64[::1], int64[::1], int64, int64)",
            "int64(uint64[::1], int64, int64[::1], int64[::1], int64[::1], uint64[::1], uint64[::1], int64[::1], int64, uint64, float32[:, ::1])",
        ),
    )
