"""Metrics and their intervals, against scikit-learn, published numbers and plain counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, t
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

from howsure.evaluation.scores.analysis import score_labels
from howsure.evaluation.scores.metrics import accuracy, estimated, f_measure, macro, share_of_groups
from howsure.evaluation.units import label_units

SEED_MATRIX = np.array([[8, 5, 3], [10, 60, 30], [1, 50, 200]])  # gold urgent, normal, spam down


def unrolled(matrix):
    k = len(matrix)
    return np.repeat(np.arange(k).repeat(k), matrix.ravel()), np.repeat(np.tile(np.arange(k), k), matrix.ravel())


def test_the_matrix_of_the_course_notes():
    made = score_labels(*unrolled(SEED_MATRIX), ("urgent", "normal", "spam"))
    assert round(made.macro.precision.value, 2) == 0.60
    assert round(made.micro.precision.value, 2) == 0.73
    assert [round(c.precision.value, 2) for c in made.classes] == [0.42, 0.52, 0.86]
    assert made.macro.precision.value == pytest.approx((8 / 19 + 60 / 115 + 200 / 233) / 3, abs=1e-15)
    assert np.array_equal(made.confusion.counts, SEED_MATRIX)
    assert made.confusion.most_confused(1) == [{"gold": "spam", "predicted": "normal", "n": 50, "share": 50 / 251}]


labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


@given(labels, st.sampled_from([0.5, 1.0, 2.0]))
def test_equal_to_scikit_learn(rows, beta):
    gold, pred = np.array(rows).T
    made = score_labels(gold, pred, tuple("abcde"), None, 0.95, beta)
    present = sorted(set(gold) | set(pred))
    assert [c.label for c in made.classes] == ["abcde"[i] for i in present]
    for name in ("macro", "micro", "weighted"):
        ours = getattr(made, name)
        theirs = precision_recall_fscore_support(gold, pred, beta=beta, average=name, zero_division=0)
        assert [ours.precision.value, ours.recall.value, ours.f.value] == pytest.approx(theirs[:3], abs=1e-12)
    each = precision_recall_fscore_support(gold, pred, beta=beta, zero_division=0)
    for i, c in enumerate(made.classes):
        found = [0.0 if e is None else e.value for e in (c.precision, c.recall, c.f)]
        assert found == pytest.approx([x[i] for x in each[:3]], abs=1e-12)
        assert (c.precision is None) == (c.predicted == 0)
        assert (c.recall is None) == (c.gold == 0)
    assert made.accuracy.value == pytest.approx(accuracy_score(gold, pred), abs=1e-12)
    if len(present) > 1:
        assert np.array_equal(made.confusion.counts, confusion_matrix(gold, pred))


@given(labels)
def test_intervals_hold_the_value_and_lie_in_the_unit_interval(rows):
    gold, pred = np.array(rows).T
    groups = np.arange(len(gold)) // 2
    for g in (None, groups):
        made = score_labels(gold, pred, tuple("abcde"), g)
        several = [made.macro, made.micro, made.weighted, *made.classes]
        for e in [made.accuracy] + [getattr(x, f) for x in several for f in ("precision", "recall", "f")]:
            if e is not None and e.low is not None:
                assert 0.0 <= e.low <= e.value <= e.high <= 1.0


def test_accuracy_precision_and_recall_have_wilsons_interval():
    made = score_labels(*unrolled(SEED_MATRIX), ("urgent", "normal", "spam"), None, 0.9)

    def wilson(k, n):
        return tuple(binomtest(k, n).proportion_ci(0.9, "wilson"))

    assert (made.accuracy.low, made.accuracy.high) == pytest.approx(wilson(268, 367), abs=1e-12)
    assert (made.classes[0].precision.low, made.classes[0].precision.high) == pytest.approx(wilson(8, 19), abs=1e-12)
    assert (made.classes[2].recall.low, made.classes[2].recall.high) == pytest.approx(wilson(200, 251), abs=1e-12)
    # F1 = 2J/(1+J), J the share of hits among hits and mistakes: Wilson's interval of J, carried over.
    low, high = (2 * j / (1 + j) for j in wilson(8, 8 + 8 + 11))
    assert (made.classes[0].f.low, made.classes[0].f.high) == pytest.approx((low, high), abs=1e-12)


def test_linearised_variance_is_the_jackknifes():
    """Leaving out one cluster at a time does it another way."""
    rng = np.random.default_rng(4)
    n, groups = 1000, np.arange(1000) // 10
    gold = rng.integers(0, 4, n)
    pred = np.where(rng.random(n) < 0.7 + 0.2 * (groups % 2), gold, rng.integers(0, 4, n))
    units = label_units(gold, (pred,), 4, groups)
    t = units.totals()
    made = estimated(macro(f_measure(t), t), units, 0.95)
    left = []
    for g in range(100):
        kept = groups != g
        left.append(precision_recall_fscore_support(gold[kept], pred[kept], average="macro")[2])
    se = np.sqrt(99 / 100 * np.sum((np.array(left) - np.mean(left)) ** 2))
    assert (made.high - made.low) / 2 == pytest.approx(1.984 * se, rel=0.03)


def test_one_group_a_row_is_almost_no_groups():
    gold, pred = unrolled(SEED_MATRIX)
    alone = score_labels(gold, pred, ("u", "n", "s"))
    each = score_labels(gold, pred, ("u", "n", "s"), np.arange(len(gold)))
    assert each.macro.f.low == pytest.approx(alone.macro.f.low, abs=2e-3)
    doubled = score_labels(np.repeat(gold, 2), np.repeat(pred, 2), ("u", "n", "s"), np.repeat(np.arange(len(gold)), 2))
    assert doubled.macro.f.low == pytest.approx(each.macro.f.low, abs=1e-12)  # copies are no new evidence


def test_all_right_and_all_wrong():
    right = score_labels(np.zeros(20, int), np.zeros(20, int), ("a",))
    assert right.accuracy.value == 1.0
    assert right.accuracy.low == pytest.approx(binomtest(20, 20).proportion_ci(method="wilson").low)
    assert "single class" in " ".join(right.notes)
    wrong = score_labels(np.repeat([0, 1], 10), np.repeat([1, 0], 10), ("a", "b"))
    assert wrong.macro.f.value == 0.0
    assert 0.0 < wrong.classes[0].f.high < 0.4


def test_baselines():
    gold, pred = unrolled(SEED_MATRIX)
    made = {b.name: b for b in score_labels(gold, pred, ("urgent", "normal", "spam")).baselines}
    share = SEED_MATRIX.sum(axis=1) / 367
    assert made["always 'spam'"].accuracy == pytest.approx(251 / 367)
    theirs = precision_recall_fscore_support(gold, np.full(367, 2), average="macro", zero_division=0)[2]
    assert made["always 'spam'"].macro_f == pytest.approx(theirs)
    assert made["random, as often as in gold"].accuracy == pytest.approx(float(share @ share))
    assert made["random, each class alike"].accuracy == pytest.approx(1 / 3)


@pytest.mark.simulation
def test_clustered_intervals_cover_and_unclustered_ones_do_not():
    rng = np.random.default_rng(11)
    inside = np.zeros(2)
    for _ in range(300):
        doc = np.repeat(np.arange(40), 10)
        p = rng.choice([0.5, 0.9], 40)[doc]
        right = rng.random(400) < p
        gold = rng.integers(0, 2, 400)
        for j, g in enumerate((doc, None)):
            units = label_units(gold, (np.where(right, gold, 1 - gold),), 2, g)
            e = estimated(accuracy(units.totals()), units, 0.95)
            inside[j] += e.low <= 0.7 <= e.high
    assert 0.915 <= inside[0] / 300 <= 0.985  # 95% ± 2.8 standard errors
    assert inside[1] / 300 < 0.88


def test_a_macro_average_is_as_unsure_as_its_classes():
    """A class that is all right by luck has no variance of its own, but limits; several classes' go together as squares."""
    from scipy.stats import t

    from howsure.calibration.estimation.intervals import Estimate
    from howsure.evaluation.scores.metrics import interval, macro_interval

    classes = [Estimate(0.8, 0.5, 0.9), Estimate(1.0, 0.3, 1.0), None]
    made = macro_interval(0.6, 0.0, classes, np.zeros(3), 30, False, 0.95)
    plain = interval(0.6, 0.0, 30, False, 0.95)
    wider = t.ppf(0.975, 29) / 1.959964
    below, above = np.sqrt(0.3**2 + 0.7**2) / 3, np.sqrt(0.1**2 + 1.0**2) / 3
    assert 0.6 - made.low == pytest.approx(wider * max(below, 0.6 - plain.low), rel=1e-6)
    assert made.high - 0.6 == pytest.approx(min(wider * max(above, plain.high - 0.6), 0.4), rel=1e-6)
    # Classes that err together: the variance of the mean is twice that of independent ones.
    both = macro_interval(0.9, 2 * (0.01 + 0.01) / 4, classes[:2], np.array([0.01, 0.01]), 10**9, False, 0.95)
    assert 0.9 - both.low == pytest.approx(
        max(np.sqrt(2) * np.sqrt(0.3**2 + 0.7**2) / 2, 0.9 - interval(0.9, 0.01, 10**9, False, 0.95).low), rel=1e-6
    )


def test_a_share_of_groups_is_wilsons_on_the_jackknife():
    """Each group left out in turn; at either limit p the estimate is t standard errors away, errors as at p."""
    rng = np.random.default_rng(8)
    groups = rng.integers(0, 9, 60)
    whole = rng.integers(0, 7, 60).astype(float)
    part = rng.binomial(whole.astype(int), 0.8).astype(float)
    made = share_of_groups(part, whole, groups, 0.9)
    assert made.value == pytest.approx(part.sum() / whole.sum())
    left = np.array([part[groups != g].sum() / whole[groups != g].sum() for g in range(9)])
    n = made.value * (1 - made.value) / (8 / 9 * np.sum((left - made.value) ** 2))
    # Groups of nearly equal size have nearly G - 1 degrees of freedom
    for limit in (made.low, made.high):
        z = abs(made.value - limit) / np.sqrt(limit * (1 - limit) / n)
        assert t.ppf(0.95, 8) < z < t.ppf(0.95, 5)
    equal = share_of_groups(np.array([3.0, 5.0, 4.0]), np.full(3, 5.0), np.arange(3), 0.9)
    n = 0.8 * 0.2 / (2 / 3 * np.sum((np.array([0.9, 0.7, 0.8]) - 0.8) ** 2))
    assert abs(0.8 - equal.low) / np.sqrt(equal.low * (1 - equal.low) / n) == pytest.approx(t.ppf(0.95, 2))


def test_groups_that_are_all_right_may_be_so_by_luck():
    whole = np.full(30, 4.0)
    made = share_of_groups(whole, whole, np.repeat(np.arange(10), 3), 0.95)
    assert (made.value, made.high) == (1.0, 1.0)
    assert made.low == pytest.approx(10 / (10 + t.ppf(0.975, 9) ** 2))
    wrong = share_of_groups(0 * whole, whole, np.repeat(np.arange(10), 3), 0.95)
    assert (wrong.low, wrong.value, wrong.high) == pytest.approx((0.0, 0.0, 1 - made.low))
    assert share_of_groups(whole, whole, np.zeros(30, int), 0.95).low is None
    assert share_of_groups(0 * whole, 0 * whole, np.arange(30), 0.95).low is None


@pytest.mark.parametrize(("p", "n_groups"), [(0.97, 5), (0.97, 15), (0.99, 15)])
def test_shares_near_one_are_held(p, n_groups):
    """Sentences of 2 to 11 spans, each with a share of its own. Symmetric intervals hold 55, 87 and 54%."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(500):
        whole = rng.integers(2, 12, n_groups)
        part = rng.binomial(whole, rng.beta(10 * p, 10 * (1 - p), n_groups))
        made = share_of_groups(part.astype(float), whole.astype(float), np.arange(n_groups), 0.95)
        held += made.low <= p <= made.high
    assert held / 500 > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 500)
