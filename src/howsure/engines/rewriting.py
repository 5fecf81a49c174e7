"""A table copied with columns added: a stream in, a stream out, in order, whole or not at all.

Values of a text file that goes to a text file of the same kind are copied as they are written: `007` stays `007`.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from howsure._validate import BadRow
from howsure.engines.connection import connect, literal
from howsure.engines.tables import Column, Table, first_missing, quoted
from howsure.errors import InputError
from howsure.files import whole_files

KINDS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}

# From the columns read as numbers, and the number of the first row (None where rows are not numbered), to the new columns.
Addition = Callable[[list[pa.Array], int | None], Sequence[NDArray[np.float64]]]


@dataclass(frozen=True, slots=True)
class Output:
    """Where to write, and how: by the file's name."""

    path: Path
    kind: str  # csv, tsv, json or parquet
    packed: bool


def output(path: str) -> Output:
    """Tell the format from the name."""
    target = Path(path)
    suffixes = [s.lower() for s in target.suffixes]
    packed = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:-1] if packed else suffixes)[-1:]
    kind = KINDS.get(suffix[0]) if suffix else None
    if kind is None or (packed and kind == "parquet"):
        raise InputError(
            f"cannot tell the format of {path}: end its name in .csv, .tsv or .jsonl (and .gz), or in .parquet."
        )
    return Output(target, kind, packed)


def with_columns(
    table: Table, read: Sequence[Column], names: Sequence[str], add: Addition, out: Output, sql_type: str = "DOUBLE"
) -> int:
    """Write the table to `out` with new columns `names`, made by `add` from the columns `read` (as `sql_type`);
    returns the rows."""
    there = {c.name.lower() for c in table.columns}
    for name in names:
        if name.lower() in there:
            raise InputError(f"{table.name} has a column `{name}` already; name the new one with --name.")
    with whole_files([out.path]) as (temporary,):
        unparsed = table.unparsed()
        if unparsed and unparsed[0] == "json" and out.kind == "json":
            rows = _extended_records(table, unparsed[1], read, names, add, out, temporary, sql_type)
        else:
            text = unparsed[1] if unparsed and unparsed[0] == "csv" and out.kind in ("csv", "tsv") else None
            rows = _extended_table(table, text, read, names, add, out, temporary, sql_type)
    return rows


def write_columns(columns: Mapping[str, Any], out: Output) -> None:
    """Write named columns as a table, whole or not at all."""
    with whole_files([out.path]) as (temporary,), writer(out, temporary) as write:
        for batch in pa.table(dict(columns)).combine_chunks().to_batches():
            write(batch)


def _extended_table(
    table: Table,
    relation: str | None,
    read: Sequence[Column],
    names: Sequence[str],
    add: Addition,
    out: Output,
    temporary: str,
    sql_type: str,
) -> int:
    """Columns through Arrow, written batch by batch, so that a bad row is met here and not inside a writer's thread."""
    expressions = [quoted(c.name) for c in table.columns] + [f"TRY_CAST({quoted(c.name)} AS {sql_type})" for c in read]
    kept = len(table.columns)
    columns = [c.name for c in table.columns] + list(names)
    rows = 0
    with writer(out, temporary) as write:
        for batch in table.batches(expressions, relation=relation):
            values = list(batch.columns[kept:])
            _check_numbers(table, relation, [quoted(c.name) for c in read], read, values, rows)
            made = [pa.array(v) for v in add(values, rows)]
            write(pa.RecordBatch.from_arrays([*batch.columns[:kept], *made], names=columns))
            rows += batch.num_rows
    if not rows:
        raise InputError(f"{table.name} has no rows.")
    return rows


@contextlib.contextmanager
def writer(out: Output, temporary: str) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """A function that appends a batch to the file: Parquet by pyarrow, text by DuckDB, a part at a time."""
    if out.kind == "parquet":
        with contextlib.ExitStack() as open_files:
            writers: list[pq.ParquetWriter] = []

            def write(batch: pa.RecordBatch) -> None:
                if not writers:
                    writers.append(
                        open_files.enter_context(pq.ParquetWriter(temporary, batch.schema, compression="zstd"))
                    )
                writers[0].write_batch(batch)

            yield write
        return
    part = f"{temporary}.part"
    try:
        with connect(files=[part]) as connection, open(temporary, "wb") as whole:
            header = [True]

            def append(batch: pa.RecordBatch) -> None:
                connection.register("extended", pa.Table.from_batches([batch]))
                options = _options(out, header=header.pop() if header else False)
                try:
                    connection.execute(f"COPY (SELECT * FROM extended) TO {literal(part)} ({options})")
                except duckdb.Error as error:
                    raise InputError(f"cannot write {out.path}: {str(error).splitlines()[0]}") from None
                with open(part, "rb") as piece:  # packed parts one after another are a packed whole
                    shutil.copyfileobj(piece, whole, 1 << 20)

            yield append
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


def _options(out: Output, *, header: bool) -> str:
    packed = ", COMPRESSION gzip" if out.packed else ""
    if out.kind == "json":
        return f"FORMAT json{packed}"
    return (
        f"FORMAT csv, HEADER {str(header).lower()}, DELIMITER {literal(chr(9) if out.kind == 'tsv' else ',')}{packed}"
    )


def _extended_records(
    table: Table,
    relation: str,
    read: Sequence[Column],
    names: Sequence[str],
    add: Addition,
    out: Output,
    temporary: str,
    sql_type: str,
) -> int:
    """JSON records as they are written, with members put in before the closing brace."""
    written = [f"json_extract_string(json, {_json_path(c.name)})" for c in read]
    values = [f"TRY_CAST({w} AS {sql_type})" for w in written]
    opened: Any = gzip.open(temporary, "wb", compresslevel=6) if out.packed else open(temporary, "wb")  # noqa: SIM115
    rows = 0
    with opened as file:
        for batch in table.batches([*open_record(names), *values], relation=relation):
            numbers = list(batch.columns[2:])
            check_open(batch, names, rows)
            _check_numbers(table, relation, written, read, numbers, rows)
            members = dict(zip(names, (pa.array(v) for v in add(numbers, rows)), strict=True))
            file.write("".join(closed_records(batch.column(0), members).to_pylist()).encode())
            rows += batch.num_rows
    if rows == 0:
        raise InputError(f"{table.name} has no rows.")
    return rows


# A record as it is written, on one line: a line break between its tokens is white space, and strings cannot hold one.
RECORD = "trim(translate(CAST(json AS VARCHAR), chr(10) || chr(13) || chr(9), '   '))"


def open_record(names: Sequence[str]) -> list[str]:
    """SQL of a record up to where a new member goes (nothing if it is no object), and of whether it has one of `names`."""
    opening = f"rtrim(left({RECORD}, -1))"
    there = " OR ".join(f"json_exists(json, {_json_path(n)})" for n in names)
    # An empty object needs no comma, nor one that ends in a comma, which DuckDB forgives.
    ready = f"{opening} || CASE WHEN right({opening}, 1) IN ('{{', ',') THEN '' ELSE ', ' END"
    return [f"CASE WHEN json_type(json) = 'OBJECT' THEN {ready} END", there]


def check_open(batch: pa.RecordBatch, names: Sequence[str], first: int) -> None:
    """Complain about records that cannot take new members; `batch` begins with the columns of `open_record`."""
    if batch.column(0).null_count:
        row = first + first_missing(batch.column(0))
        raise BadRow(f"row {row + 1:,} is not a JSON object, so that nothing can be added to it.", row)
    if pc.any(batch.column(1)).as_py():
        row = first + pc.index(batch.column(1), pa.scalar(True)).as_py()
        raise BadRow(f"row {row + 1:,} has a member `{names[0]}` already; choose another name.", row)


def closed_records(opened: pa.Array, members: Mapping[str, pa.Array]) -> pa.Array:
    """Records of `open_record` as lines, with a member for each array of numbers; a missing value is null."""
    parts: list[Any] = [opened]
    for i, (name, values) in enumerate(members.items()):
        shown = pc.if_else(pc.is_finite(values), values.cast(pa.string()), "null")
        comma = ", " if i else ""
        parts += [pa.scalar(f"{comma}{json.dumps(name, ensure_ascii=False)}: "), shown.fill_null("null")]
    return pc.binary_join_element_wise(*parts, pa.scalar("}\n"), "")


def _check_numbers(
    table: Table, relation: str | None, written: list[str], read: Sequence[Column], values: list[pa.Array], first: int
) -> None:
    """A value that is missing or no number: say what stands there."""
    for expression, column, array in zip(written, read, values, strict=True):
        if not array.null_count:
            continue
        row = first + first_missing(array)
        found = table.value_at(expression, row, relation=relation)
        what = "is missing or NaN" if found is None else f"must hold numbers; got {found!r}"
        raise BadRow(f"`{column.name}` {what} in row {row + 1:,}.", row)


def _json_path(name: str) -> str:
    return literal('$."' + name.replace("\\", "\\\\").replace('"', '\\"') + '"')
