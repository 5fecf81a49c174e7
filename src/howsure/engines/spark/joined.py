"""Tables of one model each, joined on a key by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from howsure._validate import BadRow
from howsure.engines.engine import Engine
from howsure.engines.files import Selection
from howsure.engines.items import ItemRows
from howsure.engines.joined import Join, model_names, repeated_key, unlike_items, unlike_labels
from howsure.engines.spark.rows import SparkRows, evaluated, on_the_wire, sql_schema
from howsure.engines.spark.session import map_in_arrow
from howsure.engines.spark.table import SparkTable
from howsure.engines.tables import as_arrow, quoted
from howsure.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KINDS = {"key": pa.string(), "y": pa.uint8(), "q0": pa.float64(), "groups": pa.uint64(), "by": pa.string()}


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
        for table in tables:
            frame = _checked(table, join, first=not frames)
            _compare_keys(table, frame, tables[0], frames[0] if frames else None, join.key)
            opened.callback(frame.unpersist)
            frames.append(frame)
        whole = frames[0]
        for i, frame in enumerate(frames[1:], 1):
            whole = whole.join(frame.selectExpr("key", f"q0 AS q{i}"), "key")
        models = model_names([t.name for t in tables])
        columns = join.columns(len(models))
        joined = opened.enter_context(SparkTable(whole.select(*columns), engine))
        joined.name = ", ".join(models)
        rows = _JoinedFrame(joined, Selection({c: quoted(c) for c in columns}), opened.pop_all())
    return ItemRows(rows, join.items(len(models)), notes=[n for t in tables for n in t.notes]), models


def _checked(table: SparkTable, join: Join, *, first: bool) -> DataFrame:
    """Key, label and probability of a table's rows, each of them valid."""
    from pyspark import StorageLevel

    selection, items = join.of(table, first=first)
    name, wanted = table.name, list(selection.columns)
    schema = pa.schema([(c, KINDS[c]) for c in wanted])

    def valid(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for chunk in evaluated(batches, selection):
                batch = join.checked(chunk, items)
                made = dict(chunk.columns) | {"y": as_arrow(batch.ys[0]), "q0": as_arrow(batch.qs[0])}
                yield on_the_wire(pa.RecordBatch.from_arrays([made[c] for c in wanted], schema=schema))
        except BadRow as bad:
            raise InputError(f"{name}: {bad}") from None

    table.check_files(selection)
    frame = map_in_arrow(table.frame, valid, sql_schema(schema)).persist(StorageLevel.DISK_ONLY)
    if not table.jobs.result(lambda: frame.count()):
        raise InputError(f"{name} has no rows.")
    return frame


def _compare_keys(table: SparkTable, frame: DataFrame, first: SparkTable, other: DataFrame | None, key: str) -> None:
    """Refuses keys that stand twice, are not in both tables, or have unlike labels."""
    many = frame.groupBy("key").count().where("count > 1")
    twice = table.jobs.result(lambda: many.orderBy("key").limit(1).collect())
    if twice:
        raise repeated_key(table.name, key, twice[0]["key"], twice[0]["count"])
    if other is None:
        return
    for a, b, here, there in ((frame, other, table.name, first.name), (other, frame, first.name, table.name)):
        n, some = _counted(table, a.join(b.select("key"), "key", "left_anti"))
        if n:
            raise unlike_items(n, here, there, some)
    labels = other.selectExpr("key", "y AS other")
    n, some = _counted(table, frame.join(labels, "key").where("y <> other"))
    if n:
        raise unlike_labels(n, table.name, first.name, some)


def _counted(table: SparkTable, frame: DataFrame) -> tuple[int, Any]:
    row = table.jobs.result(lambda: frame.selectExpr("count(*) AS n", "min(key) AS first").collect()[0])
    return int(row["n"]), row["first"]
