"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from howsure.errors import InputError


def check_writable(path: str) -> None:
    """Complain before the work starts, not after."""
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {str(folder)!r}.")
    if target.is_dir():
        raise InputError(f"cannot write {path}: it is a folder.")
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
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # mkstemp's files are private
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}.") from None
