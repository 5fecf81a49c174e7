"""Files are written whole or not at all."""

from __future__ import annotations

import glob
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from howsure.errors import InputError


def check_outputs(*paths: str | None, inputs: Iterable[object] = (), deep: bool = False) -> None:
    """Complain before the work starts, not after: folders that are not there, inputs that would be overwritten.

    `inputs` is all that the command reads: files, patterns, folders ("deep": with the folders inside them), "-". What is
    no path (None, a data frame) or names nothing is passed over. Links count as the file that they lead to.
    """
    given = [p for p in paths if p is not None]
    targets = [Path(p).resolve() for p in given]
    if len(set(targets)) < len(targets):
        raise InputError(f"two outputs have the same name: {given[0]}.")
    existing = {_identity(p): p for p in given if _identity(p) is not None}
    for source in inputs if existing else ():
        for file in _named_files(source, deep):
            if (path := existing.get(_identity(file))) is not None:
                named = "" if file in (0, str(source)) else f" ({source} names it)"
                raise InputError(f"cannot write {path}: it is the input{named}.")
    for path in given:
        check_writable(path)


def check_output_folder(folder: str, inputs: Iterable[object] = ()) -> None:
    """Complain if an input is in a folder whose files may be replaced."""
    target = Path(folder).resolve()
    for source in inputs:
        for file in (source, *_named_files(source, deep=False)):
            if isinstance(file, str | Path) and os.path.exists(file):
                real = Path(file).resolve()
                if target in (real, *real.parents):
                    raise InputError(f"cannot write to {folder}: it holds the input {source}. Choose another folder.")


def _named_files(source: object, deep: bool) -> Iterator[object]:
    """The files that an input names; of standard input, its number."""
    if not isinstance(source, str | Path):
        return
    if str(source) == "-":
        yield 0
    elif os.path.isdir(source):
        for folder, folders, names in os.walk(source):
            yield from (os.path.join(folder, name) for name in names)
            folders[:] = folders if deep else []
    elif os.path.exists(source):
        yield str(source)
    else:
        yield from glob.iglob(str(source), recursive=True)


def _identity(file: object) -> tuple[int, int] | None:
    """What two names of one file share; None where there is no file."""
    try:
        found = os.stat(file)  # type: ignore[arg-type]
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def check_writable(path: str) -> None:
    """Complain if a regular file cannot be written there."""
    target = Path(path).resolve()
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {str(folder)!r}.")
    if target.is_dir():
        raise InputError(f"cannot write {path}: it is a folder.")
    if target.exists() and not target.is_file():
        raise InputError(f"cannot write {path}: it is not a regular file.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {path}: the folder is read-only.")


def make_folder(path: str) -> Path:
    """A folder that can be written to, made if need be."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"cannot write to {path}: it is not a folder.") from None
    except OSError as error:
        raise InputError(f"cannot write to {path}: {error.strerror}.") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write to {path}: the folder is read-only.")
    return folder


def write_whole(path: str, content: bytes) -> None:
    """Write beside the target, then rename over it: a reader sees the old file or the new one."""
    try:
        with whole_file(path) as file:
            file.write(content)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}.") from None


@contextmanager
def whole_file(path: str) -> Iterator[IO[bytes]]:
    """A file to write in pieces: it takes the target's place when all is written, and vanishes if anything fails."""
    target = Path(path).resolve()  # through a link, not over it
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # mkstemp's files are private
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
