"""Calibration curves without bins: neighbours, kernels, isotonic regression, a Gaussian process.

All are computed from the sketch's cells, pooled into at most 512 points (half by rank, half by arcsine) when there are
more, so that any number of rows costs the same. Smoothing parameters minimise the leave-one-out risk (the Gaussian
process averages over them). Bands are not drawn around the curve but around a rougher estimate whose bias is small
(`bands.py`); one band holds at each place, a wider one everywhere at once.
"""

from dataclasses import dataclass

import numpy as np

from howsure._result import Record, records, shown_as
from howsure.calibration.curves.bands import (
    bootstrapped_band,
    gaussian_process_band,
    linear_band,
    local_polynomial,
    monotone_band,
    spread,
)
from howsure.calibration.curves.bins import clopper_pearson, isotonic_starts
from howsure.calibration.estimation.estimate import estimation_bins
from howsure.calibration.sketch import Sketch
from howsure.errors import InputError
from howsure.kernels.cells import Floats

MOST_POINTS = 512
MOST_GP_POINTS = 200
GRID = 101
MOST_LOGIT = 12.0  # q of 0 and 1 are put at log-odds of ∓12
KERNELS = ("kernel", "kernel:logit", "kernel-bootstrap", "local-linear", "local-linear:logit")
KINDS = (*KERNELS, "neighbours", "isotonic", "gp")
# A band's window: its share of the curve's, and the most that it may be, so that waves too small to be seen are allowed for.
ROUGHER = 0.8
WIDEST = 1 / 12  # of the range of q
MOST_NEIGHBOURS = 1 / 10  # of the rows
COLUMNS = ("q", "p", "low", "high", "low_everywhere", "high_everywhere")


@dataclass(frozen=True, slots=True)
class Curve(Record):
    """A smooth estimate of P(y = 1 | q) on a grid of q, with a band for each place and one for all places at once."""

    SHOWN = "kind smoothing points"
    __repr__ = shown_as("{kind}, smoothing={smoothing}, n={n:,}")

    kind: str
    q: Floats
    p: Floats
    low: Floats
    high: Floats
    low_everywhere: Floats
    high_everywhere: Floats
    smoothing: float | None  # bandwidth, number of neighbours, or length scale
    n: int

    @property
    def points(self) -> list[dict[str, float]]:
        """A record for each point of the grid."""
        return records(**{c: getattr(self, c) for c in COLUMNS})


def smooth_curve(sketch: Sketch, kind: str, confidence_level: float = 0.95) -> Curve:
    """The curve of that kind over the range of q seen."""
    if kind not in KINDS:
        raise InputError(f"unknown curve {kind!r}; there are: {', '.join(KINDS)}.")
    n = sketch.n
    grid = np.linspace(float(sketch.mean_q[0]), float(sketch.mean_q[-1]), GRID if len(sketch.size) > 1 else 1)
    x, size, positive = points(sketch, MOST_GP_POINTS if kind == "gp" else MOST_POINTS)
    smoothing: float | None = None
    if kind == "isotonic":
        p, low, high = _isotonic(sketch, grid, confidence_level)
        band = monotone_band(x, size, positive, grid, low, high, confidence_level)
    elif kind == "gp":
        noise = _pilot_noise(x, size, positive)
        p, smoothing = _gaussian_process(x, size, positive, grid, noise)
        band = gaussian_process_band(x, positive / size, grid, noise, confidence_level)
    elif kind == "neighbours":
        smoothing = float(best_neighbours(x, size, positive))
        p = neighbours(x, size, positive, grid, smoothing)
        inside = _among_nearest(x, size, grid, min(smoothing, max(MOST_NEIGHBOURS * n, 10.0)))
        # Only those inside: where all of them are one point the window is 0, and others are infinitely many windows away.
        distance = inside * (x[None, :] - grid[:, None])
        window = np.abs(distance).max(axis=1, keepdims=True)
        hat = local_polynomial(inside, distance / np.maximum(window, 1e-300), size, 1)
        own = _among_nearest(x, size, x, smoothing)
        fitted, rows = own @ positive / (own @ size), own @ size
        band = linear_band(hat, size, positive, fitted, rows, confidence_level)
    else:
        base, _, scale = kind.partition(":")
        place = log_odds if scale == "logit" else np.asarray
        order = 1 if base == "local-linear" else 0
        at, x = place(grid), place(x)
        smoothing = best_bandwidth(x, size, positive, linear=order == 1)
        p = kernel(x, size, positive, at, smoothing, linear=order == 1)
        h = min(ROUGHER * smoothing, WIDEST * max(float(x[-1] - x[0]), 1e-9))
        weights, distance = _weights(at, x, h), (x[None, :] - at[:, None]) / h
        own = smoother(x, x, size, smoothing, linear=order == 1)
        fitted = np.clip(own @ positive, 0.0, 1.0)
        rows = 1.0 / (own**2 @ size)
        if base == "kernel-bootstrap":
            band = bootstrapped_band(weights, distance, size, positive, fitted, rows, confidence_level)
        else:
            hat = local_polynomial(weights, distance, size, order + 2)
            band = linear_band(hat, size, positive, fitted, rows, confidence_level)
    band = band.around(p)
    made = Curve(kind, grid, p, band.low, band.high, band.low_everywhere, band.high_everywhere, smoothing, n)
    for column in COLUMNS:
        getattr(made, column).flags.writeable = False
    return made


def log_odds(q: Floats) -> Floats:
    """logit q, kept within ±12."""
    with np.errstate(divide="ignore"):
        return np.clip(np.log(q) - np.log1p(-q), -MOST_LOGIT, MOST_LOGIT)


def points(sketch: Sketch, most: int) -> tuple[Floats, Floats, Floats]:
    """Mean q, rows and positives of the cells, pooled if there are more than `most`."""
    if len(sketch.size) <= most:
        return sketch.mean_q, sketch.size.astype(np.float64), sketch.counts[:, 1].astype(np.float64)
    starts = estimation_bins(sketch, most // 2, heaps=False).starts
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
    return w * (s2[:, None] - s1[:, None] * d) / (s0 * s2 - s1**2)[:, None]


def kernel(x: Floats, size: Floats, positive: Floats, at: Floats, h: float, *, linear: bool) -> Floats:
    """Nadaraya-Watson or local linear estimate. The first is also the ratio of two kernel density estimates."""
    return np.clip(smoother(at, x, size, h, linear=linear) @ positive, 0.0, 1.0)


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


def neighbours(x: Floats, size: Floats, positive: Floats, at: Floats, k: float) -> Floats:
    """The frequency among the (at least) k rows nearest in q, ties together."""
    inside = _among_nearest(x, size, at, k)
    return (inside @ positive) / (inside @ size)


def _among_nearest(x: Floats, size: Floats, at: Floats, k: float) -> Floats:
    """1 for the points that are among the (at least) k rows nearest, those equally far included, else 0."""
    distance = np.abs(at[:, None] - x[None, :])
    order = np.argsort(distance, axis=1, kind="stable")
    enough = np.minimum((np.cumsum(size[order], axis=1) < k).sum(axis=1), len(x) - 1)
    reach = np.take_along_axis(distance, np.take_along_axis(order, enough[:, None], 1), 1)
    return (distance <= reach).astype(np.float64)


def best_neighbours(x: Floats, size: Floats, positive: Floats) -> int:
    """The number of rows, of 16 between 10 and all of them, of least leave-one-out risk."""
    total = float(size.sum())
    best, least = total, float("inf")
    for k in np.unique(np.geomspace(min(10.0, total), total, 16).round()):
        inside = _among_nearest(x, size, x, k)
        held = inside @ size
        if held.min() < 2:
            continue
        p = inside @ positive / held
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


def _pilot_noise(x: Floats, size: Floats, positive: Floats) -> Floats:
    """p(1-p)/n of each point with p from a local linear fit.

    With the point's own frequency for p, points that happen to be all 0 or all 1 would seem the surest ones.
    """
    h = best_bandwidth(x, size, positive, linear=True)
    own = smoother(x, x, size, h, linear=True)
    rows = 1.0 / (own**2 @ size)
    return spread(np.clip(own @ positive, 0.0, 1.0), rows) / size


def _gaussian_process(x: Floats, size: Floats, positive: Floats, grid: Floats, noise: Floats) -> tuple[Floats, float]:
    """q plus a Gaussian process in asin √q, squared-exponential.

    Averaged over 5 amplitudes and 6 lengths by their marginal likelihoods. Returned with the most likely length.
    """
    place, at = np.arcsin(np.sqrt(x)), np.arcsin(np.sqrt(grid))
    residual = positive / size - x
    evidence, means, lengths = [], [], []
    for length in np.geomspace(0.05, 1.6, 6):
        shape = np.exp(-0.5 * ((place[:, None] - place[None, :]) / length) ** 2)
        cross_shape = np.exp(-0.5 * ((at[:, None] - place[None, :]) / length) ** 2)
        for amplitude in np.geomspace(0.01, 0.3, 5):
            factor = np.linalg.cholesky(amplitude**2 * shape + np.diag(noise))
            solved = np.linalg.solve(factor, residual)
            evidence.append(-0.5 * float(solved @ solved) - float(np.log(np.diag(factor)).sum()))
            means.append(amplitude**2 * cross_shape @ np.linalg.solve(factor.T, solved))
            lengths.append(float(length))
    weight = np.exp(np.array(evidence) - max(evidence))
    weight /= weight.sum()
    return np.clip(grid + weight @ np.array(means), 0.0, 1.0), lengths[int(np.argmax(weight))]
