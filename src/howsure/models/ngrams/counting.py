"""N-grams of all orders of a text, counted by sorting integer keys; what does not fit in memory is spilled and merged.

The keys of as many orders as 63 bits hold are sorted at once (docs/architecture.md); higher orders start from the
nodes found so far. Runs of sorted, counted keys are merged two by two.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.kernels.ngrams.choice import kernel
from howsure.kernels.threads import cores
from howsure.models.ngrams.reading import Ids, Progress
from howsure.models.ngrams.trie import Trie

MEMORY = 2 << 30  # bytes of keys held at a time
_BYTES_PER_KEY = 32  # a key, its count, and both again while runs are merged
Run = tuple[NDArray[np.int64], NDArray[np.uint32]]


class Spill:
    """Arrays that live in files of a temporary folder; without a folder, in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._made = 0

    def array(self, n: int, dtype: Any) -> NDArray[Any]:
        """An array of `n` items to fill."""
        if self._folder is None or n == 0:
            return np.empty(n, dtype)
        self._made += 1
        return np.memmap(self._folder / f"{self._made}.bin", dtype, "w+", shape=(n,))

    def drop(self, array: NDArray[Any]) -> None:
        """The array is not needed any more."""
        base: Any = array
        while base is not None and not isinstance(getattr(base, "filename", None), str | Path):
            base = getattr(base, "base", None)
        if base is not None and self._folder is not None:
            Path(base.filename).unlink(missing_ok=True)


def count_ngrams(
    ids: Ids, n_words: int, order: int, *, has_sentences: bool, memory: int = MEMORY, progress: Progress = None
) -> Trie:
    """All n-grams up to `order` that lie within a sentence, with their counts."""
    if len(ids) >= 1 << 32:
        raise InputError(f"{len(ids):,} tokens are more than this counts at once (2**32).")
    bits = max(1, n_words.bit_length())
    chunk = max(1 << 16, memory // _BYTES_PER_KEY)
    trie = Trie.of_words(n_words, order)
    length = 1
    with tempfile.TemporaryDirectory(prefix="howsure-ngrams-") as folder:
        spill = Spill(Path(folder) if len(ids) > chunk else None)
        while True:
            top = bits if length == 1 else len(trie.word).bit_length()
            further = min(order - length, (63 - top) // bits)
            if further < 1 and length < order:
                raise InputError(f"{n_words:,} words are too many for order {order}: give a minimum count.")
            keys, counts = _counted(ids, bits, length, further, has_sentences, trie, chunk, spill, progress)
            trie = trie.deepened(keys, counts, bits, length, further)
            length += further
            if length == order:
                return trie


def _counted(
    ids: Ids,
    bits: int,
    length: int,
    further: int,
    has_sentences: bool,
    trie: Trie,
    chunk: int,
    spill: Spill,
    progress: Progress,
) -> Run:
    """Sorted distinct keys of one stage, and their counts."""
    n = len(ids)
    workers = cores()
    piece = min(chunk, max(1 << 16, -(-n // workers)))
    begins = list(range(0, n, piece))
    fill: Callable[[int, int, Any], int]
    if length == 1:

        def fill(begin: int, end: int, keys: Any) -> int:
            kernel("first_keys", n)(ids, begin, end, bits, further, int(has_sentences), keys)
            return end - begin
    else:

        def fill(begin: int, end: int, keys: Any) -> int:
            args = (ids, begin, end, bits, length, further, int(has_sentences), trie.start, trie.word, keys)
            return int(kernel("next_keys", n)(*args))

    def work(begin: int) -> Run:
        end = min(begin + piece, n)
        keys = np.empty(end - begin, np.int64)
        keys = keys[: fill(begin, end, keys)]
        keys.sort()
        counts = np.empty(len(keys), np.uint32)
        made = int(kernel("run_lengths", n)(keys, counts))
        if progress is not None:
            progress(f"counting {length + further}-grams", end / n)
        kept = spill.array(made, np.int64), spill.array(made, np.uint32)
        kept[0][:], kept[1][:] = keys[:made], counts[:made]
        return kept

    at_once = 1 if piece * workers > chunk else workers
    with ThreadPoolExecutor(at_once) as pool:
        runs = list(pool.map(work, begins))
        while len(runs) > 1:
            pairs = [runs[i : i + 2] for i in range(0, len(runs), 2)]
            runs = list(pool.map(lambda pair: _merged(pair, spill), pairs))
    return runs[0]


def _merged(pair: list[Run], spill: Spill) -> Run:
    if len(pair) == 1:
        return pair[0]
    (a, a_counts), (b, b_counts) = pair
    keys, counts = spill.array(len(a) + len(b), np.int64), spill.array(len(a) + len(b), np.uint32)
    made = int(kernel("merge_runs", len(keys))(a, a_counts, b, b_counts, keys, counts))
    for used in (a, a_counts, b, b_counts):
        spill.drop(used)
    return keys[:made], counts[:made]
