"""Which words the model met in training, as 32-bit hashes: enough to tell English from what is not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

import numpy as np

# A note is due when more than half of at least 20 words of letters are unknown.
MOST_UNKNOWN, LEAST_WORDS = 0.5, 20


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Hashes of words in lower case."""

    hashes: frozenset[int]

    def __contains__(self, word: str) -> bool:
        return _hash(word) in self.hashes

    def to_array(self) -> np.ndarray:
        return np.array(sorted(self.hashes), dtype=np.uint32)

    @classmethod
    def of(cls, words: Iterable[str]) -> Vocabulary:
        return cls(frozenset(_hash(w) for w in words))

    @classmethod
    def from_array(cls, hashes: np.ndarray) -> Vocabulary:
        return cls(frozenset(hashes.tolist()))

    def unknown_share(self, words: Iterable[str]) -> float | None:
        """The share of words of letters that training never met; None where there are too few words to tell.

        >>> Vocabulary.of(["yes"]).unknown_share(["Yes", "nyet", "."] * 20)
        0.5
        """
        letters = [w for w in words if w.isalpha()]
        if len(letters) < LEAST_WORDS:
            return None
        return sum(w not in self for w in letters) / len(letters)


def _hash(word: str) -> int:
    return crc32(word.lower().encode("utf-8", "surrogatepass"))
