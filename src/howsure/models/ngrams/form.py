"""What a smoothing gives: the probability of every n-gram seen and the back-off weight of every context.

p(w | h) is p[h w] if the n-gram was seen, else b[h] p(w | h without its first word), b of a context never seen being 1.
Estimators that spread the rest evenly over words (Laplace, Good-Turing) have this form too: every lower order is then
uniform. Contexts that begin with <s> are whole however short, and treated like those of the highest order.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import Floats
from howsure.kernels.ngrams.choice import kernel
from howsure.models.ngrams.trie import Trie
from howsure.models.ngrams.vocabulary import BOS, UNK

HeldOut = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Counts:
    """The n-grams of a text and what can be predicted: every word but <s>, and <UNK> unless the vocabulary is closed.

    `held_out` gives (c(h w), c(h), how often), the first two of shape (events, order), of held-out text: what the
    estimators with something to tune are tuned on.
    """

    trie: Trie
    closed: bool
    padding: int = 1  # <s> at the start of a sentence; 0 in running text
    held_out: Callable[[], HeldOut] | None = None

    @cached_property
    def can_follow(self) -> NDArray[np.bool_]:
        """Which words can be predicted."""
        made = np.ones(int(self.trie.bases[1]), bool)
        made[[BOS, UNK] if self.closed else BOS] = False
        return made

    @property
    def n_events(self) -> int:
        """V: how many words can be predicted."""
        return int(self.can_follow.sum())

    @cached_property
    def uniform(self) -> Floats:
        """1 / V for each word that can be predicted."""
        return np.where(self.can_follow, 1.0 / self.n_events, 0.0)

    def events(self, order: int) -> Floats:
        """Counts of the n-grams of an order, 0 for those that end in <s>, and of words that cannot be predicted."""
        made = self.trie.events(order)
        return np.where(self.can_follow, made, 0.0) if order == 1 else made

    @cached_property
    def adjusted(self) -> NDArray[np.uint32]:
        """Kneser-Ney's counts: of the highest order as they are, below that the number of distinct words to the left.

        N-grams with no word to the left (those that begin with <s>) keep their counts.
        """
        trie = self.trie
        made = trie.count.copy()
        if trie.order == 1:
            made[BOS] = 0
            return made
        below = int(trie.bases[-2])
        left = np.zeros(below, np.uint32)
        kernel("left_extensions", len(trie))(trie.link, trie.word, int(trie.bases[1]), len(trie), left)
        np.copyto(made[:below], left, where=left > 0)
        made[:below][~trie.is_event[:below]] = 0
        return made


@dataclass(frozen=True, eq=False)
class Estimate:
    """Probabilities of nodes, weights of contexts, what was tuned or derived, and remarks for the user."""

    p: Floats
    b: Floats
    parameters: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def empty(counts: Counts) -> tuple[Floats, Floats]:
    """Arrays to fill: p of all nodes, b of all contexts (1 where nothing follows)."""
    return np.zeros(len(counts.trie)), np.ones(int(counts.trie.bases[-2]))


def count_of_counts(values: NDArray[Any], most: int) -> list[int]:
    """n_1 … n_most: how many values are 1, 2, …."""
    small = np.asarray(values)
    return np.bincount(small[(small > 0) & (small <= most)].astype(np.int64), minlength=most + 1)[1:].tolist()


def flat_children(counts: Counts, p: np.ndarray, b: np.ndarray, order: int, seen: np.ndarray, unseen: float) -> None:
    """Fill an order whose context h gives each word seen after it `seen`, every other one `unseen`, over their sum.

    Below the highest order only contexts that begin with <s> are real; the others are uniform steps on the way down.
    """
    trie, v = counts.trie, counts.n_events
    level, above = trie.level(order), trie.level(order - 1)
    event = trie.is_event[level]
    parents = trie.parents(order)
    real = np.ones(above.stop - above.start, bool) if order == trie.order else trie.anchored(order - 1, counts.padding)
    kinds = trie.child_sums(event.astype(np.float64), order)
    sums = trie.child_sums(np.where(event, seen, 0.0), order) + unseen * (v - kinds)
    real &= (kinds > 0) & (sums > 0)
    safe = np.where(real, sums, 1.0)
    p[level] = np.where(event, np.where(real[parents], seen / safe[parents], 1.0 / v), 0.0)
    b[above] = np.where(real, unseen * v / safe, 1.0)
