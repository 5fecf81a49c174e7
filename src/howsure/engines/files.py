"""Tables of any size to a sketch: Parquet and Arrow by pyarrow on all cores, everything else through DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import BadRow, Origin
from howsure.calibration.sketch import Sketch, SketchBuilder
from howsure.engines.columns import PairColumns
from howsure.engines.memory import cores, merged
from howsure.engines.tables import Table, as_numpy, first_missing, quoted
from howsure.errors import InputError


@dataclass(frozen=True, slots=True)
class Batch:
    """Validated rows, with the values of the slice and group columns when asked for."""

    y: NDArray[np.uint8]
    q: NDArray[np.float64]
    weight: NDArray[np.int64] | None
    by: pa.Array | None
    groups: NDArray[np.uint64] | None


@dataclass(frozen=True, slots=True)
class Reading:
    """What to read from a table: the pair's columns and options."""

    columns: PairColumns
    weight: str | None = None
    by: str | None = None
    groups: str | None = None
    where: str | None = None
    logits: bool = False

    @property
    def origin(self) -> Origin:
        """For messages."""
        return Origin(self.columns.true.name, self.columns.prob.name, self.weight or "", 0, True)


def sketch_table(table: Table, reading: Reading, width: int | None = None) -> Sketch:
    """One sketch of all rows."""
    if _is_plain(table, reading):
        return _sketch_parquet([f.path for f in table.files], reading, width)
    builder = SketchBuilder(width)
    for batch in read_batches(table, reading):
        builder.add(batch.y, batch.q, batch.weight)
    return builder.finish()


def _is_plain(table: Table, reading: Reading) -> bool:
    """Parquet columns of numbers that need no SQL."""
    c = reading.columns
    return (
        bool(table.files)
        and table.files[0].kind == "parquet"
        and not (reading.where or reading.by or reading.groups or reading.weight or c.positive is not None)
        and c.prob.is_number
        and c.true.is_number
        and all(_has_plain_columns(f.path, (c.prob.name, c.true.name)) for f in table.files)
    )


def _has_plain_columns(path: Path, names: tuple[str, str]) -> bool:
    """Whether a Parquet file has both columns, once, as numbers that NumPy has too."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return all(schema.names.count(name) == 1 and any(k(schema.field(name).type) for k in kinds) for name in names)


def read_batches(table: Table, reading: Reading) -> Iterator[Batch]:
    """Validated batches in the table's order, through DuckDB."""
    c = reading.columns
    expressions = [c.true_sql, c.prob_sql]
    if reading.weight is not None:
        expressions.append(f"TRY_CAST({quoted(reading.weight)} AS DOUBLE)")
    if reading.by is not None:
        expressions.append(f"CAST({quoted(reading.by)} AS VARCHAR)")
    if reading.groups is not None:
        # A 64-bit hash stands for the group: among 10⁷ groups two share one with probability 3e-6.
        name = quoted(reading.groups)
        expressions.append(f"CASE WHEN {name} IS NULL THEN NULL ELSE hash({name}) END")
    origin = reading.origin
    for record in table.batches(expressions, reading.where):
        columns = iter(record.columns)
        y, q = next(columns), next(columns)
        if q.null_count:
            _explain_missing(table, reading, q, origin)
        weight = by = groups = None
        if reading.weight is not None:
            weight = _validate.weights(as_numpy(next(columns)), origin)
        if reading.by is not None:
            by = next(columns)
        if reading.groups is not None:
            column = next(columns)
            if column.null_count:
                i = first_missing(column)
                raise BadRow(
                    f"`{reading.groups}` is missing in {origin.at(i)}; every row needs a group.",
                    origin.first + i,
                )
            groups = as_numpy(column)
        yield Batch(
            _validate.labels(as_numpy(y), origin),
            _validate.probabilities(as_numpy(q), origin, logits=reading.logits),
            weight,
            by,
            groups,
        )
        origin = replace(origin, first=origin.first + record.num_rows)


def _explain_missing(table: Table, reading: Reading, column: pa.Array, origin: Origin) -> None:
    """A value that could not be read as a number: say what stands there."""
    i = first_missing(column)
    found = table.value_at(quoted(reading.columns.prob.name), origin.first + i, reading.where)
    if found is None:
        raise BadRow(f"`{origin.prob}` is missing or NaN in {origin.at(i)}.", origin.first + i)
    raise BadRow(f"`{origin.prob}` must hold numbers; got {found!r} in {origin.at(i)}.", origin.first + i)


def _sketch_parquet(paths: list[Path], reading: Reading, width: int | None) -> Sketch:
    """Row groups in parallel, each thread with a sketch of its own."""
    import pyarrow.parquet as pq

    tasks: SimpleQueue[tuple[Path, int, int]] = SimpleQueue()
    first = 0
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                for group in range(file.metadata.num_row_groups):
                    tasks.put((path, group, first))
                    first += file.metadata.row_group(group).num_rows
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
    names = [reading.columns.true.name, reading.columns.prob.name]

    def work(_: int) -> Sketch | BadRow:
        builder = SketchBuilder(width)
        opened: tuple[Path, Any] | None = None
        while True:
            try:
                path, group, row = tasks.get_nowait()
            except Empty:
                return builder.finish()
            if opened is None or opened[0] != path:
                opened = (path, pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False))
            origin = replace(reading.origin, first=row)
            try:
                for record in opened[1].iter_batches(1 << 17, row_groups=[group], columns=names, use_threads=False):
                    y, q = (as_numpy(record.column(name)) for name in names)
                    builder.add(y, q, None, origin, logits=reading.logits)
                    origin = replace(origin, first=origin.first + record.num_rows)
            except BadRow as bad:
                return bad
            except (OSError, pa.ArrowException) as error:
                raise InputError(f"{path} is damaged: {str(error).splitlines()[0]}") from None

    with ThreadPoolExecutor(cores()) as pool:
        return merged(pool.map(work, range(min(cores(), max(tasks.qsize(), 1)))))
