"""MLE, Laplace and Lidstone: the count itself, or the count and a little for every word."""

from __future__ import annotations

import numpy as np

from howsure.errors import InputError
from howsure.models.ngrams.smoothing.form import Counts, Estimate, HeldOut, empty


def maximum_likelihood(counts: Counts) -> Estimate:
    """c(h w)/c(h). A context never seen gives no estimate: the longest part of it that was seen is used instead."""
    p, b = empty(counts)
    trie = counts.trie
    for order in range(1, trie.order + 1):
        c = counts.events(order)
        if order == 1:
            c = np.where(counts.can_follow, c, 0.0)
            p[trie.level(1)] = c / c.sum()
            continue
        totals = trie.child_sums(c, order)
        p[trie.level(order)] = c / np.maximum(totals, 1.0)[trie.parents(order)]
        b[trie.level(order - 1)] = np.where(totals > 0, 0.0, 1.0)
    return Estimate(p, b)


def laplace(counts: Counts) -> Estimate:
    """(c + 1)/(c(h) + V)."""
    return _added(counts, 1.0)


def lidstone(counts: Counts, *, alpha: float | None = None) -> Estimate:
    """(c + α)/(c(h) + αV); α of least cross-entropy on held-out text unless given."""
    if alpha is None:
        alpha = best_alpha(counts)
    if not (alpha > 0.0 and np.isfinite(alpha)):
        raise InputError(f"alpha must be a number above 0; got {alpha:g}.")
    return _added(counts, float(alpha))


def best_alpha(counts: Counts) -> float:
    """The α of least cross-entropy on held-out text, between 1e-6 and 10."""
    from scipy.optimize import minimize_scalar

    assert counts.held_out is not None
    c, context, weight = longest(counts.held_out())
    v = counts.n_events

    def cross_entropy(log_alpha: float) -> float:
        alpha = np.exp(log_alpha)
        return -float(weight @ np.log((c + alpha) / (context + alpha * v)))

    found = minimize_scalar(cross_entropy, bounds=(np.log(1e-6), np.log(10.0)), method="bounded")
    return float(np.exp(found.x))


def longest(held_out: HeldOut) -> HeldOut:
    """Of held-out counts by order, those of the highest order there is (NaN where a context is shorter)."""
    c, context, weight = held_out
    last = c.shape[1] - 1 - np.argmax(~np.isnan(c[:, ::-1]), axis=1)
    rows = np.arange(len(c))
    return c[rows, last], context[rows, last], weight


def _added(counts: Counts, alpha: float) -> Estimate:
    p, b = empty(counts)
    trie, _v = counts.trie, counts.n_events
    for order in range(1, trie.order + 1):
        c = counts.events(order)
        level = trie.level(order)
        if order == 1 and trie.order == 1:
            c = np.where(counts.can_follow, c + alpha, 0.0)
            p[level] = c / c.sum()
        elif order == 1:
            p[level] = counts.uniform
        else:
            flat_children(counts, p, b, order, c + alpha, alpha)
    return Estimate(p, b, {"alpha": alpha})


def flat_children(counts: Counts, p: np.ndarray, b: np.ndarray, order: int, seen: np.ndarray, unseen: float) -> None:
    """Fill an order whose context h gives each word seen after it `seen`, every other one `unseen`, over their sum.

    Below the highest order only contexts that begin with <s> are real; the others are uniform steps on the way down.
    """
    trie, v = counts.trie, counts.n_events
    level, above = trie.level(order), trie.level(order - 1)
    event = trie.is_event[level]
    parents = trie.parents(order)
    real = np.ones(above.stop - above.start, bool) if order == trie.order else trie.anchored(order - 1, counts.padding)
    kinds = trie.child_sums(event.astype(np.float64), order)
    sums = trie.child_sums(np.where(event, seen, 0.0), order) + unseen * (v - kinds)
    real &= (kinds > 0) & (sums > 0)
    safe = np.where(real, sums, 1.0)
    p[level] = np.where(event, np.where(real[parents], seen / safe[parents], 1.0 / v), 0.0)
    b[above] = np.where(real, unseen * v / safe, 1.0)
