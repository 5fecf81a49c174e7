"""Which items to label: a stratified sample whose inclusion probabilities are known.

Labels go where they tell most: n_h ∝ N_h √(q̄_h (1 - q̄_h) + v₀), v₀ being the defence against a wrong model. Once there are
labels, half of the weight follows what they say instead: all of it would be more efficient on paper, but a stratum that is
low by chance would then get too few labels to recover, and shares would be too low.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure.kernels.cells import Floats, Ints

DEFENCE = 0.03
LEAST = 4
FIRST = 40  # labels before the labels themselves have a say


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


def allocation(strata: Strata, n: int, weights: Floats | None = None) -> Ints:
    """How many more items of each stratum to label, n in all (or all that are left).

    The total of each stratum, labels already there included, is proportional to its items times `weights`, at least
    four and at most all of them; what is there already is never taken back.
    """
    have = strata.labelled
    weight = strata.items * (label_weights(strata) if weights is None else weights)
    n = min(n, int((strata.items - have).sum()))
    goal = have.sum() + n
    low = np.maximum(have, np.minimum(LEAST, strata.items)).astype(np.float64)
    if low.sum() > goal:  # too few for four each: share them by weight
        low = have.astype(np.float64)
    high = strata.items.astype(np.float64)
    # Σ clip(λ w, low, high) rises with λ: bisect on its logarithm.
    a, b = -60.0, 60.0
    for _ in range(200):
        middle = (a + b) / 2
        a, b = (middle, b) if np.clip(np.exp(middle) * weight, low, high).sum() < goal else (a, middle)
    exact = np.clip(np.exp(b) * weight, low, high)
    whole = np.maximum(np.floor(exact + 1e-9), have).astype(np.int64)
    order = np.lexsort((np.arange(len(whole)), -(exact - whole)))
    for h in np.concatenate([order] * (int(goal - whole.sum()) // max(len(order), 1) + 2)):
        if whole.sum() >= goal:
            break
        whole[h] += whole[h] < strata.items[h]
    return np.asarray(whole - have)


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
