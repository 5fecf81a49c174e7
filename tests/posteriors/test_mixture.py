"""Outcomes of posteriors, and mixtures of them, against enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from howsure import AntecedentPosterior, ChainPosterior, ClassPosterior, InputError, MixturePosterior, TreePosterior
from howsure.posteriors.constituents import ConstituentPosterior, Grammar
from howsure.posteriors.mixture import Part, best_together, drawn, joined, key_of, likeliest
from howsure.posteriors.trees import is_projective, is_tree


def chain(rng, lengths=(2, 3), tags="ab"):
    starts = np.concatenate([[0], np.cumsum(lengths)])
    scores = rng.normal(size=(starts[-1], len(tags)))
    return ChainPosterior(scores, rng.normal(size=(len(tags),) * 2), starts=starts, tags=tuple(tags))


def antecedents(rng, n=4):
    return AntecedentPosterior.from_scores(rng.normal(size=(n, n)), rng.normal(size=n))


def grammar(words=4):
    rules = [("S", "a", "S", -1.0), ("S", "S", "a", -0.3), ("S", "a", "a", 0.2), ("S", "S", "S", -1.5)]
    g = Grammar.of(rules, {"S": 0.0}, words=["a"])
    return ConstituentPosterior(g, [{"a": 0.0}] * words)


def everything(p):
    """The log probability of each outcome, found in another way."""
    if isinstance(p, ChainPosterior):
        every = product(range(len(p.tags)), repeat=p.n_tokens)
        return {tuple(p.names(np.array(x))): float(p.log_probability(np.array(x)).sum()) for x in every}
    if isinstance(p, ClassPosterior):
        q = np.log(p.marginals())
        every = product(range(len(p.classes)), repeat=len(p))
        return {tuple(p.classes[c] for c in x): sum(q[i, c] for i, c in enumerate(x)) for x in every}
    if isinstance(p, TreePosterior):
        made = {}
        for heads in product(range(p.n + 1), repeat=p.n):
            h = np.array(heads)
            if is_tree(h) and (not p.projective or is_projective(h)):
                for labels in product(range(max(len(p.labels), 1)), repeat=p.n):
                    given = np.array(labels) if p.labels else None
                    made[h.tobytes(), None if given is None else given.tobytes()] = p.log_probability(h, given)
        return made
    made = {}
    for choice in product(*(range(i + 1) for i in range(len(p)))):
        first = list(choice)
        for i, c in enumerate(choice):
            first[i] = i if c == i else first[c]
        made[tuple(first)] = p.log_probability(first)
    return made


RNG = np.random.default_rng(3)
POSTERIORS = {
    "chain": chain(RNG),
    "classes": ClassPosterior(RNG.normal(size=(3, 3)), ("x", "y", "z")),
    "trees": TreePosterior(RNG.normal(size=(4, 3)), projective=True),
    "labelled trees": TreePosterior(RNG.normal(size=(4, 3, 2)) * 2.0, projective=True),
    "antecedents": antecedents(RNG),
}


@pytest.mark.parametrize("name", POSTERIORS)
def test_all_outcomes_and_the_k_best_are_those_of_enumeration(name):
    p = POSTERIORS[name]
    every = everything(p)
    found = likeliest(p, 100_000)
    assert {key_of(x) for _, x in found} == set(every)
    assert all(abs(log_p - every[key_of(x)]) < 1e-10 for log_p, x in found)
    assert np.exp([log_p for log_p, _ in found]).sum() == pytest.approx(1.0, abs=1e-12)
    if name != "antecedents":  # several choices of antecedents make one clustering
        top = sorted(every.values(), reverse=True)[:7]
        assert [log_p for log_p, _ in likeliest(p, 7)] == pytest.approx(top, abs=1e-10)


@pytest.mark.parametrize("name", POSTERIORS)
def test_draws_follow_the_probabilities(name):
    p, n = POSTERIORS[name], 20_000
    every = everything(p)
    counts = dict.fromkeys(every, 0)
    for x in drawn(p, n, np.random.default_rng(1)):
        counts[key_of(x)] += 1
    p_values = [binomtest(counts[key], n, min(np.exp(log_p), 1.0)).pvalue for key, log_p in every.items()]
    assert min(p_values) * len(p_values) > 1e-3


def test_constituents_are_listed_and_drawn():
    p = grammar()
    found = likeliest(p, 1_000)
    assert np.exp([log_p for log_p, _ in found]).sum() == pytest.approx(1.0, abs=1e-12)
    assert len(drawn(p, 5, np.random.default_rng(0))) == 5
    none = ConstituentPosterior(p.grammar, [{}] * 2)  # no tree: the words go on as they are
    ((log_p, (words, tree)),) = likeliest([none, p], 1)
    assert (words.spans, tree.spans) == ((), likeliest(p, 1)[0][1].spans)
    assert log_p == pytest.approx(likeliest(p, 1)[0][0])
    assert drawn(none, 1, np.random.default_rng(0))[0].spans == ()


def test_trees_that_may_cross_have_a_best_outcome_and_samples_but_no_k_best():
    p = TreePosterior(RNG.normal(size=(4, 3, 2)))
    every = everything(p)
    ((log_p, tree),) = likeliest(p, 1)
    assert log_p == pytest.approx(max(every.values()), abs=1e-10) == every[key_of(tree)]
    with pytest.raises(InputError, match="projective"):
        likeliest(p, 2)


def test_a_list_is_independent_posteriors():
    a, b = {"x": 0.6, "y": 0.4}, {1: 0.9, 2: 0.1}

    class Coin:
        def __init__(self, law):
            self.law = law

        def k_best(self, k):
            return sorted(((q, x) for x, q in self.law.items()), reverse=True)[:k]

        def samples(self, n, rng):
            return drawn(self.law, n, rng)

    found = likeliest([Coin(a), Coin(b)], 3)
    assert [x for _, x in found] == [["x", 1], ["y", 1], ["x", 2]]
    assert np.exp([log_p for log_p, _ in found]) == pytest.approx([0.54, 0.36, 0.06])
    assert len(drawn([Coin(a), Coin(b)], 4, np.random.default_rng(0))) == 4


def test_what_is_no_posterior_is_certain():
    assert likeliest("text", 5) == [(0.0, "text")]
    assert drawn([], 2, np.random.default_rng(0)) == [[], []]


@pytest.mark.parametrize("law", [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}])
def test_a_mapping_that_is_no_law_is_refused(law):
    with pytest.raises(InputError, match="sum to one"):
        likeliest(law, 1)


def test_something_that_can_only_be_sampled_says_so():
    class Sampler:
        def samples(self, n, rng):
            return [1] * n

    with pytest.raises(InputError, match="Sampler has no `k_best`"):
        likeliest(Sampler(), 2)


def test_sums_of_parts_are_the_largest():
    rng = np.random.default_rng(0)
    parts = [np.sort(rng.normal(size=m))[::-1] for m in (3, 1, 4, 2)]
    ranks, total = best_together(parts, 6)
    every = sorted(sum(p[i] for p, i in zip(parts, x, strict=True)) for x in product(*(range(len(p)) for p in parts)))
    assert total == pytest.approx(every[::-1][:6])
    assert [sum(p[i] for p, i in zip(parts, row, strict=True)) for row in ranks] == pytest.approx(list(total))


def test_equal_outcomes_are_joined():
    assert joined([(np.log(0.2), "a"), (np.log(0.5), "b"), (np.log(0.3), "a")])[0][1] in ("a", "b")
    assert np.exp([p for p, _ in joined([(np.log(0.2), "a"), (np.log(0.3), "a")])]) == pytest.approx([0.5])


def test_a_mixture_is_asked_listed_and_sampled():
    a, b = POSTERIORS["chain"], POSTERIORS["chain"].tempered(3.0)
    m = MixturePosterior((Part(0.3, "a", a), Part(0.7, "b", b)))
    assert m.ask(lambda p, given: p.marginals()) == pytest.approx(0.3 * a.marginals() + 0.7 * b.marginals())
    assert m.ask(lambda p, given: given == "a") == pytest.approx(0.3)
    one, other = everything(a), everything(b)
    every = {x: 0.3 * np.exp(one[x]) + 0.7 * np.exp(other[x]) for x in one}
    assert [q for q, _ in m.k_best(100)] == pytest.approx(sorted(every.values(), reverse=True))
    assert m.best() in every
    said = m.probability(lambda tags: tags[0] == "a", n=4_000)
    exact = m.ask(lambda p, given: p.marginals()[0, 0])
    assert abs(said - exact) < 5.0 * np.sqrt(0.25 / 4_000)
    assert m.samples(9, 4) == m.samples(9, 4)
    assert m.simulation_error(lambda p, given: 1.0) == 0.0
