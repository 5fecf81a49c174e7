"""Is B better calibrated than A, on the same rows?

θ_A² - θ_B² is estimated by T_A - T_B. Its variance has a linear part (rows, or groups, that pull one model's error up)
and a quadratic part (noise squared inside the bins, shared by the two models as far as their residuals are). An
interval for θ_A - θ_B itself fails when one of them is near 0; the sign is the same. Derivation: docs/theory.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.clustered import student_quantile
from howsure.calibration.estimate import bin_count, estimation_bins
from howsure.calibration.intervals import Estimate, normal_quantile
from howsure.calibration.sketch import Sketch
from howsure.kernels.cells import Floats, Ints, cell_of


@dataclass(frozen=True, slots=True)
class Difference:
    """A number of model A less that of model B, with its interval and the p-value of no difference."""

    value: float
    low: float | None
    high: float | None
    p_value: float | None

    def __repr__(self) -> str:
        limits = "" if self.low is None else f" [{self.low:+.4g}, {self.high:+.4g}], p = {self.p_value:.3g}"
        return f"{self.value:+.4g}{limits}"

    def to_dict(self) -> dict[str, float | None]:
        """All fields by name."""
        return {name: getattr(self, name) for name in Difference.__slots__}

    @property
    def estimate(self) -> Estimate:
        """The same without the p-value."""
        return Estimate(self.value, self.low, self.high)


@dataclass(frozen=True)
class Filed:
    """One model's rows by estimation bin: the bin of each row, its residual, and what the bins sum to."""

    bin: Ints
    e: Floats
    n_bins: int

    @staticmethod
    def of(y: NDArray[np.uint8], q: Floats, sketch: Sketch) -> Filed:
        """File rows under the bins (N^0.4 of them) of their sketch."""
        starts = estimation_bins(sketch, bin_count(sketch.n)).starts
        # A bin begins at a fixed cell, whether the sketch is exact or not.
        first = sketch.fixed_cell[starts]
        number = np.searchsorted(first, cell_of(q)[0], side="right") - 1
        return Filed(number, y - q, len(first))


def squared_error_difference(a: Filed, b: Filed, groups: Ints | None, confidence_level: float) -> Difference:
    """T_A - T_B; `groups` number the rows' groups from 0, None when rows are independent."""
    if groups is None:
        return _independent(a, b, confidence_level)
    return _clustered(a, b, groups, confidence_level)


@dataclass(frozen=True)
class _Moments:
    """Per bin: rows, d and s² (floored); and T."""

    n: Floats
    d: Floats
    s2: Floats
    t: float

    @staticmethod
    def of(m: Filed) -> _Moments:
        n = np.bincount(m.bin, minlength=m.n_bins).astype(np.float64)
        e, q = np.bincount(m.bin, m.e, m.n_bins), np.bincount(m.bin, m.e**2, m.n_bins)
        d = e / n
        s2 = np.maximum((q - n * d**2) / (n - 1.0), 0.5 / n)
        total = float(n.sum())
        t = float(np.sum((e**2 - q) / (n - 1.0))) / total
        return _Moments(n, d, s2, t)


def _variance(linear: float, quadratic: float) -> float:
    """Variance of T_A - T_B from its linear part, as estimated, and its quadratic part.

    The bins' own noise enters the linear estimate, on average with twice the quadratic part; taking that off and adding
    the quadratic part itself leaves linear - quadratic, and never less than the quadratic part alone.
    """
    return max(linear - quadratic, quadratic)


def _independent(a: Filed, b: Filed, level: float) -> Difference:
    x, y = _Moments.of(a), _Moments.of(b)
    total = float(len(a.e))
    linear = float(np.var(_influence(a, x) - _influence(b, y))) / total
    v0 = sum(2.0 * float(np.sum(m.n / (m.n - 1.0) * (m.s2 / total) ** 2)) for m in (x, y))
    joint = a.bin * b.n_bins + b.bin
    product = (a.e - x.d[a.bin]) * (b.e - y.d[b.bin])
    occupied, where = np.unique(joint, return_inverse=True)
    c = np.bincount(where, product)
    shared = 4.0 / total**2 * float(np.sum(c**2 / (x.n[occupied // b.n_bins] * y.n[occupied % b.n_bins])))
    return _judged(x.t - y.t, _variance(linear, max(v0 - shared, 0.0)), normal_quantile(0.5 + level / 2), None)


def _influence(m: Filed, s: _Moments) -> Floats:
    """ψ = 2 d (e - d) + d²: how a row moves T."""
    d = s.d[m.bin]
    return 2.0 * d * (m.e - d) + d**2


def _clustered(a: Filed, b: Filed, groups: Ints, level: float) -> Difference:
    n_groups = int(groups.max()) + 1
    f = n_groups / (n_groups - 1)
    x, y = (_ClusterSide.of(m, groups, n_groups) for m in (a, b))
    linear = f * float(np.sum((x.influence - y.influence) ** 2))
    v0 = sum(max(2.0 * (float(np.sum(s.gram(s) ** 2)) - f**2 * float(np.sum(s.own**2))), 0.0) for s in (x, y))
    shared = 2.0 * (float(np.sum(x.gram(y) ** 2)) - f**2 * float(np.sum(x.own * y.own)))
    variance = _variance(linear, max(v0 - 2.0 * shared, 0.0))
    return _judged(x.t - y.t, variance, student_quantile(0.5 + level / 2, n_groups - 1), n_groups - 1)


@dataclass(frozen=True)
class _ClusterSide:
    """One model's residuals by group and bin."""

    t: float
    influence: Floats  # (G,) how a group moves T: Σ_b [2 d_b R_gb + (d_b² - D2) n_gb] / N
    own: Floats  # (G,) Σ_b a_b R_gb²
    matrix: Any  # sparse (G, B): √a_b R_gb
    f: float  # G / (G - 1)

    @staticmethod
    def of(m: Filed, groups: Ints, n_groups: int) -> _ClusterSide:
        from scipy.sparse import csr_array

        code, where = np.unique(groups * m.n_bins + m.bin, return_inverse=True)
        g, b = code // m.n_bins, code % m.n_bins
        s, n = np.bincount(where, m.e), np.bincount(where).astype(np.float64)
        size, s_b = np.bincount(b, n, m.n_bins), np.bincount(b, s, m.n_bins)
        total = float(size.sum())
        pairs = size**2 - np.bincount(b, n**2, m.n_bins)
        # A bin of one group has no pairs of groups and cannot be estimated; it carries no weight.
        a = np.divide(size / total, pairs, out=np.zeros(m.n_bins), where=pairs > 0)
        t = float(np.sum(a * (s_b**2 - np.bincount(b, s**2, m.n_bins))))
        d = s_b / np.maximum(size, 1.0)
        d2 = float(np.sum(size * d**2)) / total
        r = s - d[b] * n
        return _ClusterSide(
            t,
            np.bincount(g, 2.0 * d[b] * r + (d[b] ** 2 - d2) * n, n_groups) / total,
            np.bincount(g, a[b] * r**2, n_groups).astype(np.float64),
            csr_array((np.sqrt(a[b]) * r, (g, b)), shape=(n_groups, m.n_bins)),
            n_groups / (n_groups - 1),
        )

    def gram(self, other: _ClusterSide) -> Floats:
        """f √a RᵀR' √a'."""
        product: Floats = self.f * (self.matrix.T @ other.matrix).toarray()
        return product


def mean_difference(delta: Floats, groups: Ints | None, confidence_level: float) -> Difference:
    """The mean of a per-row difference, rows or groups independent."""
    n = len(delta)
    mean = float(delta.mean())
    if groups is None:
        if n < 2:
            return Difference(mean, None, None, None)
        return _judged(mean, float(np.var(delta, ddof=1)) / n, normal_quantile(0.5 + confidence_level / 2), None)
    size, total = np.bincount(groups), np.bincount(groups, delta)
    g = len(size)
    if g < 2:
        return Difference(mean, None, None, None)
    variance = g / (g - 1) * float(np.sum((total - mean * size) ** 2)) / n**2
    return _judged(mean, variance, student_quantile(0.5 + confidence_level / 2, g - 1), g - 1)


def _judged(value: float, variance: float, z: float, degrees: int | None) -> Difference:
    from scipy.special import ndtr, stdtr

    se = sqrt(max(variance, 0.0))
    if se == 0.0:
        return Difference(value, value, value, 1.0 if value == 0.0 else 0.0)
    ratio = -abs(value) / se
    p = 2.0 * float(ndtr(ratio) if degrees is None else stdtr(degrees, ratio))
    return Difference(value, value - z * se, value + z * se, p)
