"""The interface of all engines: rows, wherever they are, that work is done on in pieces; and rows of arrays.

Two operations are enough. `fold` turns each partition of the rows, however they are divided, into something small that
adds up; `by_key` repartitions rows so that each key is in one piece. Arrays in memory (here), files bigger than memory
(`files.py`) and Spark (`spark/`) each do both; what is computed is a `Work`, a function written once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from howsure._validate import BadRow, Origin
from howsure.calibration.sketch import Sketch, SketchBuilder
from howsure.kernels.threads import cores

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 1 << 17
THREADS_FROM = 1_000_000  # rows; below, one thread is done before others would have begun
EVERYTHING = 1 << 62  # bytes: what is in memory already stays there


class Adds(Protocol):
    """What adds up, in any order."""

    def __add__(self, other: Any, /) -> Any: ...


T = TypeVar("T", bound=Adds)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows: columns by name, numbers as NumPy or Arrow arrays, text as Arrow arrays."""

    columns: Mapping[str, Any]
    first: int | None = None  # the number of its first row, where rows are numbered

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def get(self, name: str) -> Any:
        """The column, or None."""
        return self.columns.get(name)


# What becomes of all chunks of one piece; there may be none. It is sent to where the rows are, so it must be picklable.
Work = Callable[[Iterator[Chunk]], T]


class Keying(ABC):
    """Maps rows to records that are repartitioned by their first column, `key`, an unsigned number of 64 bits."""

    @abstractmethod
    def spread(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        """The records of a piece of the rows; always with the schema `schema`."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Of the records."""


class Rows(ABC):
    """Rows with named columns. Use it in a `with` block."""

    name: str = "arrays"
    jobs: int = 1  # processes that may work on a piece
    room: int = 128 << 20  # bytes that tables of a worker may take beside its records; so many where that is not known

    @property
    def is_one_piece(self) -> bool:
        """Whether `fold` is known to make a single piece of them, here: its result may then be cached."""
        return False

    @property
    def roles(self) -> Collection[str]:
        """Names of the columns, where they are known before they are read."""
        return ()

    def unchecked(self) -> Rows:
        """The same rows, those with missing values among them."""
        return self

    @abstractmethod
    def fold(self, work: Work[T]) -> T:
        """The sum of the work's results over all pieces."""

    @abstractmethod
    def by_key(self, keying: Keying) -> Rows:
        """The records that `keying` makes of the rows, repartitioned so that each key is in one piece. Close it, too."""

    def close(self) -> None:  # noqa: B027  (arrays hold nothing open)
        """Release what is held open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ArrayRows(Rows):
    """Columns in memory, of one length: NumPy arrays of numbers, Arrow arrays of text; on all cores."""

    room = EVERYTHING

    def __init__(self, columns: Mapping[str, Any], name: str = "arrays") -> None:
        self._columns, self.name = columns, name
        self._n = len(next(iter(columns.values())))

    @property
    def roles(self) -> Collection[str]:
        return self._columns

    def fold(self, work: Work[T]) -> T:
        if self._n <= THREADS_FROM:
            return work(iter([self._chunk(0, self._n)]))
        from concurrent.futures import ThreadPoolExecutor

        workers = cores()

        def piece(number: int) -> T | BadRow:
            steps = range(number * CHUNK, self._n, workers * CHUNK)
            try:
                return work(self._chunk(a, min(a + CHUNK, self._n)) for a in steps)
            except BadRow as bad:
                return bad

        with ThreadPoolExecutor(workers) as pool:
            return merged(pool.map(piece, range(workers)))

    def by_key(self, keying: Keying) -> Rows:
        from howsure.engines.shares import SharedRows

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
    return reduce(add, parts)


def sketched_arrays(y: Any, q: Any, weight: Any = None, scale: str | None = None, width: int | None = None) -> Sketch:
    """The sketch of long arrays, on all cores."""
    columns = {"y": y, "q": q} | ({} if weight is None else {"weight": weight})
    return ArrayRows(columns).fold(partial(_sketched, scale, width))


def _sketched(scale: str | None, width: int | None, chunks: Iterator[Chunk]) -> Sketch:
    builder = SketchBuilder(width)
    for c in chunks:
        builder.add(c["y"], c["q"], c.get("weight"), Origin(first=c.first or 0), scale=scale)
    return builder.finish()
