"""Splits: every row once, groups whole, dates in order, sizes near the proportions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import howsure
from howsure.evaluation.splits import dealt, quotas, split_dates

shares = st.lists(st.integers(1, 9), min_size=2, max_size=5)


def named(weights):
    return {f"p{i}": w for i, w in enumerate(weights)}


@given(st.integers(20, 300), shares, st.integers(0, 1000))
def test_rows_are_dealt_exactly(n, weights, seed):
    made = howsure.split(n, parts=named(weights), rng=seed)
    share = np.array(weights) / sum(weights)
    sizes = np.array(list(made.sizes.values()))
    assert sizes.sum() == n
    assert (np.abs(sizes - n * share) < 1).all()
    assert np.array_equal(np.sort(np.concatenate([made.rows(p) for p in made.names])), np.arange(n))


@given(st.integers(1, 200), shares)
def test_every_run_is_in_proportion(n, weights):
    share = np.array(weights) / sum(weights)
    parts = dealt(n, share)
    assert np.bincount(parts, minlength=len(share)).tolist() == quotas(n, share).tolist()
    running = np.cumsum(parts[:, None] == np.arange(len(share)), axis=0)
    wanted = np.arange(1, n + 1)[:, None] * quotas(n, share) / n
    assert (np.abs(running - wanted) <= 1 + 1e-9).all()


@given(st.integers(0, 1000), shares, st.integers(1, 5))
def test_strata_are_in_proportion(seed, weights, k):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=150)
    made = howsure.split(150, parts=named(weights), stratify=labels, rng=seed)
    wanted = np.outer(np.array(weights) / sum(weights), np.bincount(labels)[np.unique(labels)])
    assert (np.abs(made.label_counts - wanted) <= 3).all()


@given(st.integers(0, 10_000), shares, st.integers(10, 40))
def test_no_group_is_on_both_sides_and_row_order_makes_no_difference(seed, weights, n_groups):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(n_groups), rng.integers(n_groups, size=120)])
    names = np.array([f"author {g}" for g in groups])
    made = howsure.split(len(groups), parts=named(weights), groups=names, rng=seed)
    assert (made.part >= 0).all()
    for g in range(n_groups):
        assert len(np.unique(made.part[groups == g])) == 1
    assert sum(made.n_groups) == n_groups
    largest = np.bincount(groups).max()
    wanted = len(groups) * np.array(weights) / sum(weights)
    # A part that would be empty takes a group from another: one size more at most for each of them.
    slack = largest * (1 + np.sum(wanted < largest))
    assert (np.abs(np.array(list(made.sizes.values())) - wanted) <= slack + 1e-9).all()
    order = rng.permutation(len(groups))
    again = howsure.split(len(groups), parts=named(weights), groups=names[order], rng=seed)
    assert np.array_equal(again.part, made.part[order])


def test_other_seeds_give_other_splits_and_labels_balance():
    rng = np.random.default_rng(0)
    groups, labels = rng.integers(60, size=600), rng.integers(3, size=600)
    splits = [howsure.split(600, groups=groups, rng=s).part for s in (1, 2, 1)]
    assert not np.array_equal(splits[0], splits[1])
    assert np.array_equal(splits[0], splits[2])
    labels = (groups % 3 == 0).astype(int)  # a label is a group's own
    made = howsure.split(600, groups=groups, stratify=labels, rng=0)
    share = made.label_counts[:, 1] / made.label_counts.sum(axis=1)
    assert share == pytest.approx(np.full(3, labels.mean()), abs=0.12)


@given(st.integers(0, 10_000), shares, st.booleans())
def test_dates_are_in_order(seed, weights, grouped):
    rng = np.random.default_rng(seed)
    n = 200
    date = rng.integers(0, 60, size=n)
    groups = rng.integers(0, 50, size=n) if grouped else None
    try:
        made = howsure.split(n, parts=named(weights), date=date, groups=groups)
    except howsure.InputError as error:
        if grouped and "would be empty" in str(error):
            return  # every group is the largest share of some other part
        raise
    kept = made.part >= 0
    for earlier in range(len(weights) - 1):
        assert date[made.part == earlier].max() < date[made.part == earlier + 1].min()
    if grouped:
        assert all(len(np.unique(made.part[(groups == g) & kept])) <= 1 for g in range(50))
        assert (~kept).sum() == sum(made.left_out.values())
    else:
        assert kept.all()
        off = np.abs(np.array(list(made.sizes.values())) - n * np.array(weights) / sum(weights))
        assert (off <= np.bincount(date).max() + 1e-9).all()


def test_dates_are_cut_where_it_is_nearest():
    assert split_dates(np.array([0, 0, 0, 1, 2, 2]), np.array([0.5, 0.5])).tolist() == [0, 0, 0, 1, 1, 1]
    assert split_dates(np.array([0, 0, 0, 0, 0, 1, 2]), np.array([0.2, 0.2, 0.6])).tolist() == [0, 0, 0, 0, 0, 1, 2]


def test_a_straddling_group_goes_where_it_is_the_largest_share():
    #        group a: 3 rows of 8 early, 1 of 2 late; so a is 3/8 of train and 1/2 of test
    groups, date = list("aaabbbccad"), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    made = howsure.split(10, parts="train=8,test=2", groups=groups, date=date)
    assert made.part.tolist() == [-1, -1, -1, 0, 0, 0, 0, 0, 1, 1]
    assert sum(made.left_out.values()) == 3


def test_folds():
    made = howsure.split(11, folds=3)
    seen = [test for _, test in made.folds()]
    assert np.array_equal(np.sort(np.concatenate(seen)), np.arange(11))
    assert all(len(np.intersect1d(train, test)) == 0 and len(train) + len(test) == 11 for train, test in made.folds())
    dated = howsure.split(12, folds=3, date=np.arange(12))
    assert [(train.max(), test.min()) for train, test in dated.folds()] == [(3, 4), (7, 8)]
