"""Tables of one model each, joined on a key by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from howsure import _validate
from howsure._validate import Origin
from howsure.engines.columns import pair_columns
from howsure.engines.engine import Engine
from howsure.engines.files import Selection
from howsure.engines.paired import PairedRows
from howsure.engines.paired_work import Models
from howsure.engines.pairs import Pairs, group_sql, numbers
from howsure.engines.spark import SparkRows, evaluated, on_the_wire, sql_schema
from howsure.engines.spark_session import map_in_arrow
from howsure.engines.spark_table import SparkTable
from howsure.engines.tables import quoted
from howsure.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KINDS = {"key": pa.string(), "y": pa.uint8(), "q": pa.float64(), "groups": pa.uint64(), "by": pa.string()}


class _JoinedFrame(SparkRows):
    """The joined frame, and all that was opened for it."""

    def __init__(self, table: SparkTable, selection: Selection, opened: ExitStack) -> None:
        super().__init__(table, selection)
        self._opened = opened

    def close(self) -> None:
        super().close()
        self._opened.close()


def paired_frames(
    sources: list[Any],
    key: str,
    names_of: Any,
    *,
    prob: str | None,
    true: str | None,
    positive: Any,
    groups: str | None,
    by: str | None,
    logits: bool,
    engine: Engine,
) -> PairedRows:
    """One table per model; every key must be in each of them once, with the same label."""
    with ExitStack() as opened:
        tables = [opened.enter_context(SparkTable(s, engine)) for s in sources]
        frames: list[DataFrame] = []
        for i, table in enumerate(tables):
            extra = {"groups": groups, "by": by} if i == 0 else {}
            frame = _checked(table, key, prob, true, positive, extra, logits)
            _compare_keys(table, frame, tables[0], frames[0] if frames else None, key)
            opened.callback(frame.unpersist)
            frames.append(frame)
        whole = frames[0].withColumnRenamed("q", "q0")
        for i, frame in enumerate(frames[1:], 1):
            whole = whole.join(frame.selectExpr("key", f"q AS q{i}"), "key")
        models = names_of([t.name for t in tables])
        columns = ["y", *(f"q{i}" for i in range(len(frames))), *(c for c, n in (("by", by), ("groups", groups)) if n)]
        joined = opened.enter_context(SparkTable(whole.select(*columns), engine))
        joined.name = ", ".join(models)
        rows = _JoinedFrame(joined, Selection({c: quoted(c) for c in columns}), opened.pop_all())
    pairs = tuple(Pairs(Origin("y", "", "", 0, True), groups or "") for _ in models)
    notes = tuple(n for t in tables for n in t.notes)
    return PairedRows(rows, Models(tuple(models), pairs), by=by, groups=groups, notes=notes)


def _checked(
    table: SparkTable,
    key: str,
    prob: str | None,
    true: str | None,
    positive: Any,
    extra: dict[str, str | None],
    logits: bool,
) -> DataFrame:
    """Key, label and probability of a table's rows, each of them valid."""
    from pyspark import StorageLevel

    pair = pair_columns(table, prob, true, positive)
    name, origin = table.name, Origin(pair.true.name, pair.prob.name, "", 0, True, numbered=False)
    wanted = {"key": f"CAST({quoted(table.column(key).name)} AS VARCHAR)", "y": pair.true_sql, "q": pair.prob_sql}
    if extra.get("groups"):
        wanted["groups"] = group_sql(table.column(str(extra["groups"])).name)
    if extra.get("by"):
        wanted["by"] = f"CAST({quoted(table.column(str(extra['by'])).name)} AS VARCHAR)"
    selection = Selection(wanted, None, {"q": pair.prob.name})
    schema = pa.schema([(c, KINDS[c]) for c in wanted])
    needs = {"key": key} | ({"groups": extra["groups"]} if "groups" in wanted else {})

    def valid(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in evaluated(batches, selection):
            for column, called in needs.items():
                if chunk[column].null_count:
                    raise InputError(f"{name}: `{called}` is missing in a row.")
            try:
                y = _validate.labels(numbers(chunk["y"]), origin)
                q = _validate.probabilities(numbers(chunk["q"]), origin, logits=logits)
            except InputError as error:
                raise InputError(f"{name}: {error}") from None
            made = dict(chunk.columns) | {"y": pa.array(np.ascontiguousarray(y)), "q": pa.array(q)}
            yield on_the_wire(pa.RecordBatch.from_arrays([made[c] for c in wanted], schema=schema))

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
        n = twice[0]["count"]
        raise InputError(f"{table.name}: the key {twice[0]['key']!r} stands in {n:,} rows; `{key}` must be unique.")
    if other is None:
        return
    for a, b, here, there in ((frame, other, table.name, first.name), (other, frame, first.name, table.name)):
        n, some = _counted(table, a.join(b.select("key"), "key", "left_anti"))
        if n:
            raise InputError(
                f"{n:,} of the items of {here} are not in {there} (the first is {some!r}); "
                "models can only be compared on the same items."
            )
    labels = other.selectExpr("key", "y AS other")
    n, some = _counted(table, frame.join(labels, "key").where("y <> other"))
    if n:
        raise InputError(
            f"{n:,} items have another label in {table.name} than in {first.name} (the first is {some!r})."
        )


def _counted(table: SparkTable, frame: DataFrame) -> tuple[int, Any]:
    row = table.jobs.result(lambda: frame.selectExpr("count(*) AS n", "min(key) AS first").collect()[0])
    return int(row["n"]), row["first"]
