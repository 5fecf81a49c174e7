"""Scores of pairs of mentions by one hidden layer, in NumPy.

Pair (i, j), j < i, is row i(i-1)/2 + j of `codes`. Its hidden units get U_i + V_j + Σ_c E[c, codes[·, c]]: what depends on one mention
is computed once for each mention, and only the sum and the largest of it and 0 for each pair.
"""

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import Floats

Units = NDArray[np.float32]
CHUNK = 1 << 14  # pairs at a time


def pair_scores(u: Units, v: Units, e: Units, codes: NDArray[np.uint8], out: Units) -> Floats:
    """Σ_k out_k max(0, (U_i + V_j + Σ_c E_c)_k) for each pair."""
    i, j = np.tril_indices(len(u), -1)
    made = np.empty(len(i))
    for a in range(0, len(i), CHUNK):
        part = slice(a, a + CHUNK)
        units = u[i[part]] + v[j[part]]
        for c in range(codes.shape[1]):
            units += e[c, codes[part, c]]
        made[part] = np.maximum(units, 0.0) @ out
    return made
