"""The loosest threshold on confidence at which P(wrong | answered) ≤ r is shown.

Thresholds t_1 > t_2 > … are taken from the confidences alone, never from the labels: about every 1/`STEPS` of the items, items of
equal confidence together. H_j: the risk above t_j exceeds r. Its p-value is exact binomial, P(Bin(N_j, r) ≤ E_j), for
independent items; by Hoeffding (1956) it holds too when the items' own risks differ. In groups, the excess E_g - r N_g of each
group is bet on: the capital ∏(1 - λ_g Z_g), Z_g = (E_g - r N_g)/M, has mean at most 1 under H_j (M is the most that a group has above
t_j; λ_g uses the groups before g only), so that its reciprocal is a p-value (Waudby-Smith & Ramdas 2024).

The hypotheses are tested in order, strictest first, by the fallback procedure (Wiens 2003): H_j at level δ w_j, plus the level of
H_{j-1} if that was rejected; w is spread evenly over `STARTS` places, or all at one if there is no room for several. All that are
rejected are right at once with probability 1 - δ, whatever the dependence: the loosest of them is the answer. This is Learn-then-Test
(Angelopoulos et al. 2022) with several starts, so that a few early mistakes among the surest items do not end it.
"""

from dataclasses import dataclass
from math import ceil, log, log1p

import numpy as np

from howsure.kernels.cells import Floats, Ints
from howsure.kernels.special import betainc

STEPS = 200
STARTS = 3
BOLDEST = 0.99  # of the largest bet that cannot ruin
ROOM, ROOM_OF_GROUPS = 1.5, 1.2  # times as many answers as the fewest that can show the risk: where tests begin
LOOSEST_START = 0.2  # of the items


@dataclass(frozen=True, slots=True)
class Rule:
    """Answer when the confidence is at least `threshold`; None: no threshold is shown to keep the risk."""

    threshold: float | None
    answered: int = 0
    wrong: int = 0
    level: float = 0.0  # at which the loosest hypothesis was rejected


def fewest(risk: float, delta: float, largest: int = 1) -> int:
    """Labelled answers, in groups of up to `largest`, that would show the risk if none of them were wrong."""
    if largest == 1:
        return ceil(log(delta) / log(1.0 - risk))
    return ceil(largest * log(1.0 / delta) / log1p(risk * BOLDEST / (1.0 - risk)))


def places(confidence: Floats) -> tuple[Floats, Ints]:
    """Thresholds from the strictest to the loosest, and the items at or above each."""
    value, size = np.unique(confidence, return_counts=True)
    answered = np.cumsum(size[::-1])
    wanted = np.ceil(np.arange(1, STEPS + 1) * len(confidence) / STEPS)
    at = np.unique(np.searchsorted(answered, wanted))
    return value[::-1][at], answered[at]


def weights(answered: Ints, first: float) -> Floats:
    """Where tests begin: at the first thresholds with `first`, …, a fifth of the items, in equal ratios.

    All begin at the first if a fifth is less than twice as much.
    """
    n = int(answered[-1])
    first, last = min(int(first), n), LOOSEST_START * n
    wanted = np.geomspace(first, last, STARTS) if last > 2 * first else np.full(STARTS, first)
    at = np.searchsorted(answered, np.ceil(wanted - 1e-9))
    return np.bincount(np.minimum(at, len(answered) - 1), minlength=len(answered)) / STARTS


def rejected(p_value: Floats, weight: Floats, delta: float) -> tuple[int, float]:
    """The last hypothesis that the fallback procedure rejects, and at which level; (-1, 0) if it rejects none."""
    level, last, at = 0.0, -1, 0.0
    for j, (p, w) in enumerate(zip(p_value.tolist(), weight.tolist(), strict=True)):
        level += w * delta
        if level > 0.0 and p <= level:
            last, at = j, level
        else:
            level = 0.0
    return last, at


def binomial_p_values(answered: Ints, wrong: Ints, risk: float) -> Floats:
    """P(Bin(N, r) ≤ E)."""
    right = np.maximum(answered - wrong, 1)
    return np.where(wrong >= answered, 1.0, betainc(right, wrong + 1.0, 1.0 - risk))


def betting_p_values(
    confidence: Floats,
    right: Ints,
    groups: Ints,
    thresholds: Floats,
    risk: float,
    delta: float,
    rng: np.random.Generator,
) -> Floats:
    """Of each threshold, from the totals of groups in random order."""
    n_groups = int(groups.max()) + 1
    order = rng.permutation(n_groups)
    excess = np.where(right, 0.0, 1.0) - risk
    made = np.ones(len(thresholds))
    count = np.arange(1, n_groups + 1)
    for j, t in enumerate(thresholds.tolist()):
        given = confidence >= t
        largest = int(np.bincount(groups[given]).max())
        z = np.bincount(groups[given], excess[given], minlength=n_groups)[order] / largest
        # λ of group g from the variance of those before it, towards a capital of 1/δ after all groups.
        variance = (0.25 * risk + np.cumsum((z - np.cumsum(z) / count) ** 2)) / (count + 1)
        before = np.concatenate([[0.25 * risk], variance[:-1]])
        bet = np.minimum(np.sqrt(2.0 * log(1.0 / delta) / (n_groups * before)), BOLDEST / (1.0 - risk))
        made[j] = min(1.0, float(np.exp(-np.max(np.cumsum(np.log1p(-bet * z))))))
    return made


def abstention_rule(
    confidence: Floats,
    right: Ints,
    *,
    risk: float,
    delta: float,
    groups: Ints | None = None,
    rng: np.random.Generator | None = None,
) -> Rule:
    """The loosest threshold that is shown to keep the risk.

    Examples
    --------
    >>> import numpy as np
    >>> q = np.linspace(0.5, 1.0, 1000)
    >>> right = (np.arange(1000) % 10 > 0) | (q > 0.75)  # one of ten is wrong in the lower half
    >>> abstention_rule(q, right.astype(int), risk=0.05, delta=0.05).answered
    795
    """
    thresholds, answered = places(confidence)
    order = np.argsort(-confidence, kind="stable")
    wrong = np.cumsum(1 - right[order])[answered - 1]
    if groups is None:
        p = binomial_p_values(answered, wrong, risk)
        first = ROOM * fewest(risk, delta)
    else:
        p = betting_p_values(confidence, right, groups, thresholds, risk, delta, rng or np.random.default_rng(0))
        first = ROOM_OF_GROUPS * fewest(risk, delta, int(np.bincount(groups).max()))
    last, level = rejected(p, weights(answered, first), delta)
    if last < 0:
        return Rule(None)
    return Rule(float(thresholds[last]), int(answered[last]), int(wrong[last]), level)
