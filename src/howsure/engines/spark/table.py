"""A table that Spark reads: Parquet files of a cluster, or a data frame of the user's session."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from howsure.engines.engine import Engine
from howsure.engines.formats import BadFile, TableFile, bad_files, bad_files_error, table_files
from howsure.engines.spark.jobs import Jobs
from howsure.engines.spark.session import session
from howsure.engines.tables import Table
from howsure.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from howsure.engines.files import Selection

ADDRESS = re.compile(r"[a-z0-9]+://")


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
                    files, left_out = _parquet_files(name, engine)
                elif engine.skip_bad_files:
                    raise InputError("--skip-bad-files reads each file from here, and cannot read a cluster's.")
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
        from howsure.engines.files import Selection
        from howsure.engines.spark.rows import SparkRows, ValuesWork

        found = SparkRows(self, Selection({"v": expression}, where)).fold(ValuesWork())
        return sorted((v for v in found if v is not None), key=str)[:limit]

    def value_at(self, expression: str, row: int, where: str | None = None, relation: str | None = None) -> Any:
        raise NotImplementedError("rows of Spark are not numbered")


def _parquet_files(source: str, engine: Engine) -> tuple[list[TableFile], list[BadFile]]:
    files, left_out = table_files(source, skip_bad=engine.skip_bad_files)
    if files[0].kind != "parquet":
        raise InputError(f"Spark reads Parquet; {source} is {files[0].kind}. Use --engine files.")
    return files, left_out


def _addresses(files: list[TableFile]) -> list[str]:
    return [file.path.resolve().as_uri() for file in files]


def empty_frame(frame: Any) -> pa.Table:
    """No rows, and the columns that Spark's rows would have as Arrow."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(frame.schema).empty_table()
    except Exception as error:
        raise InputError(f"the frame has a column that Arrow cannot hold: {str(error).splitlines()[0]}") from None
