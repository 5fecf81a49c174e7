"""Lines of a text file with their numbers; a byte that is not UTF-8 is an error that names its line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from howsure.errors import InputError


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
                yield number, line.rstrip("\r\n")
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; a file was expected.") from None
    except FileNotFoundError:
        raise InputError(f"there is no file {path}.") from None
