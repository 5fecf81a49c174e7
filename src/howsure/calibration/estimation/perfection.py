"""Tests of perfect calibration, H0: P(y = 1 | q) = q for every q.

The headline combines two tests that see different things: the debiased error T finds any shape of miscalibration, the
score test finds a shift or a wrong slope with little data. Where little is at stake (few rows, or all but certain
ones) the limit laws are wrong, and the p-values are those of simulated labels, y ~ Bernoulli(q).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import atan2, cos, pi, sin, sqrt, tan

import numpy as np

from howsure._result import Record
from howsure.calibration.estimation.estimate import BinSums, Ladder
from howsure.calibration.sketch import Sketch
from howsure.kernels import special
from howsure.kernels.cells import Floats, sum_of

TINY = 1e-100  # a variance below this is none: its powers would underflow
FINER = 0.1  # share of the excess-error test's level that goes to finer bins
SIMULATED_BELOW = 30.0  # information, in rows' worth of q(1-q)
FEWEST_STEPS = 200.0  # steps of the cumulative path from which it passes for Brownian motion


@dataclass(frozen=True, slots=True)
class PerfectionTest(Record):
    """A test of perfect calibration."""

    name: str
    statistic: float | None  # None: beyond measure, something happened that q called impossible
    p_value: float

    def __repr__(self) -> str:
        return f"{self.name}: p = {self.p_value:.4g}"


def p_words(p: float | None) -> str:
    """A p-value with its relation, for a verdict."""
    return "= –" if p is None else "< 0.001" if p < 0.001 else f"= {p:.2g}"


def perfection_tests(sketch: Sketch, r: Ladder, *, whole: bool = True) -> tuple[PerfectionTest, ...]:
    """The combined test first, then its parts and the classical ones; unless it is the `whole`, the first alone."""
    vector, matrix = _scores(sketch)
    excess, score = _excess_error(r), _score(vector, matrix)
    tests = [combined((excess, score))]
    if whole:
        tests += excess, score, _spiegelhalter(vector[1], matrix[1, 1]), *_cumulative(sketch, matrix[0, 0])
    found: tuple[float, ...] | None = None
    if _information(sketch, matrix) < SIMULATED_BELOW:
        from howsure.calibration.estimation.simulated import simulated_p_values

        found = simulated_p_values(sketch, r.levels[0], whole=whole)
    elif whole and _steps(sketch) < FEWEST_STEPS:
        from howsure.calibration.estimation.simulated import few_steps_p_values

        known = tuple(t.p_value for t in tests)
        found = (*known[:4], *(min(p) for p in zip(known[4:], few_steps_p_values(sketch), strict=True)))
    if found is not None:
        tests = [replace(test, p_value=p) for test, p in zip(tests, found, strict=True)]
    return tuple(tests)


def combined(parts: tuple[PerfectionTest, ...]) -> PerfectionTest:
    """The parts as one test; see `combined_p_value`."""
    p = float(combined_p_value(*(np.array([t.p_value]) for t in parts))[0])
    tangent = tan(pi * min(p, 0.5))  # its inverse is the mean of cot(πp)
    return PerfectionTest("combined", 1.0 / tangent if tangent > TINY else None, p)


def combined_p_value(*p: Floats) -> Floats:
    """Cauchy combination (Liu & Xie 2020) of p-values cut at ½: the mean of cot(πp) is nearly standard Cauchy under H0.

    Without the cut, p = 1 counts as -∞ and wipes out any other. With it the result is at most twice the smallest p.
    """
    with np.errstate(divide="ignore", over="ignore"):
        mean = sum(1.0 / np.tan(np.pi * np.minimum(x, 0.5)) for x in p) / len(p)
    least = reduce(np.minimum, p)
    return np.where(least < 0.5, np.arctan2(1.0, mean) / np.pi, least)


def _information(sketch: Sketch, matrix: Floats) -> float:
    """The rows' worth of q(1-q) behind the score test, as few as its most influential rows make it.

    A row adds h = xᵀM⁻¹x to the statistic, x = (1, 1-2q). If all h were equal, rank²/Σ q(1-q)h² would be Σ q(1-q).
    """
    inverse, rank = pseudo_inverse(matrix)
    (a, b), (_, d) = inverse.tolist()
    slope = 1.0 - 2.0 * sketch.mean_q
    squares = sum_of(sketch.size * sketch.mean_q * (1.0 - sketch.mean_q) * (a + slope * (2.0 * b + d * slope)) ** 2)
    return rank**2 / squares if squares > 0.0 else 0.0


def _steps(sketch: Sketch) -> float:
    """How many steps of one size would make up the path of Σe: (Σv)²/Σv², v the variance at each value of q."""
    v = sketch.size * sketch.mean_q * (1.0 - sketch.mean_q)
    return sum_of(v) ** 2 / max(sum_of(v**2), TINY)


def _eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues and vectors of a symmetric matrix of two rows: LAPACK takes many times as long to be called."""
    (a, b), (_, d) = matrix.tolist()
    angle = 0.5 * atan2(2.0 * b, a - d)
    x, y = cos(angle), sin(angle)
    twice = 2.0 * b * x * y
    return np.array([a * x * x + twice + d * y * y, a * y * y - twice + d * x * x]), np.array([[x, -y], [y, x]])


def pseudo_inverse(matrix: Floats) -> tuple[Floats, int]:
    """The inverse of a covariance where it is not singular, and its rank."""
    values, vectors = _eigen(matrix)
    used = values > max(float(values.max()) * 1e-10, TINY)
    kept = vectors[:, used]
    return kept / values[used] @ kept.T, int(used.sum())


def _excess_error(r: Ladder) -> PerfectionTest:
    """The test on the coarsest bins; finer ones share a tenth of its level, so that fast changes are seen too."""
    first, *finer = (excess_error(b) for b in r.levels)
    if not finer:
        return first
    least = min(t.p_value for t in finer)
    return replace(first, p_value=min(first.p_value / (1.0 - FINER), len(finer) * least / FINER, 1.0))


def excess_error(bins: BinSums) -> PerfectionTest:
    """T against its law under H0: variance 2 Σ n/(n-1) (m/N)², third moment 8 Σ (m/N)³, m = mean q(1-q)."""
    share = bins.null_variance / bins.total
    variance = 2.0 * sum_of(bins.n / np.maximum(bins.n - 1.0, 1.0) * share**2)
    t = bins.squared_error
    if variance < TINY:
        return refuted_if("excess error", t > sqrt(TINY))
    statistic = t / sqrt(variance)
    return PerfectionTest("excess error", statistic, pearson3_tail(statistic, 8.0 * sum_of(share**3) / variance**1.5))


def refuted_if(name: str, wrong: bool) -> PerfectionTest:
    """The outcome where chance has no part: certain predictions that came true, or did not."""
    return PerfectionTest(name, None, 0.0) if wrong else PerfectionTest(name, 0.0, 1.0)


def pearson3_tail(x: float, skew: float) -> float:
    """P(X > x) for a standardised Pearson III (shifted gamma) variable."""
    if skew < 1e-3:
        return float(special.ndtr(-x))
    shape = 4.0 / skew**2
    return float(special.gammaincc(shape, max(shape + 2.0 * x / skew, 0.0)))


def _scores(sketch: Sketch) -> tuple[Floats, Floats]:
    """(Σe, Σe(1-2q)), and its covariance under H0."""
    vector = np.array([sum_of(sketch.sum_e), _slope_score(sketch)])
    covariance = sketch.total(lambda q: (1 - 2 * q) * q * (1 - q), lambda q: 12 * q - 6)
    variances = (
        sketch.total(lambda q: q * (1 - q), lambda q: np.full_like(q, -2.0)),
        # f = (1-2q)² q(1-q) = q - 5q² + 8q³ - 4q⁴
        sketch.total(lambda q: (1 - 2 * q) ** 2 * q * (1 - q), lambda q: -10 + 48 * q - 48 * q * q),
    )
    return vector, np.array([[variances[0], covariance], [covariance, variances[1]]])


def _score(vector: Floats, matrix: Floats) -> PerfectionTest:
    """χ² with two degrees of freedom on (Σe, Σe(1-2q)), whose covariance under H0 is known."""
    statistic, rank, impossible = quadratic_form(vector, matrix)
    if impossible or rank == 0:
        return refuted_if("score", impossible)
    return PerfectionTest("score", statistic, float(special.chdtrc(rank, statistic)))


def quadratic_form(vector: Floats, matrix: Floats) -> tuple[float, int, bool]:
    """vᵀ M⁺ v, the rank of M, and whether v points where M, a covariance that may be singular, allows nothing."""
    values, vectors = _eigen(matrix)
    largest = max(float(values.max()), 0.0)
    used = values > max(largest * 1e-10, TINY)
    along = vectors.T @ vector
    impossible = bool(np.any(along[~used] ** 2 > max(1e-8 * largest, sqrt(TINY))))
    return sum_of(along[used] ** 2 / values[used]), int(used.sum()), impossible


def _slope_score(sketch: Sketch) -> float:
    """Σ (y - q)(1 - 2q), exact from the power sums."""
    total = 0.0
    for label, side in enumerate(sketch.sides):
        toward = np.where(sketch.upper, -1.0, 1.0) * (1.0 - 2.0 * side.mean)  # 1 - 2q
        error = np.where(sketch.upper, side.mean - (1 - label), label - side.mean)
        total += sum_of(side.n * error * toward + 2.0 * side.spread)
    return total


def _spiegelhalter(score: float, variance: float) -> PerfectionTest:
    """z = Σ (y-q)(1-2q) / √Σ (1-2q)² q(1-q) (Spiegelhalter 1986); finds what changes the Brier score."""
    if variance < TINY:
        return refuted_if("Spiegelhalter", abs(score) > sqrt(TINY))
    z = score / sqrt(variance)
    return PerfectionTest("Spiegelhalter", z, 2.0 * float(special.ndtr(-abs(z))))


def _cumulative(sketch: Sketch, variance: float) -> tuple[PerfectionTest, PerfectionTest]:
    """Cumulative differences (Arrieta-Ibarra et al. 2022): the path of Σe in order of q is Brownian under H0."""
    path = np.concatenate([[0.0], np.cumsum(sketch.sum_e)])
    if variance < TINY:
        wrong = bool(np.abs(path).max() > sqrt(TINY))
        return refuted_if("Kolmogorov-Smirnov", wrong), refuted_if("Kuiper", wrong)
    path = path / sqrt(variance)
    furthest, extent = float(np.abs(path).max()), float(path.max() - path.min())
    return (
        PerfectionTest("Kolmogorov-Smirnov", furthest, brownian_maximum_tail(furthest)),
        PerfectionTest("Kuiper", extent, brownian_range_tail(extent)),
    )


def brownian_maximum_tail(x: float) -> float:
    """P(max |B(t)| > x) for Brownian motion on [0, 1]."""
    if x < 0.1:
        return 1.0
    k = np.arange(60)
    inside = 4.0 / pi * np.sum((-1.0) ** k / (2 * k + 1) * np.exp(-((2 * k + 1) ** 2) * pi**2 / (8 * x * x)))
    # Far out, the reflection principle's leading term.
    return float(np.clip(1.0 - inside, 0.0, 1.0)) if x < 4 else float(4.0 * special.ndtr(-x))


def brownian_range_tail(x: float) -> float:
    """P(max B - min B > x) on [0, 1]: 8 Σ (-1)^(k-1) k Φ(-kx) (Feller 1951)."""
    if x < 0.6:
        return 1.0
    k = np.arange(1, 200)
    return float(np.clip(8.0 * np.sum((-1.0) ** (k - 1) * k * special.ndtr(-k * x)), 0.0, 1.0))


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values adjusted so that, of those called significant, at most a share α is false (1995); None stays None.

    >>> benjamini_hochberg([0.01, None, 0.04, 0.03])
    [0.03, None, 0.04, 0.04]
    """
    return _adjusted(p_values, lambda p: np.minimum.accumulate((p * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1])


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values adjusted so that any false alarm at all has probability at most α (1979); None stays None.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    return _adjusted(p_values, lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1)))


def _adjusted(p_values: Sequence[float | None], rule: Callable[[Floats], Floats]) -> list[float | None]:
    """The known p-values as `rule` has them, which takes them in order; at most 1."""
    known = np.array([p for p in p_values if p is not None])
    adjusted = np.empty(len(known))
    order = np.argsort(known)
    adjusted[order] = np.minimum(rule(known[order]), 1.0)
    rest = iter(adjusted.tolist())
    return [None if p is None else next(rest) for p in p_values]
