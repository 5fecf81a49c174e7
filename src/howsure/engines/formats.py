"""What kind of table a file is, recognised by its first bytes rather than its name."""

from __future__ import annotations

import glob
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from howsure import _validate
from howsure.errors import HowsureError, InputError
from howsure.files import standard_input

_SNIFFED = 1 << 16
MOST_NAMED = 5  # files in a message
BEGINNINGS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow-stream"}
BEGINNINGS |= {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
# What people name by mistake, and how it begins, in lower case.
NO_TABLES = {b"%pdf-": "a PDF", b"<!doctype": "a web page", b"<html": "a web page", b"<?xml": "XML"}
NO_TABLES |= {b"pk\x03\x04": "a zip archive or a spreadsheet"}


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file and how to read it: kind is parquet, arrow, arrow-stream, json or csv."""

    path: Path
    kind: str
    compression: str | None = None  # gzip or zstd, for text


def table_files(
    pattern: str, spool: tempfile.TemporaryDirectory[str] | None = None, *, skip_bad: bool = False
) -> tuple[list[TableFile], list[BadFile]]:
    """The files that a path, a glob or `-` (standard input, copied to `spool`) names, in order of name.

    Those of many that are no tables are an error that names them all or, with `skip_bad`, listed apart.
    """
    if pattern == "-":
        assert spool is not None
        path = Path(spool.name) / "standard-input"
        given = standard_input()
        with path.open("wb") as copy:
            while block := given.read(1 << 20):
                copy.write(block)
        return [_whole(recognise(path, "standard input"), "standard input")], []
    if not pattern:
        raise InputError("the file's name is empty.")
    path = Path(pattern)
    if path.is_file():
        return [_whole(recognise(path, pattern), pattern)], []
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith((".", "_")))
        if not found:
            raise InputError(f"the folder {pattern!r} holds no files.")
    else:
        found = sorted(Path(p) for p in glob.glob(pattern, recursive=True) if Path(p).is_file())
    if not found:
        siblings = [p.name for p in path.parent.iterdir() if p.is_file()] if path.parent.is_dir() else []
        close = _validate.nearest(path.name, siblings).split(" There are")[0] if siblings else ""
        raise InputError(f"there is no file {pattern!r}.{close}")
    files, bad = _recognised(found, pattern)
    if bad and (not skip_bad or not files):
        raise bad_files_error(bad, len(found))
    kinds = {f.kind for f in files}
    if len(kinds) > 1:
        raise InputError(
            f"{pattern!r} names files of different kinds ({', '.join(sorted(kinds))}); give one at a time."
        )
    return files, bad


def _recognised(paths: list[Path], pattern: str) -> tuple[list[TableFile], list[BadFile]]:
    files, bad = [], []
    for path in paths:
        try:
            file = recognise(path, str(path))
            if file.kind == "parquet":
                import pyarrow.parquet as pq

                with reading(f"{path} cannot be read"):
                    pq.read_schema(path)  # which is written last
            files.append(_whole(file, str(path)))
        except InputError as error:
            if len(paths) == 1:
                raise
            bad.append(BadFile(str(path), _reason(error, str(path))))
    return files, bad


@contextmanager
def reading(said: str, *more: type[Exception]) -> Iterator[None]:
    """An error of reading, in one line that begins so."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException, *more) as error:
        raise InputError(f"{said}: {str(error).strip().splitlines()[0].rstrip('.')}.") from None


def _whole(file: TableFile, name: str) -> TableFile:
    """The file, after a look at every batch if it is Arrow: wrong offsets or indices would end the process when used."""
    if not file.kind.startswith("arrow"):
        return file
    import pyarrow as pa

    with reading(f"{name} cannot be read", MemoryError, UnicodeError), pa.memory_map(str(file.path)) as source:
        if file.kind == "arrow":
            with pa.ipc.open_file(source) as batches:
                for number in range(batches.num_record_batches):
                    batches.get_batch(number).validate(full=True)
        else:
            with pa.ipc.open_stream(source) as stream:
                for batch in stream:
                    batch.validate(full=True)
    return file


def recognise(path: Path, name: str) -> TableFile:
    """Tell a file's format, or say why it is not a table."""
    try:
        with path.open("rb") as file:
            head = file.read(_SNIFFED)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.") from None
    if not head:
        raise InputError(f"{name} is empty.")
    known = next((kind for begin, kind in BEGINNINGS.items() if head.startswith(begin)), None)
    if known in ("gzip", "zstd"):
        head = _unpacked_head(path, known, name)
    elif known is not None:
        return TableFile(path, known)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    what = next((what for begin, what in NO_TABLES.items() if start[:64].lower().startswith(begin)), None)
    if what is not None:
        raise InputError(f"{name} is not a table: it is {what}. Use CSV, JSON lines, Parquet or Arrow.")
    if b"\x00" in head:
        hint = " (UTF-16 text? save it as UTF-8)" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise InputError(f"{name} is not a table: it holds binary data{hint}. Use CSV, JSON lines, Parquet or Arrow.")
    if not start:
        raise InputError(f"{name} is empty.")
    if start[:1] in (b"{", b"["):
        return TableFile(path, "json", known)
    if _is_conll(start.decode(errors="replace")):
        raise InputError(
            f"{name} looks like columns of CoNLL: a token a line, empty lines between sentences, no line of names. Add "
            "the names as a first line, such as `word`, `gold`, `pred` (and a column of sentences where they matter); "
            "`howsure tagger` and `howsure coref` read such files as they are."
        )
    return TableFile(path, "csv", known)


_NAMES = {"word", "token", "form", "text", "sentence", "id", "tag", "label", "gold", "true"}
_NAMES |= {"pred", "predicted", "prob"}


def _is_conll(head: str) -> bool:
    """Whether text is columns without names: the same number of fields a line, and empty lines between some of them."""
    lines = head[: head.rfind("\n") + 1].strip().splitlines()  # the last one may be cut off
    rows = [line for line in lines if line.strip() and not line.startswith(("# ", "-DOCSTART-"))]
    if len(rows) < 2 or all(line.strip() for line in lines):
        return False
    tab = "\t" in rows[0]
    fields = [[f.strip() for f in line.split("\t" if tab else None)] for line in rows]
    quoted = any('"' in f and f.strip('"') for row in fields for f in row)  # not a token that is a quotation mark
    named = {f.lower() for f in fields[0]} & _NAMES
    alike = len({len(row) for row in fields}) == 1 and len(fields[0]) > 1
    return alike and not named and not quoted and (tab or not any(c in rows[0] for c in ",;|"))


def names_in(files: list[TableFile]) -> list[str]:
    """The columns' names as the first file has them: DuckDB numbers those that repeat."""
    if not files or files[0].kind not in ("csv", "parquet"):  # Arrow does not read names that repeat
        return []
    file = files[0]
    if file.kind == "parquet":
        import pyarrow.parquet as pq

        return list(pq.read_schema(file.path).names)
    head = _unpacked_head(file.path, file.compression or "detect", str(file.path))
    line = head.removeprefix(b"\xef\xbb\xbf").splitlines()[0].decode(errors="replace")
    return [name.strip().strip('"') for name in re.split(r"[,;\t|]", line)]


def refuse_uneven(file: TableFile, name: str, column: str) -> None:
    """An error that names the line, where a file reads as one column because a line has more or fewer fields than the first."""
    import csv

    mark = next((c for c in ",;\t|" if c in column), None)
    if mark is None:
        return
    head = _unpacked_head(file.path, file.compression or "detect", name)
    lines = head[: head.rfind(b"\n") + 1].decode("utf-8-sig", errors="replace").splitlines()
    rows = csv.reader(lines, delimiter=mark)
    first = len(next(rows, []))
    for row in rows:
        if row and len(row) != first > 1:
            raise InputError(
                f"{name}: line {rows.line_num} has {len(row)} field{'s' * (len(row) > 1)} and the first line {first}; "
                "every line of a table needs as many."
            )


def _unpacked_head(path: Path, compression: str, name: str) -> bytes:
    import pyarrow as pa

    said = f"{name} is a damaged {compression} file"
    with reading(said), pa.input_stream(str(path), compression=compression) as stream:
        return stream.read(_SNIFFED)


# -- files that cannot be read, among many -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BadFile:
    """A file and why it cannot be read."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} ({self.reason})"


def bad_files(files: list[TableFile], expressions: Iterable[str], where: str | None) -> list[BadFile]:
    """Read each file to its end; those where that fails."""
    from howsure.engines.tables import Table

    wanted, bad = list(expressions), []
    for file in files:
        try:
            with Table(file.path) as table:
                for _ in table.batches(wanted, where):
                    pass
        except HowsureError as error:
            bad.append(BadFile(str(file.path), _reason(error, str(file.path))))
    return bad


def bad_files_error(bad: list[BadFile], n_files: int) -> InputError:
    """All of them in one line."""
    are = "file" if len(bad) == 1 else "files"
    return InputError(
        f"{len(bad):,} of {n_files:,} {'files' if n_files > 1 else are} cannot be read: {named(bad)}. "
        "`skip_bad_files=True` leaves them out."
    )


def left_out_note(bad: list[BadFile], n_files: int) -> tuple[str, ...]:
    """What the result must say of files left out."""
    return (f"{len(bad):,} of {n_files:,} files could not be read and were left out: {named(bad)}.",) if bad else ()


def named(bad: list[BadFile]) -> str:
    """The first few."""
    shown = "; ".join(map(str, bad[:MOST_NAMED]))
    return shown + (f"; and {len(bad) - MOST_NAMED:,} more" if len(bad) > MOST_NAMED else "")


def _reason(error: Exception, path: str) -> str:
    said = str(error).removeprefix(path).strip(" :")
    return said.removeprefix("cannot be read").strip(" :.") or "cannot be read"
