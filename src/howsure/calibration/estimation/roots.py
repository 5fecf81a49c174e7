"""Where an increasing function crosses 0, by few evaluations: a secant between two ends that always hold the crossing.

The end that stays put is taken for nearer than it is (Anderson & Björck 1973), so that both ends move in;
where four steps have not halved what is between them, the middle is next.
"""

from collections.abc import Callable

FURTHEST = 1e6
SETTLED = 1e-12  # a step as small as this, relative to the place: the error left is of the order of its power 1.7


def between(f: Callable[[float], float], low: float, below: float, high: float, above: float) -> float:
    """The crossing between `low` and `high`, where f is `below` ≤ 0 and `above` ≥ 0."""
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
