"""The n-grams seen, as a trie in level order: all orders in one array of words, one of counts, one of first children."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.kernels.ngrams.choice import kernel
from howsure.kernels.threads import cores
from howsure.models.ngrams.vocabulary import BOS

Shorts = NDArray[np.uint32]
Floats = NDArray[np.float64]


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
            level = self.level(order)
            in_parallel(lambda a, b: run(self.start, self.word, a, b, made), level.start, level.stop)
        return made

    @cached_property
    def is_event(self) -> NDArray[np.bool_]:
        """Whether the last word of a node can be predicted: all but <s>."""
        return self.word != BOS

    def parents(self, order: int) -> NDArray[np.int64]:
        """For each node of an order (2 or more) the number of its parent within the order below."""
        level = self.level(order - 1)
        return np.repeat(np.arange(level.stop - level.start), np.diff(self.start[level.start : level.stop + 1]))

    def child_sums(self, values: Floats, order: int) -> Floats:
        """For each node of `order` - 1, the sum of `values` (one a node of `order`) over its children."""
        level = self.level(order - 1)
        made: Floats = np.bincount(self.parents(order), values, level.stop - level.start).astype(np.float64, copy=False)
        return made

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


def in_parallel(run, begin: int, end: int) -> None:  # type: ignore[no-untyped-def]
    """Call run(a, b) on stretches of begin … end, on all cores when there is much to do."""
    workers = cores()
    if end - begin < 1 << 16 or workers == 1:
        run(begin, end)
        return
    cuts = np.linspace(begin, end, 4 * workers + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, cuts[:-1], cuts[1:]))
