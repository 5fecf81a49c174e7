"""Log-linear scores of a mention-ranking model with hashed weights, in NumPy.

A feature is a 64-bit value; its weight is w[index(value)]. Values are made by adding, to a template's value, a salt for
the template and multiples of K1 and K2 for the kinds of the two mentions; `ranking_compiled` makes the same ones.
"""

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import Floats

Words = NDArray[np.uint64]

K1, K2, SALT, SPREAD = 0xA24BAED4963EE407, 0x9FB21C651E98DF25, 0xD6E8FEB86659FD93, 0x9E3779B97F4A7C15
FOLD = 0xBF58476D1CE4E5B9
NEW, LINKED, LINKED_TO, RELATION, CROSS = 1, 1001, 2001, 3001, 4001  # first number of each group of templates
CHUNK = 1 << 16  # pairs at a time


def index(x: Words, shift: int) -> NDArray[np.int64]:
    """Where the weights of feature values are."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(32))) * np.uint64(FOLD)
        return ((x ^ (x >> np.uint64(29))) >> np.uint64(shift)).astype(np.int64)


def scores(
    kind: NDArray[np.uint8],
    values: Words,
    codes: NDArray[np.uint8],
    crossed: NDArray[np.int64],
    w: NDArray[np.float32],
    shift: int,
) -> tuple[Floats, Floats]:
    """Score of each pair j < i (row i(i-1)/2 + j) and of starting an entity."""
    n = len(kind)
    k = kind.astype(np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):
        k1, k2 = k * np.uint64(K1), k * np.uint64(K2)
        new = _summed([_salted(values, NEW) + c[:, None] for c in (np.zeros_like(k1), k1)], w, shift)
        present = np.unique(kind)
        linked, linked_to = np.zeros((n, 256)), np.zeros((n, 256))
        for t in present.tolist():
            t1, t2 = (np.uint64((t + 1) * c & 0xFFFFFFFFFFFFFFFF) for c in (K1, K2))
            own, other = _salted(values, LINKED), _salted(values, LINKED_TO)
            linked[:, t] = _summed([own, own + k1[:, None], own + (k1 + t2)[:, None]], w, shift)
            linked_to[:, t] = _summed([other, other + t1, other + (t1 + k2)[:, None]], w, shift)
        i, j = np.tril_indices(n, -1)
        pair = linked[i, kind[j]] + linked_to[j, kind[i]]
        for a in range(0, len(i), CHUNK):
            part = slice(a, a + CHUNK)
            x, y = i[part], j[part]
            both = k1[x] + k2[y]
            spread = codes[part].astype(np.uint64) * np.uint64(SPREAD)
            crosses = values[x][:, crossed[:, 0]] * np.uint64(SPREAD) + values[y][:, crossed[:, 1]]
            for made in (_salted(spread, RELATION), _salted(crosses, CROSS)):
                pair[part] += _summed([made, made + k1[x][:, None], made + both[:, None]], w, shift)
    return pair, new


def _salted(values: Words, first: int) -> Words:
    numbers = np.arange(first, first + values.shape[1], dtype=np.uint64)
    return np.add(values, numbers * np.uint64(SALT), dtype=np.uint64)


def _summed(groups: list[Words], w: NDArray[np.float32], shift: int) -> Floats:
    total = np.zeros(len(groups[0]))
    for group in groups:
        total += w[index(group, shift)].sum(axis=1, dtype=np.float64)
    return total
