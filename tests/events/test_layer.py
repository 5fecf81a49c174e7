"""The event layer: the mode against another optimiser, laws of its counts, and bands that hold what they say."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from howsure.events.frame import FEATURES
from howsure.events.layer import Pairs, Prior, cell_draws, fitted_layer, shipped_prior, word_coordinates

K = len(FEATURES)


def prior(spread=0.3, **changes):
    sds = {"actor": 0.5, "period": 0.3, "cell": 0.2, "words": 1.0} | changes
    mean = np.zeros(K + 1)
    mean[0], mean[1] = -1.5, 1.0
    return Prior(np.zeros(K), np.ones(K), mean, np.full(K + 1, spread), **sds, measured={})


def some_pairs(rng, n, actors=3, periods=4, words=0):
    return Pairs(
        rng.random((n, K)),
        rng.integers(actors, size=n),
        rng.integers(periods, size=n),
        rng.normal(size=(n, words)),
    )


def test_the_mode_is_that_of_another_optimiser():
    rng = np.random.default_rng(1)
    pairs, given_prior = some_pairs(rng, 60, words=3), prior()
    y = (rng.random(60) < 0.4).astype(float)
    layer = fitted_layer(given_prior, pairs, y)
    x = layer.design(pairs)
    mean = np.zeros(x.shape[1])
    mean[: K + 1] = given_prior.mean
    sd = np.concatenate([given_prior.spread, np.full(3, 0.5), np.full(4, 0.3), np.full(3, 1.0)])

    def loss(w):
        eta = x @ w
        return np.sum(np.logaddexp(0, eta) - y * eta) + 0.5 * np.sum(((w - mean) / sd) ** 2)

    other = minimize(loss, mean, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(layer.mode, other.x, atol=2e-4)
    p = expit(x @ layer.mode)
    precision = (x * (p * (1 - p))[:, None]).T @ x + np.diag(1 / sd**2)
    np.testing.assert_allclose(layer.root @ layer.root.T @ precision, np.eye(len(mean)), atol=1e-8)


def test_without_labels_the_layer_is_its_prior():
    pairs = some_pairs(np.random.default_rng(2), 5)
    layer = fitted_layer(prior(), pairs.some(np.zeros(0, np.int64)), np.zeros(0))
    np.testing.assert_array_equal(layer.mode, prior().mean)
    assert layer.n_labels == 0


@given(st.integers(0, 1_000), st.integers(1, 40))
@settings(max_examples=20, deadline=None)
def test_counts_lie_between_what_is_known_and_what_could_be(seed, n):
    rng = np.random.default_rng(seed)
    pairs = some_pairs(rng, n)
    known = np.where(rng.random(n) < 0.3, (rng.random(n) < 0.5).astype(float), np.nan)
    layer = fitted_layer(prior(), pairs.some(np.zeros(0, np.int64)), np.zeros(0))
    for (actor, period), cell in cell_draws(layer, pairs, known, {0: "A", 1: "B", 2: "C"}, 50, seed).items():
        here = known[(pairs.actor == actor) & (pairs.period == period)]
        assert np.nansum(here) <= cell.drawn.min()
        assert cell.drawn.max() <= np.nansum(here) + np.isnan(here).sum()
        made = cell.band()
        low, high = made.intervals[0.95]
        assert low <= made.intervals[0.5][0] <= made.intervals[0.5][1] <= high
        assert all(v >= 0 for v in made.parts.values())
        assert sum(made.parts.values()) == pytest.approx(1.0) or not any(made.parts.values())


def test_an_actors_draws_do_not_depend_on_the_others():
    rng = np.random.default_rng(3)
    pairs, none = some_pairs(rng, 30), np.full(30, np.nan)
    layer = fitted_layer(prior(), pairs.some(np.zeros(0, np.int64)), np.zeros(0))
    names = {0: "A", 1: "B", 2: "C"}
    alone = np.flatnonzero(pairs.actor == 1)
    every = cell_draws(layer, pairs, none, names, 50, 7)
    for at, cell in cell_draws(layer, pairs.some(alone), none[alone], names, 50, 7).items():
        np.testing.assert_array_equal(cell.drawn, every[at].drawn)


def test_bands_cover_counts_that_the_model_makes():
    """200 worlds drawn from the prior, 95% bands without labels: coverage is at least nominal less three standard errors."""
    rng = np.random.default_rng(4)
    truth_prior, inside, cells = prior(0.2), 0, 0
    for world in range(200):
        pairs = some_pairs(rng, 40, actors=1, periods=2)
        w = truth_prior.mean + truth_prior.spread * rng.normal(size=K + 1)
        shift = rng.normal(0, 0.5) + rng.normal(0, 0.3, 2)[pairs.period] + rng.normal(0, 0.2, 2)[pairs.period]
        y = rng.random(40) < expit(w[0] + pairs.features @ w[1:] + shift)
        layer = fitted_layer(truth_prior, pairs.some(np.zeros(0, np.int64)), np.zeros(0))
        for (_, period), cell in cell_draws(layer, pairs, np.full(40, np.nan), {0: "A"}, 400, world).items():
            low, high = cell.band().intervals[0.95]
            inside += low <= y[pairs.period == period].sum() <= high
            cells += 1
    assert inside / cells >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)


def test_parts_of_a_sum_follow_what_its_cells_share():
    """Shares of the variance of a year's count against a simulation that redraws one source at a time."""
    rng = np.random.default_rng(6)
    pairs = some_pairs(rng, 60, actors=1, periods=6)
    wide = prior(0.2, actor=0.6, period=0.0, cell=0.0)
    layer = fitted_layer(wide, pairs.some(np.zeros(0, np.int64)), np.zeros(0))
    cells = cell_draws(layer, pairs, np.full(60, np.nan), {0: "A"}, 20_000, 0)
    total = reduce(add, cells.values()).band()
    w = wide.mean + wide.spread * rng.normal(size=(20_000, K + 1))
    x = np.hstack([np.ones((60, 1)), pairs.features])
    p = expit(x @ w.T + rng.normal(0, 0.6, 20_000))
    outcomes, weights, both = (p * (1 - p)).sum(axis=0).mean(), expit(x @ w.T).sum(axis=0).var(), p.sum(axis=0).var()
    said = total.parts["coreference"] + total.parts["outcomes"]
    assert said == pytest.approx(outcomes / (outcomes + both), rel=0.05)
    assert total.parts["layer"] == pytest.approx(weights / (outcomes + both), rel=0.05)
    assert total.parts["effects"] == pytest.approx((both - weights) / (outcomes + both), rel=0.05)
    assert total.sd == pytest.approx(np.sqrt(outcomes + both), rel=0.05)
    # An actor's shift is the same in all periods, so that it matters more for the sum than for one of them.
    assert total.parts["effects"] > max(c.band().parts["effects"] for c in cells.values())


def test_words_lie_on_the_axes_of_their_table():
    rows = [[1, 2], [2, 3], [], [1, 2, 3]]
    made = word_coordinates(rows)
    table = np.zeros((4, 4))
    for i, r in enumerate(rows):
        table[i, r] = 1 / np.sqrt(max(len(r), 1))
    np.testing.assert_allclose(made @ made.T, table @ table.T, atol=1e-9)


def test_the_shipped_prior_has_a_weight_for_every_feature():
    shipped = shipped_prior()
    assert len(shipped.mean) == len(shipped.spread) == K + 1
    assert len(shipped.centre) == len(shipped.scale) == K
    assert set(shipped.measured) == {"attack", "violence"}
