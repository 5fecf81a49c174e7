"""How far outcomes lie above their forecasts, and how much more widely they are spread: the size of a misfit.

On the scale w = Φ⁻¹(F(y)) a calibrated forecast gives N(0, 1); for a forecast N(m, s²) w is (y - m)/s, so a shift moves
its mean alone and a wrong width its standard deviation alone, which the mean and variance of the PIT do not keep apart.
N(shift, spread²) is fitted by maximum likelihood to the counts between points where the ECDF is known, which needs no
random places. S draws place y among themselves, not F(y) on a scale: the k-th lowest draw lies at a Beta(k, S+1-k)
quantile of the forecast, and the fit allows for that.
"""

from functools import lru_cache
from math import exp, log, sqrt

import numpy as np

from howsure.calibration.estimation.intervals import Estimate, normal_quantile
from howsure.calibration.forecasts.pit import CELLS
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints

NODES = 48
MOST_SHIFT, MOST_LOG_SPREAD = 8.0, log(20.0)
WORST_CONDITION = 1e8


def shift_and_spread(
    cells: Ints, points: Ints, n_draws: int | None, confidence_level: float
) -> tuple[Estimate, Estimate]:
    """The fit, with intervals from the sandwich variance; none where the data do not hold the fit."""
    n = int(cells.sum())
    counts = np.add.reduceat(cells, np.append(0, points)).astype(np.float64)
    scale, weight = _scale(tuple(points.tolist()), n_draws)
    fit, inside = _fitted(counts, scale, weight)
    mean, spread = float(fit[0]), exp(fit[1])
    p, slope = _law(fit, scale, weight)
    score = slope / p
    information = slope @ score.T  # of one row
    if not inside or n < 3 or np.linalg.cond(information) > WORST_CONDITION:
        return Estimate(mean), Estimate(spread)
    inverse = np.linalg.inv(information)
    variance = inverse @ ((counts * score) @ score.T) @ inverse / n**2
    half = normal_quantile(0.5 + confidence_level / 2) * np.sqrt(np.diag(variance))
    if half[1] > MOST_LOG_SPREAD:
        return Estimate(mean), Estimate(spread)
    return (
        Estimate(mean, mean - float(half[0]), mean + float(half[0])),
        Estimate(spread, spread * exp(-half[1]), spread * exp(half[1])),
    )


@lru_cache(maxsize=8)
def _scale(places: tuple[int, ...], n_draws: int | None) -> tuple[Floats, Floats]:
    """Where the points lie on the scale of w, (points, nodes), and the nodes' weights: of a law for draws, else one."""
    points = np.array(places)
    if n_draws is None:
        return special.ndtri(points / CELLS)[:, None], np.ones(1)
    node, weight = np.polynomial.legendre.leggauss(NODES)
    k = np.clip(np.rint(points / CELLS * (n_draws + 1)), 1, n_draws)[:, None]
    return special.ndtri(special.betaincinv(k, n_draws + 1 - k, 0.5 + 0.5 * node)), 0.5 * weight


def _law(fit: Floats, scale: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Probabilities of the gaps between the points, and their slopes by shift and log spread, (2, gaps)."""
    t = (scale - fit[0]) / exp(fit[1])
    density = np.exp(-0.5 * t**2) / sqrt(2.0 * np.pi)
    at_points = np.zeros((3, len(scale) + 2))  # P(below) and its slopes by shift and log spread, at both ends too
    at_points[0, -1] = 1.0
    at_points[0, 1:-1] = np.sum(special.ndtr(t) * weight, axis=1)
    at_points[1, 1:-1] = -np.sum(density * weight, axis=1) / exp(fit[1])
    at_points[2, 1:-1] = -np.sum(density * t * weight, axis=1)
    gaps = at_points[:, 1:] - at_points[:, :-1]
    return np.maximum(gaps[0], 1e-15), gaps[1:]  # differences of numbers near 1 carry no more digits


def _fitted(counts: Floats, scale: Floats, weight: Floats) -> tuple[Floats, bool]:
    """Fisher scoring with halved steps from (0, 0); False when the likelihood still grows at the edge."""
    edge = np.array([MOST_SHIFT, MOST_LOG_SPREAD])
    fit, n = np.zeros(2), counts.sum()
    p, slope = _law(fit, scale, weight)
    value = float(np.sum(counts * np.log(p)))
    for _ in range(100):
        gradient = slope @ (counts / p)
        information = n * slope @ (slope / p).T + 1e-9 * n * np.eye(2)
        step = np.clip(np.linalg.solve(information, gradient), -1.0, 1.0)
        for _ in range(30):
            tried = np.clip(fit + step, -edge, edge)
            p_tried, slope_tried = _law(tried, scale, weight)
            value_tried = float(np.sum(counts * np.log(p_tried)))
            if value_tried >= value:
                break
            step = step / 2.0
        else:
            break
        moved = float(np.max(np.abs(tried - fit)))
        fit, p, slope, value = tried, p_tried, slope_tried, value_tried
        if moved < 1e-9:
            break
    return fit, bool(np.all(np.abs(fit) < 0.99 * edge))
