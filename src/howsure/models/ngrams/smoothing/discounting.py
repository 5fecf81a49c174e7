"""Absolute discounting, and Kneser-Ney with one discount or three; interpolated, down to the uniform distribution."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.ngrams.choice import kernel
from howsure.models.ngrams.smoothing.form import Counts, Estimate, count_of_counts, empty
from howsure.models.ngrams.trie import Floats, in_parallel

FALLBACK = (0.5, 1.0, 1.5)  # lmplz's, where counts of counts give none


def absolute_discounting(counts: Counts, *, discount: float | None = None) -> Estimate:
    """(c - D)/c(h) + γ(h) p(w | shorter h); D = n1/(n1 + 2 n2) of each order, unless given."""
    return _interpolated(counts, counts.trie.count, 1, discount)


def kneser_ney(counts: Counts, *, discount: float | None = None, uniform_base: bool = True) -> Estimate:
    """Absolute discounting where a lower order counts the distinct words to the left, not occurrences."""
    return _interpolated(counts, counts.adjusted, 1, discount, uniform_base)


def modified_kneser_ney(counts: Counts) -> Estimate:
    """Kneser-Ney with discounts of their own for counts 1, 2, and 3 or more (Chen & Goodman 1999)."""
    return _interpolated(counts, counts.adjusted, 3, None)


def one_discount(n: list[int]) -> tuple[float, float, float] | None:
    """D = n1/(n1 + 2 n2); None where it cannot be had."""
    if n[0] == 0 or n[1] == 0:
        return None
    d = n[0] / (n[0] + 2.0 * n[1])
    return d, d, d


def three_discounts(n: list[int]) -> tuple[float, float, float] | None:
    """D_i = i - (i+1) Y n_{i+1}/n_i, Y = n1/(n1 + 2 n2); None where they cannot be had or lie outside 0 … i."""
    if not all(n[:3]):
        return None
    y = n[0] / (n[0] + 2.0 * n[1])
    d1, d2, d3 = (i - (i + 1) * y * n[i] / n[i - 1] for i in (1, 2, 3))
    return (d1, d2, d3) if 0.0 <= d1 <= 1.0 and 0.0 <= d2 <= 2.0 and 0.0 <= d3 <= 3.0 else None


def _interpolated(
    counts: Counts, a: NDArray[np.uint32], steps: int, given: float | None, uniform_base: bool = True
) -> Estimate:
    trie = counts.trie
    p, b = empty(counts)
    chosen, notes = [], []
    for order in range(1, trie.order + 1):
        level = trie.level(order)
        found: tuple[float, float, float] | None
        if given is not None:
            found = (given, given, given)
        else:
            n = count_of_counts(a[level][trie.is_event[level]], 4)
            found = one_discount(n) if steps == 1 else three_discounts(n)
        if found is None:
            found = (0.5, 0.5, 0.5) if steps == 1 else FALLBACK
            notes.append(f"Too few {order}-grams of each small count to estimate discounts: {found[:steps]} are used.")
        chosen.append(list(found[:steps]))
        steps_of = np.array([0.0, *found])
        if order == 1:
            p[level] = _words(counts, a[level], steps_of, uniform_base)
        else:
            above = trie.level(order - 1)
            fill = partial(_fill, counts, a, steps_of, p, b)
            in_parallel(fill, above.start, above.stop)
    return Estimate(p, b, {"discounts": chosen}, tuple(notes))


def _fill(
    counts: Counts, a: NDArray[np.uint32], discounts: Floats, p: Floats, b: Floats, first: int, last: int
) -> None:
    trie = counts.trie
    kernel("discounted", len(trie))(trie.start, trie.word, trie.link, a, first, last, discounts, p, b)


def _words(counts: Counts, a: NDArray[np.uint32], discounts: Floats, uniform_base: bool) -> Floats:
    a = np.where(counts.can_follow, a, 0)
    total = float(a.sum())
    if not uniform_base:
        return a / total
    taken = discounts[np.minimum(a, 3)]
    return (a - taken) / total + taken.sum() / total * counts.uniform
