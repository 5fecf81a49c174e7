"""From label numbers of several systems to a `Contest`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.comparing.difference import Difference
from howsure.calibration.estimation.intervals import normal_quantile
from howsure.calibration.estimation.perfection import benjamini_hochberg, holm
from howsure.calibration.groups.clusters import Balance
from howsure.calibration.groups.estimates import student_quantile
from howsure.evaluation.contests import significance
from howsure.evaluation.contests.contrast import contrast, metric_of
from howsure.evaluation.contests.ranks import Ranks, ranked
from howsure.evaluation.contests.result import ContestSlice, Duel, SystemScore
from howsure.evaluation.contests.significance import Power, Test, permutation
from howsure.evaluation.scores.analysis import f_rows, macro_f1
from howsure.evaluation.scores.metrics import accuracy, correction, estimated, influence, variance
from howsure.evaluation.units import Units, label_units
from howsure.kernels.cells import Ints
from howsure.processes import Progress


@dataclass(frozen=True)
class Field:
    """The systems of a contest: for any two of them the units they share, and the rows each has right."""

    names: tuple[str, ...]
    units: Callable[[tuple[int, ...]], Units]
    right: tuple[Ints, ...]  # 0 or 1 a row
    groups: Ints | None  # of the rows
    metric: str
    positive: int | None
    count: Ints | None = None  # how often each row counts
    item: Ints | None = None  # of the rows, where items are answered several times

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.right[0]) if self.count is None else int(self.count.sum())

    def rows(self, which: NDArray[np.bool_]) -> int:
        """How many rows those are."""
        return int(which.sum() if self.count is None else self.count[which].sum())


def system_scores(f: Field, confidence_level: float) -> tuple[SystemScore, ...]:
    """Each system by itself."""
    made = []
    for i, name in enumerate(f.names):
        units = f.units((i,))
        t = units.totals()
        m = metric_of(t, f.metric, f.positive)
        rows = float(f.n)
        if f.metric in ("f1", "span-f1"):
            part = t.pooled if f.metric == "span-f1" else t
            rows = float(f_rows(part, 1.0)[0 if f.positive is None else f.positive])
        if f.metric == "macro-f1":
            value = macro_f1(units, confidence_level)
        else:
            value = estimated(m, units, confidence_level, rows=rows)
        right = value
        if f.metric != "accuracy":
            units = label_units(np.ones(len(f.right[i]), np.int64), (f.right[i],), 2, f.groups, f.count)
            right = estimated(accuracy(units.totals()), units, confidence_level, rows=float(f.n))
        made.append(SystemScore(name, value, right))
    return tuple(made)


def ranks_of(f: Field, confidence_level: float) -> Ranks | None:
    """The places of three systems or more, from their influences on the units that all share."""
    k = len(f.names)
    if k < 3:
        return None
    units = f.units(tuple(range(k)))
    averages = [metric_of(units.totals(s), f.metric, f.positive) for s in range(k)]
    u = np.stack([influence(m, units, s) for s, m in enumerate(averages)], axis=1)
    size = np.repeat(np.asarray(units.gold.sum(axis=1)).ravel(), units.count)
    if units.n < 2 or size.max() >= size.sum():
        return None
    degrees = Balance.of(size / size.sum()).degrees if units.clustered else units.n - 1.0
    u *= sqrt(correction(units.n, units.clustered))
    return ranked(f.names, [m.value for m in averages], u, units.count, degrees, f.n, confidence_level)


def duels(
    f: Field, samples: int, rng: np.random.Generator, confidence_level: float, progress: Progress | None = None
) -> tuple[Duel, ...]:
    """Every pair of systems, p-values adjusted for their number."""
    made = []
    pairs = list(combinations(range(len(f.names)), 2))
    for number, (i, j) in enumerate(pairs):
        if progress is not None:
            progress(number, len(pairs), f"{f.names[i]}, {f.names[j]}")
        made.append(_duel(f, i, j, samples, rng, confidence_level))
    adjusted = holm([d.tests[0].p_value for d in made])
    return tuple(replace(d, adjusted_p_value=p) for d, p in zip(made, adjusted, strict=True))


def _duel(f: Field, i: int, j: int, samples: int, rng: np.random.Generator, level: float) -> Duel:
    units, alpha = f.units((i, j)), 1.0 - level
    difference, spread = _difference(units, f.metric, f.positive, level)
    c = contrast(units, f.metric, f.positive)
    a_only, b_only = f.rows(f.right[i] > f.right[j]), f.rows(f.right[i] < f.right[j])
    boot = significance.paired_bootstrap(c, samples, rng, level)
    if f.metric == "accuracy":
        exact, design = _accuracy_tests(f, i, j, a_only, b_only)
        tests = (*exact, permutation(c, samples, rng.spawn(1)[0]))
        power = significance.mcnemar_power(difference.value, (a_only + b_only) / f.n, design, alpha)
    else:
        tests = (permutation(c, samples, rng),)
        power = Power(difference.value, sqrt(spread * f.n), sqrt(spread * f.n), alpha)
    difference = replace(difference, p_value=tests[0].p_value)
    tests, share = (*tests, Test("paired bootstrap", boot.p_value)), None
    if f.item is not None and spread > 0.0:  # σ²/n, σ² within items
        d, times = (f.right[i] - f.right[j]).astype(np.float64), np.bincount(f.item)
        off = d - (np.bincount(f.item, d) / times)[f.item]
        share = min(float(off @ off) / (len(d) - len(times)) / len(d) / spread, 1.0)
    return Duel(f.names[i], f.names[j], difference, tests, boot, power, None, a_only, b_only, share)


def _difference(units: Units, metric: str, positive: int | None, level: float) -> tuple[Difference, float]:
    """By how much the first of two systems is better, and the variance of that."""
    a, b = (metric_of(units.totals(s), metric, positive) for s in (0, 1))
    delta, p = a.value - b.value, 0.5 + level / 2
    if units.n < 2:
        return Difference(delta, None, None, None), 0.0
    spread = variance(influence(a, units, 0) - influence(b, units, 1), units)
    half = (student_quantile(p, units.n - 1) if units.clustered else normal_quantile(p)) * sqrt(spread)
    return Difference(delta, max(delta - half, -1.0), min(delta + half, 1.0), None), spread


def contest_slice(name: str, f: Field, level: float) -> ContestSlice:
    """The accuracy of each system on some of the rows, and the difference of the first two."""
    difference, _ = _difference(f.units((0, 1)), "accuracy", None, level)
    if difference.low is not None:
        only = f.rows(f.right[0] > f.right[1]), f.rows(f.right[0] < f.right[1])
        difference = replace(difference, p_value=_accuracy_tests(f, 0, 1, *only)[0][0].p_value)
    return ContestSlice(name, f.n, tuple(float(r.mean()) for r in f.right), difference)


def adjusted_slices(found: list[ContestSlice]) -> tuple[ContestSlice, ...]:
    """The clearest difference first, p-values adjusted for the number of slices."""
    adjusted = benjamini_hochberg([s.difference.p_value for s in found])
    made = [replace(s, adjusted_p_value=p) for s, p in zip(found, adjusted, strict=True)]
    return tuple(sorted(made, key=lambda s: (s.adjusted_p_value is None, s.adjusted_p_value, s.name)))


def _accuracy_tests(f: Field, i: int, j: int, a_only: int, b_only: int) -> tuple[tuple[Test, ...], float]:
    """Exact tests, and by how much clusters inflate the variance of the difference."""
    if f.groups is None:
        return significance.mcnemar(a_only, b_only)[::-1], 1.0
    each = (f.right[i] - f.right[j]) * (1 if f.count is None else f.count)
    d = np.rint(np.bincount(f.groups, each)).astype(np.int64)
    one = np.ones(len(d), np.int64)
    design = float(d @ d) / max(a_only + b_only, 1)
    exact = significance.sign_flips(d, one)
    return (() if exact is None else exact[::-1]) + (significance.cluster_z(d, one),), design or 1.0
