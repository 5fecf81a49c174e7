"""Tests of perfect calibration where limit laws fail: the same statistics of labels drawn from q.

Cells are pooled into lots of nearly one q, whose number of ones is binomial under H0. The seed is fixed and lots come in
order of q, so the same sketch always gives the same p-values.
"""

from functools import cache, lru_cache
from math import exp

import numpy as np

from howsure.calibration.estimation.estimate import BinSums, estimation_bins
from howsure.calibration.estimation.perfection import combined_p_value, pseudo_inverse
from howsure.calibration.sketch import Sketch
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints, sum_of

SEED = 20150917
LOTS = 32
FEW = 499  # simulations; that settles a p-value above `CLEAR`
MANY, DRAWS = 4_999, 160_000  # simulations where it does not, or fewer to stay within this number of draws
PATHS = 1_999  # of normal steps
CLEAR = 0.2
REACH = 10  # simulations at least as extreme, below which a tail bound may say more


def simulated_p_values(sketch: Sketch, bins: BinSums, *, whole: bool = True) -> tuple[float, ...] | None:
    """Of the combined test, excess error, score, Spiegelhalter, Kolmogorov-Smirnov and Kuiper; None where chance has no part.

    Unless it is the `whole`, of the first alone.
    """
    starts = _lots(sketch, bins)
    n = np.add.reduceat(sketch.size, starts)
    q = np.clip(np.add.reduceat(sketch.sum_q, starts) / n, 0.0, 1.0)
    x = np.ones((2, len(q)))
    x[1] -= 2.0 * q
    inverse, rank = pseudo_inverse((n * q * (1.0 - q) * x) @ x.T)
    if rank == 0:
        return None
    observed = np.add.reduceat(sketch.counts[:, 1], starts)
    bin_of = np.searchsorted(bins.starts, starts, side="right") - 1
    joined = bin_of == np.arange(len(bins.n))[:, None]  # sums over the lots of each bin
    pairs = 1.0 / (bins.n - 1.0)
    # Each statistic is made of sums over lots: the score's two, Σe² over rows of one bin (less a constant), and Σe of each bin.
    sums = np.concatenate([x, [pairs[bin_of] * x[1]], joined])
    expected = sums @ (n * q)
    near = 1e-13 * (1.0 + expected[0])  # rounding
    expected[2] = -pairs[bin_of] @ (n * q * q)
    tables = _tables(n, q)
    for simulations in (FEW, min(max(DRAWS // len(n), 2 * FEW), MANY)):
        ones = _drawn(observed, tables, simulations)
        total = sums @ ones - expected[:, None]
        excess = pairs @ total[3:] ** 2 - total[2]
        score = (inverse @ total[:2] * total[:2]).sum(axis=0)
        p, p_excess, p_score_observed = _combined(excess, score, near)
        if p > CLEAR:
            break
    if p_score_observed * (simulations + 1) <= REACH:
        p_score_observed = min(p_score_observed, _tail_bound(n, q, inverse @ total[:2, 0] @ x, ones[:, 0]))
        p = min(p, float(combined_p_value(np.array(p_excess), np.array(p_score_observed))))
    if not whole:
        return (p,)
    return (
        p,
        p_excess,
        p_score_observed,
        _tail(np.abs(total[1]), near),
        *_path_p_values(ones - (n * q)[:, None]),
    )


def _combined(excess: Floats, score: Floats, near: float) -> tuple[float, float, float]:
    """The first one's p-values by rank among all: combined, of `excess` and of `score`.

    A combined p-value is never below the lesser of its two, so that only who has one as low as the first is looked at.
    """
    ordered = np.sort(excess), np.sort(score)
    first = _tails(excess[:1], ordered[0], near), _tails(score[:1], ordered[1])
    seen = combined_p_value(*first)
    rank = int(len(excess) * (1.0 - 1.01 * float(seen[0]))) - 1  # of a p-value as low as that; with room for rounding
    least = max(rank, 0)
    among = np.flatnonzero((excess >= ordered[0][least]) | (score >= ordered[1][least]))
    p = combined_p_value(_tails(excess[among], ordered[0], near), _tails(score[among], ordered[1]))
    return float(np.count_nonzero(p <= seen * (1.0 + 1e-9)) / len(excess)), float(first[0][0]), float(first[1][0])


Tables = tuple[Floats, Floats]  # of each lot the least number of ones, and P(at most that), P(at most one more), …


def _tables(n: Ints, q: Floats) -> Tables:
    """The laws Binomial(n, q), a column each, filled up with 2."""
    mean = n * q
    far = 6.5 * np.sqrt(mean * (1.0 - q)) + 14.0  # by Bernstein's inequality less than 1e-9 lies beyond
    low, high = np.maximum(np.floor(mean - far), 0.0), np.minimum(np.ceil(mean + far), n)
    k = low + np.arange(int((high - low).max()))[:, None]  # the last one is what is left
    return low, special.betainc(n - k, k + 1.0, 1.0 - q, out=np.full(k.shape, 2.0), where=k < high)


def _drawn(observed: Ints, tables: Tables, simulations: int) -> Floats:
    """Numbers of ones, a row for each lot: those observed, then draws, where uniform numbers fall in the table of the law."""
    low, table = tables
    uniform = _uniform(len(low), simulations)
    table = table[: int(np.count_nonzero((table <= _largest(len(low), simulations)).any(axis=1)))]
    made = np.zeros(uniform.shape, np.uint8 if len(table) < 256 else np.int64)
    for step in table:  # a table has a few steps: comparing with each is faster than searching it
        made += (uniform >= step[:, None]).view(np.uint8)
    ones = np.empty((len(low), 1 + simulations))
    ones[:, 0] = observed
    np.add(low[:, None], made, out=ones[:, 1:])
    return ones


def _uniform(rows: int, columns: int) -> Floats:
    """The first random numbers of the seed."""
    first = _stream() if rows * columns <= DRAWS else np.random.default_rng(SEED).random(rows * columns)
    return first[: rows * columns].reshape(rows, columns)


@lru_cache(256)
def _largest(rows: int, columns: int) -> Floats:
    """Of each row of these."""
    return _uniform(rows, columns).max(axis=1)


@cache
def _stream() -> Floats:
    made = np.random.default_rng(SEED).random(DRAWS)
    made.flags.writeable = False
    return made


def few_steps_p_values(sketch: Sketch) -> tuple[float, float]:
    """Of Kolmogorov-Smirnov and Kuiper where few values of q hold most of the variance: a path of few steps has smaller extremes
    than Brownian motion. Steps are large enough here to be normal."""
    starts = estimation_bins(sketch, LOTS).starts if len(sketch.size) > LOTS else np.arange(len(sketch.size))
    n = np.add.reduceat(sketch.size, starts)
    q = np.clip(np.add.reduceat(sketch.sum_q, starts) / n, 0.0, 1.0)
    observed = np.add.reduceat(sketch.sum_e, starts)
    drawn = np.random.default_rng(SEED).normal(size=(len(n), PATHS)) * np.sqrt(n * q * (1.0 - q))[:, None]
    return _path_p_values(np.column_stack([observed, drawn]))


def _path_p_values(e: Floats) -> tuple[float, float]:
    """Of the furthest point and the range of the first path, by rank among all; a column holds the steps of a path."""
    at, high, low = np.zeros((3, e.shape[1]))
    for step in e:
        at += step
        np.maximum(high, at, out=high)
        np.minimum(low, at, out=low)
    return _tail(np.maximum(high, -low)), _tail(high - low)


def _lots(sketch: Sketch, bins: BinSums) -> Ints:
    """First cell of each lot: every cell, or about `LOTS` runs of cells that part no bin."""
    if len(sketch.size) <= LOTS:
        return np.arange(len(sketch.size))
    begins = np.zeros(len(sketch.size), np.bool_)
    begins[estimation_bins(sketch, LOTS).starts] = begins[bins.starts] = True
    return np.flatnonzero(begins)


def _tails(x: Floats, ordered: Floats, near: float = 0.0) -> Floats:
    """For each value the share of `ordered` ones that are as large; differences at rounding level count as 0."""
    order = np.argsort(x)  # looking up values in order is faster
    made = np.empty(len(x))
    x = x[order]
    made[order] = 1.0 - np.searchsorted(ordered, x - (1e-9 * np.abs(x) + near), side="left") / len(ordered)
    return made


def _tail(x: Floats, near: float = 0.0) -> float:
    """The same of the first value."""
    return float(np.count_nonzero(x >= x[0] - (1e-9 * abs(x[0]) + near)) / len(x))


def _tail_bound(n: Ints, q: Floats, a: Floats, ones: Floats) -> float:
    """Chernoff's bound of P(Σ a k ≥ Σ a ones), k Binomial(n, q): exp(-max_t [t Σ a ones - log E exp(t Σ a k)])."""
    random = (q > 0.0) & (q < 1.0)
    if np.any(ones[~random] != (n * q)[~random]):
        return 0.0
    n, q, a, ones = n[random], q[random], a[random], ones[random]
    start, mean = special.logit(q), n * q
    reached = sum_of(a * (ones - mean))

    def slope(t: float) -> float:  # rounded as `reached` is, which may be the most that is possible
        return sum_of(a * (n * special.expit(start + t * a) - mean))

    low, high = 0.0, 1.0
    while slope(high) < reached and high < 1e6:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < reached else (low, middle)
    log_mean = n * np.logaddexp(np.log1p(-q), np.log(q) + low * a) - low * a * ones
    return exp(min(sum_of(log_mean), 0.0))
