"""Files and folders are written whole or not at all, and survive a power cut.

What is written has a temporary name beside its target until it is complete. It is then flushed to disk and renamed, so
that a reader sees the old file or the new one. The writer holds a lock on its temporary file: one that nobody locks was
left by a run that was killed, and the next writer of the same target removes it.
"""

import errno
import gc
import glob
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from howsure.errors import InputError

SUFFIX = ".part"
_UNFINISHED: set[str] = set()  # what this process writes at the moment


def standard_input() -> IO[bytes]:
    """The bytes of standard input."""
    if sys.stdin is None:
        raise InputError("standard input is closed.")
    return sys.stdin.buffer


def check_outputs(*paths: str | None, inputs: Iterable[object] = (), deep: bool = False) -> None:
    """Raise before the work starts, not after: folders that do not exist, inputs that would be overwritten.

    `inputs` is all that the command reads: files, patterns, folders ("deep": with the folders inside them), "-". What is
    no path (None, a data frame) or names nothing is skipped. Links count as the file that they lead to.
    """
    given = [p for p in paths if p is not None]
    targets = [_real(p) for p in given]
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
    """Raise if an input is in a folder whose files may be replaced."""
    target = _real(folder)
    for source in inputs:
        for file in (source, *_named_files(source, deep=False)):
            if isinstance(file, str | Path) and os.path.exists(file):
                real = _real(file)
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
    elif "," in str(source):  # a list, such as --actors countries,mine.csv
        for each in str(source).split(","):
            yield from _named_files(each.strip(), deep)
    else:
        yield from glob.iglob(str(source), recursive=True)


def _real(path: str | Path) -> Path:
    """The path without links; of links that lead in a circle one of them."""
    return Path(os.path.realpath(path))


def _identity(file: object) -> tuple[int, int] | None:
    """What two names of one file share; None where there is no file."""
    try:
        found = os.stat(file)  # type: ignore[arg-type]
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def user_cache(kind: str) -> Path:
    """The folder for what can be made again: in HOWSURE_CACHE, or in the user's cache folder."""
    if named := os.environ.get("HOWSURE_CACHE"):
        return Path(named) / kind
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "howsure" / kind


def check_writable(path: str) -> None:
    """Raise if a regular file cannot be written there."""
    target = _real(path)
    folder = target.parent
    if target.is_symlink():
        raise InputError(f"cannot write {path}: its links lead in a circle.")
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {str(folder)!r}.")
    if target.is_dir():
        raise InputError(f"cannot write {path}: it is a folder.")
    if target.exists() and not target.is_file():
        raise InputError(f"cannot write {path}: it is not a regular file.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {path}: the folder is read-only.")


def make_folder(path: str) -> Path:
    """A folder that can be written to, created if it does not exist."""
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


def only_run(folder: Path) -> AbstractContextManager[None]:
    """Keeps other runs out of a folder of results until the end; a run that is killed keeps nobody out."""
    return locked(folder, f"another run is writing to {folder}: wait for it, or choose another folder.")


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file in one go."""
    try:
        with whole_file(path) as file:
            file.write(content)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}.") from None


@contextmanager
def whole_file(path: str | Path, *, durable: bool = True) -> Iterator[IO[bytes]]:
    """A file to write in pieces: it replaces the target when all is written, and is removed if anything fails.

    A file that may be lost in a power cut (an entry of a cache) need not be `durable`: it is not flushed to disk.
    """
    with whole_files([path], durable=durable) as (name,), open(name, "wb") as file:
        yield file


@contextmanager
def whole_files(paths: Sequence[str | Path], *, durable: bool = True) -> Iterator[list[str]]:
    """Temporary names to write to: the files replace their targets when all are written; none does if anything fails."""
    targets = [_real(path) for path in paths]  # through a link, not over it
    with ExitStack() as ending:
        names = []
        for path, target in zip(paths, targets, strict=True):
            remove_leftovers(target.parent, target.name)
            try:
                names.append(ending.enter_context(_temporary_file(target)))
            except OSError as error:
                raise InputError(f"cannot write {path}: {error.strerror}.") from None
        yield names
        for name in names:
            os.chmod(name, 0o666 & ~_umask())  # temporary files are private
            if durable:
                _flush(name)
        for name, target in zip(names, targets, strict=True):
            os.replace(name, target)
        for folder in {target.parent for target in targets} if durable else ():
            _flush(folder)


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """A folder to fill with files: it appears under its name when all is written, and is removed if anything fails.

    Raises OSError where there is such a folder with files in it. What a killed run left is for `remove_leftovers`.
    """
    target = Path(path)
    made = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=SUFFIX))
    _UNFINISHED.add(str(made))
    try:
        with locked(made):
            yield made
            made.chmod(0o777 & ~_umask())
            for file in (*made.iterdir(), made):
                _flush(file)
            os.replace(made, target)
            _flush(target.parent)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    finally:
        _UNFINISHED.discard(str(made))


def remove_leftovers(folder: Path, name: str | None = None) -> None:
    """Removes what killed runs left in a folder: temporary files and folders that no process has locked.

    `name` restricts this to those of one target. Where there are no locks (on Windows), nothing is removed.
    """
    if fcntl is None:
        return
    ours = re.compile(rf"\.{'.+' if name is None else re.escape(name)}\.[a-z0-9_]{{8}}{re.escape(SUFFIX)}")
    with suppress(OSError):  # no such folder, or not readable: whoever writes there reports it
        for left in [folder / n for n in os.listdir(folder) if ours.fullmatch(n)]:
            with suppress(OSError):  # locked, or gone
                handle = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
                finally:
                    os.close(handle)
        # What a writer wrote beside the file that it was locked by.
        for piece in [n for n in os.listdir(folder) if n.endswith(SUFFIX) and ours.fullmatch(n.removesuffix(SUFFIX))]:
            if not (folder / piece.removesuffix(SUFFIX)).exists():
                (folder / piece).unlink(missing_ok=True)


def remove_unfinished() -> None:
    """Removes this process's own temporary files and folders, from another thread: before an end that no `finally` sees."""
    for folder in [each for each in gc.get_objects() if type(each) is tempfile.TemporaryDirectory]:
        with suppress(OSError):
            folder.cleanup()
    for name in list(_UNFINISHED):
        if os.path.isdir(name):
            shutil.rmtree(name, ignore_errors=True)
        for path in (name, name + SUFFIX):
            with suppress(OSError):
                os.unlink(path)


@contextmanager
def _temporary_file(target: Path) -> Iterator[str]:
    """A new file beside the target, locked until the end; removed then unless it was renamed."""
    while True:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=SUFFIX)
        os.close(handle)
        _UNFINISHED.add(name)
        try:
            with locked(name):
                if os.path.exists(name):  # else another process took it for a leftover before it was locked
                    yield name
                    return
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)
            _UNFINISHED.discard(name)


@contextmanager
def locked(path: str | Path, refusal: str = "") -> Iterator[None]:
    """Locks a file or folder. Where another process has it, waits; with a `refusal`, that is the error."""
    if fcntl is None:
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if refusal else 0))
        except BlockingIOError:
            raise InputError(refusal) from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(handle)


def _flush(path: str | Path) -> None:
    """Flushes a file, or the names in a folder, to disk."""
    is_folder = os.path.isdir(path)
    if is_folder and fcntl is None:
        return  # Windows has no handles of folders
    handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if not is_folder or error.errno == errno.EIO:  # some file systems cannot flush folders
            raise
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
