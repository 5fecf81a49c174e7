"""The bins a reader sees: equal mass, equal width or isotonic, always unions of the sketch's cells."""

from bisect import bisect_left
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from howsure._result import records
from howsure.calibration.sketch import Sketch
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints, fold_widths

REPLICATES = 500  # of the consistency band
MOST_BINS = 2_000  # with a band: more than anyone looks at
MOST_GROUPS = 256  # runs of cells simulated together: inside one, q hardly varies
MOST_DRAWN = 20  # bins=None draws at most this many: a table and a curve people can read


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins in order of probability. `low` and `high` bound `mean_true` (Clopper-Pearson on `effective_n` rows)."""

    n: Ints
    mean_prob: Floats
    mean_true: Floats
    low: Floats
    high: Floats
    from_prob: Floats
    to_prob: Floats
    effective_n: Floats  # rows that would tell as much if independent; n itself without groups
    rule: str

    def __len__(self) -> int:
        return len(self.n)

    def __repr__(self) -> str:
        return f"Bins({len(self)} bins, {self.rule}, n={int(self.n.sum()):,})"

    @property
    def gap(self) -> Floats:
        """Mean probability less observed frequency: positive where q is too high."""
        return self.mean_prob - self.mean_true

    def to_dict(self) -> list[dict[str, Any]]:
        """One record a bin."""
        columns = ("n", "mean_prob", "mean_true", "low", "high", "from_prob", "to_prob")
        return records(**{c: getattr(self, c) for c in columns})


def drawn_bins(sketch: Sketch, bins: int | str | None, confidence_level: float | None) -> Bins:
    """The bins to draw: `bins` as in `howsure.check`. Without a level, they have no limits: the frequency stands for both."""
    if isinstance(bins, str) and bins.startswith("width:"):
        return _equal_width(sketch, int(bins[6:]), confidence_level)
    if bins == "isotonic":
        return from_starts(sketch, isotonic_starts(sketch), "isotonic", confidence_level)
    if bins is None:
        size = best_bin_size(sketch)
        rule = f"equal mass, about {size:,} rows each, chosen by leave-one-out risk"
    else:
        assert isinstance(bins, int)
        size, rule = bins, f"equal mass, {bins:,} rows each"
    return from_starts(sketch, equal_mass_starts(sketch.ends, size), rule, confidence_level)


def equal_mass_starts(ends: list[int], target: int) -> Ints:
    """First cell of each bin of at least `target` rows; a last short bin joins the one before. See `Sketch.ends`.

    As the paper's Algorithm 1, but rows with the same probability are never parted.
    """
    starts, taken = [0], 0
    while (last := bisect_left(ends, taken + target)) < len(ends):  # the cell that fills this bin
        taken = ends[last]
        if ends[-1] - taken < target:
            break
        starts.append(last + 1)
    return np.array(starts, np.int64)


def best_bin_size(sketch: Sketch) -> int:
    """The equal-mass bin size, for 1 to `MOST_DRAWN` bins, of least leave-one-out risk as a regressogram.

    Leaving row i out of its bin moves the bin mean so that its residual grows by n_b / (n_b - 1); hence the risk
    is Σ_b n_b p_b (1 - p_b) (n_b / (n_b - 1))² / N, without a loop over rows.
    """
    best, best_risk = sketch.n, inf
    ones = np.cumsum(sketch.counts[:, 1])
    for wanted in range(1, min(MOST_DRAWN, sketch.n) + 1):
        target = -(-sketch.n // wanted)
        last = np.append(equal_mass_starts(sketch.ends, target)[1:], len(sketch.size)) - 1  # cells of the bins
        risk, taken, before = 0.0, 0, 0
        for at, upto in zip(last.tolist(), ones[last].tolist(), strict=True):
            n, k = sketch.ends[at] - taken, upto - before
            risk += k * (n - k) * n / (n - 1) ** 2 if n > 1 else inf
            taken, before = sketch.ends[at], upto
        if risk < best_risk * (1.0 - 1e-12):
            best, best_risk = target, risk
    return best


def isotonic_starts(sketch: Sketch) -> Ints:
    """First cell of each block of the isotonic (pool-adjacent-violators) fit of y on q; equal frequencies share a block."""
    starts, k, n = np.arange(len(sketch.size)), sketch.counts[:, 1], sketch.size
    # Whole runs that do not rise are pooled at a time, while that gets on and products stay within 64 bits.
    before = 2 * len(starts)
    while sketch.n < 2**31 and len(starts) < 0.9 * before:
        begins = np.concatenate([[True], k[:-1] * n[1:] < k[1:] * n[:-1]])
        first, before = np.flatnonzero(begins), len(starts)
        starts, k, n = starts[first], np.add.reduceat(k, first), np.add.reduceat(n, first)
    made: list[int] = []
    blocks: list[tuple[int, int]] = []
    for start, a, b in zip(starts.tolist(), k.tolist(), n.tolist(), strict=True):
        while blocks and blocks[-1][0] * b >= a * blocks[-1][1]:
            a, b = a + blocks[-1][0], b + blocks.pop()[1]
            start = made.pop()
        made.append(start)
        blocks.append((a, b))
    return np.array(made, np.int64)


def from_starts(sketch: Sketch, starts: Ints, rule: str, confidence_level: float | None) -> Bins:
    """Bins that begin at the given cells."""
    n = np.add.reduceat(sketch.size, starts)
    upper = starts > np.searchsorted(sketch.mean_q, 0.5)
    # The mean of 1 - q where the bin is all above 1/2, so that q one ulp below 1 is not rounded away.
    sum_m = np.add.reduceat(sketch.sum_m, starts)
    mean = np.where(upper, 1.0 - sum_m / n, np.add.reduceat(sketch.sum_q, starts) / n)
    first, last = sketch.mean_q[starts], sketch.mean_q[np.append(starts[1:], len(sketch.size)) - 1]
    mean = np.where(first == last, first, np.clip(mean, first, last))
    positive = np.add.reduceat(sketch.counts[:, 1], starts)
    return _bounded((n, mean, positive / n, first, last), rule, confidence_level)


def _equal_width(sketch: Sketch, k: int, confidence_level: float | None) -> Bins:
    table = sketch.widths if sketch.widths is not None else fold_widths(sketch.keys, sketch.counts, k)
    count = table[:, :, 0].sum(axis=1)
    total = (table[:, :, 1].sum(axis=1) * 2.0**26 + table[:, :, 2].sum(axis=1)) / 2.0**52
    kept = np.flatnonzero(count)
    n = count[kept]
    edge = np.arange(k + 1) / k
    first, last = edge[kept], edge[kept + 1]
    mean = np.clip(total[kept] / n, first, last)
    rule = f"equal width, {k} bins" + (f", {k - len(kept)} of them empty" if len(kept) < k else "")
    return _bounded((n, mean, table[kept, 1, 0] / n, first, last), rule, confidence_level)


def with_effective_rows(bins: Bins, effective_n: Floats, confidence_level: float) -> Bins:
    """The same bins, with the width that intervals of this number of independent rows have."""
    b = bins
    return _bounded((b.n, b.mean_prob, b.mean_true, b.from_prob, b.to_prob), b.rule, confidence_level, effective_n)


def _bounded(
    columns: tuple[Any, ...], rule: str, confidence_level: float | None, effective_n: Floats | None = None
) -> Bins:
    """Rows, mean q, frequency and edges with their intervals."""
    n, mean_prob, mean_true, first, last = columns
    worth = n.astype(np.float64) if effective_n is None else effective_n
    low = high = mean_true
    if confidence_level is not None:
        low, high = clopper_pearson(mean_true * worth, worth, confidence_level)
    arrays = (n, mean_prob, mean_true, low, high, first, last, worth)
    for array in arrays:
        array.flags.writeable = False
    return Bins(*arrays, rule)


def clopper_pearson(successes: Ints | Floats, n: Ints | Floats, confidence_level: float) -> tuple[Floats, Floats]:
    """Exact binomial limits of a frequency, from the quantiles of beta distributions (Clopper & Pearson 1934).

    Fractions of a row are allowed, for effective numbers of rows.
    """
    tail = (1.0 - confidence_level) / 2.0
    k = _whole(successes, n)
    none, every = k == 0, k == n
    low = np.where(none, 0.0, special.betaincinv(np.where(none, 1.0, k), n - k + 1.0, tail))
    high = np.where(every, 1.0, special.betaincinv(k + 1.0, np.where(every, 1.0, n - k), 1.0 - tail))
    return low, high


def side_of(p: Floats, successes: Ints | Floats, n: Ints | Floats, confidence_level: float) -> Ints:
    """1 where p is above the limits of `clopper_pearson`, -1 below, else 0: by the laws themselves, not their quantiles."""
    tail = (1.0 - confidence_level) / 2.0
    k = _whole(successes, n)
    none, every = k == 0, k == n
    above = ~every & (special.betainc(k + 1.0, np.where(every, 1.0, n - k), p) > 1.0 - tail)
    below = ~none & (special.betainc(np.where(none, 1.0, k), n - k + 1.0, p) < tail)
    return above.astype(np.int64) - below


def _whole(successes: Ints | Floats, n: Ints | Floats) -> Floats:
    """Rounding may leave successes a hair inside 0 or n, where the beta law would be improper."""
    k = np.asarray(successes, np.float64)
    return np.where(k < 1e-9 * n, 0.0, np.where(k > (1.0 - 1e-9) * n, n, k))


# -- where the curve of a perfectly calibrated model would fall, given these q and these bins --------------------------


def consistency_band(
    sketch: Sketch, bins: Bins, starts: Ints | None, confidence_level: float, rng: np.random.Generator
) -> tuple[Floats, Floats] | None:
    """Pointwise limits of each bin's frequency when every y is Bernoulli(q), by simulation.

    None for equal-width bins of a collapsed sketch, whose cells do not nest in the bins, and for very many bins.
    """
    if starts is None or len(starts) > MOST_BINS:
        return None
    groups = _finer(starts, sketch.size, max(MOST_GROUPS // len(starts), 1))
    n = np.add.reduceat(sketch.size, groups)
    q = np.clip(np.add.reduceat(sketch.sum_q, groups) / n, 0.0, 1.0)
    draws = rng.binomial(n, q, size=(REPLICATES, len(n)))
    frequency = np.add.reduceat(draws, np.searchsorted(groups, starts), axis=1) / bins.n
    tail = (1.0 - confidence_level) / 2.0
    frequency.sort(axis=0)
    return _quantile(frequency, tail), _quantile(frequency, 1.0 - tail)


def _quantile(ordered: Floats, share: float) -> Floats:
    """`np.quantile` of each column, in order already; NumPy's own would import its masked arrays."""
    position = (len(ordered) - 1) * share
    first = min(int(position), len(ordered) - 2)
    low, high, part = ordered[first], ordered[first + 1], position - first
    return high - (high - low) * (1.0 - part) if part >= 0.5 else low + (high - low) * part


def _finer(starts: Ints, size: Ints, parts: int) -> Ints:
    """Cut each bin of cells into up to `parts` runs of about equal mass."""
    end = np.cumsum(size)
    before = np.concatenate([[0], end])[np.append(starts, len(size))]
    marks = before[:-1, None] + np.diff(before)[:, None] * np.arange(1, parts)[None, :] / parts
    cuts = np.searchsorted(end, marks.ravel(), side="left") + 1
    all_starts = np.concatenate([starts, cuts[cuts < len(size)]])
    return np.unique(all_starts, return_counts=True)[0]  # without counts, NumPy would import its masked arrays
