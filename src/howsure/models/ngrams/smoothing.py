"""The smoothings by name: additive, discounting, backing off, interpolation; each writes its probabilities in back-off form."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.cells import Floats
from howsure.kernels.ngrams.choice import kernel
from howsure.models.ngrams.form import Counts, Estimate, HeldOut, count_of_counts, empty, flat_children
from howsure.models.ngrams.good_turing import good_turing, simple_good_turing_model
from howsure.models.ngrams.trie import in_parallel

FALLBACK = (0.5, 1.0, 1.5)  # lmplz's, where counts of counts give none
CUT_OFF = 5
TUNED = {"lidstone": "alpha", "interpolated": "weights"}  # on held-out text


def maximum_likelihood(counts: Counts) -> Estimate:
    """c(h w)/c(h). A context never seen gives no estimate: the longest part of it that was seen is used instead."""
    return replace(interpolated(counts, weights=[1.0] * counts.trie.order), parameters={})


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
    trie = counts.trie
    for order in range(1, trie.order + 1):
        c = counts.events(order)
        if order > 1:
            flat_children(counts, p, b, order, c + alpha, alpha)
            continue
        c = np.where(counts.can_follow, c + alpha, 0.0)
        p[trie.level(1)] = c / c.sum() if trie.order == 1 else counts.uniform
    return Estimate(p, b, {"alpha": alpha})


def absolute_discounting(counts: Counts, *, discount: float | None = None) -> Estimate:
    """(c - D)/c(h) + γ(h) p(w | shorter h); D = n1/(n1 + 2 n2) of each order, unless given."""
    return _interpolated(counts, counts.trie.count, 1, discount)


def kneser_ney(counts: Counts, *, discount: float | None = None, uniform_base: bool = True) -> Estimate:
    """Absolute discounting where a lower order counts the distinct words to the left, not occurrences."""
    return _interpolated(counts, counts.adjusted, 1, discount, uniform_base)


def modified_kneser_ney(counts: Counts) -> Estimate:
    """Kneser-Ney with discounts of their own for counts 1, 2, and 3 or more (Chen & Goodman 1999)."""
    return _interpolated(counts, counts.adjusted, 3, None)


def one_discount(n: list[int]) -> tuple[float, float, float] | None:
    """D = n1/(n1 + 2 n2); None where it cannot be had."""
    return (n[0] / (n[0] + 2.0 * n[1]),) * 3 if all(n[:2]) else None


def three_discounts(n: list[int]) -> tuple[float, float, float] | None:
    """D_i = i - (i+1) Y n_{i+1}/n_i, Y = n1/(n1 + 2 n2); None where they cannot be had or lie outside 0 … i."""
    if not all(n[:3]):
        return None
    y = n[0] / (n[0] + 2.0 * n[1])
    d1, d2, d3 = (i - (i + 1) * y * n[i] / n[i - 1] for i in (1, 2, 3))
    return (d1, d2, d3) if 0.0 <= d1 <= 1.0 and 0.0 <= d2 <= 2.0 and 0.0 <= d3 <= 3.0 else None


def _interpolated(
    counts: Counts, a: NDArray[np.uint32], steps: int, given: float | None, uniform_base: bool = True
) -> Estimate:
    trie = counts.trie
    p, b = empty(counts)
    chosen, notes = [], []
    for order in range(1, trie.order + 1):
        level = trie.level(order)
        n = count_of_counts(a[level][trie.is_event[level]], 4)
        found = (one_discount(n) if steps == 1 else three_discounts(n)) if given is None else (given,) * 3
        if found is None:
            found = (0.5,) * 3 if steps == 1 else FALLBACK
            notes.append(f"Too few {order}-grams of each small count to estimate discounts: {found[:steps]} are used.")
        chosen.append(list(found[:steps]))
        steps_of = np.array([0.0, *found])
        if order == 1:
            p[level] = _words(counts, a[level], steps_of, uniform_base)
        else:
            tables = (trie.start, trie.word, trie.link, a)
            in_parallel(kernel("discounted", len(trie)), tables, trie.level(order - 1), (steps_of, p, b))
    return Estimate(p, b, {"discounts": chosen}, tuple(notes))


def _words(counts: Counts, a: NDArray[np.uint32], discounts: Floats, uniform_base: bool) -> Floats:
    a = np.where(counts.can_follow, a, 0)
    total = float(a.sum())
    if not uniform_base:
        return a / total
    taken = discounts[np.minimum(a, 3)]
    return (a - taken) / total + taken.sum() / total * counts.uniform


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


def witten_bell(counts: Counts, *, uniform_base: bool = True) -> Estimate:
    """(c + T(h) p(w | shorter h))/(c(h) + T(h)), T(h) the number of distinct words seen after h."""
    p, b = empty(counts)
    trie = counts.trie
    for order in range(1, trie.order + 1):
        level = trie.level(order)
        c = counts.events(order)
        if order == 1:
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
        reach = np.ones((len(c), n + 1))
        reach[:, :-1] = np.cumprod(pass_on[:, ::-1], axis=1)[:, ::-1]
        parts = np.where(usable, shares, 0.0) * reach[:, 1:] * likelihood
        base = reach[:, 0] / n_events
        total = parts.sum(axis=1) + base
        parts *= (count / total)[:, None]
        base = base * count / total
        below = np.concatenate([base[:, None], base[:, None] + np.cumsum(parts, axis=1)[:, :-1]], axis=1)
        stopped = np.where(usable, parts, 0.0).sum(axis=0)
        went_on = np.where(usable, below, 0.0).sum(axis=0)
        new = np.where(stopped + went_on > 0, stopped / np.maximum(stopped + went_on, 1e-300), 0.0)
        before, shares = shares, np.clip(new, 1e-9, 1.0 - 1e-9)
        if np.abs(shares - before).max() < 1e-4:
            break
    return [float(x) for x in shares]


SMOOTHINGS: dict[str, Callable[..., Estimate]] = {
    "mle": maximum_likelihood,
    "laplace": laplace,
    "lidstone": lidstone,
    "good-turing": good_turing,
    "simple-good-turing": simple_good_turing_model,
    "interpolated": interpolated,
    "katz": katz,
    "witten-bell": witten_bell,
    "absolute-discounting": absolute_discounting,
    "kneser-ney": kneser_ney,
    "modified-kneser-ney": modified_kneser_ney,
}


def estimate(counts: Counts, smoothing: str, **options: Any) -> Estimate:
    """Probabilities by a smoothing's name."""
    return SMOOTHINGS[known(smoothing)](counts, **options)


def known(smoothing: str) -> str:
    """The name, if it is one."""
    return _validate.known(smoothing, SMOOTHINGS, f"there is no smoothing {smoothing!r}")
