"""Strata and samples: laws that hold for any probabilities and any number of labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.counting.design import LEAST_IN_CELL, Strata, allocation, cell_plan, label_weights, systematic_sample
from howsure.counting.strata import merged_strata, strata_of, stratum_edges

probabilities = st.lists(
    st.sampled_from([0.0, 1e-300, 0.01, 0.1, 0.3, 0.5, 0.5, 0.9, 0.999, 1.0]), min_size=1, max_size=60
)


def strata(q):
    values, counts = np.unique(q, return_counts=True)
    return strata_of(np.asarray(q), stratum_edges(values, counts))


@given(probabilities)
def test_equal_probabilities_stay_together_in_order(q):
    h = strata(q)
    order = np.argsort(q, kind="stable")
    assert (np.diff(h[order]) >= 0).all()
    for value in set(q):
        assert len(set(h[np.asarray(q) == value])) == 1


@given(probabilities)
def test_nothing_found_is_a_stratum_of_its_own(q):
    h = strata(q)
    zero = np.asarray(q) == 0
    if zero.any() and not zero.all():
        assert not set(h[zero]) & set(h[~zero])


@given(probabilities)
def test_every_stratum_has_items(q):
    h = strata(q)
    assert (np.bincount(h) > 0).all()
    assert h.max() <= 4


def test_strata_have_equal_shares_of_doubt():
    q = np.random.default_rng(0).beta(0.4, 3, 20_000)
    doubt = np.bincount(strata(q), np.sqrt(q * (1 - q) + 0.001))
    assert len(doubt) == 4
    np.testing.assert_allclose(doubt / doubt.sum(), 0.25, atol=0.001)


@st.composite
def tables(draw):
    size = draw(st.integers(1, 6))
    items = np.array(draw(st.lists(st.integers(1, 500), min_size=size, max_size=size)))
    labelled = np.array([draw(st.integers(0, int(i))) for i in items])
    positive = np.array([draw(st.integers(0, int(n))) for n in labelled])
    return Strata(items, np.sort(np.random.default_rng(size).random(size)), labelled, positive)


@given(tables(), st.integers(0, 400))
def test_an_allocation_adds_up_and_fits(table, n):
    more = allocation(table, n)
    assert (more >= 0).all()
    assert (table.labelled + more <= table.items).all()
    assert more.sum() == min(n, (table.items - table.labelled).sum())


def test_labels_go_where_they_tell_most():
    table = Strata(np.array([9_000, 1_000]), np.array([0.001, 0.5]), np.array([0, 0]), np.array([0, 0]))
    n = allocation(table, 100)
    expected = table.items * np.sqrt(table.mean_prob * (1 - table.mean_prob) + 0.03)
    np.testing.assert_allclose(n / 100, expected / expected.sum(), atol=0.01)


def test_labels_of_tiny_strata_are_few_if_they_are_dear():
    """If the model is useless, an interval is not much wider than that of as many random labels."""
    for tiny, wanted in ((400, 4), (25, 1)):
        items = np.array([10_000 - 4 * tiny, *[tiny] * 4])
        none = np.zeros(5, np.int64)
        n = allocation(Strata(items, np.array([0, 0.1, 0.3, 0.5, 0.8]), none, none), 50)
        assert n.min() == wanted
        assert n.sum() * ((items / items.sum()) ** 2 / n).sum() < 1.15
    # Of larger samples even tiny strata get four.
    assert allocation(Strata(items, np.array([0, 0.1, 0.3, 0.5, 0.8]), none, none), 400).min() == 4


def test_labels_have_a_say_once_there_are_forty():
    few = Strata(np.array([5_000, 5_000]), np.array([0.1, 0.9]), np.array([10, 10]), np.array([5, 5]))
    many = Strata(few.items, few.mean_prob, np.array([50, 50]), np.array([0, 25]))
    assert label_weights(few)[0] == pytest.approx(label_weights(few)[1])
    assert label_weights(many)[1] > 1.3 * label_weights(many)[0]


def test_a_systematic_sample_is_even_in_time_and_has_known_inclusion_probabilities():
    rng = np.random.default_rng(1)
    stratum, day = rng.integers(0, 2, 400), rng.integers(0, 10, 400)
    n = np.array([20, 50])
    seen = np.zeros(400)
    for _ in range(2_000):
        drawn = systematic_sample(stratum, n, day, rng)
        assert len(drawn) == len(set(drawn)) == 70
        assert (np.bincount(stratum[drawn]) == n).all()
        seen[drawn] += 1
    size = np.bincount(stratum)
    expected = (n / size)[stratum]
    z = (seen / 2_000 - expected) / np.sqrt(expected * (1 - expected) / 2_000)
    assert np.abs(z).max() < 4.5
    one = systematic_sample(stratum, n, day, rng)
    per_day = np.bincount(day[one][stratum[one] == 1], minlength=10)
    share = np.bincount(day[stratum == 1], minlength=10) * 50 / size[1]
    assert np.abs(per_day - share).max() <= 2


def test_strata_with_too_few_labels_join_a_neighbour():
    items = np.array([100, 100, 100, 100])
    assert merged_strata(items, np.array([5, 5, 5, 5])).tolist() == [0, 1, 2, 3]
    assert merged_strata(items, np.array([0, 5, 9, 5])).tolist() == [0, 0, 1, 2]
    assert merged_strata(items, np.array([5, 1, 9, 5])).tolist() == [0, 0, 1, 2]
    assert merged_strata(items, np.array([0, 0, 0, 0])).tolist() == [0, 0, 0, 0]
    assert merged_strata(np.array([1, 100]), np.array([1, 5])).tolist() == [0, 1]


@given(st.integers(0, 10_000), st.integers(0, 300))
def test_a_plan_for_cells_adds_up_and_fits(seed, n):
    rng = np.random.default_rng(seed)
    items = rng.integers(0, 400, (3, int(rng.integers(1, 9)))) * rng.integers(0, 2, (3, 1))
    labelled = rng.binomial(items, 0.1)
    plan = cell_plan(items, labelled, rng.binomial(labelled, 0.3), np.array([0.01, 0.2, 0.7]), n, rng)
    assert (plan.wanted >= 0).all()
    assert (labelled + plan.wanted <= items).all()
    assert plan.wanted.sum() == min(n, (items - labelled).sum())
    assert (plan.inclusion[items > 0] <= 1).all()


@pytest.mark.simulation
def test_small_cells_get_a_few_labels_with_known_inclusion_probabilities():
    rng = np.random.default_rng(3)
    items = np.array([[30, 4_000, 2_000, 600], [10, 900, 1_500, 80]])
    none, mean, runs = np.zeros_like(items), np.array([0.02, 0.6]), 1_500
    seen = np.zeros(items.shape)
    for _ in range(runs):
        plan = cell_plan(items, none, none, mean, 100, rng)
        assert plan.apart.tolist() == [True, False, False, False]
        assert (plan.wanted.sum(0) >= LEAST_IN_CELL - 1).all()
        assert plan.wanted[:, 0].sum() == LEAST_IN_CELL
        seen += plan.wanted
    expected = plan.inclusion * items
    assert np.abs(seen / runs - expected).max() < 4.5 * np.sqrt(0.25 / runs)
    # A later batch keeps such a cell apart, and takes nothing back.
    later = cell_plan(items, plan.wanted, none, mean, 400, rng, plan.apart)
    assert later.apart[0]
    assert (later.inclusion[:, 0] >= plan.inclusion[:, 0]).all()
