"""Charts of a grammar in Chomsky normal form (CKY): log sums over trees or best trees, and marginals backwards through them.

Rules A → B C are in order of B: those of B are `ptr[B] … ptr[B + 1]`. Row `cell(i, j, n)` of a chart holds the symbols
of words i … j - 1; those that are possible are the first `counts[row]` of `active[row]`.
"""

import math

import numpy as np

from howsure.kernels.compiling import kernel, piece

# kinds of arguments
_F, _I, _J, _C = "float64[::1]", "int64[::1]", "int32[::1]", "float64[:, ::1]"
_RULES, _CHART = f"{_I}, {_J}, {_J}, {_F}", f"{_C}, int32[:, ::1], {_I}"


@piece
def cell(i, j, n):
    """The row of a span."""
    return i * n - (i * (i - 1)) // 2 + (j - i - 1)


@kernel(f"void({_RULES}, {_I}, {_J}, {_F}, {_J}, {_J}, int64, boolean, {_CHART})")
def cky_inside(ptr, right, parent, weight, words, symbols, weights, kind, wanted, n, most, chart, active, counts):
    """Fill `chart`. Word i has `symbols` and log `weights` words[i] … words[i + 1].

    Where wanted[row] is not negative, only symbols of that `kind` are possible.
    """
    chart[:, :] = -math.inf
    counts[:] = 0
    sums = np.zeros(chart.shape[1])
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(i, j, n)
            row = chart[c]
            if width == 1:
                for e in range(words[i], words[i + 1]):
                    row[symbols[e]] = weights[e]
            for sweep in range(1 if most else 2):  # the largest, then the sum relative to it
                for k in range(i + 1, j):
                    a, y = cell(i, k, n), chart[cell(k, j, n)]
                    for place in range(counts[a]):
                        left = active[a, place]
                        v = chart[a, left]
                        for r in range(ptr[left], ptr[left + 1]):
                            z = y[right[r]]
                            if z > -math.inf and weight[r] > -math.inf:
                                p = parent[r]
                                if sweep == 0:
                                    row[p] = max(row[p], weight[r] + v + z)
                                else:
                                    sums[p] += math.exp(weight[r] + v + z - row[p])
            for s in range(row.size):
                if wanted[c] >= 0 and kind[s] != wanted[c]:
                    row[s] = -math.inf
                elif row[s] > -math.inf:
                    active[c, counts[c]] = s
                    counts[c] += 1
                    if sums[s] > 0.0:
                        row[s] += math.log(sums[s])
                sums[s] = 0.0


@kernel(f"float64({_RULES}, int64, {_CHART}, {_C})")
def cky_outside(ptr, right, parent, weight, n, chart, active, counts, q):
    """Marginals `q` of every (span, symbol), given those of the whole span; returns Σ over rules of P(use) × weight."""
    expected = 0.0
    for width in range(n, 1, -1):
        for i in range(n - width + 1):
            j = i + width
            c = cell(i, j, n)
            used = False
            for place in range(counts[c]):
                used |= q[c, active[c, place]] > 0.0
            for k in range(i + 1, j if used else i):
                a, b = cell(i, k, n), cell(k, j, n)
                for place in range(counts[a]):
                    left = active[a, place]
                    for r in range(ptr[left], ptr[left + 1]):
                        p, z = parent[r], chart[b, right[r]]
                        if q[c, p] > 0.0 and z > -math.inf and weight[r] > -math.inf:
                            flow = q[c, p] * math.exp(weight[r] + chart[a, left] + z - chart[c, p])
                            if flow > 0.0:
                                q[a, left] += flow
                                q[b, right[r]] += flow
                                expected += flow * weight[r]
    return expected
