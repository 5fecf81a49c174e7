"""Intervals of means over few or skewed rows: the gap, the Brier score, and the slope of y on q.

Each is linear in the labels given q: a row contributes f0 if y = 0 and f0 + c if y = 1. The interval asks which truths would
make the observed value a surprise. The truths are q itself, tilted by one number t until the mean is x:

    logit p = logit q + t c/max|c|,        x(t) = mean of f0 + p c

so that variance and skew of the mean at x are known even when no event was seen. Derivation and coverage:
docs/evidence/theory.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np

from howsure.calibration.estimation.estimate import estimation_bins
from howsure.calibration.sketch import Sketch
from howsure.kernels import special
from howsure.kernels.cells import Floats

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


@dataclass(frozen=True, slots=True)
class Law:
    """Mean, variance and third central moment of a row's contribution, under one truth."""

    mean: float
    variance: float
    third: float


def gap_interval(design: Design, value: float, variance: float, level: float) -> tuple[float, float]:
    """Of mean q less mean y, given the variance of q - y over the rows."""
    low, high = _mean_interval(design, -design.q, np.ones(len(design.q)), -value, variance, level)
    return -high, -low


def brier_interval(design: Design, value: float, variance: float, level: float) -> tuple[float, float]:
    """Of the mean of (y - q)² = q² + y(1 - 2q), given its variance over the rows."""
    return _mean_interval(design, design.qq, 1.0 - 2.0 * design.q, value, variance, level)


def _mean_interval(
    design: Design, f0: Floats, c: Floats, value: float, variance: float, level: float
) -> tuple[float, float]:
    step = float(np.abs(c).max())
    if step == 0.0:  # all q are 1/2: the score does not depend on the labels
        return value, value
    along, zero = c / step, f0 - value
    one = zero + c
    # Moments about `value`, linear in p: of rows with y = 0 throughout, and what y = 1 adds.
    powers = design.weight * np.stack([zero, zero**2, zero**3])
    base, more = powers.sum(axis=1), design.weight * np.stack([one, one**2, one**3]) - powers

    def law(t: float) -> Law:
        mean, second, third = (base + more @ _expit(design.logit + t * along)).tolist()
        return Law(value + mean, max(second - mean**2, 0.0), third - 3.0 * mean * second + 2.0 * mean**3)

    def rate(t: float) -> float:
        return float(more[0] * along @ _variance(design.logit + t * along))

    return _inverted(law, rate, design.n, step, value, variance, level)


def slope_interval(design: Design, value: float, variance: float, level: float) -> tuple[float, float]:
    """Of the slope of y on q, given N times the variance of the estimate. The tilt is along q - mean q.

    A row contributes x r/mean x², x = q - mean q and r its distance from the line. q is shifted first until it has as many
    events as were seen.
    """
    w = design.weight
    x = design.q - float(w @ design.q)
    spread = float(w @ x**2)
    furthest = float(np.abs(x).max())
    if spread <= 0.0:
        return value, value
    scaled, along = x / spread, x / furthest

    w2, w3 = w * scaled**2, w * scaled**3

    def law(t: float) -> Law:
        p = _expit(design.logit + t * along)
        wp = w * p
        slope = float(wp @ scaled)
        off = p - (float(wp.sum()) + slope * x)  # from the line
        v, square = p - p * p, off * off
        return Law(slope, float(w2 @ (v + square)), float(w3 @ (v * (1.0 - 2.0 * p + 3.0 * off) + square * off)))

    def rate(t: float) -> float:
        return float(w * scaled * along @ _variance(design.logit + t * along))

    return _inverted(law, rate, design.n, furthest / spread, value, variance, level)


def shifted(design: Design, base: float) -> Design:
    """The same rows with all odds multiplied until their mean probability is `base`, strictly between 0 and 1."""
    rate = float(design.weight @ _variance(design.logit))
    move = beyond(lambda t: float(design.weight @ _expit(design.logit + t)) - base, 0.0, rate)
    return Design(design.n, design.weight, design.q, design.qq, design.logit + move)


def _inverted(
    made: Callable[[float], Law],
    rate: Callable[[float], float],
    n: int,
    step: float,
    value: float,
    variance: float,
    level: float,
) -> tuple[float, float]:
    """The means of the truths at the edge of those that do not make `value` a surprise; `rate` is how fast the mean rises."""
    law = cache(made)
    # All labels alike are reached at infinity only.
    best = beyond(lambda t: law(t).mean - value, 0.0, rate(0.0), near=1e-12 * step)
    fitted, rising = law(best), rate(best)
    # How much larger the sample's variance is than the law's; few events are no reason to doubt the law.
    unit = n / step**2
    ratio = (variance * unit + TRUST) / (fitted.variance * unit + TRUST)

    def quantile(t: float, p: float) -> float:
        at = law(t)
        spread = sqrt(max(at.variance * ratio, 0.0) / n)
        if spread <= 1e-12 * step:
            return at.mean
        skew = at.third / (sqrt(at.variance) ** 3 * sqrt(n)) if at.variance > 0.0 else 0.0
        return at.mean + pearson3_quantile(p, skew) * spread

    tail = 0.5 - level / 2.0
    shift = MIDDLE * step / n
    lowest = beyond(lambda t: quantile(t, 1.0 - tail) - (value - shift), best, rising)
    highest = beyond(lambda t: quantile(t, tail) - (value + shift), best, rising)
    # Where even p = 0 or 1 throughout is no surprise, the rest is chance in q.
    low = law(lowest).mean - max(quantile(lowest, 1.0 - tail) - value, 0.0)
    high = law(highest).mean + max(value - quantile(highest, tail), 0.0)
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


def between(f: Callable[[float], float], low: float, below: float, high: float, above: float) -> float:
    """Where an increasing f crosses 0 between `low` and `high`, where it is `below` ≤ 0 and `above` ≥ 0: a secant between both ends.

    The end that stays put is taken for nearer than it is (Anderson & Björck 1973), so that both ends move in; where four
    steps have not halved what is between them, the middle is next.
    """
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
        at, last = f(middle), middle
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
    low = high = start
    below = above = f(start)
    step = min(max(1.1 * abs(below) / rate, 1e-6), 2.0) if rate > 0.0 else 1.0
    while below > near or above < -near:
        if step > FURTHEST:
            return high if above < 0.0 else low
        if below > near:
            high, above, low = low, below, low - step
            below = f(low)
        else:
            low, below, high = high, above, high + step
            above = f(high)
        step *= 2.0
    if below > 0.0:
        return low
    return high if above < 0.0 else between(f, low, below, high, above)


def _expit(x: Floats) -> Floats:
    made: Floats = special.expit(x)
    return made


def _variance(log_odds: Floats) -> Floats:
    p = _expit(log_odds)
    return p - p * p
