"""Coreference scores: MUC, B³, CEAF, BLANC, LEA, pairs, the CoNLL average, with bootstrap intervals over documents.

Every metric is made of how a document's gold and predicted entities share mentions. Each is a ratio of sums over documents. `document_parts` gives a document's terms; they add up, so a corpus is
the sum of its documents and a bootstrap only weighs rows. n[k, r] is the number of mentions that key entity k and
response entity r share, |k| and |r| their sizes.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure import _validate
from howsure._result import Record, Result, drawn_by, shown_as
from howsure.calibration.estimation.intervals import Estimate
from howsure.errors import InputError
from howsure.kernels.cells import Floats

Pairs = Iterable[tuple[Hashable, Hashable]]  # (mention, entity)

RATIOS = ("muc", "b3", "ceafm", "ceafe", "lea", "pairwise", "unlinked", "mentions")
METRICS = ("muc", "b3", "ceafm", "ceafe", "blanc", "lea", "pairwise", "mentions", "conll")
AVERAGED = ("muc", "b3", "ceafe")


def document_parts(key: Pairs, response: Pairs) -> Floats:
    """The terms of every metric for one document, shape (ratios, 4): part and whole of recall, then of precision.

    A mention that is given twice counts once, where it is first named, as in the official scorer (version 8.01).
    Mentions without a twin on the other side stay in their entities and are shared with nobody.
    """
    gold, system = _once(key), _once(response)
    k_sizes, r_sizes = Counter(gold.values()), Counter(system.values())
    row, column = ({e: i for i, e in enumerate(sizes)} for sizes in (k_sizes, r_sizes))
    n = np.zeros((len(row), len(column)))
    for mention in gold.keys() & system.keys():
        n[row[gold[mention]], column[system[mention]]] += 1
    k_size, r_size = (np.array(list(sizes.values()), np.float64) for sizes in (k_sizes, r_sizes))
    return contingency_parts(n, k_size, r_size)


def contingency_parts(n: Floats, k_size: Floats, r_size: Floats) -> Floats:
    """The terms from n[k, r], |k| and |r|."""
    shared = float(n.sum())
    k_links, r_links = choose2(k_size).sum(), choose2(r_size).sum()
    both = choose2(n).sum()
    # Pairs of shared mentions that both sides keep apart.
    apart = choose2(shared) - choose2(n.sum(axis=1)).sum() - choose2(n.sum(axis=0)).sum() + both
    k_apart, r_apart = choose2(k_size.sum()) - k_links, choose2(r_size.sum()) - r_links
    m, e = matched(n), matched(2.0 * n / (k_size[:, None] + r_size))
    rows = {
        "muc": (*_muc(n, k_size), *_muc(n.T, r_size)),
        "b3": (_b3(n, k_size), k_size.sum(), _b3(n.T, r_size), r_size.sum()),
        "ceafm": (m, k_size.sum(), m, r_size.sum()),
        "ceafe": (e, len(k_size), e, len(r_size)),
        "lea": (_lea(n, k_size, r_size), k_size.sum(), _lea(n.T, r_size, k_size), r_size.sum()),
        "pairwise": (both, k_links, both, r_links),
        "unlinked": (apart, k_apart, apart, r_apart),
        "mentions": (shared, k_size.sum(), shared, r_size.sum()),
    }
    return np.array([rows[name] for name in RATIOS], dtype=np.float64)


def choose2(x: Floats | float) -> Floats:
    """Number of pairs among x."""
    return np.asarray(x) * (np.asarray(x) - 1.0) / 2.0


def _muc(n: Floats, size: Floats) -> tuple[float, float]:
    """Links kept, links there are: an entity falls into as many parts as others share it, mentions alone apart."""
    parts = (n > 0).sum(axis=1) + (size - n.sum(axis=1))
    return float((size - parts).sum()), float((size - 1.0).sum())


def _b3(n: Floats, size: Floats) -> float:
    return float((n**2 / size[:, None]).sum())


def matched(similarity: Floats) -> float:
    """The largest total similarity of a one-to-one matching of entities."""
    if not similarity.any():
        return 0.0
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(similarity, maximize=True)
    return float(similarity[rows, columns].sum())


def _lea(n: Floats, size: Floats, other: Floats) -> float:
    """Σ |k| × share of k's links found; an entity of one mention has one link, to itself."""
    single = size == 1
    found = choose2(n).sum(axis=1) / np.where(single, 1.0, choose2(size))
    return float((size * np.where(single, (n[:, other == 1] > 0).any(axis=1), found)).sum())


def _once(pairs: Pairs) -> dict[Hashable, Hashable]:
    made: dict[Hashable, Hashable] = {}
    for mention, entity in pairs:
        made.setdefault(mention, entity)
    return made


@dataclass(frozen=True, slots=True)
class CoreferenceScore(Record):
    """Recall, precision and F1 of one metric, between 0 and 1; the CoNLL average has F1 alone."""

    SHOWN = "recall? precision? f1"
    __repr__ = shown_as("{metric}: F1 {f1!r}")

    metric: str
    recall: Estimate | None
    precision: Estimate | None
    f1: Estimate


@dataclass(frozen=True, slots=True)
class CoreferenceScores(Result):
    """All metrics of one comparison of clusterings; made by `coreference_scores`."""

    DRAWN = "F1"
    SHOWN = """verdict n_documents n_key_mentions=n_key n_response_mentions=n_response confidence_level n_bootstrap
        metrics"""

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
        return self.metrics[metric]

    @property
    def verdict(self) -> str:
        conll = self["conll"].f1
        known = conll.low is not None and conll.high is not None
        limits = "" if not known else " ({:.1f} to {:.1f})".format(*(100 * x for x in conll.limits))
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
    samples: int = 1000,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
) -> CoreferenceScores:
    """Scores of predicted against gold entities.

    Parameters
    ----------
    documents : sequence of (key, response)
        Each a sequence of (mention, entity), mentions being anything hashable, such as spans.
    samples : int
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
    return scores_of_parts(parts, samples=samples, confidence_level=level, rng=rng)


def scores_of_parts(
    parts: Floats, *, samples: int = 1000, confidence_level: float = 0.95, rng: np.random.Generator | int | None = 0
) -> CoreferenceScores:
    """Scores from the documents' terms, shape (documents, ratios, 4)."""
    n = len(parts)
    values = metric_values(parts.sum(axis=0)[None])[0]
    limits: tuple[Any, ...] = (None, None)
    if n > 1 and samples:
        draws = _validate.generator(rng).multinomial(n, np.full(n, 1.0 / n), size=samples).astype(np.float64)
        drawn = metric_values(np.tensordot(draws, parts, axes=1))
        tail = (1.0 - confidence_level) / 2.0
        limits = tuple(np.quantile(drawn, [tail, 1.0 - tail], axis=0))
    _, n_key, _, n_response = parts[:, RATIOS.index("mentions")].sum(axis=0).astype(int).tolist()
    made = []
    for m, name in enumerate(METRICS):
        ends = [[None if x is None else float(x[m, c]) for x in limits] for c in range(3)]
        parts_of = [Estimate(float(v), *e) for v, e in zip(values[m], ends, strict=True)]
        recall, precision = (None, None) if name == "conll" else parts_of[:2]
        made.append(CoreferenceScore(name, recall, precision, parts_of[2]))
    return CoreferenceScores(tuple(made), n, n_key, n_response, confidence_level, samples if n > 1 else 0, parts)


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
