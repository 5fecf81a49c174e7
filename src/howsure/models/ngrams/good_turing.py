"""Good-Turing: adjusted counts from counts of counts; plain with a cut-off, and simple Good-Turing.

r* = (r+1) N_{r+1} / N_r, and N_1/N_0 for what was not seen, N_0 = V^n - (n-grams seen). A conditional distribution is
the adjusted counts of its n-grams over their sum.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure._result import Record, shown_as
from howsure.kernels.cells import Floats
from howsure.models.ngrams.form import Counts, Estimate, empty, flat_children

CUT_OFF = 5


@dataclass(frozen=True, slots=True)
class AdjustedCounts(Record):
    """Adjusted counts of the counts r that occur, the mass p0 of all that was not seen, and how it was smoothed."""

    SHOWN = "r n_r adjusted p0"
    __repr__ = shown_as("p0={p0:.7f}, {#r} counts")

    r: NDArray[np.int64]
    n_r: NDArray[np.int64]
    adjusted: Floats
    p0: float
    slope: float | None = None  # of log Z on log r
    intercept: float | None = None

    @property
    def probabilities(self) -> Floats:
        """Probability of one thing seen r times: adjusted counts scaled so that, with p0, all sum to one."""
        return (1.0 - self.p0) * self.adjusted / float(self.n_r @ self.adjusted)

    def of(self, counts: NDArray[Any]) -> Floats:
        """The adjusted count of each count."""
        found = np.minimum(np.searchsorted(self.r, counts), len(self.r) - 1)
        return np.where(counts > 0, self.adjusted[found], 0.0)


def adjusted_counts(r: Any, n_r: Any, *, cut_off: int = CUT_OFF) -> AdjustedCounts:
    """Plain Good-Turing for counts up to `cut_off`, larger ones as they are.

    A count whose neighbour r+1 never occurs, or whose adjusted count would exceed that of the next, stays as it is.
    """
    r, n_r = np.asarray(r, np.int64), np.asarray(n_r, np.int64)
    turned = (r + 1.0) * np.append(n_r[1:], 0) / n_r
    has_next = np.diff(r, append=0) == 1
    use = (r <= cut_off) & has_next & (turned < r)  # a bump in the counts of counts would raise it
    once = int(n_r[0]) if len(r) and r[0] == 1 else 0
    return AdjustedCounts(r, n_r, np.where(use, turned, r), once / float(r @ n_r))


def simple_good_turing(r: Any, n_r: Any, *, confidence: float = 1.96) -> AdjustedCounts:
    """Simple Good-Turing (Gale & Sampson 1995): r* from the raw counts of counts while they differ clearly from the line.

    N_r averaged over gaps (Z_r), log Z regressed on log r; once a raw and a smoothed r* differ by less than
    `confidence` standard deviations, the line is used from there on.
    """
    r, n_r = np.asarray(r, np.int64), np.asarray(n_r, np.int64)
    total = float(r @ n_r)
    before = np.concatenate([[0], r[:-1]]).astype(np.float64)
    after = np.concatenate([r[1:], [2 * r[-1] - (r[-2] if len(r) > 1 else 0)]]).astype(np.float64)
    z = n_r / (0.5 * (after - before))
    if len(r) > 1:
        slope, intercept = (float(x) for x in np.polyfit(np.log(r), np.log(z), 1))
    else:
        slope, intercept = -1.0, float(np.log(z[0]))
    line = r * (1.0 + 1.0 / r) ** (slope + 1.0)
    following = dict(zip(r.tolist(), n_r.tolist(), strict=True))
    adjusted = line.copy()
    for i, (x, n) in enumerate(following.items()):
        up = following.get(x + 1, 0)
        if up == 0:
            break
        raw = (x + 1) * up / n
        spread = float(np.sqrt((x + 1.0) ** 2 * up / n**2 * (1.0 + up / n)))
        if abs(raw - line[i]) <= confidence * spread:
            break
        adjusted[i] = raw
    return AdjustedCounts(r, n_r, adjusted, following.get(1, 0) / total, slope, intercept)


def good_turing(counts: Counts, *, cut_off: int = CUT_OFF) -> Estimate:
    """Plain Good-Turing with a cut-off, normalised in each context."""
    return _turned(counts, lambda r, n_r: adjusted_counts(r, n_r, cut_off=cut_off), {"cut_off": cut_off})


def simple_good_turing_model(counts: Counts) -> Estimate:
    """Simple Good-Turing, normalised in each context."""
    return _turned(counts, simple_good_turing, {})


def _turned(counts: Counts, turn: Any, parameters: dict[str, Any]) -> Estimate:
    p, b = empty(counts)
    trie, v = counts.trie, counts.n_events
    notes: list[str] = []
    unseen = []
    p[trie.level(1)] = counts.uniform
    for order in range(min(2, trie.order), trie.order + 1):
        c = counts.events(order).astype(np.int64)
        used = c if order == trie.order else c[trie.anchored(order, counts.padding)]
        if not used.any():  # no context of this order is whole: uniform steps on the way down
            flat_children(counts, p, b, order, c.astype(np.float64), 0.0)
            continue
        n_r = np.bincount(used)
        r = np.flatnonzero(n_r[1:]) + 1
        table = turn(r, n_r[r])
        kinds = float(n_r[1:].sum())
        contexts = float(v) ** (order - 1) if order == trie.order else 1.0
        empty_cells = max(contexts * v - kinds, 0.0)
        zero = table.p0 * float(r @ n_r[r]) / empty_cells if empty_cells > 0 else 0.0
        if zero == 0.0 and empty_cells > 0 and order == trie.order:
            notes.append(f"No {order}-gram was seen just once: nothing is left for those not seen.")
        unseen.append(zero)
        star = table.of(c)
        if order == 1:
            star = np.where(counts.can_follow, np.where(c > 0, star, zero), 0.0)
            p[trie.level(1)] = star / star.sum()
        else:
            flat_children(counts, p, b, order, star, zero)
    return Estimate(p, b, {**parameters, "adjusted_count_of_unseen": unseen[-1] if unseen else 0.0}, tuple(notes))
