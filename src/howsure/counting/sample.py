"""Labelled items within strata of probability: what every estimate of a count starts from."""

from dataclasses import dataclass

import numpy as np

from howsure.counting.strata import GRID, merged_strata, strata_of, stratum_edges
from howsure.counting.tally import UNIT, Tally
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True, slots=True)
class Sample:
    """Strata × cells of items, and the labelled items with the number of items that each stands for.

    `n` and `k` are the labels and positive labels of each stratum; where inclusion probabilities differ within it, what
    they are worth: n = (Σw)² ÷ Σw², k = n times the weighted share.
    """

    items: Ints  # (H, C)
    raw: Floats  # Σq of each cell
    mean_prob: Floats  # (H,)
    low: Floats  # least and highest probability on the grid
    high: Floats
    stratum: Ints  # of each labelled item
    cell: Ints
    y: Floats
    weight: Floats
    drawn: Floats  # 1 ÷ inclusion probability; 1 where all have the same
    n: Floats
    k: Floats

    @property
    def labelled(self) -> Ints:
        """Labelled items, shape (H, C)."""
        return self.table(np.ones(len(self.y))).astype(np.int64)

    @property
    def positive(self) -> Ints:
        """Positive labelled items, shape (H, C)."""
        return self.table(self.y).astype(np.int64)

    @property
    def effective(self) -> tuple[Floats, Floats]:
        """Labelled and positive items of each stratum and cell as they are worth, shape (H, C): n = (Σw)² ÷ Σw²."""
        w = self.weight / np.maximum(self.items.sum(1), 1)[self.stratum]
        sums, squares = self.table(w), self.table(w**2)
        n = sums**2 / np.where(squares > 0, squares, 1.0)
        return n, n * self.table(w * self.y) / np.where(sums > 0, sums, 1.0)

    def table(self, values: Floats) -> Floats:
        """Sums of the labelled items' values by stratum and cell, shape (H, C)."""
        h, c = self.items.shape
        return np.asarray(np.bincount(self.stratum * c + self.cell, values, h * c).reshape(h, c), np.float64)


def strata_of_places(tally: Tally) -> Ints:
    """The stratum of each place on the grid of probabilities."""
    n, total = _by_place(tally)
    there = np.flatnonzero(n)
    values = np.maximum.accumulate(total[there] / (UNIT * n[there]))
    edges = stratum_edges(values, n[there])
    at = np.zeros(GRID, np.int64)
    at[there] = strata_of(values, edges)
    return np.asarray(np.maximum.accumulate(at))


def _by_place(tally: Tally) -> tuple[Ints, Floats]:
    n = np.bincount(tally.place, tally.n, GRID).astype(np.int64)
    return n, np.asarray(np.bincount(tally.place, tally.sum.astype(np.float64), GRID), np.float64)


def stratified(tally: Tally) -> Sample:
    """The labels of a tally within strata of probability, neighbours merged until each has two labels."""
    of_place = strata_of_places(tally)
    n, total = _by_place(tally)
    h = int(of_place.max()) + 1
    labels = tally.labels
    sizes = np.bincount(of_place, n, h).astype(np.int64)
    merged = merged_strata(sizes, np.bincount(of_place[labels.place], minlength=h))
    of_place = merged[of_place]
    h, c = int(merged.max()) + 1, len(tally.cells)
    items = np.bincount(of_place[tally.place] * c + tally.cell, tally.n, h * c).reshape(h, c).astype(np.int64)
    size = items.sum(1)
    stratum = of_place[labels.place]
    one = np.where(np.isnan(labels.inclusion), 1.0, 1 / np.where(labels.inclusion > 0, labels.inclusion, np.nan))
    sums, squares = np.bincount(stratum, one, h), np.bincount(stratum, one**2, h)
    counted = np.bincount(stratum, minlength=h).astype(np.float64)
    worth = np.where(counted > 0, sums**2 / np.where(squares > 0, squares, 1), 0.0)
    worth = np.where(np.abs(worth - counted) < 1e-9 * counted, counted, worth)
    weight = one * (size / np.where(sums > 0, sums, 1))[stratum]
    y = labels.y.astype(np.float64)
    share = np.bincount(stratum, one * y, h) / np.where(sums > 0, sums, 1)
    plain = np.bincount(stratum, y, h)
    k = np.where(worth == counted, plain, share * worth)
    there = np.flatnonzero(n)
    q = total[there] / (UNIT * n[there])
    low, high = np.full(h, np.inf), np.full(h, -np.inf)
    np.minimum.at(low, of_place[there], q)
    np.maximum.at(high, of_place[there], q)
    mean = np.bincount(of_place, total, h) / UNIT / np.maximum(size, 1)
    raw = np.bincount(tally.cell, tally.sum.astype(np.float64), c) / UNIT
    return Sample(items, raw, mean, low, high, stratum, labels.cell, y, weight, one, worth, k)
