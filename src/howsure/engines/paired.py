"""The same rows scored by several models: columns of one table, or tables joined on a key. Held in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.engines.columns import PairColumns, check_positive, pair_columns
from howsure.engines.slices import SliceNames
from howsure.engines.tables import Table, as_numpy, first_missing, quoted
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True)
class PairedRows:
    """Labels, a column of probabilities per model, and numbers for slices and groups."""

    y: NDArray[np.uint8]
    probs: dict[str, Floats]
    groups: Ints | None = None
    slices: Ints | None = None
    slice_names: tuple[str, ...] = ()
    by: str | None = None
    source: str = "arrays"

    def of_slice(self, number: int) -> PairedRows:
        """The rows of one slice, its groups numbered anew."""
        assert self.slices is not None
        rows = np.flatnonzero(self.slices == number)
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1]
        return replace(
            self, y=self.y[rows], probs={k: v[rows] for k, v in self.probs.items()}, groups=groups, slices=None
        )


def numbered(values: pa.Array, what: str, origin: Origin) -> Ints:
    """Groups numbered from 0; none may be missing."""
    encoded = values.dictionary_encode()
    if encoded.null_count:
        raise InputError(f"`{what}` is missing in {origin.at(first_missing(encoded))}; every row needs a group.")
    return as_numpy(encoded.indices).astype(np.int64)


def sliced(values: pa.Array) -> tuple[Ints, tuple[str, ...]]:
    """Slices numbered in order of appearance, and their names."""
    names = SliceNames()
    codes = names.codes(values)
    return codes, tuple(names.names)


def from_one_table(
    table: Table,
    probs: list[str],
    true: str | None,
    positive: Any,
    where: str | None,
    groups: str | None,
    by: str | None,
    logits: bool,
) -> PairedRows:
    """Several probability columns of one table."""
    names = [table.column(p).name for p in probs]
    if len(set(names)) < len(names):
        raise InputError("each --prob column may be named once.")
    columns = [pair_columns(table, name, true, positive, where) for name in names]
    rows = _columns(table, [c.prob_sql for c in columns], columns[0], where, groups, by)
    origin = Origin(columns[0].true.name, "", "", 0, True)
    y = _validate.labels(rows["y"], origin)
    check_positive(table, columns[0], int(y.sum()), where)
    made = {
        name: _validate.probabilities(rows[f"q{i}"], replace(origin, prob=name), logits=logits)
        for i, name in enumerate(names)
    }
    codes, listed = sliced(rows["by"]) if by else (None, ())
    return PairedRows(
        y,
        made,
        numbered(rows["groups"], groups, origin) if groups else None,
        codes,
        listed,
        by,
        Path(table.name).name if table.files else table.name,
    )


def _columns(
    table: Table, prob_sql: list[str], pair: PairColumns, where: str | None, groups: str | None, by: str | None
) -> dict[str, Any]:
    wanted = {"y": pair.true_sql} | {f"q{i}": sql for i, sql in enumerate(prob_sql)}
    for key, column in (("groups", groups), ("by", by)):
        if column:
            wanted[key] = f"CAST({quoted(table.column(column).name)} AS VARCHAR)"
    batches = list(table.batches(list(wanted.values()), where))
    if not sum(b.num_rows for b in batches):
        raise InputError("there are no rows to compare.")
    whole = pa.Table.from_batches(batches).combine_chunks()
    made: dict[str, Any] = {}
    for i, key in enumerate(wanted):
        column = whole.column(i).chunk(0)
        made[key] = column if key in ("groups", "by") else as_numpy(column)
    return made


def from_many_tables(
    sources: list[Any],
    key: str,
    prob: str | None,
    true: str | None,
    positive: Any,
    groups: str | None,
    by: str | None,
    logits: bool,
) -> PairedRows:
    """One table per model, joined on a key; every key must be in each of them once, with the same label."""
    loaded: list[tuple[str, pa.Table]] = []
    for i, source in enumerate(sources):
        with Table(source) as table:
            pair = pair_columns(table, prob, true, positive)
            wanted = {
                "key": f"CAST({quoted(table.column(key).name)} AS VARCHAR)",
                "y": pair.true_sql,
                f"q{i}": pair.prob_sql,
            }
            for name, column in (("groups", groups), ("by", by)):
                if column and i == 0:
                    wanted[name] = f"CAST({quoted(table.column(column).name)} AS VARCHAR)"
            rows = pa.Table.from_batches(list(table.batches(list(wanted.values()))))
            if not rows.num_rows:
                raise InputError(f"{table.name} has no rows.")
            rows = rows.rename_columns(list(wanted)).append_column("row", pa.array(np.arange(rows.num_rows)))
            origin = Origin(pair.true.name, pair.prob.name, "", 0, True)
            try:
                _validate.labels(as_numpy(rows["y"].combine_chunks()), origin)
                _validate.probabilities(as_numpy(rows[f"q{i}"].combine_chunks()), origin, logits=logits)
            except InputError as error:
                raise InputError(f"{table.name}: {error}") from None
            loaded.append((table.name, rows))
    joined = _joined(loaded, key)
    origin = Origin("y", "", "", 0, True)
    names = _model_names([name for name, _ in loaded])
    codes, listed = sliced(joined["by"].combine_chunks()) if by else (None, ())
    return PairedRows(
        _validate.labels(as_numpy(joined["y"].combine_chunks()), origin),
        {
            name: _validate.probabilities(as_numpy(joined[f"q{i}"].combine_chunks()), origin, logits=logits)
            for i, name in enumerate(names)
        },
        numbered(joined["groups"].combine_chunks(), groups, origin) if groups else None,
        codes,
        listed,
        by,
        ", ".join(names),
    )


def _model_names(paths: list[str]) -> list[str]:
    """File names without endings; whole paths where those would clash."""
    short = [Path(p).name.split(".")[0] for p in paths]
    return short if len(set(short)) == len(short) else paths


def _joined(tables: list[tuple[str, pa.Table]], key: str) -> pa.Table:
    """All tables side by side, in the order of the first; refuses keys that do not match."""
    first_name, first = tables[0]
    with duckdb.connect() as connection:

        def ask(sql: str) -> tuple[Any, ...]:
            found = connection.execute(sql).fetchall()
            return found[0] if found else ()

        for i, (name, rows) in enumerate(tables):
            connection.register(f"t{i}", rows)
            missing = ask(f"SELECT row FROM t{i} WHERE key IS NULL ORDER BY row LIMIT 1")
            if missing:
                raise InputError(f"{name}: `{key}` is missing in row {missing[0] + 1:,}.")
            twice = ask(f"SELECT key, count(*) FROM t{i} GROUP BY key HAVING count(*) > 1 ORDER BY min(row) LIMIT 1")
            if twice:
                raise InputError(f"{name}: the key {twice[0]!r} stands in {twice[1]:,} rows; `{key}` must be unique.")
            for a, b, here, there in ((i, 0, name, first_name), (0, i, first_name, name)):
                lost = ask(f"SELECT count(*), arg_min(key, row) FROM t{a} WHERE key NOT IN (SELECT key FROM t{b})")
                if lost[0]:
                    raise InputError(
                        f"{lost[0]:,} of the items of {here} are not in {there} (the first is {lost[1]!r}); "
                        "models can only be compared on the same items."
                    )
            unlike = ask(
                f"SELECT count(*), arg_min(t0.key, t0.row) FROM t0 JOIN t{i} AS b USING (key) WHERE t0.y <> b.y"
            )
            if unlike[0]:
                raise InputError(
                    f"{unlike[0]:,} items have another label in {name} than in {first_name} (the first is {unlike[1]!r})."
                )
        extra = "".join(f", t{i}.q{i}" for i in range(1, len(tables)))
        joins = " ".join(f"JOIN t{i} USING (key)" for i in range(1, len(tables)))
        columns = ", ".join(f't0."{c}"' for c in first.column_names)
        made: pa.Table = connection.sql(f"SELECT {columns}{extra} FROM t0 {joins} ORDER BY t0.row").to_arrow_table()
        return made
