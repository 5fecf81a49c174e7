"""Documents of results on disk: some of them by their rows, or those that hold some words."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from howsure.engines.connection import connect
from howsure.engines.formats import reading
from howsure.errors import InputError

FOUND = 100_000  # documents that a search gives back at most
KEPT = 16  # groups of rows, of each table
COLUMNS = ["id", "date", "title", "undated", "text", "token_starts", "token_ends", "sentence_starts"]


class RowGroups:
    """A Parquet file whose rows are read by number. The groups of rows read last are kept; threads may share it."""

    def __init__(self, path: str, columns: list[str] | None = None) -> None:
        self._file, self._columns, self._lock = pq.ParquetFile(path), columns, Lock()
        sizes = [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self._group = lru_cache(KEPT)(self._read)

    def _read(self, group: int) -> pa.Table:
        return self._file.read_row_group(group, self._columns).combine_chunks()

    def rows(self, first: int, after: int) -> list[dict[str, Any]]:
        """The rows first … after-1; those that there are."""
        made: list[dict[str, Any]] = []
        after = min(after, int(self._starts[-1]))
        while first < after:
            group = int(np.searchsorted(self._starts, first, side="right")) - 1
            begin, end = int(self._starts[group]), min(after, int(self._starts[group + 1]))
            with self._lock:
                table = self._group(group)
            made += table.slice(first - begin, end - first).to_pylist()
            first = end
        return made

    def close(self) -> None:
        """Lets the file go."""
        self._group.cache_clear()
        self._file.close(force=True)


class ResultDocuments:
    """Reads the tables `documents` and `chains` in place; threads may share it.

    Documents are named by their row in the table, which the file's order fixes. The chains of a document stand together.
    """

    def __init__(self, folder: str | Path) -> None:
        self.documents, self.chains = (str(Path(folder) / f"{t}.parquet") for t in ("documents", "chains"))
        for path in (self.documents, self.chains):
            if not Path(path).is_file():
                raise InputError(f"the results in {folder} are not complete: there is no {Path(path).name}.")
        with reading(f"the results in {folder} cannot be read"):
            self._documents, self._chains = RowGroups(self.documents, COLUMNS), RowGroups(self.chains)
            ids = pq.read_table(self.chains, columns=["id"]).column(0).combine_chunks().dictionary_encode()
        codes = ids.indices.to_numpy()
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        names = ids.dictionary.to_pylist()
        self._places = {names[codes[a]]: (a, b) for a, b in pairwise([*starts.tolist(), len(codes)])}
        self._connection = connect(files=[self.documents])

    def page(self, rows: Sequence[int]) -> dict[int, tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Documents by their rows, each with its chains."""
        made = {}
        for row in rows:
            for document in self._documents.rows(row, row + 1):
                made[row] = document, self._chains.rows(*self._places.get(document["id"], (0, 0)))
        return made

    def search(self, words: str) -> list[int]:
        """Rows of the documents whose id, title or text holds the words, in any case."""
        with self._connection.cursor() as cursor:  # its own, as threads share the connection
            cursor.execute(
                "SELECT file_row_number FROM read_parquet(?, file_row_number = true) WHERE token_starts IS NOT NULL AND "
                "(contains(lower(text), ?) OR contains(lower(coalesce(title, '')), ?) OR contains(lower(id), ?)) LIMIT ?",
                [self.documents, *[words.lower()] * 3, FOUND],
            )
            return sorted(row for (row,) in cursor.fetchall())

    def close(self) -> None:
        """Lets the files go."""
        self._documents.close()
        self._chains.close()
        self._connection.close()
