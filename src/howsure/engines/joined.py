"""Tables of one model each, joined on a key: by DuckDB, on disk where they do not fit in memory, or by Spark."""

from __future__ import annotations  # DuckDB's types, kept in annotations, are reported as leaks when Python ends

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import BadRow, Origin
from howsure.calibration.comparing.result import HeldRows
from howsure.engines.coded import Coded, encoded
from howsure.engines.columns import (
    group_sql,
    label_column,
    label_sql,
    pair_columns,
    predicted_column,
    probability_sql,
    text_sql,
    value_sql,
)
from howsure.engines.connection import connect, literal
from howsure.engines.engine import Engine
from howsure.engines.files import Selection, TableRows
from howsure.engines.items import ItemRows, Items, is_spark_frame
from howsure.engines.labelled import ONE_GROUP, LabelSequences, as_appearing
from howsure.engines.logs.table import Log
from howsure.engines.rows import Chunk
from howsure.engines.shares import full
from howsure.engines.tables import Table, as_arrow, as_numpy, first_missing, quoted
from howsure.errors import HowsureError, InputError
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True, slots=True)
class Join:
    """What is joined: on which key, which columns, and what else the first table tells."""

    key: str
    prob: str | None = None
    true: str | None = None
    positive: Any = None
    groups: str | None = None
    by: str | None = None
    scale: str | None = None
    missing: str = "drop"

    def of(self, table: Table, *, first: bool) -> tuple[Selection, Items]:
        """What to read from one of the tables."""
        true, prob = pair_columns(table, self.prob, self.true)
        sql = {"key": value_sql(table.column(self.key).name), "y": label_sql(table, true, self.positive, None)}
        sql["q0"] = probability_sql(table, prob, self.scale, None)
        if first and self.groups:
            sql["groups"] = group_sql(table.column(self.groups).name)
        if first and self.by:
            sql["by"] = value_sql(table.column(self.by).name)
        groups = self.groups if "groups" in sql else None
        items = Items(true.name, (prob.name,), groups=groups, scale=self.scale, missing=self.missing, from_file=True)
        return Selection(sql, None, {"q0": prob.name}), items

    def checked(self, chunk: Chunk, items: Items) -> dict[str, Any]:
        """The columns of a table, each row valid and with a key; `y` and `q0` are null in rows that are left out."""
        self.check_key(chunk, items)
        batch = items.batch(chunk)
        made = {"y": as_arrow(batch.ys[0]), "q0": as_arrow(batch.qs[0])}
        if items.leaves_out:
            keep, _ = items.complete(chunk)
            at = pa.array(np.cumsum(keep) - 1, mask=~keep)
            made = {role: column.take(at) for role, column in made.items()}
        return dict(chunk.columns) | made

    def check_key(self, chunk: Chunk, items: Items) -> None:
        """Every row has a key."""
        if chunk["key"].null_count:
            at = items.origin(chunk).at(first_missing(chunk["key"]))
            raise BadRow(f"`{self.key}` is missing in {at}.", chunk.first or 0)

    def items(self, n_models: int) -> Items:
        """Of the joined rows."""
        return Items("y", ("",) * n_models, by=self.by, groups=self.groups, from_file=True)

    def columns(self, n_models: int) -> list[str]:
        """Of the joined rows."""
        extra = [role for role, name in (("by", self.by), ("groups", self.groups)) if name]
        return ["y", *(f"q{i}" for i in range(n_models)), *extra]


def joined_tables(sources: list[Any], join: Join, engine: Engine) -> tuple[ItemRows, tuple[str, ...]]:
    """One table per model, every key in each of them once with the same label; and the models' names."""
    if engine.is_spark or any(is_spark_frame(s) for s in sources):
        from howsure.engines.spark.table import joined_frames

        return joined_frames(sources, join, engine)
    spool = tempfile.TemporaryDirectory(prefix="howsure-")
    try:
        with _Database(Path(spool.name), join, engine) as database:
            for source in sources:
                database.add(source)
            names = model_names(database.names)
            columns = join.columns(len(names))
            listed = [f"t{c[1:]}.q0 AS {c}" if c.startswith("q") else f't0."{c}"' for c in columns]
            path, left = database.written(listed, " AND ".join(f"t{i}.y IS NOT NULL" for i in range(len(names))))
            notes = (*database.notes, *complete_items(*left, database.leave_out))
        plain = {c: c for c in columns} if len(columns) == len(names) + 1 else None
        selection = Selection({c: quoted(c) for c in columns}, plain=plain)
        rows = TableRows(Table(path, engine), selection, engine, spool)
        rows.name = ", ".join(names)
    except BaseException:
        spool.cleanup()
        raise
    return ItemRows(rows, join.items(len(names)), notes=notes), names


def join_key(key: str | None, where: str | None, what: str, **named: list[str]) -> str:
    """The column that several tables are joined on; an error if there is none, or something does not go with several."""
    if key is None:
        raise InputError("files are compared item by item: name the column that identifies an item with `key=`.")
    if where is not None:
        raise InputError("`where=` works on one file; filter the files first.")
    for option, names in named.items():
        if len(names) > 1:
            raise InputError(f"with a file per {what}, `{option}=` names the one column that each of them has.")
    return key


def model_names(paths: list[str]) -> tuple[str, ...]:
    """File names without endings; whole paths where those would clash."""
    if len(set(paths)) < len(paths) and all(map(os.path.exists, paths)):
        raise InputError("each file may be named once: a model is compared with another one.")
    short = [Path(p).name.split(".")[0] for p in paths]
    return tuple(short if len(set(short)) == len(short) else paths)


def unlike_items(n: int, here: str, there: str, first: Any) -> InputError:
    """Items that one table has and another has not."""
    return InputError(
        f"{n:,} of the items of {here} are not in {there} (the first is {first!r}); "
        "models can only be compared on the same items."
    )


def unlike_labels(n: int, here: str, there: str, first: Any) -> InputError:
    """Items that the tables label differently."""
    return InputError(f"{n:,} items have another label in {here} than in {there} (the first is {first!r}).")


def complete_items(n: int, of: int, leave_out: int) -> list[str]:
    """What to say of the items that are left where several tables leave some out; an error if there are none."""
    if not n:
        raise InputError("no item has a label and a probability in every file: nothing is left.")
    return [f"{n:,} of {of:,} items are complete in every file."] if leave_out > 1 else []


def repeated_key(name: str, key: str, value: Any, n: int) -> InputError:
    """A key that several rows have."""
    return InputError(f"{name}: the key {value!r} stands in {n:,} rows; `{key}` must be unique.")


TWICE = "SELECT key, count(*) FROM t{0} GROUP BY key HAVING count(*) > 1 ORDER BY min(row) LIMIT 1"


class _Database:
    """A database on disk with a table per model: (row, key, y, q0 and, of the first, groups and by); or as `LabelJoin` says."""

    def __init__(self, folder: Path, join: Join, engine: Engine) -> None:
        self._folder, self._join, self._engine = folder, join, engine
        self.names: list[str] = []
        self.notes: list[str] = []
        self.leave_out = 0  # tables that leave rows out
        limit = None if engine.limit is None else engine.limit // 4
        self._connection = connect(folder / "join.db", folder=folder, memory=limit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def add(self, source: Any) -> None:
        """Read one model's table and check that its items are those of the first."""
        number = len(self.names)
        with Table(source, self._engine) as table:
            selection, items = self._join.of(table, first=number == 0)
            rows = TableRows(table, selection, self._engine)
            self.names.append(table.name)

            def filled(found: ItemRows) -> tuple[int, ItemRows]:
                assert isinstance(found.rows, TableRows)
                n = 0
                for chunk in found.rows.chunks():
                    n += self._insert(number, n, self._join.checked(chunk, found.items))
                return n, found

            try:
                n, read = ItemRows(rows, items, table).analysed(filled)
            except BadRow as bad:
                raise InputError(f"{table.name}: {bad}") from None
            if not n:
                raise InputError(f"{table.name} has no rows.")
            self.notes += [f"{Path(table.name).name}: {note}" for note in read.notes]
            self.leave_out += read.items.leaves_out
        self._check(number)

    def _insert(self, number: int, first: int, columns: dict[str, Any]) -> int:
        n = len(columns["key"])
        self._connection.register("incoming", pa.table({"row": as_arrow(np.arange(first, first + n))} | columns))
        self._run(f"{f'INSERT INTO t{number}' if first else f'CREATE OR REPLACE TABLE t{number} AS'} FROM incoming")
        self._connection.unregister("incoming")
        return n

    def _check(self, number: int) -> None:
        name, first_name = self.names[number], self.names[0]
        if twice := self._asked(TWICE.format(number)):
            raise repeated_key(name, self._join.key, *twice)
        if number == 0:
            return
        for a, b, here, there in ((number, 0, name, first_name), (0, number, first_name, name)):
            lost = self._asked(f"SELECT count(*), arg_min(key, row) FROM t{a} ANTI JOIN t{b} USING (key)")
            if lost[0]:
                raise unlike_items(lost[0], here, there, lost[1])
        unlike = self._asked(
            f"SELECT count(*), arg_min(t0.key, t0.row) FROM t0 JOIN t{number} AS b USING (key) WHERE t0.y <> b.y"
        )
        if unlike[0]:
            raise unlike_labels(unlike[0], name, first_name, unlike[1])

    def written(self, columns: list[str], where: str = "true") -> tuple[Path, tuple[int, int]]:
        """The joined table as a Parquet file, in the order of the first; how many items are left, and how many there were."""
        every = range(len(self.names))
        joins = " ".join(f"JOIN t{i} USING (key)" for i in every if i)
        path = self._folder / "joined.parquet"
        # Uncompressed: probabilities hardly shrink, and it is read several times.
        copied = self._asked(
            f"COPY (SELECT {', '.join(columns)} FROM t0 {joins} WHERE {where} ORDER BY t0.row) TO {literal(str(path))} "
            "(FORMAT parquet, COMPRESSION uncompressed)"
        )
        left = (copied[0], self._asked("SELECT count(*) FROM t0")[0])
        for i in every:
            self._run(f"DROP TABLE t{i}")
        return path, left

    def _asked(self, sql: str) -> tuple[Any, ...]:
        found = self._run(sql).fetchall()
        return found[0] if found else ()

    def _run(self, sql: str) -> duckdb.DuckDBPyConnection:
        try:
            return self._connection.execute(sql)
        except duckdb.OutOfMemoryException as error:
            raise HowsureError(
                f"the join does not fit in the memory allowed (`memory=`): {str(error).splitlines()[0]}"
            ) from None
        except (duckdb.IOException, OSError) as error:
            raise full(OSError(str(error).splitlines()[0]), str(self._folder)) from None


@dataclass(frozen=True, slots=True)
class LabelJoin(Join):
    """Tables of labels: a system's and the gold ones (`pred` and `y`), and its probability (`q`)."""

    pred: str | None = None
    sentence: str | None = None

    def of(self, table: Table, *, first: bool) -> tuple[Selection, Items]:
        """What to read from one of the tables."""
        pred = predicted_column(table, self.true, self.pred)
        gold = label_column(table, self.true, skip={pred.name})
        sql = {"key": value_sql(table.column(self.key).name), "y": text_sql(gold), "pred": text_sql(pred)}
        if self.prob:
            sql["q"] = quoted(table.column(self.prob).name)
        for role, name in (("groups", self.groups), ("sentence", self.sentence)):
            if name and first:
                sql[role] = value_sql(table.column(name).name)
        return Selection(sql), Items(gold.name, labels=(("gold", gold.name),), from_file=True)

    def checked(self, chunk: Chunk, items: Items) -> dict[str, Any]:
        """The columns of a table, each row with a key."""
        self.check_key(chunk, items)
        return dict(chunk.columns)


@contextmanager
def joined_labels(sources: list[Any], join: LabelJoin, engine: Engine) -> Iterator[tuple[Path, list[str], list[str]]]:
    """One table per system as one: a file with `gold`, a column a system, their probabilities; and the names of both."""
    if engine.is_spark or any(is_spark_frame(s) for s in sources):
        raise InputError("on Spark, labels are compared as columns of one table; join the files first.")
    with tempfile.TemporaryDirectory(prefix="howsure-") as folder:
        with _Database(Path(folder), join, engine) as database:
            for source in sources:
                database.add(source)
            names = model_names(database.names)
            sure = [f"probability of {name}" for name in names] if join.prob else []
            columns = ["t0.y AS gold", *(f't0."{role}"' for role in ("groups", "sentence") if getattr(join, role))]
            columns += [f"t{i}.pred AS {quoted(name)}" for i, name in enumerate(names)]
            columns += [f"t{i}.q AS {quoted(name)}" for i, name in enumerate(sure)]
            path, _ = database.written(columns)
        yield path, list(names), sure


@dataclass(frozen=True, slots=True)
class PairedLogs:
    """A log per model, paired by item: who is right, and the same where all have a confidence."""

    rows: LabelSequences
    judged: HeldRows | None
    left_out: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    item: Ints | None  # of each row, where items have several samples
    by: Coded | None


def joined_logs(logs: list[Log], join: Join, where: str | None, missing: str, engine: Engine) -> PairedLogs:
    """Read and pair the logs; what is not in all of them, or not marked, is left out and counted."""
    if engine.is_spark:
        raise InputError("logs are compared on this machine, not on Spark: leave `engine=` out.")
    with ExitStack() as stack:
        tables = [stack.enter_context(Table(log, engine)) for log in logs]
        short = tuple(Path(t.name).name if Path(t.name).is_dir() else Path(t.name).name.split(".")[0] for t in tables)
        names = short if len(set(short)) == len(short) else tuple(t.name for t in tables)
        if len(set(names)) < len(names):
            raise InputError("each log may be named once.")
        found = [t.log for t in tables if t.log is not None]
        shared = [s for s in found[0].sources if all(s in f.sources for f in found)]
        prob = join.prob or (shared[0] if len(shared) == 1 else None)
        notes = [f"{name}: {note}" for name, t in zip(names, tables, strict=True) for note in t.notes]
        if prob is None and shared:
            notes.append(f"The logs share several confidences ({', '.join(shared)}): `prob=` compares one of them.")
        groups = next((g for f in found if (g := f.groups(join.groups))), None)
        connection = stack.enter_context(connect(folder=stack.enter_context(tempfile.TemporaryDirectory())))

        def asked(sql: str) -> list[tuple[Any, ...]]:
            return connection.execute(sql).fetchall()

        for i, table in enumerate(tables):
            sql = {"key": value_sql(table.column(join.key).name), f"correct{i}": "correct", f"expected{i}": "expected"}
            if prob:
                sql[f"q{i}"] = probability_sql(table, table.column(prob), join.scale, where)
            if not i:
                sql |= {"item": "hash(question)"}
                sql |= {"groups": group_sql(table.column(groups).name)} if groups else {}
                sql |= {"by": f"coalesce({text_sql(table.column(join.by))}, '')"} if join.by else {}
            batches = list(table.batches(list(sql.values()), where))
            if not sum(b.num_rows for b in batches):
                raise InputError(f"{table.name} has no rows that meet `where=`.")
            whole = pa.Table.from_batches(batches).rename_columns(list(sql))
            connection.register(f"t{i}", whole.append_column("row", as_arrow(np.arange(whole.num_rows))))
            if twice := asked(TWICE.format(i)):
                several = " Several models or runs in one log: keep one with `where=`, or take `howsure score`."
                several = several if join.key == "key" else ""
                raise InputError(f"{repeated_key(table.name, join.key, *twice[0])}{several}")
        every = range(len(tables))
        joins = " ".join(f"JOIN (SELECT * EXCLUDE row FROM t{i}) USING (key)" for i in every[1:])
        asked(f"CREATE TABLE paired AS SELECT * FROM t0 {joins}")
        for i in every:
            lost, first = asked(f"SELECT count(*), arg_min(key, row) FROM t{i} ANTI JOIN paired USING (key)")[0]
            n = asked(f"SELECT count(*) FROM t{i}")[0][0]
            if lost == n:
                way = "`key=` names the column that identifies an item, such as `key='item'`"
                raise InputError(f"the logs have no items in common (the first of {names[i]} is {first!r}): {way}.")
            if lost and missing == "error":
                raise unlike_items(lost, names[i], "every other log", first)
            if lost:
                notes.append(f"{lost:,} of {n:,} items of {names[i]} are not in every log: left out (first: {first}).")
        other = " OR ".join(f"expected0 <> expected{i}" for i in every[1:])
        unlike, first = asked(f"SELECT count(*), arg_min(key, row) FROM paired WHERE {other}")[0]
        if unlike:
            many = "item has" if unlike == 1 else "items have"
            notes.append(f"{unlike:,} {many} another expected answer in another log (first: {first}).")
        done = ", ".join(["row", "key", *(f"expected{i}" for i in every)])
        rows = connection.sql(f"SELECT * EXCLUDE ({done}) FROM paired ORDER BY row").to_arrow_table()
    held = {name: as_numpy(rows[name].combine_chunks()) for name in rows.column_names if name != "by"}
    unmarked = [np.isnan(held[f"correct{i}"]) for i in every]
    keep = ~np.logical_or.reduce(unmarked)
    lost_in = {f"right or wrong in {name}": int(u.sum()) for name, u in zip(names, unmarked, strict=True) if u.any()}
    if not keep.any() or (lost_in and missing == "error"):
        told = ", ".join(f"{n:,} are without {what}" for what, n in lost_in.items())
        raise InputError(f"of {len(keep):,} items that the logs share, {told}.")
    if groups and held["groups"].dtype != np.uint64:
        raise InputError(f"`{groups}` is missing in some of the items that the logs share; every item needs one.")
    if groups and len(np.unique(held["groups"][keep])) < 2:
        raise InputError(ONE_GROUP)

    def kept(which: NDArray[np.bool_], probs: dict[str, Floats] | None = None) -> LabelSequences:
        right = {name: held[f"correct{i}"][which].astype(np.int64) for i, name in enumerate(names)}
        codes = as_appearing(held["groups"][which]) if groups else None
        return LabelSequences(("wrong", "right"), np.ones(which.sum(), np.int64), right, codes, probs=probs)

    judged = None
    if prob:
        known = keep & ~np.logical_or.reduce([np.isnan(held[f"q{i}"]) for i in every])
        origins = [Origin(prob=f"{prob} of {name}", from_file=True, numbered=False) for name in names]
        qs = [_validate.probabilities(held[f"q{i}"][known], origins[i], scale=join.scale) for i in every]
        judged = kept(known, dict(zip(names, qs, strict=True))).scored(None) if known.any() else None
        notes.append(f"Confidence compared: {prob}, which all logs have for {known.sum():,} of {keep.sum():,} items.")
    by = encoded(rows["by"].combine_chunks().filter(pa.array(keep))) if join.by else None
    item = as_appearing(held["item"][keep])
    repeated = item if item.max() + 1 < len(item) else None
    return PairedLogs(kept(keep), judged, tuple(lost_in.items()), tuple(notes), repeated, by)
