"""Cluster-robust estimates, intervals and tests, from the moments of the groups.

Notation as in docs/evidence/theory.md: S_gb = Σe and n_gb of group g in bin b, d_b = S_b / N_b,
R_gb = (S_gb - d_b n_gb) / √(1 - n_gb/N_b). The estimate T = Σ_b a_b (S_b² - Σ_g S_gb²) multiplies residuals of different groups only, so what rows of one group
share cannot pass for miscalibration.
"""

from math import sqrt

import numpy as np

from howsure.calibration.estimation.estimate import MOST_SKEW
from howsure.calibration.estimation.intervals import TINY, Estimate, Law, debiased_ece, solve
from howsure.calibration.estimation.perfection import PerfectionTest, combined, pearson3_tail, quadratic_form
from howsure.calibration.groups.clusters import POSITIVE, ROWS
from howsure.calibration.groups.moments import Level, Moments
from howsure.kernels import special
from howsure.kernels.cells import Floats

BALANCED = 0.5  # effective groups for each group, from which groups count as similar in size


def squared_error(m: Moments, confidence_level: float) -> tuple[Estimate, PerfectionTest]:
    """T with its interval, and the test that it is no larger than a calibrated model's."""
    total, level, coarse = m.n_rows, m.plan.level, m.plan.coarse
    t, a, d2 = level.t, level.a, level.d2

    # The law of T at the truth x: variance and third moment, with C = RᵀR and M = √a C √a.
    variance0, third0 = _null_moments(level, m.squares.r, m.squares.own_r, m.squares.fourth_r)
    cd = m.squares.along
    variance1 = 4.0 * float(m.squares.linear[0]) / (total**2 * d2) if d2 > TINY else 1.0 / total
    third1 = 24.0 * float((a * cd / total) @ (cd / total)) / d2 if d2 > TINY else 0.0
    variance2 = _few(m) * m.squares.shared / (total * d2) ** 2 if d2 > TINY else 0.0

    def limit(p: float, third0: float, third1: float, seen: float) -> float:
        """The truth at which T is as far out as it was with probability p on that side."""
        z = student_quantile(max(p, 1.0 - p), m.n_groups - 1)
        # The linear part is a mean over groups, with the degrees of freedom of unequal ones; V0 sums over many bins.
        wider = (student_quantile(max(p, 1.0 - p), m.squares.rows.degrees) / z) ** 2
        law = Law(variance0, wider * variance1, min(wider * variance2, 0.5 / z**2), third0, third1)
        return solve(lambda x: law.quantile(x, z if p > 0.5 else -z), seen)

    # Half of the usual error probability below, since the bias has a lower limit too.
    side = 0.5 - 0.5 * confidence_level
    low, high = limit(1.0 - 0.5 * side, third0, third1, t), limit(side, 0.0, 0.0, max(t + m.choice.rise, 0.0))

    # Under perfect calibration d = 0, so the residuals need no centring.
    variance, third = _null_moments(coarse, m.squares.s, m.squares.own_s, m.squares.fourth_s)
    statistic = coarse.t / sqrt(variance)
    tail = pearson3_tail(statistic, min(third / variance**1.5, MOST_SKEW))
    return Estimate(t, low, high), PerfectionTest("excess error", statistic, tail)


def expected_error(m: Moments, rms_high: float, confidence_level: float) -> Estimate:
    """The debiased ECE on the bins of T, with the interval of independent rows and the groups' variances."""
    size, d = m.plan.level.n, m.plan.level.d
    v = np.maximum(np.diag(m.squares.r) / size**2, 0.5 / size**2)
    # 0.5: as for the gap.
    linear = max(float(m.squares.linear[1]), float(np.sum(size**2 * v)) * 1e-3, 0.5) / m.n_rows**2
    variance = linear + _few(m) * m.squares.apart / m.n_rows**2
    side = 0.5 - 0.5 * confidence_level  # half of it below, as for T
    below, above = (student_quantile(1.0 - p, m.squares.rows.degrees) * sqrt(variance) for p in (0.5 * side, side))
    value, low = debiased_ece(size / m.n_rows, d, v, below)
    high = min(float(np.sum(size * np.abs(d))) / m.n_rows + above, rms_high)
    return Estimate(value, min(low, value), max(high, value))


def _few(m: Moments) -> float:
    """(G - 1) / G, of the jackknife."""
    return 1.0 - 1.0 / m.n_groups


def _null_moments(level: Level, c: Floats, own: float, fourth: float) -> tuple[float, float]:
    """Variance and third central moment of Σ_b a_b Σ_{g≠h} S_gb S_hb when d = 0."""
    least = 2.0 * float(np.sum((0.5 / level.n / level.n.sum()) ** 2))  # as s² >= ½/n without groups
    root = np.sqrt(level.a)
    m = root[:, None] * c * root[None, :]
    square = float(np.sum(m**2))
    floor = 2.0 * (float(np.sum(np.diag(m) ** 2)) - fourth)
    variance = max(2.0 * (square - own), floor, 1e-3 * square, least)
    third = 8.0 * float(np.sum(m * (m @ m))) * min(1.0, variance / (2.0 * square)) ** 1.5 if square > TINY else 0.0
    return variance, third


def score_test(m: Moments) -> PerfectionTest:
    """The groups' Σe and Σe(1-2q) against 0, from their spread over groups.

    Under H0 every group's mean is 0, whatever its size: a large group raises the statistic's variance and its estimate alike.
    Two t-tests (Bonferroni), of Σe and Σe(q - q̄), where groups are of similar size; Hotelling's T², which what rows share makes too sure of
    itself there, where they are not. The choice depends on the sizes alone.
    """
    g = m.n_groups
    total, matrix = g * m.plan.score_mean, g / (g - 1) * m.squares.score
    statistic, rank, _ = quadratic_form(total, matrix)
    if rank == 2 and m.squares.rows.effective >= BALANCED * g:
        slope = np.array([[1.0, 0.0], [2.0 * m.plan.mean_q - 1.0, 1.0]])  # Σe, and Σe(1-2q) about the mean q
        t = float(np.max(np.abs(slope @ total) / np.sqrt(np.diag(slope @ matrix @ slope.T))))
        return PerfectionTest("score", t, min(4.0 * float(special.stdtr(g - 1, -t)), 1.0))
    if rank == 0 or g <= rank:  # groups all alike, or too few of them, say nothing of chance
        return PerfectionTest("score", 0.0, 1.0)
    f = statistic * (g - rank) / (rank * (g - 1))
    return PerfectionTest("score", f, float(special.fdtrc(rank, g - rank, f)))


def perfection_tests(m: Moments, excess: PerfectionTest) -> tuple[PerfectionTest, ...]:
    """The combined test and its parts; the classical tests have no clustered version here."""
    pair = (excess, score_test(m))
    return (combined(pair), *pair)


def _mean(m: Moments, mean: float, squares: float, confidence_level: float, least: float) -> Estimate:
    """A mean over rows from `least` to 1, given Σ_g [(sum_g - mean n_g) / (1 - h_g)]²: the jackknife over groups."""
    variance = max(_few(m) * squares, 0.5) / m.n_rows**2  # floored as without groups
    half = student_quantile(0.5 + confidence_level / 2, m.squares.rows.degrees) * sqrt(variance)
    return Estimate(mean, max(mean - half, least), min(mean + half, 1.0))


def mean_gap(m: Moments, confidence_level: float) -> Estimate:
    """Mean q less the base rate."""
    return _mean(m, float(m.plan.means[0]), m.squares.gap, confidence_level, -1.0)


def brier(m: Moments, confidence_level: float) -> Estimate:
    """The Brier score."""
    return _mean(m, float(m.plan.means[1]), m.squares.brier, confidence_level, 0.0)


def slope(m: Moments, confidence_level: float) -> Estimate | None:
    """The slope of y on q, with the jackknife over groups; degrees of freedom from their shares of Σ(q - q̄)²."""
    if m.q_spread <= 1e-18 * m.n_rows or m.totals.sums[POSITIVE] in (0.0, m.totals.sums[ROWS]):
        return None
    b = float(m.plan.means[2])
    se = sqrt(_few(m) * m.squares.slope)
    half = student_quantile(0.5 + confidence_level / 2, m.squares.leverage.degrees) * se
    return Estimate(b, b - half, b + half)


def effective_rows(m: Moments, confidence_level: float) -> Floats:
    """How many independent rows each drawn bin is worth (Korn & Graubard 1998).

    n* = p(1-p)/var(p) (t_{n-1}/t_η)², var(p) the jackknife's and η the degrees of freedom of the bin's groups, never more
    than n; a bin that is all 0 or all 1 is worth 1/Σh² groups.
    """
    (n, k, groups), p = m.totals.drawn, m.plan.p_drawn
    squares, h2, cross, cross2 = m.squares.drawn
    level = 0.5 + confidence_level / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = 1.0 / (h2 + cross**2 - cross2)
        ratio = special.stdtrit(np.maximum(n - 1.0, 1.0), level) / special.stdtrit(degrees, level)
        variance = (1.0 - 1.0 / groups) * squares / n**2
        worth = np.where(variance > 1e-15, p * (1 - p) / variance * ratio**2, n)
        made: Floats = np.minimum(np.where((k == 0) | (k == n) | (groups == 1), 1.0 / h2, worth), n)
    return made


def student_quantile(p: float, degrees: float) -> float:
    """Quantile of Student's t."""
    return float(special.stdtrit(degrees, p))
