"""Plain text: files and folders of it, decoded strictly."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path

from howsure.errors import InputError

TEXT, ANNOTATED = (".txt", ".text", ".md"), (".conllu",)


def decoded(raw: bytes, source: str, encoding: str = "utf-8") -> str:
    """The bytes as text; an error names the first byte that is not of the encoding, and its line."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise InputError(f'there is no encoding "{encoding}"; try utf-8, latin-1 or cp1252.') from None
    if encoding.replace("_", "-").lower() in ("utf-8", "utf8") and raw.startswith(codecs.BOM_UTF8):
        raw = raw[len(codecs.BOM_UTF8) :]
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        raise InputError(
            f"{source}, line {line:,}: byte {column:,} of the line (0x{raw[error.start]:02x}) is not {encoding}. "
            "Name the file's encoding with --encoding (in Python, encoding=), for example latin-1 or cp1252."
        ) from None


def read_text(path: str | Path, encoding: str = "utf-8") -> str:
    """The text of a file."""
    try:
        return decoded(Path(path).read_bytes(), str(path), encoding)
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; a file was expected.") from None
    except FileNotFoundError:
        raise InputError(f"there is no file {path}.") from None


def standard_input(encoding: str = "utf-8") -> str:
    """The text of standard input."""
    return decoded(sys.stdin.buffer.read(), "standard input", encoding)


def text_files(folder: str | Path) -> list[Path]:
    """The text and CoNLL-U files of a folder and the folders in it, in order of name; hidden ones are left out."""
    root = Path(folder)
    found = [
        p
        for p in sorted(root.rglob("*"))
        if p.suffix.lower() in TEXT + ANNOTATED
        and p.is_file()
        and not any(part.startswith(".") for part in p.relative_to(root).parts)
    ]
    if not found:
        raise InputError(f"there is no text in {folder}: files ending in {', '.join(TEXT + ANNOTATED)} are read.")
    return found
