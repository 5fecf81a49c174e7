"""Words and their numbers, held as bytes: 0 is <UNK>, 1 is <s>, 2 is </s>."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.kernels.ngrams.choice import kernel

UNK, BOS, EOS = 0, 1, 2
RESERVED = ("<UNK>", "<s>", "</s>")
UNITS = {"words": 0, "punctuation": 1, "characters": 2}
SPACE = "▁"  # how a space is written where tokens are separated by spaces
_DONE, _IDS_FULL, _WORDS_FULL = 0, 1, 2
_POSITION, _N_WORDS, _N_IDS, _N_TEXT, _IN_LINE = range(5)


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
        made._state = np.zeros(5, np.int64)
        made._state[_N_WORDS], made._state[_N_TEXT] = len(ends), len(text)
        made._slots = np.zeros(0, np.int64)
        made._rehash(len(ends))
        return made

    @cached_property
    def words(self) -> list[str]:
        """The words in order; take it only once the vocabulary no longer grows."""
        text, ends = self.packed
        whole, begin, made = bytes(text), 0, []
        for end in ends.tolist():
            made.append(whole[begin:end].decode("utf-8", "surrogateescape"))
            begin = end
        return made

    def add(self, words: Iterable[bytes]) -> NDArray[np.int32]:
        """Numbers of words, those not yet there added."""
        text, ends = _packed(words)
        return self._merge(text, ends, grow=True)

    def merge(self, other: Vocabulary) -> NDArray[np.int32]:
        """Add another's words; returns this vocabulary's numbers of them."""
        return self._merge(*other.packed, grow=True)

    def numbers(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Numbers of words, 0 for those not there."""
        text, ends = _packed(w.encode("utf-8", "surrogateescape") for w in words)
        return self._merge(text, ends, grow=False)

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
        run(text, ends, len(ends), 0, int(grow), self._slots, self._text, self._ends, self._state, numbers)
        return numbers

    def _reserve(self, n_words: int, n_text: int) -> None:
        if n_text > len(self._text):
            self._text = np.concatenate([self._text, np.zeros(max(n_text, len(self._text)), np.uint8)])
        if n_words > len(self._ends):
            self._ends = np.concatenate([self._ends, np.zeros(max(n_words, len(self._ends)), np.int64)])
        if 2 * len(self._ends) > len(self._slots):
            self._rehash(len(self._ends))

    def _rehash(self, capacity: int) -> None:
        self._slots = np.zeros(1 << max(4, (2 * capacity).bit_length()), np.int64)
        kernel("rehash", int(self._state[_N_TEXT]))(self._text, self._ends, len(self), self._slots)


def vocabulary_of(words: Iterable[str]) -> Vocabulary:
    """A vocabulary of given words after the reserved ones; a word given twice is an error."""
    made = Vocabulary()
    given = [w for w in words if w not in RESERVED and w != "<unk>"]
    numbers = made.add([w.encode() for w in given])
    if len(made) != len(given) + len(RESERVED):
        seen: set[int] = set()
        for word, number in zip(given, numbers.tolist(), strict=True):
            if number in seen:
                raise InputError(f"the vocabulary names {word!r} twice.")
            seen.add(number)
    return made


def kept_words(
    vocabulary: Vocabulary, counts: NDArray[Any], min_count: int, size: int | None
) -> tuple[Vocabulary, NDArray[np.int32]]:
    """The words of at least `min_count`, at most `size` of them (the most frequent, earliest first among equals).

    Returns the smaller vocabulary and the new number of each old word, <UNK> for those dropped.
    """
    kept = counts >= min_count
    kept[: len(RESERVED)] = True
    if size is not None and int(kept.sum()) - len(RESERVED) > size:
        order = np.argsort(-counts[len(RESERVED) :] * kept[len(RESERVED) :], kind="stable")[:size] + len(RESERVED)
        kept[:] = False
        kept[: len(RESERVED)] = True
        kept[order] = True
    numbers = np.where(kept, np.cumsum(kept) - 1, UNK).astype(np.int32)
    text, ends = vocabulary.packed
    lengths = np.diff(ends, prepend=0)
    made = Vocabulary.from_packed(text[np.repeat(kept, lengths)], np.cumsum(lengths[kept]))
    return made, numbers


def _packed(words: Iterable[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    given = list(words)
    return np.frombuffer(b"".join(given), np.uint8), np.cumsum([len(w) for w in given], dtype=np.int64)
