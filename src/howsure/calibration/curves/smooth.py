"""Calibration curves without bins: neighbours, kernels, isotonic regression, a Gaussian process.

All are computed from the sketch's cells, pooled into at most 512 points (half by rank, half by arcsine) when there are
more, so that any number of rows costs the same. Smoothing parameters minimise the leave-one-out risk (the Gaussian
process averages over them). Bands are pointwise and allow for the noise, not for the bias, of smoothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure._result import Record, records
from howsure.calibration.curves.bins import clopper_pearson, isotonic_starts
from howsure.calibration.estimation.estimate import estimation_bins
from howsure.calibration.estimation.intervals import normal_quantile
from howsure.calibration.sketch import Sketch
from howsure.errors import InputError
from howsure.kernels.cells import Floats

MOST_POINTS = 512
MOST_GP_POINTS = 200
GRID = 101
MOST_LOGIT = 12.0  # q of 0 and 1 are put at log-odds of ∓12
KINDS = ("kernel", "kernel:logit", "local-linear", "local-linear:logit", "neighbours", "isotonic", "gp")


@dataclass(frozen=True, slots=True)
class Curve(Record):
    """A smooth estimate of P(y = 1 | q) on a grid of q, with a pointwise band."""

    SHOWN = "kind smoothing points"

    kind: str
    q: Floats
    p: Floats
    low: Floats
    high: Floats
    smoothing: float | None  # bandwidth, number of neighbours, or length scale
    n: int

    def __repr__(self) -> str:
        return f"Curve({self.kind}, smoothing={self.smoothing}, n={self.n:,})"

    @property
    def points(self) -> list[dict[str, float]]:
        """A record for each point of the grid."""
        return records(q=self.q, p=self.p, low=self.low, high=self.high)


def smooth_curve(sketch: Sketch, kind: str, confidence_level: float = 0.95) -> Curve:
    """The curve of that kind over the range of q seen."""
    if kind not in KINDS:
        raise InputError(f"unknown curve {kind!r}; there are: {', '.join(KINDS)}.")
    n = sketch.n
    grid = np.linspace(float(sketch.mean_q[0]), float(sketch.mean_q[-1]), GRID if len(sketch.size) > 1 else 1)
    if kind == "isotonic":
        p, low, high = _isotonic(sketch, grid, confidence_level)
        smoothing: float | None = None
    elif kind == "gp":
        p, low, high, smoothing = _gaussian_process(sketch, grid, confidence_level)
    else:
        x, size, positive = points(sketch, MOST_POINTS)
        base, _, scale = kind.partition(":")
        if base == "neighbours":
            smoothing = float(best_neighbours(x, size, positive))
            p, low, high = neighbours(x, size, positive, grid, smoothing, confidence_level)
        else:
            place = log_odds if scale == "logit" else np.asarray
            linear = base == "local-linear"
            smoothing = best_bandwidth(place(x), size, positive, linear=linear)
            p, low, high = kernel(place(x), size, positive, place(grid), smoothing, confidence_level, linear=linear)
    made = Curve(kind, grid, p, np.minimum(low, p), np.maximum(high, p), smoothing, n)
    for array in (made.q, made.p, made.low, made.high):
        array.flags.writeable = False
    return made


def log_odds(q: Floats) -> Floats:
    """logit q, kept within ±12."""
    with np.errstate(divide="ignore"):
        return np.clip(np.log(q) - np.log1p(-q), -MOST_LOGIT, MOST_LOGIT)


def points(sketch: Sketch, most: int) -> tuple[Floats, Floats, Floats]:
    """Mean q, rows and positives of the cells, pooled if there are more than `most`."""
    if len(sketch.size) <= most:
        return sketch.mean_q, sketch.size.astype(np.float64), sketch.counts[:, 1].astype(np.float64)
    starts = estimation_bins(sketch, most // 2).starts
    size = np.add.reduceat(sketch.size, starts).astype(np.float64)
    return (
        np.clip(np.add.reduceat(sketch.sum_q, starts) / size, 0.0, 1.0),
        size,
        np.add.reduceat(sketch.counts[:, 1], starts).astype(np.float64),
    )


def _weights(at: Floats, x: Floats, h: float) -> Floats:
    """Gaussian kernel weights, (at, x); the nearest point keeps weight 1 however far it is."""
    z = 0.5 * ((at[:, None] - x[None, :]) / h) ** 2
    return np.exp(-(z - z.min(axis=1, keepdims=True)))


def smoother(at: Floats, x: Floats, size: Floats, h: float, *, linear: bool) -> Floats:
    """What a row at each x counts for in the estimate at each `at`: rows of l sum, times size, to one."""
    w = _weights(at, x, h)
    if not linear:
        return w / (w @ size)[:, None]
    d = x[None, :] - at[:, None]
    s0, s1, s2 = (w * size).sum(axis=1), (w * size * d).sum(axis=1), (w * size * d * d).sum(axis=1)
    # A ridge far below the data's own spread keeps the fit level where one point is all there is.
    s2 = s2 + 1e-10 * s0 * h * h
    hat: Floats = w * (s2[:, None] - s1[:, None] * d) / (s0 * s2 - s1**2)[:, None]
    return hat


def kernel(
    x: Floats, size: Floats, positive: Floats, at: Floats, h: float, level: float, *, linear: bool
) -> tuple[Floats, Floats, Floats]:
    """Nadaraya-Watson or local linear estimate and band: ± z √Σ l² n p(1-p)."""
    hat = smoother(at, x, size, h, linear=linear)
    p = np.clip(hat @ positive, 0.0, 1.0)
    fitted = np.clip(smoother(x, x, size, h, linear=linear) @ positive, 0.0, 1.0)
    # A fit of 0 or 1 is not certain: the variance is at least that of half a row.
    spread = np.maximum(fitted * (1.0 - fitted), 0.5 / np.maximum(size, 1.0) * (1.0 - 0.5 / np.maximum(size, 1.0)))
    half = normal_quantile(0.5 + level / 2) * np.sqrt(hat**2 @ (size * spread))
    return p, np.maximum(p - half, 0.0), np.minimum(p + half, 1.0)


def best_bandwidth(x: Floats, size: Floats, positive: Floats, *, linear: bool) -> float:
    """The bandwidth, of 16 between the spacing of the points and their range, of least leave-one-out risk."""
    reach = max(float(x[-1] - x[0]), 1e-9)
    candidates = reach * np.geomspace(max(2.0 / len(x), 1e-3), 1.0, 16)
    risks = [leave_one_out(x, size, positive, h, linear=linear) for h in candidates]
    return float(candidates[int(np.argmin(risks))])


def leave_one_out(x: Floats, size: Floats, positive: Floats, h: float, *, linear: bool) -> float:
    """Mean squared residual of each row from the fit without it: (y - p̂)/(1 - l_ii), in closed form."""
    hat = smoother(x, x, size, h, linear=linear)
    fitted, own = hat @ positive, np.diag(hat)
    left = 1.0 - own
    if left.min() <= 1e-9:
        return float("inf")
    risk = positive * ((1.0 - fitted) / left) ** 2 + (size - positive) * (fitted / left) ** 2
    return float(risk.sum() / size.sum())


def neighbours(
    x: Floats, size: Floats, positive: Floats, at: Floats, k: float, level: float
) -> tuple[Floats, Floats, Floats]:
    """The frequency among the (at least) k rows nearest in q, ties together, with its Clopper-Pearson interval."""
    held, good = _nearest(x, size, positive, at, k)
    low, high = clopper_pearson(good, held, level)
    return good / held, low, high


def _nearest(x: Floats, size: Floats, positive: Floats, at: Floats, k: float) -> tuple[Floats, Floats]:
    distance = np.abs(at[:, None] - x[None, :])
    order = np.argsort(distance, axis=1, kind="stable")
    held, good = np.cumsum(size[order], axis=1), np.cumsum(positive[order], axis=1)
    near = np.take_along_axis(distance, order, axis=1)
    enough = np.minimum((held < k).sum(axis=1), len(x) - 1)
    reach = near[np.arange(len(at)), enough]
    last = (near <= reach[:, None]).sum(axis=1) - 1  # points equally far come along
    rows = np.arange(len(at))
    return held[rows, last], good[rows, last]


def best_neighbours(x: Floats, size: Floats, positive: Floats) -> int:
    """The number of rows, of 16 between 10 and all of them, of least leave-one-out risk."""
    total = float(size.sum())
    best, least = total, float("inf")
    for k in np.unique(np.geomspace(min(10.0, total), total, 16).round()):
        held, good = _nearest(x, size, positive, x, k)
        if held.min() < 2:
            continue
        p = good / held
        grown = (held / (held - 1.0)) ** 2
        risk = float(np.sum(grown * (positive * (1.0 - p) ** 2 + (size - positive) * p**2))) / total
        if risk < least:
            best, least = k, risk
    return int(best)


def _isotonic(sketch: Sketch, grid: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """The monotone fit, constant on blocks and joined by the grid; each block with its Clopper-Pearson interval."""
    starts = isotonic_starts(sketch)
    n = np.add.reduceat(sketch.size, starts)
    k = np.add.reduceat(sketch.counts[:, 1], starts)
    block = np.searchsorted(sketch.mean_q[starts], grid, side="right") - 1
    low, high = clopper_pearson(k, n, level)
    return (k / n)[block], low[block], high[block]


def _gaussian_process(sketch: Sketch, grid: Floats, level: float) -> tuple[Floats, Floats, Floats, float]:
    """q plus a Gaussian process in asin √q, squared-exponential, with noise p(1-p)/n.

    Averaged over 5 amplitudes and 6 lengths by their marginal likelihoods, so that the band allows for not knowing them.
    Returned with the most likely length.
    """
    x, size, positive = points(sketch, MOST_GP_POINTS)
    place, at = np.arcsin(np.sqrt(x)), np.arcsin(np.sqrt(grid))
    residual = positive / size - x
    smoothed = (positive + 0.5) / (size + 1.0)
    noise = np.maximum(smoothed * (1.0 - smoothed), 0.25 / size) / size
    evidence, means, variances, lengths = [], [], [], []
    for length in np.geomspace(0.05, 1.6, 6):
        shape = np.exp(-0.5 * ((place[:, None] - place[None, :]) / length) ** 2)
        cross_shape = np.exp(-0.5 * ((at[:, None] - place[None, :]) / length) ** 2)
        for amplitude in np.geomspace(0.01, 0.3, 5):
            factor = np.linalg.cholesky(amplitude**2 * shape + np.diag(noise))
            both = np.linalg.solve(factor, np.column_stack([residual, amplitude**2 * cross_shape.T]))
            solved, cross = both[:, 0], both[:, 1:]
            evidence.append(-0.5 * float(solved @ solved) - float(np.log(np.diag(factor)).sum()))
            means.append(cross.T @ solved)
            variances.append(np.maximum(amplitude**2 - np.sum(cross**2, axis=0), 0.0))
            lengths.append(float(length))
    weight = np.exp(np.array(evidence) - max(evidence))
    weight /= weight.sum()
    shift = weight @ np.array(means)
    variance = weight @ (np.array(variances) + np.array(means) ** 2) - shift**2
    half = normal_quantile(0.5 + level / 2) * np.sqrt(np.maximum(variance, 0.0))
    low, p, high = (np.clip(grid + shift + d, 0.0, 1.0) for d in (-half, 0.0, half))
    return p, low, high, lengths[int(np.argmax(weight))]
