"""Strata of items by their probability: few, so that each gets labels, and finest where the labels are least certain."""

import numpy as np

from howsure.kernels.cells import Floats, Ints

N_STRATA = 4
STEPS = 4  # bits of the mantissa: a cell of the grid is 1/16 of a power of two wide
_LEAST = (1023 - 54) << STEPS  # 2⁻⁵⁴
_HALF = ((1023 - 1) << STEPS) - _LEAST + 2  # the place of ½
GRID = 2 * _HALF
FLOOR = 0.001  # keeps items with q near 0 or 1 from having no weight at all


def grid_places(y_prob: Floats) -> Ints:
    """The place of each probability on a fixed grid of `GRID` cells, finer towards 0 and 1, which have cells of their own.

    Only integers are compared, so that every machine puts an item into the same cell.
    """
    small = np.minimum(y_prob, 1 - y_prob)  # exact: 1 - q is for q of ½ and more
    place = (small.view(np.int64) >> (52 - STEPS)) - _LEAST
    place = np.where(small > 0, np.maximum(place, 0) + 1, 0)
    return np.where(y_prob <= 0.5, place, GRID - 1 - place)


def stratum_edges(values: Floats, counts: Ints, n_strata: int = N_STRATA) -> Floats:
    """The largest probability of every stratum but the last.

    `values` are the distinct probabilities in order, `counts` the items with each. Strata have equal shares of
    Σ √(q(1-q) + 0.001); equal probabilities stay together, and items with q = 0 ("nothing found") are a stratum of their own.

    >>> import numpy as np
    >>> stratum_edges(np.array([0.0, 0.1, 0.5, 0.9]), np.array([90, 10, 10, 10]), 2)
    array([0. , 0.1])
    """
    positive = values > 0
    weight = np.where(positive, counts * np.sqrt(values * (1 - values) + FLOOR), 0.0)
    total = weight.sum()
    if not total > 0:
        return np.zeros(0)
    middle = (np.cumsum(weight) - weight / 2) / total
    number = np.where(positive, np.minimum((middle * n_strata).astype(np.int64), n_strata - 1) + 1, 0)
    return np.asarray(values[:-1][np.diff(number) > 0])


def strata_of(y_prob: Floats, edges: Floats) -> Ints:
    """The stratum of each item, numbered from 0."""
    return np.searchsorted(edges, y_prob, side="left")


def merged_strata(items: Ints, labelled: Ints, least: int = 2) -> Ints:
    """A new number for each stratum, in order, neighbours being merged until each has `least` labels (or one is left)."""
    number = np.arange(len(items))
    while True:
        groups = number.max() + 1
        n = np.bincount(number, weights=labelled, minlength=groups)
        size = np.bincount(number, weights=items, minlength=groups)
        short = np.flatnonzero(n < np.minimum(least, size))
        if not len(short) or groups == 1:
            return number
        h = int(short[0])
        # The neighbour with fewer labels, so that as many strata as possible remain.
        other = h + 1 if h == 0 or (h + 1 < groups and n[h + 1] < n[h - 1]) else h - 1
        number = np.where(number > min(h, other), number - 1, number)
