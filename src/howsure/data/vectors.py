"""Word vectors that ship: the most frequent words of GloVe 6B, 100 numbers each (public domain, PDDL 1.0)."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from howsure.errors import InputError

if TYPE_CHECKING:
    import numpy as np

SHIPPED = "vectors.npz"
LEVELS = 7  # a number is one of -7 … 7 times its row's scale


class WordVectors:
    """Words in lower case, most frequent first, and their vectors as the rows of `matrix` (float32)."""

    __slots__ = ("_row", "matrix", "words")

    def __init__(self, words: Sequence[str], matrix: np.ndarray) -> None:
        self.words = tuple(words)
        self.matrix = matrix
        self._row = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"WordVectors({len(self):,} words × {self.matrix.shape[1]})"

    def rows(self, words: Iterable[str]) -> np.ndarray:
        """The row of each word, looked up in lower case; -1 where there is none.

        Examples
        --------
        >>> vectors = word_vectors()
        >>> rows = vectors.rows(["The", "king", "xqzzt"])
        >>> int(rows[0]), int(rows[2])
        (0, -1)
        """
        import numpy as np

        row = self._row
        return np.fromiter((row.get(word.lower(), -1) for word in words), np.int64)

    def of(self, words: Iterable[str]) -> np.ndarray:
        """The vector of each word (a row each); zeros where there is none."""
        rows = self.rows(words)
        found = self.matrix[rows]
        found[rows < 0] = 0.0
        return found


@cache
def word_vectors() -> WordVectors:
    """The vectors of the package; read once, when first asked for."""
    return read_vectors(shipped_path())


@cache
def word_classes() -> dict[str, str]:
    """Each word's class: its way down a tree of 12 splits of the vectors, as 0 and 1; the first n are a coarser class."""
    import numpy as np

    with np.load(shipped_path().with_name("word_classes.npz"), allow_pickle=False) as kept:
        return {w: f"{c:012b}" for w, c in zip(word_vectors().words, kept["classes"].tolist(), strict=True)}


def shipped_path() -> Path:
    """The file of the vectors that ship."""
    return Path(str(files("howsure.data"))) / SHIPPED


def read_vectors(path: str | Path) -> WordVectors:
    """The vectors of a file: `words` (lines of UTF-8 as bytes), `packed` (two numbers a byte), `scale` (one a row)."""
    import numpy as np

    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as kept:
            text, packed, scale = (kept[name] for name in ("words", "packed", "scale"))
        words = bytes(text).decode().split("\n") if text.dtype == np.uint8 else []
    except (OSError, ValueError, LookupError, EOFError, MemoryError, zlib.error, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is damaged or holds no word vectors ({error}).") from None
    right = packed.dtype == np.uint8 and packed.ndim == 2 and scale.dtype == np.float32
    if not right or not len(words) == len(set(words)) == len(packed) == scale.size or scale.ndim != 1:
        raise InputError(f"{path} is damaged: its words and vectors do not fit together.")
    if not (np.isfinite(scale).all() and (scale >= 0).all()):
        raise InputError(f"{path} is damaged: its scales are not finite numbers.")
    byte = np.arange(256)
    pairs = np.stack([byte & 15, byte >> 4], axis=1).astype(np.float32) - np.float32(LEVELS + 1)
    matrix = pairs[packed].reshape(len(packed), -1)
    matrix *= scale[:, None]
    return WordVectors(words, matrix)
