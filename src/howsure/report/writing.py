"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from howsure.errors import InputError


def check_outputs(*paths: str | None, inputs: Iterable[str] = ()) -> None:
    """Complain before the work starts, not after: folders that are not there, files that would be overwritten."""
    given = [p for p in paths if p is not None]
    targets = [Path(p).resolve() for p in given]
    if len(set(targets)) < len(targets):
        raise InputError(f"two outputs have the same name: {given[0]}.")
    read = {Path(i).resolve() for i in inputs}
    for path, target in zip(given, targets, strict=True):
        if target in read:
            raise InputError(f"cannot write {path}: it is the input.")
        check_writable(path)


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
