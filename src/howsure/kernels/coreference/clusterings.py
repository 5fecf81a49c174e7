"""Clusterings as arrays of cluster numbers: canonical numbers, and the one of largest expected F."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDS = 20


def first_members(clusters: Ints) -> Ints:
    """Each item's cluster named by its first member, so that equal clusterings are equal arrays."""
    _, first, inverse = np.unique(clusters, return_index=True, return_inverse=True)
    named: Ints = first[inverse].astype(np.int64)
    return named


def expected_f(q: Floats, clusters: Ints) -> float:
    """2 Σ Q over the pairs put together / (number of pairs put together + Σ Q over all pairs), pairs i < j.

    The ratio of expectations of pairwise F; 1 when nothing is together and nothing is expected to be.
    """
    together = clusters[:, None] == clusters[None, :]
    n = len(clusters)
    hit = (float(q[together].sum()) - n) / 2
    made = (int(together.sum()) - n) / 2
    expected = (float(q.sum()) - n) / 2
    return 1.0 if made + expected <= 0.0 else 2.0 * hit / (made + expected)


def largest_expected_f(q: Floats, start: Ints) -> Ints:
    """A clustering of large expected F: average linkage on Q cut where it is largest (or `start` if that is better),
    then single items moved while that helps. A local optimum: the global one is NP-hard to find."""
    n = len(q)
    if n < 2:
        return start
    candidates = [first_members(start), _best_cut(q)]
    best = max(candidates, key=lambda c: expected_f(q, c))
    return _moved(q, best)


def _best_cut(q: Floats) -> Ints:
    from scipy.cluster.hierarchy import linkage

    n = len(q)
    upper = np.triu_indices(n, 1)
    tree = linkage(1.0 - q[upper], "average")
    # Along the merges: pairs put together and their expected hits grow by what each merge joins.
    sizes = np.concatenate([np.ones(n), tree[:, 3]])
    left, right = tree[:, 0].astype(np.int64), tree[:, 1].astype(np.int64)
    joined = sizes[left] * sizes[right]
    hits, made = np.cumsum(joined * (1.0 - tree[:, 2])), np.cumsum(joined)
    f = 2.0 * hits / (made + (q.sum() - n) / 2)
    merges = int(np.argmax(f)) + 1 if f.max() > 0.0 else 0
    parent = np.arange(2 * n - 1)
    for m in range(merges):
        parent[[left[m], right[m]]] = n + m
    while (parent != parent[parent]).any():
        parent = parent[parent]
    return first_members(parent[:n])


def _moved(q: Floats, clusters: Ints) -> Ints:
    """Move one item at a time to the cluster (or to itself) that raises expected F most."""
    n = len(q)
    c = clusters.copy()
    # Σ Q to each cluster: columns sorted by cluster and summed in runs, without BLAS, whose threads cost more here.
    order = np.argsort(c, kind="stable")
    firsts = np.flatnonzero(np.diff(c[order], prepend=-1))
    pull = np.zeros((n, n))
    pull[:, c[order][firsts]] = np.add.reduceat(q[:, order], firsts, axis=1)
    size = np.bincount(c, minlength=n).astype(np.float64)
    expected = (q.sum() - n) / 2
    hit = (float(pull[np.arange(n), c].sum()) - n) / 2
    made = float((size * (size - 1)).sum()) / 2
    for _ in range(ROUNDS):
        changed = False
        for i in range(n):
            here = c[i]
            gain_hit, gain_made = pull[i].copy(), size.copy()
            gain_hit[here] -= 1.0
            gain_made[here] -= 1.0
            base_hit, base_made = hit - gain_hit[here], made - gain_made[here]
            f = 2.0 * (base_hit + gain_hit) / np.maximum(base_made + gain_made + expected, 1e-300)
            to = int(np.argmax(f))
            if f[to] > f[here] + 1e-12:
                hit, made = base_hit + gain_hit[to], base_made + gain_made[to]
                pull[:, here] -= q[:, i]
                pull[:, to] += q[:, i]
                size[here] -= 1.0
                size[to] += 1.0
                c[i] = to
                changed = True
        if not changed:
            break
    return first_members(c)
