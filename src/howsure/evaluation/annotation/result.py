"""What `howsure agree` found: agreement, where it fails and, for crowds, one label per item and whom to trust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from howsure._result import Record, Result, drawn_by
from howsure.calibration.comparing.difference import Difference
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.multiclass import MulticlassCalibration
from howsure.calibration.result import Calibration
from howsure.evaluation.annotation.annotators import Annotator
from howsure.evaluation.annotation.chance import Coefficient
from howsure.evaluation.annotation.crowds import DawidSkene, MajorityVote
from howsure.evaluation.annotation.disagreement import ConfusedLabels, DisputedItem
from howsure.evaluation.annotation.enough import LabelsNeeded
from howsure.evaluation.annotation.pairs import AnnotatorPair
from howsure.evaluation.annotation.ratings import Ratings


@dataclass(frozen=True, slots=True)
class GoldCheck(Record):
    """Both ways to one label, against gold."""

    n: int
    majority: Estimate  # accuracy; of m labels that tie each counts 1/m, as if a coin decided
    majority_by_rule: float  # ties decided for the label that is commoner overall
    dawid_skene: Estimate
    difference: Difference  # Dawid-Skene less majority, paired
    calibration: Calibration | MulticlassCalibration | None  # of the model's probabilities

    def __repr__(self) -> str:
        return f"GoldCheck(majority {self.majority!r}, Dawid-Skene {self.dawid_skene!r}, n={self.n:,})"


@dataclass(frozen=True, slots=True)
class Crowd:
    """One label per item, what each annotator is worth, and how many labels are enough."""

    majority: MajorityVote
    model: DawidSkene
    annotators: tuple[Annotator, ...]  # those to reject first
    needed: LabelsNeeded
    needed_without: LabelsNeeded | None  # without those to reject, if there are any
    reject_below: float
    smoothing: float
    gold: GoldCheck | None = None

    def __repr__(self) -> str:
        return f"Crowd({self.model!r}, {len(self.rejected)} to reject of {len(self.annotators)})"

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

    ratings: Ratings
    n_pairable: int  # items with two labels or more
    observed: Estimate | None
    coefficients: tuple[Coefficient, ...]  # Fleiss' κ, then Krippendorff's α for each kind of label
    pairs: tuple[AnnotatorPair, ...]
    confused: tuple[ConfusedLabels, ...]
    disputed: tuple[DisputedItem, ...]
    crowd: Crowd | None = None
    confidence_level: float = 0.95
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Agreement({self.alpha!r}, observed {self.observed!r}, {self.ratings!r})"

    @property
    def fleiss(self) -> Coefficient:
        """Fleiss' κ."""
        return self.coefficients[0]

    @property
    def alpha(self) -> Coefficient:
        """Krippendorff's α for labels without order."""
        return self.coefficients[1]

    @property
    def shown_coefficients(self) -> tuple[Coefficient, ...]:
        """Those worth showing: with two labels, α is the same for every kind."""
        return self.coefficients if len(self.ratings.labels) > 2 else self.coefficients[:2]

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
        """The answer in words."""
        from howsure.evaluation.annotation.verdict import verdict

        return verdict(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints."""
        r = self.ratings
        made: dict[str, Any] = {
            "verdict": self.verdict,
            "n_labels": len(r.label),
            "n_items": len(r.items),
            "n_pairable_items": self.n_pairable,
            "n_annotators": len(r.annotators),
            "n_groups": self.n_groups,
            "labels": list(r.labels),
            "confidence_level": self.confidence_level,
            "left_out": dict(self.left_out),
            "observed_agreement": None if self.observed is None else self.observed.to_dict(),
            "coefficients": [c.to_dict() for c in self.coefficients],
            "pairs": [p.to_dict() for p in self.pairs],
            "confused_labels": [c.to_dict() for c in self.confused],
            "disputed_items": [d.to_dict() for d in self.disputed],
            "notes": list(self.notes),
            "crowd": None if self.crowd is None else self._crowd_dict(self.crowd),
        }
        return made

    def _crowd_dict(self, crowd: Crowd) -> dict[str, Any]:
        r, m = self.ratings, crowd.model
        place = {name: i for i, name in enumerate(r.annotators)}
        surest = m.posterior[np.arange(len(r.items)), m.label]
        rows = zip(
            r.items,
            crowd.majority.label.tolist(),
            crowd.majority.tied.tolist(),
            m.label.tolist(),
            surest.tolist(),
            strict=True,
        )
        return {
            "prior": dict(zip(r.labels, m.prior.tolist(), strict=True)),
            "iterations": m.iterations,
            "converged": m.converged,
            "smoothing": crowd.smoothing,
            "majority_ties": crowd.majority.n_ties,
            "reject_below": crowd.reject_below,
            "annotators": [{**a.to_dict(), "confusion": m.confusion[place[a.name]].tolist()} for a in crowd.annotators],
            "labels_needed": crowd.needed.to_dict(),
            "labels_needed_without_rejected": None if crowd.needed_without is None else crowd.needed_without.to_dict(),
            "gold": None if crowd.gold is None else crowd.gold.to_dict(),
            "items": [
                {"item": i, "majority": r.labels[v], "tied": t, "label": r.labels[d], "probability": p}
                for i, v, t, d, p in rows
            ],
        }

    def table(self) -> list[dict[str, Any]]:
        """One row a coefficient."""
        names = ("value", "low", "high", "observed", "expected", "n")
        return [{"": c.name} | {name: getattr(c, name) for name in names} for c in self.coefficients]

    figure = drawn_by("howsure.plots.labels.agreement_figure")
    to_text = drawn_by("howsure.report.text.agreement.agreement_text")
    to_html = drawn_by("howsure.report.pages.agreement_page")
