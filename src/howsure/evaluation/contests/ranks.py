"""Many systems at once: who is surely above whom, and which places each can have.

A pair is surely ordered when 0 lies outside the interval of its difference, and the intervals of all pairs hold at once:
they reach c √(V_ij + v) to either side and further on the side of the skew, c the quantile of the largest |difference| /
√V_ij of all pairs under a Student law with the covariance of the systems. Formulas and simulations: docs/evidence/theory.md.
"""

from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

from howsure._result import Record
from howsure.evaluation.contests.significance import Power
from howsure.kernels.cells import Floats, Ints

DRAWS = 20_000  # of the largest difference: its 95% quantile then has a level of 95 ± 0.15%
MOST_HELD = 4_000_000  # numbers of a block of draws
ROUNDING = 1e-12  # a variance below this share of the largest is 0


@dataclass(frozen=True, slots=True)
class Rank(Record):
    """The places that a system can have, and the systems it is surely above."""

    SHOWN = "name value best worst surely_above"

    name: str
    value: float
    best: int
    worst: int
    surely_above: tuple[str, ...]

    @property
    def places(self) -> str:
        """Such as 2 or 2-4."""
        return f"{self.best}" if self.best == self.worst else f"{self.best}-{self.worst}"


@dataclass(frozen=True, slots=True)
class RankedPair(Record):
    """By how much the one ahead is ahead: limits that hold for all pairs at once, and the power to show this one alone."""

    SHOWN = "a b difference low high surely items_for_80_percent=power.rows_for_80_percent"

    a: str
    b: str
    difference: float
    low: float
    high: float
    power: Power

    @property
    def surely(self) -> bool:
        """Whether `a` is surely above `b`."""
        return self.low > 0.0


@dataclass(frozen=True, slots=True)
class Ranks(Record):
    """The order of systems on the same items, best first; all that is called sure is so at once, at the confidence level."""

    SHOWN = "n critical_value ranks=each pairs"

    each: tuple[Rank, ...]
    pairs: tuple[RankedPair, ...]  # the one ahead first
    critical_value: float
    n: int  # items

    def __repr__(self) -> str:
        return f"Ranks({', '.join(f'{r.name} {r.places}' for r in self.each)})"

    @property
    def sure(self) -> int:
        """How many pairs are surely ordered."""
        return sum(p.surely for p in self.pairs)

    @property
    def by_name(self) -> dict[str, Rank]:
        """The ranks by the systems' names."""
        return {r.name: r for r in self.each}

    def sentence(self, confidence_level: float) -> str:
        """Who is first, and how much is sure."""
        first = self.each[0]
        rest = [r.name for r in self.each[1:] if r.name not in first.surely_above]
        listed = ", ".join(rest[:4]) + (", …" if len(rest) > 4 else "")
        who = f"{first.name} is first, but not surely above {listed}" if rest else f"{first.name} is surely first"
        if first.value == self.each[1].value:
            who = f"{first.name} and {self.each[1].name} are level"
        level = f"{100 * confidence_level:g}%"
        if len(self.pairs) == 1:
            return f"{who} ({level})."
        return f"{who}; {self.sure:,} of {len(self.pairs):,} pairs are surely ordered ({level}, all at once)."

    @property
    def next_pairs(self) -> list[RankedPair]:
        """Pairs of neighbours in the order."""
        found: dict[tuple[str, str], RankedPair] = {(p.a, p.b): p for p in self.pairs}
        return [found[a.name, b.name] for a, b in zip(self.each, self.each[1:], strict=False)]


def ranked(
    names: tuple[str, ...], values: Any, u: Floats, count: Ints, degrees: float, n: int, level: float, bound: float = 1
) -> Ranks:
    """Ranks of systems from the influences of independent units, (T, k), each counted `count` times; of `n` items in all.

    No difference can be beyond `bound`. Σ count u u' is the covariance of `values`, with `degrees` of freedom.
    """
    value = np.asarray(values, np.float64)
    order = np.argsort(-value, kind="stable")
    names, value, u = tuple(names[i] for i in order), value[order], u[:, order]
    covariance = u.T @ (count[:, None] * u)
    own = np.diag(covariance)
    variance = own[:, None] + own[None, :] - 2.0 * covariance
    variance[variance < ROUNDING * variance.max(initial=0.0)] = 0.0
    c = largest_quantile(covariance, variance, degrees, level)
    high = value[:, None] - value[None, :] + _reach(u, count, variance, c, bound)
    ahead = high.T < 0.0  # j less i at most: i is surely above j
    each, pairs = [], []
    for i, name in enumerate(names):
        below = tuple(names[j] for j in np.flatnonzero(ahead[i]))
        each.append(Rank(name, float(value[i]), 1 + int(ahead[:, i].sum()), len(names) - len(below), below))
    for i, j in combinations(range(len(names)), 2):
        d, spread = float(value[i] - value[j]), sqrt(float(variance[i, j]) * n)
        limits = max(-float(high[j, i]), -bound), min(float(high[i, j]), bound)
        pairs.append(RankedPair(names[i], names[j], d, *limits, Power(d, spread, spread, 1.0 - level)))
    return Ranks(tuple(each), tuple(pairs), c, n)


def largest_quantile(covariance: Floats, variance: Floats, degrees: float, confidence_level: float) -> float:
    """The quantile of max |Z_i - Z_j| / √V_ij, Z of Student's law with that covariance; pairs without variance do not count."""
    i, j = np.triu_indices(len(covariance), 1)
    moves = variance[i, j] > 0.0
    i, j = i[moves], j[moves]
    if not len(i):
        return 0.0
    scale = 1.0 / np.sqrt(variance[i, j])
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T  # the one symmetric root: rounding moves it little
    # The quantile is a number, not a result of chance: the same for the same data.
    rng = np.random.default_rng(20150917)
    size = max(MOST_HELD // len(i), 1)
    largest = np.empty(DRAWS)
    for block in np.split(largest, range(size, DRAWS, size)):
        z = rng.standard_normal((len(block), len(covariance))) @ root
        student = np.sqrt(degrees / rng.chisquare(degrees, len(block)))
        block[:] = student * np.max(np.abs(z[:, i] - z[:, j]) * scale, axis=1)
    return float(np.quantile(largest, confidence_level))


def _reach(u: Floats, count: Ints, variance: Floats, c: float, bound: float) -> Floats:
    """How far each difference i - j may lie above its estimate: a + √(a² + c²(V + v)), a = (2c² + 1)/6 · skew, if that is above 0.

    The skew is Σ d³/Σ d², the slope of the variance against the mean, with one more unit at √v where scores have a bound.
    """
    v = _one_more(u, count)
    spread = variance + v
    mixed = (u**2).T @ (count[:, None] * u)
    own = np.diag(mixed)
    third = own[:, None] - own[None, :] - 3.0 * (mixed - mixed.T) + (v**1.5 if np.isfinite(bound) else 0.0)
    skew = np.maximum(np.divide(third, spread, out=np.zeros_like(third), where=spread > 0.0), 0.0)
    a = (2.0 * c**2 + 1.0) / 6.0 * skew
    return np.asarray(a + np.sqrt(a**2 + c**2 * spread))


def _one_more(u: Floats, count: Ints) -> float:
    """What one more unit on which two systems differ would add: Σ d⁴ / Σ d² over units and pairs, d = u_i - u_j.

    Of right and wrong answers it is 1/n². Systems that are alike on all n items may still differ.
    """
    k = u.shape[1]
    s1, s2, s3, s4 = ((u**power).sum(axis=1) for power in (1, 2, 3, 4))
    squares = float(count @ (k * s2 - s1**2))
    return float(count @ (k * s4 - 4.0 * s1 * s3 + 3.0 * s2**2)) / squares if squares > 0.0 else 0.0
