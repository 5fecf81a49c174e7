"""Rows by group on any engine, looked at in pieces: what the cluster-robust estimates are computed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa

from howsure.calibration.groups.clusters import ClusterBuilder, ClusterTable, Parts
from howsure.calibration.groups.moments import Look
from howsure.engines.pairs import Pairs, row_columns, row_records, row_schema
from howsure.engines.rows import Chunk, Keying, Rows, Work

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GroupKeying(Keying):
    """Rows brought together by group."""

    pairs: Pairs
    weighted: bool

    @property
    def schema(self) -> pa.Schema:
        return row_schema([], self.weighted)

    def spread(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        for chunk in chunks:
            batch = self.pairs.batch(chunk)
            assert batch.groups is not None
            # Hashes of small numbers need not differ in their low bits, which choose the piece.
            key = (batch.groups * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
            yield row_records(key, [batch.groups], batch, self.schema)


@dataclass(frozen=True, slots=True)
class LookWork(Work[Any]):
    """What a look sees of the groups of a piece."""

    parts: Parts
    at: Look[Any]

    def gather(self, chunks: Iterator[Chunk]) -> Any:
        builder = ClusterBuilder(self.parts)
        for chunk in chunks:
            builder.add(*row_columns(chunk))
        return self.at(builder.finish())


class GroupedRows:
    """Rows that are together by group, filed under the bins of `parts`."""

    def __init__(self, rows: Rows, parts: Parts) -> None:
        self._rows, self._parts = rows, parts
        self.n_estimation, self.n_drawn = len(parts.estimation), len(parts.drawn)
        self._table: ClusterTable | None = rows.fold(LookWork(parts, _itself)) if rows.is_one_piece else None

    def look(self, at: Look[T]) -> T:
        """The sum of what is seen of each piece."""
        if self._table is not None:
            return at(self._table)
        return cast(T, self._rows.fold(LookWork(self._parts, at)))


def _itself(table: ClusterTable) -> ClusterTable:
    return table
