"""The n-grams seen, as a trie in level order: all orders in one array of words, one of counts, one of first children."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.kernels.cells import Floats
from howsure.kernels.ngrams.choice import kernel
from howsure.kernels.threads import cores
from howsure.models.ngrams.vocabulary import BOS, Ids
from howsure.processes import Progress

Shorts = NDArray[np.uint32]
MEMORY = 2 << 30  # bytes of keys held at a time
_BYTES_PER_KEY = 32  # a key, its count, and both again while runs are merged
Run = tuple[NDArray[np.int64], NDArray[np.uint32]]


@dataclass(frozen=True, eq=False)
class Trie:
    """Node j is the n-gram of its parent's words and `word[j]`; its children are `start[j]` … `start[j+1]`.

    `bases[k]` is the first node of order k+1 (orders count from 1), `bases[order]` the number of nodes. Nodes of order
    1 are the words themselves. `start` covers the nodes below the highest order, and one more.
    """

    order: int
    bases: NDArray[np.int64]
    word: Shorts
    start: Shorts
    count: Shorts

    @classmethod
    def of_words(cls, n_words: int, order: int) -> Trie:
        """Order 1 alone, nothing counted yet."""
        words = np.arange(n_words, dtype=np.uint32)
        bases = np.array([0, n_words], np.int64)
        return cls(order, bases, words, np.zeros(0, np.uint32), np.zeros(n_words, np.uint32))

    def deepened(self, keys: NDArray[np.int64], counts: Shorts, bits: int, length: int, further: int) -> Trie:
        """With `further` orders after order `length`, from sorted keys."""
        sizes = np.zeros(further, np.int64)
        kernel("count_levels", len(keys))(keys, bits, further, sizes)
        known = int(self.bases[length])
        bases = np.concatenate([self.bases[: length + 1], known + np.cumsum(sizes)])
        total = int(bases[-1])
        if total >= 1 << 32:
            raise InputError(f"{total:,} n-grams are more than a model holds (2**32): give a minimum count.")
        word, count = np.empty(total, np.uint32), np.empty(total, np.uint32)
        word[:known], count[:known] = self.word, self.count
        start = np.zeros(int(bases[length + further - 1]) + 1 if further else 0, np.uint32)
        start[: int(self.bases[length - 1])] = self.start[: int(self.bases[length - 1])]
        levels = bases[length - 1 :].copy()
        kernel("fill_levels", len(keys))(keys, counts, bits, further, levels, int(length == 1), start, word, count)
        if further:
            start[-1] = total
        return Trie(self.order, bases, word, start, count)

    def __len__(self) -> int:
        return len(self.word)

    def level(self, order: int) -> slice:
        """The nodes of an order."""
        return slice(int(self.bases[order - 1]), int(self.bases[order]))

    def sizes(self) -> list[int]:
        """How many n-grams there are of each order."""
        return np.diff(self.bases).tolist()

    @cached_property
    def link(self) -> Shorts:
        """For each node the node of its n-gram without the first word; for words, themselves."""
        made = np.empty(len(self), np.uint32)
        words = self.level(1)
        made[words] = self.word[words]
        if self.order > 1:
            made[self.level(2)] = self.word[self.level(2)]
        run = kernel("suffix_links", len(self))
        for order in range(2, self.order):
            in_parallel(run, (self.start, self.word), self.level(order), (made,))
        return made

    @cached_property
    def is_event(self) -> NDArray[np.bool_]:
        """Whether the last word of a node can be predicted: all but <s>."""
        return self.word != BOS

    def events(self, order: int) -> Floats:
        """Counts of the n-grams of an order, 0 for those that end in <s>."""
        level = self.level(order)
        return np.where(self.is_event[level], self.count[level], 0).astype(np.float64)

    def parents(self, order: int) -> NDArray[np.int64]:
        """For each node of an order (2 or more) the number of its parent within the order below."""
        level = self.level(order - 1)
        return np.repeat(np.arange(level.stop - level.start), np.diff(self.start[level.start : level.stop + 1]))

    def child_sums(self, values: Floats, order: int) -> Floats:
        """For each node of `order` - 1, the sum of `values` (one a node of `order`) over its children."""
        level = self.level(order - 1)
        return np.bincount(self.parents(order), values, level.stop - level.start).astype(np.float64, copy=False)

    def anchored(self, order: int, padding: int) -> NDArray[np.bool_]:
        """Which nodes of an order begin with all `padding` <s> of a sentence: their context is whole, however short."""
        made = np.zeros(int(self.bases[order] - self.bases[order - 1]), bool)
        begin = self.node([BOS] * padding) if 0 < padding <= order else None
        if begin is not None:
            end = begin + 1
            for _ in range(order - padding):
                begin, end = int(self.start[begin]), int(self.start[end])
            made[begin - int(self.bases[order - 1]) : end - int(self.bases[order - 1])] = True
        return made

    def node(self, ids: list[int]) -> int | None:
        """The node of an n-gram, None if it was not seen."""
        node = ids[0]
        for w in ids[1:]:
            begin, end = int(self.start[node]), int(self.start[node + 1])
            node = begin + int(np.searchsorted(self.word[begin:end], w))
            if node == end or self.word[node] != w:
                return None
        return node


def in_parallel(run: Any, given: tuple[Any, ...], nodes: slice, made: tuple[Any, ...]) -> None:
    """Call run(*given, a, b, *made) on stretches a … b of nodes, on all cores when there is much to do."""
    workers = cores()
    few = nodes.stop - nodes.start < 1 << 16
    cuts = np.linspace(nodes.start, nodes.stop, 2 if few else 4 * workers + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(1 if few else workers) as pool:
        list(pool.map(lambda a, b: run(*given, a, b, *made), cuts[:-1], cuts[1:]))


# N-grams of all orders of a text, counted by sorting integer keys; what does not fit in memory is spilled and merged.
#
# The keys of as many orders as 63 bits hold are sorted at once (docs/architecture.md); higher orders start from the
# nodes found so far. Runs of sorted, counted keys are merged two by two.


def _array(n: int, dtype: Any, spilled: bool) -> NDArray[Any]:
    """An array of `n` items to fill; a spilled one lives in a file that goes with it."""
    if not spilled or n == 0:
        return np.empty(n, dtype)
    with tempfile.TemporaryFile(prefix="howsure-ngrams-") as file:
        return np.memmap(file, dtype, "w+", shape=(n,))


def count_ngrams(
    ids: Ids, n_words: int, order: int, *, has_sentences: bool, memory: int = MEMORY, progress: Progress | None = None
) -> Trie:
    """All n-grams up to `order` that lie within a sentence, with their counts."""
    if len(ids) >= 1 << 32:
        raise InputError(f"{len(ids):,} tokens are more than this counts at once (2**32).")
    bits = max(1, n_words.bit_length())
    chunk = max(1 << 16, memory // _BYTES_PER_KEY)
    trie = Trie.of_words(n_words, order)
    length = 1
    while True:
        top = bits if length == 1 else len(trie.word).bit_length()
        further = min(order - length, (63 - top) // bits)
        if further < 1 and length < order:
            raise InputError(f"{n_words:,} words are too many for order {order}: give a minimum count.")
        keys, counts = _counted(ids, trie, (bits, length, further, int(has_sentences)), chunk, progress)
        trie = trie.deepened(keys, counts, bits, length, further)
        length += further
        if length == order:
            return trie


def _counted(ids: Ids, trie: Trie, stage: tuple[int, int, int, int], chunk: int, progress: Progress | None) -> Run:
    """Sorted distinct keys of one stage, and their counts."""
    bits, length, further, has_sentences = stage
    n = len(ids)
    workers = cores()
    piece = min(chunk, max(1 << 16, -(-n // workers)))

    def work(begin: int) -> Run:
        end = min(begin + piece, n)
        keys = np.empty(end - begin, np.int64)
        if length == 1:
            kernel("first_keys", n)(ids, begin, end, bits, further, has_sentences, keys)
        else:
            keys = keys[: int(kernel("next_keys", n)(ids, begin, end, *stage, trie.start, trie.word, keys))]
        keys.sort()
        counts = np.empty(len(keys), np.uint32)
        made = int(kernel("run_lengths", n)(keys, counts))
        if progress is not None:
            progress(end / n, 1.0, f"counting {length + further}-grams")
        kept = _array(made, np.int64, n > chunk), _array(made, np.uint32, n > chunk)
        kept[0][:], kept[1][:] = keys[:made], counts[:made]
        return kept

    at_once = 1 if piece * workers > chunk else workers
    with ThreadPoolExecutor(at_once) as pool:
        runs = list(pool.map(work, range(0, n, piece)))
        while len(runs) > 1:
            pairs = [runs[i : i + 2] for i in range(0, len(runs), 2)]
            runs = list(pool.map(lambda pair: _merged(pair, n > chunk), pairs))
    return runs[0]


def _merged(pair: list[Run], spilled: bool) -> Run:
    if len(pair) == 1:
        return pair[0]
    n = sum(len(keys) for keys, _ in pair)
    keys, counts = _array(n, np.int64, spilled), _array(n, np.uint32, spilled)
    made = int(kernel("merge_runs", n)(*pair[0], *pair[1], keys, counts))
    return keys[:made], counts[:made]
