"""Whom to trust: each annotator against what the others say, with the evidence for rejecting one; and how many labels an item needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from howsure._result import Record, shown_as
from howsure.evaluation.annotation import agreement as beyond_chance
from howsure.evaluation.annotation.agreement import AGREEING, DISAGREEING, NONE_OBSERVED
from howsure.evaluation.annotation.crowds import DawidSkene, drawn, normalised
from howsure.evaluation.annotation.ratings import Ratings
from howsure.kernels.cells import Floats, Ints

MOST_LABELS = 40
HELD = 400_000


@dataclass(frozen=True, slots=True)
class Annotator(Record):
    """One annotator beside the others.

    `agreement` is the mean probability that the others' labels give to the annotator's; `chance` what labels given in
    the same proportions, but to any item, would get; `skill` = (agreement - chance)/(1 - chance), from low to high.
    """

    name: str
    n: int  # items that others labelled too
    n_labels: int
    agreement: float | None
    chance: float | None
    skill: float | None
    low: float | None
    high: float | None
    accuracy: float  # by the fitted model
    informativeness: float
    verdict: str  # keep, reject or unclear
    evidence: str

    __repr__ = shown_as("{name}: {verdict}, {evidence}")


def judged_annotators(
    ratings: Ratings, fitted: DawidSkene, confidence_level: float, reject_below: float
) -> tuple[Annotator, ...]:
    """Everyone, those to reject first, then by the upper limit of skill.

    The others' view of an item is the model's posterior without the annotator's own label (its parameters are not
    fitted again). Reject: even the upper limit of skill is below `reject_below`. Unclear: the interval reaches down to
    chance. An annotator who gave one label only has skill 0 whatever the items; its upper limit is that of never
    answering otherwise on the items that the others call otherwise, 1 - (α/2)^(1/m).
    """
    shared = ratings.per_item[ratings.item] > 1
    item, annotator, label = (v[shared] for v in (ratings.item, ratings.annotator, ratings.label))
    own = np.log(fitted.confusion[annotator, :, label])
    others, _ = normalised(fitted.log_joint[item] - own)
    order = np.argsort(annotator, kind="stable")
    bounds = np.searchsorted(annotator[order], np.arange(len(ratings.annotators) + 1))
    labels_each = np.bincount(ratings.annotator, minlength=len(ratings.annotators))
    accuracy, informativeness = fitted.accuracy, fitted.informativeness
    made = []
    for a, name in enumerate(ratings.annotators):
        rows = order[bounds[a] : bounds[a + 1]]
        groups = None if ratings.groups is None else ratings.groups[item[rows]]
        numbers = _skill(others[rows], label[rows], groups, confidence_level)
        verdict, evidence = _verdict(numbers, len(rows), reject_below)
        worth = (*numbers, float(accuracy[a]), float(informativeness[a]), verdict, evidence)
        made.append(Annotator(name, len(rows), int(labels_each[a]), *worth))
    rank = ("reject", "unclear", "keep").index
    made.sort(key=lambda m: (rank(m.verdict), 2.0 if m.high is None else m.high, m.skill or 0.0, m.name))
    return tuple(made)


def _skill(
    others: Floats, label: Any, groups: Any, level: float
) -> tuple[float | None, float | None, float | None, float | None, float | None]:
    """Agreement, chance, skill, low, high."""
    n, k = len(label), others.shape[1]
    if n == 0:
        return None, None, None, None, None
    observed, expected, _ = _against_others(others, label, np.ones(n))
    if expected < NONE_OBSERVED:
        return 1.0 - observed, 1.0 - expected, None, None, None
    if len(np.unique(label)) == 1:
        high = 1.0 - (0.5 - level / 2) ** (1.0 / max(n * observed, 1e-9))
        return 1.0 - observed, 1.0 - expected, 0.0, 0.0, high
    if observed < NONE_OBSERVED:
        return 1.0, 1.0 - expected, 1.0, *beyond_chance.limits_of_perfect(n, groups, expected, level)
    every, unit = np.arange(k), beyond_chance.items_per_group(n, groups)
    weight = np.concatenate([np.ones(n), np.full(k, unit * AGREEING / k), np.full(k, unit * DISAGREEING / k)])
    views = np.concatenate([others, np.eye(k), (1.0 - np.eye(k)) / (k - 1)])
    more = _against_others(views, np.concatenate([label, every, every]), weight)
    influence = np.sqrt(weight) * more[2] / float(weight.sum())
    skill, added = 1.0 - observed / expected, np.sqrt(unit) * influence[n:]
    limits = beyond_chance.limits_of_ratio(*more[:2], influence[:n], groups, added, level)
    return 1.0 - observed, 1.0 - expected, skill, *beyond_chance.reaching(skill, limits)


def _against_others(others: Floats, label: Any, weight: Floats) -> tuple[float, float, Floats]:
    """D_o, D_e and each item's influence on log D_o/D_e."""
    total = float(weight.sum())
    each = 1.0 - others[np.arange(len(label)), label]
    observed = float(weight @ each) / total
    given = np.bincount(label, weight, others.shape[1]) / total
    theirs = weight @ others / total
    expected = 1.0 - float(given @ theirs)
    on_expected = 2.0 * (1.0 - expected) - theirs[label] - others @ given
    influence = (each - observed) / max(observed, NONE_OBSERVED) - on_expected / max(expected, NONE_OBSERVED)
    return observed, expected, influence


def _verdict(numbers: tuple[float | None, ...], n: int, reject_below: float) -> tuple[str, str]:
    agreement, chance, _, low, high = numbers
    if n < 2:
        return "unclear", "one item only" if n else "nobody else labelled the same items"
    said = f"agrees with the others on {agreement:.0%} of {n:,} items, chance {chance:.0%}"
    if low is None or high is None:
        return "unclear", said
    return "reject" if high <= reject_below else "unclear" if low <= 0.0 else "keep", said


@dataclass(frozen=True, slots=True)
class LabelsNeeded(Record):
    """Expected certainty of the most probable label after 1, 2, … labels, and how many reach the target.

    The certainty is also the accuracy, if annotators err independently of one another given the true label. Where hard
    items make them err together, more labels are needed than this says.
    """

    target: float
    n: int | None  # None: not reached with as many as were tried
    certainty: tuple[float, ...]
    standard_error: float  # the largest, of the simulation

    def __repr__(self) -> str:
        many = f"more than {len(self.certainty)}" if self.n is None else str(self.n)
        return f"LabelsNeeded({many} for {self.target:g})"


def labels_needed(
    fitted: DawidSkene, share: Floats, target: float, rng: np.random.Generator, most: int = MOST_LABELS
) -> LabelsNeeded:
    """Simulate items whose labels come from annotators drawn by `share` (of the labels that each gave).

    An item's true label is drawn from the prior and each label from its annotator's confusion; after each label the
    posterior's maximum is averaged over items. Averaging the maximum, not whether it is right, has the same mean and
    less noise.
    """
    k = len(fitted.prior)
    size = max(min(20_000, HELD // k), 1000)
    true = drawn(np.broadcast_to(np.cumsum(fitted.prior)[:, None], (k, size)), rng)
    # Labels come first in these arrays: sums and maxima of few labels are then taken along the items.
    edges = np.cumsum(fitted.confusion, axis=2).transpose(2, 0, 1).reshape(k, -1)
    log_confusion = np.log(np.maximum(fitted.confusion, 1e-300)).transpose(1, 0, 2).reshape(k, -1)
    log_joint = np.repeat(np.log(np.maximum(fitted.prior, 1e-300))[:, None], size, axis=1)
    chances = share / share.sum()
    certainty: list[float] = []
    error = 0.0
    for _ in range(most):
        who = rng.choice(len(chances), size, p=chances)
        label = drawn(edges.take(who * k + true, axis=1), rng)
        log_joint += log_confusion.take(who * k + label, axis=1)
        surest = 1.0 / np.exp(log_joint - log_joint.max(axis=0)).sum(axis=0)
        certainty.append(float(surest.mean()))
        error = max(error, float(surest.std()) / sqrt(size))
    reached = next((i + 1 for i, c in enumerate(certainty) if c >= target), None)
    return LabelsNeeded(target, reached, tuple(certainty), error)


def crowd_shares(labels_each: Ints, left_out: Sequence[bool] | None = None) -> Floats:
    """Each annotator's share of the labels, without those left out."""
    share = labels_each * (1.0 if left_out is None else ~np.asarray(left_out, bool))
    return np.asarray(share / share.sum())
