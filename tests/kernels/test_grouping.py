"""Rows by group: sorted with NumPy or dealt out by the compiled kernels, against plain dictionaries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.calibration.groups import clusters
from howsure.calibration.groups.clusters import ClusterBuilder, Parts
from howsure.kernels import grouping
from howsure.kernels.cells import cell_of

HUGE = 2**64 - 1


@pytest.fixture(params=[0, 1 << 40], ids=["compiled", "NumPy"], scope="module")
def way(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "COMPILED_FROM", request.param)
        yield request.param


def rows(seed, n, n_groups, n_bins):
    rng = np.random.default_rng(seed)
    names = np.concatenate(
        [np.array([0, HUGE], np.uint64), rng.integers(0, HUGE, max(n_groups - 2, 0), np.uint64, endpoint=True)]
    )
    groups = names[np.minimum(rng.geometric(0.1, n) - 1, n_groups - 1)].astype(np.uint64)
    q = rng.beta(0.3, 0.3, n)
    return groups, rng.integers(0, n_bins, n), (rng.random(n) < q).astype(np.uint8), q, rng.integers(1, 5, n) * 1.0


@settings(max_examples=60)
@given(st.integers(0, 9), st.integers(1, 300), st.integers(2, 60), st.integers(1, 90), st.booleans())
def test_sums_by_group_and_bin(way, seed, n, n_groups, n_bins, weighted):
    groups, bins, y, q, weight = rows(seed, n, n_groups, n_bins)
    ids, number = grouping.numbered(groups)
    assert ids.tolist() == sorted(set(groups.tolist()))
    assert ids[number].tolist() == groups.tolist()
    wanted, totals = {}, np.zeros((5, len(ids)))
    for g, b, label, p, w in zip(number, bins, y, q, weight if weighted else np.ones(n), strict=True):
        at = wanted.setdefault((g, b), np.zeros(3))
        at += w * np.array([1, label - p, label])
        totals[:, g] += w * np.array([1, label, p, p * p, p * label])
    arranged = grouping.Arranged.of(number, len(ids), y, q, weight if weighted else None)
    in_order = bins[np.argsort(number, kind="stable")]
    assert arranged.totals(in_order) == pytest.approx(totals, rel=1e-13)
    for less_q, columns in ((True, [0, 1]), (False, [0, 2])):
        found = grouping.binned_sums(arranged, in_order, less_q=less_q)
        assert list(zip(found.group.tolist(), found.bin.tolist(), strict=True)) == sorted(wanted)
        assert found.starts.tolist() == np.searchsorted(found.group, np.arange(len(ids) + 1)).tolist()
        # The absolute part is for Σ(y - q) near 0: a few hundred terms of at most 1 leave so much of rounding.
        assert (
            pytest.approx(np.array([wanted[k][columns] for k in sorted(wanted)]), rel=1e-13, abs=1e-14) == found.sums.T
        )


def test_more_groups_than_the_first_table_holds(way):
    groups = np.random.default_rng(3).permutation(np.arange(70_000, dtype=np.uint64) * 11)
    ids, number = grouping.numbered(np.concatenate([groups, groups]))
    assert np.array_equal(ids, np.sort(groups))
    assert np.array_equal(ids[number], np.concatenate([groups, groups]))


def test_products_between_bins(way):
    rng = np.random.default_rng(39)
    x, y = (rng.normal(size=(40, k)) * (rng.random((40, k)) < 0.4) for k in (5, 30))
    x[7] = y[9] = 0.0  # groups that are in one of them only
    one, other = ((*np.nonzero(m), m[np.nonzero(m)]) for m in (x, y))
    assert grouping.products(one, one, 40, 5, 5) == pytest.approx(x.T @ x)
    assert grouping.products(one, other, 40, 5, 30) == pytest.approx(x.T @ y)


def test_bins_of_cells(way):
    q = np.concatenate(
        [[0.0, 1.0, 0.5, 1e-300, 1e-17, 1 - 1e-16, np.nextafter(0.5, 0)], np.random.default_rng(4).random(500)]
    )
    first = np.unique(np.concatenate([[0], cell_of(q[3::7])[0]]))
    found = grouping.bins_of_cells(first, q)
    assert found.tolist() == [int(np.sum(first <= c)) - 1 for c in cell_of(q)[0]]


def test_rows_summed_up_in_between_give_the_same_table(monkeypatch):
    groups, _, y, q, weight = rows(5, 900, 40, 1)
    weight = weight.astype(np.int64) - 1  # some weigh nothing
    filing = Parts(True, np.linspace(0, 1, 9)[:-1], (np.arange(8),), np.linspace(0, 1, 5)[:-1], True)

    def table(step):
        builder = ClusterBuilder(filing)
        for a in range(0, len(q), step):
            builder.add(groups[a : a + step], y[a : a + step], q[a : a + step], weight[a : a + step])
        return builder.finish()

    whole = table(1_000)
    monkeypatch.setattr(clusters, "HELD_FROM", 100)
    parts = table(60)
    assert np.array_equal(parts.ids, whole.ids)
    for a, b in ((parts.estimation, whole.estimation), (parts.drawn, whole.drawn)):
        assert np.array_equal(a.group, b.group)
        assert np.array_equal(a.bin, b.bin)
        assert a.sums == pytest.approx(b.sums, rel=1e-13)
