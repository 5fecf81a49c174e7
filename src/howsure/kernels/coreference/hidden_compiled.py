"""Scores of pairs by one hidden layer, and their derivatives, compiled; as `kernels.coreference.hidden`."""

from math import isqrt
from typing import Any

import numpy as np

from howsure.kernels.compiling import kernel, ready

_F1, _F2, _F3 = "float32[::1]", "float32[:,::1]", "float32[:,:,::1]"
_GIVEN = f"{_F2}, {_F2}, {_F3}, uint8[:,::1], {_F1}, float64[::1]"
_LEAST = np.float32(1e-3)  # a derivative below this moves nothing


@kernel(f"void({_F1}, {_F1}, {_F3}, uint8[::1], {_F1})", fused=True)
def _units(u, v, e, codes, h):
    for k in range(len(h)):
        h[k] = u[k] + v[k]
    for c in range(len(codes)):
        row = e[c, codes[c]]
        for k in range(len(h)):
            h[k] += row[k]


@kernel(f"void({_GIVEN})", fused=True)
def _scores(u, v, e, codes, out, pair):
    n, size = u.shape
    h = np.empty(size, np.float32)
    at = 0
    for i in range(n):
        for j in range(i):
            _units(u[i], v[j], e, codes[at], h)
            for k in range(size):
                h[k] = max(h[k], np.float32(0.0)) * out[k]
            total = np.float32(0.0)
            for k in range(size):
                total += h[k]
            pair[at] = total
            at += 1


@kernel(f"void({_F2}, {_F2}, {_F3}, uint8[:,::1], int64, int64, {_F2})", fused=True)
def _active(u, v, e, codes, i, j, made):
    for at in range(len(codes)):
        _units(u[i], v[j], e, codes[at], made[at])
        for k in range(made.shape[1]):
            made[at, k] = max(made[at, k], np.float32(0.0))
        j += 1
        if j == i:
            i += 1
            j = 0


@kernel(f"void({_GIVEN}, {_F2}, {_F2}, {_F3}, {_F1})", fused=True)
def _derivatives(u, v, e, codes, out, d_pair, d_u, d_v, d_e, d_out):
    """Adds to d_u, d_v, d_e and d_out what the derivatives by the scores of pairs make of them."""
    n, size = u.shape
    h = np.empty(size, np.float32)
    at = 0
    for i in range(n):
        for j in range(i):
            d = np.float32(d_pair[at])
            if abs(d) > _LEAST:
                _units(u[i], v[j], e, codes[at], h)
                for k in range(size):
                    d_out[k] += d * max(h[k], np.float32(0.0))
                    h[k] = d * out[k] if h[k] > 0.0 else np.float32(0.0)
                for k in range(size):
                    d_u[i, k] += h[k]
                    d_v[j, k] += h[k]
                for c in range(codes.shape[1]):
                    row = d_e[c, codes[at, c]]
                    for k in range(size):
                        row[k] += h[k]
            at += 1


@kernel(f"void({_F1}, {_F1}, {_F1}, {_F1}, {_F1})")
def _adam(weights, derivatives, mean, square, by):
    n, new, new_square, first, second, small, rate, decay = by
    for k in range(len(weights)):
        d = np.divide(derivatives[k], n)  # which does not look for divisors of 0, as "/" does
        mean[k] += new * (d - mean[k])
        square[k] += new_square * (d * d - square[k])
        move = np.divide(np.divide(mean[k], first), np.sqrt(np.divide(square[k], second)) + small)
        weights[k] -= rate * (move + decay * weights[k])


def pair_scores(u: Any, v: Any, e: Any, codes: Any, out: Any) -> Any:
    """As `kernels.coreference.hidden.pair_scores`."""
    ready(_units, _scores)
    pair = np.empty(len(codes))
    _scores(u, v, e, codes, out, pair)
    return pair


def active(u: Any, v: Any, e: Any, codes: Any, first: int) -> Any:
    """As `kernels.coreference.hidden.active`, to the bit: sums in the same order."""
    ready(_units, _active)
    made = np.empty((len(codes), u.shape[1]), np.float32)
    i = (1 + isqrt(1 + 8 * first)) // 2
    _active(u, v, e, codes, i, first - i * (i - 1) // 2, made)
    return made


def derivatives(u: Any, v: Any, e: Any, codes: Any, out: Any, d_pair: Any) -> Any:
    """Derivatives by U, V, E and `out`, given those by the scores of pairs; tiny ones of pairs count as 0."""
    ready(_units, _derivatives)
    made = tuple(np.zeros_like(x) for x in (u, v, e, out))
    _derivatives(u, v, e, codes, out, d_pair, *made)
    return made


def adam(weights: Any, derivatives: Any, mean: Any, square: Any, by: Any) -> None:
    """A step of Adam in place, in one pass: `by` has what divides derivatives, the shares of new means, what divides means,
    what is added to roots, rate and decay."""
    ready(_adam)
    _adam(weights.ravel(), derivatives.ravel(), mean.ravel(), square.ravel(), by)
