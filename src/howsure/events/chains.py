"""How two mentions come to be one entity: the likeliest chain of links between them, and what hangs on one link."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howsure.posteriors.antecedents import AntecedentPosterior


@dataclass(frozen=True, slots=True)
class Link:
    """Mention `later` takes `earlier` for its antecedent with this probability."""

    later: int
    earlier: int
    probability: float


def antecedent_row(posterior: AntecedentPosterior, i: int) -> NDArray[np.float64]:
    """The probabilities of mention i's antecedents 0 … i-1."""
    a = posterior.antecedents
    row = a[[i], :].toarray()[0] if hasattr(a, "toarray") else a[i]
    return np.asarray(row[:i])


def likeliest_chain(posterior: AntecedentPosterior, i: int, j: int, avoid: Collection[int] = ()) -> tuple[Link, ...]:
    """The links of largest product that join mentions i and j, latest first; none when nothing joins them.

    It does not lead through the mentions in `avoid`.

    Either mention climbs to an antecedent that both reach: the best product down to every mention is found by one pass
    from the later mentions to the earlier ones.
    """
    if i == j:
        return ()
    reach, back = zip(*(_climb(posterior, m, avoid) for m in (i, j)), strict=True)
    shared = min(i, j) + 1
    product = reach[0][:shared] * reach[1][:shared]
    meeting = int(np.argmax(product))
    if product[meeting] <= 0.0:
        return ()
    links = []
    for start, came_from in zip((i, j), back, strict=True):
        at = meeting
        while at != start:
            later = int(came_from[at])
            links.append(Link(later, at, float(antecedent_row(posterior, later)[at])))
            at = later
    return tuple(sorted(links, key=lambda link: (-link.later, link.earlier)))


def _climb(
    posterior: AntecedentPosterior, start: int, avoid: Collection[int]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The largest product of links from `start` up to each earlier mention, and the mention before it on that way."""
    value, came_from = np.zeros(start + 1), np.full(start + 1, -1, np.int64)
    value[start] = 1.0
    for m in range(start, 0, -1):
        if value[m] > 0.0 and m not in avoid:
            way = value[m] * antecedent_row(posterior, m)
            better = way > value[:m]
            value[:m][better] = way[better]
            came_from[:m][better] = m
    value[[m for m in avoid if m < start]] = 0.0
    return value, came_from


def given_link(posterior: AntecedentPosterior, link: Link, taken: bool) -> AntecedentPosterior:
    """The posterior when a link is known to be there, or known not to be."""
    a = posterior.antecedents
    dense = np.array(a.toarray() if hasattr(a, "toarray") else a, dtype=np.float64)
    new = np.array(posterior.new)
    row = dense[link.later]
    if taken:
        row[:] = 0.0
        row[link.earlier], new[link.later] = 1.0, 0.0
    else:
        row[link.earlier] = 0.0
        left = row.sum() + new[link.later]
        if left <= 0.0:
            new[link.later] = 1.0
        else:
            row /= left
            new[link.later] /= left
    return AntecedentPosterior(dense, new, name=posterior.name)
