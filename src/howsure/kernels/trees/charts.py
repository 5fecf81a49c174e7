"""Charts of a grammar in Chomsky normal form (CKY): inside values, and marginals backwards through them.

Rules A → B C are in order of B: those of B are `ptr[B] … ptr[B + 1]`. Row `cell(i, j, n)` of a chart holds the symbols
of words i … j - 1. `way` is PROBABILITY (each row divided by its largest, whose log is in `scale`), LOG or MOST (best trees).
"""

import math

import numpy as np

from howsure.kernels.compiling import kernel, piece
from howsure.kernels.trees.spanning import log_add

PROBABILITY, LOG, MOST = 0, 1, 2


@piece
def cell(i, j, n):
    """The row of a span."""
    return i * n - (i * (i - 1)) // 2 + (j - i - 1)


@kernel
def cky_inside(ptr, right, parent, weight, word_ptr, word_symbol, word_weight, kind, wanted, n, way, chart, scale, active, counts):
    """Fill `chart` from `weight` and `word_weight` (logs); the symbols of a row that are possible go to `active`.

    Where wanted[row] is not negative, only symbols of that `kind` are possible.
    """
    none = 0.0 if way == PROBABILITY else -math.inf
    chart[:, :] = none
    scale[:] = 0.0
    counts[:] = 0
    used = np.exp(weight) if way == PROBABILITY else weight
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(i, j, n)
            row = chart[c]
            if width == 1:
                top = -math.inf
                for e in range(word_ptr[i], word_ptr[i + 1]):
                    top = max(top, word_weight[e])
                scale[c] = top if way == PROBABILITY and top > -math.inf else 0.0
                for e in range(word_ptr[i], word_ptr[i + 1]):
                    x = word_weight[e]
                    row[word_symbol[e]] = math.exp(x - scale[c]) if way == PROBABILITY else x
            else:
                if way == PROBABILITY:
                    top = -math.inf
                    for k in range(i + 1, j):
                        a, b = cell(i, k, n), cell(k, j, n)
                        if counts[a] and counts[b]:
                            top = max(top, scale[a] + scale[b])
                    scale[c] = top if top > -math.inf else 0.0
                for k in range(i + 1, j):
                    a, b = cell(i, k, n), cell(k, j, n)
                    if counts[a] == 0 or counts[b] == 0:
                        continue
                    x, y = chart[a], chart[b]
                    f = math.exp(scale[a] + scale[b] - scale[c])
                    for place in range(counts[a]):
                        left = active[a, place]
                        v = x[left] * f if way == PROBABILITY else x[left]
                        for r in range(ptr[left], ptr[left + 1]):
                            z = y[right[r]]
                            if z > none:
                                p = parent[r]
                                if way == PROBABILITY:
                                    row[p] += used[r] * v * z
                                elif way == LOG:
                                    row[p] = log_add(row[p], used[r] + v + z)
                                else:
                                    row[p] = max(row[p], used[r] + v + z)
            top = none
            for s in range(row.size):
                if wanted[c] >= 0 and kind[s] != wanted[c]:
                    row[s] = none
                elif row[s] > none:
                    active[c, counts[c]] = s
                    counts[c] += 1
                    top = max(top, row[s])
            if way == PROBABILITY and top > 0.0:
                scale[c] += math.log(top)
                for place in range(counts[c]):
                    row[active[c, place]] /= top


@kernel
def cky_outside(ptr, right, parent, weight, n, way, chart, scale, active, counts, q):
    """Marginals `q` of every (span, symbol), given those of the whole span; returns Σ over rules of P(use) × weight."""
    expected = 0.0
    used = np.exp(weight) if way == PROBABILITY else weight
    share = np.zeros(chart.shape[1])
    for width in range(n, 1, -1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(i, j, n)
            any_used = False
            for place in range(counts[c]):
                s = active[c, place]
                share[s] = q[c, s] / chart[c, s] if way == PROBABILITY else q[c, s]
                any_used |= q[c, s] > 0.0
            if not any_used:
                continue
            for k in range(i + 1, j):
                a, b = cell(i, k, n), cell(k, j, n)
                if counts[a] == 0 or counts[b] == 0:
                    continue
                x, y, to_left, to_right = chart[a], chart[b], q[a], q[b]
                f = math.exp(scale[a] + scale[b] - scale[c])
                for place in range(counts[a]):
                    left = active[a, place]
                    v = x[left] * f if way == PROBABILITY else x[left]
                    for r in range(ptr[left], ptr[left + 1]):
                        z, p = y[right[r]], parent[r]
                        if share[p] > 0.0 and (z > 0.0 or way != PROBABILITY):
                            if way == PROBABILITY:
                                flow = share[p] * (used[r] * v * z)
                            else:
                                flow = share[p] * math.exp(used[r] + v + z - chart[c, p])
                            if flow > 0.0:
                                to_left[left] += flow
                                to_right[right[r]] += flow
                                expected += flow * weight[r]
            for place in range(counts[c]):
                share[active[c, place]] = 0.0
    return expected


@kernel
def most_recall(gain, n, best, split):
    """best[i, j] = gain[i, j] + the best sum of two parts: the binary tree of the largest total gain; `split` says where."""
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            top, where = 0.0 if width == 1 else -math.inf, i
            for k in range(i + 1, j):
                x = best[i, k] + best[k, j]
                if x > top:
                    top, where = x, k
            best[i, j] = top + gain[i, j]
            split[i, j] = where
    return best[0, n]


_F, _I, _J, _C = "float64[::1]", "int64[::1]", "int32[::1]", "float64[:, ::1]"
_RULES = f"{_I}, {_J}, {_J}, {_F}"
_CHART = f"int64, int64, {_C}, {_F}, int32[:, ::1], {_I}"
SIGNATURES = {
    cky_inside: f"void({_RULES}, {_I}, {_J}, {_F}, {_J}, {_J}, {_CHART})",
    cky_outside: f"float64({_RULES}, {_CHART}, {_C})",
    most_recall: f"float64({_C}, int64, {_C}, int64[:, ::1])",
}
