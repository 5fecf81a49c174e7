"""Rows cut into pieces at random and taken in any order: what a cluster may do to them."""

import math
import pickle
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa

from howsure.engines.rows import Chunk, Rows


class Pieces(Rows):
    """Columns in memory, in this number of pieces; rows of a key are together after `by_key`. Work is sent pickled."""

    def __init__(self, columns, n_pieces, rng, chunks=2):
        self.name = "pieces"
        self._columns = {k: c if isinstance(c, np.ndarray) else pa.array(c) for k, c in columns.items()}
        self._rng, self._n_pieces, self._chunks = rng, n_pieces, chunks
        n = len(next(iter(columns.values())))
        self._where = rng.integers(0, n_pieces, n)

    def fold(self, work):
        sent = pickle.loads(pickle.dumps(work))
        made = [sent(self._piece(i)) for i in self._rng.permutation(self._n_pieces)]
        return reduce(add, pickle.loads(pickle.dumps(made)))

    def _piece(self, number):
        rows = self._rng.permutation(np.flatnonzero(self._where == number))
        for part in np.array_split(rows, self._chunks):
            if len(part):
                taken = pa.array(part)
                yield Chunk(
                    {k: c[part] if isinstance(c, np.ndarray) else c.take(taken) for k, c in self._columns.items()}
                )

    def by_key(self, keying):
        parts = [b for i in range(self._n_pieces) for b in keying.spread(self._piece(i))]
        table = pa.Table.from_batches(parts, keying.schema)
        made = Pieces({n: table.column(n).combine_chunks() for n in table.column_names}, self._n_pieces, self._rng)
        made._where = (np.asarray(table.column("key")) % np.uint64(self._n_pieces)).astype(np.int64)
        return made


def same(a, b, rel=1e-12, at=(), least=1e-15):
    """Equal counts and words, equal numbers but for rounding."""
    assert type(a) is type(b), at
    if isinstance(a, dict):
        assert a.keys() == b.keys(), at
        for k in a:
            same(a[k], b[k], rel, (*at, k), least)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), at
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, rel, (*at, i), least)
    elif isinstance(a, float):
        # The combined statistic is 1/(πp) for small p, and rounding in a deviate is |log p| times as large in p.
        tail = max(1.0, abs(math.log(math.pi * abs(a)))) if at[-1:] == ("statistic",) and a else 1.0
        assert math.isclose(a, b, rel_tol=rel * tail, abs_tol=least), (at, a, b)
    else:
        assert a == b, at
