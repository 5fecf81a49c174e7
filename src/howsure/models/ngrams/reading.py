"""Text to numbers: files of any size, in blocks of whole lines, each block on all cores.

A block is cut into one part a core; each part has a vocabulary of its own, and they are merged in the order of the
text, so numbers follow the first appearance of words whatever the number of cores.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.threads import cores
from howsure.models.ngrams.vocabulary import UNITS, Vocabulary

BLOCK = 1 << 25
PARALLEL_FROM = 1 << 20
Ids = NDArray[np.int32]
Progress = Callable[[str, float], None] | None


def units_number(units: str) -> int:
    """The kernel's number of a way to split text."""
    if units not in UNITS:
        raise InputError(f"there are no units {units!r}." + _validate.nearest(units, UNITS))
    return UNITS[units]


def text_bytes(lines: Sequence[str] | str) -> bytes:
    """Sentences in memory as the bytes of a file, a line each."""
    text = lines if isinstance(lines, str) else "\n".join(lines)
    if not isinstance(lines, str) and text.count("\n") != len(lines) - 1:  # some hold a line's end themselves
        text = "\n".join(s.replace("\n", " ") for s in lines)
    return (text + "\n").encode("utf-8", "surrogateescape")


def blocks(source: Any, *, lowercase: bool = False, progress: Progress = None) -> Iterator[bytes]:
    """Whole lines of a text in pieces of about 32 MB: of paths, of "-" (standard input), of bytes or of sentences.

    Bytes that are not UTF-8 are an error that gives their offset.
    """
    if isinstance(source, bytes):
        yield from _checked(iter([source]), "the text", lowercase)
    elif isinstance(source, str | Path):
        yield from _file_blocks(str(source), lowercase, progress)
    elif all(isinstance(s, Path) for s in source):
        for path in source:
            yield from _file_blocks(str(path), lowercase, progress)
    else:
        yield from _checked(iter([text_bytes(source)]), "the text", lowercase)


def _file_blocks(path: str, lowercase: bool, progress: Progress) -> Iterator[bytes]:
    with ExitStack() as stack:
        if path == "-":
            file, size, name = cast(IO[bytes], sys.stdin.buffer), 0, "standard input"
        else:
            if not Path(path).exists():
                raise InputError(f"there is no file {path}.")
            if Path(path).is_dir():
                raise InputError(f"{path} is a folder; a file was expected.")
            opened = gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")  # noqa: SIM115
            file, size, name = cast(IO[bytes], stack.enter_context(opened)), Path(path).stat().st_size, path

        def pieces() -> Iterator[bytes]:
            done = 0
            while piece := file.read(BLOCK):
                done += len(piece)
                yield piece
                if progress is not None and size:
                    progress(f"reading {Path(name).name}", min(done / size, 1.0))

        yield from _checked(_whole_lines(pieces()), name, lowercase)


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        cut = piece.rfind(b"\n") + 1
        if cut == 0:
            rest += piece
            continue
        yield rest + piece[:cut]
        rest = piece[cut:]
    if rest:
        yield rest + b"\n"


def _checked(pieces: Iterator[bytes], name: str, lowercase: bool) -> Iterator[bytes]:
    offset = 0
    for piece in pieces:
        try:
            text = piece.decode("utf-8") if lowercase or not piece.isascii() else None
        except UnicodeDecodeError as error:
            raise InputError(f"{name} is not UTF-8: byte {offset + error.start:,} (from 0) cannot be read.") from None
        if offset == 0 and piece.startswith(b"\xef\xbb\xbf"):
            piece = piece[3:]
            text = None if text is None else text[1:]
            offset = 3
        offset += len(piece)
        if lowercase:
            assert text is not None
            piece = text.lower().encode()
        yield piece if piece.endswith(b"\n") else piece + b"\n"


def block_ids(block: bytes, vocabulary: Vocabulary, units: int, frame: int, *, grow: bool) -> Ids:
    """Numbers of a block's tokens, on all cores when it is worth it."""
    workers = cores()
    if len(block) < PARALLEL_FROM or workers == 1 or frame == 0:
        return vocabulary.read(np.frombuffer(block, np.uint8), units, frame, grow=grow)
    cuts = [0]
    for i in range(1, workers):
        cuts.append(block.find(b"\n", max(cuts[-1], i * len(block) // workers)) + 1 or len(block))
    cuts.append(len(block))
    data = np.frombuffer(block, np.uint8)

    def work(i: int) -> tuple[Vocabulary, Ids]:
        part = data[cuts[i] : cuts[i + 1]]
        own = Vocabulary(1 << 16) if grow else _view(vocabulary)
        return own, own.read(part, units, frame, grow=grow)

    with ThreadPoolExecutor(workers) as pool:
        made = list(pool.map(work, range(workers)))
        if not grow:
            return np.concatenate([ids for _, ids in made])
        numbers = [vocabulary.merge(own) for own, _ in made]
        out = np.empty(sum(len(ids) for _, ids in made), np.int32)
        ends = np.cumsum([0, *(len(ids) for _, ids in made)])
        list(
            pool.map(
                lambda i: np.take(numbers[i], made[i][1], out=out[ends[i] : ends[i + 1]], mode="clip"), range(workers)
            )
        )
    return out


def _view(vocabulary: Vocabulary) -> Vocabulary:
    """The same tables with a reading position of its own."""
    made = Vocabulary.__new__(Vocabulary)
    made._text, made._ends, made._slots = vocabulary._text, vocabulary._ends, vocabulary._slots
    made._state = vocabulary._state.copy()
    return made
