"""Which items to label: a stratified sample whose inclusion probabilities are known.

Labels go where they tell most: n_h ∝ N_h √(q̄_h (1 - q̄_h) + v₀), v₀ being the defence against a wrong model. Once there are
labels, half of the weight follows what they say instead: all of it would be more efficient on paper, but a stratum that is
low by chance would then get too few labels to recover, and shares would be too low.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import Floats, Ints

DEFENCE = 0.03
LEAST = 4
DEAREST = 0.05  # rise of the variance, if the model is useless, that labels of every stratum may cost
FIRST = 40  # labels before the labels themselves have a say
LEAST_IN_CELL = 4


@dataclass(frozen=True, slots=True)
class Strata:
    """For each stratum: its items, their mean probability, labelled items, and how many of these are positive."""

    items: Ints
    mean_prob: Floats
    labelled: Ints
    positive: Ints


def label_weights(strata: Strata) -> Floats:
    """How much an item of each stratum is worth labelling, relative to the others."""
    q = strata.mean_prob
    by_model = np.sqrt(q * (1 - q) + DEFENCE)
    if strata.labelled.sum() < FIRST:
        return by_model
    p = (strata.positive + 0.5) / (strata.labelled + 1)
    return (by_model + np.sqrt(p * (1 - p) + DEFENCE)) / 2


def allocation(strata: Strata, n: int) -> Ints:
    """How many more items of each stratum to label, n in all (or all that are left).

    The total of each stratum, labels already there included, is proportional to its items times `label_weights`, at least
    four and at most all of them; what is there already is never taken back. Four of each of several tiny strata would be dear: the
    variance of the share if the model is useless, Σ W_h²/n_h but for a factor, may rise by a twentieth; else three, two, or one are enough.
    """
    have = strata.labelled
    weight = strata.items * label_weights(strata)
    n = min(n, int((strata.items - have).sum()))
    goal = have.sum() + n
    exact = _clipped(weight, have, strata.items, goal)
    most = (1 + DEAREST) * _effect(strata.items, exact)
    for least in range(LEAST, 0, -1):
        low = np.maximum(have, np.minimum(least, strata.items))
        if (exact >= low).all():
            break
        if low.sum() <= goal:  # else there are too few labels: share them by weight
            more = _clipped(weight, low, strata.items, goal)
            if least == 1 or _effect(strata.items, more) <= most:
                exact = more
                break
    whole = np.maximum(np.floor(exact + 1e-9), have).astype(np.int64)
    order = np.lexsort((np.arange(len(whole)), -(exact - whole)))
    for h in np.concatenate([order] * (int(goal - whole.sum()) // max(len(order), 1) + 2)):
        if whole.sum() >= goal:
            break
        whole[h] += whole[h] < strata.items[h]
    return np.asarray(whole - have)


def _clipped(weight: Floats, low: Ints, high: Ints, goal: int) -> Floats:
    """Σ clip(λ w, low, high) = goal; it rises with λ: bisect on its logarithm."""
    a, b = -60.0, 60.0
    for _ in range(64):
        middle = (a + b) / 2
        a, b = (middle, b) if np.clip(np.exp(middle) * weight, low, high).sum() < goal else (a, middle)
    return np.clip(np.exp(b) * weight, low, high)


def _effect(items: Ints, n: Floats) -> float:
    """Σ N_h²/n_h of strata with items: the variance of a share that is the same in all of them, but for a factor."""
    return float((items[items > 0].astype(np.float64) ** 2 / np.maximum(n[items > 0], 1e-300)).sum())


@dataclass(frozen=True, slots=True)
class CellPlan:
    """How many to draw of each stratum and cell, the inclusion probability of their items, and which cells are drawn apart."""

    wanted: Ints  # (H, C)
    inclusion: Floats  # (H, C)
    apart: NDArray[np.bool_]  # (C,)


def cell_plan(
    items: Ints,
    labelled: Ints,
    positive: Ints,
    mean_prob: Floats,
    n: int,
    rng: np.random.Generator,
    apart: NDArray[np.bool_] | None = None,
) -> CellPlan:
    """Draw n more labels, evenly over cells, of which each gets a few.

    Cells that would get fewer than four (less if there are many cells) are drawn apart: at random from all of their items, evenly over
    strata; so are those that were drawn `apart` before. The others share what is left, stratum by stratum.
    """
    size, have = items.sum(0), labelled.sum(0)
    before = np.zeros(len(size), bool) if apart is None else apart

    def shared(mine: NDArray[np.bool_], number: int) -> tuple[Ints, Ints]:
        whole = items[:, mine].sum(1)
        strata = Strata(whole, mean_prob, labelled[:, mine].sum(1), positive[:, mine].sum(1))
        return allocation(strata, number), whole

    n = min(n, int((size - have).sum()))
    more, whole = shared(np.ones(len(size), bool), n)
    expected = (labelled.sum(1) + more) / np.maximum(whole, 1) @ items
    most = min(LEAST_IN_CELL, int(have.sum() + n) // (2 * len(size)))
    for least in (*range(most, 1, -1), 0):
        alone = before | ((expected < np.minimum(least, size)) & (have < least))
        goal = np.clip(np.maximum(least, np.rint(expected)), have, size).astype(np.int64)
        if (goal - have)[alone].sum() <= n:
            break
    rest = ~alone
    left = n - int((goal - have)[alone].sum()) - int((size - have)[rest].sum())
    for c in np.flatnonzero(alone):  # what the others cannot take
        goal[c] += min(max(left, 0), size[c] - goal[c])
        left = n - int((goal - have)[alone].sum()) - int((size - have)[rest].sum())
    wanted = np.zeros_like(items)
    inclusion = np.zeros(items.shape)
    for c in np.flatnonzero(alone):
        wanted[:, c] = spread(max(int(goal[c] - have[c]), 0), items[:, c] - labelled[:, c], rng)
        inclusion[:, c] = goal[c] / max(size[c], 1)
    if rest.any():
        more, whole = shared(rest, max(n - int(wanted.sum()), 0))
        for h, number in enumerate(more):
            wanted[h, rest] = spread(int(number), (items - labelled)[h, rest], rng)
        share = (labelled[:, rest].sum(1) + more) / np.maximum(whole, 1)
        inclusion[:, rest] = share[:, None]
    return CellPlan(wanted, inclusion, alone)


def spread(n: int, free: Ints, rng: np.random.Generator) -> Ints:
    """How many of n items to draw from each cell, evenly spread over the cells' free items in their order.

    Every free item has the same inclusion probability, n ÷ Σ free.
    """
    total = int(free.sum())
    at = ((np.arange(n) + rng.random()) * (total / max(n, 1))).astype(np.int64)
    return np.bincount(np.searchsorted(np.cumsum(free), at, side="right"), minlength=len(free))


def systematic_sample(stratum: Ints, n: Ints, order: Floats | Ints | None, rng: np.random.Generator) -> Ints:
    """The items drawn: n[h] of stratum h, evenly spread over `order` (dates, for instance; ties at random).

    Every item of a stratum has the same inclusion probability, n[h] ÷ the number of its items.
    """
    tie = rng.random(len(stratum))
    keys = (tie, stratum) if order is None else (tie, order, stratum)
    place = np.lexsort(keys)
    ends = np.cumsum(np.bincount(stratum, minlength=len(n)))
    drawn = []
    for h, wanted in enumerate(n):
        inside = place[ends[h - 1] if h else 0 : ends[h]]
        steps = (np.arange(wanted) + rng.random()) * (len(inside) / wanted if wanted else 0)
        drawn.append(inside[steps.astype(np.int64)])
    return np.sort(np.concatenate(drawn)) if drawn else np.zeros(0, np.int64)
