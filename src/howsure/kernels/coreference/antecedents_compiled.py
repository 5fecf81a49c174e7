"""Samples of the antecedent model, compiled. The same numbers as `kernels.coreference.antecedents`, draw for draw."""

from typing import Any

import numpy as np

from howsure.kernels.compiling import array, kernel, mix, ready

_FLOATS, _ROWS = array("float64"), "int64[::1], int64[::1], int64[::1]"


@kernel(f"int32[:,::1]({_FLOATS}, {_ROWS}, {_FLOATS}, int64, uint64, boolean[::1])")
def _sampled_roots(values, columns, starts, counts, new, n, key, needed):
    size = len(new)
    # antecedent: -3 not wanted, -2 wanted and not drawn, -1 NEW. Mentions are rows: draws of one mention are together.
    antecedent = np.full((size, n), -3, np.int32)
    streams = np.empty(n, np.uint64)
    for s in range(n):
        streams[s] = mix(key + np.uint64(s) * np.uint64(0x9E3779B97F4A7C15))
    for i in range(size):
        if needed[i]:
            antecedent[i, :] = -2
    ends = np.empty(size + 1, np.float64)
    for i in range(size - 1, -1, -1):
        summed, last, count = False, -1, counts[i]
        offset = np.uint64(i) * np.uint64(0xD1B54A32D192ED03) + np.uint64(0x8CB92BA72F3D8DD7)
        for s in range(n):
            if antecedent[i, s] != -2:
                continue
            if not summed:
                total = new[i]
                ends[0] = total
                for k in range(count):
                    p = values[starts[i] + k]
                    total += p
                    ends[k + 1] = total
                    if p > 0.0:
                        last = k
                summed = True
            u = np.float64(mix(streams[s] ^ offset) >> np.uint64(11)) * 2.0**-53
            low, high = 0, count + 1  # first place whose end exceeds u
            while low < high:
                middle = (low + high) >> 1
                if ends[middle] > u:
                    high = middle
                else:
                    low = middle + 1
            k = min(low - 1, last)
            if k >= 0 and len(columns):
                k = columns[starts[i] + k]
            antecedent[i, s] = k
            if k >= 0 and antecedent[k, s] == -3:
                antecedent[k, s] = -2
    for i in range(size):  # antecedents become roots, in place
        for s in range(n):
            k = antecedent[i, s]
            antecedent[i, s] = antecedent[k, s] if k >= 0 else i if k == -1 else -1
    return antecedent.T.copy()


@kernel("float64[:,::1](int32[:,::1])")
def _pair_frequencies(roots):
    n, size = roots.shape
    together = np.zeros((size, size), np.float64)
    last, before = np.empty(size, np.int64), np.empty(size, np.int64)
    for s in range(n):
        last[:] = -1
        for i in range(size):
            r = roots[s, i]
            j = last[r]
            before[i] = j
            last[r] = i
            row = together[i]
            while j >= 0:
                row[j] += 1.0
                j = before[j]
    for i in range(size):
        together[i, i] = 1.0
        for j in range(i):
            together[i, j] /= n
            together[j, i] = together[i, j]
    return together


@kernel(f"float64[:,::1]({array('float64', 2)})")
def _dense_pairs(a):
    """Four rows at a time, so that each earlier row of Q is read once for the four, two earlier rows at a time."""
    n = a.shape[0]
    q = np.zeros((n, n), np.float64)
    for s in range(0, n, 4):
        e = min(s + 4, n)
        if e - s == 4:
            q0, q1, q2, q3 = q[s], q[s + 1], q[s + 2], q[s + 3]
            for k in range(0, s - 1, 2):
                u, v = q[k], q[k + 1]
                a0, a1, a2, a3 = a[s, k], a[s + 1, k], a[s + 2, k], a[s + 3, k]
                b0, b1, b2, b3 = a[s, k + 1], a[s + 1, k + 1], a[s + 2, k + 1], a[s + 3, k + 1]
                for j in range(s):
                    x, y = u[j], v[j]
                    q0[j] += a0 * x + b0 * y
                    q1[j] += a1 * x + b1 * y
                    q2[j] += a2 * x + b2 * y
                    q3[j] += a3 * x + b3 * y
        for i in range(s, e):
            for k in range(s if e - s == 4 else 0, i):  # antecedents inside the four, or all of the last few
                w = a[i, k]
                for j in range(s):
                    q[i, j] += w * q[k, j]
            for j in range(s, i):
                total = 0.0
                for k in range(s):
                    total += a[i, k] * q[j, k]
                for k in range(s, i):
                    total += a[i, k] * q[k, j]
                q[i, j] = total
                q[j, i] = total
            q[i, i] = 1.0
        for j in range(s):
            for i in range(s, e):
                q[j, i] = q[i, j]
    return q


@kernel(f"float64[:,::1]({_FLOATS}, {_ROWS})")
def _sparse_pairs(values, columns, starts, counts):
    n = len(starts)
    q = np.zeros((n, n), np.float64)
    for i in range(n):
        row = q[i]
        for k in range(starts[i], starts[i] + counts[i]):
            w, u = values[k], q[columns[k]]
            for j in range(i):
                row[j] += w * u[j]
        for j in range(i):
            q[j, i] = row[j]
        row[i] = 1.0
    return q


def sampled_roots(values: Any, columns: Any, starts: Any, counts: Any, new: Any, n: int, key: int, needed: Any) -> Any:
    """As `kernels.coreference.antecedents.sampled_roots`."""
    ready(_sampled_roots)
    return _sampled_roots(values, columns, starts, counts, new, n, np.uint64(key), needed)


def pair_frequencies(roots: Any) -> Any:
    """In how many of the samples, as a share, two mentions are one entity; shape (N, N)."""
    ready(_pair_frequencies)
    return _pair_frequencies(roots)


def dense_pairs(a: Any) -> Any:
    """As `kernels.coreference.antecedents.pair_probabilities`, of a dense matrix."""
    ready(_dense_pairs)
    return _dense_pairs(a)


def sparse_pairs(values: Any, columns: Any, starts: Any, counts: Any) -> Any:
    """As `kernels.coreference.antecedents.pair_probabilities`, of a sparse matrix given row by row."""
    ready(_sparse_pairs)
    return _sparse_pairs(values, columns, starts, counts)
