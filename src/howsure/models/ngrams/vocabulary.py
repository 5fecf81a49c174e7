"""Text to numbers: words and their numbers, held as bytes (0 is <UNK>, 1 is <s>, 2 is </s>), and files of any size read in blocks.

A block has whole lines and is read on all cores: each part has a vocabulary of its own, and they are merged in the order of the
text, so numbers follow the first appearance of words whatever the number of cores.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from copy import copy
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.errors import InputError
from howsure.files import standard_input
from howsure.kernels.ngrams.choice import kernel
from howsure.kernels.threads import cores
from howsure.processes import Progress

UNK, BOS, EOS = 0, 1, 2
RESERVED = ("<UNK>", "<s>", "</s>")
UNITS = {"words": 0, "punctuation": 1, "characters": 2}
_DONE, _WORDS_FULL = 0, 2
_POSITION, _N_WORDS, _N_IDS, _N_TEXT, _IN_LINE = range(5)
BLOCK = 1 << 25
PARALLEL_FROM = 1 << 20
Ids = NDArray[np.int32]


class Vocabulary:
    """Numbers of words by a hash of their bytes. Grows while a text is read with `grow`."""

    def __init__(self, capacity: int = 1 << 10) -> None:
        capacity = 1 << max(4, (capacity - 1).bit_length())
        self._slots = np.zeros(2 * capacity, np.int64)
        self._text = np.zeros(8 * capacity, np.uint8)
        self._ends = np.zeros(capacity, np.int64)
        self._state = np.zeros(5, np.int64)
        self.add([w.encode() for w in RESERVED])

    def __len__(self) -> int:
        return int(self._state[_N_WORDS])

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} words)"

    @property
    def packed(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """All words' bytes, and where each ends."""
        return self._text[: self._state[_N_TEXT]], self._ends[: len(self)]

    @classmethod
    def from_packed(cls, text: NDArray[np.uint8], ends: NDArray[np.int64]) -> Vocabulary:
        """The inverse of `packed`."""
        made = cls.__new__(cls)
        made._text, made._ends = np.array(text, np.uint8), np.array(ends, np.int64)
        made._state = np.array([0, len(ends), 0, len(text), 0], np.int64)
        made._rehash(len(ends))
        return made

    def view(self) -> Vocabulary:
        """The same tables with a reading position of its own."""
        made = copy(self)
        made._state = self._state.copy()
        return made

    @cached_property
    def words(self) -> list[str]:
        """The words in order; take it only once the vocabulary no longer grows."""
        text, ends = self.packed
        whole, places = bytes(text), [0, *ends.tolist()]
        return [whole[begin:end].decode("utf-8", "surrogateescape") for begin, end in pairwise(places)]

    def add(self, words: Iterable[bytes]) -> NDArray[np.int32]:
        """Numbers of words, those not yet there added."""
        return self._merge(*_packed(words), grow=True)

    def merge(self, other: Vocabulary) -> NDArray[np.int32]:
        """Add another's words; returns this vocabulary's numbers of them."""
        return self._merge(*other.packed, grow=True)

    def numbers(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Numbers of words, 0 for those not there."""
        return self._merge(*_packed(w.encode("utf-8", "surrogateescape") for w in words), grow=False)

    def number(self, word: str) -> int:
        """The number of one word, 0 if it is not there."""
        return int(self.numbers([word])[0])

    def read(self, data: NDArray[np.uint8], units: int, frame: int, *, grow: bool) -> NDArray[np.int32]:
        """Numbers of the tokens of `data`, whole lines of UTF-8."""
        run = kernel("read_tokens", len(data))
        parts: list[NDArray[np.int32]] = []
        self._state[_POSITION] = self._state[_IN_LINE] = 0
        ids = np.empty(min(len(data), max(64, len(data) // 4)) + 2 * frame + 16, np.int32)
        while True:
            self._state[_N_IDS] = 0
            status = run(data, units, frame, int(grow), self._slots, self._text, self._ends, ids, self._state)
            parts.append(ids[: self._state[_N_IDS]].copy())
            if status == _DONE:
                return parts[0] if len(parts) == 1 else np.concatenate(parts)
            if status == _WORDS_FULL:
                self._reserve(2 * len(self), 2 * int(self._state[_N_TEXT]) + len(data) // 16 + 64_000)

    def _merge(self, text: NDArray[np.uint8], ends: NDArray[np.int64], *, grow: bool) -> NDArray[np.int32]:
        numbers = np.zeros(len(ends), np.int32)
        if grow:
            self._reserve(len(self) + len(ends) + 1, int(self._state[_N_TEXT]) + len(text) + 1)
        run = kernel("add_words", len(text))
        run(text, ends, int(grow), self._slots, self._text, self._ends, self._state, numbers)
        return numbers

    def _reserve(self, n_words: int, n_text: int) -> None:
        if n_text > len(self._text):
            self._text = np.append(self._text, np.zeros(max(n_text, len(self._text)), np.uint8))
        if n_words > len(self._ends):
            self._ends = np.append(self._ends, np.zeros(max(n_words, len(self._ends)), np.int64))
        if 2 * len(self._ends) > len(self._slots):
            self._rehash(len(self._ends))

    def _rehash(self, capacity: int) -> None:
        self._slots = np.zeros(1 << max(4, (2 * capacity).bit_length()), np.int64)
        kernel("rehash", int(self._state[_N_TEXT]))(self._text, self._ends, len(self), self._slots)


def vocabulary_of(words: Iterable[str]) -> Vocabulary:
    """A vocabulary of given words after the reserved ones; a word given twice is an error."""
    made = Vocabulary()
    given = [w for w in words if w not in RESERVED and w != "<unk>"]
    made.add([w.encode() for w in given])
    if len(made) != len(given) + len(RESERVED):
        first = {w: i for i, w in reversed(list(enumerate(given)))}
        twice = next(w for i, w in enumerate(given) if first[w] < i)
        raise InputError(f"the vocabulary names {twice!r} twice.")
    return made


def kept_words(
    vocabulary: Vocabulary, counts: NDArray[Any], min_count: int, size: int | None
) -> tuple[Vocabulary, NDArray[np.int32]]:
    """The words of at least `min_count`, at most `size` of them (the most frequent, earliest first among equals).

    Returns the smaller vocabulary and the new number of each old word, <UNK> for those dropped.
    """
    kept, words = counts >= min_count, slice(len(RESERVED), None)
    if size is not None and int(kept[words].sum()) > size:
        kept[np.argsort(-counts[words] * kept[words], kind="stable")[size:] + len(RESERVED)] = False
    kept[: len(RESERVED)] = True
    numbers = np.where(kept, np.cumsum(kept) - 1, UNK).astype(np.int32)
    text, ends = vocabulary.packed
    lengths = np.diff(ends, prepend=0)
    made = Vocabulary.from_packed(text[np.repeat(kept, lengths)], np.cumsum(lengths[kept]))
    return made, numbers


def _packed(words: Iterable[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    given = list(words)
    return np.frombuffer(b"".join(given), np.uint8), np.cumsum([len(w) for w in given], dtype=np.int64)


def units_number(units: str) -> int:
    """The kernel's number of a way to split text."""
    return UNITS[_validate.known(units, UNITS, f"there are no units {units!r}")]


def natural_units(block: bytes) -> str:
    """ "punctuation" for text as people write it, where most marks touch a word; "words" where they stand apart already."""
    text = block[:1_000_000].decode("utf-8", "replace")
    # The mark first, then what stands before it: a search for marks is several times as fast as one for letters.
    before = (r"(?<=\w[.,;:!?])", r"(?<!\S[.,;:!?])")
    touching, apart = (len(re.findall(rf"[.,;:!?]{b}(?!\S)", text)) for b in before)
    return "punctuation" if touching > apart else "words"


def text_bytes(lines: Sequence[str] | str) -> bytes:
    """Sentences in memory as the bytes of a file, a line each."""
    text = lines if isinstance(lines, str) else "\n".join(lines)
    if not isinstance(lines, str) and text.count("\n") != len(lines) - 1:  # some hold a line's end themselves
        text = "\n".join(s.replace("\n", " ") for s in lines)
    return (text + "\n").encode("utf-8", "surrogateescape")


def blocks(source: Any, *, lowercase: bool = False, progress: Progress | None = None) -> Iterator[bytes]:
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


def _file_blocks(path: str, lowercase: bool, progress: Progress | None) -> Iterator[bytes]:
    with ExitStack() as stack:
        if path == "-":
            file, size, name = standard_input(), 0, "standard input"
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
                piece += file.readline()  # whole lines
                done += len(piece)
                yield piece
                if progress is not None and size:
                    progress(min(done / size, 1.0), 1.0, f"reading {Path(name).name}")

        yield from _checked(pieces(), name, lowercase)


def _checked(pieces: Iterator[bytes], name: str, lowercase: bool) -> Iterator[bytes]:
    offset = 0
    for piece in pieces:
        if (at := piece.find(b"\0")) >= 0:
            raise InputError(f"{name} holds a NUL byte (byte {offset + at:,} from 0): binary data, not text.")
        try:
            text = piece.decode("utf-8") if lowercase or not piece.isascii() else None
        except UnicodeDecodeError as error:
            raise InputError(f"{name} is not UTF-8: byte {offset + error.start:,} (from 0) cannot be read.") from None
        if offset == 0 and piece.startswith(b"\xef\xbb\xbf"):
            piece = piece[3:]
            text = None if text is None else text[1:]
            offset = 3
        offset += len(piece)
        if lowercase and text is not None:
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
        own = Vocabulary(1 << 16) if grow else vocabulary.view()
        return own, own.read(part, units, frame, grow=grow)

    with ThreadPoolExecutor(workers) as pool:
        made = list(pool.map(work, range(workers)))
        if not grow:
            return np.concatenate([ids for _, ids in made])
        numbers = [vocabulary.merge(own) for own, _ in made]
        return np.concatenate(list(pool.map(lambda i: np.take(numbers[i], made[i][1], mode="clip"), range(workers))))
