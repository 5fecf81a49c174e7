"""How calibrated a coreference model is: its pairs and first mentions, exact and sampled, and its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from howsure._result import Record, Result, drawn_by
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.result import Calibration
from howsure.evaluation.coreference.scores import CoreferenceScores


@dataclass(frozen=True, slots=True)
class SampledPairs(Record):
    """Pair probabilities as frequencies in a number of samples (None: exact), and how calibrated they look."""

    samples: int | None
    error: Estimate | None
    brier: float
    largest_deviation: float
    rms_deviation: float

    def __repr__(self) -> str:
        return f"SampledPairs({self.samples or 'exact'}: error {self.error!r}, Brier {self.brier:.5f})"


@dataclass(frozen=True, slots=True)
class CorefCheck(Result):
    """Calibration of a coreference model. Made by `check_coref`."""

    SHOWN = "verdict n_documents n_mentions temperature pairs new untempered sampling scores notes"

    pairs: Calibration
    new: Calibration
    scores: CoreferenceScores
    sampling: tuple[SampledPairs, ...]
    temperature: float
    untempered: Calibration | None
    n_documents: int
    n_mentions: int
    notes: tuple[str, ...] = ()
    source: str = ""

    def __repr__(self) -> str:
        return f"CorefCheck(pairs {self.pairs.error!r}, {self.scores!r})"

    @property
    def verdict(self) -> str:
        """The answer in words."""
        return f"Do these two mentions corefer? {self.pairs.verdict}"

    def table(self) -> list[dict[str, Any]]:
        """All pairs, then each slice."""
        return self.pairs.table()

    def headline(self) -> dict[str, str]:
        """Of the pairs."""
        return self.pairs.headline()

    def figure(self) -> dict[str, Any]:
        """The picture of `--plot`, a Vega-Lite specification."""
        return self.pairs.figure()

    to_text = drawn_by("howsure.report.text.models.coref_text")
    to_html = drawn_by("howsure.report.pages.coref_page")
