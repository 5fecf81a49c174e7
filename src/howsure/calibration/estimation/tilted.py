"""Intervals of means over few or skewed rows: the gap, the Brier score, and the slope of y on q.

Each is linear in the labels given q: a row contributes f0 if y = 0 and f0 + c if y = 1. The interval asks which truths would
make the observed value a surprise. The truths are q itself, tilted by one number t until the mean is x:

    logit p = logit q + t c/max|c|,        x(t) = mean of f0 + p c

so that variance and skew of the mean at x are known even when no event was seen. Derivation and coverage:
docs/evidence/theory.md.

An interval is a `Search`: it asks for one law after another, and `solved` computes those that many searches ask for together. Sums
over the rows of each are the same, to the bit, whatever else is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from math import sqrt
from typing import TypeVar

import numpy as np

from howsure.calibration.estimation.estimate import estimation_bins
from howsure.calibration.sketch import Sketch
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints, sum_of

MOST_CELLS = 256
LEAST_ODDS = 1e-12  # q = 0 and q = 1 count as these odds: what cannot happen could not be tilted
TRUST = 10.0  # events' worth of trust in the tilted law's variance, against the sample's
MIDDLE = 0.25  # of the largest step that one label makes: between Clopper-Pearson's 1/2 and none, as mid-p
UNSEEN = 0.5
FURTHEST = 1e6
SETTLED = 1e-12  # a step as small as this, relative to the place: the error left is of the order of its power 1.7


@dataclass(frozen=True, slots=True)
class Design:
    """The rows without their labels, in at most a few hundred cells: share of the rows, q, q² and logit q."""

    n: int
    weight: Floats
    q: Floats
    qq: Floats
    logit: Floats

    @staticmethod
    def of(sketch: Sketch) -> Design:
        """Of a sketch, its cells joined where they are many."""
        starts = np.arange(len(sketch.size))
        if len(starts) > MOST_CELLS:
            starts = estimation_bins(sketch, MOST_CELLS // 2).starts
        n = np.add.reduceat(sketch.size, starts).astype(np.float64)
        m = np.maximum(np.add.reduceat(sketch.sum_m, starts) / n, LEAST_ODDS)  # cells do not straddle 1/2
        upper = sketch.upper[starts]
        logit = np.log(m) - np.log1p(-m)
        squares = np.add.reduceat(sketch.size * sketch.mean_q**2 + sketch.spread_q, starts) / n
        q = np.add.reduceat(sketch.sum_q, starts) / n
        return Design(sketch.n, n / n.sum(), q, squares, np.where(upper, -logit, logit))


@dataclass(slots=True)
class Law:
    """Mean, variance and third central moment of a row's contribution under one truth, and how fast t raises the mean."""

    mean: float
    variance: float
    third: float
    rate: float


@dataclass(frozen=True, slots=True)
class Mean:
    """The rows of a mean of f0 + c y. `cells` are logit q, what t tilts along, and what y = 1 adds to the three of `base`."""

    cells: Floats
    base: tuple[float, ...]  # moments about `value`, linear in p: of rows with y = 0 throughout
    value: float

    @staticmethod
    def sums(cells: Floats, p: Floats, starts: Ints, _sizes: Ints) -> Floats:
        """The moments that y = 1 adds and the rate, for rows of many."""
        made = np.empty((4, len(p)))
        np.multiply(cells[2:], p, out=made[:3])
        made[3] = cells[2] * cells[1] * (p - p * p)
        return np.add.reduceat(made, starts, axis=1)

    def law(self, mean: float, second: float, third: float, rate: float) -> Law:
        """From the sums over its rows."""
        mean, second, third = mean + self.base[0], second + self.base[1], third + self.base[2]
        return Law(self.value + mean, max(second - mean**2, 0.0), third - 3.0 * mean * second + 2.0 * mean**3, rate)


@dataclass(frozen=True, slots=True)
class Slope:
    """The rows of a slope, which each contribute s r, s = x/mean x² and r the distance from the line.

    `cells` are logit q, what t tilts along, w, x, w s, w s² and w s³.
    """

    cells: Floats

    @staticmethod
    def sums(cells: Floats, p: Floats, starts: Ints, sizes: Ints) -> Floats:
        """What `Law` consists of, for rows of many."""
        _, along, w, x, w1, w2, w3 = cells
        v = p - p * p
        mean, slope, rate = np.add.reduceat(np.array([w * p, w1 * p, w1 * along * v]), starts, axis=1)
        off = p - (np.repeat(mean, sizes) + np.repeat(slope, sizes) * x)  # from the line
        square = off * off
        of_line = np.array([w2 * (v + square), w3 * (v * (1.0 - 2.0 * p + 3.0 * off) + square * off)])
        return np.array([slope, *np.add.reduceat(of_line, starts, axis=1), rate])

    law = staticmethod(Law)


T = TypeVar("T")
Search = Generator[tuple[Mean | Slope, float], Law, T]  # asks for the law of such rows at t


def solved(searches: Iterable[Search[T]]) -> list[T]:
    """What each search finds; all go on side by side."""
    going = list(searches)
    found: dict[int, T] = {}
    answers: dict[int, Law | None] = dict.fromkeys(range(len(going)))
    while answers:
        asked: dict[type[Mean] | type[Slope], list[tuple[int, Mean | Slope, float]]] = {Mean: [], Slope: []}
        for i, law in answers.items():
            try:
                rows, t = going[i].send(law)  # type: ignore[arg-type]  # None starts it
                asked[type(rows)].append((i, rows, t))
            except StopIteration as done:
                found[i] = done.value
        answers = {}
        for kind, some in asked.items():
            if some:
                cells = np.concatenate([rows.cells for _, rows, _ in some], axis=1)
                sizes = np.array([rows.cells.shape[1] for _, rows, _ in some])
                against = cells[0] + np.repeat([t for *_, t in some], sizes) * cells[1]
                with np.errstate(over="ignore"):
                    p = 1.0 / (1.0 + np.exp(-against))  # several at once, which `special.expit` does not do
                sums = kind.sums(cells, p, np.cumsum(sizes) - sizes, sizes)
                answers |= {i: rows.law(*of) for (i, rows, _), of in zip(some, sums.T.tolist(), strict=True)}
    return [found[i] for i in range(len(going))]


def gap_interval(design: Design, value: float, variance: float, level: float) -> Search[tuple[float, float]]:
    """Of mean q less mean y, given the variance of q - y over the rows."""
    low, high = yield from _mean_interval(design, -design.q, np.ones(len(design.q)), -value, variance, level)
    return -high, -low


def brier_interval(design: Design, value: float, variance: float, level: float) -> Search[tuple[float, float]]:
    """Of the mean of (y - q)² = q² + y(1 - 2q), given its variance over the rows."""
    return (yield from _mean_interval(design, design.qq, 1.0 - 2.0 * design.q, value, variance, level))


def _mean_interval(
    design: Design, f0: Floats, c: Floats, value: float, variance: float, level: float
) -> Search[tuple[float, float]]:
    step = float(np.abs(c).max())
    if step == 0.0:  # all q are 1/2: the score does not depend on the labels
        return value, value
    zero = f0 - value
    either = np.array([zero, zero + c])  # what a row contributes with y = 0, and with y = 1
    powers = [design.weight * either]
    powers += [powers[0] * either, powers[0] * either**2]
    cells = np.array([design.logit, c / step, *(one - none for none, one in powers)])
    rows = Mean(cells, tuple(sum_of(none) for none, _ in powers), value)
    return (yield from _inverted(rows, design.n, step, value, variance, level))


def slope_interval(
    design: Design, base: float, value: float, variance: float, level: float
) -> Search[tuple[float, float]]:
    """Of the slope of y on q, given N times the variance of the estimate. The tilt is along q - mean q.

    All odds are multiplied first until the mean probability is `base`, strictly between 0 and 1, that of the labels seen.
    """
    w = design.weight
    x = design.q - float(w @ design.q)
    spread = float(w @ x**2)
    furthest = float(np.abs(x).max())
    if spread <= 0.0:
        return value, value
    shifted = Mean(np.array([design.logit, np.ones(len(w)), w, w, w]), (0.0, 0.0, 0.0), 0.0)
    move = yield from _crossing(shifted, lambda law: law.mean - base, 0.0, {})
    scaled = x / spread
    once, twice = w * scaled, w * scaled**2
    rows = Slope(np.array([design.logit + move, x / furthest, w, x, once, twice, twice * scaled]))
    return (yield from _inverted(rows, design.n, furthest / spread, value, variance, level))


def _crossing(
    rows: Mean | Slope, f: Callable[[Law], float], start: float, known: dict[float, Law], near: float = 0.0
) -> Search[float]:
    """Where f of the law at t crosses 0, as `beyond` has it; laws asked for become `known`."""
    if start not in known:
        known[start] = yield rows, start
    steps = _beyond(start, known[start].rate, near)
    try:
        t = next(steps)
        while True:
            if t not in known:
                known[t] = yield rows, t
            t = steps.send(f(known[t]))
    except StopIteration as done:
        return float(done.value)


def _inverted(
    rows: Mean | Slope, n: int, step: float, value: float, variance: float, level: float
) -> Search[tuple[float, float]]:
    """The means of the truths at the edge of those that do not make `value` a surprise."""
    known: dict[float, Law] = {}
    # All labels alike are reached at infinity only.
    best = yield from _crossing(rows, lambda law: law.mean - value, 0.0, known, 1e-12 * step)
    if best not in known:
        known[best] = yield rows, best
    fitted = known[best]
    # How much larger the sample's variance is than the law's; few events are no reason to doubt the law.
    unit = n / step**2
    ratio = (variance * unit + TRUST) / (fitted.variance * unit + TRUST)

    def quantile(at: Law, p: float) -> float:
        spread = sqrt(max(at.variance * ratio, 0.0) / n)
        if spread <= 1e-12 * step:
            return at.mean
        skew = at.third / (sqrt(at.variance) ** 3 * sqrt(n)) if at.variance > 0.0 else 0.0
        return at.mean + pearson3_quantile(p, skew) * spread

    tail = 0.5 - level / 2.0
    shift = MIDDLE * step / n
    limits = []
    # Where even p = 0 or 1 throughout is no surprise, the rest is chance in q.
    for p, seen, side in ((1.0 - tail, value - shift, -1.0), (tail, value + shift, 1.0)):
        t = yield from _crossing(rows, lambda law, p=p, seen=seen: quantile(law, p) - seen, best, known)  # type: ignore[misc]
        if t not in known:
            known[t] = yield rows, t
        limits.append(known[t].mean + side * max(side * (value - quantile(known[t], p)), 0.0))
    low, high = limits
    # Rows with other q may be unseen: half of the largest step that one label makes is always allowed for.
    unseen = UNSEEN * step / n
    return value + min(low - fitted.mean, -unseen), value + max(high - fitted.mean, unseen)


def pearson3_quantile(p: float, skew: float) -> float:
    """Quantile of a standardised Pearson III (shifted gamma) variable of either sign of skew."""
    if abs(skew) < 1e-3:
        return float(special.ndtri(p))
    shape = 4.0 / skew**2
    upper = special.gammaincinv(shape, p) if skew > 0.0 else special.gammainccinv(shape, p)
    return float(0.5 * skew * (upper - shape))


Steps = Generator[float, float, float]  # asks for f at one place after another


def _done(f: Callable[[float], float], steps: Steps) -> float:
    try:
        x = next(steps)
        while True:
            x = steps.send(f(x))
    except StopIteration as done:
        return float(done.value)


def between(f: Callable[[float], float], low: float, below: float, high: float, above: float) -> float:
    """Where an increasing f crosses 0 between `low` and `high`, where it is `below` ≤ 0 and `above` ≥ 0: a secant between both ends.

    The end that stays put is taken for nearer than it is (Anderson & Björck 1973), so that both ends move in; where four
    steps have not halved what is between them, the middle is next.
    """
    return _done(f, _between(low, below, high, above))


def _between(low: float, below: float, high: float, above: float) -> Steps:
    last, wide, side = low, high - low, 0
    room = 1e-16 * wide
    for step in range(200):
        middle = (low * above - high * below) / (above - below) if above > below else low
        slow = step % 4 == 3 and high - low > 0.5 * wide
        wide = high - low if step % 4 == 3 else wide
        if slow or not low < middle < high:
            middle = 0.5 * (low + high)
        if abs(middle - last) <= SETTLED * abs(middle) + room:
            break
        last = middle
        at = yield middle
        if at == 0.0:
            break
        if at < 0.0:
            above *= _nearer(at, below) if side < 0 else 1.0
            low, below, side = middle, at, -1
        else:
            below *= _nearer(at, above) if side > 0 else 1.0
            high, above, side = middle, at, 1
    return middle


def _nearer(at: float, before: float) -> float:
    share = 1.0 - at / before
    return share if share > 0.0 else 0.5


def beyond(f: Callable[[float], float], start: float, rate: float, near: float = 0.0) -> float:
    """The crossing, or where f comes as `near` as that, on whichever side of `start`; `rate` is about how fast f rises there."""
    return _done(f, _beyond(start, rate, near))


def _beyond(start: float, rate: float, near: float) -> Steps:
    low = high = start
    below = above = yield start
    step = min(max(1.1 * abs(below) / rate, 1e-6), 2.0) if rate > 0.0 else 1.0
    while below > near or above < -near:
        if step > FURTHEST:
            return high if above < 0.0 else low
        if below > near:
            high, above, low = low, below, low - step
            below = yield low
        else:
            low, below, high = high, above, high + step
            above = yield high
        step *= 2.0
    if below > 0.0:
        return low
    return high if above < 0.0 else (yield from _between(low, below, high, above))
