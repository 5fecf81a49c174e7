"""The model of cells: its posterior against a sum over a grid, and what its draws must agree with."""

import numpy as np
import pytest
from scipy.special import expit

from howsure.counting.cells import FREE, FREEDOM, TAU, CellModel, cell_counts, exchangeable, in_time
from howsure.counting.share import share_of_positives


def test_draws_have_the_moments_of_the_posterior_on_a_grid():
    n, k = np.array([[12, 4]]), np.array([[1, 3]])
    s, u = np.linspace(-8, 7, 91), np.linspace(-7, 7, 71)
    a, b, c = np.meshgrid(s, u, u, indexing="ij")
    log = a / 2 - np.logaddexp(0, a)
    for j, effect in enumerate((b, c)):
        log = log + k[0, j] * (a + effect) - n[0, j] * np.logaddexp(0, a + effect)
    mass = np.zeros_like(log)
    for tau, step in zip(TAU, np.gradient(TAU), strict=True):
        # On a grid a narrow prior is a few points: each is given the prior's mass around it.
        prior = (1 + u**2 / (FREEDOM * tau**2)) ** (-(FREEDOM + 1) / 2)
        prior /= prior.sum()
        mass += np.exp(log) * prior[None, :, None] * prior[None, None, :] * step * np.exp(-(tau**2) / 2)
    mass /= mass.sum()
    draws = CellModel(n, k, exchangeable(2)).draws(6_000, np.random.default_rng(1))
    for effect, column in ((b, 1), (c, 2)):
        p = expit(a + effect)
        mean = (mass * p).sum()
        sd = (mass * (p - mean) ** 2).sum() ** 0.5
        drawn = expit(draws[:, 0] + draws[:, column])
        assert drawn.mean() == pytest.approx(mean, abs=5 * sd / 6_000**0.5 + 0.002)
        assert drawn.std() == pytest.approx(sd, rel=0.06)


@pytest.mark.parametrize("effects", [exchangeable(3), in_time(np.arange(3))], ids=["groups", "periods"])
def test_freed_effects_keep_to_their_own_labels(effects):
    """Against weighted draws from the prior, given the same curve; a cell without labels has the law of its prior."""
    n, k = np.array([[20, 900, 0], [15, 6, 0]]), np.array([[2, 40, 0], [12, 6, 0]])
    model = CellModel(n, k, effects)
    x = np.repeat(model.draws(2, np.random.default_rng(1)), 8_000, axis=0)
    free = model.freed(x, np.random.default_rng(2))
    rng = np.random.default_rng(3)
    at = x.shape[1] - 3
    for i in range(2):
        head = x[8_000 * i, :at]
        for c in range(3):
            u, w = FREE * rng.standard_t(FREEDOM, 400_000), FREE * rng.standard_t(FREEDOM, (2, 400_000))
            eta = head[:2, None] + head[2:] @ effects.columns[c] + u + w
            log = (k[:, c, None] * eta - n[:, c, None] * np.logaddexp(0, eta)).sum(0)
            weight = np.exp(log - log.max())
            worth = weight.sum() ** 2 / (weight**2).sum()
            assert worth > 3_000
            for h in range(2):
                order = np.argsort(eta[h])
                below = np.cumsum(weight[order]) / weight.sum()
                drawn = free[8_000 * i : 8_000 * (i + 1), h, c]
                for p in (0.025, 0.25, 0.5, 0.75, 0.975):
                    share = (drawn <= eta[h][order][np.searchsorted(below, p)]).mean()
                    assert share == pytest.approx(p, abs=4.5 * (p * (1 - p) * (1 / 8_000 + 1 / worth)) ** 0.5 + 0.004)


EFFECTS = {
    "groups": exchangeable(6),
    "periods": in_time(np.arange(6)),
    "both": in_time(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1])),
}


def labels(effects):
    rng = np.random.default_rng(2)
    labelled = rng.integers(0, 9, (3, 6))
    labelled[:, 4] = 0
    return labelled, rng.binomial(labelled, 0.3), CellModel(labelled, rng.binomial(labelled, 0.3), effects), rng


@pytest.mark.parametrize("effects", EFFECTS.values(), ids=EFFECTS)
def test_the_mode_has_no_gradient(effects):
    labelled, positive, _, _ = labels(effects)
    model, tau = CellModel(labelled, positive, effects), TAU[6]
    part = model.laplace[6]

    def target(x):
        s, b, u = x[:3], x[3:-6], x[-6:]
        eta = s[:, None] + effects.columns @ b + u
        log = (positive * eta - labelled * np.logaddexp(0, eta)).sum() + (s / 2 - np.logaddexp(0, s)).sum()
        return log - ((effects.fixed + effects.scaled / tau**2) @ b**2 + effects.own * u @ u / tau**2) / 2

    mode = np.concatenate([part.head, part.own])
    moves = np.eye(len(mode)) * 1e-4
    slope = [(target(mode + m) - target(mode - m)) / 2e-4 for m in moves]
    np.testing.assert_allclose(slope, 0, atol=1e-5)
    # Given the head, each u has the variance and the mean of the Hessian.
    at = len(part.head)
    second = [(target(mode + m) - 2 * target(mode) + target(mode - m)) / 1e-8 for m in moves[at:]]
    np.testing.assert_allclose(part.own_error**-2, -np.array(second), rtol=1e-3)


@pytest.mark.parametrize("effects", EFFECTS.values(), ids=EFFECTS)
def test_the_proposals_density_is_one(effects):
    _, _, model, rng = labels(effects)
    part = model.laplace[4]
    head, log = part.heads(20_000, 3, rng)
    # Weighted by it, any density has mass 1: a narrow Gaussian one around the mode.
    away = (head - part.head) / (0.7 * part.error)
    other = -0.5 * (away**2).sum(1) - np.log(0.7 * part.error).sum() - 0.5 * np.log(2 * np.pi) * head.shape[1]
    weight = np.exp(other - log)
    assert weight.mean() == pytest.approx(1, abs=5 * weight.std() / 20_000**0.5)


def test_an_effect_is_integrated_out_as_by_quadrature():
    from scipy.integrate import quad
    from scipy.stats import t as student

    labelled, positive = np.array([[5, 0], [40, 0]]), np.array([[4, 0], [9, 0]])
    model, tau = CellModel(labelled, positive, exchangeable(2)), TAU[5]
    part, head = model.laplace[5], np.array([[-1.0, 0.5]])

    def density(u, power=0):
        eta = head[0] + u
        likelihood = np.exp(positive[:, 0] @ eta - labelled[:, 0] @ np.logaddexp(0, eta) + 40)
        return likelihood * student.pdf(u / tau, FREEDOM) / tau * u**power

    mass, first = (quad(density, -20, 20, args=(power,), points=[-1, 0, 1], limit=200)[0] for power in (0, 1))
    many = np.repeat(head, 5_000, axis=0)
    centre = np.repeat((part.own - (head[0] - part.head) @ part.slope)[None], 5_000, axis=0)
    error = np.repeat(part.own_error[None], 5_000, axis=0)
    log, u = model._effects_given(many, np.full(5_000, tau), centre, error, np.random.default_rng(1))
    constant = student.pdf(0, FREEDOM)
    assert np.ptp(log) < 1e-9
    assert log[0] + 40 + np.log(constant) == pytest.approx(np.log(mass), abs=1e-6)
    assert u[:, 0].mean() == pytest.approx(first / mass, abs=5 * u[:, 0].std() / 5_000**0.5)
    # A cell without a label keeps the prior.
    assert np.quantile(np.abs(u[:, 1]) / tau, 0.95) == pytest.approx(student.ppf(0.975, FREEDOM), rel=0.1)


def table(rng, cells=6, shift=0.0):
    items = rng.integers(200, 400, (4, cells))
    p = expit(np.array([-4.0, -2.0, 0.0, 2.0])[:, None] + shift * np.linspace(-1, 1, cells))
    positives = rng.binomial(items, p)
    labelled = np.maximum(1, items // 25)
    return items, labelled, rng.hypergeometric(positives, items - positives, labelled), positives.sum(0)


def test_the_total_is_that_of_the_share():
    items, labelled, positive, _ = table(np.random.default_rng(3))
    made = cell_counts(items, labelled, positive, in_time(np.arange(6)), rng=np.random.default_rng(0))
    share = share_of_positives(items.sum(1), labelled.sum(1), positive.sum(1))
    assert made.total == share
    low, high = np.quantile(made.counts.sum(1) / items.sum(), [0.025, 0.975])
    assert low == pytest.approx(share.low, abs=0.1 * (share.high - share.low))
    assert high == pytest.approx(share.high, abs=0.1 * (share.high - share.low))


def test_what_is_labelled_is_known():
    items = np.array([[10, 20], [5, 5]])
    positive = np.array([[1, 2], [4, 5]])
    made = cell_counts(items, items, positive, exchangeable(2), rng=np.random.default_rng(0))
    assert (made.counts == positive.sum(0)).all()


def test_a_cell_without_labels_or_without_items_is_no_error():
    items = np.array([[100, 50, 0], [10, 20, 0]])
    labelled = np.array([[10, 0, 0], [5, 0, 0]])
    positive = np.array([[1, 0, 0], [4, 0, 0]])
    made = cell_counts(items, labelled, positive, in_time(np.arange(3)), n_draws=500, rng=np.random.default_rng(0))
    low, high = made.interval()
    assert low[2] == high[2] == 0
    assert high[1] - low[1] > 5
    assert ((made.counts >= positive.sum(0)) & (made.counts <= (items - labelled + positive).sum(0))).all()


@pytest.mark.simulation
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_cells_are_covered(shift):
    rng = np.random.default_rng(4)
    held, n = 0, 40
    for _ in range(n):
        items, labelled, positive, true = table(rng, shift=shift)
        low, high = cell_counts(items, labelled, positive, in_time(np.arange(6)), n_draws=400, rng=rng).interval()
        held += ((low <= true) & (true <= high)).sum()
    assert held / (6 * n) > 0.93 - 3 * (0.07 * 0.93 / (3 * n)) ** 0.5  # cells of one table are not independent


def sampled(seed, odd=None):
    """A sample of 6 cells whose shares follow the strata, but for the cell `odd`."""
    from howsure.counting.sample import stratified
    from howsure.counting.tally import tally_of

    rng = np.random.default_rng(seed)
    q = rng.choice([0.05, 0.3, 0.8], 6_000)
    cell = np.arange(6_000) % 6
    y = rng.random(6_000) < np.where(cell == odd, 1 - q, q)
    names = tuple((str(c),) for c in range(6))
    return stratified(tally_of(q, y.astype(np.uint8), rng.random(6_000) < 0.06, cell, names)), names


def test_held_out_labels_are_predicted_or_the_odd_cell_is_named():
    from howsure.counting.checks import held_out

    names = tuple("abcdef")
    odd = held_out(sampled(1, odd=2)[0], exchangeable(6), names, np.random.default_rng(0))
    assert odd.worst == "c"
    assert odd.worst_p_value < 0.01
    ps = [held_out(sampled(s)[0], exchangeable(6), names, np.random.default_rng(s)).p_value for s in range(2, 12)]
    assert min(ps) > 0.001
    assert max(ps) > 0.3
