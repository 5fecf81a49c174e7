"""DuckDB with no reach: the files that are read, and nothing else of this machine or the network."""

from __future__ import annotations  # DuckDB's types, kept in annotations, are reported as leaks when Python ends

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Timer

import duckdb

from howsure.errors import InputError
from howsure.kernels.threads import memory_size

MEMORY_SHARE = 0.6  # of this machine's memory, where no bound is given
LARGEST_SPILL = "100GB"
# What a condition may take, of time for some rows and of memory.
ROWS, SECONDS = 1 << 17, 60.0
FEW, SLOW = 16, 1.0
ROOM = 1 << 32


def connect(
    database: str | Path = ":memory:",
    *,
    files: Iterable[str | Path] = (),
    folder: str | Path | None = None,
    memory: int | None = None,
    threads: int | None = None,
) -> duckdb.DuckDBPyConnection:
    """A connection that can read `files`, read and write in `folder` (where it also spills), and reach nothing else.

    No extension is installed or loaded, Python's variables are no tables, and no setting can be changed afterwards.
    """
    connection = duckdb.connect(str(database))
    allowed = [literal(name) for path in files for name in dict.fromkeys((str(path), os.path.abspath(path)))]
    settings = {
        "enable_progress_bar": "false",
        "python_enable_replacements": "false",
        "memory_limit": f"'{memory or int(MEMORY_SHARE * (memory_size() or 1 << 33))} bytes'",
        "temp_directory": literal("" if folder is None else str(folder)),
        "max_temp_directory_size": literal(LARGEST_SPILL),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "allowed_paths": f"[{', '.join(allowed)}]",
        "allowed_directories": "[]" if folder is None else f"[{literal(str(folder))}]",
        "enable_external_access": "false",
        "lock_configuration": "true",
    }
    if threads is not None:
        settings = {"threads": str(threads), **settings}
    try:
        for name, value in settings.items():
            connection.execute(f"SET {name} = {value}")
    except BaseException:
        connection.close()
        raise
    return connection


def literal(value: str) -> str:
    """A string as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


@lru_cache(maxsize=64)
def checked_condition(where: str, option: str = "where") -> str:
    """`where` in parentheses, after making sure that it is one expression about one row, and nothing more."""
    such = "length > 5" if option == "where" else "preference - 1"
    rule = f'`{option}=` must be a single SQL expression, such as "{such}"'
    try:
        duckdb.SQLExpression(where)
    except duckdb.Error as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(f"{rule}; got {where!r} ({first}).") from None
    condition = f"({where}\n)"  # the line break ends a comment
    with connect(threads=1) as connection:
        found = connection.execute("SELECT json_serialize_sql(?)", [f"SELECT 1 WHERE {condition}"]).fetchall()
    tree = json.loads(found[0][0])
    if tree["error"]:
        raise InputError(f"{rule}; got {where!r} ({tree['error_message']}).")
    if _has_subquery(tree):
        raise InputError(f"{rule}: about one row, without a query (SELECT, FROM, ANY) inside; got {where!r}.")
    return condition


def _has_subquery(tree: object) -> bool:
    if isinstance(tree, dict):
        return tree.get("class") == "SUBQUERY" or any(map(_has_subquery, tree.values()))
    return isinstance(tree, list) and any(map(_has_subquery, tree))


def try_condition(connection: duckdb.DuckDBPyConnection, relation: str, condition: str) -> None:
    """Evaluate a condition on the first rows, within limits: on few first, as DuckDB looks up between blocks of rows only."""

    def seconds(query: str) -> float:
        before = time.monotonic()
        connection.execute(query).fetchall()
        return time.monotonic() - before

    def rows(n: int) -> str:
        return f"SELECT count(*) FROM (SELECT * FROM {relation} LIMIT {n})"

    with limited(connection):
        if seconds(f"{rows(FEW)} WHERE {condition}") > SLOW:
            opening = seconds(rows(FEW))
            if seconds(f"{rows(FEW)} WHERE {condition}") - opening > SLOW:
                raise InputError(f"`where=` takes more than {SLOW:g} seconds for {FEW} rows; use a simpler one.")
        seconds(f"{rows(ROWS)} WHERE {condition}")


@contextmanager
def limited(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """A condition on ROWS rows: interrupted if it takes too long, refused if it takes too much memory."""
    timer = Timer(SECONDS, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        with _little_memory():
            yield
    except duckdb.InterruptException:
        raise InputError(
            f"`where=` takes more than {SECONDS:g} seconds for {ROWS:,} rows; use a simpler one."
        ) from None
    except (duckdb.OutOfMemoryException, MemoryError):
        raise InputError(f"`where=` needs more than {ROOM >> 30} GB of memory; use a simpler one.") from None
    finally:
        timer.cancel()


@contextmanager
def _little_memory() -> Iterator[None]:
    """ROOM above what the process has: DuckDB's own limit leaves out what one block of rows needs."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = pages * resource.getpagesize() + ROOM
        if soft != resource.RLIM_INFINITY and soft <= wanted:
            wanted = soft
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    except (ImportError, OSError, ValueError):  # not on this system
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
