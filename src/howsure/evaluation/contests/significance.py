"""Tests that two systems are alike: under that hypothesis their outputs on a unit could be swapped.

For accuracy the law of the swapped difference is exact: S = Σ ±d_g, d_g being what A has right more than B in group
g. With a row a group this is McNemar's exact test; with documents it is McNemar's test made robust to groups.
"""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from howsure._result import Record, shown_as
from howsure.calibration.estimation.intervals import normal_quantile
from howsure.evaluation.contests.contrast import Contrast, at_least, differences, exact_difference
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.resampled import multinomial_sums, swap_sums

MOST_STEPS = 400_000_000  # multiplications that an exact law may cost


@dataclass(frozen=True, slots=True)
class Test(Record):
    """A test's name, its p-value (two-sided) and, where it has one, its statistic."""

    name: str
    p_value: float
    statistic: float | None = None

    __repr__ = shown_as("{name}, p = {p_value:.3g}")


def mcnemar(a_only: int, b_only: int) -> tuple[Test, Test]:
    """McNemar's exact test and its mid-p, from the rows that only one system has right.

    >>> [round(t.p_value, 4) for t in mcnemar(10, 2)]
    [0.0386, 0.0225]
    """
    n, low = a_only + b_only, min(a_only, b_only)
    if a_only == b_only:
        return Test("McNemar, exact", 1.0), Test("McNemar, mid-p", 1.0)
    exact = 2.0 * float(special.bdtr(low, n, 0.5))
    at = exact / 2.0 - (float(special.bdtr(low - 1, n, 0.5)) if low else 0.0)
    return Test("McNemar, exact", exact), Test("McNemar, mid-p", exact - at)


def sign_flips(d: Ints, count: Ints) -> tuple[Test, Test] | None:
    """The exact test and mid-p of Σ d = 0 when each of `count` groups' d may change its sign; None where too long."""
    size, where = np.unique(np.abs(d), return_inverse=True)
    times = np.rint(np.bincount(where, count)).astype(np.int64)
    total = abs(int(d @ count))
    kept = size > 0
    size, times = size[kept], times[kept]
    names = ("McNemar of groups, exact", "McNemar of groups, mid-p")
    if total == 0 or not len(size):
        return Test(names[0], 1.0), Test(names[1], 1.0)
    reach = int(size @ times)
    if float(reach) * float(times.sum()) > MOST_STEPS:
        return None
    # The law of T = Σ of the d that keep their sign: S = 2T - Σ|d|.
    law = np.ones(1)
    for v, m in zip(size.tolist(), times.tolist(), strict=True):
        k = np.arange(m + 1)
        log_ways = special.gammaln(m + 1.0) - special.gammaln(k + 1.0) - special.gammaln(m - k + 1.0)
        law = _convolved(law, np.exp(log_ways - m * np.log(2.0)), v)
    first = (reach + total) // 2  # S >= total
    exact = min(2.0 * float(law[first:].sum()), 1.0)
    return Test(names[0], exact), Test(names[1], exact - float(law[first]))


def _convolved(law: Floats, step: Floats, stride: int) -> Floats:
    """The law of a sum: `step` is the law of a number of strides."""
    if stride == 1:
        return np.convolve(law, step)
    made = np.zeros(len(law) + stride * (len(step) - 1))
    for i, p in enumerate(step.tolist()):
        made[i * stride : i * stride + len(law)] += p * law
    return made


def cluster_z(d: Ints, count: Ints) -> Test:
    """The same by the normal law: (Σd)² / Σd², McNemar's χ² where every group is a row."""
    spread = float((d.astype(np.float64) ** 2) @ count)
    z = float(d @ count) / sqrt(spread) if spread else 0.0
    return Test("McNemar of groups, normal", 2.0 * float(special.ndtr(-abs(z))), z * z)


def permutation(c: Contrast, samples: int = 10_000, rng: np.random.Generator | None = None) -> Test:
    """Approximate randomisation: A and B swapped at random on each unit; p = (1 + #{|δ'| >= |δ|}) / (1 + samples)."""
    rng, k, total = np.random.default_rng(rng), c.n_classes, c.totals
    delta = abs(exact_difference(total, k))
    table = c.table if isinstance(c.table, np.ndarray) else c.table.toarray()
    gain = table[:, 2 * k :] - table[:, : 2 * k]  # what a swap adds to A and takes from B
    moves = gain.any(axis=1)
    if delta == 0 or not moves.any():
        return Test("permutation", 1.0)
    used = gain.any(axis=0)
    sums = np.zeros((samples, 2 * k))
    sums[:, used] = swap_sums(c.count[moves], np.ascontiguousarray(gain[moves][:, used]), samples, rng)
    swapped = total + np.concatenate([sums, -sums], axis=1)
    extreme = at_least(swapped, k, delta) | at_least(np.roll(swapped, 2 * k, axis=1), k, delta)
    return Test("permutation", (1.0 + int(extreme.sum())) / (1.0 + samples))


# The paired bootstrap: rows, or groups, drawn again through their counts.
#
# The p-value is the share of resamples whose difference beats the observed one by as much again, δ(x⁽ⁱ⁾) >= 2δ(x): the
# resamples centre on δ(x), not on 0. Two-sided it also counts δ(x⁽ⁱ⁾) <= 0: as far from δ(x) on the other side.


@dataclass(frozen=True, slots=True)
class Bootstrap(Record):
    """What the resamples say of δ(x) = A - B."""

    difference: float
    p_value: float  # two-sided
    p_one_sided: float  # of "the better one is no better"
    low: float
    high: float
    samples: int

    __repr__ = shown_as("{difference:+.4g} [{low:+.4g}, {high:+.4g}], p = {p_value:.3g}")


def paired_bootstrap(
    c: Contrast, samples: int = 10_000, rng: np.random.Generator | None = None, confidence_level: float = 0.95
) -> Bootstrap:
    """Resample the units of a contrast; percentile limits."""
    k = c.n_classes
    delta = exact_difference(c.totals, k)
    sums = multinomial_sums(c.count, c.table, samples, np.random.default_rng(rng))
    ways = sums, np.roll(sums, 2 * k, axis=1)
    ahead, behind = ways if delta >= 0 else ways[::-1]  # seen from the better system
    beyond = int(at_least(ahead, k, 2 * abs(delta)).sum())
    below = int(at_least(behind, k, 0 * delta).sum())
    both = 1.0 if delta == 0 else min((beyond + below) / samples, 1.0)
    tail = 50.0 * (1.0 - confidence_level)
    low, high = np.percentile(differences(sums, k), [tail, 100.0 - tail])
    return Bootstrap(float(delta), both, beyond / samples, float(low), float(high), samples)


@dataclass(frozen=True, slots=True)
class Power(Record):
    """Power of a test on n rows, the difference and its spread being as observed.

    With σ0 and σ1 the standard deviations of a row's difference if the systems are alike and if they are not, both with
    the design effect of groups, power(n) = Φ((|δ|√n - z σ0) / σ1).
    """

    SHOWN = "effect design_effect alpha rows_for_80_percent rows_for_90_percent"

    effect: float
    null_spread: float
    spread: float
    alpha: float = 0.05
    design_effect: float | None = None  # of groups, where it is known apart

    def __repr__(self) -> str:
        needed = self.rows_needed()
        return f"Power(δ = {self.effect:+.4g}: 80% with {'no number of' if needed is None else f'{needed:,}'} rows)"

    def power(self, n: int) -> float:
        """The chance that n rows give a p-value below α."""
        if self.effect == 0.0 or self.null_spread == 0.0:
            return self.alpha if self.effect == 0.0 else 1.0
        z = normal_quantile(1.0 - self.alpha / 2.0)
        return float(special.ndtr((abs(self.effect) * sqrt(n) - z * self.null_spread) / max(self.spread, 1e-300)))

    def rows_needed(self, power: float = 0.8) -> int | None:
        """The smallest number of rows with that power; None if there is no difference to find."""
        if self.effect == 0.0:
            return None
        z = normal_quantile(1.0 - self.alpha / 2.0) * self.null_spread + normal_quantile(power) * self.spread
        return max(1, ceil((z / self.effect) ** 2))

    @property
    def rows_for_80_percent(self) -> int | None:
        """Rows needed for power 80%."""
        return self.rows_needed(0.8)

    @property
    def rows_for_90_percent(self) -> int | None:
        """Rows needed for power 90%."""
        return self.rows_needed(0.9)


def mcnemar_power(effect: float, discordant: float, design_effect: float, alpha: float) -> Power:
    """Of McNemar's test: `discordant` is the share of rows that one system has right and the other wrong."""
    null = sqrt(discordant * design_effect)
    return Power(effect, null, sqrt(max(discordant - effect**2, 0.0) * design_effect), alpha, design_effect)
