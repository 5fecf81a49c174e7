"""Rows that depend on one another: tokens of a sentence, mention pairs of a document.

When rows come in groups, only different groups are independent. One small sparse table — per group and bin, how many
rows and what they sum to — is all that the cluster-robust estimates need (docs/evidence/theory.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.estimation.estimate import resolutions
from howsure.calibration.sketch import Sketch
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.grouping import Arranged, Filed, binned_sums, bins_of_cells, merged, numbered

MOST_BINS = 2_048  # with groups: products between all bins are needed
FEW = 30.0  # with more groups than this, t is close to the normal law


@dataclass(frozen=True, slots=True)
class Balance:
    """Sums over groups of powers of their shares h; pieces of the groups add up."""

    squares: float  # Σ h²
    cross: float  # Σ β
    pairs: float  # Σ_{g<k} β_g β_k: sums of positive terms, since (Σβ)² - Σβ² would cancel when one group is nearly all
    largest: float

    @staticmethod
    def of(h: Floats) -> Balance:
        """Of some groups' shares, all below 1."""
        beta = np.sort(h**2 / (1.0 - h))
        before = np.cumsum(np.concatenate([[0.0], beta]))[:-1]
        return Balance(float(np.sum(h**2)), float(np.sum(beta)), float(before @ beta), float(h.max(initial=0.0)))

    def __add__(self, other: Balance) -> Balance:
        return Balance(
            self.squares + other.squares,
            self.cross + other.cross,
            self.pairs + other.pairs + self.cross * other.cross,
            max(self.largest, other.largest),
        )

    @property
    def degrees(self) -> float:
        """Degrees of freedom."""
        return 1.0 / (self.squares + 2.0 * self.pairs)

    @property
    def effective(self) -> float:
        """How many groups of one size have the same degrees of freedom."""
        return self.degrees + 1.0

    @property
    def is_dominated(self) -> bool:
        """Whether one group makes up most of Σh², and the degrees of freedom are few."""
        return self.effective < FEW and self.largest**2 > 0.5 * self.squares * (1.0 + 1e-9)


ROWS, POSITIVE, SUM_Q, SUM_QQ, SUM_QY = range(5)
HELD_FROM = 1 << 23  # rows, before they are summed
T = TypeVar("T")


@dataclass(frozen=True)
class Parts:
    """How rows are filed: by the finest estimation bin, and by the bin drawn."""

    exact: bool
    estimation: NDArray[Any]  # first key of each estimation bin
    levels: tuple[Ints, ...]  # by resolution, the coarsest first: the number of the bin that each of these is part of
    drawn: NDArray[Any]  # first key of each drawn bin, or its lower edge if `by_width`
    by_width: bool

    def of(self, q: Floats) -> tuple[Ints, Ints]:
        """The estimation bin and the drawn bin of each row."""
        estimation, drawn = (
            np.searchsorted(first, q, side="right") - 1 if by_value else bins_of_cells(first, q)
            for first, by_value in ((self.estimation, self.exact), (self.drawn, self.exact or self.by_width))
        )
        return estimation, drawn


def parts(sketch: Sketch, starts: Ints | None, edges: Floats) -> Parts:
    """The estimation bins of a sketch, each resolution parting the one before, beside bins drawn at cells `starts` or, failing that, `edges`."""
    found = list(accumulate((b.starts for b in resolutions(sketch, MOST_BINS)), np.union1d))
    levels = tuple(np.searchsorted(first, found[-1], side="right") - 1 for first in found)
    drawn = edges if starts is None else sketch.keys[starts]
    return Parts(sketch.exact, sketch.keys[found[-1]], levels, drawn, starts is None)


class ClusterBuilder:
    """Takes rows with their group and files them under (group, bin)."""

    def __init__(self, filing: Parts) -> None:
        self._parts = filing
        self._held: list[tuple[NDArray[np.uint64], NDArray[np.uint8], Floats, Floats | None]] = []
        self._tables: list[ClusterTable] = []
        self._n_held = 0

    def add(self, groups: NDArray[np.uint64], y: NDArray[np.uint8], q: Floats, weight: Ints | None = None) -> None:
        """Take rows."""
        if weight is not None and not weight.all():  # rows of weight zero leave no trace
            kept = weight > 0
            groups, y, q, weight = groups[kept], y[kept], q[kept], weight[kept]
        self._held.append((groups, y, q, None if weight is None else weight.astype(np.float64)))
        self._n_held += len(q)
        if self._n_held > max(HELD_FROM, 2 * sum(len(t.estimation.bin) for t in self._tables)):
            self._sum_up()

    def _sum_up(self) -> None:
        """What is held becomes a table, one with those before."""
        held, self._held, self._n_held = self._held, [], 0
        groups, y, q = (_joined([h[i] for h in held], kind) for i, kind in enumerate((np.uint64, np.uint8, np.float64)))
        weight = None if not held or held[0][3] is None else _joined([h[3] for h in held], np.float64)
        ids, number = numbered(groups)
        rows = Arranged.of(number, len(ids), y, q, weight)
        of_estimation, of_drawn = self._parts.of(rows.q)
        estimation = binned_sums(rows, of_estimation, less_q=True)
        drawn, totals = binned_sums(rows, of_drawn, less_q=False), rows.totals(of_estimation)
        made = ClusterTable(ids, totals, estimation, drawn, self._parts.levels, len(self._parts.drawn))
        self._tables = [_one_table([*self._tables, made])]

    def finish(self) -> ClusterTable:
        """The table of all rows taken."""
        if self._held or not self._tables:
            self._sum_up()
        return self._tables[0]


@dataclass(frozen=True)
class ClusterTable:
    """Sums of rows by group, by group and estimation bin, and by group and drawn bin."""

    ids: NDArray[np.uint64]  # (G,) what each group was called, in order
    by_group: Floats  # (5, G) sums of each group: ROWS, POSITIVE, SUM_Q, SUM_QQ, SUM_QY
    estimation: Filed  # n_gb and S_gb = Σe
    drawn: Filed  # rows and how many are positive
    levels: tuple[Ints, ...]  # see `Parts`
    n_drawn: int

    def look(self, at: Callable[[ClusterTable], T]) -> T:
        """What is seen of these groups; they are all there are."""
        return at(self)


def _one_table(tables: list[ClusterTable]) -> ClusterTable:
    """The sum of tables whose groups may be the same."""
    if len(tables) == 1:
        return tables[0]
    ids, number = np.unique(np.concatenate([t.ids for t in tables]), return_inverse=True)
    places = np.split(number, np.cumsum([len(t.ids) for t in tables])[:-1])
    by_group = np.zeros((SUM_QY + 1, len(ids)))
    for place, t in zip(places, tables, strict=True):
        by_group[:, place] += t.by_group

    def added(each: list[Filed]) -> Filed:
        group = np.concatenate([place[f.group] for place, f in zip(places, each, strict=True)])
        sums = np.concatenate([f.sums for f in each], axis=1)
        return merged(group, len(ids), np.concatenate([f.bin for f in each]), sums)

    whole = added([t.estimation for t in tables]), added([t.drawn for t in tables])
    return ClusterTable(ids, by_group, *whole, tables[0].levels, tables[0].n_drawn)


def _joined(arrays: list[Any], kind: Any) -> Any:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.zeros(0, kind)
