"""Model files: one `.npz` of plain arrays and a line of JSON that says what they are. Opening one never runs code."""

from __future__ import annotations

import json
import mmap
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from howsure.errors import InputError
from howsure.files import whole_file

HEADER = "howsure"


def save_model(
    path: str | Path,
    kind: str,
    version: int,
    settings: dict[str, Any],
    arrays: dict[str, np.ndarray],
    *,
    mapped: bool = False,
) -> None:
    """Write a model whole or not at all.

    `settings` is what JSON can hold; lists of names (words, tags) are packed with `packed_names`. With `mapped` the
    arrays are not compressed and lie aligned, so that `load_model(mapped=True)` need not read them.
    """
    about = json.dumps({"kind": kind, "version": version, "settings": settings}, ensure_ascii=False)
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name} holds Python objects")
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} to write {target.name} into.")
    named: dict[str, Any] = {HEADER: np.frombuffer(about.encode(), dtype=np.uint8), **arrays}
    with whole_file(target) as file:
        if mapped:
            _write_aligned(file, named)
        else:
            np.savez_compressed(file, **named)


def model_kind(path: str | Path) -> str:
    """The kind of the model in a file."""
    return str(_read(path, only_header=True)[0]["kind"])


def load_model(
    path: str | Path, kind: str, version: int, *, mapped: bool = False
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Settings and arrays of a model file; an error if it is damaged, of another kind or of a later version.

    With `mapped`, uncompressed arrays of a file above 64 MB are views of it, read only when used and not checked
    against their sums; smaller files are read and checked whole.
    """
    about, arrays = _read(path, only_header=mapped and _is_large(path))
    if mapped and _is_large(path):
        arrays = _mapped(path)
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


_LARGE = 1 << 26
_ALIGNMENT = 64
_LOCAL_HEADER = 30  # bytes of a zip member before its name


def _is_large(path: str | Path) -> bool:
    return Path(path).is_file() and Path(path).stat().st_size > _LARGE


def _write_aligned(file: Any, arrays: dict[str, Any]) -> None:
    """An uncompressed `.npz` whose arrays begin at multiples of 64 bytes: an extra field of each member pads it."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            fixed = file.tell() + _LOCAL_HEADER + len(member.filename) + 20 + 4  # 20: the sizes of a large member
            pad = -fixed % _ALIGNMENT
            member.extra = struct.pack("<HH", 0x4853, pad) + b"\0" * pad
            with archive.open(member, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, np.ascontiguousarray(array), allow_pickle=False)


def _mapped(path: str | Path) -> dict[str, np.ndarray]:
    made = {}
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if name == HEADER:
                    continue
                if member.compress_type != zipfile.ZIP_STORED:
                    raise ValueError(f"array {name} is compressed")
                file.seek(member.header_offset + 26)
                lengths = struct.unpack("<HH", file.read(4))
                file.seek(member.header_offset + _LOCAL_HEADER + sum(lengths))
                shape, _, dtype = (
                    np.lib.format.read_array_header_1_0(file)
                    if (np.lib.format.read_magic(file) == (1, 0))
                    else np.lib.format.read_array_header_2_0(file)
                )
                if dtype.hasobject:
                    raise ValueError(f"array {name} holds Python objects")
                n = int(np.prod(shape))
                made[name] = np.frombuffer(whole, dtype, n, file.tell()).reshape(shape)
    except (ValueError, OSError, EOFError, struct.error, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise InputError(f"{path} is damaged or not a model file ({error}).") from None
    return made


def packed_names(names: list[str] | tuple[str, ...]) -> np.ndarray:
    """Names as one array of bytes, separated by newlines; a newline or backslash inside a name is escaped."""
    escaped = (n.replace("\\", "\\\\").replace("\n", "\\n") for n in names)
    return np.frombuffer("".join(n + "\n" for n in escaped).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpacked_names(packed: np.ndarray) -> list[str]:
    """The inverse of `packed_names`."""
    lines = bytes(packed).decode("utf-8", "surrogatepass").split("\n")[:-1]
    return [_unescaped(n) if "\\" in n else n for n in lines]


def _unescaped(name: str) -> str:
    return "\\".join(piece.replace("\\n", "\n") for piece in name.split("\\\\"))
