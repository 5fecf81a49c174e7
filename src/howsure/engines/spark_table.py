"""A table that Spark reads: Parquet files of a cluster, or a data frame of the user's session."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from howsure.engines.bad_files import bad_files, bad_files_error
from howsure.engines.engine import Engine
from howsure.engines.formats import table_files
from howsure.engines.spark_jobs import Jobs
from howsure.engines.spark_session import session
from howsure.engines.tables import Table
from howsure.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from howsure.engines.files import Selection
    from howsure.engines.rows import Rows


class SparkTable(Table):
    """Columns and types as DuckDB sees them, from the schema alone; the rows stay where they are."""

    def __init__(self, source: Any, engine: Engine) -> None:
        self._stack = ExitStack()
        self._engine = engine
        self._paths: list[str] = []
        try:
            if isinstance(source, str | Path):
                spark = self._stack.enter_context(session(engine.master))
                self.jobs = self._stack.enter_context(Jobs(spark))
                frame = self._read(spark, str(source))
                name = str(source)
            else:
                frame, name = source, "a Spark data frame"
                self.jobs = self._stack.enter_context(Jobs(frame.sparkSession))
            self.frame: DataFrame = frame
            super().__init__(_empty(frame))
        except BaseException:
            self._stack.close()
            raise
        self.name = name

    def _read(self, spark: Any, source: str) -> DataFrame:
        if re.match(r"[a-z0-9]+://", source):
            if self._engine.skip_bad_files:
                raise InputError("--skip-bad-files reads each file from here, and cannot read a cluster's.")
            self._paths = [source]
        else:
            files, left_out = table_files(source, None, skip_bad=self._engine.skip_bad_files)
            if files[0].kind != "parquet":
                raise InputError(f"Spark reads Parquet; {source} is {files[0].kind}. Use --engine files.")
            self._local, self._gone = files, left_out
            self._paths = [file.path.resolve().as_uri() for file in files]
        return self.jobs.result(lambda: self._reader(spark).parquet(*self._paths))

    @staticmethod
    def _reader(spark: Any) -> Any:
        # Whatever the session is set to: half of a damaged file is never counted.
        return spark.read.option("ignoreCorruptFiles", "false").option("ignoreMissingFiles", "false")

    def close(self) -> None:
        super().close()
        self._stack.close()

    @property
    def notes(self) -> tuple[str, ...]:
        from howsure.engines.bad_files import left_out_note

        return left_out_note(self._gone, len(self._local) + len(self._gone)) if hasattr(self, "_gone") else ()

    def check_files(self, selection: Selection) -> None:
        """With --skip-bad-files: read without those that cannot be read to their end."""
        if not self._engine.skip_bad_files:
            return
        bad = bad_files(self._local, selection.columns.values(), selection.where)
        gone = {b.path for b in bad}
        self._gone += bad
        self._local = [f for f in self._local if str(f.path) not in gone]
        if not self._local:
            raise bad_files_error(self._gone, len(self._gone))
        if bad:
            spark = self.frame.sparkSession
            paths = [f.path.resolve().as_uri() for f in self._local]
            self.frame = self.jobs.result(lambda: self._reader(spark).parquet(*paths))

    def explained(self, error: InputError, selection: Selection) -> InputError:
        """If files are bad, say which, all of them."""
        if not hasattr(self, "_local") or len(self._local) < 2 or "Spark" not in str(error):
            return error
        bad = bad_files(self._local, selection.columns.values(), selection.where)
        return bad_files_error(bad, len(self._local)) if bad else error

    def values(self, expression: str, where: str | None = None, limit: int = 20) -> list[Any]:
        """Up to `limit` distinct values of an expression."""
        from howsure.engines.files import Selection
        from howsure.engines.spark import SparkRows, ValuesWork

        found = SparkRows(self, Selection({"v": expression}, where)).fold(ValuesWork())
        return sorted((v for v in found if v is not None), key=str)[:limit]

    def value_at(self, expression: str, row: int, where: str | None = None, relation: str | None = None) -> Any:
        raise NotImplementedError("rows of Spark are not numbered")


def spark_rows(table: SparkTable, selection: Selection) -> Rows:
    """The table's rows, left with Spark."""
    from howsure.engines.spark import SparkRows

    table.check_files(selection)
    return SparkRows(table, selection)


def _empty(frame: Any) -> pa.Table:
    """No rows, and the columns that Spark's rows would have as Arrow."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(frame.schema).empty_table()
    except Exception as error:
        raise InputError(f"the frame has a column that Arrow cannot hold: {str(error).splitlines()[0]}") from None
