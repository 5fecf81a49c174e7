"""The share of positives in a population, from labels drawn within strata: the tilted score interval.

With W_h = N_h/N, θ̂ = Σ W_h k_h/n_h. Shares that could have made these labels are looked for along one line, on which all
strata move together: logit p_h(c) = logit p̃_h + c, p̃_h = (k_h + ½)/(n_h + 1), θ(c) = Σ W_h p_h(c). Then θ̂ has variance
V(c) = Σ W_h² (1 - n_h/N_h) p_h(c)(1 - p_h(c))/n_h and skewness g(c), and the interval holds the θ(c) for which θ̂ is between
the law's quantiles. With one stratum and no skewness this is Wilson's interval.

Wilson's limit on the side of the rare class is too tight when few are found, because the law is skew. So both quantiles, the
normal and the Pearson type III one with that skewness, are tried and the wider limit is taken on each side. A single positive label
(or negative one) is too discrete for either: the mid-P limit of the number of positive labels, which is exact, is tried too.
"""

from dataclasses import dataclass

import numpy as np

from howsure.calibration.estimation.estimate import MOST_SKEW
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its interval; of how many items, from how many labels."""

    value: float
    low: float
    high: float
    n_items: int
    n_labels: int
    n_positive: int
    confidence_level: float

    def __repr__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}] of {self.n_items:,} from {self.n_labels:,} labels"


def wilson(k: float, n: float, n_items: int, confidence_level: float = 0.95) -> tuple[float, float]:
    """Wilson's limits of a share, from n labels of a finite population."""
    z2 = float(special.ndtri((1 + confidence_level) / 2)) ** 2 * max(1 - n / max(n_items, 1), 0.0)
    middle, half = (k + z2 / 2) / (n + z2), float(np.sqrt(z2 * (k * (n - k) / n + z2 / 4))) / (n + z2)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def share_of_positives(
    items: Ints,
    labelled: Ints | Floats,
    positive: Ints | Floats,
    confidence_level: float = 0.95,
    z: float | None = None,
) -> Share:
    """The share of positives and its interval; `z` is the quantile that limits use, by default the normal one.

    Of each stratum there are so many `items`, `labelled` ones (at least one where there are items) and `positive` ones among
    these; where labels are worth less than their number, what they are worth. Labelled items are known: a fully labelled stratum
    adds no uncertainty, and limits never contradict the labels. Items are the unit: of whole documents drawn this does not hold.

    >>> import numpy as np
    >>> share_of_positives(np.array([9000, 1000]), np.array([100, 100]), np.array([0, 40]))
    0.0400 [0.0262, 0.0579] of 10,000 from 200 labels
    """
    used = items > 0
    big, n, k = (np.asarray(x, np.float64)[used] for x in (items, labelled, positive))
    if z is None:
        z = float(special.ndtri((1 + confidence_level) / 2))
    value, low, high = (float(x[0]) for x in tilted_limits(big, n[None], k[None], z))
    return Share(value, low, high, int(big.sum()), int(n.sum()), int(k.sum()), confidence_level)


def tilted_limits(items: Floats, labelled: Floats, positive: Floats, z: float) -> tuple[Floats, Floats, Floats]:
    """Estimates, lower and upper limits of many samples at once: `labelled` and `positive` have shape (samples, H)."""
    total = items.sum()
    w = items / total
    estimate = (w * positive / labelled).sum(1)
    # Four limits of each sample at once: lower and upper (the estimate is the law's quantile at +z, -z), plain and skewed.
    n, k = np.tile(labelled, (4, 1)), np.tile(positive, (4, 1))
    known = n >= items
    tilde = np.log((k + 0.5) / (n - k + 0.5))
    left = np.where(known, 0.0, 1 - n / items)
    wanted, side = np.tile(estimate, 4), np.repeat([z, z, -z, -z], len(labelled))
    skewed = np.repeat([False, True, False, True], len(labelled))

    def moments(c: Floats) -> tuple[Floats, Floats, Floats]:
        p = np.where(known, k / n, special.expit(tilde + c[:, None]))
        spread = left * p * (1 - p) / n
        third = w**3 * spread * (1 - 2 * n / items) * (1 - 2 * p) / n
        return (w * p).sum(1), (w**2 * spread).sum(1), third.sum(1)

    a, b = np.full(len(n), -40.0), np.full(len(n), 40.0)
    for _ in range(55):
        c = (a + b) / 2
        share, variance, third = moments(c)
        some = skewed & (variance > 1e-150)  # else the law is a point
        skew = np.clip(third / np.where(some, variance, 1.0) ** 1.5, -MOST_SKEW, MOST_SKEW)
        quantile = np.where(some, pearson_quantiles(skew, side), side)
        up = wanted - share > quantile * np.sqrt(variance)
        a, b = np.where(up, c, a), np.where(up, b, c)
    limits, others = moments((a + b) / 2)[0].reshape(4, -1), labelled - positive
    low = np.min([*limits[:2], estimate, _single(items, labelled, positive, z)], axis=0)
    high = np.max([*limits[2:], estimate, 1 - _single(items, labelled, others, z)], axis=0)
    return estimate, np.maximum(low, positive.sum(1) / total), np.minimum(high, 1 - others.sum(1) / total)


def _single(items: Floats, labelled: Floats, positive: Floats, z: float) -> Floats:
    """Lower limits from the number of positive labels alone where it is about one, else 1: θ(c) with half of that number's own chance in the tail.

    The number is taken as binomial, of all strata that are not labelled whole; it is less dispersed if their shares differ.
    """
    made, known = np.ones(len(labelled)), labelled >= items
    k_open = np.where(known, 0.0, positive).sum(1)
    few = np.flatnonzero((k_open > 0) & (k_open < 2 - 1e-9))
    if not len(few):
        return made
    n, k, known = labelled[few], positive[few], known[few]
    labels, found = np.where(known, 0.0, n).sum(1), k_open[few]
    tilde, tail = np.log((k + 0.5) / (n - k + 0.5)), float(special.ndtr(-z))
    a, b = np.full(len(few), -40.0), np.full(len(few), 40.0)
    for _ in range(55):
        p = np.where(known, k / n, special.expit(tilde + ((a + b) / 2)[:, None]))
        x = np.where(known, 0.0, n * p).sum(1) / labels
        at_least = special.betainc(found, np.maximum(labels - found, 0) + 1, x)
        more = special.betainc(found + 1, np.maximum(labels - found, 1e-9), x)
        down = (at_least + more) / 2 > tail
        a, b = np.where(down, a, (a + b) / 2), np.where(down, (a + b) / 2, b)
    made[few] = (items / items.sum() * p).sum(1)
    return made


def pearson_quantiles(skew: Floats, z: Floats | float) -> Floats:
    """Quantiles of standardised Pearson III laws of the given skews, after Wilson and Hilferty."""
    flat = np.abs(skew) < 1e-6
    safe = np.where(flat, 1.0, skew)
    base = np.maximum(1.0 + safe * z / 6.0 - safe * safe / 36.0, 0.0)
    return np.where(flat, z, 2.0 / safe * (base**3 - 1.0))
