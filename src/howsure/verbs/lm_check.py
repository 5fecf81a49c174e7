"""`howsure lm check`: are a language model's probabilities of the next word right?"""

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.calibration.analysis import analyse, filing
from howsure.calibration.estimation.perfection import benjamini_hochberg
from howsure.calibration.groups.clusters import ClusterBuilder
from howsure.calibration.result import Calibration, Slice
from howsure.calibration.sketch import SketchBuilder
from howsure.errors import InputError
from howsure.evaluation.model_checks import BANDS, LanguageCalibration
from howsure.kernels.cells import Floats, Ints
from howsure.models.ngrams.model import LanguageModel
from howsure.models.ngrams.vocabulary import BOS
from howsure.verbs.check import check as check_rows

EVENTS = 5_000_000


def check_language(
    model: LanguageModel,
    source: Any,
    *,
    name: str = "",
    text: str = "",
    bins: int | str | None = None,
    confidence_level: float = 0.95,
    events: int = EVENTS,
    rng: np.random.Generator | int | None = 0,
) -> LanguageCalibration:
    """Check the predicted word's probability everywhere, and all words' at as many places as make `events` events.

    Words of a sentence depend on one another: intervals and tests are robust to that. Words not in the vocabulary
    count as <UNK>, an event like any other, unless the vocabulary is closed: then their places are left out.
    """
    generator = _validate.generator(rng)
    level = _validate.fraction(confidence_level, "confidence_level")
    ids = model.ids(source)
    group = model.groups(ids)
    kept = ids != BOS if model.frame else np.ones(len(ids), bool)
    if not model.has_unknown:
        kept &= ids != 0
    places = np.flatnonzero(kept)
    if not len(places):
        raise InputError("the text has no word that the model can predict.")
    guess, log_guess = model.predictions(ids)
    right = (guess == ids)[places]
    edges = np.array([b for _, b in BANDS[1:]])
    bands = np.searchsorted(edges, model.trie.count[: len(model.vocabulary)], side="right")
    names = np.array([n for n, _ in BANDS])
    groups = group[places]
    several = groups if groups.max() > groups.min() else None
    how: dict[str, Any] = {"by": names[bands[guess[places]]], "bins": bins, "confidence_level": level, "rng": generator}
    top = check_rows(right, np.minimum(np.exp(log_guess[places]), 1.0), groups=several, **how)
    assert isinstance(top, Calibration)
    n_sampled = min(len(places), max(2, events // len(model.vocabulary)))
    sample = np.sort(generator.choice(places, n_sampled, replace=False)) if n_sampled < len(places) else places
    every = _all_words(model, ids, sample, group, bands, level)
    if n_sampled < len(places):
        said = f"All words at {n_sampled:,} of {len(places):,} places, drawn at random (seeded), to keep to {events:,} events."
        every = replace(every, notes=(*every.notes, said))
    top = replace(top, by="frequency in training", of_predicted=True)
    return LanguageCalibration(name, text, float(right.mean()), top, every, len(places), n_sampled)


def _all_words(
    model: LanguageModel, ids: NDArray[np.int32], places: Ints, group: Ints, bands: NDArray[Any], level: float
) -> Calibration:
    """Every word an event at every place, streamed to a sketch a band, and once more to file events by sentence."""
    can = np.ones(len(bands), bool)
    can[BOS] = False
    if not model.has_unknown:
        can[0] = False
    members = {b: np.flatnonzero(can & (bands == b)) for b in range(len(BANDS)) if (can & (bands == b)).any()}

    def stream() -> Iterator[tuple[int, int, NDArray[np.uint8], Floats]]:
        for place in places.tolist():
            probs = np.minimum(model.distribution(_history(model, ids, place)), 1.0)
            true = np.zeros(len(probs), np.uint8)
            true[ids[place]] = 1
            for b, words in members.items():
                yield b, place, true[words], probs[words]

    builders = {b: SketchBuilder() for b in members}
    for b, _, y, q in stream():
        builders[b].add(y, q)
    sketches = {b: made.finish() for b, made in builders.items()}
    whole = reduce(add, sketches.values())
    whole_filer = ClusterBuilder(filing(whole, None, level))
    filers = {b: ClusterBuilder(filing(s, None, level)) for b, s in sketches.items()}
    for b, place, y, q in stream():
        where = np.full(len(q), group[place], np.uint64)
        whole_filer.add(where, y, q)
        filers[b].add(where, y, q)
    made = analyse(whole, confidence_level=level, clusters=whole_filer.finish())
    parts = [
        (BANDS[b][0], analyse(s, confidence_level=level, clusters=filers[b].finish())) for b, s in sketches.items()
    ]
    adjusted = benjamini_hochberg([c.p_value for _, c in parts])
    slices = tuple(Slice(n, c, p) for (n, c), p in zip(parts, adjusted, strict=True))
    return replace(made, by="frequency in training", slices=slices)


def _history(model: LanguageModel, ids: NDArray[np.int32], place: int) -> NDArray[np.int32]:
    """The words before a place that its probability depends on: not beyond the start of the sentence."""
    before = ids[max(0, place - model.order + 1) : place] if model.order > 1 else ids[:0]
    ends = np.flatnonzero(before == 2) if model.frame else np.zeros(0, np.int64)
    return before[int(ends[-1]) + 1 :] if len(ends) else before
