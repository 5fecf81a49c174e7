"""A table written back, with columns added or its rows dealt out to several files: in order, whole or not at all.

Values of a text file that goes to a text file of the same kind are copied as they are written: `007` stays `007`.
"""

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
from howsure.kernels.cells import Ints

ENDINGS = {"csv": ".csv", "json": ".jsonl", "parquet": ".parquet", "arrow": ".parquet", "arrow-stream": ".parquet"}
KINDS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}

# From the columns read as numbers, and the number of the first row (None where rows are not numbered), to the new columns.
Addition = Callable[[list[pa.Array], int | None], Sequence[NDArray[np.float64] | pa.Array]]


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
    table: Table, read: Sequence[Column], names: Sequence[str], add: Addition, out: str, sql_type: str = "DOUBLE"
) -> int:
    """Copy the table to `out` with new columns `names`, made by `add` from the columns `read` (as `sql_type`); returns
    the rows. Spark writes a folder of Parquet files."""
    if type(table) is not Table:
        from howsure.engines.spark.table import write_with_columns

        _check_new(table, names, "name the new one with `name=`.")
        return write_with_columns(table, read, names, add, out, sql_type)
    return rewrite(table, [output(out)], read, names, add, sql_type=sql_type)


def write_parts(table: Table, part: Ints, out: Sequence[str]) -> None:
    """Write row i to file number part[i]; rows of -1 go nowhere."""
    rewrite(table, [output(path) for path in out], part=part)


def write_folds(table: Table, part: Ints, out: str) -> None:
    """Write the table with a column `fold`, counted from 1; empty for rows in none."""
    fold = pa.array(part + 1, mask=part < 0)
    whole = np.zeros(len(part), np.int64)

    def add(_: list[pa.Array], first: int | None) -> list[pa.Array]:
        return [fold.slice(first or 0)]

    rewrite(table, [output(out)], names=["fold"], add=add, part=whole, hint="write the folds to a folder instead.")


def write_columns(columns: Mapping[str, Any], out: Output) -> None:
    """Write named columns as a table, whole or not at all."""
    with whole_files([out.path]) as (temporary,), writer(out, temporary) as write:
        for batch in pa.table(dict(columns)).combine_chunks().to_batches():
            write(batch)


def rewrite(
    table: Table,
    out: Sequence[Output],
    read: Sequence[Column] = (),
    names: Sequence[str] = (),
    add: Addition | None = None,
    *,
    part: Ints | None = None,
    sql_type: str = "DOUBLE",
    hint: str = "name the new one with `name=`.",
) -> int:
    """Copy the table with new columns, all rows to the one output or row i to output `part[i]`; returns the rows.

    Batch by batch, so that a bad row is met here and not inside a writer's thread.
    """
    _check_new(table, names, hint)
    unparsed = table.unparsed()
    records = unparsed is not None and unparsed[0] == out[0].kind == "json"
    as_written = records or (unparsed is not None and unparsed[0] == "csv" and out[0].kind in ("csv", "tsv"))
    relation = unparsed[1] if unparsed is not None and as_written else None
    columns = [c.name for c in table.columns]
    kept = [quoted(name) for name in columns]
    written = [quoted(c.name) for c in read]
    if records:
        kept = open_record(names) if names else [f"{RECORD} || chr(10)"]
        written = [f"json_extract_string(json, {_json_path(c.name)})" for c in read]
    values = [f"TRY_CAST({w} AS {sql_type})" for w in written]
    rows = 0
    with whole_files([o.path for o in out]) as temporaries, contextlib.ExitStack() as files:
        open_file = _line_writer if records else writer
        writes = [files.enter_context(open_file(o, t)) for o, t in zip(out, temporaries, strict=True)]
        for batch in table.batches([*kept, *values], relation=relation):
            n, found = batch.num_rows, list(batch.columns[len(kept) :])
            if records and names:
                check_open(batch, names, rows)
            _check_numbers(table, relation, written, read, found, rows)
            made = [] if add is None else [_arrow(v)[:n] for v in add(found, rows)]
            if records:
                lines = batch.column(0)
                whole = closed_records(lines, dict(zip(names, made, strict=True))) if names else lines
            else:
                whole = pa.RecordBatch.from_arrays([*batch.columns[: len(kept)], *made], names=[*columns, *names])
            for number, write in enumerate(writes):
                if part is None:
                    write(whole)
                elif len(chosen := np.flatnonzero(part[rows : rows + n] == number)):
                    write(whole.take(pa.array(chosen)))
            rows += n
        if part is not None and rows != len(part):
            raise InputError(f"{table.name} changed while it was read: {len(part):,} rows, then {rows:,}.")
        if not rows:
            raise InputError(f"{table.name} has no rows.")
    return rows


def _check_new(table: Table, names: Sequence[str], hint: str) -> None:
    there = {c.name.lower() for c in table.columns}
    for name in names:
        if name.lower() in there:
            raise InputError(f"{table.name} has a column `{name}` already; {hint}")


def _arrow(values: Any) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values)


@contextlib.contextmanager
def _line_writer(out: Output, temporary: str) -> Iterator[Callable[[pa.Array], None]]:
    """A function that appends lines of text to the file."""
    opened: Any = gzip.open(temporary, "wb", compresslevel=6) if out.packed else open(temporary, "wb")  # noqa: SIM115
    with opened as file:
        yield lambda lines: file.write("".join(lines.to_pylist()).encode())


@contextlib.contextmanager
def writer(out: Output, temporary: str) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """A function that appends a batch to the file: Parquet by pyarrow, text by DuckDB, a part at a time."""
    if out.kind == "parquet":
        with contextlib.ExitStack() as open_files:
            writers: list[pq.ParquetWriter] = []

            def write(batch: pa.RecordBatch) -> None:
                if not writers:
                    made = pq.ParquetWriter(temporary, batch.schema, compression="zstd")
                    writers.append(open_files.enter_context(made))
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
    # The part is ours alone: written in place, where a second name would not be allowed.
    packed = ", USE_TMP_FILE false" + (", COMPRESSION gzip" if out.packed else "")
    if out.kind == "json":
        return f"FORMAT json{packed}"
    delimiter = literal(chr(9) if out.kind == "tsv" else ",")
    return f"FORMAT csv, HEADER {str(header).lower()}, DELIMITER {delimiter}{packed}"


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
        if array.null_count:
            row = first + first_missing(array)
            found = table.value_at(expression, row, relation=relation)
            what = "is missing or NaN" if found is None else f"must hold numbers; got {found!r}"
            raise BadRow(f"`{column.name}` {what} in row {row + 1:,}.", row)


def _json_path(name: str) -> str:
    return literal('$."' + name.replace("\\", "\\\\").replace('"', '\\"') + '"')


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
