"""Posterior predictive checks: a posterior that generates the labels passes, one that does not fails."""

import numpy as np
import pytest

from howsure import AntecedentPosterior, ChainPosterior, InputError, TreePosterior
from howsure.evaluation.predictive import Tally, predictive_statistic
from howsure.posteriors.constituents import ConstituentPosterior, Grammar
from howsure.verbs.predictive import of_entities, of_tags, see_arcs, see_spans


def chains(rng, sentences=30, length=8, tags=("B-X", "I-X", "O")):
    starts = np.arange(0, sentences * length + 1, length)
    return ChainPosterior(rng.normal(size=(starts[-1], 3)), rng.normal(size=(3, 3)), starts=starts, tags=tags)


def tag_check(p, gold, rng, n=39):
    return of_tags(p, np.asarray(gold, np.int64), n, rng)


def test_the_distance_is_that_of_the_formula():
    seen, sampled = [5, 1, 0], [[3, 3, 0], [4, 0, 2], [2, 2, 2]]
    made = predictive_statistic("x", "abc", seen, sampled)
    counts = np.array([seen, *sampled], float)
    mean = counts.mean(axis=0)
    d = np.abs(counts - mean).sum(axis=1) / 2.0 / 6.0
    assert made.distance == pytest.approx(d[0])
    assert made.p_value == (1 + (d[1:] >= d[0]).sum()) / 4
    assert made.categories[0].name == "a"
    assert made.categories[0].expected == pytest.approx(3.0)


def test_parts_add_up():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, (6, 40))
    whole, parts = Tally(5), Tally(5)
    whole.add("v", rows, most=3)
    for k in range(0, 40, 10):
        parts.add("v", rows[:, k : k + 10], most=3)
    assert whole.statistics() == parts.statistics()


@pytest.mark.simulation
def test_level_and_power_of_tags():
    """Gold drawn from the posterior is rejected at 5% no more often than that; gold of another posterior nearly always."""
    rng, level = np.random.default_rng(5), 0.05
    posteriors = [chains(rng) for _ in range(200)]
    right = np.array([[s.p_value for s in tag_check(p, p.samples(1, rng)[0], rng)] for p in posteriors])
    rejected = (right <= level).mean(axis=0)
    assert (rejected <= level + 4.0 * np.sqrt(level * (1.0 - level) / 200)).all()
    assert (rejected > 0.0).all()  # it is a test that can reject
    large = [chains(rng, sentences=150) for _ in range(40)]  # the truth is less sure than the model says
    wrong = [[s.p_value for s in tag_check(p, p.tempered(4.0).samples(1, rng)[0], rng)] for p in large]
    assert (np.array(wrong) <= level).mean(axis=0).min() > 0.9


def test_spans_of_tags_are_measured():
    p = ChainPosterior(np.zeros((7, 3)), np.zeros((3, 3)), starts=[0, 4, 7], tags=("B-X", "I-X", "O"))
    made = of_tags(p, np.array([0, 1, 0, 2, 0, 1, 1]), 3, np.random.default_rng(0))
    assert [s.statistic for s in made] == ["tag", "length of spans"]
    lengths = {c.name: c.seen for c in made[1].categories}
    assert lengths["1"] == lengths["2"] == lengths["3"] == 1
    other = of_tags(
        ChainPosterior(np.zeros((3, 2)), np.zeros((2, 2))), np.array([0, 0, -1]), 3, np.random.default_rng(0)
    )
    assert {c.name: c.seen for c in other[0].categories}["(unknown)"] == 1
    assert other[1].statistic == "length of runs of one tag"


def trees_checked(rng, truth, n=39, sentences=25):
    tally = Tally(n)
    for _ in range(sentences):
        p = TreePosterior(rng.normal(size=(7, 6, 2)) * 2.0, projective=True)
        t = truth(p)
        heads = t.samples(1, rng)[0]
        at = np.exp(t.label_log_prob[heads, np.arange(6)])
        labels = (rng.random(6) < at[:, 1]).astype(int)
        see_arcs(tally, p, heads, labels, rng)
    return [s.p_value for s in tally.statistics()]


@pytest.mark.simulation
def test_level_and_power_of_trees():
    rng = np.random.default_rng(6)
    # The level is that of any size.
    right = np.array([trees_checked(rng, lambda p: p, sentences=10) for _ in range(60)])
    assert ((right <= 0.05).mean(axis=0) <= 0.05 + 4.0 * np.sqrt(0.05 * 0.95 / 60)).all()

    def flat(p):
        """Arcs from far away, and labels turned round."""
        return TreePosterior(np.full((7, 6, 2), [0.0, 3.0]), projective=True)

    wrong = np.array([trees_checked(rng, flat) for _ in range(5)])
    assert (wrong.min(axis=1) <= 0.05).all()


def test_spans_and_entities():
    rng = np.random.default_rng(7)
    rules = [("S", "a", "S", -1.0), ("S", "S", "a", -0.3), ("S", "a", "a", 0.2), ("S", "S", "S", -1.5)]
    p = ConstituentPosterior(Grammar.of(rules, {"S": 0.0}, words=["a"]), [{"a": 0.0}] * 6)
    tally = Tally(19)
    for one in p.samples(10, rng):
        see_spans(tally, p, one.spans, rng)
    found = {s.statistic: s for s in tally.statistics()}
    assert set(found) == {"label", "length of constituents", "constituents of a sentence"}
    posteriors = [
        AntecedentPosterior.from_scores(rng.normal(size=(9, 9)), rng.normal(size=9), name=str(k)) for k in range(20)
    ]
    right = of_entities(posteriors, [p.samples(1, 99)[0] for p in posteriors], 39, 0)
    assert min(s.p_value for s in right) > 0.01
    alone = of_entities(posteriors, [np.arange(9)] * 20, 39, 0)
    assert max(s.p_value for s in alone) == 1 / 40
    assert alone[1].statistic == "entities by document"


def test_bad_input():
    with pytest.raises(InputError, match="2 categories"):
        predictive_statistic("x", "ab", [1, 2, 3], [[1, 2, 3]])
    with pytest.raises(InputError, match="one sample"):
        predictive_statistic("x", "ab", [1, 2], np.zeros((0, 2)))
