"""Whom to trust: each annotator against what the others say, with the evidence for rejecting one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure._result import Record
from howsure.evaluation.annotation.chance import (
    AGREEING,
    DISAGREEING,
    NONE_OBSERVED,
    items_per_group,
    limits_of_perfect,
    limits_of_ratio,
    reaching,
)
from howsure.evaluation.annotation.crowds import DawidSkene, normalised
from howsure.evaluation.annotation.ratings import Ratings
from howsure.kernels.cells import Floats


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

    def __repr__(self) -> str:
        return f"Annotator({self.name}: {self.verdict}, {self.evidence})"


def judged_annotators(
    ratings: Ratings, fitted: DawidSkene, confidence_level: float, reject_below: float
) -> tuple[Annotator, ...]:
    """Everyone, those to reject first, then by the upper limit of skill.

    The others' view of an item is the model's posterior without the annotator's own label (its parameters are not
    fitted again). Reject: even the upper limit of skill is below `reject_below`. Unclear: the interval reaches down to
    chance. An annotator who gave one label only has skill 0 whatever the items; its upper limit is that of never
    answering otherwise on the items that the others call otherwise, 1 - (α/2)^(1/m).
    """
    shared = np.flatnonzero(ratings.per_item[ratings.item] > 1)
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
        verdict, evidence = _verdict(*numbers, n=len(rows), reject_below=reject_below)
        made.append(
            Annotator(
                name,
                len(rows),
                int(labels_each[a]),
                *numbers,
                float(accuracy[a]),
                float(informativeness[a]),
                verdict,
                evidence,
            )
        )
    rank = {"reject": 0, "unclear": 1, "keep": 2}
    return tuple(
        sorted(made, key=lambda m: (rank[m.verdict], 2.0 if m.high is None else m.high, m.skill or 0.0, m.name))
    )


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
        return 1.0, 1.0 - expected, 1.0, *limits_of_perfect(n, groups, expected, level)
    every, unit = np.arange(k), items_per_group(n, groups)
    weight = np.concatenate([np.ones(n), np.full(k, unit * AGREEING / k), np.full(k, unit * DISAGREEING / k)])
    views = np.concatenate([others, np.eye(k), (1.0 - np.eye(k)) / (k - 1)])
    more = _against_others(views, np.concatenate([label, every, every]), weight)
    influence = np.sqrt(weight) * more[2] / float(weight.sum())
    skill = 1.0 - observed / expected
    limits = limits_of_ratio(more[0], more[1], influence[:n], groups, np.sqrt(unit) * influence[n:], level)
    return 1.0 - observed, 1.0 - expected, skill, *reaching(skill, limits)


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


def _verdict(
    agreement: float | None,
    chance: float | None,
    skill: float | None,
    low: float | None,
    high: float | None,
    *,
    n: int,
    reject_below: float,
) -> tuple[str, str]:
    if n == 0:
        return "unclear", "nobody else labelled the same items"
    if n == 1:
        return "unclear", "one item only"
    assert agreement is not None
    assert chance is not None
    said = f"agrees with the others on {agreement:.0%} of {n:,} items, chance {chance:.0%}"
    if low is None or high is None:
        return "unclear", said
    if high <= reject_below:
        return "reject", said
    return ("unclear" if low <= 0.0 else "keep"), said
