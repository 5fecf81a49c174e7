"""Records brought together by their key in this process: in memory while they fit, in files of the spool beyond that."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from howsure.engines.rows import Chunk, Keying, Rows, T, Work
from howsure.engines.tables import as_numpy
from howsure.errors import HowsureError

SHARES = 128  # pieces, once there are too many records for one


class SharedRows(Rows):
    """Records by key. The first are held in memory; when they pass `budget` bytes all go to disk, in `SHARES` files."""

    def __init__(self, name: str, keying: Keying, chunks: Iterator[Chunk], budget: int) -> None:
        self.name = name
        self._schema = keying.schema
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._spool: tempfile.TemporaryDirectory[str] | None = None
        self._files: dict[int, tuple[Any, Any]] = {}
        try:
            for batch in keying.spread(chunks):
                self._held.append(batch)
                self._bytes += batch.nbytes
                if self._bytes > budget:
                    self._spill()
            if self._spool is not None:
                self._spill()
                self._end_files()
        except BaseException:
            self.close()
            raise

    @property
    def pieces(self) -> int:
        """In how many pieces the records are."""
        return 1 if self._spool is None else SHARES

    def fold(self, work: Work[T]) -> T:
        if self._spool is None:
            return work.gather(_chunks(iter(self._held)))
        return reduce(add, (work.gather(_chunks(self._read(i))) for i in range(SHARES)))

    def by_key(self, keying: Keying) -> Rows:
        raise NotImplementedError("records that have a key already")

    def close(self) -> None:
        self._held.clear()
        for writer, sink in self._files.values():
            writer.close()
            sink.close()
        self._files.clear()
        if self._spool is not None:
            self._spool.cleanup()
            self._spool = None

    def _spill(self) -> None:
        if self._spool is None:
            self._spool = tempfile.TemporaryDirectory(prefix="howsure-")
        table = pa.Table.from_batches(self._held, self._schema)
        self._held, self._bytes = [], 0
        share = as_numpy(table.column("key").combine_chunks()) % np.uint64(SHARES)
        order = np.argsort(share, kind="stable")
        table = table.take(pa.array(order)).combine_chunks()
        ends = np.searchsorted(share[order], np.arange(SHARES), side="right")
        begins = np.append(0, ends[:-1])
        try:
            for number, (a, b) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
                if a < b:
                    self._writer(number).write_table(table.slice(a, b - a))
        except OSError as error:
            raise full(error, self._spool.name) from None

    def _writer(self, number: int) -> Any:
        if number not in self._files:
            assert self._spool is not None
            sink = pa.OSFile(str(Path(self._spool.name) / f"share-{number}"), "wb")
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._files[number] = (pa.ipc.new_stream(sink, self._schema, options=options), sink)
        return self._files[number][0]

    def _end_files(self) -> None:
        assert self._spool is not None
        try:
            for writer, sink in self._files.values():
                writer.close()
                sink.close()
        except OSError as error:
            raise full(error, self._spool.name) from None
        self._files.clear()

    def _read(self, number: int) -> Iterator[pa.RecordBatch]:
        assert self._spool is not None
        path = Path(self._spool.name) / f"share-{number}"
        if path.exists():
            with pa.ipc.open_stream(str(path)) as reader:
                yield from reader


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[Chunk]:
    for batch in batches:
        yield Chunk(dict(zip(batch.schema.names, batch.columns, strict=True)))


def full(error: OSError, folder: str) -> HowsureError:
    """An error of writing to the temporary folder, in words."""
    if error.errno == errno.ENOSPC or "No space left" in str(error):
        return HowsureError(
            f"no space is left in the temporary folder {folder}: set TMPDIR to a folder on a larger disk."
        )
    return HowsureError(f"the temporary folder {folder} cannot be written: {error.strerror or error}.")


def default_budget() -> int:
    """Bytes of records held in memory where no limit is given: an eighth of what the machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8
    except (AttributeError, ValueError, OSError):
        return 1 << 30
