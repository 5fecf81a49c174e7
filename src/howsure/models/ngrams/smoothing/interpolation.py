"""Linear interpolation with weights fitted by EM, and Witten-Bell, whose weight is the number of kinds that followed."""

from __future__ import annotations

import numpy as np

from howsure.models.ngrams.smoothing.form import Counts, Estimate, HeldOut, empty
from howsure.models.ngrams.trie import Floats


def witten_bell(counts: Counts, *, uniform_base: bool = True) -> Estimate:
    """(c + T(h) p(w | shorter h))/(c(h) + T(h)), T(h) the number of distinct words seen after h."""
    p, b = empty(counts)
    trie = counts.trie
    for order in range(1, trie.order + 1):
        level = trie.level(order)
        c = counts.events(order)
        if order == 1:
            c = np.where(counts.can_follow, c, 0.0)
            kinds = float((c > 0).sum()) if uniform_base else 0.0
            p[level] = (c + kinds * counts.uniform) / (c.sum() + kinds)
            continue
        above, parents = trie.level(order - 1), trie.parents(order)
        totals = trie.child_sums(c, order)
        t = trie.child_sums((c > 0).astype(np.float64), order)
        gamma = np.where(totals > 0, t / np.maximum(totals + t, 1.0), 1.0)
        p[level] = c / np.maximum(totals + t, 1.0)[parents] + gamma[parents] * p[trie.link[level]]
        p[level][~trie.is_event[level]] = 0.0
        b[above] = gamma
    return Estimate(p, b)


def interpolated(counts: Counts, *, weights: list[float] | None = None) -> Estimate:
    """λ_k c/c(h) + (1 - λ_k) p(w | shorter h) at each order k, down to the uniform distribution.

    One λ an order, by EM on held-out text unless given. A context never seen passes straight to the shorter one.
    """
    p, b = empty(counts)
    trie = counts.trie
    if weights is None:
        assert counts.held_out is not None
        weights = fitted_weights(counts.held_out(), counts.n_events)
    for order in range(1, trie.order + 1):
        level, share = trie.level(order), weights[order - 1]
        c = counts.events(order)
        if order == 1:
            c = np.where(counts.can_follow, c, 0.0)
            p[level] = share * c / c.sum() + (1.0 - share) * counts.uniform
            continue
        above, parents = trie.level(order - 1), trie.parents(order)
        totals = trie.child_sums(c, order)
        seen = totals > 0
        p[level] = share * c / np.maximum(totals, 1.0)[parents] + (1.0 - share) * p[trie.link[level]]
        p[level][~trie.is_event[level]] = 0.0
        b[above] = np.where(seen, 1.0 - share, 1.0)
    return Estimate(p, b, {"weights": list(weights)})


def fitted_weights(held_out: HeldOut, n_events: int, steps: int = 100) -> list[float]:
    """λ_1 … λ_n by EM: λ_k is the share of the held-out words explained at order k among those that reach it."""
    c, context, count = held_out
    n = c.shape[1]
    usable = context > 0  # NaN compares false
    likelihood = np.where(usable, np.nan_to_num(c) / np.where(usable, context, 1.0), 0.0)
    shares = np.full(n, 0.5)
    for _ in range(steps):
        pass_on = np.where(usable, 1.0 - shares, 1.0)
        reach: Floats = np.ones((len(c), n + 1))
        for k in range(n - 1, -1, -1):
            reach[:, k] = reach[:, k + 1] * pass_on[:, k]
        parts = np.where(usable, shares, 0.0) * reach[:, 1:] * likelihood
        base = reach[:, 0] / n_events
        total = parts.sum(axis=1) + base
        parts *= (count / total)[:, None]
        base = base * count / total
        below = np.concatenate([base[:, None], base[:, None] + np.cumsum(parts, axis=1)[:, :-1]], axis=1)
        stopped = np.where(usable, parts, 0.0).sum(axis=0)
        went_on = np.where(usable, below, 0.0).sum(axis=0)
        new = np.where(stopped + went_on > 0, stopped / np.maximum(stopped + went_on, 1e-300), 0.0)
        new = np.clip(new, 1e-9, 1.0 - 1e-9)
        done = np.abs(new - shares).max() < 1e-4
        shares = new
        if done:
            break
    return [float(x) for x in shares]
