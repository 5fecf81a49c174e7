"""What is counted for `--predictive`: statistics of gold and of samples from the posterior of a tagger, parser or coreference model."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from howsure.evaluation.predictive import PredictiveStatistic, Tally, predictive_statistic
from howsure.kernels.cells import Ints
from howsure.posteriors.antecedents import AntecedentPosterior
from howsure.posteriors.chain import ChainPosterior
from howsure.posteriors.mixture import drawn

FARTHEST, LARGEST = 40, 20  # from here on, lengths and sizes are one category


def of_tags(posterior: ChainPosterior, gold: Ints, n: int, rng: np.random.Generator) -> tuple[PredictiveStatistic, ...]:
    """How often each tag is used, and how long runs of one tag (of B-, I- tags: spans) are."""
    rows = np.vstack([gold[None], posterior.samples(n, rng)]).astype(np.int64)
    kinds = sorted({t.partition("-")[2] or t for t in posterior.tags})
    kind = np.array([*(kinds.index(t.partition("-")[2] or t) for t in posterior.tags), -1])[rows]
    begins = np.array([*(t.startswith("B-") for t in posterior.tags), False])[rows]
    begins[:, 1:] |= kind[:, 1:] != kind[:, :-1]
    begins[:, posterior.starts[:-1]] = True
    spans = any(t.startswith("B-") for t in posterior.tags)
    counted = kind != (kinds.index("O") if spans and "O" in kinds else -2)
    tally = Tally(n)
    tally.add("tag", list(rows), posterior.tags)
    lengths = []
    for row, keep in zip(begins, counted, strict=True):
        at = np.flatnonzero(row)
        lengths.append(np.diff(np.append(at, len(row)))[keep[at]])
    tally.add("length of spans" if spans else "length of runs of one tag", lengths, most=LARGEST)
    return tally.statistics()


def see_arcs(tally: Tally, p: Any, heads: Ints, labels: Ints, rng: np.random.Generator) -> None:
    """Labels, lengths of arcs, and the number of a word's dependents, of one sentence."""
    made = drawn(p, tally.n, rng)
    rows = np.array([heads, *(t.heads for t in made)])
    tally.add("label", [labels, *(t.labels for t in made)], p.labels)
    tally.add("length of arcs (0: root)", np.where(rows == 0, 0, np.abs(rows - np.arange(1, p.n + 1))), most=FARTHEST)
    children = (rows[:, :, None] == np.arange(1, p.n + 1)).sum(axis=1)
    tally.add("dependents of a word", children, most=LARGEST)


def see_spans(tally: Tally, p: Any, spans: Any, rng: np.random.Generator) -> None:
    """Labels and lengths of constituents, and their number, of one sentence."""
    made = [spans, *(t.spans for t in p.samples(tally.n, rng))]
    code = {name: k for k, name in enumerate(p.grammar.labels)}
    tally.add("label", [[code.get(x, -1) for _, _, x in t] for t in made], p.grammar.labels)
    tally.add("length of constituents", [[z - a for a, z, _ in t] for t in made], most=FARTHEST)
    tally.add("constituents of a sentence", [[len(t)] for t in made], most=FARTHEST)


def of_entities(
    posteriors: Sequence[AntecedentPosterior], gold: Sequence[Ints], n: int, rng: np.random.Generator | int | None
) -> tuple[PredictiveStatistic, ...]:
    """Sizes of entities, and the number of entities of each document."""
    tally, numbers = Tally(n), []
    for p, e in zip(posteriors, gold, strict=True):
        sizes = [np.unique(row, return_counts=True)[1] for row in (e, *p.samples(n, rng))]
        tally.add("mentions of an entity", sizes, most=LARGEST)
        numbers.append([len(s) for s in sizes])
    seen, *sampled = np.array(numbers).T
    return *tally.statistics(), predictive_statistic(
        "entities by document", [p.name for p in posteriors], seen, sampled
    )
