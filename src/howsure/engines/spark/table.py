"""A table that Spark reads: Parquet files of a cluster, or a data frame of the user's session; joined, and written with more columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from howsure._validate import BadRow
from howsure.engines.engine import Engine
from howsure.engines.files import Selection
from howsure.engines.formats import BadFile, TableFile, bad_files, bad_files_error, table_files
from howsure.engines.items import ItemRows
from howsure.engines.joined import Join, complete_items, model_names, repeated_key, unlike_items, unlike_labels
from howsure.engines.spark.rows import SparkRows, distinct_values, evaluated_beside
from howsure.engines.spark.session import Jobs, map_in_arrow, session
from howsure.engines.tables import Column, Table, quoted
from howsure.engines.writing import Addition
from howsure.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ADDRESS = re.compile(r"[a-z0-9]+://")
KINDS = {"key": pa.string(), "y": pa.uint8(), "q0": pa.float64(), "groups": pa.uint64(), "by": pa.string()}


class SparkTable(Table):
    """Columns and types as DuckDB sees them, from the schema alone; the rows stay where they are."""

    def __init__(self, source: Any, engine: Engine) -> None:
        self._stack = ExitStack()
        files: list[TableFile] = []
        left_out: list[BadFile] = []
        try:
            if isinstance(source, str | Path):
                spark = self._stack.enter_context(session(engine.master))
                self.jobs = self._stack.enter_context(Jobs(spark))
                name = str(source)
                if not ADDRESS.match(name):
                    files, left_out = table_files(name, skip_bad=engine.skip_bad_files)
                    if files[0].kind != "parquet":
                        raise InputError(f"Spark reads Parquet; {name} is {files[0].kind}. Use `engine='files'`.")
                elif engine.skip_bad_files:
                    raise InputError("`skip_bad_files=True` reads each file from here, and cannot read a cluster's.")
                self.frame: DataFrame = self._read(spark, _addresses(files) or [name])
            else:
                self.frame, name = source, "a Spark data frame"
                self.jobs = self._stack.enter_context(Jobs(source.sparkSession))
            super().__init__(empty_frame(self.frame))
            self.engine = engine
        except BaseException:
            self._stack.close()
            raise
        self.name, self.files, self.left_out = name, files, left_out

    def _read(self, spark: Any, addresses: list[str]) -> DataFrame:
        # Whatever the session is set to: half of a damaged file is never counted.
        reader = spark.read.option("ignoreCorruptFiles", "false").option("ignoreMissingFiles", "false")
        return self.jobs.result(lambda: reader.parquet(*addresses))

    def _relate(self) -> None:
        self.frame = self._read(self.frame.sparkSession, _addresses(self.files))

    def close(self) -> None:
        super().close()
        self._stack.close()

    def check_files(self, selection: Selection) -> None:
        """With --skip-bad-files: read without those that cannot be read to their end."""
        if self.engine.skip_bad_files and self.files:
            self.leave_out(bad_files(self.files, selection.columns.values(), selection.where))

    def explained(self, error: InputError, selection: Selection) -> InputError:
        """If files are bad, say which, all of them."""
        if len(self.files) < 2 or "Spark" not in str(error):
            return error
        bad = bad_files(self.files, selection.columns.values(), selection.where)
        return bad_files_error(bad, len(self.files)) if bad else error

    def values(self, expression: str, where: str | None = None, limit: int = 20) -> list[Any]:
        """Up to `limit` distinct values of an expression."""
        found = SparkRows(self, Selection({"v": expression}, where)).fold(distinct_values)
        return sorted((v for v in found if v is not None), key=str)[:limit]

    def value_at(self, expression: str, row: int, where: str | None = None, relation: str | None = None) -> Any:
        raise NotImplementedError("rows of Spark are not numbered")


def _addresses(files: list[TableFile]) -> list[str]:
    return [file.path.resolve().as_uri() for file in files]


def empty_frame(frame: Any) -> pa.Table:
    """No rows, and the columns that Spark's rows would have as Arrow."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(frame.schema).empty_table()
    except Exception as error:
        raise InputError(f"the frame has a column that Arrow cannot hold: {str(error).splitlines()[0]}") from None


class _JoinedFrame(SparkRows):
    """The joined frame, and all that was opened for it."""

    def __init__(self, table: SparkTable, selection: Selection, opened: ExitStack) -> None:
        super().__init__(table, selection)
        self._opened = opened

    def close(self) -> None:
        super().close()
        self._opened.close()


def joined_frames(sources: list[Any], join: Join, engine: Engine) -> tuple[ItemRows, tuple[str, ...]]:
    """One table per model, every key in each of them once with the same label; and the models' names."""
    with ExitStack() as opened:
        tables = [opened.enter_context(SparkTable(s, engine)) for s in sources]
        frames: list[DataFrame] = []
        notes, leave_out = [], 0
        for table in tables:
            frame, read = _checked(table, join, tables[0], frames[0] if frames else None)
            opened.callback(frame.unpersist)
            notes += [f"{Path(table.name).name}: {note}" for note in read.notes]
            leave_out += read.items.leaves_out
            frames.append(frame)
        whole = frames[0]
        for i, frame in enumerate(frames[1:], 1):
            whole = whole.join(frame.selectExpr("key", f"q0 AS q{i}"), "key")
        models = model_names([t.name for t in tables])
        columns = join.columns(len(models))
        if leave_out:
            whole = whole.where(" AND ".join(f"q{i} IS NOT NULL" for i in range(len(models))))
            n, of = (tables[0].jobs.result(f.count) for f in (whole, frames[0]))
            notes += complete_items(n, of, leave_out)
        joined = opened.enter_context(SparkTable(whole.select(*columns), engine))
        joined.name = ", ".join(models)
        rows = _JoinedFrame(joined, Selection({c: quoted(c) for c in columns}), opened.pop_all())
    return ItemRows(rows, join.items(len(models)), notes=notes), models


def _checked(table: SparkTable, join: Join, first: SparkTable, other: DataFrame | None) -> tuple[DataFrame, ItemRows]:
    """Key, label and probability of a table's rows, each of them valid or without both, and of the items of `other`; and how they were read."""
    from pyspark import StorageLevel

    selection, items = join.of(table, first=other is None)
    schema = pa.schema([(c, KINDS[c]) for c in selection.columns])

    def filled(found: ItemRows) -> tuple[DataFrame, ItemRows]:
        assert isinstance(found.rows, SparkRows)
        frame = found.rows.mapped(partial(join.checked, items=found.items), schema).persist(StorageLevel.DISK_ONLY)
        _compare_keys(table, frame, first, other, join.key)
        return frame, found

    table.check_files(selection)
    try:
        return ItemRows(SparkRows(table, selection), items, table).analysed(filled)
    except BadRow as bad:
        raise InputError(f"{table.name}: {bad}") from None


def _compare_keys(table: SparkTable, frame: DataFrame, first: SparkTable, other: DataFrame | None, key: str) -> None:
    """Refuses a table without rows and keys that stand twice, are not in both tables, or have unlike labels: all asked in one query."""
    from pyspark.sql.functions import expr

    both = frame.groupBy("key").agg(expr("count(*) AS n"), expr("min(y) AS y"))
    if other is None:
        both = both.selectExpr("*", "key AS there", "y AS y_there")
    else:  # where each key stands once
        both = both.join(other.selectExpr("key AS there", "y AS y_there"), expr("key = there"), "full_outer")
    asked = {"twice": "n > 1", "here": "there IS NULL", "there": "key IS NULL", "labels": "y <> y_there"}
    least = "min(struct(coalesce(key, there) AS key, n))"
    wanted = ["sum(n) AS rows", *(f"count_if({c}) AS n_{name}" for name, c in asked.items())]
    wanted += [f"{least} FILTER (WHERE {c}) AS {name}" for name, c in asked.items()]
    found = table.jobs.result(lambda: both.selectExpr(*wanted).collect()[0])
    if not found["rows"]:
        raise InputError(f"{table.name} has no rows.")
    if found["n_twice"]:
        raise repeated_key(table.name, key, found["twice"]["key"], found["twice"]["n"])
    for name, here, there in (("here", table.name, first.name), ("there", first.name, table.name)):
        if found[f"n_{name}"]:
            raise unlike_items(found[f"n_{name}"], here, there, found[name]["key"])
    if found["n_labels"]:
        raise unlike_labels(found["n_labels"], table.name, first.name, found["labels"]["key"])


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
        path, system = _hadoop(table, folder)
        system.delete(path, True)
        raise


def _folder(table: SparkTable, out: str) -> str:
    if Path(out).suffix.lower() not in (".parquet", ""):
        raise InputError(f"Spark writes a folder of Parquet files: end its name in .parquet; got {out}.")
    folder = out if "://" in out else Path(out).resolve().as_uri()
    path, system = _hadoop(table, folder)
    if system.exists(path):
        raise InputError(f"{out} is there already; Spark writes to a new folder only.")
    return folder


def _hadoop(table: SparkTable, folder: str) -> tuple[Any, Any]:
    """The folder and the file system that it is on."""
    context: Any = table.frame.sparkSession.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(folder)
    return path, path.getFileSystem(context._jsc.hadoopConfiguration())
