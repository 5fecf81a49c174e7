"""Logs of language models, which every verb that reads a table takes: whether a path is one."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from howsure.engines.logs.records import recognised
from howsure.errors import InputError


def logged(source: Any, kind: str | None = None, stated: Any = None, same: str | None = None) -> Any:
    """A path as a `Log`, if a format is named or its first file is recognised as one; else as it is."""
    options = {"stated": stated, "same": same}
    if not isinstance(source, str):
        return source
    if kind is not None or _is_log(source):
        from howsure.engines.logs.table import Log

        return Log(source, kind, stated, same or "normalised")
    for name, value in options.items():
        if value is not None:
            raise InputError(f"`{name}=` is about logs, and {source} is not recognised as one: say which with `log=`.")
    return source


def _is_log(source: str) -> bool:
    """Whether one of the first files is recognised."""
    path = Path(source)
    some: Iterable[Path] = ()
    if path.is_file():
        some = [path]
    elif path.is_dir():
        some = (p for p in path.rglob("*") if p.suffix in (".eval", ".json", ".jsonl", ".gz"))
    elif any(c in source for c in "*?["):
        import glob

        some = map(Path, glob.iglob(source, recursive=True))
    return any(p.is_file() and recognised(str(p)) for p, _ in zip(some, range(20), strict=False))
