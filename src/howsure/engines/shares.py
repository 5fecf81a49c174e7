"""Records brought together by their key in this process: in memory while they fit, in files of the spool beyond that."""

from __future__ import annotations

import errno
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from howsure.engines.rows import Chunk, Keying, Rows, T, Work
from howsure.engines.tables import as_arrow, as_numpy
from howsure.errors import HowsureError
from howsure.kernels.cells import Ints
from howsure.kernels.grouping import one_of_many_pieces
from howsure.kernels.threads import cores

RUN_ROWS = 1 << 14  # of a batch on disk
# Bytes of the budget for each process beside this one: as of a memory bound of half a GB. With small slices it takes 55 MB.
JOB = 500_000_000 // 12
LONG = 1 << 24  # bytes of records in one piece, from which the slices among them are worth compiled kernels
SHARES = 1024  # into which keys are divided once there are too many records to hold


class SharedRows(Rows):
    """Records by key, `piece` bytes of them at a time.

    They are held in memory up to `budget` bytes. Beyond, they go to disk in runs: a file for each, its records in order
    of their share, so that a piece is read as a slice of every run.
    """

    def __init__(
        self, name: str, keying: Keying, chunks: Iterator[Chunk], budget: int, piece: int, among: int = 1
    ) -> None:
        """`among` such objects are made side by side and share the budget; they add up."""
        self.name = name
        self.jobs = max(1, min(cores(), budget // JOB))
        self._schema, self._piece = keying.schema, piece
        self._held: list[pa.RecordBatch] = []
        self._bytes, self._record = 0, 1
        self._spools: list[tempfile.TemporaryDirectory[str]] = []
        self._sizes = np.zeros(SHARES, np.int64)  # records of each share
        self._runs: list[tuple[str, Ints]] = []  # files, and where each share begins in them
        try:
            for batch in keying.spread(chunks):
                self._held.append(batch)
                self._bytes += batch.nbytes
                if self._bytes > budget // among:
                    self._spill()
            if self._runs:
                self._spill()
        except BaseException:
            self.close()
            raise
        if self._held:
            self._record = max(1, self._bytes // max(sum(b.num_rows for b in self._held), 1))

    def __add__(self, other: SharedRows) -> SharedRows:
        """These records and those; `other` is not to be used any more."""
        self._spools += other._spools
        self._runs += other._runs
        self._sizes += other._sizes
        self._held += other._held
        self._bytes += other._bytes
        self._record = max(self._record, other._record)
        if self._runs and self._held:
            self._spill()
        return self

    @property
    def is_one_piece(self) -> bool:
        return not self._runs and self._bytes <= cores() * self._piece  # otherwise as many pieces are worked on at once

    def fold(self, work: Work[T]) -> T:
        if self._runs:
            return _added(work, [self._read(a, b) for a, b in self._cuts()])
        if self.is_one_piece:
            return _worked(work, _chunks(self._held)) if self._bytes > LONG else work(_chunks(self._held))
        table, starts = _by_share(pa.Table.from_batches(self._held, self._schema))
        self._sizes, self._held = np.diff(starts), table.to_batches()
        cuts = [(int(starts[a]), int(starts[b])) for a, b in self._cuts()]
        return _added(work, [table.slice(a, b - a).to_batches() for a, b in cuts])

    def by_key(self, keying: Keying) -> Rows:
        raise NotImplementedError("records that have a key already")

    def close(self) -> None:
        self._held.clear()
        self._runs.clear()
        while self._spools:
            self._spools.pop().cleanup()

    def _cuts(self) -> Iterator[tuple[int, int]]:
        """Ranges of shares that make a piece each."""
        first, held = 0, 0
        for share, size in enumerate((self._sizes * self._record).tolist()):
            if held and held + size > self._piece:
                yield first, share
                first, held = share, 0
            held += size
        yield first, SHARES

    def _spill(self) -> None:
        """What is held becomes a run."""
        if not any(b.num_rows for b in self._held):
            self._held, self._bytes = [], 0
            return
        if not self._spools:
            self._spools.append(tempfile.TemporaryDirectory(prefix="howsure-"))
        folder = self._spools[0].name
        table, starts = _by_share(pa.Table.from_batches(self._held, self._schema))
        self._record = max(self._record, self._bytes // table.num_rows)
        self._held, self._bytes = [], 0
        self._sizes += np.diff(starts)
        path = str(Path(folder) / f"run-{len(self._runs)}")
        try:
            write_run(path, table)
        except OSError as error:
            raise full(error, folder) from None
        self._runs.append((path, starts))

    def _read(self, first: int, after: int) -> Iterator[pa.RecordBatch]:
        for path, starts in self._runs:
            a, b = int(starts[first]), int(starts[after])
            if a < b:
                with pa.ipc.open_file(path) as run:
                    for i in range(a // RUN_ROWS, -(-b // RUN_ROWS)):
                        batch = run.get_batch(i)
                        begin, end = max(a - i * RUN_ROWS, 0), min(b - i * RUN_ROWS, batch.num_rows)
                        yield batch.slice(begin, end - begin)


def _added(work: Work[T], pieces: Sequence[Iterable[pa.RecordBatch]]) -> T:
    """The sum of the pieces, in their order; as many as there are cores are worked on at a time."""
    total: T | None = None
    with ThreadPoolExecutor(cores()) as pool:
        waiting = map(_chunks, pieces)
        running = deque(pool.submit(_worked, work, piece) for piece in islice(waiting, cores()))
        try:
            while running:
                made = running.popleft().result()
                running.extend(pool.submit(_worked, work, piece) for piece in islice(waiting, 1))
                total = made if total is None else total + made
        finally:
            for future in running:
                future.cancel()
    assert total is not None
    return total


def _worked(work: Work[T], piece: Iterator[Chunk]) -> T:
    with one_of_many_pieces():
        return work(piece)


def write_run(path: str, table: pa.Table) -> None:
    """Records in batches of `RUN_ROWS`, packed."""
    with pa.OSFile(path, "wb") as sink:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(sink, table.schema, options=options) as file:
            file.write_table(table, max_chunksize=RUN_ROWS)


def _by_share(table: pa.Table) -> tuple[pa.Table, Ints]:
    """Records in order of their share, and where each share begins."""
    share = (as_numpy(table.column("key").combine_chunks()) % np.uint64(SHARES)).astype(np.uint16)
    order = np.argsort(share, kind="stable")  # counts, as these are of 16 bits
    starts = np.zeros(SHARES + 1, np.int64)
    np.cumsum(np.bincount(share, minlength=SHARES), out=starts[1:])
    return table.take(as_arrow(order)).combine_chunks(), starts


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[Chunk]:
    for batch in batches:
        yield Chunk(dict(zip(batch.schema.names, batch.columns, strict=True)))


def full(error: OSError, folder: str) -> HowsureError:
    """An error of writing to the temporary folder, in words."""
    if error.errno == errno.ENOSPC or "No space left" in str(error):
        return HowsureError(
            f"no space is left in the temporary folder {folder}: set TMPDIR to a folder on a larger disk."
        )
    return HowsureError(f"the temporary folder {folder} cannot be written: {error.strerror or error}.")
