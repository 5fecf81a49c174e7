"""The event layer: P(the document reports that this actor did it), and counts from joint draws of everything that is uncertain.

A logistic regression on named features (`frame.FEATURES`), hashed words of the sentences that name the actor, and effects of actors and
periods, with a normal prior on every coefficient. The prior of the features ships; a user's labels move it. The posterior is
normal around its mode (Laplace). Counts are drawn jointly: coefficients, effects, then the documents' outcomes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any
from zlib import crc32

import numpy as np

from howsure.events.frame import FEATURES, WORDS
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.special import expit

AXES = 60  # coordinates of words, of each kind
DRAWS = 1_000
LEVELS = (0.5, 0.8, 0.95)


@dataclass(frozen=True, slots=True)
class Prior:
    """Mean and sd of the intercept and of the weight of each feature (in units of `scale` from `centre`); sds of the effects."""

    centre: Floats
    scale: Floats
    mean: Floats
    spread: Floats
    actor: float
    period: float
    cell: float
    words: float
    measured: Mapping[str, Any]

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Prior:
        arrays: dict[str, Any] = {k: np.array(given[k], np.float64) for k in ("centre", "scale", "mean", "spread")}
        return cls(**arrays, **{k: given[k] for k in ("actor", "period", "cell", "words", "measured")})


@cache
def shipped_prior() -> Prior:
    """The prior that comes with the package, trained on MUC's development documents."""
    path = files("howsure.data") / "event_layer.json"
    return Prior.from_dict(json.loads(path.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of the frame in columns; `actor` and `period` are numbers, `words` are coordinates (`word_coordinates`)."""

    features: Floats
    actor: Ints
    period: Ints
    words: Floats

    def __len__(self) -> int:
        return len(self.actor)

    def some(self, rows: Ints) -> Pairs:
        """These rows alone."""
        return Pairs(self.features[rows], self.actor[rows], self.period[rows], self.words[rows])


def word_coordinates(*kinds: Sequence[Sequence[int]]) -> Floats:
    """Hashed words of each row, of each kind, on the main axes of all rows: labelled or not, they say which words go together."""
    from scipy.sparse import csr_matrix

    made = []
    for rows in kinds:
        ends = np.cumsum([0, *(len(r) for r in rows)])
        size = np.maximum(np.diff(ends), 1)
        values = np.repeat(1 / np.sqrt(size), np.diff(ends))
        bins = np.fromiter((b for r in rows for b in r), np.int64, int(ends[-1]))
        table = csr_matrix((values, bins, ends), shape=(len(rows), WORDS))
        _, axes = np.linalg.eigh((table.T @ table).toarray())
        made.append(np.asarray(table @ axes[:, -AXES:]))
    return np.hstack(made)


@dataclass(frozen=True, slots=True)
class Layer:
    """A normal posterior of the coefficients: intercept and features, then actors, periods and words that labels speak of."""

    prior: Prior
    actors: tuple[int, ...]  # with an effect of their own; the others' are drawn from the prior
    periods: tuple[int, ...]
    with_words: bool
    mode: Floats
    root: Floats  # covariance = root rootᵀ
    n_labels: int = 0
    n_positive: int = 0

    def design(self, pairs: Pairs) -> Floats:
        """The columns of the regression for these rows."""
        z = np.clip((pairs.features - self.prior.centre) / self.prior.scale, -6.0, 6.0)
        parts = [np.ones((len(pairs), 1)), z]
        for own, known in ((pairs.actor, self.actors), (pairs.period, self.periods)):
            parts.append((own[:, None] == np.array(known, np.int64)[None, :]).astype(np.float64))
        if self.with_words:
            parts.append(pairs.words)
        return np.hstack(parts)

    def probability(self, pairs: Pairs) -> Floats:
        """At the mode."""
        if not len(pairs):
            return np.zeros(0)
        return np.asarray(expit(self.design(pairs) @ self.mode))

    def weights(self) -> dict[str, tuple[float, float]]:
        """The weight of each feature and its sd, by name: "intercept" first."""
        sd = np.sqrt((self.root**2).sum(axis=1))
        names = ("intercept", *FEATURES)
        return {n: (float(self.mode[i]), float(sd[i])) for i, n in enumerate(names)}


def fitted_layer(prior: Prior, pairs: Pairs, y: Floats) -> Layer:
    """The posterior given labelled pairs; without any, the prior."""
    if not len(y):
        return Layer(prior, (), (), False, prior.mean, np.diag(prior.spread))
    actors, periods = (tuple(np.unique(v).tolist()) for v in (pairs.actor, pairs.period))
    n_words = pairs.words.shape[1]
    sd = np.repeat([prior.actor, prior.period, prior.words], [len(actors), len(periods), n_words])
    start = np.concatenate([prior.mean, np.zeros(len(sd))])
    empty = Layer(prior, actors, periods, n_words > 0, start, np.zeros((0, 0)), len(y), int(y.sum()))
    mode, precision = _newton(empty.design(pairs), y, start, 1.0 / np.concatenate([prior.spread, sd]) ** 2)
    # covariance = precision⁻¹ = L⁻ᵀ L⁻¹ for precision = L Lᵀ
    return replace(empty, mode=mode, root=np.linalg.inv(np.linalg.cholesky(precision)).T)


def _newton(x: Floats, y: Floats, mean: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """The mode of a logistic regression with a normal prior, and the precision there (Newton with halved steps)."""
    w = mean.copy()

    def loss(at: Floats) -> float:
        eta = x @ at
        return float(np.sum(np.logaddexp(0.0, eta) - y * eta) + 0.5 * np.sum(precision * (at - mean) ** 2))

    def curvature(p: Floats) -> Floats:
        return np.asarray((x * (p * (1 - p))[:, None]).T @ x + np.diag(precision))

    here = loss(w)
    for _ in range(100):
        p = np.asarray(expit(x @ w))
        step = np.linalg.solve(curvature(p), x.T @ (p - y) + precision * (w - mean))
        size = 1.0
        while (there := loss(w - size * step)) > here + 1e-12 and size > 1e-6:
            size /= 2
        w, moved, here = w - size * step, float(np.max(np.abs(size * step))), there
        if moved < 1e-8:
            break
    return w, curvature(np.asarray(expit(x @ w)))


PARTS = ("coreference", "outcomes", "layer", "effects")


@dataclass(frozen=True, slots=True)
class Band:
    """A count of documents in one cell: mean, sd, quantile intervals, and the shares of the variance by where it comes from.

    `parts`: coreference (who is who), outcomes (what a document says, given its probability), layer (weights of the features),
    effects (shifts of the actor and the period).
    """

    mean: float
    sd: float
    intervals: dict[float, tuple[int, int]]
    parts: dict[str, float]


def joint_draws(layer: Layer, n_draws: int, seed: int) -> Floats:
    """Coefficients, one row a draw."""
    z = np.random.default_rng([seed, 1]).normal(size=(n_draws, len(layer.mode)))
    return np.asarray(layer.mode + z @ layer.root.T)


def cell_draws(
    layer: Layer, pairs: Pairs, known: Floats, names: Mapping[int, str], n_draws: int = DRAWS, seed: int = 0
) -> dict[tuple[int, int], tuple[Floats, dict[str, float]]]:
    """Draws of the count of each cell (actor, period), and the parts of its variance; `known` is the label of a pair, or NaN.

    An actor's own draws follow from the seed and its name, whichever other actors there are; a period's shift is shared by
    all actors.
    """
    coefficients = joint_draws(layer, n_draws, seed)
    k, at_q = len(layer.prior.mean), list(FEATURES).index("q")
    made = {}
    shifts = {
        int(t): np.random.default_rng([seed, 2, int(t) + 1_000_000]).normal(0.0, layer.prior.period, n_draws)
        for t in np.unique(pairs.period)
        if int(t) not in layer.periods
    }
    for actor in np.unique(pairs.actor).tolist():
        rng = np.random.default_rng([seed, 3, crc32(names[actor].encode())])
        own = rng.normal(0.0, layer.prior.actor, n_draws) if actor not in layer.actors else np.zeros(n_draws)
        rows = np.flatnonzero(pairs.actor == actor)
        for period in np.unique(pairs.period[rows]).tolist():
            here = rows[pairs.period[rows] == period]
            free = here[np.isnan(known[here])]
            fixed = float(np.nansum(known[here]))
            shift = own + shifts.get(period, 0.0) + rng.normal(0.0, layer.prior.cell, n_draws)
            if not len(free):
                made[actor, period] = (np.full(n_draws, fixed), dict.fromkeys(PARTS, 0.0))
                continue
            x = layer.design(pairs.some(free))
            p = np.asarray(expit(x @ coefficients.T + shift))
            drawn = (rng.random(p.shape) < p).sum(axis=0) + fixed
            q = pairs.features[free, at_q]
            both = []
            for value in (0.0, 1.0):
                changed = x.copy()
                changed[:, 1 + at_q] = (value - layer.prior.centre[at_q]) / layer.prior.scale[at_q]
                both.append(np.asarray(expit(changed @ layer.mode)))
            coreference = float(np.sum(q * (1 - q) * (both[1] - both[0]) ** 2))
            outcomes = float(np.mean(np.sum(p * (1 - p), axis=0)))
            of_layer = coefficients.copy()
            of_layer[:, k:] = layer.mode[k:]
            weights = float(np.var(np.sum(expit(x @ of_layer.T), axis=0)))
            all_of_it = float(np.var(np.sum(p, axis=0)))
            said = min(coreference, outcomes), max(outcomes - coreference, 0.0)
            shifted = min(weights, all_of_it), max(all_of_it - weights, 0.0)
            made[actor, period] = drawn, dict(zip(PARTS, said + shifted, strict=True))
    return made


def band(drawn: Floats, parts: Mapping[str, float]) -> Band:
    """Summary numbers of a cell's draws."""
    intervals = {
        level: tuple(int(v) for v in np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf"))
        for level in LEVELS
    }
    total = sum(parts.values())
    shares = {k: (v / total if total > 0 else 0.0) for k, v in parts.items()}
    return Band(float(drawn.mean()), float(drawn.std()), intervals, shares)  # type: ignore[arg-type]
