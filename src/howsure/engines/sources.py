"""What a source is: a table on this machine, or one that Spark has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from howsure.engines.engine import Engine
from howsure.engines.files import Selection, TableRows
from howsure.engines.rows import Rows
from howsure.engines.tables import Table


def is_table(source: Any) -> bool:
    """Whether it is a path or a data frame."""
    return isinstance(source, str | Path) or hasattr(source, "columns") or hasattr(source, "column_names")


def is_spark_frame(source: Any) -> bool:
    """Whether it is a data frame of Spark."""
    return type(source).__module__.startswith("pyspark.sql")


def open_table(source: Any, engine: Engine) -> Table:
    """The table to ask for its columns, on the engine that is meant."""
    if engine.is_spark or is_spark_frame(source):
        from howsure.engines.spark_table import SparkTable

        return SparkTable(source, engine)
    return Table(source, engine)


def rows_of(table: Table, selection: Selection, engine: Engine) -> Rows:
    """The table's rows. They close it."""
    if engine.is_spark or type(table) is not Table:
        from howsure.engines.spark_table import SparkTable, spark_rows

        assert isinstance(table, SparkTable)
        return spark_rows(table, selection)
    return TableRows(table, selection, engine)
