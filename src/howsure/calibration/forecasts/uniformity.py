"""Are counts of PIT values those of a uniform law? Simultaneous bands and tests.

The band for the ECDF at points z is pointwise binomial at a level γ chosen so that the whole curve stays inside with the
probability wanted (Säilynoja, Bürkner & Vehtari 2022). That probability is exact here, not simulated: counts of uniform
points are Poisson counts given their total, and those advance by convolution (Moscovich & Nadler 2017).
"""

from dataclasses import dataclass
from functools import lru_cache
from math import erfc, exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from howsure._result import Columns
from howsure.calibration.estimation.perfection import PerfectionTest
from howsure.calibration.forecasts.pit import CELLS
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints

EXACT_ROWS = 300_000  # γ of more rows is γ of this number: it has converged


@dataclass(frozen=True, slots=True)
class EcdfDifference(Columns):
    """The share of PIT values below each point less the point, and the simultaneous band of a calibrated forecast."""

    SHOWN = "pit=points difference low high"

    points: Floats
    difference: Floats
    low: Floats
    high: Floats
    pointwise_level: float  # γ: each point alone leaves the band with probability γ at most

    def __repr__(self) -> str:
        return f"EcdfDifference({len(self.points)} points, {int(self.is_outside.sum())} outside the band)"

    @property
    def is_outside(self) -> NDArray[np.bool_]:
        """Which points leave the band."""
        return (self.difference < self.low) | (self.difference > self.high)


def ecdf_difference(cells: Ints, points: Ints, confidence_level: float) -> EcdfDifference:
    """The curve at `points` (in cells), with its band."""
    n = int(cells.sum())
    below = np.cumsum(cells)[points - 1]
    z = points / CELLS
    gamma = simultaneous_level(n, tuple(points.tolist()), confidence_level)
    low, high = binomial_limits(n, points, gamma)
    return EcdfDifference(z, below / n - z, low / n - z, high / n - z, gamma)


def band_test(cells: Ints, points: Ints) -> PerfectionTest:
    """The least pointwise tail probability along the ECDF, against its own exact law: p ≤ α as the curve leaves the band."""
    n = int(cells.sum())
    below = np.cumsum(cells)[points - 1]
    gamma = float(2.0 * np.min(np.minimum(_tail(below, n, points), _tail(n - below, n, CELLS - points))))
    inside = _inside(min(n, EXACT_ROWS), points, gamma)
    return PerfectionTest("simultaneous band", min(gamma, 1.0), min(max(1.0 - inside, 0.0), 1.0))


@lru_cache(maxsize=64)
def simultaneous_level(n: int, points: tuple[int, ...], confidence_level: float) -> float:
    """The largest γ for which the whole curve of n uniform values stays inside with `confidence_level` at least."""
    n, at = min(n, EXACT_ROWS), np.array(points, np.int64)
    alpha = 1.0 - confidence_level
    low, high = log(alpha / (2 * len(at))), log(alpha) + 1e-9  # Bonferroni is enough, α itself too much
    for _ in range(14):
        middle = 0.5 * (low + high)
        if _inside(n, at, exp(middle)) >= confidence_level:
            low = middle
        else:
            high = middle
    return exp(low)


def _tail(count: Ints, n: int, points: Ints) -> Floats:
    """P(C ≤ count), C binomial."""
    return special.bdtr(count.astype(np.float64), n, points / CELLS)


def binomial_limits(n: int, points: Ints, gamma: float) -> tuple[Ints, Ints]:
    """The counts whose two tails are both above γ/2."""
    at = np.concatenate([points, CELLS - points])  # the upper limits are the lower ones of the counts above
    low, high = np.full(len(at), -1), np.full(len(at), n)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        above = _tail(middle, n, at) > gamma / 2
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    return high[: len(points)], n - high[len(points) :]


def _inside(n: int, points: Ints, gamma: float) -> float:
    """P(the counts below all points stay within the limits of γ), exactly: Poisson counts given that they sum to n."""
    low, high = binomial_limits(n, points, gamma)
    if np.any(low > high):
        return 0.0

    def poisson(first: int, last: int, mean: float) -> Floats:
        k = np.arange(first, last + 1, dtype=np.float64)
        return np.exp(k * log(mean) - mean - special.gammaln(k + 1.0))

    law, at, z = np.ones(1), 0, 0.0  # of the count so far, from `at` up
    for lo, hi, point in zip(low.tolist(), high.tolist(), (points / CELLS).tolist(), strict=True):
        mean = n * (point - z)
        reach = 9.0 * sqrt(mean) + 30.0  # beyond it less than 1e-17
        first, last = max(0, int(mean - reach), lo - at - len(law) + 1), min(hi - at, int(mean + reach))
        if last < first:
            return 0.0
        moved = _convolved(law, poisson(first, last, mean))
        start = at + first
        law = moved[max(lo - start, 0) : hi - start + 1]
        at, z = max(lo, start), point
    rest = poisson(n - at - len(law) + 1, n - at, n * (1.0 - z))[::-1]
    return float(law @ rest / poisson(n, n, n)[0])


def _convolved(a: Floats, b: Floats) -> Floats:
    if len(a) * len(b) < 40_000:
        return np.convolve(a, b)
    size = len(a) + len(b) - 1
    fast = 1 << (size - 1).bit_length()
    return np.maximum(np.fft.irfft(np.fft.rfft(a, fast) * np.fft.rfft(b, fast), fast)[:size], 0.0)


def kolmogorov_smirnov(cells: Ints) -> PerfectionTest:
    """The largest distance D of the ECDF from the diagonal, with Stephens' (1970) factor √n + 0.12 + 0.11/√n."""
    root = sqrt(int(cells.sum()))
    d = float(np.max(np.abs(np.cumsum(cells) / root**2 - np.arange(1, CELLS + 1) / CELLS)))
    return PerfectionTest("Kolmogorov-Smirnov", d, float(special.kolmogorov((root + 0.12 + 0.11 / root) * d)))


def filled(cells: Ints) -> tuple[Floats, Floats]:
    """Rows and middle of each cell that has any."""
    at = np.flatnonzero(cells)
    return cells[at].astype(np.float64), (at + 0.5) / CELLS


def moment_tests(cells: Ints) -> tuple[PerfectionTest, PerfectionTest]:
    """z of the mean PIT, (ū - ½)√(12n), and of its mean square about ½, (m - 1/12)√(180n)."""
    rows, u = filled(cells)
    n = float(rows.sum())
    mean = float(np.sum(rows * (u - 0.5))) / n * sqrt(12.0 * n)
    square = (float(np.sum(rows * (u - 0.5) ** 2)) / n - 1.0 / 12.0) * sqrt(180.0 * n)
    return (
        PerfectionTest("mean of PIT", mean, erfc(abs(mean) / sqrt(2.0))),
        PerfectionTest("variance of PIT", square, erfc(abs(square) / sqrt(2.0))),
    )
