"""Independent rows that several models scored: what their differences need of the rows, in sums that add up.

The sketches come first: from them follow every model's bins and its d_b, the mean of e = y - q in a bin. One more pass
then sums deviations from what is known, so that nothing cancels. Notation as in docs/evidence/theory.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure._result import Sums
from howsure.calibration.estimation.estimate import bin_count, estimation_bins
from howsure.calibration.sketch import Sketch
from howsure.kernels.cells import Floats, Ints, merge_keyed
from howsure.kernels.grouping import bins_of_cells

STEP = 1 << 17  # rows worked on at once
INFLUENCE, WEIGHT, BRIER, LOG_LOSS = range(4)


@dataclass(frozen=True, slots=True)
class Binning:
    """One model's estimation bins: the fixed cell at which each begins, rows, d, and an unbiased estimate of its square."""

    first: Ints
    n: Floats
    d: Floats
    u: Floats  # (E² - Q) / (n (n - 1))
    t: float  # mean of u over rows
    brier: float  # mean e²
    log_loss: float | None  # its mean; None where it is infinite

    @staticmethod
    def of(sketch: Sketch) -> Binning:
        """The bins (N^0.4 of them) of a sketch."""
        bins = estimation_bins(sketch, bin_count(sketch.n))
        loss, infinite = sketch.log_loss
        # A bin begins at a fixed cell, whether the sketch is exact or not.
        return Binning(
            sketch.fixed_cell[bins.starts],
            bins.n,
            bins.gap,
            (bins.e**2 - bins.q) / (bins.n * np.maximum(bins.n - 1.0, 1.0)),
            bins.squared_error,
            float(sketch.sum_ee.sum()) / sketch.n,
            None if infinite else loss / sketch.n,
        )

    def __len__(self) -> int:
        return len(self.first)

    def bins(self, q: Floats) -> Ints:
        """The bin of each row."""
        return bins_of_cells(self.first, q)


@dataclass(frozen=True)
class Plan:
    """What is known of the models before the rows are summed."""

    models: tuple[Binning, ...]

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Every two models."""
        return tuple(combinations(range(len(self.models)), 2))

    @cached_property
    def centres(self) -> Floats:
        """(P, 4): about what the mean difference of each pair is, in influence, u, Brier score and log loss."""
        made = np.zeros((len(self.pairs), 4))
        for p, (i, j) in enumerate(self.pairs):
            a, b = self.models[i], self.models[j]
            made[p, WEIGHT], made[p, BRIER] = a.t - b.t, a.brier - b.brier
            if a.log_loss is not None and b.log_loss is not None:
                made[p, LOG_LOSS] = a.log_loss - b.log_loss
        return made

    def is_finite(self, pair: tuple[int, int]) -> bool:
        """Whether both log losses are finite."""
        return all(self.models[m].log_loss is not None for m in pair)


@dataclass(frozen=True)
class Joint:
    """Sums by pair of bins, those that are not 0: code = bin of A times the number of B's bins plus bin of B."""

    code: Ints
    sums: Floats  # (k, 2): of the values and of their squares

    def __add__(self, other: Joint) -> Joint:
        return Joint(*merge_keyed(np.concatenate([self.code, other.code]), np.concatenate([self.sums, other.sums])))


@dataclass(frozen=True)
class RowSums(Sums):
    """Sums over rows, x = (e - d) √(n/(n-1)), d and n of the row's bin."""

    n: int
    models: tuple[Floats, ...]  # each (B, 2): by bin Σx², Σx⁴
    pairs: Floats  # (P, 4, 2): of influence, u, Brier score and log loss, Σ and Σ² of the difference about its centre
    joint: tuple[Joint, ...]  # of each pair: Σ x_A x_B and Σ (x_A x_B)² by pair of bins

    def mean_and_variance(self, plan: Plan, pair: int, what: int) -> tuple[float, float]:
        """Of a difference over the rows (divided by n)."""
        total, squares = self.pairs[pair, what].tolist()
        shift = total / self.n
        return float(plan.centres[pair, what]) + shift, max(squares / self.n - shift * shift, 0.0)


class RowSumsBuilder:
    """Takes rows and sums them. One for each thread."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._n = 0
        self._models = tuple(np.zeros((len(m), 2)) for m in plan.models)
        self._pairs = np.zeros((len(plan.pairs), 4, 2))
        self._joint = [np.zeros((2, len(plan.models[i]) * len(plan.models[j]))) for i, j in plan.pairs]

    def add(self, ys: Sequence[NDArray[np.uint8]], qs: Sequence[Floats]) -> None:
        """Take each model's labels and probabilities of the same rows."""
        for a in range(0, len(qs[0]), STEP):
            part = slice(a, a + STEP)
            self._add([y[part] for y in ys], [q[part] for q in qs])

    def _add(self, ys: Sequence[NDArray[np.uint8]], qs: Sequence[Floats]) -> None:
        plan = self._plan
        self._n += len(qs[0])
        bins = [m.bins(q) for m, q in zip(plan.models, qs, strict=True)]
        e = [y - q for y, q in zip(ys, qs, strict=True)]
        u = [m.u[b] for m, b in zip(plan.models, bins, strict=True)]
        x, influence = [], []
        for m, b, each in zip(plan.models, bins, e, strict=True):
            others = np.maximum(m.n - 1.0, 1.0)
            d = m.d[b]
            apart = each - d
            x.append(apart * np.sqrt(m.n / others)[b])
            # How a row moves T through its own bin: 2 x times the mean of the bin's other rows.
            influence.append(2.0 * x[-1] * (d - apart / others[b]))
        squares = [each**2 for each in e]
        losses = [
            None if m.log_loss is None else row_log_loss(y, q) for m, y, q in zip(plan.models, ys, qs, strict=True)
        ]
        for i, sums in enumerate(self._models):
            squared = x[i] ** 2
            sums[:, 0] += np.bincount(bins[i], squared, len(sums))
            sums[:, 1] += np.bincount(bins[i], squared * squared, len(sums))
        for p, (i, j) in enumerate(plan.pairs):
            self._note(p, INFLUENCE, influence[i] - influence[j])
            self._note(p, WEIGHT, u[i] - u[j])
            self._note(p, BRIER, squares[i] - squares[j])
            one, other = losses[i], losses[j]
            if one is not None and other is not None:
                self._note(p, LOG_LOSS, one - other)
            code, value = bins[i] * len(plan.models[j]) + bins[j], x[i] * x[j]
            for sums, each in zip(self._joint[p], (value, value**2), strict=True):
                if len(sums) <= 4 * len(code):
                    sums += np.bincount(code, each, len(sums))
                else:
                    np.add.at(sums, code, each)

    def _note(self, pair: int, what: int, delta: Floats) -> None:
        about = delta - self._plan.centres[pair, what]
        self._pairs[pair, what] += float(about.sum()), float(about @ about)

    def finish(self) -> RowSums:
        """The sums of all rows taken."""
        joint = (Joint(code, sums[:, code].T) for sums in self._joint for code in [np.flatnonzero(sums[1])])
        return RowSums(self._n, self._models, self._pairs, tuple(joint))


def row_log_loss(y: NDArray[np.uint8], q: Floats) -> Any:
    """-log P(label) of each row."""
    with np.errstate(divide="ignore"):
        return -np.where(y == 1, np.log(q), np.log1p(-q))
