"""Tables of any size: plain Parquet columns by pyarrow on all cores, everything else through DuckDB, as a stream."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure._validate import BadRow, Origin
from howsure.engines import arrow as pa
from howsure.engines.engine import Engine
from howsure.engines.formats import bad_files, bad_files_error, reading
from howsure.engines.rows import ArrayRows, Chunk, Keying, Rows, T, Work, merged
from howsure.engines.tables import BATCH_ROWS, Table, as_numpy, first_missing, quoted
from howsure.errors import InputError
from howsure.kernels.threads import cores

if TYPE_CHECKING:  # loaded where there are groups or slices
    from howsure.engines.shares import SharedRows


@dataclass(frozen=True, slots=True)
class Selection:
    """What to read from a table: SQL expressions by name, and a condition on the rows."""

    columns: Mapping[str, str]
    where: str | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)  # columns that must be numbers, and where they come from
    plain: Mapping[str, str] | None = None  # the columns by name, where no expression is needed
    batch_rows: int | None = None  # rows of a chunk, where they are wide

    def check_numbers(self, chunk: Chunk, found: Any, numbered: bool = True) -> None:
        """A value that could not be read as a number: say what stands there. `found(column, i)` looks it up."""
        for name, source in self.numbers.items():
            if chunk[name].null_count:
                i = first_missing(chunk[name])
                origin, value = Origin(first=chunk.first or 0, from_file=True, numbered=numbered), found(source, i)
                raise origin.bad(i, source, np.nan if value is None else 0.0, f"must hold numbers; got {value!r}")


class TableRows(Rows):
    """Columns of a table, read as often as need be. It closes the table, and removes the folder `spool` that it is in."""

    def __init__(
        self, table: Table, selection: Selection, engine: Engine, spool: TemporaryDirectory[str] | None = None
    ) -> None:
        self._table, self._selection, self._engine, self._spool = table, selection, engine, spool
        self.name = Path(table.name).name if table.files else table.name
        self._in_memory: ArrayRows | None = None
        self.room = 5 * engine.budget
        if engine.skip_bad_files and table.files:
            table.leave_out(bad_files(table.files, selection.columns.values(), selection.where))

    def close(self) -> None:
        self._table.close()
        if self._spool is not None:
            self._spool.cleanup()

    @property
    def roles(self) -> Collection[str]:
        return self._selection.columns

    def unchecked(self) -> Rows:
        return TableRows(self._table, replace(self._selection, numbers={}), self._engine)

    def fold(self, work: Work[T]) -> T:
        with self._explaining():
            if self._engine.kind == "memory":
                return self._loaded().fold(work)
            if self._is_plain():
                return self._fold_parquet(work)
            return work(self.chunks())

    def by_key(self, keying: Keying) -> Rows:
        with self._explaining():
            from howsure.engines.shares import SharedRows

            if self._engine.kind == "memory":
                return self._loaded().by_key(keying)
            if self._is_plain():
                return self._shared_parquet(keying)
            return SharedRows(self.name, keying, self.chunks(), self._engine.budget, self._engine.piece)

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """If files are bad, say which, all of them."""
        try:
            yield
        except BadRow:
            raise
        except InputError as error:
            if len(self._table.files) < 2:
                raise
            bad = bad_files(self._table.files, self._selection.columns.values(), self._selection.where)
            raise (bad_files_error(bad, len(self._table.files)) if bad else error) from None

    def _loaded(self) -> ArrayRows:
        if self._in_memory is None:
            chunks = [c.columns for c in self._arrow_chunks()]
            columns = {}
            for name in self._selection.columns:
                parts = [c[name] for c in chunks]
                whole = pa.chunked_array(parts).combine_chunks() if parts else pa.array([], pa.float64())
                numeric = not pa.types.is_string(whole.type) and not pa.types.is_large_string(whole.type)
                columns[name] = as_numpy(whole) if numeric and not whole.null_count else whole
            self._in_memory = ArrayRows(columns, self.name)
        return self._in_memory

    def chunks(self) -> Iterator[Chunk]:
        """In the table's order, through DuckDB."""
        selection = self._selection
        if selection.plain is not None and not selection.where:
            few = self._table.few_numbers(list(selection.columns.values()))
            if few is not None:
                yield Chunk(dict(zip(selection.columns, few, strict=True)), 0)
                return
        yield from self._arrow_chunks()

    def _arrow_chunks(self) -> Iterator[Chunk]:
        selection, first = self._selection, 0
        names = list(selection.columns)
        rows = selection.batch_rows or BATCH_ROWS
        for record in self._table.batches(list(selection.columns.values()), selection.where, rows=rows):
            chunk = Chunk(dict(zip(names, record.columns, strict=True)), first)

            def found(source: str, i: int, before: int = first) -> Any:
                return self._table.value_at(quoted(source), before + i, selection.where)

            selection.check_numbers(chunk, found)
            yield chunk
            first += record.num_rows

    def _is_plain(self) -> bool:
        """Whether these are Parquet columns of numbers that need no SQL."""
        plain, files = self._selection.plain, self._table.files
        if plain is None or self._selection.where or not files or files[0].kind != "parquet":
            return False
        whole = {name for role, name in plain.items() if role == "groups"}
        return all(_has_numbers(f.path, plain.values(), whole) for f in files)

    def _shared_parquet(self, keying: Keying) -> Rows:
        """Records of row groups in parallel, each thread with its part of the budget."""
        from howsure.engines.shares import SharedRows

        made: list[SharedRows] = []

        def shared(chunks: Iterator[Chunk]) -> SharedRows:
            rows = SharedRows(self.name, keying, chunks, self._engine.budget, self._engine.piece, cores())
            made.append(rows)
            return rows

        try:
            return self._fold_parquet(shared)
        except BaseException:
            for rows in made:
                rows.close()
            raise

    def _fold_parquet(self, work: Work[T]) -> T:
        """Row groups in parallel, each thread with a piece of its own."""
        from concurrent.futures import ThreadPoolExecutor

        import pyarrow.parquet as pq

        plain = self._selection.plain
        assert plain is not None
        tasks: list[tuple[Path, int, int]] = []
        first = 0
        for path in (f.path for f in self._table.files):
            with reading(f"{path} is damaged"), pq.ParquetFile(path) as file:
                for group in range(file.metadata.num_row_groups):
                    tasks.append((path, group, first))
                    first += file.metadata.row_group(group).num_rows
        columns = list(dict.fromkeys(plain.values()))

        def chunks(mine: list[tuple[Path, int, int]]) -> Iterator[Chunk]:
            opened: tuple[Path, Any] | None = None
            for path, group, row in mine:
                with reading(f"{path} is damaged"):
                    if opened is None or opened[0] != path:
                        opened = (path, pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False))
                    records = opened[1].iter_batches(1 << 17, row_groups=[group], columns=columns, use_threads=False)
                while True:
                    with reading(f"{path} is damaged"):
                        record = next(records, None)
                    if record is None:
                        break
                    yield Chunk({name: record.column(column) for name, column in plain.items()}, row)
                    row += record.num_rows

        n = min(cores(), max(len(tasks), 1))

        def piece(i: int) -> T | BadRow:
            try:
                return work(chunks(tasks[i::n]))  # always the same ones, since sums of records depend on their order
            except BadRow as bad:
                return bad

        with ThreadPoolExecutor(n) as pool:
            return merged(pool.map(piece, range(n)))


def _has_numbers(path: Path, names: Any, whole: Collection[str]) -> bool:
    """Whether a Parquet file has each of the columns once, as numbers that NumPy has too; some as whole ones."""
    import pyarrow.parquet as pq

    with reading(f"{path} is damaged"):
        schema = pq.read_schema(path)
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return all(
        schema.names.count(name) == 1
        and any(k(schema.field(name).type) for k in (kinds[:1] if name in whole else kinds))
        for name in names
    )
