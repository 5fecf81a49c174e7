"""Rows that stay with Spark. Executors evaluate the same SQL with DuckDB, and do the same work, as this machine would.

A piece is a partition. What it becomes is small and comes back pickled, as Spark sends everything between Pythons; many
pieces are added up on the executors first. A task that is done again, after a worker or an executor was lost, gives the
same piece, and Spark counts each piece once.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial, reduce
from math import ceil, isqrt
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from howsure.engines.connection import checked_condition, connect, limited
from howsure.engines.files import Selection
from howsure.engines.rows import Chunk, Keying, Rows, T, Work
from howsure.engines.spark.session import map_in_arrow
from howsure.engines.tables import quoted
from howsure.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from howsure.engines.spark.table import SparkTable

ROWS_AT_ONCE = 1 << 17  # batches of Spark's are joined up to this
MEMORY = 1 << 32  # bytes for DuckDB with this many rows
FEW_PIECES = 16  # that the driver adds up alone
_WIRE = {"uint64": ("bigint", pa.int64()), "uint8": ("tinyint", pa.int8())}  # Spark has no unsigned numbers
_SQL = {"int32": "int", "int64": "bigint", "bool": "boolean"} | {kind: kind for kind in ("double", "string", "binary")}


class SparkRows(Rows):
    """Columns of a frame, as SQL of DuckDB's."""

    def __init__(self, table: SparkTable, selection: Selection) -> None:
        self._table, self._selection = table, selection
        self.name = Path(table.name).name

    def close(self) -> None:
        self._table.close()

    @property
    def roles(self) -> Collection[str]:
        return self._selection.columns

    def unchecked(self) -> Rows:
        return SparkRows(self._table, replace(self._selection, numbers={}))

    def fold(self, work: Work[T]) -> T:
        read = partial(evaluated, selection=self._selection)
        return self._run(lambda: _added(self._frame(), read, work))

    def by_key(self, keying: Keying) -> Rows:
        selection = self._selection

        def records(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for record in keying.spread(evaluated(batches, selection)):
                yield on_the_wire(record)

        def keyed() -> DataFrame:
            made = map_in_arrow(self._frame(), records, sql_schema(keying.schema))
            # Records are about as large as what they are made from; a piece of them must fit in an executor's memory.
            pieces = max(2 * n_pieces(made), made.sparkSession.sparkContext.defaultParallelism)
            return made.repartition(pieces, "key")

        return KeyedFrame(self.name, self._run(keyed), self._run)

    def mapped(self, make: Callable[[Chunk], dict[str, Any]], schema: pa.Schema) -> DataFrame:
        """A frame of the columns that each chunk becomes."""
        selection = self._selection

        def made(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for columns in map(make, evaluated(batches, selection)):
                yield on_the_wire(pa.RecordBatch.from_arrays([columns[c] for c in schema.names], schema=schema))

        return map_in_arrow(self._frame(), made, sql_schema(schema))

    def _frame(self) -> DataFrame:
        """The columns that are named, and no others."""
        said = " ".join([*self._selection.columns.values(), self._selection.where or ""]).lower()
        needed = [c.name for c in self._table.columns if c.name.lower().replace('"', '""') in said]
        return self._table.frame.select(*(f"`{n.replace('`', '``')}`" for n in needed))

    def _run(self, work: Callable[[], Any]) -> Any:
        try:
            return self._table.jobs.result(work)
        except InputError as error:
            raise self._table.explained(error, self._selection) from None


class KeyedFrame(Rows):
    """Records of which no key is in two partitions; kept on the executors' disks while they are looked at."""

    def __init__(self, name: str, frame: DataFrame, run: Callable[[Callable[[], Any]], Any]) -> None:
        from pyspark import StorageLevel

        self.name, self._run = name, run
        self._frame = frame.persist(StorageLevel.DISK_ONLY)

    def fold(self, work: Work[T]) -> T:
        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[Chunk]:
            return (Chunk(dict(zip(b.schema.names, b.columns, strict=True))) for b in batches)

        return self._run(lambda: _added(self._frame, read, work))

    def by_key(self, keying: Keying) -> Rows:
        raise NotImplementedError("records that have a key already")

    def close(self) -> None:
        self._run(lambda: self._frame.unpersist())


def distinct_values(chunks: Iterator[Chunk]) -> list[Any]:
    """Distinct values of a column, a few hundred at most."""
    found: set[Any] = set()
    for chunk in chunks:
        if len(found) < 500:
            found.update(chunk["v"].unique().to_pylist()[:500])
    return sorted(found, key=str)


def evaluated(batches: Iterator[pa.RecordBatch], selection: Selection) -> Iterator[Chunk]:
    """Batches of an executor as chunks: the selection's SQL, by DuckDB."""
    return (chunk for _, chunk in evaluated_beside(batches, selection))


def evaluated_beside(batches: Iterator[pa.RecordBatch], selection: Selection) -> Iterator[tuple[pa.Table, Chunk]]:
    """The same beside the rows that the chunk was made from (all of them, whatever the condition)."""
    names = list(selection.columns)
    listed = ", ".join(f"{e} AS c{i}" for i, e in enumerate(selection.columns.values()))
    condition = f" WHERE {checked_condition(selection.where)}" if selection.where else ""
    with connect(threads=1, memory=MEMORY) as connection:

        def ask(table: pa.Table, wanted: str) -> pa.Table:
            connection.register("given", table)
            try:
                with limited(connection) if condition else nullcontext():
                    return connection.sql(f"SELECT {wanted} FROM given{condition}").to_arrow_table()
            except duckdb.Error as error:
                raise InputError(f"{str(error).strip().splitlines()[0].rstrip('.')}.") from None

        for table in _joined(batches):
            made = ask(table, listed).combine_chunks()
            if not made.num_rows:
                continue
            chunk = Chunk({name: made.column(i).chunk(0) for i, name in enumerate(names)})

            def found(source: str, i: int, table: pa.Table = table) -> Any:
                return ask(table, quoted(source)).column(0)[i].as_py()

            selection.check_numbers(chunk, found, numbered=False)
            yield table, chunk


def kept_rows(frame: DataFrame, where: str) -> DataFrame:
    """The rows of a frame that a condition keeps: DuckDB's SQL, with its limits, and not Spark's, which calls any code."""
    condition = checked_condition(where)

    def keep(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with connect(threads=1, memory=MEMORY) as connection:
            for batch in batches:
                connection.register("given", pa.Table.from_batches([batch]))
                try:
                    with limited(connection):
                        asked = connection.sql(f"SELECT coalesce(CAST({condition} AS BOOLEAN), false) FROM given")
                        mask = asked.to_arrow_table().column(0).combine_chunks()
                except duckdb.Error as error:
                    raise InputError(f"`where=`: {str(error).strip().splitlines()[0].rstrip('.')}.") from None
                yield batch.filter(mask)

    return map_in_arrow(frame, keep, frame.schema)


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Small batches together, so that a query is worth its while."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def n_pieces(frame: DataFrame) -> int:
    """Partitions, by the plan that `collect` follows too: `frame.rdd` plans again, and does again what is shuffled before them."""
    execution: Any = frame._jdf.queryExecution()
    return int(execution.toRdd().getNumPartitions())


def _added(frame: DataFrame, read: Callable[[Iterator[pa.RecordBatch]], Iterator[Chunk]], work: Work[T]) -> T:
    """The sum of the work's results over the partitions, each read as chunks."""

    def piece(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _pickled(work(read(batches)))

    made = map_in_arrow(frame, piece, "made binary")
    pieces = n_pieces(made)
    if pieces > FEW_PIECES:
        made = map_in_arrow(made.repartition(ceil(isqrt(pieces))), _sum, "made binary")
    parts = [pickle.loads(row.made) for row in made.collect()]
    return reduce(add, parts) if parts else work(iter(()))


def _sum(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    total = None
    for batch in batches:
        for value in batch.column(0):
            made = pickle.loads(value.as_py())
            total = made if total is None else total + made
    if total is not None:
        yield _pickled(total)


def _pickled(made: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(made, 5)], pa.binary())], names=["made"])


def sql_schema(schema: pa.Schema) -> str:
    """Arrow's schema as Spark writes it."""
    kinds = [_WIRE[str(f.type)][0] if str(f.type) in _WIRE else _SQL[str(f.type)] for f in schema]
    return ", ".join(f"`{f.name}` {kind}" for f, kind in zip(schema, kinds, strict=True))


def on_the_wire(record: pa.RecordBatch) -> pa.RecordBatch:
    """Unsigned numbers as signed ones of the same bits."""
    columns = [c.view(_WIRE[str(c.type)][1]) if str(c.type) in _WIRE else c for c in record.columns]
    return pa.RecordBatch.from_arrays(columns, names=record.schema.names)
