"""Bands of smooth curves: around an estimate rougher than the curve, so that bias is small beside noise.

A smoother that minimises the mean squared error has bias of the same size as its noise, and a band around it that allows for
noise only is too narrow. A local polynomial two orders higher takes the bias off (Calonico, Cattaneo & Farrell 2018) at the cost
of a wider band. Each band comes twice: for each place, and for all places at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure.calibration.curves.bins import clopper_pearson
from howsure.calibration.estimation.intervals import normal_quantile
from howsure.kernels.cells import Floats

DRAWS = 1000
RESAMPLES = 400
SEED = 20  # bands do not change from run to run
# The Gaussian process's band: what calibration curves do at most, by how much and over which length of asin √q.
AMPLITUDE, LENGTH = 0.1, 0.12


@dataclass(frozen=True, slots=True)
class Band:
    """Limits at each place, and limits that hold everywhere at once."""

    low: Floats
    high: Floats
    low_everywhere: Floats
    high_everywhere: Floats

    @classmethod
    def of(cls, middle: Floats, error: Floats, level: float, most: Floats) -> Band:
        """middle ± z error; `most` are draws of the largest |deviation|/error over all places.

        Its quantile is taken at 1 - α/5: most of what may go wrong is left to bias and to frequencies not being normal.
        """
        z = normal_quantile(0.5 + level / 2)
        wide = max(float(np.quantile(most, 1.0 - (1.0 - level) / 5)), z)
        return cls(middle - z * error, middle + z * error, middle - wide * error, middle + wide * error)

    def around(self, p: Floats) -> Band:
        """Inside [0, 1], and never without the curve itself."""
        everywhere = self.low_everywhere, self.high_everywhere
        low, high, bottom, top = (np.clip(b, 0.0, 1.0) for b in (self.low, self.high, *everywhere))
        low, high = np.minimum(low, p), np.maximum(high, p)
        return Band(low, high, np.minimum(bottom, low), np.maximum(top, high))


def local_polynomial(weights: Floats, distance: Floats, size: Floats, degree: int) -> Floats:
    """What a row at each point counts for in a weighted polynomial fit, (at, points): rows times size sum to one.

    `distance` is that of the points from the place, in units of the window.
    """
    distance = _in_reach(weights, distance, size)
    powers = [np.ones_like(distance)]
    for _ in range(degree):
        powers.append(powers[-1] * distance)
    moments = np.stack(
        [(weights * size * powers[i // 2] * powers[i - i // 2]).sum(axis=1) for i in range(2 * degree + 1)]
    )
    solved = _level_of_polynomial(moments.T, degree)
    return weights * sum(solved[:, i : i + 1] * powers[i] for i in range(degree + 1))


def _in_reach(weights: Floats, distance: Floats, size: Floats) -> Floats:
    """Distances in units of at least their own spread: where all points are far away they are as large as 1."""
    spread = np.sqrt((weights * distance**2) @ size / (weights @ size))
    return distance / np.maximum(spread, 1.0)[:, None]


def _level_of_polynomial(moments: Floats, degree: int) -> Floats:
    """First row of the inverse of the matrices of moments, (…, degree + 1)."""
    matrix = np.stack([moments[..., i : i + degree + 1] for i in range(degree + 1)], axis=-2)
    # A ridge far below the data's own spread keeps a fit level where there are fewer places than coefficients.
    there = np.maximum(moments[..., 0], 1e-9)
    matrix[..., 0, 0] = there
    matrix = matrix + 1e-8 * there[..., None, None] * np.diag(np.arange(degree + 1) > 0)
    first = np.zeros((degree + 1, 1))
    first[0] = 1.0
    solved = np.linalg.solve(matrix, np.broadcast_to(first, (*matrix.shape[:-1], 1)))
    return np.asarray(solved[..., 0], np.float64)


def spread(fitted: Floats, rows: Floats) -> Floats:
    """p(1-p) of each point; half a positive and half a negative are added to the rows that the fit rests on."""
    p = (fitted * rows + 0.5) / (rows + 1.0)
    return p * (1.0 - p)


def linear_band(hat: Floats, size: Floats, positive: Floats, fitted: Floats, rows: Floats, level: float) -> Band:
    """Around hat @ positive, a linear estimate; `fitted` is the curve at the points and `rows` what it rests on there."""
    noise = np.sqrt(size * spread(fitted, rows))
    error = np.sqrt((hat * noise) ** 2 @ np.ones(len(size)))
    drawn = (hat * noise) @ np.random.default_rng(SEED).standard_normal((len(size), DRAWS))
    most = np.abs(drawn / np.maximum(error, 1e-300)[:, None]).max(axis=0)
    return Band.of(hat @ positive, error, level, most)


def bootstrapped_band(
    weights: Floats, distance: Floats, size: Floats, positive: Floats, fitted: Floats, rows: Floats, level: float
) -> Band:
    """The spread of the debiased estimate, a local quadratic, over rows drawn with replacement (Cheng & Chen 2019)."""
    total = int(size.sum())
    rng = np.random.default_rng(SEED)
    counts = np.concatenate([size - positive, positive])
    # A multinomial of many rows: Poisson counts, whose total makes no difference to a ratio.
    drawn = rng.poisson(counts, (RESAMPLES, len(counts))).T.astype(np.float64) if total else np.zeros((len(counts), 1))
    good = drawn[len(size) :]
    every = drawn[: len(size)] + good
    distance = _in_reach(weights, distance, size)
    powers = [weights * distance**i for i in range(5)]
    moments = np.stack([w @ every for w in powers], axis=-1)
    level_of = _level_of_polynomial(moments, 2)
    estimates = sum(level_of[..., i] * (powers[i] @ good) for i in range(3))
    hat = local_polynomial(weights, distance, size, 2)
    middle = hat @ positive
    # Where all rows drawn are alike there is no spread to see: that of the fit with half a row added.
    floor = np.sqrt((hat**2) @ (size * spread(fitted, rows)))
    error = np.maximum(np.std(estimates, axis=1), floor)
    most = np.abs((estimates - middle[:, None]) / np.maximum(error, 1e-300)[:, None]).max(axis=0)
    return Band.of(middle, error, level, most)


def gaussian_process_band(x: Floats, frequency: Floats, grid: Floats, noise: Floats, level: float) -> Band:
    """The posterior of q + g, g a Gaussian process with the roughest law that is reckoned with.

    A law chosen by its evidence is too smooth wherever a wave is too small to be seen, and its band then too narrow.
    """
    place, at = np.arcsin(np.sqrt(x)), np.arcsin(np.sqrt(grid))

    def law(a: Floats, b: Floats) -> Floats:
        return AMPLITUDE**2 * np.exp(-0.5 * ((a[:, None] - b[None, :]) / LENGTH) ** 2)

    factor = np.linalg.cholesky(law(place, place) + np.diag(noise))
    cross = np.linalg.solve(factor, law(place, at))
    middle = grid + cross.T @ np.linalg.solve(factor, frequency - x)
    left = law(at, at) - cross.T @ cross
    error = np.sqrt(np.maximum(np.diag(left), 1e-18))
    values, vectors = np.linalg.eigh(left)
    # The symmetric root, without what is rounding: it depends neither on the vectors' signs nor on the processor.
    root = (vectors * np.sqrt(np.where(values > 1e-7 * values[-1], values, 0.0))) @ vectors.T
    drawn = root @ np.random.default_rng(SEED).standard_normal((len(at), DRAWS))
    return Band.of(middle, error, level, np.abs(drawn / error[:, None]).max(axis=0))


def monotone_band(
    x: Floats, size: Floats, positive: Floats, grid: Floats, low: Floats, high: Floats, level: float
) -> Band:
    """`low` and `high` at each place; everywhere at once, what runs of points say of a curve that never falls.

    A run's frequency is at most the curve's value at its last point and at least that at its first. Runs of 1, 2, 4, … points, each with
    its Clopper-Pearson interval at level 1 - α/(number of runs).
    """
    rows, good = (np.concatenate([[0.0], np.cumsum(v)]) for v in (size, positive))
    n = len(x)
    lengths = [2**k for k in range(n.bit_length()) if 2**k <= n]
    runs = sum(n - k + 1 for k in lengths)
    under, over = np.zeros(n), np.ones(n)
    for k in lengths:
        first = np.arange(n - k + 1)
        bottom, top = clopper_pearson(
            good[first + k] - good[first], rows[first + k] - rows[first], 1 - (1 - level) / runs
        )
        under[first + k - 1] = np.maximum(under[first + k - 1], bottom)
        over[first] = np.minimum(over[first], top)
    under, over = np.maximum.accumulate(under), np.minimum.accumulate(over[::-1])[::-1]
    before = np.searchsorted(x, grid, side="right") - 1
    after = np.minimum(np.searchsorted(x, grid, side="left"), n - 1)
    everywhere = np.where(before >= 0, under[np.maximum(before, 0)], 0.0), np.where(grid <= x[-1], over[after], 1.0)
    return Band(low, high, *everywhere)
