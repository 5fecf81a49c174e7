"""Scores of pairs of mentions by one hidden layer, in NumPy.

Pair (i, j), j < i, is row i(i-1)/2 + j of `codes`. Its hidden units get U_i + V_j + Σ_c E[c, codes[·, c]]: what depends on one mention
is computed once for each mention, and only the sum and the largest of it and 0 for each pair.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import Floats

Units = NDArray[np.float32]
CHUNK = 1 << 14  # pairs at a time


def pair_scores(u: Units, v: Units, e: Units, codes: NDArray[np.uint8], out: Units, filled: Any = None) -> Floats:
    """Σ_k out_k max(0, (U_i + V_j + Σ_c E_c)_k) for each pair; `filled` takes the place of `active`."""
    made = np.empty(len(codes))
    for a in range(0, len(codes), CHUNK):
        made[a : a + CHUNK] = (filled or active)(u, v, e, codes[a : a + CHUNK], a) @ out
    return made


def active(u: Units, v: Units, e: Units, codes: NDArray[np.uint8], first: int) -> Units:
    """What the hidden units give for pairs from number `first` on."""
    i, j = (x[first : first + len(codes)] for x in np.tril_indices(len(u), -1))
    units = u[i] + v[j]
    for c in range(codes.shape[1]):
        units += e[c, codes[:, c]]
    return np.maximum(units, 0.0)
