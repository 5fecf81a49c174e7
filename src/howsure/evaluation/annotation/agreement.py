"""Agreement beyond chance: every coefficient is 1 - D_o/D_e, and has its interval on the scale of log D_o/D_e.

D_o is the disagreement observed, D_e the one expected by chance. Items (or groups of items) are what is independent;
each contributes its influence on D_o and on D_e, and the sum of squares of those is the variance (docs/evidence/theory.md).
Few items may by luck show no disagreement, or a rare label only where annotators agree: limits are computed with an item and a
half added, one on which all agree and half of one on which all disagree, as Agresti and Coull do for a share.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np

from howsure._result import Record
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.groups.estimates import student_quantile
from howsure.evaluation.annotation.ratings import Ratings
from howsure.evaluation.scores.metrics import wilson
from howsure.kernels.cells import Floats, Ints

NONE_OBSERVED = 1e-12  # less disagreement than this is none
AGREEING, DISAGREEING = 1.0, 0.5  # items, or groups of items, added for the limits; spread evenly over the labels


@dataclass(frozen=True, slots=True)
class Coefficient(Record):
    """A coefficient of agreement: 1 is perfect, 0 is chance. Where it is undefined, `reason` says why."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    observed: float | None = None  # agreement
    expected: float | None = None  # agreement by chance
    n: int = 0  # items it rests on
    reason: str | None = None

    def __repr__(self) -> str:
        if self.value is None:
            return f"{self.name}: – ({self.reason})"
        return f"{self.name} {Estimate(self.value, self.low, self.high)!r}"


def limits_of_ratio(
    observed: float, expected: float, influence: Floats, groups: Ints | None, added: Floats, confidence_level: float
) -> tuple[float | None, float | None]:
    """Limits of 1 - D_o/D_e. `influence` is each item's on log D_o/D_e; `added` those of the items added, times √weight.

    None is below -1: disagreements are squared distances, so that D_o is at most twice D_e.
    """
    sums = _per_group(influence, groups)
    g = len(sums)
    if g < 2:
        return None, None
    z = student_quantile(0.5 + confidence_level / 2, g - 1)
    half = min(z * sqrt(g / (g - 1) * float(sums @ sums + added @ added)), 50.0)
    ratio = observed / expected
    return max(1.0 - ratio * exp(half), -1.0), 1.0 - ratio * exp(-half)


def limits_of_perfect(
    n: int, groups: Ints | None, expected: float, confidence_level: float, worst: float = 1.0
) -> tuple[float | None, float | None]:
    """Limits where no disagreement was seen: the share of items with any is at most 1 - (α/2)^(1/G), theirs at most `worst`."""
    g = n if groups is None else len(np.unique(groups))
    if g < 2:
        return None, None
    share = 1.0 - (0.5 - confidence_level / 2) ** (1.0 / g)
    return max(1.0 - share * worst / expected, -1.0), 1.0


def items_per_group(n: int, groups: Ints | None) -> float:
    """How many items are one independent unit, on average."""
    return 1.0 if groups is None or not n else n / len(np.unique(groups))


def reaching(value: float, limits: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    """The limits, moved out to the value where it lies beyond them: they were computed with items added."""
    low, high = limits
    return None if low is None else min(low, value), None if high is None else max(high, value)


def mean_share(values: Floats, groups: Ints | None, confidence_level: float) -> Estimate:
    """The mean of shares in [0, 1] over items, with Wilson's interval at the effective number of items.

    n* = p(1-p)/variance of the mean: the number of independent yes-or-no items that would leave as much doubt.
    """
    p = float(values.mean())
    sums = _per_group((values - p) / len(values), groups)
    g = len(sums)
    if g < 2:
        return Estimate(p)
    return wilson(p, g / (g - 1) * float(sums @ sums), float(g), student_quantile(0.5 + confidence_level / 2, g - 1))


def _per_group(influence: Floats, groups: Ints | None) -> Floats:
    """Sums over each group that is there."""
    codes = np.arange(len(influence)) if groups is None else np.unique(groups, return_inverse=True)[1]
    return np.bincount(codes, influence).astype(np.float64)


# Agreement of any number of annotators: observed, by chance, Fleiss' κ and Krippendorff's α, with intervals.
#
# No matrix of label by label is made: for each metric δ the sums that are needed are sums over (item, label) counts.
# Ordinal α is interval α on mid-ranks: Σ_{g=c..k} n_g - (n_c + n_k)/2 = r_k - r_c.

METRICS = ("nominal", "ordinal", "interval")
ONE_LABEL = "only one label is used: all agreement is by chance"


class Pairable:
    """The ratings of items that have two or more: only they can agree or not."""

    def __init__(self, ratings: Ratings) -> None:
        item, label, count = ratings.cells
        kept = ratings.per_item[item] > 1
        self.items, codes = np.unique(item[kept], return_inverse=True)
        self.item: Ints = codes.astype(np.int64)
        self.label: Ints = label[kept]
        self.count: Floats = count[kept].astype(np.float64)
        self.size: Floats = ratings.per_item[self.items].astype(np.float64)
        self.n_labels = len(ratings.labels)
        self.groups = None if ratings.groups is None else ratings.groups[self.items]
        self.values = ratings.values
        self.weight: Floats = np.ones(len(self.items))

    @property
    def n(self) -> int:
        """How many items."""
        return len(self.size)

    def with_added_items(self) -> Pairable:
        """An item's weight of agreement on each label in turn, and half an item's of labels spread evenly.

        With groups they are groups of items, as large as the groups are on average.
        """
        made: Pairable = object.__new__(Pairable)
        k, size = self.n_labels, float(self.size.mean())
        every = np.arange(k)
        made.items, made.n_labels, made.groups, made.values = self.items, k, self.groups, self.values
        made.item = np.concatenate([self.item, self.n + every, np.full(k, self.n + k)])
        made.label = np.concatenate([self.label, every, every])
        made.count = np.concatenate([self.count, np.full(k, size), np.full(k, size / k)])
        made.size = np.concatenate([self.size, np.full(k + 1, size)])
        unit = items_per_group(self.n, self.groups)
        made.weight = np.concatenate([self.weight, np.full(k, unit * AGREEING / k), [unit * DISAGREEING]])
        return made

    def limits(
        self, observed: float, expected: float, influence: Floats, level: float
    ) -> tuple[float | None, float | None]:
        """Limits of 1 - D_o/D_e from the influence of each item, added ones last."""
        n = len(self.items)
        scaled = np.sqrt(self.weight) * influence / float(self.weight.sum())
        added = np.sqrt(items_per_group(n, self.groups)) * scaled[n:]
        return limits_of_ratio(observed, expected, scaled[:n], self.groups, added, level)

    def over_labels(self, weight: Floats) -> Floats:
        """Σ_c n_ic weight_c of each item."""
        return np.bincount(self.item, self.count * weight[self.label], self.n).astype(np.float64)

    def disagreement(self) -> Floats:
        """The share of each item's pairs of ratings that differ."""
        same = np.bincount(self.item, self.count * (self.count - 1.0), self.n)
        return np.minimum(1.0 - same / (self.size * (self.size - 1.0)), 1.0)


def observed_agreement(p: Pairable, confidence_level: float) -> Estimate | None:
    """The share of pairs of ratings that agree, mean over items."""
    return mean_share(1.0 - p.disagreement(), p.groups, confidence_level) if p.n else None


def fleiss_kappa(p: Pairable, confidence_level: float) -> Coefficient:
    """Fleiss' κ; items may have different numbers of ratings.

    P_o is the mean over items of the share of pairs that agree, and a label's share p_c the mean over items of its
    share of the item's ratings: every item weighs the same, however often it was rated. With as many ratings of each
    item, this is Fleiss (1971).
    """
    name = "Fleiss' κ"
    if not p.n:
        return Coefficient(name, None, reason="no item has two ratings")
    observed, expected, _, prior = _fleiss(p)
    if prior.max() > 1.0 - 1e-12:
        return Coefficient(name, None, None, None, 1.0, 1.0, p.n, ONE_LABEL)
    value = 1.0 - observed / expected
    if observed < NONE_OBSERVED:
        low, high = limits_of_perfect(p.n, p.groups, expected, confidence_level)
    else:
        more = p.with_added_items()
        low, high = reaching(value, more.limits(*_fleiss(more)[:3], confidence_level))
    return Coefficient(name, value, low, high, 1.0 - observed, 1.0 - expected, p.n)


def _fleiss(p: Pairable) -> tuple[float, float, Floats, Floats]:
    """D_o, D_e, each item's influence on log D_o/D_e, and the labels' shares."""
    share = p.count / p.size[p.item]
    total = float(p.weight.sum())
    prior = np.bincount(p.label, share * p.weight[p.item], p.n_labels) / total
    each = p.disagreement()
    observed, expected = float(p.weight @ each) / total, 1.0 - float(prior @ prior)
    own = 1.0 - np.bincount(p.item, share * prior[p.label], p.n)  # chance disagreement of the item's labels with all
    influence = (each - observed) / max(observed, 1e-300) - 2.0 * (own - expected) / max(expected, 1e-300)
    return observed, expected, influence, prior


def gwet_ac1(ratings: Ratings, p: Pairable) -> Coefficient:
    """Gwet's AC1: chance is Σ p_c (1 - p_c)/(K - 1), which is small where one label is common. No interval is derived for it.

    The labels' shares p_c are over all items, also those with one rating, as in Gwet (2008).
    """
    name = "Gwet's AC1"
    if not p.n:
        return Coefficient(name, None, reason="no item has two ratings")
    k = len(ratings.labels)
    if k < 2:
        return Coefficient(name, None, None, None, 1.0, 1.0, p.n, ONE_LABEL)
    item, label, count = ratings.cells
    rated = int(np.count_nonzero(ratings.per_item))
    shares = np.bincount(label, count / ratings.per_item[item], k) / rated
    observed, expected = 1.0 - float(p.disagreement().mean()), float(shares @ (1.0 - shares)) / (k - 1)
    return Coefficient(name, (observed - expected) / (1.0 - expected), None, None, observed, expected, p.n)


def krippendorff_alpha(p: Pairable, metric: str, confidence_level: float) -> Coefficient:
    """Krippendorff's α for nominal, ordinal or interval labels; missing ratings are no trouble."""
    name = f"Krippendorff's α ({metric})"
    if not p.n:
        return Coefficient(name, None, reason="no item has two ratings")
    if metric != "nominal" and p.values is None:
        return Coefficient(name, None, n=p.n, reason="the labels have no order: name it with `order='low,…,high'`")
    if len(np.unique(p.label)) < 2:
        agreed = 1.0 if metric == "nominal" else None
        return Coefficient(name, None, None, None, agreed, agreed, p.n, ONE_LABEL)
    observed, expected, _ = _alpha(p, metric)
    value = 1.0 - observed / expected
    if observed < NONE_OBSERVED:
        widest = 1.0  # the largest disagreement of two labels
        if metric != "nominal":
            total = np.bincount(p.label, p.count, p.n_labels)
            widest = float(np.ptp(_scores(p, total / float(total.sum()), metric)[total > 0]) ** 2)
        low, high = limits_of_perfect(p.n, p.groups, expected, confidence_level, widest)
    else:
        more = p.with_added_items()
        low, high = reaching(value, more.limits(*_alpha(more, metric), confidence_level))
    agreed, by_chance = (1.0 - observed, 1.0 - expected) if metric == "nominal" else (None, None)
    return Coefficient(name, value, low, high, agreed, by_chance, p.n)


def _alpha(p: Pairable, metric: str) -> tuple[float, float, Floats]:
    """D_o, D_e and each item's influence on log D_o/D_e."""
    total = np.bincount(p.label, p.count * p.weight[p.item], p.n_labels)
    n = float(total.sum())
    prior = total / n
    if metric == "nominal":
        each = np.minimum((p.size**2 - np.bincount(p.item, p.count**2, p.n)) / (p.size - 1.0), p.size)
        expected, chance, moved = 1.0 - float(prior @ prior), -2.0 * prior, np.zeros_like(prior)
    else:
        each, expected, chance, moved = _squared(p, prior, metric)
    # each: Σ_ck n_ic n_ik δ_ck/(n_i-1); chance: influence of a label on D_e; moved: on D_o, through the ranks
    observed = float(p.weight @ each) / n
    mean = n / float(p.weight.sum())
    on_observed = (each - observed * p.size + p.over_labels(moved) - float(moved @ prior) * p.size) / mean
    on_expected = (p.over_labels(chance) - float(chance @ prior) * p.size) / mean
    influence = on_observed / max(observed, 1e-300) - on_expected / expected
    return observed, n / (n - 1.0) * expected, influence


def _scores(p: Pairable, prior: Floats, metric: str) -> Floats:
    """Values of the labels: their own, or mid-ranks as shares."""
    assert p.values is not None
    used = p.values if metric == "interval" else np.cumsum(prior) - prior / 2.0
    return used - float(prior @ used)


def _squared(p: Pairable, prior: Floats, metric: str) -> tuple[Floats, float, Floats, Floats]:
    """δ = (v_c - v_k)²: from the sums of v and v² of each item."""
    v = _scores(p, prior, metric)
    first, second = p.over_labels(v), p.over_labels(v * v)
    each = 2.0 * (p.size * second - first**2) / (p.size - 1.0)
    m2 = float(prior @ (v * v))  # the mean of v is 0
    chance = 2.0 * (v * v + m2)
    moved = np.zeros_like(prior)
    if metric == "ordinal":
        # Ranks move with the labels' shares: ∂r_c/∂p_g is 1 for g < c and ½ for g = c.
        pull = 4.0 * (p.size / (p.size - 1.0))[p.item] * p.count * v[p.label]
        pull -= 4.0 * (first / (p.size - 1.0))[p.item] * p.count
        moved = _through_ranks(np.bincount(p.label, pull * p.weight[p.item], p.n_labels) / float(p.weight @ p.size))
        chance = chance + _through_ranks(4.0 * prior * v)
    return each, 2.0 * m2, chance, moved


def _through_ranks(gradient: Floats) -> Floats:
    return float(gradient.sum()) - np.cumsum(gradient) + gradient / 2.0
