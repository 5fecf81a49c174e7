"""Sums of floats that do not depend on the order: exact, as whole multiples of the smallest double."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

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
