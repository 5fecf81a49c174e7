"""Tests of perfect calibration where limit laws fail: the same statistics of labels drawn from q.

Cells are pooled into lots of nearly one q, whose number of ones is binomial under H0. The seed is fixed and lots come in
order of q, so the same sketch always gives the same p-values.
"""

from math import exp

import numpy as np

from howsure.calibration.estimation.estimate import BinSums, estimation_bins
from howsure.calibration.estimation.perfection import combined_p_value, pseudo_inverse
from howsure.calibration.sketch import Sketch
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints

SEED = 20150917
LOTS = 32
FEW = 499  # simulations; that settles a p-value above `CLEAR`
MANY, DRAWS = 4_999, 160_000  # simulations where it does not, or fewer to stay within this number of draws
PATHS = 1_999  # of normal steps
CLEAR = 0.2
REACH = 10  # simulations at least as extreme, below which a tail bound may say more


def simulated_p_values(sketch: Sketch, bins: BinSums) -> tuple[float, ...] | None:
    """Of the combined test, excess error, score, Spiegelhalter, Kolmogorov-Smirnov and Kuiper; None where chance has no part."""
    starts = _lots(sketch, bins)
    n = np.add.reduceat(sketch.size, starts)
    q = np.clip(np.add.reduceat(sketch.sum_q, starts) / n, 0.0, 1.0)
    x = np.stack([np.ones_like(q), 1.0 - 2.0 * q])
    inverse, rank = pseudo_inverse((n * q * (1.0 - q) * x) @ x.T)
    if rank == 0:
        return None
    observed = np.add.reduceat(sketch.counts[:, 1], starts)
    first = np.searchsorted(starts, bins.starts)
    for simulations in (FEW, min(max(DRAWS // len(n), 2 * FEW), MANY)):
        drawn = np.random.default_rng(SEED).binomial(n, q, (simulations, len(n)))
        ones = np.concatenate([observed[None, :], drawn])
        e = ones - n * q
        total = e @ x.T
        square = np.add.reduceat(ones * (1.0 - 2.0 * q) + n * q * q, first, axis=1)  # Σe²
        excess = np.sum((np.add.reduceat(e, first, axis=1) ** 2 - square) / (bins.n - 1.0), axis=1)
        p_excess, p_score = _tails(excess), _tails(np.sum(total @ inverse * total, axis=1))
        p_slope = float(_tails(np.abs(total[:, 1]))[0])
        p = float(_tails(-combined_p_value(p_excess, p_score))[0])
        if p > CLEAR:
            break
    p_score_observed = float(p_score[0])
    if p_score_observed * (simulations + 1) <= REACH:
        p_score_observed = min(
            p_score_observed, _tail_bound(n, q, inverse @ total[0] @ x, total[0] @ inverse @ total[0])
        )
        p = min(p, float(combined_p_value(p_excess[0], np.array(p_score_observed))))
    return p, float(p_excess[0]), p_score_observed, p_slope, *_path_p_values(e)


def few_steps_p_values(sketch: Sketch) -> tuple[float, float]:
    """Of Kolmogorov-Smirnov and Kuiper where few values of q hold most of the variance: a path of few steps has smaller extremes
    than Brownian motion. Steps are large enough here to be normal."""
    starts = estimation_bins(sketch, LOTS).starts if len(sketch.size) > LOTS else np.arange(len(sketch.size))
    n = np.add.reduceat(sketch.size, starts)
    q = np.clip(np.add.reduceat(sketch.sum_q, starts) / n, 0.0, 1.0)
    observed = np.add.reduceat(sketch.sum_e, starts)
    drawn = np.random.default_rng(SEED).normal(size=(PATHS, len(n))) * np.sqrt(n * q * (1.0 - q))
    return _path_p_values(np.concatenate([observed[None, :], drawn]))


def _path_p_values(e: Floats) -> tuple[float, float]:
    """Of the furthest point and the range of the first path, by rank among all; a row holds the steps of a path."""
    path = np.cumsum(e, axis=1)
    high, low = np.maximum(path.max(axis=1), 0.0), np.minimum(path.min(axis=1), 0.0)
    return float(_tails(np.maximum(high, -low))[0]), float(_tails(high - low)[0])


def _lots(sketch: Sketch, bins: BinSums) -> Ints:
    """First cell of each lot: every cell, or about `LOTS` runs of cells that part no bin."""
    if len(sketch.size) <= LOTS:
        return np.arange(len(sketch.size))
    return np.union1d(estimation_bins(sketch, LOTS).starts, bins.starts)


def _tails(x: Floats) -> Floats:
    """For each value the share of all that are as large; differences at rounding level count as 0."""
    least = np.searchsorted(np.sort(x), x - 1e-9 * np.abs(x), side="left")
    return (len(x) - least) / len(x)


def _tail_bound(n: Ints, q: Floats, a: Floats, reached: float) -> float:
    """Chernoff's bound of P(Σ a e ≥ reached): exp(-max_t [t·reached - log E exp(t Σ a e)])."""
    start = special.logit(q)
    random = (q > 0.0) & (q < 1.0)
    n, q, a, start = n[random], q[random], a[random], start[random]

    def slope(t: float) -> float:
        return float(np.sum(n * a * (special.expit(start + t * a) - q)))

    low, high = 0.0, 1.0
    while slope(high) < reached and high < 1e6:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < reached else (low, middle)
    log_mean = np.logaddexp(np.log1p(-q), np.log(q) + low * a) - low * a * q
    return exp(min(float(np.sum(n * log_mean)) - low * reached, 0.0))
