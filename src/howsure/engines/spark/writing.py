"""A table copied with columns added, by Spark: a folder of Parquet files, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from howsure.engines.files import Selection
from howsure.engines.spark.rows import evaluated_beside
from howsure.engines.spark.session import map_in_arrow
from howsure.engines.spark.table import SparkTable
from howsure.engines.tables import Column, Table, quoted
from howsure.engines.writing import Addition
from howsure.errors import InputError


def write_with_columns(
    table: Table, read: Sequence[Column], names: Sequence[str], add: Addition, out: str, sql_type: str
) -> int:
    """Write the table to the folder `out` with new columns `names`; returns the rows."""
    from pyspark.sql.types import DoubleType, StructField, StructType

    assert isinstance(table, SparkTable)
    numbers = {f"c{i}": c.name for i, c in enumerate(read)}
    selection = Selection(
        {key: f"TRY_CAST({quoted(source)} AS {sql_type})" for key, source in numbers.items()}, None, numbers
    )

    def extended(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for whole, chunk in evaluated_beside(batches, selection):
            made = add([chunk[key] for key in numbers], None)
            for name, values in zip(names, made, strict=True):
                whole = whole.append_column(name, pa.array(values))
            yield from whole.combine_chunks().to_batches()

    schema: Any = StructType([*table.frame.schema.fields, *(StructField(n, DoubleType()) for n in names)])
    folder = _folder(table, out)

    def run() -> int:
        map_in_arrow(table.frame, extended, schema).write.mode("errorifexists").parquet(folder)
        return int(table.frame.sparkSession.read.parquet(folder).count())

    try:
        return table.jobs.result(run)
    except BaseException:
        _remove(table, folder)
        raise


def _folder(table: SparkTable, out: str) -> str:
    if Path(out).suffix.lower() not in (".parquet", ""):
        raise InputError(f"Spark writes a folder of Parquet files: end its name in .parquet; got {out}.")
    folder = out if "://" in out else Path(out).resolve().as_uri()
    path, system = _hadoop(table, folder)
    if system.exists(path):
        raise InputError(f"{out} is there already; Spark writes to a new folder only.")
    return folder


def _remove(table: SparkTable, folder: str) -> None:
    path, system = _hadoop(table, folder)
    system.delete(path, True)


def _hadoop(table: SparkTable, folder: str) -> tuple[Any, Any]:
    """The folder and the file system that it is on."""
    context: Any = table.frame.sparkSession.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(folder)
    return path, path.getFileSystem(context._jsc.hadoopConfiguration())
