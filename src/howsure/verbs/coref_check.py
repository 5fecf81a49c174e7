"""`howsure coref check`: when the model says that two mentions corefer with 70%, do they 70% of the time?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.result import Calibration
from howsure.corpora.document import Document
from howsure.errors import InputError
from howsure.evaluation.model_checks import CorefCheck, SampledPairs
from howsure.models.coreference.attributes import KINDS
from howsure.models.coreference.features import features
from howsure.models.coreference.ranker import CorefModel, gold_clusters
from howsure.posteriors.antecedents import AntecedentPosterior
from howsure.verbs.check import check
from howsure.verbs.coref import Resolved, documents_of, scores_of

Floats = NDArray[np.float64]
BY = ("mention-type", "distance")
GROUPS = np.array(["nominal", "proper", "other", *["pronoun"] * (len(KINDS) - 3)])
SENTENCES = (1, 2, 4, 8, 16)
APART = np.array(["same sentence", "1 sentence", "2-3 sentences", "4-7 sentences", "8-15 sentences", "16 and more"])
SAMPLES = (10, 100, 1000)


@dataclass(frozen=True, slots=True)
class _Table:
    """All pairs of all documents."""

    y: NDArray[np.bool_]
    q: Floats
    document: NDArray[np.int64]
    by: NDArray[np.str_] | None


def check_coref(
    model: CorefModel | str | Path,
    documents: Any,
    *,
    by: str | None = None,
    mentions: str | None = None,
    samples: Sequence[int] = SAMPLES,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
) -> CorefCheck:
    """How calibrated are the answers to "do these two mentions corefer?" and "is this mention new?"

    Over all pairs of mentions of each document, exact probabilities, documents as groups: pairs of one document are
    not independent. `by` slices the pairs by "mention-type" or "distance". `samples` lists numbers of sampled
    clusterings whose frequencies are set beside the exact probabilities.
    """
    used = model if isinstance(model, CorefModel) else CorefModel.load(model)
    if by is not None and by not in BY:
        raise InputError(f"pairs are compared by {' or '.join(BY)}; got {by!r}.")
    given, errors = documents_of(documents, gold=True)
    if errors:
        raise errors[0]
    with_mentions = [d for d in given if d.mentions]
    notes = []
    if len(with_mentions) < len(given):
        notes.append(f"{len(given) - len(with_mentions):,} documents without gold mentions were left out.")
    if len(with_mentions) < 2:
        raise InputError("intervals need two documents with gold mentions at least.")
    found = [used.candidates(d, mentions) for d in with_mentions]
    made = [features(d, m, used.known, used.used) for d, m in zip(with_mentions, found, strict=True)]
    raw = [used.posterior_of(f, d.name) for d, f in zip(with_mentions, made, strict=True)]
    posteriors = [p.tempered(used.temperature) for p in raw]
    gold = [gold_clusters(d, m) for d, m in zip(with_mentions, found, strict=True)]
    slices = None if by is None else [_slices(f.attributes, by) for f in made]
    table = _pairs([p.pairs() for p in posteriors], gold, slices)
    options = {"confidence_level": confidence_level, "rng": None}
    whole = _calibration(table, **options)
    if by is not None:
        whole = replace(whole, by=by)
    untempered = None
    if used.temperature != 1.0:
        untempered = _calibration(_pairs([p.pairs() for p in raw], gold, None), **options)
    resolved = [Resolved(d, m, p, p.minimum_risk()) for d, m, p in zip(with_mentions, found, posteriors, strict=True)]
    return CorefCheck(
        pairs=whole,
        new=_newness(with_mentions, posteriors, gold, confidence_level),
        scores=scores_of(resolved, used, confidence_level=confidence_level),
        sampling=_sampling(table, whole, posteriors, samples, rng, confidence_level),
        temperature=used.temperature,
        untempered=untempered,
        n_documents=len(with_mentions),
        n_mentions=sum(map(len, found)),
        notes=tuple(notes),
        source=str(documents) if isinstance(documents, str | Path) else "",
    )


def _slices(a: Any, by: str) -> NDArray[np.str_]:
    """A name for each pair."""
    i, j = np.tril_indices(len(a), -1)
    if by == "distance":
        return APART[np.searchsorted(SENTENCES, a.sentence[i] - a.sentence[j], side="right")]
    kind = GROUPS[a.kind]
    return np.char.add(np.char.add(kind[i], " to "), kind[j])


def _pairs(squares: Sequence[Floats], gold: Sequence[NDArray[np.int64]], slices: Any) -> _Table:
    y, q, document = [], [], []
    for d, (square, e) in enumerate(zip(squares, gold, strict=True)):
        i, j = np.tril_indices(len(e), -1)
        y.append(e[i] == e[j])
        q.append(square[i, j])
        document.append(np.full(len(i), d))
    by = None if slices is None else np.concatenate(slices)
    return _Table(np.concatenate(y), np.concatenate(q), np.concatenate(document), by)


def _calibration(table: _Table, **options: Any) -> Calibration:
    made = check(table.y, table.q, groups=table.document, by=table.by, **options)
    assert isinstance(made, Calibration)
    return made


def _newness(
    documents: Sequence[Document],
    posteriors: Sequence[AntecedentPosterior],
    gold: Sequence[NDArray[np.int64]],
    level: float,
) -> Calibration:
    first = np.concatenate([np.isin(np.arange(len(e)), np.unique(e, return_index=True)[1]) for e in gold])
    q = np.concatenate([p.new for p in posteriors])
    document = np.repeat(np.arange(len(documents)), [len(e) for e in gold])
    made = check(first, np.clip(q, 0.0, 1.0), groups=document, confidence_level=level, rng=None)
    assert isinstance(made, Calibration)
    return made


def _sampling(
    table: _Table,
    exact: Calibration,
    posteriors: Sequence[AntecedentPosterior],
    samples: Sequence[int],
    rng: np.random.Generator | int | None,
    level: float,
) -> tuple[SampledPairs, ...]:
    """The exact answers, and those of n samples each."""
    from howsure.kernels.coreference.antecedents_compiled import pair_frequencies

    rows = [SampledPairs(None, exact.error, exact.brier.value or 0.0, 0.0, 0.0)]
    for n in samples:
        seen = [pair_frequencies(p.samples(n, rng)) for p in posteriors]
        q = np.concatenate([s[np.tril_indices(len(s), -1)] for s in seen])
        made = _calibration(replace(table, q=q, by=None), confidence_level=level, rng=None)
        off = q - table.q
        rows.append(
            SampledPairs(
                n, made.error, made.brier.value or 0.0, float(np.abs(off).max()), float(np.sqrt(np.mean(off**2)))
            )
        )
    return tuple(rows)
