"""Tests of equal systems: against SciPy, statsmodels, enumeration, and loops over rows."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import f1_score

import howsure
from howsure.calibration.estimation.perfection import holm
from howsure.evaluation.contests.analysis import Field, duels
from howsure.evaluation.contests.contrast import at_least, contrast, differences, exact_difference
from howsure.evaluation.contests.significance import (
    cluster_z,
    mcnemar,
    mcnemar_power,
    paired_bootstrap,
    permutation,
    sign_flips,
)
from howsure.evaluation.units import label_units
from howsure.kernels import resampled


def metric_values(gold, said, metric):
    """By definition, one class at a time; `test_difference_is_scikit_learns` ties it to theirs."""
    if metric == "accuracy":
        return np.mean(gold == said)
    classes = [1] if metric == "f1" else sorted(set(gold) | set(said))
    each = [2 * np.sum((gold == k) & (said == k)) / max(np.sum(gold == k) + np.sum(said == k), 1) for k in classes]
    return np.mean(each)


def three(rng, n, k=3, right=0.75):
    gold = rng.integers(0, k, n)
    return gold, *(np.where(rng.random(n) < right, gold, rng.integers(0, k, n)) for _ in range(2))


@pytest.mark.parametrize(("a", "b"), [(0, 0), (1, 0), (10, 2), (2, 10), (7, 7), (40, 61), (600, 500)])
def test_mcnemar_equals_scipy_and_statsmodels(a, b):
    from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar  # which imports much else

    exact, mid = mcnemar(a, b)
    if a + b:
        assert exact.p_value == pytest.approx(binomtest(a, a + b).pvalue, rel=1e-12)
        assert exact.p_value == pytest.approx(statsmodels_mcnemar([[5, a], [b, 5]], exact=True).pvalue, rel=1e-12)
    at = (
        0.0
        if a == b
        else binomtest(min(a, b), a + b, 0.5, "less").pvalue
        - (binomtest(min(a, b) - 1, a + b, 0.5, "less").pvalue if min(a, b) else 0.0)
    )
    assert mid.p_value == pytest.approx(exact.p_value - at, rel=1e-10)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_sign_flips_equal_enumeration(d):
    d = np.array(d)
    exact, mid = sign_flips(d, np.ones(len(d), int))
    sums = np.array([np.dot(s, d) for s in product((-1, 1), repeat=len(d))])
    beyond, at = np.mean(np.abs(sums) >= abs(d.sum())), np.mean(np.abs(sums) == abs(d.sum()))
    assert exact.p_value == pytest.approx(beyond, abs=1e-12)
    assert mid.p_value == pytest.approx(1.0 if d.sum() == 0 else beyond - at / 2, abs=1e-12)


def test_a_row_a_cluster_is_mcnemar():
    from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

    d = np.repeat([1, -1, 0], [30, 17, 50])
    one = np.ones(len(d), int)
    assert [t.p_value for t in sign_flips(d, one)] == pytest.approx([t.p_value for t in mcnemar(30, 17)], rel=1e-11)
    theirs = statsmodels_mcnemar([[0, 30], [17, 0]], exact=False, correction=False)
    assert cluster_z(d, one).statistic == pytest.approx(theirs.statistic)
    assert cluster_z(d, one).p_value == pytest.approx(theirs.pvalue)


def test_difference_is_scikit_learns():
    gold, a, b = three(np.random.default_rng(2), 90, 4)
    units = label_units(gold, (a, b), 5, None)
    theirs = [f1_score(gold, x, average="macro") for x in (a, b)]
    assert contrast(units, "macro-f1", None).difference == pytest.approx(theirs[0] - theirs[1], abs=1e-12)
    theirs = [f1_score(gold == 1, x == 1) for x in (a, b)]
    assert contrast(units, "f1", 1).difference == pytest.approx(theirs[0] - theirs[1], abs=1e-12)


@pytest.mark.parametrize("metric", ["accuracy", "f1", "macro-f1"])
@pytest.mark.parametrize("grouped", [False, True])
def test_bootstrap_and_permutation_equal_loops_over_rows(metric, grouped):
    rng = np.random.default_rng(8)
    gold, a, b = three(rng, 120)
    groups = np.repeat(np.arange(40), 3) if grouped else np.arange(120)
    c = contrast(label_units(gold, (a, b), 3, groups if grouped else None), metric, 1)
    observed = metric_values(gold, a, metric) - metric_values(gold, b, metric)
    assert c.difference == pytest.approx(observed, abs=1e-12)
    members = [np.flatnonzero(groups == g) for g in range(groups.max() + 1)]
    drawn, swapped = [], []
    for _ in range(600):
        rows = np.concatenate([members[g] for g in rng.integers(0, len(members), len(members))])
        drawn.append(metric_values(gold[rows], a[rows], metric) - metric_values(gold[rows], b[rows], metric))
        flip = (rng.random(len(members)) < 0.5)[groups]
        x, y = np.where(flip, b, a), np.where(flip, a, b)
        swapped.append(metric_values(gold, x, metric) - metric_values(gold, y, metric))
    made = paired_bootstrap(c, 5_000, rng)
    reference = np.mean(np.abs(np.array(drawn) - observed) >= abs(observed) - 1e-12)
    tolerance = 4 * np.sqrt(0.25 / 600)
    assert made.p_value == pytest.approx(reference, abs=tolerance)
    assert made.high - made.low == pytest.approx(np.subtract(*np.percentile(drawn, [97.5, 2.5])), rel=0.2)
    reference = np.mean(np.abs(swapped) >= abs(observed) - 1e-12)
    assert permutation(c, 5_000, rng).p_value == pytest.approx(reference, abs=tolerance)


def test_bootstrap_of_accuracy_has_its_exact_law():
    """P(δ* >= 2δ) summed over the multinomial's cells."""
    a_only, b_only, both = 9, 4, 27
    gold = np.zeros(40, int)
    a, b = np.repeat([0, 1, 0], [a_only, b_only, both]), np.repeat([1, 0, 0], [a_only, b_only, both])
    made = paired_bootstrap(
        contrast(label_units(gold, (a, b), 2, None), "accuracy", None), 200_000, np.random.default_rng(0)
    )
    from scipy.stats import multinomial

    law = multinomial(40, [9 / 40, 4 / 40, 27 / 40])
    cells = [(i, j) for i in range(41) for j in range(41 - i) if i - j >= 10]
    exact = sum(law.pmf([i, j, 40 - i - j]) for i, j in cells)
    assert made.p_one_sided == pytest.approx(exact, abs=5 * np.sqrt(exact / 200_000))


def test_ties_are_counted_in_whole_numbers():
    # 0.1 + 0.2 > 0.3 in floating point; as fractions they are equal.
    sums = np.array([[3, 20, 0, 20], [3, 20, 1, 20], [2, 20, 0, 20]], float)
    assert at_least(sums, 1, Fraction(3, 10)).tolist() == [True, False, False]
    macro = np.array([[1, 1, 1, 10, 10, 5, 0, 0, 0, 10, 10, 5]], float)
    exact = exact_difference(macro[0], 3)
    assert exact == (Fraction(1, 5) + Fraction(1, 5) + Fraction(2, 5)) / 3
    assert at_least(macro, 3, exact).all()
    assert not at_least(macro, 3, exact + Fraction(1, 10**15)).any()
    assert differences(macro, 3)[0] == pytest.approx(float(exact))


def test_compiled_weights_are_multinomial():
    """Mean, variance and covariance of the sums, and every row's total, with more cells than NumPy's path takes."""
    rng = np.random.default_rng(6)
    count = np.sort(rng.integers(1, 40, resampled.COMPILED_FROM + 50))
    n = int(count.sum())
    eye = np.eye(len(count), dtype=np.float32)
    w = resampled.multinomial_sums(count, eye, 20_000, np.random.default_rng(1))
    assert (w.sum(axis=1) == n).all()
    p = count / n
    assert np.abs((w.mean(axis=0) - count) / np.sqrt(count / 20_000)).max() < 4.5
    assert np.abs(w.var(axis=0) / (n * p * (1 - p)) - 1).max() < 0.08
    half = w[:, : len(count) // 2].sum(axis=1)
    q = p[: len(count) // 2].sum()
    assert half.var() == pytest.approx(n * q * (1 - q), rel=0.05)
    again = resampled.multinomial_sums(count, eye, 300, np.random.default_rng(1))
    assert np.array_equal(again, resampled.multinomial_sums(count, eye, 300, np.random.default_rng(1)))


def test_swaps_are_binomial():
    count = np.array([1, 5, 64, 65, 200])
    w = resampled.swap_sums(count, np.eye(5), 20_000, np.random.default_rng(2))
    assert (w <= count).all()
    assert np.abs((w.mean(axis=0) - count / 2) / np.sqrt(count / 80_000)).max() < 4.5
    assert w.var(axis=0) == pytest.approx(count / 4, rel=0.05)


def test_holm_equals_statsmodels():
    from statsmodels.stats.multitest import multipletests

    p = [0.01, 0.2, 0.03, 0.04, 0.5]
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])


@pytest.mark.simulation
def test_power_of_mcnemar():
    rng = np.random.default_rng(9)
    planned = mcnemar_power(0.05, 0.2, 1.0, 0.05)
    n = planned.rows_needed(0.8)
    assert planned.power(n) == pytest.approx(0.8, abs=0.005)
    cells = rng.multinomial(n, [0.125, 0.075, 0.8], 2000)
    found = np.mean([mcnemar(int(a), int(b))[1].p_value < 0.05 for a, b, _ in cells])
    assert found == pytest.approx(0.8, abs=0.04)
    assert mcnemar_power(0.05, 0.2, 2.0, 0.05).rows_needed() == pytest.approx(2 * n, abs=2)


@pytest.mark.simulation
def test_level_on_documents_and_without_them():
    """Equal systems, documents alike within: tests that respect documents hold 5%, those that do not over-reject."""
    rng = np.random.default_rng(21)
    doc = np.repeat(np.arange(60), 8)
    runs = 150
    rejected = {}
    for _ in range(runs):
        gold = rng.integers(0, 3, len(doc))
        systems = []
        for _ in range(2):
            right = rng.random(len(doc)) < rng.choice([0.45, 0.95], 60)[doc]
            systems.append(np.where(right, gold, (gold + 1) % 3))
        for metric in ("accuracy", "macro-f1"):
            for g in (doc, None):
                right = tuple((s == gold).astype(int) for s in systems)
                f = Field(
                    ("a", "b"),
                    lambda w, gold=gold, s=systems, g=g: label_units(gold, tuple(s[i] for i in w), 3, g),
                    right,
                    g,
                    metric,
                    None,
                )
                for t in duels(f, 300, rng, 0.95)[0].tests:
                    key = (metric, t.name, g is not None)
                    rejected[key] = rejected.get(key, 0) + (t.p_value < 0.05)
    spread = 3 * np.sqrt(0.05 * 0.95 / runs)
    for (metric, name, respected), count in rejected.items():
        if respected:
            assert 0.0 < count / runs < 0.07 + spread, (metric, name, count / runs)  # none of 150: probability 0.0005
        else:
            assert count / runs > 0.12, (metric, name, count / runs)


def test_the_notes_ten_items_have_their_exact_one_sided_p():
    """Both right 3, only A 4, only B 2, neither 1: ten draws of -1, 0, +1, enumerated, and 2^6 swaps."""
    a, b = np.repeat([1, 1, 0, 0], (3, 4, 2, 1)), np.repeat([1, 0, 1, 0], (3, 4, 2, 1))
    gold = np.ones(10, np.int64)
    made = duels(
        Field(
            ("A", "B"),
            lambda which: label_units(gold, tuple((a, b)[i] for i in which), 2, None),
            (a, b),
            None,
            "accuracy",
            None,
        ),
        40_000,
        np.random.default_rng(3),
        0.95,
    )[0]
    law = {-1: 0.2, 0: 0.4, 1: 0.4}
    exact: dict[int, float] = {0: 1.0}
    for _ in range(10):
        step: dict[int, float] = {}
        for s, p in exact.items():
            for move, q in law.items():
                step[s + move] = step.get(s + move, 0.0) + p * q
        exact = step
    one_sided = sum(p for s, p in exact.items() if s >= 4)
    two_sided = one_sided + sum(p for s, p in exact.items() if s <= 0)
    swapped = np.mean([abs(sum(signs)) >= 2 for signs in product((-1, 1), repeat=6)])
    p = {t.name: t.p_value for t in made.tests} | {"one-sided": made.bootstrap.p_one_sided}
    for name, wanted in (
        ("one-sided", one_sided),
        ("paired bootstrap", two_sided),
        ("permutation", swapped),
    ):
        assert abs(p[name] - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / 40_000)
    assert swapped == pytest.approx(p["McNemar, exact"])


@pytest.mark.parametrize("grouped", [False, True])
def test_a_systems_own_macro_f1_has_the_interval_that_score_gives_it(grouped):
    rng = np.random.default_rng(5)
    gold = rng.choice(3, 40, p=[0.6, 0.3, 0.1])
    systems = {name: np.where(rng.random(40) < p, gold, rng.integers(0, 3, 40)) for name, p in (("a", 0.9), ("b", 0.6))}
    groups = rng.integers(0, 8, 40) if grouped else None
    contest = howsure.compare(gold, y_preds=systems, metric="macro-f1", groups=groups, samples=100)
    for s in contest.systems:
        alone = howsure.score(gold, systems[s.name], groups=groups).macro.f
        assert (s.value.value, s.value.low, s.value.high) == pytest.approx((alone.value, alone.low, alone.high))
