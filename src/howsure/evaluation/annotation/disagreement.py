"""Where annotators disagree: which labels are taken for one another, and which items to look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure._result import Record
from howsure.evaluation.annotation.agreement import Pairable
from howsure.evaluation.annotation.ratings import Ratings

MOST_CONFUSED = 20
MOST_ITEMS = 50


@dataclass(frozen=True, slots=True)
class ConfusedLabels(Record):
    """Two labels given to the same items."""

    a: str
    b: str
    share: float  # of all disagreement
    chance: float  # the share that chance would give them
    n_items: int

    def __repr__(self) -> str:
        return f"ConfusedLabels({self.a} / {self.b}: {self.share:.1%} of disagreement, chance {self.chance:.1%})"


@dataclass(frozen=True, slots=True)
class DisputedItem(Record):
    """An item and its votes, commonest first."""

    SHOWN = "item disagreement n votes=by_label"

    item: str
    disagreement: float  # share of pairs of ratings that differ
    n: int
    votes: tuple[tuple[str, int], ...]

    def __repr__(self) -> str:
        return f"DisputedItem({self.item}: {self.described})"

    @property
    def described(self) -> str:
        """The votes in words: yes 5, no 5."""
        return ", ".join(f"{label} {count}" for label, count in self.votes)

    @property
    def by_label(self) -> dict[str, int]:
        """Votes by label."""
        return dict(self.votes)


def confused_labels(ratings: Ratings, p: Pairable, most: int = MOST_CONFUSED) -> tuple[ConfusedLabels, ...]:
    """Pairs of labels by their share of the disagreement, each item weighing the same."""
    from scipy.sparse import csr_array, triu

    if not p.n:
        return ()
    shape = (p.n, p.n_labels)
    counts = csr_array((p.count, (p.item, p.label)), shape=shape)
    weighted = csr_array((p.count / (p.size * (p.size - 1.0))[p.item], (p.item, p.label)), shape=shape)
    there = csr_array((np.ones(len(p.item)), (p.item, p.label)), shape=shape)
    both = triu(weighted.T @ counts, k=1).tocoo()
    items = csr_array(there.T @ there)
    total = float(both.sum())
    if total <= 0.0:
        return ()
    prior = np.bincount(p.label, p.count / p.size[p.item], p.n_labels) / p.n
    chance = 2.0 / (1.0 - float(prior @ prior))
    order = np.lexsort((both.col, both.row, -np.round(both.data, 12)))[:most]
    return tuple(
        ConfusedLabels(
            ratings.labels[c],
            ratings.labels[k],
            float(both.data[i]) / total,
            float(prior[c] * prior[k]) * chance,
            int(items[c, k]),
        )
        for i, c, k in zip(order.tolist(), both.row[order].tolist(), both.col[order].tolist(), strict=True)
    )


def disputed_items(ratings: Ratings, p: Pairable, most: int = MOST_ITEMS) -> tuple[DisputedItem, ...]:
    """The items whose ratings differ most; of equals those with more ratings."""
    each = p.disagreement()
    order = np.lexsort((np.arange(p.n), -p.size, -np.round(each, 12)))[:most]
    begins = np.searchsorted(p.item, np.arange(p.n + 1))
    made = []
    for i in order.tolist():
        if each[i] <= 0.0:
            break
        cells = slice(int(begins[i]), int(begins[i + 1]))
        votes = sorted(
            zip(p.label[cells].tolist(), p.count[cells].astype(int).tolist(), strict=True), key=lambda v: (-v[1], v[0])
        )
        named = tuple((ratings.labels[label], count) for label, count in votes)
        made.append(DisputedItem(ratings.items[int(p.items[i])], float(each[i]), int(p.size[i]), named))
    return tuple(made)
