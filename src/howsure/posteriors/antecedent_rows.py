"""A matrix of antecedents, dense or sparse, seen row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def rows_of(matrix: Any, name: str, scores: bool = False) -> tuple[Any, Floats, Ints, Ints, Ints]:
    """The matrix, its entries below the diagonal row by row, their columns (empty: 0, 1, … in each), starts, counts."""
    shape = getattr(matrix, "shape", None) or np.shape(matrix)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"{name}: antecedents must be a square matrix; got shape {tuple(shape)}.")
    n = int(shape[0])
    if hasattr(matrix, "tocsr"):
        from scipy.sparse import csr_array

        made = csr_array(matrix, dtype=np.float64, copy=True)
        made.sum_duplicates()
        counts = np.diff(made.indptr).astype(np.int64)
        rows = np.repeat(np.arange(n), counts)
        if (made.indices >= rows).any():
            i = int(rows[np.argmax(made.indices >= rows)])
            raise InputError(f"{name}: an antecedent comes before its mention; row {i} names one that does not.")
        if made.nnz:
            return made, made.data, made.indices.astype(np.int64), made.indptr[:-1].astype(np.int64), counts
        matrix = np.zeros((n, n)) if not scores else np.full((n, n), -np.inf)
    try:
        a = np.ascontiguousarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: antecedents cannot be read as numbers: {error}.") from None
    if not scores and n:
        above = np.triu(a).any(axis=1)
        if above.any():
            i = int(np.argmax(above))
            raise InputError(f"{name}: an antecedent comes before its mention; row {i} names one that does not.")
    return a, a.reshape(-1), np.zeros(0, np.int64), np.arange(n, dtype=np.int64) * n, np.arange(n, dtype=np.int64)


def row_sums(values: Floats, columns: Ints, counts: Ints, n: int) -> Floats:
    """The sum of each row."""
    if len(columns):
        return np.bincount(np.repeat(np.arange(n), counts), values, n).astype(np.float64)
    return np.asarray(values.reshape(n, n).sum(axis=1))
