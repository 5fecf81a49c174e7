"""Places of many systems at once, against the studentised range, plain loops, and the other way to the same numbers."""

import numpy as np
import pytest
from scipy.stats import studentized_range, t

import howsure
from howsure.evaluation.contests.ranks import largest_quantile, ranked
from howsure.evaluation.scores.benchmark import Answers, benchmark


def influences(x):
    n = len(x)
    return (x - x.mean(axis=0)) / np.sqrt(n * (n - 1.0))


def of(x, names=None, **more):
    names = names or tuple("abcdefghij"[: x.shape[1]])
    return ranked(
        names, x.mean(axis=0), influences(x), np.ones(len(x), np.int64), len(x) - 1.0, len(x), 0.95, np.inf, **more
    )


@pytest.mark.parametrize(("k", "degrees"), [(2, 9), (3, 30), (10, 99), (21, 800)])
def test_the_quantile_is_that_of_the_studentised_range(k, degrees):
    """Of systems with one variance and no covariance, the largest difference is Tukey's."""
    covariance = 0.37 * np.eye(k)
    variance = np.where(np.eye(k, dtype=bool), 0.0, 0.74)
    wanted = studentized_range.ppf(0.95, k, degrees) / np.sqrt(2.0)
    assert largest_quantile(covariance, variance, degrees, 0.95) == pytest.approx(wanted, rel=0.015)
    if k == 2:
        assert wanted == pytest.approx(t.ppf(0.975, degrees), rel=1e-6)


def test_places_count_the_systems_that_are_surely_above_and_below():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 6)) + np.array([0.0, 0.9, 1.0, 0.05, 2.0, 0.5])
    made = of(x)
    pair = {(p.a, p.b): p for p in made.pairs}
    for r in made.each:
        above = [o.name for o in made.each if (o.name, r.name) in pair and pair[o.name, r.name].low > 0]
        below = [o.name for o in made.each if (r.name, o.name) in pair and pair[r.name, o.name].low > 0]
        assert (r.best, r.worst) == (1 + len(above), 6 - len(below))
        assert set(r.surely_above) == set(below)
    assert made.each[0].name == "e"
    assert made.each[0].places == "1"
    for p in made.pairs:
        d = x[:, "abcdef".index(p.a)] - x[:, "abcdef".index(p.b)]
        assert p.difference == pytest.approx(d.mean())


@pytest.mark.parametrize("bound", [1.0, np.inf])
def test_limits_against_plain_moments_of_the_paired_differences(bound):
    """Where the tail is long a limit lies further out, by the variance and third moment of the differences themselves."""
    rng = np.random.default_rng(12)
    x = np.c_[np.full(80, 0.5), rng.random((80, 4)) < [0.04, 0.1, 0.5, 0.96]].astype(float)
    n, k = x.shape
    made = ranked(tuple("abcde"), x.mean(axis=0), influences(x), np.ones(n, int), n - 1.0, n, 0.95, bound)
    gaps = [x[:, i] - x[:, j] for i in range(k) for j in range(k) if i != j]
    gaps = [(d - d.mean()) / np.sqrt(n * (n - 1.0)) for d in gaps]
    v = sum((d**4).sum() for d in gaps) / sum((d**2).sum() for d in gaps)
    c = made.critical_value
    longer = 0
    for p in made.pairs:
        d = x[:, "abcde".index(p.a)] - x[:, "abcde".index(p.b)]
        d = (d - d.mean()) / np.sqrt(n * (n - 1.0))
        reach = []
        for sign in (-1.0, 1.0):
            s = (sign * (d**3).sum() + (v**1.5 if bound == 1.0 else 0.0)) / ((d**2).sum() + v)
            a = max(s, 0.0) * (c**2 / 3 + 1 / 6)
            reach.append(a + np.sqrt(a**2 + c**2 * ((d**2).sum() + v)))
        assert (p.low, p.high) == pytest.approx(
            (max(p.difference - reach[0], -bound), min(p.difference + reach[1], bound))
        )
        assert min(reach) > c * np.sqrt((d**2).sum())
        longer += max(reach) > 1.2 * min(reach)
    assert longer > 2


def test_symmetric_scores_have_symmetric_limits_and_many_items_make_all_limits_so():
    x = np.random.default_rng(13).normal(size=(200, 3))
    for p in of(np.vstack([x, -x])).pairs:
        assert p.high - p.difference == pytest.approx(p.difference - p.low, rel=1e-6)
    x = (np.random.default_rng(14).random((200_000, 3)) < [0.02, 0.1, 0.3]).astype(float)
    for p in of(x).pairs:
        assert p.high - p.difference == pytest.approx(p.difference - p.low, rel=0.1)


def test_rows_in_another_order_other_units_and_repeated_rows():
    rng = np.random.default_rng(3)
    x = (rng.random((60, 4)) < [0.9, 0.6, 0.62, 0.3]).astype(float)
    made = of(x)
    for other in (of(x[::-1]), of(x[:, ::-1], tuple("dcba")), of(3.0 * x + 7.0)):
        assert [(r.name, r.places) for r in other.each] == [(r.name, r.places) for r in made.each]
    u = influences(x)
    rows, where, count = np.unique(u, axis=0, return_index=True, return_counts=True)
    counted = ranked(tuple("abcd"), x.mean(axis=0), u[where], count, 59.0, 60, 0.95, np.inf)
    assert [p.high for p in counted.pairs] == pytest.approx([p.high for p in made.pairs])
    assert len(rows) < 17


def test_systems_that_are_alike_may_still_differ():
    """On all 100 items two systems agree: the limit is above the exact one, -ln(.025)/100, and little above it."""
    rng = np.random.default_rng(4)
    x = (rng.random((100, 3)) < 0.7).astype(float)
    x[:, 1] = x[:, 0]
    made = ranked(tuple("abc"), x.mean(axis=0), influences(x), np.ones(100, int), 99.0, 100, 0.95)
    pair = next(p for p in made.pairs if {p.a, p.b} == {"a", "b"})
    assert pair.difference == 0.0
    assert 1.0 < pair.high / (-np.log(0.025) / 100) < 1.1
    assert not pair.surely
    assert of(np.ones((10, 3))).sure == 0


@pytest.mark.parametrize("grouped", [False, True])
def test_compare_and_score_give_the_same_places(grouped):
    """Labels through units and their influences; a table of answers through the jackknife."""
    rng = np.random.default_rng(5)
    n, k = 300, 4
    right = rng.random((n, k)) < [0.9, 0.85, 0.7, 0.5]
    groups = np.arange(n) // 6 if grouped else None
    names = tuple("abcd")
    contest = howsure.compare(
        np.ones(n, int), y_preds={m: right[:, i].astype(int) for i, m in enumerate(names)}, groups=groups, samples=100
    )
    item, model = (a.ravel() for a in np.indices((n, k)))
    answers = Answers(right.ravel().astype(float), np.zeros(n * k, int), model, item, ("",), names, groups)
    other = benchmark(answers).ranks[""]
    assert [(r.name, r.places) for r in contest.ranks.each] == [(r.name, r.places) for r in other.each]
    for a, b in zip(contest.ranks.pairs, other.pairs, strict=True):
        assert (a.a, a.b) == (b.a, b.b)
        # Independent rows have no n/(n - 1) in `compare`
        assert a.high - a.low == pytest.approx(b.high - b.low, rel=1e-9 if grouped else 2 / n)
    assert contest.to_dict()["ranks"]["pairs"][0].keys() >= {"a", "b", "low", "high", "surely", "items_for_80_percent"}
    assert "pairs are surely ordered" in contest.verdict


def test_two_systems_have_no_ranks():
    assert howsure.compare([1, 1, 0, 1], y_preds={"a": [1, 1, 0, 0], "b": [1, 0, 0, 0]}, samples=50).ranks is None


def test_every_metric_has_ranks():
    rng = np.random.default_rng(6)
    gold = rng.integers(0, 3, 400)
    preds = {
        m: np.where(rng.random(400) < q, gold, rng.integers(0, 3, 400)) for m, q in (("a", 0.9), ("b", 0.6), ("c", 0.2))
    }
    made = howsure.compare(gold, y_preds=preds, metric="macro-f1", samples=50)
    assert [r.places for r in made.ranks.each] == ["1", "2", "3"]
    for p in made.ranks.pairs:
        d = next(d for d in made.duels if {d.a, d.b} == {p.a, p.b})
        assert abs(d.difference.value) == pytest.approx(p.difference)
        assert p.high - p.low > d.difference.high - d.difference.low  # of all at once
