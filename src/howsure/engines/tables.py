"""Any table — files of any kind, a data frame, an Arrow table — as one thing to ask for columns, in batches.

DuckDB reads text and evaluates expressions; plain Parquet and Arrow columns come straight from pyarrow.
"""

from __future__ import annotations  # DuckDB's types, kept in annotations, are reported as leaks when Python ends

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import duckdb
import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.engines import arrow as pa
from howsure.engines.connection import checked_condition, connect, literal, try_condition
from howsure.engines.engine import Engine
from howsure.engines.formats import (
    BadFile,
    TableFile,
    bad_files,
    bad_files_error,
    left_out_note,
    names_in,
    reading,
    refuse_uneven,
    table_files,
)
from howsure.errors import InputError

if TYPE_CHECKING:
    from howsure.engines.logs.table import LogTable

BATCH_ROWS = 1 << 18
FEW = 1 << 18  # bytes of a file whose rows are held: to tell what its columns are takes longer than to read them
SAMPLED = 20_000  # rows of it at most: DuckDB looks at 20,480 to tell that, and would round what is no whole number after them

# Whether a value is none that a whole number can hold, by how it is read.
FRACTION = {"DOUBLE": "{0} <> floor({0})", "VARCHAR": "contains({0}, '.') OR contains({0}, 'e') OR contains({0}, 'E')"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name and DuckDB type."""

    name: str
    type: str

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers or booleans."""
        whole = r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|DOUBLE|FLOAT|REAL|DECIMAL\(.*\)|BOOLEAN"
        return re.fullmatch(whole, self.type) is not None

    @property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers of at most 64 bits."""
        return re.fullmatch(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)", self.type) is not None

    @property
    def is_nested(self) -> bool:
        """Whether each row holds several values: a list, a map or a struct."""
        return self.type.endswith("]") or self.type.startswith(("STRUCT", "MAP"))


class Table:
    """A table to read from, any number of times. Close it, or use it in a `with` block."""

    log: LogTable | None = None

    def __init__(self, source: Any, engine: Engine | None = None) -> None:
        """`engine` bounds memory and says whether files that cannot be opened are left out."""
        self.engine = engine or Engine()
        self._spool = tempfile.TemporaryDirectory(prefix="howsure-")
        self.files: list[TableFile] = []
        self.left_out: list[BadFile] = []
        self._given: Any = None  # an Arrow table or dataset, known to DuckDB as "given"
        self._relation_sql = "given"
        self._is_held = False  # in DuckDB, as "held": the rows of a small file
        self._fractions: dict[str, str] = {}  # types of columns that only begin with whole numbers
        self._conditions: dict[str, str] = {}
        self.columns: list[Column] = []
        self.said: list[str] = []  # how columns are read, where that is not plain
        try:
            if not isinstance(source, str | Path):
                from howsure.engines.logs.table import Log, log_table

                self.log = log_table(source, Path(self._spool.name)) if isinstance(source, Log) else None
            if self.log is not None:
                self.said += [*self.log.notes, *self.log.of_confidence]
                self.name, self.files = str(source.path), [TableFile(self.log.path, "parquet")]
                self._relate()
            elif isinstance(source, str | Path):
                self.name = "standard input" if str(source) == "-" else str(source)
                self.files, self.left_out = table_files(
                    str(source), self._spool, skip_bad=engine is not None and engine.skip_bad_files
                )
                self._relate()
            else:
                self.name = f"a {type(source).__name__}"
                self._given = _arrow_table(source)
            limit = None if engine is None or engine.limit is None else engine.limit // 4
            read = [_readable(f.path, Path(self._spool.name)) for f in self.files]
            self._connection = connect(files=read, folder=self._spool.name, memory=limit)
            if self._given is not None:
                self._connection.register("given", self._given)
            self._hold()
            self.columns = [Column(str(row[0]), str(row[1])) for row in self._described()]
            self._look_for_fractions()
            if len(self.columns) == 1 and len(self.files) == 1 and self.files[0].kind == "csv":
                refuse_uneven(self.files[0], self.name, self.columns[0].name)
        except BaseException:
            self._spool.cleanup()
            raise

    def _described(self) -> list[tuple[Any, ...]]:
        try:
            return self._run(f"DESCRIBE SELECT * FROM {'held' if self._is_held else self._relation_sql}").fetchall()
        except InputError as error:
            if "Duplicate name" in str(error):
                # {"M": …, "m": …} inside a record: two fields of one name, as DuckDB sees it
                self._relation_sql = self._relation_sql.removesuffix(")") + ", map_inference_threshold=0)"
            else:
                bad = bad_files(self.files, ["1"], None) if len(self.files) > 1 else []
                if not bad:
                    raise
                if not self.engine.skip_bad_files:
                    raise bad_files_error(bad, len(self.files)) from None
                self.leave_out(bad)
            return self._run(f"DESCRIBE SELECT * FROM {self._relation_sql}").fetchall()

    def _hold(self) -> None:
        """Reads a small file of text at once: DuckDB would find out anew for each query how it is written."""
        only = self.files[0] if len(self.files) == 1 else None
        if only is None or only.kind != "csv" or only.compression or only.path.stat().st_size > FEW:
            return
        try:
            made = self._connection.execute(f"CREATE TABLE held AS SELECT * FROM {self._relation_sql}").fetchall()
        except duckdb.Error:  # in a column that nobody may ask for: a query of others does not meet it
            return
        self._is_held = made[0][0] <= SAMPLED

    def _look_for_fractions(self) -> None:
        """Reads columns (also of lists) that begin with whole numbers as what they are: DuckDB looks at 20,480 rows, and would
        round the fractions in all others."""
        whole = {c.name: c.type for c in self.columns if re.fullmatch(r"(U?BIGINT|HUGEINT)(\[\])*", c.type)}
        is_large = any(f.compression or f.path.stat().st_size > FEW for f in self.files)
        is_sampled = any(f.kind == "csv" or (f.kind == "json" and is_large) for f in self.files) and not self._is_held
        if not (whole and is_sampled):
            return
        for kind in ("DOUBLE", "VARCHAR"):  # as text, which takes longer, where some value of a column is no number
            types = {c: "VARCHAR" if t.endswith("]") else kind for c, t in whole.items()}
            looked = ", ".join(f"bool_or({FRACTION[t].format(quoted(c))})" for c, t in types.items())
            with suppress(duckdb.Error):  # whoever asks for the rows is told
                (found,) = self._connection.execute(f"SELECT {looked} FROM {self._read_as(types)}").fetchall()
                there = [(c, t) for (c, t), has in zip(whole.items(), found, strict=True) if has]
                self._fractions = {c: re.sub(r"^\w+", "DOUBLE", t) for c, t in there}
                break
        if self._fractions:
            self._relation_sql = self._read_as(self._fractions)
            self.columns = [Column(c.name, self._fractions.get(c.name, c.type)) for c in self.columns]

    def _read_as(self, types: dict[str, str]) -> str:
        """What DuckDB reads, with other types for some columns."""
        if self.files[0].kind == "json":  # which takes those of all columns, or of none
            types = {c.name: types.get(c.name, c.type) for c in self.columns}
        given = ", ".join(f"{literal(name)}: {literal(t)}" for name, t in types.items())
        argument = "types" if self.files[0].kind == "csv" else "columns"
        return f"{self._relation_sql.removesuffix(')')}, {argument}={{{given}}})"

    def _relate(self) -> None:
        """What DuckDB is to read."""
        if self.files[0].kind.startswith("arrow"):
            self._given = _arrow_files(self.files)
        else:
            self._relation_sql = _relation_sql(self.files, Path(self._spool.name))

    def leave_out(self, bad: Sequence[BadFile]) -> None:
        """Read without these files from now on."""
        gone = {b.path for b in bad}
        self.left_out += bad
        self.files = [f for f in self.files if str(f.path) not in gone]
        if not self.files:
            raise bad_files_error(self.left_out, len(self.left_out))
        if gone:
            self._relate()
            if self._fractions:
                self._relation_sql = self._read_as(self._fractions)
            else:
                self._look_for_fractions()
            if self._given is not None:
                self._connection.register("given", self._given)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a result must say of how it was read."""
        return (*left_out_note(self.left_out, len(self.files) + len(self.left_out)), *dict.fromkeys(self.said))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release files and temporary space."""
        self._connection.close()
        self._spool.cleanup()

    def column(self, name: str) -> Column:
        """The column of that name; case matters only when two names differ by it."""
        if any(c.name == f"{name}_1" for c in self.columns) and names_in(self.files).count(name) > 1:
            raise InputError(f"{self.name} has several columns called `{name}`: rename all but one.")
        for column in self.columns:
            if column.name == name:
                return column
        same = [c for c in self.columns if c.name.lower() == name.lower()]
        if any(c.name.lower() == f"{name.lower()}_1" for c in self.columns) and same:
            # Names that differ only in case are read as q and q_1: which is meant?
            raise InputError(
                f"{self.name} has several columns called `{name}` but for upper and lower case; "
                f"they are read as {', '.join(f'`{c.name}`' for c in self.columns)}: name one of these."
            )
        if len(same) == 1:
            return same[0]
        raise InputError(self._no_column(name))

    def batches(
        self,
        expressions: Sequence[str],
        where: str | None = None,
        relation: str | None = None,
        rows: int = BATCH_ROWS,
    ) -> Iterator[pa.RecordBatch]:
        """Evaluate SQL expressions over the rows, in the table's order, about `rows` at a time.

        `relation` is another reading of its files.
        """
        listed = ", ".join(f"{e} AS c{i}" for i, e in enumerate(expressions))
        condition = self._condition(where)
        cursor = self._connection.cursor()  # so that two readers do not disturb each other
        if self._given is not None:
            cursor.register("given", self._given)
        try:
            sql = f"SELECT {listed} FROM {relation or self._relation_sql}{condition}"
            yield from cursor.sql(sql).to_arrow_reader(rows)
        except (duckdb.Error, OSError, pa.ArrowException) as error:
            raise InputError(self._explain(error)) from None
        finally:
            cursor.close()

    def few_numbers(self, expressions: Sequence[str]) -> list[NDArray[Any]] | None:
        """SQL expressions over all rows of a small file; None for a larger one, or where they are not numbers alone."""
        if not self._is_held:
            return None
        listed = ", ".join(f"{e} AS c{i}" for i, e in enumerate(expressions))
        found = self._run(f"SELECT {listed} FROM held").fetchnumpy()
        columns = list(found.values())
        if not all(type(c) is np.ndarray and c.dtype.kind in "biuf" and len(c) for c in columns):
            return None  # a masked array has missing values
        return [c.view(np.uint8) if c.dtype == np.bool_ else c for c in columns]

    def values(self, expression: str, where: str | None = None, limit: int = 20) -> list[Any]:
        """Up to `limit` distinct values of an expression."""
        condition = self._condition(where)
        sql = f"SELECT DISTINCT {expression} AS v FROM {self._relation_sql}{condition} ORDER BY v LIMIT {limit}"
        return [row[0] for row in self._run(sql).fetchall()]

    def value_at(self, expression: str, row: int, where: str | None = None, relation: str | None = None) -> Any:
        """One value, by row number from 0."""
        condition = self._condition(where)
        source = relation or self._relation_sql
        found = self._run(f"SELECT {expression} FROM {source}{condition} LIMIT 1 OFFSET {row}").fetchall()
        return found[0][0] if found else None

    def unparsed(self) -> tuple[str, str] | None:
        """How to read its one file without interpreting values: ("csv", relation of text columns) or ("json", relation
        of one column `json`, a record as it is written); None for other tables."""
        if len(self.files) != 1 or self.files[0].kind not in ("csv", "json"):
            return None
        file = self.files[0]
        path = literal(_readable(file.path, Path(self._spool.name)))
        packed = _packing([file])
        if file.kind == "json":
            return "json", f"read_json_objects({path}{packed}, maximum_object_size=67108864)"
        # The dialect that was recognised when types were looked for, so that the columns are the same.
        sql = f"SELECT Delimiter, Quote, Escape, SkipRows, HasHeader FROM sniff_csv({path}{packed})"
        delimiter, quote, escape, skip, header = self._run(sql).fetchall()[0]
        dialect = f"delim={literal(delimiter)}, quote={_character(quote)}, escape={_character(escape)}, skip={skip}"
        columns = ", ".join(f"{literal(c.name)}: 'VARCHAR'" for c in self.columns)
        return "csv", (
            f"read_csv({path}{packed}, auto_detect=false, {dialect}, header={str(bool(header)).lower()}, "
            f"columns={{{columns}}})"
        )

    def _condition(self, where: str | None) -> str:
        """SQL of a condition, tried on the first rows: it must not take for ever."""
        if not where:
            return ""
        if where not in self._conditions:
            checked = checked_condition(where)
            try:
                try_condition(self._connection, self._relation_sql, checked)
            except duckdb.Error as error:
                raise InputError(self._explain(error)) from None
            self._conditions[where] = f" WHERE {checked}"
        return self._conditions[where]

    def _run(self, sql: str) -> duckdb.DuckDBPyConnection:
        try:
            return self._connection.execute(sql)
        except duckdb.Error as error:
            raise InputError(self._explain(error)) from None

    def _explain(self, error: Exception) -> str:
        """DuckDB's many lines as one."""
        text = str(error)
        line = re.search(r"(?:CSV Error on Line: |[Ll]ine:? )(\d+)", text)
        value = re.search(r'Could not convert string "(.*?)" to', text)
        column = re.search(r'(?:converting )?column "(.*?)"', text)
        at = f" in line {line[1]}" if line else ""
        if value:
            name = f"`{column[1]}`" if column else "a column"
            return f"{self.name}: {name} holds {value[1]!r}{at}, which is not a number."
        if "unicode" in text.lower() or "utf-8" in text.lower():
            return f"{self.name} is not UTF-8 text{at}; save it as UTF-8."
        first = re.sub(r"^[A-Za-z ]*(Error|Exception): ", "", text.strip().splitlines()[0])
        if uneven := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text):
            first = f"it has {uneven[2]} field{'s' * (uneven[2] != '1')} and the first line {uneven[1]}"
        missing = re.match(r'Referenced column "(.*?)" not found', first)
        if missing and self.columns:
            return self._no_column(missing[1])
        if "Referenced column" in text or "Binder" in text:
            return f"{self.name}: {first.rstrip(' .!')}."
        return f"{self.name} cannot be read{at}: {first.rstrip(' .!')}."

    def _no_column(self, name: str) -> str:
        return f"{self.name} has no column `{name}`.{_validate.nearest(name, [c.name for c in self.columns])}"


def as_numpy(column: Any) -> NDArray[Any]:
    """A numeric Arrow array as NumPy, without a copy where possible; missing values become NaN.

    Not pyarrow's own `to_numpy`, which loads pandas when it is installed.
    """
    if column.null_count:
        import pyarrow.compute as pc  # slow to load, and seldom needed

        column = pc.fill_null(column.cast(pa.float64()), float("nan"))
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    return np.from_dlpack(column)


def as_arrow(values: NDArray[Any]) -> pa.Array:
    """Numbers as Arrow, without a copy; not pyarrow's own `array`, which loads pandas when it is installed."""
    flat = np.ascontiguousarray(values)
    if flat.dtype == np.bool_:
        return pa.Array.from_buffers(
            pa.bool_(), len(flat), [None, pa.py_buffer(np.packbits(flat, bitorder="little").tobytes())]
        )
    return pa.Array.from_buffers(pa.from_numpy_dtype(flat.dtype), len(flat), [None, pa.py_buffer(flat)])


def bytes_array(values: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Strings of bytes as Arrow, in the same way; `kind` is binary or (of UTF-8) string."""
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(v) for v in values], out=offsets[1:])
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))])


def text_array(values: Sequence[str]) -> pa.Array:
    """Text as Arrow, in the same way."""
    return bytes_array([v.encode("utf-8", "surrogatepass") for v in values], pa.string())


def first_missing(column: Any) -> int:
    """Position of the first missing value."""
    import pyarrow.compute as pc

    return int(pc.index(column.is_null(), True).as_py())


def quoted(name: str) -> str:
    """A column name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _character(found: str | None) -> str:
    """A quote or escape character as `sniff_csv` tells it."""
    return "''" if found in (None, "", "\0", "(empty)") else literal(str(found))


def _readable(path: Path, folder: Path) -> str:
    """A name that DuckDB reads as it stands.

    It would take *, ? and [ for a pattern, and cannot read bytes that are not UTF-8: such files get a plain link.
    """
    if re.fullmatch(r"[^*?\[\]{}\ud800-\udfff]+", str(path)):
        return str(path)
    name = hashlib.blake2b(os.fsencode(path), digest_size=16).hexdigest()
    link = folder / f"{name}{''.join(path.suffixes[-2:]).encode('ascii', 'ignore').decode()}"
    if not link.is_symlink():
        link.symlink_to(path.resolve())
    return str(link)


def _packing(files: list[TableFile]) -> str:
    """How text is packed, as an argument of DuckDB's readers."""
    if files[0].compression:
        return f", compression={literal(files[0].compression)}"
    # Named like a packed file, but plain.
    return ", compression='none'" if any(f.path.suffix in (".gz", ".zst") for f in files) else ""


def _relation_sql(files: list[TableFile], folder: Path) -> str:
    names = ", ".join(literal(_readable(f.path, folder)) for f in files)
    paths = f"[{names}], hive_partitioning=false"
    kind, packed = files[0].kind, _packing(files)
    if kind == "parquet":
        return f"read_parquet({paths})"
    if kind == "csv":
        return f"read_csv({paths}{packed}, union_by_name={str(len(files) > 1).lower()})"
    many = str(len(files) > 1).lower()
    return f"read_json({paths}{packed}, union_by_name={many}, maximum_object_size=67108864)"


def _arrow_files(files: list[TableFile]) -> Any:
    import pyarrow.dataset as ds

    with reading(f"{files[0].path} cannot be read"):
        if files[0].kind == "arrow":
            return ds.dataset([str(f.path) for f in files], format="ipc")
        return pa.concat_tables([pa.ipc.open_stream(str(f.path)).read_all() for f in files])


def _arrow_column(series: Any) -> Any:
    """A pandas column as it is, or as text where it mixes kinds of values."""
    try:
        return pa.array(series)
    except (TypeError, ValueError, pa.ArrowException):
        return pa.array([None if v is None else str(v) for v in series])


def _arrow_table(frame: Any) -> Any:
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):  # a polars query that has not run
        frame = frame.collect()
    try:
        return frame if isinstance(frame, pa.Table) else pa.table(frame)
    except (TypeError, ValueError, pa.ArrowException) as error:
        if type(frame).__module__.startswith("pandas"):
            return pa.table({str(name): _arrow_column(frame[name]) for name in frame.columns})
        if hasattr(frame, "to_arrow"):  # a polars that does not yet export Arrow's streams
            return frame.to_arrow()
        raise InputError(f"a {type(frame).__name__} cannot be read as a table: {str(error).splitlines()[0]}") from None
