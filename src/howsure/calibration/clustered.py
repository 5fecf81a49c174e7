"""Cluster-robust estimates, intervals and tests, from a `ClusterTable`.

Notation as in docs/theory.md: S_gb = Σe and n_gb of group g in bin b, d_b = S_b / N_b, R_gb = S_gb - d_b n_gb.
The estimate T = Σ_b a_b (S_b² - Σ_g S_gb²) multiplies residuals of different groups only, so what rows of one group
share cannot pass for miscalibration.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from howsure.calibration.clusters import POSITIVE, ROWS, SUM_Q, SUM_QQ, SUM_QY, ClusterTable
from howsure.calibration.intervals import MOST_SKEW, TINY, Estimate, Law, solve
from howsure.calibration.perfection import PerfectionTest, combined, pearson3_tail, quadratic_form
from howsure.kernels.cells import Floats, Ints


def squared_error(table: ClusterTable, confidence_level: float) -> tuple[Estimate, PerfectionTest]:
    """T with its interval, and the test that it is no larger than a calibrated model's."""
    group, b, sums = _two_groups_a_bin(table)
    n_groups, n_bins = table.n_groups, int(b.max()) + 1
    s, n = sums[:, POSITIVE] - sums[:, SUM_Q], sums[:, ROWS]
    total = float(n.sum())
    size = np.bincount(b, n, n_bins)
    s_b, s2_b = np.bincount(b, s, n_bins), np.bincount(b, s**2, n_bins)
    a = (size / total) / (size**2 - np.bincount(b, n**2, n_bins))
    t = float(np.sum(a * (s_b**2 - s2_b)))
    d = s_b / size
    d2 = float(np.sum(size / total * d**2))
    f = n_groups / (n_groups - 1)
    r = s - d[b] * n

    # The law of T at the truth x: variance and third moment, with C = f RᵀR and M = √a C √a.
    c = f * _gram(group, b, r, n_groups, n_bins)
    floor = 2.0 * float(np.sum((0.5 / size / total) ** 2))  # as s² >= ½/n without groups
    own = f**2 * _per_group_squares(group, a[b] * r**2)
    variance0, third0 = _null_moments(c, a, own, a[b] * r**2 * f, floor)
    cd = c @ d
    variance1 = 4.0 * float(d @ cd) / (total**2 * d2) if d2 > TINY else 1.0 / total
    third1 = 24.0 * float((a * cd / total) @ (cd / total)) / d2 if d2 > TINY else 0.0
    shared = np.bincount(group, (d[b] ** 2 - d2) * n, n_groups)
    z = student_quantile(0.5 + confidence_level / 2, n_groups - 1)
    variance2 = min(f * float(np.sum(shared**2)) / (total * d2) ** 2, 0.5 / z**2) if d2 > TINY else 0.0
    law = Law(variance0, variance1, variance2, third0, third1)
    straight = Law(variance0, variance1, variance2, 0.0, 0.0)
    low = solve(lambda x: law.quantile(x, z), t)
    high = solve(lambda x: straight.quantile(x, -z), max(t, 0.0))

    # Under perfect calibration d = 0, so the residuals need no centring.
    null_c = _gram(group, b, s, n_groups, n_bins)
    own = _per_group_squares(group, a[b] * s**2)
    variance, third = _null_moments(null_c, a, own, a[b] * s**2, floor)
    statistic = t / sqrt(variance)
    tail = pearson3_tail(statistic, min(third / variance**1.5, MOST_SKEW))
    return Estimate(t, low, high), PerfectionTest("excess error", statistic, tail)


def _two_groups_a_bin(table: ClusterTable) -> tuple[Ints, Ints, Floats]:
    """Group, bin and sums, with every bin of one group joined to the bin before (the first to the one after)."""
    bins = table.estimation
    while True:
        bins = np.unique(bins, return_inverse=True)[1]
        group, b, sums = table.by_group_and(bins)
        lonely = np.flatnonzero(np.bincount(b) < 2)
        if not len(lonely) or b.max() == 0:
            return group, b, sums
        begins = np.ones(int(b.max()) + 1, bool)  # whether a bin still begins one
        begins[lonely] = False
        begins[0] = True
        if lonely[0] == 0:
            begins[1] = False
        bins = (np.cumsum(begins) - 1)[bins]


def _gram(group: Ints, b: Ints, values: Floats, n_groups: int, n_bins: int) -> Floats:
    """XᵀX for the sparse (G, B) matrix X of `values`."""
    from scipy.sparse import csr_array

    x = csr_array((values, (group, b)), shape=(n_groups, n_bins))
    product: Floats = (x.T @ x).toarray()
    return product


def _per_group_squares(group: Ints, values: Floats) -> float:
    return float(np.sum(np.bincount(group, values) ** 2))


def _null_moments(c: Floats, a: Floats, own: float, diagonal: Floats, least: float) -> tuple[float, float]:
    """Variance (not below `least`) and third central moment of Σ_b a_b Σ_{g≠h} S_gb S_hb when d = 0."""
    root = np.sqrt(a)
    m = root[:, None] * c * root[None, :]
    square = float(np.sum(m**2))
    floor = 2.0 * float(np.sum(np.diag(m) ** 2) - np.sum(diagonal**2))
    variance = max(2.0 * (square - own), floor, 1e-3 * square, least)
    third = 8.0 * float(np.sum(m * (m @ m))) * min(1.0, variance / (2.0 * square)) ** 1.5 if square > TINY else 0.0
    return variance, third


def score_test(table: ClusterTable) -> PerfectionTest:
    """Hotelling's T² on each group's (Σe, Σe(1-2q)): the sandwich version of the score test."""
    from scipy.special import fdtrc

    x = table.by_group
    error = x[:, POSITIVE] - x[:, SUM_Q]
    slope = error - 2.0 * (x[:, SUM_QY] - x[:, SUM_QQ])
    scores = np.stack([error, slope], axis=1)
    n_groups = len(scores)
    centred = scores - scores.mean(axis=0)
    covariance = n_groups / (n_groups - 1) * centred.T @ centred
    statistic, rank, _ = quadratic_form(scores.sum(axis=0), covariance)
    if rank == 0 or n_groups <= rank:  # groups all alike, or too few of them, say nothing of chance
        return PerfectionTest("score", 0.0, 1.0)
    f = statistic * (n_groups - rank) / (rank * (n_groups - 1))
    return PerfectionTest("score", f, float(fdtrc(rank, n_groups - rank, f)))


def perfection_tests(table: ClusterTable, excess: PerfectionTest) -> tuple[PerfectionTest, ...]:
    """The combined test and its parts; the classical tests have no clustered version here."""
    pair = (excess, score_test(table))
    return (combined(pair), *pair)


def mean_interval(table: ClusterTable, sums: Floats, confidence_level: float) -> Estimate:
    """A mean over rows, given each group's sum: ± t √(f Σ (sum_g - mean n_g)²) / N."""
    n = table.by_group[:, ROWS]
    total, g = float(n.sum()), table.n_groups
    mean = float(sums.sum()) / total
    variance = max(g / (g - 1) * float(np.sum((sums - mean * n) ** 2)), 0.5) / total**2  # floored as without groups
    half = student_quantile(0.5 + confidence_level / 2, g - 1) * sqrt(variance)
    return Estimate(mean, mean - half, mean + half)


def mean_gap(table: ClusterTable, confidence_level: float) -> Estimate:
    """Mean q less the base rate."""
    x = table.by_group
    e = mean_interval(table, x[:, SUM_Q] - x[:, POSITIVE], confidence_level)
    assert e.low is not None
    assert e.high is not None
    return Estimate(e.value, max(e.low, -1.0), min(e.high, 1.0))


def brier(table: ClusterTable, confidence_level: float) -> Estimate:
    """The Brier score."""
    x = table.by_group
    e = mean_interval(table, x[:, POSITIVE] - 2.0 * x[:, SUM_QY] + x[:, SUM_QQ], confidence_level)
    assert e.low is not None
    return Estimate(e.value, max(e.low, 0.0), e.high)


def slope(table: ClusterTable, confidence_level: float) -> Estimate | None:
    """The slope of y on q, with the cluster-robust (sandwich) variance."""
    x = table.by_group
    total = float(x[:, ROWS].sum())
    mean_q, base = float(x[:, SUM_Q].sum()) / total, float(x[:, POSITIVE].sum()) / total
    spread = x[:, SUM_QQ] - 2.0 * mean_q * x[:, SUM_Q] + x[:, ROWS] * mean_q**2
    cross = x[:, SUM_QY] - base * x[:, SUM_Q] - mean_q * x[:, POSITIVE] + x[:, ROWS] * mean_q * base
    q_spread = float(spread.sum())
    if q_spread <= 1e-18 * total or base in (0.0, 1.0):
        return None
    b = float(cross.sum()) / q_spread
    g = table.n_groups
    se = sqrt(g / (g - 1) * float(np.sum((cross - b * spread) ** 2))) / q_spread
    half = student_quantile(0.5 + confidence_level / 2, g - 1) * se
    return Estimate(b, b - half, b + half)


def effective_rows(table: ClusterTable, n_bins: int, confidence_level: float) -> Floats:
    """How many independent rows each drawn bin is worth (Korn & Graubard 1998).

    n* = p(1-p)/var(p) (t_{n-1}/t_{G-1})², var(p) = f Σ_g (k_g - p n_g)² / n², never more than n; a bin that is all
    0 or all 1 is worth its number of groups.
    """
    _group, b, sums = table.by_group_and(table.drawn)
    n, k = np.bincount(b, sums[:, ROWS], n_bins), np.bincount(b, sums[:, POSITIVE], n_bins)
    groups = np.bincount(b, minlength=n_bins)
    p = k / n
    g = table.n_groups
    residual = sums[:, POSITIVE] - p[b] * sums[:, ROWS]
    variance = g / (g - 1) * np.bincount(b, residual**2, n_bins) / n**2
    level = 0.5 + confidence_level / 2
    ratio = np.array([student_quantile(level, max(x - 1, 1)) for x in n]) / student_quantile(level, g - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(variance > 1e-15, p * (1 - p) / variance * ratio**2, n)
    return np.minimum(np.where((k == 0) | (k == n) | (groups == 1), groups, worth), n)


def student_quantile(p: float, degrees: float) -> float:
    """Quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, p))
