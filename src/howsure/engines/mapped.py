"""Rows whose chunks are changed on the way: each engine does it where the rows are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from howsure import _validate
from howsure.engines.pairs import Pairs, numbers
from howsure.engines.rows import Chunk, Keying, Rows, T, Work
from howsure.engines.tables import as_numpy


class Change(ABC):
    """What becomes of a chunk. Picklable."""

    @abstractmethod
    def of(self, chunk: Chunk) -> Chunk:
        """The chunk, changed."""


@dataclass(frozen=True, slots=True)
class _MappedWork(Work[T]):
    work: Work[T]
    change: Change

    def gather(self, chunks: Iterator[Chunk]) -> T:
        return self.work.gather(self.change.of(c) for c in chunks)


@dataclass(frozen=True, slots=True)
class _MappedKeying(Keying):
    keying: Keying
    change: Change

    @property
    def schema(self) -> pa.Schema:
        return self.keying.schema

    def spread(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        return self.keying.spread(self.change.of(c) for c in chunks)


class MappedRows(Rows):
    """Another's rows, changed. Closing them leaves the other open."""

    def __init__(self, rows: Rows, change: Change) -> None:
        self._rows, self._change, self.name = rows, change, rows.name

    def fold(self, work: Work[T]) -> T:
        return self._rows.fold(_MappedWork(work, self._change))

    def by_key(self, keying: Keying) -> Rows:
        return self._rows.by_key(_MappedKeying(keying, self._change))


@dataclass(frozen=True, slots=True)
class RightLabels(Change):
    """Rows of labels and probabilities to whether each label is right, or the gold one `positive`.

    Rows that miss a label are left out, but their probabilities are checked too.
    """

    pairs: tuple[Pairs, ...]
    positive: str | None

    def of(self, chunk: Chunk) -> Chunk:
        gold = chunk["gold"]
        preds = [chunk[f"pred{i}"] for i in range(len(self.pairs))]
        keep = np.all([as_numpy(c.is_valid()) for c in (gold, *preds)], axis=0)
        made: dict[str, Any] = {}
        for i, (pairs, pred) in enumerate(zip(self.pairs, preds, strict=True)):
            right = pc.equal(gold, pred if self.positive is None else pa.scalar(self.positive, gold.type))
            made[f"y{i}"] = as_numpy(pc.fill_null(right, False)).astype(np.uint8)[keep]
            q = _validate.probabilities(numbers(chunk[f"q{i}"]), pairs.origin_of(chunk), logits=pairs.logits)
            made[f"q{i}"] = q[keep]
        groups = chunk.get("groups")
        if groups is not None:
            made["groups"] = numbers(groups).astype(np.uint64, copy=False)[keep]
        return Chunk(made)
