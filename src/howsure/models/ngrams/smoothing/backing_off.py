"""Katz: discounted counts where the n-gram was seen, the shorter context's probabilities where it was not."""

from __future__ import annotations

import numpy as np

from howsure.models.ngrams.smoothing.form import Counts, Estimate, count_of_counts, empty

CUT_OFF = 5


def katz_ratios(n: list[int], cut_off: int = CUT_OFF) -> list[float] | None:
    """d_1 … d_k = (r*/r - A)/(1 - A), A = (k+1) n_{k+1}/n_1; None if a count of counts is 0 or a ratio leaves (0, 1]."""
    if not all(n[: cut_off + 1]):
        return None
    a = (cut_off + 1) * n[cut_off] / n[0]
    if a >= 1.0:
        return None
    made = [((r + 1) * n[r] / (r * n[r - 1]) - a) / (1.0 - a) for r in range(1, cut_off + 1)]
    return made if all(0.0 < d <= 1.0 for d in made) else None


def katz(counts: Counts, *, cut_off: int = CUT_OFF) -> Estimate:
    """Katz back-off (1987): d_r c/c(h) for an n-gram seen r ≤ k times, c/c(h) above, α(h) p(w | shorter h) if unseen.

    Where the counts of counts allow no ratios, 1/2 is taken from every count instead (and it says so). A context all
    of whose counts are above k would leave nothing: then 1/2 is taken from each of its counts too.
    """
    p, b = empty(counts)
    trie = counts.trie
    ratios, notes = [], []
    for order in range(1, trie.order + 1):
        level = trie.level(order)
        c = counts.events(order)
        if order == 1:
            c = np.where(counts.can_follow, c, 0.0)
        found = katz_ratios(count_of_counts(c, cut_off + 1), cut_off)
        if found is None:
            notes.append(f"Too few {order}-grams of each small count for Katz's ratios: 1/2 is taken from each count.")
            kept = np.where(c > 0, c - 0.5, 0.0)
        else:
            table = np.concatenate([[0.0], found, [1.0]])
            kept = c * table[np.minimum(c, cut_off + 1).astype(np.int64)]
        ratios.append(found)
        if order == 1:
            rest = (c.sum() - kept.sum()) / c.sum()
            unseen = counts.can_follow & (c == 0)
            p[level] = kept / c.sum()
            if unseen.any() and rest > 0:
                p[level] += np.where(unseen, rest / unseen.sum(), 0.0)
            else:  # nothing to give it to, or nothing to give
                p[level] /= p[level].sum()
            continue
        above, parents = trie.level(order - 1), trie.parents(order)
        totals = trie.child_sums(c, order)
        left = totals - trie.child_sums(kept, order)
        greedy = (left <= 1e-12 * totals) & (totals > 0)
        kept = np.where(greedy[parents] & (c > 0), c - 0.5, kept)
        p[level] = kept / np.maximum(totals, 1.0)[parents]
        covered = trie.child_sums(np.where(c > 0, p[trie.link[level]], 0.0), order)
        rest = 1.0 - trie.child_sums(p[level], order)
        room = 1.0 - covered
        full = (room <= 1e-12) & (totals > 0)  # every word was seen after it: scale what there is
        p[level] = np.where(full[parents], p[level] / np.where(full, 1.0 - rest, 1.0)[parents], p[level])
        b[above] = np.where(totals == 0, 1.0, np.where(full, 0.0, rest / np.where(full | (totals == 0), 1.0, room)))
    return Estimate(p, b, {"cut_off": cut_off, "ratios": ratios}, tuple(notes))
