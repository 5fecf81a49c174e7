"""Tables of one model each, joined on a key by DuckDB: on disk where they do not fit in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from howsure import _validate
from howsure._validate import Origin
from howsure.engines.bad_files import bad_files
from howsure.engines.columns import pair_columns
from howsure.engines.connection import connect, literal
from howsure.engines.engine import Engine
from howsure.engines.files import Selection, TableRows
from howsure.engines.paired import PairedRows
from howsure.engines.paired_work import Models
from howsure.engines.pairs import Pairs, group_sql
from howsure.engines.shares import full
from howsure.engines.sources import is_spark_frame
from howsure.engines.tables import Table, as_numpy, first_missing, quoted
from howsure.errors import HowsureError, InputError


def paired_tables(
    sources: list[Any],
    key: str,
    *,
    prob: str | None = None,
    true: str | None = None,
    positive: Any = None,
    groups: str | None = None,
    by: str | None = None,
    logits: bool = False,
    engine: Engine = Engine(),  # noqa: B008  (frozen)
) -> PairedRows:
    """One table per model; every key must be in each of them once, with the same label."""
    if engine.is_spark or any(is_spark_frame(s) for s in sources):
        from howsure.engines.spark_joined import paired_frames

        given = {"prob": prob, "true": true, "positive": positive, "groups": groups, "by": by, "logits": logits}
        return paired_frames(sources, key, _model_names, **given, engine=engine)
    spool = tempfile.TemporaryDirectory(prefix="howsure-")
    try:
        with _Join(Path(spool.name), key, engine) as join:
            for source in sources:
                join.add(source, prob, true, positive, groups, by, logits)
            path = join.written()
            names, notes = _model_names(join.names), tuple(join.notes)
        rows = _JoinedRows(path, list(names), by is not None, groups is not None, engine, spool)
    except BaseException:
        spool.cleanup()
        raise
    pairs = tuple(Pairs(Origin("y", "", "", 0, True), groups or "") for _ in names)
    return PairedRows(rows, Models(tuple(names), pairs), by=by, groups=groups, notes=notes)


def _model_names(paths: list[str]) -> list[str]:
    """File names without endings; whole paths where those would clash."""
    short = [Path(p).name.split(".")[0] for p in paths]
    return short if len(set(short)) == len(short) else paths


class _JoinedRows(TableRows):
    """The joined table, and the folder it is in."""

    def __init__(
        self,
        path: Path,
        names: list[str],
        sliced: bool,
        grouped: bool,
        engine: Engine,
        spool: tempfile.TemporaryDirectory[str],
    ) -> None:
        columns = ["y", *(f"q{i}" for i in range(len(names)))]
        plain = None if sliced or grouped else {c: c for c in columns}
        columns += [*(["by"] if sliced else []), *(["groups"] if grouped else [])]
        super().__init__(Table(path, engine), Selection({c: quoted(c) for c in columns}, plain=plain), engine)
        self._spool = spool
        self.name = ", ".join(names)

    def close(self) -> None:
        super().close()
        self._spool.cleanup()


class _Join:
    """A database on disk with a table per model: (row, key, y, q and, of the first, groups and by)."""

    def __init__(self, folder: Path, key: str, engine: Engine) -> None:
        self._folder, self._key, self._engine = folder, key, engine
        self.names: list[str] = []
        self.notes: list[str] = []
        self._extra: list[str] = []
        limit = None if engine.limit is None else engine.limit // 4
        self._connection = connect(folder / "join.db", folder=folder, memory=limit)

    def __enter__(self) -> _Join:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def add(
        self,
        source: Any,
        prob: str | None,
        true: str | None,
        positive: Any,
        groups: str | None,
        by: str | None,
        logits: bool,
    ) -> None:
        """Read one model's table and check that its items are those of the first."""
        number = len(self.names)
        with Table(source, self._engine) as table:
            pair = pair_columns(table, prob, true, positive)
            wanted = {"key": f"CAST({quoted(table.column(self._key).name)} AS VARCHAR)", "y": pair.true_sql}
            wanted["q"] = pair.prob_sql
            if number == 0 and groups:
                wanted["groups"] = group_sql(table.column(groups).name)
            if number == 0 and by:
                wanted["by"] = f"CAST({quoted(table.column(by).name)} AS VARCHAR)"
            if self._engine.skip_bad_files and table.files:
                table.leave_out(bad_files(table.files, wanted.values(), None))
            self.names.append(table.name)
            self._extra = self._extra or list(wanted)[3:]
            kinds = {"key": "VARCHAR", "y": "UTINYINT", "q": "DOUBLE", "groups": "UBIGINT", "by": "VARCHAR"}
            columns = ", ".join(f'"{c}" {kinds[c]}' for c in wanted)
            self._run(f"CREATE TABLE t{number} (row BIGINT, {columns})")
            n = 0
            for batch in table.batches(list(wanted.values())):
                origin = Origin(pair.true.name, pair.prob.name, "", n, True)
                self._insert(number, dict(zip(wanted, batch.columns, strict=True)), origin, logits, groups or "")
                n += batch.num_rows
            if not n:
                raise InputError(f"{table.name} has no rows.")
            self.notes += table.notes
        self._check(number)

    def _insert(self, number: int, columns: dict[str, Any], origin: Origin, logits: bool, groups: str) -> None:
        name = self.names[number]
        if columns["key"].null_count:
            raise InputError(f"{name}: `{self._key}` is missing in {origin.at(first_missing(columns['key']))}.")
        try:
            y = _validate.labels(as_numpy(columns["y"]), origin)
            q = _validate.probabilities(as_numpy(columns["q"]), origin, logits=logits)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        if "groups" in columns and columns["groups"].null_count:
            i = first_missing(columns["groups"])
            raise InputError(f"`{groups}` is missing in {origin.at(i)}; every row needs a group.")
        row = np.arange(origin.first, origin.first + len(q))
        checked = {"row": pa.array(row)} | columns | {"y": pa.array(np.ascontiguousarray(y)), "q": pa.array(q)}
        self._connection.register("incoming", pa.table(checked))
        self._run(f"INSERT INTO t{number} SELECT * FROM incoming")
        self._connection.unregister("incoming")

    def _check(self, number: int) -> None:
        name, first_name = self.names[number], self.names[0]
        twice = self._asked(
            f"SELECT key, count(*) FROM t{number} GROUP BY key HAVING count(*) > 1 ORDER BY min(row) LIMIT 1"
        )
        if twice:
            raise InputError(f"{name}: the key {twice[0]!r} stands in {twice[1]:,} rows; `{self._key}` must be unique.")
        if number == 0:
            return
        for a, b, here, there in ((number, 0, name, first_name), (0, number, first_name, name)):
            lost = self._asked(f"SELECT count(*), arg_min(key, row) FROM t{a} ANTI JOIN t{b} USING (key)")
            if lost[0]:
                raise InputError(
                    f"{lost[0]:,} of the items of {here} are not in {there} (the first is {lost[1]!r}); "
                    "models can only be compared on the same items."
                )
        unlike = self._asked(
            f"SELECT count(*), arg_min(t0.key, t0.row) FROM t0 JOIN t{number} AS b USING (key) WHERE t0.y <> b.y"
        )
        if unlike[0]:
            raise InputError(
                f"{unlike[0]:,} items have another label in {name} than in {first_name} (the first is {unlike[1]!r})."
            )

    def written(self) -> Path:
        """The joined table as a Parquet file, in the order of the first."""
        every = range(len(self.names))
        columns = ", ".join(["t0.y", *(f"t{i}.q AS q{i}" for i in every), *(f't0."{c}"' for c in self._extra)])
        joins = " ".join(f"JOIN t{i} USING (key)" for i in every if i)
        path = self._folder / "joined.parquet"
        # Uncompressed: probabilities hardly shrink, and it is read several times.
        self._run(
            f"COPY (SELECT {columns} FROM t0 {joins} ORDER BY t0.row) TO {literal(str(path))} "
            "(FORMAT parquet, COMPRESSION uncompressed)"
        )
        for i in every:
            self._run(f"DROP TABLE t{i}")
        return path

    def _asked(self, sql: str) -> tuple[Any, ...]:
        found = self._run(sql).fetchall()
        return found[0] if found else ()

    def _run(self, sql: str) -> duckdb.DuckDBPyConnection:
        try:
            return self._connection.execute(sql)
        except duckdb.OutOfMemoryException as error:
            raise HowsureError(
                f"the join does not fit in the memory allowed (--memory): {str(error).splitlines()[0]}"
            ) from None
        except (duckdb.IOException, OSError) as error:
            raise full(OSError(str(error).splitlines()[0]), str(self._folder)) from None
