"""Data at the edge: certain predictions, constant q, identical groups, lonely bins, denormals."""

import json
import warnings

import numpy as np
import pytest

import howsure


def plain(result):
    return json.loads(json.dumps(result.to_dict(), allow_nan=False))


@pytest.mark.parametrize("share_right", [0.0, 0.8])
def test_certain_and_wrong_is_not_calibrated(share_right):
    q = np.tile([0.0, 1.0], 50)
    y = np.where(np.arange(100) < 100 * share_right, q, 1 - q)
    c = howsure.check(y, q)
    assert c.p_value < 1e-12
    assert "iscalibrated" in c.verdict
    plain(c)


def test_certain_and_right_is_calibrated():
    c = howsure.check([0, 1] * 50, [0.0, 1.0] * 50)
    assert c.p_value == pytest.approx(1.0)
    assert c.error.value == 0.0


@pytest.mark.parametrize("n", [3, 5, 30, 150])
@pytest.mark.parametrize("grouped", [False, True])
def test_what_the_ece_is_at_least_the_rms_error_is_too(n, grouped):
    """All labels alike at q = ½, and few labels at any q: the limits say nothing that excludes each other, and a handful of rows is no proof."""
    rng = np.random.default_rng(n)
    for y, q in ((np.zeros(n), np.full(n, 0.5)), (rng.random(n) < 0.9, rng.random(n)), (np.ones(n), np.full(n, 0.6))):
        c = howsure.check(y, q, groups=np.arange(n) if grouped else None)
        assert c.ece.low <= c.error.low
        assert c.ece.high <= c.error.high + 1e-12
        assert n > 3 or c.ece.low < 0.1


def test_bins_of_one_group_join_their_neighbours():
    """Groups that hardly overlap in q, which once joined bins in circles."""
    rng = np.random.default_rng(32)
    for trial in range(40):
        groups = rng.integers(2, 9)
        g = np.repeat(np.arange(groups), 300 // groups)
        q = np.clip(rng.random(groups)[g] + rng.normal(0, 0.05, len(g)), 0, 1)
        c = howsure.check(rng.random(len(g)) < q, q, groups=g)
        assert c.n_groups == groups, trial
        assert 0 <= c.error.low <= c.error.high <= 1
    x = np.r_[1:30, 50:99]
    y = np.where(x < 30, x % 7 == 0, x % 3 > 0)
    assert howsure.check(y, x / 100, groups=np.where(x < 30, "a", np.where(x % 2, "b", "c"))).n_groups == 3


@pytest.mark.parametrize(
    ("y", "q", "groups"),
    [
        ([0, 1, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]),
        ([0] * 1000, [0.9] * 1000, np.arange(1000) // 10),
        ([0, 1] * 20, [0.5] * 40, np.repeat(range(20), 2)),
        (np.tile([0, 1], 100), np.tile([0.3, 0.7], 100), np.repeat(range(100), 2)),
        ([1] * 20, [0.9] * 20, range(20)),
        ([0] * 100, [1e-110] * 100, np.arange(100) // 5),
    ],
)
def test_groups_that_are_all_alike(y, q, groups):
    c = howsure.check(y, q, groups=groups)
    plain(c)
    gap = c.bias.gap
    assert -1 <= gap.low <= gap.value <= gap.high <= 1
    assert gap.high - gap.low < 0.5 or c.n_groups == 2  # t with one degree of freedom
    assert c.error.low <= c.error.value <= c.error.high


def test_constant_q_has_no_slope_with_or_without_groups():
    y = np.random.default_rng(33).random(1000) < 0.3
    for groups in (None, np.arange(1000) // 10):
        assert howsure.check(y, [0.1] * 1000, groups=groups).bias.slope is None


def test_a_bin_of_one_group_is_worth_one_row():
    y = [0] * 48 + [1] + [0, 1] * 50
    q = [0.05] * 49 + [0.5, 0.6] * 50
    c = howsure.check(y, q, groups=["a"] * 49 + ["b", "b", "c", "c"] * 25, bins=49)
    assert c.bins.effective_n[0] == 1


@pytest.mark.parametrize("q", [1e-110, 5e-324, 1e-20, 1 - 2**-53])
@pytest.mark.parametrize("bins", [None, "width:10", 1])
def test_denormals_and_neighbours_of_one(q, bins):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in ([0] * 100, [0] * 99 + [1], [1, 0] * 50):
            plain(howsure.check(y, [q] * 100, bins=bins))


def test_slices_that_all_collapse():
    rng = np.random.default_rng(34)
    q = rng.random(110_000)
    c = howsure.check(rng.random(len(q)) < q, q, by=["a"] * len(q))
    assert c.slices[0].calibration.error == c.error
