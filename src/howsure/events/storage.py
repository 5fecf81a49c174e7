"""Results on disk: five Parquet tables and a manifest, written in parts so that killed work goes on where it stopped.

A part holds the tables of one block of documents. It is a folder that appears under its name only when it is whole, and
the name holds a hash of the block, so a part is used again exactly when its documents are the same. When all parts are
there they are joined, in order, and removed. Format: docs/guides/explore.md.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from howsure.errors import InputError
from howsure.files import whole_files, whole_folder, write_whole

FORMAT = 2
_TYPES = {
    "string": pa.string(),
    "date": pa.date32(),
    "int": pa.int32(),
    "ints": pa.list_(pa.int32()),
    "float": pa.float64(),
    "floats": pa.list_(pa.float64()),
    "bool": pa.bool_(),
}


def _fields(types: str) -> list[tuple[str, pa.DataType]]:
    """Columns from "type: name name; type: name", in order."""
    kinds = [part.split(":") for part in types.split(";")]
    return [(name, _TYPES[kind.strip()]) for kind, names in kinds for name in names.split()]


DOCUMENTS = """string: id; date: date; string: title undated failure; int: n_tokens n_mentions n_agents n_events event_start
    event_end; string: text; ints: token_starts token_ends sentence_starts"""
FRAME = """string: id; date: date; string: actor; floats: features; ints: words document_words; string: reasons done_by;
    int: start end"""
_DESCRIBED = pa.struct(_fields("int: start end word; string: why; float: together"))
_LINK = pa.struct(_fields("int: later_start later_end earlier_start earlier_end; float: probability"))
SCHEMAS: dict[str, pa.Schema] = {
    "documents": pa.schema(_fields(DOCUMENTS)),
    "events": pa.schema(_fields("string: id; date: date; string: actor; float: probability; floats: law; int: best")),
    "frame": pa.schema(_fields(FRAME)),
    "pairs": pa.schema(_fields("string: id a b; float: both")),
    "chains": pa.schema(
        [
            *_fields("string: id actor; float: probability; int: agent_start agent_end verb; string: lemma rule why"),
            ("described", pa.list_(_DESCRIBED)),
            ("links", pa.list_(_LINK)),
            *_fields("int: uncertain; float: with_link without_link; bool: best"),
        ]
    ),
}
HOW: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}
GROUP = 1_000  # rows
Rows = dict[str, list[dict[str, Any]]]


def part_name(number: int, digest: str) -> str:
    """The name of a block's part."""
    return f"{number:06d}-{digest}"


def part_files(rows: Rows) -> Iterator[tuple[str, bytes]]:
    """The tables of one block as the bytes of their files, by name."""
    for table in SCHEMAS:
        file = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows.get(table, []), SCHEMAS[table]), file, **HOW)
        yield table, file.getvalue().to_pybytes()


def write_part(folder: Path, name: str, tables: Iterable[tuple[str, bytes]]) -> None:
    """A part from the bytes of its files, whole or not at all: it appears under its name when it is full."""
    parts = folder / "parts"
    try:
        parts.mkdir(parents=True, exist_ok=True)
        with whole_folder(parts / name) as made:
            for table, content in tables:
                (made / f"{table}.parquet").write_bytes(content)
    except OSError as error:
        if (parts / name).is_dir():  # another process was first: its part is the same
            return
        raise InputError(f"cannot write to {folder}: {error.strerror or error}. What is done so far is kept.") from None


def has_part(folder: Path, name: str) -> bool:
    """Whether the part is there, whole."""
    return (folder / "parts" / name).is_dir()


def read_part(folder: Path, name: str, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """A table of a part. A part that is damaged is removed, so that the same command does its block again."""
    part = folder / "parts" / name
    try:
        with pq.ParquetFile(part / f"{table}.parquet", page_checksum_verification=True) as file:
            found = file.read(columns=None if columns is None else list(columns))
        if columns is None and found.schema != SCHEMAS[table]:
            raise OSError("other columns")
        return found
    except (OSError, pa.ArrowException) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise InputError(
            f"{part / table}.parquet was damaged ({' '.join(str(error).split())[:200].rstrip('.')}). Run the same command again: it does "
            "this block again and keeps the others."
        ) from None


def join_parts(folder: Path, names: Sequence[str], manifest: dict[str, Any]) -> None:
    """One file per table from the parts in order; then the manifest, which makes the results complete."""
    try:
        for table, schema in SCHEMAS.items():
            with whole_files([folder / f"{table}.parquet"]) as (made,), pq.ParquetWriter(made, schema, **HOW) as writer:
                for group in _grouped(folder, names, table):
                    writer.write_table(group)
        write_manifest(folder, manifest)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}. What is done so far is kept.") from None
    shutil.rmtree(folder / "parts", ignore_errors=True)


def _grouped(folder: Path, names: Sequence[str], table: str) -> Iterator[pa.Table]:
    """The parts' rows in tables of `GROUP` rows, whatever the parts' sizes."""
    kept = SCHEMAS[table].empty_table()
    for name in names:
        kept = pa.concat_tables([kept, read_part(folder, name, table)])
        while len(kept) >= GROUP:
            yield kept.slice(0, GROUP).combine_chunks()
            kept = kept.slice(GROUP)
    yield kept.combine_chunks()


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """The manifest, whole or not at all."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(folder / "manifest.json", text.encode())


def read_manifest(folder: str | Path) -> dict[str, Any] | None:
    """The manifest of a results folder; None where there is none."""
    path = Path(folder) / "manifest.json"
    if not path.is_file():
        return None
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{path} is damaged; run howsure explore again into another folder.") from None
    if not isinstance(made, dict) or "format" not in made or "settings" not in made:
        raise InputError(f"{path} is not a manifest of howsure explore.")
    if made["format"] != FORMAT:
        raise InputError(
            f"{folder} holds results in format {made['format']} (howsure {made.get('version', '?')}); "
            f"this version reads format {FORMAT}: run howsure explore again into another folder."
        )
    return made


def read_table(folder: str | Path, table: str, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The rows of one of the tables."""
    path = Path(folder) / f"{table}.parquet"
    try:
        named = list(columns) if columns else None
        rows: list[dict[str, Any]] = pq.read_table(path, columns=named, page_checksum_verification=True).to_pylist()
    except FileNotFoundError:
        raise InputError(f"the results in {folder} are not complete: there is no {path.name}.") from None
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: {str(error).splitlines()[0]}.") from None
    return rows
