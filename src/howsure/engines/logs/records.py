"""The records of log files, one at a time: JSON lines, one JSON document, or inspect_ai's zipped `.eval`."""

import glob
import gzip
import json
import os
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from howsure import _validate
from howsure.errors import InputError

FORMATS = ("lm-eval", "inspect", "openai", "promptfoo", "llm")
HEAD = 1 << 16
ENDINGS = (".jsonl", ".ndjson", ".json", ".eval", ".gz")
ZSTD = 93  # method of a zip entry
DATED = re.compile(r"_(\d{4}-?\d\d-?\d\d[^_]*)$")


class Skipped(Exception):
    """A record that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands, and what its file says of all of them."""

    path: str
    at: str
    about: dict[str, Any]


Found = tuple[Place, dict[str, Any] | Skipped]


def log_files(pattern: str, kind: str | None) -> tuple[list[tuple[str, str]], int]:
    """The files of a path, a folder (with those inside it) or a glob, each with its format; and how many others there are."""
    if kind is not None:
        _validate.known(kind, FORMATS, f"`log=` knows {', '.join(FORMATS)}; got {kind!r}")
    if Path(pattern).is_file():
        found = kind or recognised(pattern)
        if found is None:
            raise InputError(f"{pattern} is not a log that is recognised: name its format with `log=`.")
        return [(pattern, found)], 0
    listed = [pattern] if Path(pattern).is_dir() else sorted(glob.glob(pattern, recursive=True))
    every: list[str] = []
    for each in listed:
        inside = (os.path.join(folder, name) for folder, _, names in os.walk(each) for name in names)
        every += sorted(inside) if os.path.isdir(each) else [each]
    every = [p for p in every if p.lower().endswith(ENDINGS) and not Path(p).name.startswith(".")]
    if not every:
        raise InputError(f"there is no log {pattern!r}.")
    kinds = {p: recognised(p) for p in every}
    if kind == "llm":  # any JSON lines will do
        kinds = {p: "llm" if found is None and ".jsonl" in p.lower() else found for p, found in kinds.items()}
    elif len(every) == 1 and kind is not None:
        kinds[every[0]] = kind
    taken = [(p, found) for p, found in kinds.items() if found is not None and found == (kind or found)]
    if not taken:
        there = sorted({k for k in kinds.values() if k})
        raise InputError(
            f"none of the {len(every):,} files of {pattern!r} is a log of the format {kind or 'of any tool that is known'}"
            + (f"; there are logs of {', '.join(there)}." if there else ".")
        )
    if len({found for _, found in taken}) > 1:
        raise InputError(
            f"{pattern!r} holds logs of several tools ({', '.join(sorted({k for _, k in taken}))}): choose with `log=`."
        )
    return taken, len(every) - len(taken)


def recognised(path: str) -> str | None:
    """The format of a file by what is in it; None where it is no log of a tool that is known."""
    try:
        if _is_zip(path):
            with open(path, "rb") as packed:
                named = any(e[0] == "header.json" or e[0].startswith("_journal/") for e in _entries(packed))
            return "inspect" if named else None
        with _opened(path) as file:
            head = file.read(HEAD).decode(errors="replace").lstrip("\ufeff \n\r\t")
    except (OSError, EOFError, struct.error):
        return None
    if not head.startswith("{"):
        return None
    try:
        first = json.loads(head.splitlines()[0])
    except json.JSONDecodeError:
        first = {}
    if "doc_id" in first and ("resps" in first or "filtered_resps" in first):
        return "lm-eval"
    if "testCase" in first and "promptIdx" in first:
        return "promptfoo"
    if _is_response(first) or ("custom_id" in first and "response" in first) or _is_response(first.get("response")):
        return "openai"
    if '"eval"' in head and '"task_id"' in head and '"run_id"' in head:
        return "inspect"
    return "promptfoo" if re.match(r'\{\s*"evalId"', head) and '"results"' in head else None


def _is_response(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    named = record.get("object") in ("chat.completion", "text_completion", "response")
    return named or (isinstance(record.get("choices"), list) and "usage" in record)


def records(path: str, kind: str) -> Iterator[Found]:
    """Each record of a file with its place; what is not a record is given as a `Skipped`."""
    try:
        if _is_zip(path):
            yield from _zipped(path)
        elif kind == "inspect" or (kind == "promptfoo" and _is_document(path)):
            yield from _document(path, ("samples",) if kind == "inspect" else ("results", "results"))
        else:
            yield from _lines(path)
    except (OSError, EOFError, struct.error) as error:
        yield Place(path, "", {}), Skipped(f"the file is damaged or cut off: {str(error).splitlines()[0]}")
    except UnicodeDecodeError:
        yield Place(path, "", {}), Skipped("the file is not UTF-8 text")


def _opened(path: str) -> IO[bytes]:
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if packed else open(path, "rb")  # type: ignore[return-value]


def _lines(path: str) -> Iterator[Found]:
    about: dict[str, Any] = {}
    with _opened(path) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                place = Place(path, f"line {number:,}", about)
                try:
                    found = json.loads(line)
                except (ValueError, RecursionError):
                    cut = not line.endswith(b"\n")
                    yield place, Skipped("the last record is cut off" if cut else "not JSON")
                    continue
                yield place, found if isinstance(found, dict) else Skipped("not a JSON object")


def json_records(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, with their line numbers; what is none is an error."""
    for place, found in _lines(path):
        if isinstance(found, Skipped):
            raise InputError(f"{path}, {place.at}: {found}.")
        yield int(place.at[5:].replace(",", "")), found


def _is_document(path: str) -> bool:
    """Whether the first line is not a record by itself."""
    with _opened(path) as file:
        try:
            return "results" in json.loads(file.readline(HEAD))
        except ValueError:
            return True


def _document(path: str, array: tuple[str, ...]) -> Iterator[Found]:
    about: dict[str, Any] = {}
    with _opened(path) as raw:
        stream, number = _Stream(raw), 0
        try:
            for name, value in stream.members(array):
                if name:
                    about[name] = value
                    continue
                number += 1
                good = isinstance(value, dict)
                yield Place(path, f"record {number:,}", about), value if good else Skipped("not a JSON object")
        except (ValueError, RecursionError):
            yield Place(path, f"after record {number:,}", about), Skipped("the file is cut off or not JSON")


class _Stream:
    """A JSON document that is read piece by piece."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._text, self._at = file, "", 0
        self._read = json.JSONDecoder().raw_decode

    def _more(self, size: int = HEAD) -> bool:
        block = self._file.read(size)
        while block and block[-1] & 0x80 and (more := self._file.read(1)):  # not in the middle of a character
            block += more
        self._text, self._at = self._text[self._at :] + block.decode(), 0
        return bool(block)

    def _next(self) -> str:
        """The next character that matters."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n,:\ufeff":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                raise ValueError("cut off")

    def _value(self) -> Any:
        self._next()
        size = HEAD
        while True:
            try:
                value, end = self._read(self._text, self._at)
                if end < len(self._text) or not self._more(size):  # a number may go on
                    self._at = end
                    return value
            except ValueError:
                if not self._more(size):
                    raise
            size *= 2

    def members(self, array: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        """Names and values of an object; the elements of the array at the path given, each under no name."""
        if self._next() != "{":
            raise ValueError("not an object")
        self._at += 1
        while self._next() != "}":
            name = self._value()
            opens = self._next() if name == array[0] else ""
            if opens == "{" and len(array) > 1:
                yield from self.members(array[1:])
            elif opens == "[":
                self._at += 1
                while self._next() != "]":
                    yield "", self._value()
                self._at += 1
            else:
                yield name, self._value()
        self._at += 1


def _zipped(path: str) -> Iterator[Found]:
    with open(path, "rb") as raw, open(path, "rb") as listed:
        heads = [e for e in _entries(listed) if e[0] in ("header.json", "_journal/start.json")]
        about = json.loads(_unpacked(raw, max(heads)[1:])) if heads else {}  # the header, where there are both
        if not _listed(listed):
            yield Place(path, "", about), Skipped("the zip is cut off: only whole samples before that are read")
        for name, *entry in _entries(listed):
            if name.startswith("samples/"):
                place = Place(path, name, about)
                try:
                    yield place, json.loads(_unpacked(raw, entry))
                except (ValueError, OSError, zlib.error, struct.error):
                    yield place, Skipped("a sample that is damaged or cut off")


def _entries(file: IO[bytes]) -> Iterator[tuple[str, int, int, int]]:
    """Name, method, packed size and place of each entry of a zip, one at a time: Python's reader holds them all."""
    tail = _listed(file)
    if not tail:
        yield from _entries_before_a_cut(file)
        return
    end = tail.rfind(b"PK\x05\x06")
    count, start = struct.unpack("<10xH4xI", tail[end : end + 20])
    if start == 0xFFFFFFFF or count == 0xFFFF:
        file.seek(struct.unpack("<8xQ", tail[end - 20 : end - 4])[0])
        count, start = struct.unpack("<32xQ8xQ", file.read(56))
    file.seek(start)
    for _ in range(count):
        fields = struct.unpack("<10xH8xII3H8xI", file.read(46))
        method, packed, whole, of_name, of_extra, of_comment, at = fields
        name, extra = file.read(of_name).decode(errors="replace"), file.read(of_extra)
        file.seek(of_comment, os.SEEK_CUR)
        if extra[:2] == b"\x01\x00":  # sizes of 64 bits, those that do not fit in 32
            large = [n for (n,) in struct.iter_unpack("<Q", extra[4 : 4 + struct.unpack("<H", extra[2:4])[0] // 8 * 8])]
            for size in (whole, packed, at):
                if size == 0xFFFFFFFF:
                    size = large.pop(0)
                whole, packed, at = packed, at, size
        yield name, method, packed, at


def _is_zip(path: str) -> bool:
    """Whether it begins like one; it may be cut off."""
    with open(path, "rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def _listed(file: IO[bytes]) -> bytes:
    """The end of a zip, with the place of the list of its entries; nothing where it is cut off."""
    file.seek(max(file.seek(0, os.SEEK_END) - HEAD, 0))
    tail = file.read()
    return tail if 0 <= tail.rfind(b"PK\x05\x06") <= len(tail) - 22 else b""


def _entries_before_a_cut(file: IO[bytes]) -> Iterator[tuple[str, int, int, int]]:
    """The same from the entries themselves, where the list at the end is missing."""
    size, at = file.seek(0, os.SEEK_END), 0
    while at + 30 <= size:
        file.seek(at)
        mark, flags, method, packed, of_name, of_extra = struct.unpack("<4s2xHH8xI4xHH", file.read(30))
        after = at + 30 + of_name + of_extra + packed
        if mark != b"PK\x03\x04" or flags & 8 or after > size:  # sizes that are told later, or cut off
            return
        yield file.read(of_name).decode(errors="replace"), method, packed, at
        at = after


def _unpacked(raw: IO[bytes], entry: Sequence[int]) -> bytes:
    """An entry's bytes: stored, deflated or zstd, which Python's reader does not know before 3.14."""
    method, packed, at = entry
    raw.seek(at + 26)
    of_name, of_extra = struct.unpack("<HH", raw.read(4))
    raw.seek(of_name + of_extra, os.SEEK_CUR)
    data = raw.read(packed)
    if method != ZSTD:
        return zlib.decompress(data, -15) if method else data
    import pyarrow as pa

    with pa.input_stream(pa.BufferReader(data), compression="zstd") as stream:
        whole: bytes = stream.read()
    return whole


def task_of(path: str) -> str:
    """samples_arc_easy_2024-05-01T10-00-00.jsonl → arc_easy."""
    stem = re.sub(r"(\.jsonl|\.ndjson|\.json|\.eval)?(\.gz)?$", "", Path(path).name).removeprefix("samples_")
    return DATED.sub("", stem) or stem
