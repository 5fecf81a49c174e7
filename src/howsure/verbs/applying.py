"""What applying a model to a table gives: the table with new columns, in memory or in a file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from howsure._result import Result
from howsure.files import check_outputs, write_whole


@dataclass(frozen=True, slots=True)
class Applied(Result):
    """Rows with the columns that a model added: in `data`, an Arrow table, or in the file `out`."""

    DRAWN = "-it is what a model says of each token or text"
    SHOWN = "rows=n columns written=out? notes"

    n: int
    columns: tuple[str, ...]
    what: str = "rows"
    out: str | None = None
    data: Any = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """What was done."""
        first = f"`{self.columns[0]}`" + (f" and {len(self.columns) - 1} more" if len(self.columns) > 1 else "")
        said = f"{self.n:,} {self.what} with the new {'column' if len(self.columns) == 1 else 'columns'} {first}"
        return " ".join([f"{said}." if self.out is None else f"Written: {self.out}, {said}.", *self.notes])

    def table(self) -> list[dict[str, Any]]:
        """All rows if they are in memory; else a row for each new column."""
        if self.data is None:
            return [{"column": name, self.what: self.n, "written": self.out} for name in self.columns]
        return self.data.to_pylist()

    def to_pandas(self) -> Any:
        """The table as a pandas data frame."""
        return Result.to_pandas(self) if self.data is None else self.data.to_pandas()


def added(
    table: Any, read: Sequence[Any], names: Sequence[str], add: Any, out: str | Path | None, sql_type: str = "DOUBLE"
) -> Applied:
    """The table with new columns `names`, which `add` makes from the columns `read`: see `engines.writing.with_columns`."""
    from howsure.engines.writing import with_columns

    if out is not None:
        return Applied(with_columns(table, read, names, add, str(out), sql_type), tuple(names), out=str(out))
    import pyarrow.parquet as pq

    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "applied.parquet")
        n = with_columns(table, read, names, add, path, sql_type)
        return Applied(n, tuple(names), data=pq.read_table(path))


def kept(table: Any, columns: Iterable[str], what: str, out: str | Path | None) -> Applied:
    """A table made of a text: in memory or, with `out`, in that Parquet file, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if out is None:
        return Applied(table.num_rows, tuple(columns), what, data=table)
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer)
    write_whole(str(out), buffer.getvalue().to_pybytes())
    return Applied(table.num_rows, tuple(columns), what, str(out))


def check_out(out: str | Path | None, inputs: Sequence[Any]) -> None:
    """A name that tells no format, or is that of an input, is refused before any work."""
    from howsure.engines.writing import output

    if out is not None:
        check_outputs(str(out), inputs=inputs)
        output(str(out))
