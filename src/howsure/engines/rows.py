"""The interface of all engines: rows, wherever they are, that work is done on in pieces.

Two operations are enough. `fold` lets a piece of the rows, any piece, become something small that adds up; `by_key`
brings together the rows that share a key, so that no key is in two pieces. Arrays in memory (`memory.py`), files bigger
than memory (`files.py`) and Spark (`spark.py`) each do both; what is computed (`sketching.py`, `pairing.py`,
`counting.py`) is written once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

import pyarrow as pa


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


class Work(ABC, Generic[T]):
    """What becomes of a piece of the rows. It is sent to where the rows are, so it must be picklable."""

    @abstractmethod
    def gather(self, chunks: Iterator[Chunk]) -> T:
        """All chunks of one piece; there may be none."""


class Keying(ABC):
    """How rows are brought together: record batches whose first column, `key`, is a number of 64 bits."""

    @abstractmethod
    def spread(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        """A piece of the rows as records that have a key; always with the schema `schema`."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Of the records."""


class Rows(ABC):
    """Rows with named columns. Use it in a `with` block."""

    name: str = "arrays"

    @property
    def is_one_piece(self) -> bool:
        """Whether `fold` is known to make a single piece of them, here: what it makes may then be kept."""
        return False

    @abstractmethod
    def fold(self, work: Work[T]) -> T:
        """The sum of what the work makes of each piece."""

    @abstractmethod
    def by_key(self, keying: Keying) -> Rows:
        """The records that `keying` makes of the rows, all records of a key in one piece. Close it, too."""

    def close(self) -> None:  # noqa: B027  (arrays hold nothing open)
        """Release what is held open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RowsRead:
    """Rows that are read for one purpose, and the same by key once that is needed. Use it in a `with` block."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._keyed: Rows | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._keyed is not None:
            self._keyed.close()
        self._rows.close()

    @property
    def name(self) -> str:
        """Of the source."""
        return self._rows.name
