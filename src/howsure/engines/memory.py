"""Arrays in memory: chunks that fit the cache, on all cores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any

from howsure._validate import BadRow
from howsure.engines.rows import Chunk, Keying, Rows, T, Work
from howsure.engines.shares import SharedRows
from howsure.kernels.threads import cores

CHUNK = 1 << 17
THREADS_FROM = 1_000_000  # rows; below, one thread is done before others would have begun
EVERYTHING = 1 << 62  # bytes: what is in memory already stays there


class ArrayRows(Rows):
    """Columns in memory, of one length: NumPy arrays of numbers, Arrow arrays of text."""

    def __init__(self, columns: Mapping[str, Any], name: str = "arrays") -> None:
        self._columns, self.name = columns, name
        self._n = len(next(iter(columns.values())))

    def fold(self, work: Work[T]) -> T:
        if self._n <= THREADS_FROM:
            return work.gather(iter([self._chunk(0, self._n)]))
        workers = cores()

        def piece(number: int) -> T | BadRow:
            steps = range(number * CHUNK, self._n, workers * CHUNK)
            try:
                return work.gather(self._chunk(a, min(a + CHUNK, self._n)) for a in steps)
            except BadRow as bad:
                return bad

        with ThreadPoolExecutor(workers) as pool:
            return merged(pool.map(piece, range(workers)))

    def by_key(self, keying: Keying) -> Rows:
        return SharedRows(self.name, keying, iter([self._chunk(0, self._n)]), EVERYTHING, EVERYTHING)

    def _chunk(self, first: int, after: int) -> Chunk:
        return Chunk({name: column[first:after] for name, column in self._columns.items()}, first)


def merged(results: Iterable[T | BadRow] | Iterator[T | BadRow]) -> T:
    """The sum of the pieces, or the error of the first bad row among them."""
    parts: list[T] = []
    bad: list[BadRow] = []
    for result in results:
        if isinstance(result, BadRow):
            bad.append(result)
        else:
            parts.append(result)
    if bad:
        raise min(bad, key=lambda b: b.row)
    total: T = reduce(add, parts)
    return total
