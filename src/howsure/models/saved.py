"""Model files: one `.npz` of plain arrays and a line of JSON that says what they are. Opening one never runs code."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from howsure.errors import InputError

HEADER = "howsure"


def save_model(
    path: str | Path, kind: str, version: int, settings: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Write a model whole or not at all.

    `settings` is what JSON can hold; lists of names (words, tags) are packed with `packed_names`.
    """
    about = json.dumps({"kind": kind, "version": version, "settings": settings}, ensure_ascii=False)
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name} holds Python objects")
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} to write {target.name} into.")
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            content: dict[str, Any] = {HEADER: np.frombuffer(about.encode(), dtype=np.uint8), **arrays}
            np.savez_compressed(file, **content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def model_kind(path: str | Path) -> str:
    """The kind of the model in a file."""
    return str(_read(path, only_header=True)[0]["kind"])


def load_model(path: str | Path, kind: str, version: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Settings and arrays of a model file; an error if it is damaged, of another kind or of a later version."""
    about, arrays = _read(path)
    if about["kind"] != kind:
        raise InputError(f"{path} holds a model of kind {about['kind']}; {kind} was expected.")
    if about["version"] != version:
        raise InputError(
            f"{path} is version {about['version']} of the {kind} format; this howsure reads version {version}: "
            "train it again, or install the howsure that wrote it."
        )
    return about["settings"], arrays


def _read(path: str | Path, only_header: bool = False) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if not Path(path).is_file():
        raise InputError(f"there is no model file {path}.")
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            if HEADER not in file.files:
                raise InputError(f"{path} is not a model that howsure saved.")
            about = json.loads(bytes(file[HEADER]))
            return about, {} if only_header else {n: file[n] for n in file.files if n != HEADER}
    except InputError:
        raise
    except (ValueError, OSError, EOFError, KeyError, AttributeError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise InputError(f"{path} is damaged or not a model file ({error}).") from None


def packed_names(names: list[str] | tuple[str, ...]) -> np.ndarray:
    """Names as one array of bytes, apart by newlines; a newline or backslash inside a name is escaped."""
    escaped = (n.replace("\\", "\\\\").replace("\n", "\\n") for n in names)
    return np.frombuffer("".join(n + "\n" for n in escaped).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpacked_names(packed: np.ndarray) -> list[str]:
    """The inverse of `packed_names`."""
    lines = bytes(packed).decode("utf-8", "surrogatepass").split("\n")[:-1]
    return [_unescaped(n) if "\\" in n else n for n in lines]


def _unescaped(name: str) -> str:
    return "\\".join(piece.replace("\\n", "\n") for piece in name.split("\\\\"))
