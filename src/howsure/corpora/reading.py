"""Where the corpora are (HOWSURE_DATA), the lines of their files with numbers, and their splits."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from howsure.data import table
from howsure.errors import InputError

T = TypeVar("T")
# Folders that the studies read (`howsure doctor` says which are there).
CORPORA = tuple(sorted(row["folder"] for row in table("corpora")))


def corpus_path(*parts: str) -> Path:
    """A file or folder below HOWSURE_DATA; an error that says what to do where it is absent."""
    root = os.environ.get("HOWSURE_DATA")
    if not root:
        raise InputError(f"the corpus {parts[0]} is needed: set HOWSURE_DATA to the folder that holds {parts[0]}/.")
    path = Path(root, *parts)
    if not path.exists():
        raise InputError(f"the corpus {parts[0]} is needed, but there is no {path}.")
    return path


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """(1, first line), (2, second line), … without line ends."""
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(file, 1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise InputError(
                        f"{path}, line {number}: not UTF-8 (byte {error.start + 1} of the line)."
                    ) from None
                if "\0" in line:
                    raise InputError(f"{path}, line {number}: a NUL byte: binary data, not text.")
                yield number, line.rstrip("\r\n")
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; a file was expected.") from None
    except FileNotFoundError:
        raise InputError(f"there is no file {path}.") from None


def json_documents(path: str | Path, made: Callable[[Any, str], T]) -> Iterator[T]:
    """`made(object, where)` of each line of JSON that is not blank; an error names file and line."""
    for number, line in numbered_lines(path):
        where = f"{path}, line {number}"
        try:
            if line.strip():
                yield made(json.loads(line), where)
        except InputError:
            raise
        except json.JSONDecodeError as error:
            raise InputError(f"{where}: not JSON ({error.msg}, column {error.colno}).") from None
        except (TypeError, LookupError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"{where}: the document cannot be read ({type(error).__name__}: {error}).") from None


def read_splits(path: str | Path) -> dict[str, list[str]]:
    """The names under each `## part`, in order; a name in two parts is an error."""
    parts: dict[str, list[str]] = {}
    seen: dict[str, str] = {}
    current: str | None = None
    for number, line in numbered_lines(path):
        text = line.strip()
        if text.startswith("## "):
            current = text[3:].strip()
            parts.setdefault(current, [])
        elif text.startswith("* ") and current is not None:
            name = text[2:].strip()
            if name in seen:
                raise InputError(f"{path}, line {number}: {name} is in {seen[name]} and in {current}.")
            seen[name] = current
            parts[current].append(name)
    return {part: names for part, names in parts.items() if names}
