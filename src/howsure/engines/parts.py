"""A table's rows dealt out to several tables, as they are written: all of them whole, or none."""

from __future__ import annotations

import contextlib
import gzip
from typing import Any

import numpy as np
import pyarrow as pa

from howsure.engines.ratings import encoded
from howsure.engines.rewriting import RECORD, Output, check_open, closed_records, open_record, writer
from howsure.engines.tables import Column, Table, as_numpy, quoted
from howsure.errors import InputError
from howsure.files import whole_files
from howsure.kernels.cells import Ints

ENDINGS = {"csv": ".csv", "json": ".jsonl", "parquet": ".parquet", "arrow": ".parquet", "arrow-stream": ".parquet"}


def text_codes(table: Table, column: Column) -> tuple[Ints, list[str]]:
    """A column's values numbered in the order of their names; -1 where it is empty."""
    values = _one(table, f"NULLIF(CAST({quoted(column.name)} AS VARCHAR), '')")
    return codes_of(values)


def codes_of(values: pa.Array) -> tuple[Ints, list[str]]:
    """Values numbered in the order of their names; -1 where there is none."""
    missing = as_numpy(values.is_null()).astype(bool)
    made = np.full(len(values), -1, np.int64)
    made[~missing], names = encoded(values.filter(pa.array(~missing)))
    return made, names


def date_codes(table: Table, column: Column) -> tuple[Ints, list[str]]:
    """A column's distinct dates (or numbers) numbered in order; -1 where it is empty."""
    name = quoted(column.name)
    if column.is_number and column.type != "BOOLEAN":
        kind = "DOUBLE"
    else:
        kind = "TIMESTAMP"
        wrong = f"{name} IS NOT NULL AND CAST({name} AS VARCHAR) <> '' AND TRY_CAST({name} AS TIMESTAMP) IS NULL"
        bad = table.values(f"CAST({name} AS VARCHAR)", wrong, 1)
        if bad:
            raise InputError(
                f"`{column.name}` must hold dates such as 2024-05-31, or numbers; got {bad[0]!r}. "
                "Name another column with --date, or mend these."
            )
    order = _one(table, f"TRY_CAST({name} AS {kind})")
    missing = as_numpy(order.is_null()).astype(bool)
    made = np.full(len(order), -1, np.int64)
    kept = order.filter(pa.array(~missing))
    keys = as_numpy(kept if kind == "DOUBLE" else kept.cast(pa.timestamp("us")).cast(pa.int64()))
    distinct, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    made[~missing] = codes
    shown = kept.take(pa.array(first))
    names = [f"{v:g}" for v in distinct.tolist()] if kind == "DOUBLE" else [str(v) for v in shown.to_pylist()]
    return made, [n.removesuffix(" 00:00:00") for n in names]


def n_rows(table: Table) -> int:
    """How many rows there are."""
    return sum(b.num_rows for b in table.batches(["1"]))


def _one(table: Table, expression: str) -> pa.Array:
    batches = list(table.batches([expression]))
    if not sum(b.num_rows for b in batches):
        raise InputError(f"{table.name} has no rows.")
    return pa.Table.from_batches(batches).combine_chunks().column(0).chunk(0)


def ending(table: Table) -> str:
    """What the parts' names end in: the table's own format, Parquet for a table in memory or Arrow."""
    if not table.files:
        return ".parquet"
    file = table.files[0]
    if file.kind not in ("csv", "json"):
        return ENDINGS[file.kind]
    stem = "".join(s for s in file.path.suffixes[-2:] if s.lower() != ".gz").lower()
    text = ".tsv" if stem.endswith(".tsv") else ENDINGS[file.kind]
    return text + (".gz" if file.compression == "gzip" else "")


def write_parts(table: Table, part: Ints, out: list[Output]) -> None:
    """Write row i to file number part[i]; rows of -1 go nowhere."""
    _write(table, part, out, None)


def write_folds(table: Table, part: Ints, out: Output) -> None:
    """Write the table with a column `fold`, counted from 1; empty for rows in none."""
    if any(c.name.lower() == "fold" for c in table.columns):
        raise InputError(f"{table.name} has a column `fold` already; write the folds to a folder instead.")
    fold = pa.array(part + 1, mask=part < 0)
    _write(table, np.zeros(len(part), np.int64), [out], fold)


def _write(table: Table, part: Ints, out: list[Output], fold: pa.Array | None) -> None:
    with whole_files([o.path for o in out]) as temporaries:
        unparsed = table.unparsed()
        if unparsed and unparsed[0] == "json" and out[0].kind == "json":
            _write_records(table, unparsed[1], part, out, temporaries, fold)
        else:
            text = unparsed[1] if unparsed and unparsed[0] == "csv" and out[0].kind in ("csv", "tsv") else None
            _write_rows(table, text, part, out, temporaries, fold)


def _write_rows(
    table: Table, relation: str | None, part: Ints, out: list[Output], temporaries: list[str], fold: pa.Array | None
) -> None:
    names = [c.name for c in table.columns]
    done = 0
    with contextlib.ExitStack() as files:
        writes = [files.enter_context(writer(o, t)) for o, t in zip(out, temporaries, strict=True)]
        for batch in table.batches([quoted(n) for n in names], relation=relation):
            codes = part[done : done + batch.num_rows]
            done += batch.num_rows
            named = pa.RecordBatch.from_arrays(batch.columns, names=names)
            if fold is not None:
                named = named.append_column("fold", fold.slice(done - batch.num_rows, batch.num_rows))
            for number, write in enumerate(writes):
                chosen = np.flatnonzero(codes == number)
                if len(chosen):
                    write(named.take(pa.array(chosen)))
    _check_rows(table, done, len(part))


def _write_records(
    table: Table, relation: str, part: Ints, out: list[Output], temporaries: list[str], fold: pa.Array | None
) -> None:
    """JSON records as they are written, one a line."""
    done = 0
    with contextlib.ExitStack() as files:
        opened: list[Any] = [
            files.enter_context(gzip.open(t, "wb", compresslevel=6) if o.packed else open(t, "wb"))  # noqa: SIM115
            for o, t in zip(out, temporaries, strict=True)
        ]
        wanted = [f"{RECORD} || chr(10)"] if fold is None else open_record(["fold"])
        for batch in table.batches(wanted, relation=relation):
            codes = part[done : done + batch.num_rows]
            done += batch.num_rows
            lines = batch.column(0)
            if fold is not None:
                first = done - batch.num_rows
                check_open(batch, ["fold"], first)
                lines = closed_records(lines, {"fold": fold.slice(first, batch.num_rows)})
            for number, file in enumerate(opened):
                chosen = lines.take(pa.array(np.flatnonzero(codes == number)))
                file.write("".join(chosen.to_pylist()).encode())
    _check_rows(table, done, len(part))


def _check_rows(table: Table, done: int, wanted: int) -> None:
    if done != wanted:
        raise InputError(f"{table.name} changed while it was read: {wanted:,} rows, then {done:,}.")
