"""How many of independent events happen: the exact law of a sum of Bernoulli variables with probabilities of their own."""

import numpy as np
from numpy.typing import NDArray

DIRECT = 1 << 14  # factors longer than this are multiplied by FFT


def poisson_binomial(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(sum = k) for k = 0 … n, shape (n + 1,).

    The generating polynomial Π (1 - p_i + p_i z), multiplied pairwise in a tree. Direct products add and multiply
    numbers that are not negative, so every probability keeps its relative precision, tails included; beyond 16,384
    factors the FFT keeps an absolute precision of about 1e-15.
    """
    if not len(p):
        return np.ones(1)
    # A level of the tree is a matrix: rows are polynomials of one degree.
    rows = np.stack([1.0 - p, p], axis=1)
    while len(rows) > 1:
        odd = rows[-1:] if len(rows) % 2 else None
        even, other = rows[0 : len(rows) - len(rows) % 2 : 2], rows[1::2]
        made = _products(even, other)
        if odd is not None:  # times one, to the same degree
            made = np.concatenate([made, np.pad(odd, ((0, 0), (0, made.shape[1] - odd.shape[1])))])
        rows = made
    return rows[0, : len(p) + 1]


def _products(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row by row products of polynomials."""
    count, width = a.shape
    if width > DIRECT:
        from scipy.fft import irfft, next_fast_len, rfft

        size = next_fast_len(2 * width - 1, real=True)
        made = irfft(rfft(a, size) * rfft(b, size), size)[:, : 2 * width - 1]
        return np.maximum(made, 0.0)
    if count < width:
        return np.stack([np.convolve(x, y) for x, y in zip(a, b, strict=True)])
    made = np.zeros((count, 2 * width - 1))
    for k in range(width):
        made[:, k : k + width] += a[:, k : k + 1] * b
    return made
