"""Model files: one `.npz` of plain arrays and a line of JSON that says what they are. Opening one never runs code."""

import json
import mmap
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from howsure.errors import InputError
from howsure.files import check_writable, whole_file

HEADER = "howsure"
LARGEST = 1e30  # weights, in size: sums of them do not overflow
# What reading a file of wrong bytes may raise.
DAMAGE = (
    *(ValueError, TypeError, LookupError, AttributeError, OSError, EOFError, MemoryError, OverflowError, RuntimeError),
    *(struct.error, zlib.error, zipfile.BadZipFile, zipfile.LargeZipFile),
)


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
    check_writable(str(path))
    named: dict[str, Any] = {HEADER: np.frombuffer(about.encode(), dtype=np.uint8), **arrays}
    with whole_file(path) as file:
        if mapped:
            _write_aligned(file, named)
        else:
            np.savez_compressed(file, **named)


def model_kind(path: str | Path) -> str:
    """The kind of the model in a file."""
    return str(_read(path, lambda _: {})[0]["kind"])


class Tempered:
    """A model, a dataclass, with `settings`: its `temperature` divides every score."""

    settings: dict[str, Any]

    @property
    def temperature(self) -> float:
        """1 unless one was fitted."""
        return float(self.settings.get("temperature", 1.0))

    def with_settings(self, **changes: Any) -> Self:
        """A copy with some settings changed."""
        return replace(self, settings=self.settings | changes)  # type: ignore[type-var]


@dataclass(frozen=True, slots=True)
class Array:
    """What an array must be, so that no kernel reads outside it and no number is NaN.

    `kind` is NumPy's ("f", "u", "iu"). `shape` names its sizes: a name has one size in the whole model. Whole numbers are
    0 or more and below the size that `below` names. Others are not larger than LARGEST, or -inf if `log` (of 0).
    """

    kind: str
    shape: tuple[str, ...]
    below: str | None = None
    log: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """Names packed by `packed_names`; there are `size` of them, and each is there once unless `repeated`."""

    size: str
    repeated: bool = False


def load_model(
    path: str | Path,
    kind: str,
    version: int,
    wanted: Mapping[str, Array | Names],
    *,
    lists: Mapping[str, str] | None = None,
    mapped: bool = False,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings and arrays of a model file; an error if it is damaged, of another kind or of a later version.

    `wanted` says what its arrays must be, `lists` which settings are lists of names, and what their lengths are called.
    Names come unpacked, as lists. A setting `temperature` is a number above 0.

    With `mapped`, uncompressed arrays of a file above 64 MB are views of it, read only when used and not checked
    against their sums; smaller files are read and checked whole.
    """
    is_large = Path(path).is_file() and Path(path).stat().st_size > _LARGE
    about, arrays = _read(path, _mapped if mapped and is_large else None)
    if about["kind"] != kind:
        raise InputError(f"{path} holds a model of kind {about['kind']}; {kind} was expected.")
    if about["version"] != version:
        raise InputError(
            f"{path} is version {about['version']} of the {kind} format; this howsure reads version {version}: "
            "train it again, or install the howsure that wrote it."
        )
    try:
        settings = about["settings"]
        sizes = {size: len(_distinct(settings[name], name)) for name, size in (lists or {}).items()}
        temperature = settings.get("temperature", 1.0)
        if isinstance(temperature, bool) or not 1.0 / LARGEST <= float(temperature) <= LARGEST:
            raise ValueError(f"the temperature is {temperature!r}")
        return settings, checked_arrays(arrays, wanted, sizes)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        said = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path} is damaged: {said}.") from None


def checked_arrays(
    arrays: Mapping[str, np.ndarray], wanted: Mapping[str, Array | Names], sizes: dict[str, int]
) -> dict[str, Any]:
    """The arrays that are wanted, names unpacked; a `ValueError` says what is wrong. `sizes` are those known already."""
    made: dict[str, Any] = {}
    numbers = {name: want for name, want in wanted.items() if isinstance(want, Array)}
    for name, want in wanted.items():
        if isinstance(want, Names):
            packed = arrays[name]
            if packed.dtype != np.uint8 or packed.ndim != 1:
                raise ValueError(f"{name} holds no names")
            names = unpacked_names(packed)
            made[name] = names if want.repeated else _distinct(names, name)
            if sizes.setdefault(want.size, len(names)) != len(names):
                raise ValueError(f"{name} holds {len(names):,} names, not {sizes[want.size]:,}")
    for name, want in numbers.items():
        array = arrays[name]
        if array.dtype.kind not in want.kind or not array.dtype.isnative or array.dtype.itemsize > 8:
            raise ValueError(f"{name} is of type {array.dtype}")
        if array.ndim != len(want.shape) or any(
            sizes.setdefault(size, n) != n for size, n in zip(want.shape, array.shape, strict=False)
        ):
            raise ValueError(f"{name} has the shape {array.shape}")
        made[name] = np.ascontiguousarray(array)
    for name, want in numbers.items():
        array = made[name]
        if not array.size:
            continue
        least, most = array.min(), array.max()  # NaN if any is
        if want.kind == "f":
            least, most = float(least), float(most)  # LARGEST is more than half precision holds
            if not most <= LARGEST or not (least >= -LARGEST or (want.log and least == -np.inf)):
                raise ValueError(f"{name} holds {least:g} to {most:g}")
        elif least < 0 or (want.below is not None and int(most) >= sizes[want.below]):
            raise ValueError(f"{name} holds {int(least if least < 0 else most):,}, which is not there")
    return made


def _distinct(names: Any, name: str) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names) or len(set(names)) < len(names):
        raise ValueError(f"{name} is not a list of different names")
    return names


def _read(
    path: str | Path, read: Callable[[IO[bytes]], dict[str, np.ndarray]] | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a file says of itself, and its arrays; `read` gives them another way."""
    if not Path(path).is_file():
        raise InputError(f"there is no model file {path}.")
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            if HEADER not in file.files:
                raise InputError(f"{path} is not a model that howsure saved.")
            about = json.loads(bytes(file[HEADER]))
            if not isinstance(about, dict) or not {"kind", "version", "settings"} <= about.keys():
                raise InputError(f"{path} is damaged: its header says too little.")
            return about, read(opened) if read else {n: file[n] for n in file.files if n != HEADER}
    except InputError:
        raise
    except DAMAGE as error:
        raise InputError(f"{path} is damaged or not a model file ({error}).") from None


_LARGE = 1 << 26
_ALIGNMENT = 64
_LOCAL_HEADER = 30  # bytes of a zip member before its name


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


def _mapped(file: IO[bytes]) -> dict[str, np.ndarray]:
    made, form = {}, np.lib.format
    whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name == HEADER:
                continue
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"array {name} is compressed")
            file.seek(member.header_offset + 26)
            lengths = struct.unpack("<HH", file.read(4))
            file.seek(member.header_offset + _LOCAL_HEADER + sum(lengths))
            header = form.read_array_header_1_0 if form.read_magic(file) == (1, 0) else form.read_array_header_2_0
            shape, _, dtype = header(file)
            if dtype.hasobject:
                raise ValueError(f"array {name} holds Python objects")
            made[name] = np.frombuffer(whole, dtype, int(np.prod(shape)), file.tell()).reshape(shape)
    return made


def packed_names(names: list[str] | tuple[str, ...]) -> np.ndarray:
    """Names as one array of bytes, separated by newlines; a newline or backslash inside a name is escaped."""
    escaped = (n.replace("\\", "\\\\").replace("\n", "\\n") for n in names)
    return np.frombuffer("".join(n + "\n" for n in escaped).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpacked_names(packed: np.ndarray) -> list[str]:
    """The inverse of `packed_names`."""
    lines = bytes(packed).decode("utf-8", "surrogatepass").split("\n")[:-1]
    return ["\\".join(p.replace("\\n", "\n") for p in n.split("\\\\")) if "\\" in n else n for n in lines]
