"""Does the model of cells predict labels that it has not seen?

Labels are split at random within strata. Each half is predicted from the other, as a law made from posterior draws: how many
positives each cell's labels hold, and how far these are in the upper strata rather than the lower (a cell may have the right
number of positives on another curve than the others). The place of the true number in that law (its PIT, at random where several
places are one) is uniform if the model holds.
"""

from dataclasses import dataclass

import numpy as np

from howsure._result import Record
from howsure.counting.cells import CellModel, Effects
from howsure.counting.sample import Sample
from howsure.kernels import special

LEAST = 40  # labels; fewer say too little
DRAWS = 300


@dataclass(frozen=True, slots=True)
class HeldOut(Record):
    """PIT of held-out labels: a test of all cells together, and the cell that fits least with its p-value for that many."""

    n_cells: int
    p_value: float
    worst: str
    worst_p_value: float
    pit: tuple[float, ...]


def held_out(sample: Sample, effects: Effects, names: tuple[str, ...], rng: np.random.Generator) -> HeldOut | None:
    """The check of a sample's cells; None with few labels."""
    if len(sample.y) < LEAST:
        return None
    order = np.lexsort((rng.random(len(sample.y)), sample.stratum))
    half = np.zeros(len(sample.y), bool)
    half[order[rng.integers(0, 2) :: 2]] = True
    z = np.zeros((2, len(names)))
    times = np.zeros(len(names))
    rise = 2 * np.arange(sample.items.shape[0]) - (sample.items.shape[0] - 1)
    for seen in (half, ~half):
        (n, k), (m, positive) = ((sample.table(mine), sample.table(mine * sample.y)) for mine in (seen, ~seen))
        model = CellModel(n, k, effects)
        p = special.expit(model.logits(model.draws(DRAWS, rng)))
        drawn = rng.binomial(m.astype(np.int64), p)
        there = m.sum(0) > 0
        for i, weight in enumerate((np.ones(len(rise), np.int64), rise)):
            said, truth = np.einsum("h,dhc->dc", weight, drawn), weight @ positive.astype(np.int64)
            below, equal = (said < truth).sum(0), (said == truth).sum(0)
            pit = (below + rng.random(len(truth)) * (equal + 1)) / (DRAWS + 1)
            z[i, there] += special.ndtri(pit[there])
        times[there] += 1
    used = np.flatnonzero(times)
    scaled = z[:, used] / np.sqrt(times[used])
    squares = (scaled**2).sum(0)
    worst = int(np.argmax(squares))
    single = float(special.chdtrc(2, float(squares[worst])))
    return HeldOut(
        len(used),
        float(special.chdtrc(2 * len(used), float(squares.sum()))),
        names[int(used[worst])],
        float(-np.expm1(len(used) * np.log1p(-min(single, 1 - 1e-16)))),
        tuple(float(x) for x in special.ndtr(scaled[0])),
    )
