"""Coreference scores: MUC, B³, CEAF, BLANC, LEA, pairs, the CoNLL average, with bootstrap intervals over documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._result import Record, Result, drawn_by
from howsure.calibration.estimation.intervals import Estimate
from howsure.errors import InputError
from howsure.evaluation.coreference.parts import RATIOS, Pairs, document_parts

Floats = NDArray[np.float64]
METRICS = ("muc", "b3", "ceafm", "ceafe", "blanc", "lea", "pairwise", "mentions", "conll")
AVERAGED = ("muc", "b3", "ceafe")


@dataclass(frozen=True, slots=True)
class CoreferenceScore(Record):
    """Recall, precision and F1 of one metric, between 0 and 1; the CoNLL average has F1 alone."""

    SHOWN = "recall? precision? f1"

    metric: str
    recall: Estimate | None
    precision: Estimate | None
    f1: Estimate

    def __repr__(self) -> str:
        return f"CoreferenceScore({self.metric}: F1 {self.f1!r})"


@dataclass(frozen=True, slots=True)
class CoreferenceScores(Result):
    """All metrics of one comparison of clusterings; made by `coreference_scores`."""

    SHOWN = (
        "verdict n_documents n_key_mentions=n_key n_response_mentions=n_response confidence_level n_bootstrap metrics"
    )

    scores: tuple[CoreferenceScore, ...]
    n_documents: int
    n_key: int
    n_response: int
    confidence_level: float = 0.95
    n_bootstrap: int = 0
    parts: Floats | None = None

    def __repr__(self) -> str:
        return f"CoreferenceScores(CoNLL F1 {self['conll'].f1!r}, {self.n_documents:,} documents)"

    def __getitem__(self, metric: str) -> CoreferenceScore:
        for score in self.scores:
            if score.metric == metric:
                return score
        raise KeyError(metric)

    @property
    def verdict(self) -> str:
        """The answer in words."""
        conll = self["conll"].f1
        limits = (
            "" if conll.low is None or conll.high is None else f" ({100 * conll.low:.1f} to {100 * conll.high:.1f})"
        )
        return (
            f"CoNLL F1 {100 * conll.value:.2f}{limits} over {self.n_documents:,} "
            f"document{'s' * (self.n_documents != 1)}: MUC {100 * self['muc'].f1.value:.2f}, "
            f"B³ {100 * self['b3'].f1.value:.2f}, CEAFe {100 * self['ceafe'].f1.value:.2f}."
        )

    @property
    def metrics(self) -> dict[str, CoreferenceScore]:
        """Scores by the name of the metric."""
        return {s.metric: s for s in self.scores}

    def table(self) -> list[dict[str, Any]]:
        """One row a metric."""
        return [{"": s.metric, "recall": s.recall, "precision": s.precision, "F1": s.f1} for s in self.scores]

    to_text = drawn_by("howsure.report.text.models.coref_scores_text")


def coreference_scores(
    documents: Sequence[tuple[Pairs, Pairs]],
    *,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
) -> CoreferenceScores:
    """Scores of predicted against gold entities.

    Parameters
    ----------
    documents : sequence of (key, response)
        Each a sequence of (mention, entity), mentions being anything hashable, such as spans.
    n_bootstrap : int
        Number of resamples of the documents for percentile intervals; none are given for fewer than two documents.

    Notes
    -----
    Terms are summed over documents, then divided, as the official scorer does; mentions twice in one document count
    once. Formulas: docs/evidence/theory.md.

    Examples
    --------
    >>> gold = [(1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "b")]
    >>> system = [(1, "x"), (2, "x"), (3, "x"), (4, "y"), (5, "y")]
    >>> coreference_scores([(gold, system)])["muc"].f1
    0.6667
    """
    level = _validate.fraction(confidence_level, "confidence_level")
    if not len(documents):
        raise InputError("there are no documents to score.")
    parts = np.stack([document_parts(key, response) for key, response in documents])
    return scores_of_parts(parts, n_bootstrap=n_bootstrap, confidence_level=level, rng=rng)


def scores_of_parts(
    parts: Floats, *, n_bootstrap: int = 1000, confidence_level: float = 0.95, rng: np.random.Generator | int | None = 0
) -> CoreferenceScores:
    """Scores from the documents' terms, shape (documents, ratios, 4)."""
    n = len(parts)
    values = metric_values(parts.sum(axis=0)[None])[0]
    low = high = None
    if n > 1 and n_bootstrap:
        draws = _validate.generator(rng).multinomial(n, np.full(n, 1.0 / n), size=n_bootstrap).astype(np.float64)
        drawn = metric_values(np.tensordot(draws, parts, axes=1))
        tail = (1.0 - confidence_level) / 2.0
        low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    mentions = parts[:, RATIOS.index("mentions")].sum(axis=0)
    made = []
    for m, name in enumerate(METRICS):
        three = [
            Estimate(
                float(values[m, c]),
                None if low is None else float(low[m, c]),
                None if high is None else float(high[m, c]),
            )
            for c in range(3)
        ]
        is_average = name == "conll"
        made.append(
            CoreferenceScore(name, None if is_average else three[0], None if is_average else three[1], three[2])
        )
    return CoreferenceScores(
        tuple(made), n, int(mentions[1]), int(mentions[3]), confidence_level, n_bootstrap if n > 1 else 0, parts
    )


def metric_values(totals: Floats) -> Floats:
    """Recall, precision and F1 of each of METRICS, shape (batch, metrics, 3), from summed terms (batch, ratios, 4)."""
    recall = _divided(totals[:, :, 0], totals[:, :, 1])
    precision = _divided(totals[:, :, 2], totals[:, :, 3])
    ratio = np.stack([recall, precision, f1(recall, precision)], axis=2)
    by_name = {name: ratio[:, i] for i, name in enumerate(RATIOS)}
    linked, apart = by_name["pairwise"], by_name["unlinked"]
    has_links, has_apart = (totals[:, RATIOS.index(kind), 1] > 0.0 for kind in ("pairwise", "unlinked"))
    # BLANC is the mean over linked and unlinked pairs; where the key has none of one kind, the other alone counts, and
    # where it has no pairs at all, whether the mentions are the same.
    blanc = np.where(
        (has_links & has_apart)[:, None],
        (linked + apart) / 2.0,
        np.where(has_links[:, None], linked, np.where(has_apart[:, None], apart, by_name["mentions"])),
    )
    conll = np.mean([by_name[name] for name in AVERAGED], axis=0)
    made = {**by_name, "blanc": blanc, "conll": conll}
    return np.stack([made[name] for name in METRICS], axis=1)


def f1(recall: Floats, precision: Floats) -> Floats:
    """The harmonic mean; 0 where both are 0."""
    return _divided(2.0 * recall * precision, recall + precision)


def _divided(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0.0)
