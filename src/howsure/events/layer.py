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

from howsure._result import Sums
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
        values = np.repeat(1 / np.sqrt(np.maximum(np.diff(ends), 1)), np.diff(ends))
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
class Cell(Sums):
    """Draws of a count of documents, of one actor in one period; cells of an actor can be added up.

    Given the coefficients and shifts of a draw the count is expected to be `expected`, given the features' weights alone
    `by_weights`. `coreference` and `outcomes` are variances that add up over documents: of what the answer would be if it were known who is
    who, and of the documents' outcomes.
    """

    drawn: Floats
    expected: Floats
    by_weights: Floats
    coreference: float = 0.0
    outcomes: float = 0.0

    def band(self) -> Band:
        """Summary numbers."""
        ends = [(1 + side * level) / 2 for level in LEVELS for side in (-1, 1)]
        q = np.quantile(self.drawn, ends, method="inverted_cdf").astype(int).tolist()
        weights, shifted = float(np.var(self.by_weights)), float(np.var(self.expected))
        said = min(self.coreference, self.outcomes), max(self.outcomes - self.coreference, 0.0)
        parts = (*said, min(weights, shifted), max(shifted - weights, 0.0))
        shares = {k: v / (sum(parts) or 1.0) for k, v in zip(PARTS, parts, strict=True)}
        intervals = dict(zip(LEVELS, zip(q[::2], q[1::2], strict=True), strict=True))
        return Band(float(self.drawn.mean()), float(self.drawn.std()), intervals, shares)


@dataclass(frozen=True, slots=True)
class Band:
    """A count of documents: mean, sd, quantile intervals, and the shares of the variance by where it comes from.

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
) -> dict[tuple[int, int], Cell]:
    """Draws of the count of each cell (actor, period); `known` is the label of a pair, or NaN.

    An actor's own draws follow from the seed and its name, whichever other actors there are; a period's shift is shared by
    all actors.
    """
    coefficients = joint_draws(layer, n_draws, seed)
    k, at_q = len(layer.prior.mean), 1 + list(FEATURES).index("q")
    of_layer = coefficients.copy()
    of_layer[:, k:] = layer.mode[k:]
    shifts = {
        int(t): np.random.default_rng([seed, 2, int(t) + 1_000_000]).normal(0.0, layer.prior.period, n_draws)
        for t in np.unique(pairs.period)
        if int(t) not in layer.periods
    }
    made = {}
    for actor in np.unique(pairs.actor).tolist():
        rng = np.random.default_rng([seed, 3, crc32(names[actor].encode())])
        own = rng.normal(0.0, layer.prior.actor, n_draws) if actor not in layer.actors else np.zeros(n_draws)
        rows = np.flatnonzero(pairs.actor == actor)
        rows = rows[np.argsort(pairs.period[rows], kind="stable")]
        x, label, period = layer.design(pairs.some(rows)), known[rows], pairs.period[rows]
        q = pairs.features[rows, at_q - 1]
        # By how much the probability would differ if it were known that the actor is the agent, or is not.
        step = 1.0 / layer.prior.scale[at_q - 1] * layer.mode[at_q]
        without = x @ layer.mode - q * step
        doubt = q * (1 - q) * (expit(without + step) - expit(without)) ** 2
        for at in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(period)) + 1):
            free, t = at[np.isnan(label[at])], int(period[at[0]])
            shift = own + shifts.get(t, 0.0) + rng.normal(0.0, layer.prior.cell, n_draws)
            p = np.asarray(expit(x[free] @ coefficients.T + shift))
            drawn = (rng.random(p.shape) < p).sum(axis=0) + np.nansum(label[at])
            variances = float(doubt[free].sum()), float(np.mean(np.sum(p * (1 - p), axis=0)))
            made[actor, t] = Cell(drawn, p.sum(axis=0), expit(x[free] @ of_layer.T).sum(axis=0), *variances)
    return made
