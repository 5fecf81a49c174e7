"""Where an outcome falls in its forecast, and what the forecast scores.

Symbols: y the outcome, x its draws (S of them), q its quantiles at the levels τ, F the forecast's distribution.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import Floats, Ints


def rank_spans(y: Floats, x: Floats) -> tuple[Ints, Ints]:
    """(r, r + t + 1) of each row: r draws lie below y and t equal it, so F(y) is between r/(S+1) and (r+t+1)/(S+1)."""
    below = np.count_nonzero(x < y[:, None], axis=1)
    upto = np.count_nonzero(x <= y[:, None], axis=1)
    return below, upto + 1


def level_spans(y: Floats, q: Floats) -> tuple[Ints, Ints]:
    """Between which edges F(y) lies: edge 2i is the i-th of 0, τ₁, …, τ_L, 1, and edge 2i+1 half way to the next.

    q_i < y < q_{i+1} gives the gap (2i, 2i+2). If y equals the quantiles i to j, F may jump there: it lies from
    somewhere in the gap below τ_i to somewhere in the gap above τ_j, and the halves of those gaps stand for that.
    """
    below = np.count_nonzero(q < y[:, None], axis=1)
    upto = np.count_nonzero(q <= y[:, None], axis=1)
    tied = upto > below
    return 2 * below + tied, 2 * upto + 2 - tied


def fair_crps(y: Floats, x: Floats) -> Floats:
    """Σ|x_s - y|/S - ΣΣ|x_s - x_t|/(2S(S-1)) of each row, unbiased in S; the double sum from the sorted draws."""
    s = x.shape[1]
    weight = 2.0 * np.arange(1, s + 1) - s - 1.0
    # Not a matrix product: BLAS rounds a row differently by how many rows come with it.
    spread = np.sum(np.sort(x, axis=1) * weight, axis=1) / (s * (s - 1.0))
    return np.mean(np.abs(x - y[:, None]), axis=1) - spread


def mean_pinball(y: Floats, q: Floats, levels: Floats) -> Floats:
    """2(1{y < q} - τ)(q - y), averaged over the levels, of each row."""
    loss = (np.where(y[:, None] < q, 1.0, 0.0) - levels) * (q - y[:, None])
    return 2.0 * np.mean(loss, axis=1)


UNIT_BITS = 1074  # every finite double is a whole multiple of 2⁻¹⁰⁷⁴


def exact_sum(x: NDArray[np.float64]) -> int:
    """Σx in units of 2⁻¹⁰⁷⁴, for finite x, up to 2²⁶ of them at a time."""
    mantissa, exponent = np.frexp(x)
    whole = np.ldexp(mantissa, 53).astype(np.int64)  # x = whole · 2^(exponent - 53)
    exponents, which = np.unique(exponent, return_inverse=True)
    # Halves of 27 and 26 bits: their float sums stay below 2⁵³ and are exact.
    high = np.bincount(which, weights=(whole >> 26).astype(np.float64), minlength=len(exponents))
    low = np.bincount(which, weights=(whole & (2**26 - 1)).astype(np.float64), minlength=len(exponents))
    total = 0
    for upper, lower, e in zip(high.tolist(), low.tolist(), exponents.tolist(), strict=True):
        part, shift = (int(upper) << 26) + int(lower), int(e) - 53 + UNIT_BITS
        total += part << shift if shift >= 0 else part >> -shift  # a subnormal's low bits are zeros
    return total


def as_float(units: int) -> float:
    """The nearest double."""
    return float(Fraction(units, 2**UNIT_BITS))
