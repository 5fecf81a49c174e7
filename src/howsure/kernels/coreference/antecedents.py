"""Exact queries of the antecedent model, and its samples, in NumPy.

A[i, k] = P(a_i = k) for k < i, new[i] = P(a_i = NEW), rows independent. A clustering is the connected components of
the edges (i, a_i). Later mentions never merge earlier clusters, so Q[i, :i] = A[i, :i] Q[:i, :i].
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import Floats, Ints
from howsure.kernels.chains.log_space import mixed

BLOCK = 256


def pair_probabilities(a: Any, block: int = BLOCK) -> Floats:
    """Q[i, j] = P(i and j are in one cluster): symmetric, unit diagonal. `a` is dense or CSR, strictly lower.

    Rows s … e at once: with L the block of A on the diagonal, (I - L) Q[s:e, :s] = A[s:e, :s] Q[:s, :s], one matrix
    product and a triangular solve; inside the block row by row. Nothing is subtracted, so relative precision is kept.
    """
    from scipy.linalg import solve_triangular

    n = a.shape[0]
    q = np.zeros((n, n))
    for s in range(0, n, block):
        e = min(s + block, n)
        local = dense(a[s:e, s:e])
        inner = np.eye(e - s)
        if s:
            before = a[s:e, :s]
            left = before @ q[:s, :s]
            # (I - L) x = b by forward substitution: the diagonal is one, the rest -L.
            left = solve_triangular(-local, left, lower=True, unit_diagonal=True, check_finite=False)
            q[s:e, :s], q[:s, s:e] = left, left.T
            cross = before @ left.T
        for r in range(1, e - s):
            # Small products without BLAS, whose threads cost more than they save.
            row = np.einsum("k,kj->j", local[r, :r], inner[:r, :r])
            if s:
                row += cross[r, :r]
            inner[r, :r] = inner[:r, r] = row
        q[s:e, s:e] = inner
    return np.minimum(q, 1.0, out=q)


def root_probabilities(a: Any, new: Floats) -> Floats:
    """R[i, r] = P(the first mention of i's cluster is r): (I - A) R = diag(new)."""
    from scipy.linalg import solve_triangular

    n = len(new)
    solved: Floats = solve_triangular(-dense(a), np.diag(new), lower=True, unit_diagonal=True, check_finite=False)
    return np.tril(solved.reshape(n, n))


def dense(a: Any) -> Floats:
    """A slice of a dense or sparse matrix as an array."""
    return a.toarray() if hasattr(a, "toarray") else a


def softmax_rows(values: Floats, new: Floats, starts: Ints, counts: Ints) -> tuple[Floats, Floats]:
    """Scores to probabilities, row by row; -inf is a score too."""
    rows = np.repeat(np.arange(len(new)), counts)
    largest, some = new.copy(), counts > 0
    if some.any():
        largest[some] = np.maximum(new[some], np.maximum.reduceat(values, starts[some]))
    power, new_power = np.exp(values - largest[rows]), np.exp(new - largest)
    total = new_power + np.bincount(rows, power, len(new))
    return power / total[rows], new_power / total


def uniforms(key: int, samples: Ints, mention: int) -> Floats:
    """The uniform number of each (sample, mention) in the stream `key`: counter-based, so any part can be drawn alone."""
    with np.errstate(over="ignore"):
        x = np.uint64(key) + samples.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = mixed(x) ^ (np.uint64(mention) * np.uint64(0xD1B54A32D192ED03) + np.uint64(0x8CB92BA72F3D8DD7))
        return (mixed(x) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def sampled_roots(
    values: Floats, columns: Ints, starts: Ints, counts: Ints, new: Floats, n: int, key: int, needed: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """The first mention of each needed mention's cluster in n samples, shape (n, N); -1 where nobody needed to know.

    Antecedents are drawn from the last mention to the first, only for mentions that a needed one leads up to.
    Column numbers are in `columns`, or 0, 1, … in every row when it is empty.
    """
    size = len(new)
    wanted = np.zeros((n, size), bool)
    wanted[:, needed] = True
    antecedent = np.full((n, size), -1, np.int32)
    for i in range(size - 1, -1, -1):
        who = np.flatnonzero(wanted[:, i])
        if not len(who):
            continue
        row = values[starts[i] : starts[i] + counts[i]]
        picked = picks(uniforms(key, who, i), row, float(new[i]))
        links = picked >= 0
        if links.any():
            ahead = picked[links] if not len(columns) else columns[starts[i] + picked[links]]
            antecedent[who[links], i] = ahead
            wanted[who[links], ahead] = True
    roots = np.full((n, size), -1, np.int32)
    rows = np.arange(n)
    for i in range(size):
        ahead = antecedent[:, i]
        roots[:, i] = np.where(wanted[:, i], np.where(ahead < 0, i, roots[rows, ahead]), -1)
    return roots


def picks(u: Floats, row: Floats, new: float) -> Ints:
    """Which entry of the row each u falls on; -1 is NEW. NEW comes first, then the row in order."""
    found = np.searchsorted(np.cumsum(np.concatenate([[new], row])), u, side="right") - 1
    # Rounding may leave the sum below u: the last entry with any probability then takes it.
    last = int(np.flatnonzero(row)[-1]) if row.any() else -1
    return np.minimum(found, last)


ROUNDS = 20


def first_members(clusters: Ints) -> Ints:
    """Each item's cluster named by its first member, so that equal clusterings are equal arrays."""
    _, first, inverse = np.unique(clusters, return_index=True, return_inverse=True)
    return first[inverse].astype(np.int64)


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


def linked_clusters(q: Floats, cut: float) -> Ints:
    """Clusters joined, the most probable first, while the mean of Q between the two is `cut` or more (average linkage)."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(q) < 2:
        return np.arange(len(q))
    tree = linkage(np.clip(1.0 - q[np.triu_indices(len(q), 1)], 0.0, 1.0), "average")
    return first_members(fcluster(tree, 1.0 - cut, "distance"))


def _best_cut(q: Floats) -> Ints:
    from scipy.cluster.hierarchy import fcluster, linkage

    n = len(q)
    upper = np.triu_indices(n, 1)
    tree = linkage(1.0 - q[upper], "average")
    # Along the merges: pairs put together and their expected hits grow by what each merge joins.
    sizes = np.concatenate([np.ones(n), tree[:, 3]])
    left, right = tree[:, 0].astype(np.int64), tree[:, 1].astype(np.int64)
    joined = sizes[left] * sizes[right]
    hits, made = np.cumsum(joined * (1.0 - tree[:, 2])), np.cumsum(joined)
    f = 2.0 * hits / (made + (q.sum() - n) / 2)
    last = int(np.argmax(f)) if f.max() > 0.0 else -1
    # The merges up to that one.
    return first_members(fcluster(tree, last + 0.5, "monocrit", monocrit=np.arange(n - 1.0)))


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
