"""What `howsure agree` found: agreement, where it fails and, for crowds, one label per item and whom to trust."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from howsure._result import Record, Result, drawn_by, records, shown_as
from howsure.calibration.comparing.difference import Difference
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.multiclass import MulticlassCalibration
from howsure.calibration.result import Calibration
from howsure.evaluation.annotation.agreement import Coefficient
from howsure.evaluation.annotation.annotators import Annotator, LabelsNeeded
from howsure.evaluation.annotation.crowds import DawidSkene, MajorityVote
from howsure.evaluation.annotation.disagreement import AnnotatorPair, ConfusedLabels, DisputedItem
from howsure.evaluation.annotation.ratings import Ratings

RELIABLE, TENTATIVE = 0.8, 0.667  # Krippendorff's limits for drawing conclusions, and for tentative ones


@dataclass(frozen=True, slots=True)
class GoldCheck(Record):
    """Both ways to one label, against gold."""

    n: int
    majority: Estimate  # accuracy; of m labels that tie each counts 1/m, as if a coin decided
    majority_by_rule: float  # ties decided for the label that is commoner overall
    dawid_skene: Estimate
    difference: Difference  # Dawid-Skene less majority, paired
    calibration: Calibration | MulticlassCalibration | None  # of the model's probabilities

    __repr__ = shown_as("majority {majority!r}, Dawid-Skene {dawid_skene!r}, n={n:,}")


@dataclass(frozen=True, slots=True)
class Crowd(Record):
    """One label per item, what each annotator is worth, and how many labels are enough."""

    SHOWN = """iterations=model.iterations converged=model.converged smoothing majority_ties=majority.n_ties reject_below
        annotators labels_needed=needed labels_needed_without_rejected=needed_without gold"""

    majority: MajorityVote
    model: DawidSkene
    annotators: tuple[Annotator, ...]  # those to reject first
    needed: LabelsNeeded
    needed_without: LabelsNeeded | None  # without those to reject, if there are any
    reject_below: float
    smoothing: float
    gold: GoldCheck | None = None

    __repr__ = shown_as("{model!r}, {#rejected} to reject of {#annotators}")

    @property
    def rejected(self) -> tuple[Annotator, ...]:
        """Annotators to reject."""
        return tuple(a for a in self.annotators if a.verdict == "reject")

    @property
    def n_unclear(self) -> int:
        """How many annotators gave too little to be judged."""
        return sum(a.verdict == "unclear" for a in self.annotators)


@dataclass(frozen=True, slots=True)
class Agreement(Result):
    """How far annotators agree, beyond chance. Made by `howsure.agree`."""

    SHOWN = """verdict n_labels=ratings.n_labels n_items=ratings.n_items n_pairable_items=n_pairable
        n_annotators=ratings.n_annotators n_groups labels=ratings.labels confidence_level left_out observed_agreement=observed
        coefficients pairs confused_labels=confused disputed_items=disputed notes crowd=crowd_data"""
    __repr__ = shown_as("{alpha!r}, observed {observed!r}, {ratings!r}")

    ratings: Ratings
    n_pairable: int  # items with two labels or more
    observed: Estimate | None
    coefficients: tuple[Coefficient, ...]  # Fleiss' κ, Krippendorff's α for each kind of label, Gwet's AC1
    pairs: tuple[AnnotatorPair, ...]
    confused: tuple[ConfusedLabels, ...]
    disputed: tuple[DisputedItem, ...]
    crowd: Crowd | None = None
    confidence_level: float = 0.95
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    ordered: bool = False  # an order was given: agreement is judged by ordinal α

    @property
    def fleiss(self) -> Coefficient:
        """Fleiss' κ."""
        return self.coefficients[0]

    @property
    def alpha(self) -> Coefficient:
        """The α that agreement is judged by: for labels without order or, where one was given, ordinal."""
        return self.coefficients[2 if self.ordered else 1]

    @property
    def shown_coefficients(self) -> tuple[Coefficient, ...]:
        """Those worth showing: with two labels, α is the same for every kind."""
        return self.coefficients if len(self.ratings.labels) > 2 else (*self.coefficients[:2], self.coefficients[-1])

    @property
    def n_groups(self) -> int | None:
        """How many groups of items, if groups were given."""
        return self.ratings.n_groups

    @property
    def source(self) -> str:
        """Where the labels come from."""
        return self.ratings.source

    @property
    def verdict(self) -> str:
        """Agreement beside chance, what α allows, and what became of the crowd."""
        return " ".join([_agreement(self), *([] if self.crowd is None else _crowd(self.crowd))])

    @property
    def crowd_data(self) -> dict[str, Any] | None:
        """The crowd's labels and what each annotator is worth, as plain data."""
        if self.crowd is None:
            return None
        crowd, r, m = self.crowd, self.ratings, self.crowd.model
        place = {name: i for i, name in enumerate(r.annotators)}
        surest = m.posterior[np.arange(len(r.items)), m.label]
        made = {"prior": dict(zip(r.labels, m.prior.tolist(), strict=True))} | crowd.to_dict()
        for a in made["annotators"]:
            a["confusion"] = m.confusion[place[a["name"]]].tolist()
        names = np.array(r.labels, object)
        of = {"majority": names[crowd.majority.label], "tied": crowd.majority.tied, "label": names[m.label]}
        return made | {"items": records(item=np.array(r.items, object), **of, probability=surest)}

    def table(self) -> list[dict[str, Any]]:
        """One row a coefficient."""
        names = ("value", "low", "high", "observed", "expected", "n")
        return [{"": c.name} | {name: getattr(c, name) for name in names} for c in self.coefficients]

    figure = drawn_by("howsure.plots.labels.agreement_figure")
    to_text = drawn_by("howsure.report.text.labels.agreement_text")
    to_html = drawn_by("howsure.report.pages.agreement_page")


def _agreement(a: Agreement) -> str:
    who = "The two annotators" if len(a.ratings.annotators) == 2 else f"The {len(a.ratings.annotators):,} annotators"
    if a.observed is None:
        return f"{who} have no item in common: agreement cannot be measured."
    alpha = a.alpha
    said = f"{who} agree on {_percent(a.observed.value)} of pairs of labels"
    if alpha.value is None:
        return f"{said}, but {alpha.reason}."
    if a.ordered:
        said += f"; near misses counted by the order of the labels, Krippendorff's ordinal α is {alpha.value:.2f}"
    else:
        chance = "" if alpha.expected is None else f", where chance alone gives {_percent(alpha.expected)}"
        said += f"{chance}. Krippendorff's α is {alpha.value:.2f}"
    if alpha.low is None or alpha.high is None:
        return f"{said}, on too few items for an interval."
    said += f" [{alpha.low:.2f}, {alpha.high:.2f}],"
    if alpha.low >= RELIABLE:
        return f"{said} reliable."
    if alpha.low <= 0.0:
        return f"{said} not clearly better than chance{': too few items to tell' if alpha.value >= TENTATIVE else ''}."
    if alpha.value >= RELIABLE:
        return f"{said} reliable at best: the interval reaches below {RELIABLE}."
    if alpha.value >= TENTATIVE:
        return f"{said} enough for tentative conclusions only ({RELIABLE} is usually asked for)."
    return f"{said} better than chance but below the {TENTATIVE} usually asked for: revise the guidelines."


def _crowd(c: Crowd) -> list[str]:
    said = []
    if c.gold is not None:
        g, p, sure = c.gold, c.gold.difference.p_value, ""
        if p is not None:
            sure = f" ({'a' if p < 0.05 else 'no'} clear difference, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'})"
        right = f"Dawid-Skene is right on {_percent(g.dawid_skene.value)} of {g.n:,} items"
        said.append(f"Against gold, {right}, majority vote on {_percent(g.majority.value)}{sure}.")
    if c.rejected:
        number = len(c.rejected)
        said.append(f"{number:,} annotator{' is' if number == 1 else 's are'} hardly better than chance.")
    return said


def _percent(share: float) -> str:
    """Never 100% unless all."""
    shown = f"{100 * share:.1f}%"
    return "more than 99.9%" if shown == "100.0%" and share < 1.0 else shown
