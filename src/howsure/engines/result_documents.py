"""Documents of results on disk, through DuckDB: a page of them, one of them, or those that hold some words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from howsure.engines.connection import connect
from howsure.errors import InputError

FOUND = 100_000  # documents that a search gives back at most


class ResultDocuments:
    """Reads the tables `documents` and `chains` in place; each call has a cursor of its own, so threads may share it.

    Documents are named by their row in the table, which the file's order fixes.
    """

    def __init__(self, folder: str | Path) -> None:
        self.documents, self.chains = (str(Path(folder) / f"{t}.parquet") for t in ("documents", "chains"))
        for path in (self.documents, self.chains):
            if not Path(path).is_file():
                raise InputError(f"the results in {folder} are not complete: there is no {Path(path).name}.")
        self._connection = connect(files=[self.documents, self.chains])

    def page(self, rows: Sequence[int]) -> dict[int, tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Documents by their rows, each with its chains."""
        columns = "id, date, title, undated, text, token_starts, token_ends, sentence_starts"
        found = self._ask(
            f"SELECT file_row_number AS row, {columns} FROM read_parquet(?, file_row_number = true) "
            "WHERE file_row_number IN (SELECT unnest(?::BIGINT[]))",
            [self.documents, list(rows)],
        )
        chains: dict[str, list[dict[str, Any]]] = {}
        names = [d["id"] for d in found]
        for c in self._ask("SELECT * FROM read_parquet(?) WHERE id IN (SELECT unnest(?))", [self.chains, names]):
            chains.setdefault(c["id"], []).append(c)
        return {d["row"]: (d, chains.get(d["id"], [])) for d in found}

    def search(self, words: str) -> list[int]:
        """Rows of the documents whose id, title or text holds the words, in any case."""
        found = self._ask(
            "SELECT file_row_number AS row FROM read_parquet(?, file_row_number = true) WHERE token_starts IS NOT NULL AND "
            "(contains(lower(text), ?) OR contains(lower(coalesce(title, '')), ?) OR contains(lower(id), ?)) LIMIT ?",
            [self.documents, *[words.lower()] * 3, FOUND],
        )
        return sorted(d["row"] for d in found)

    def close(self) -> None:
        """Lets the files go."""
        self._connection.close()

    def _ask(self, query: str, parameters: list[Any]) -> list[dict[str, Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(query, parameters)
            names = [d[0] for d in cursor.description or []]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
