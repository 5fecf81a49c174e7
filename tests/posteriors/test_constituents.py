"""Constituents against enumeration of all derivations of random grammars."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure import ConstituentPosterior, Grammar
from howsure.errors import InputError

LEAVES = ("n", "v")


def random_grammar(rng, scale):
    names = ["S", "NP", "U", "@X"]
    rules = [
        (a, b, c, float(rng.normal() * scale))
        for a in names
        for b in (*names, *LEAVES)
        for c in (*names, *LEAVES)
        if rng.random() < 0.13
    ]
    rules += [("S", "n", "v", 0.0), ("S", "S", "n", 0.5)]
    root = {"S": float(rng.normal()), "NP": 0.3, "n": -1.0}
    return Grammar.of(rules, root, words=LEAVES, chains={"U": ("S", "VP"), "@X": ()})


def derivations(g, words):
    """(weight, nodes) of each; nodes (i, j, symbol)."""
    rules = list(zip(g.rules.tolist(), g.weight.tolist(), strict=True))

    def under(i, j):
        if j == i + 1:
            return [(g.number[s], w, ((i, j, g.number[s]),)) for s, w in words[i].items()]
        made = []
        for k in range(i + 1, j):
            for b, wb, nb in under(i, k):
                for c, wc, nc in under(k, j):
                    made += [(a, w + wb + wc, ((i, j, a), *nb, *nc)) for (a, x, y), w in rules if (x, y) == (b, c)]
        return made

    return [(w + g.root[a], nodes) for a, w, nodes in under(0, len(words)) if g.root[a] > -np.inf]


def spans_of(g, nodes):
    order = sorted(nodes, key=lambda x: (x[0], -x[1]))
    return tuple((i, j, x) for i, j, s in order for x in g.chains[s])


def cases(scale):
    rng = np.random.default_rng(int(scale))
    for n in (1, 2, 3, 4, 5, 6):
        g = random_grammar(rng, scale)
        yield g, [{s: float(rng.normal() * scale) for s in ("n", "v", "NP")} for _ in range(n)]


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_every_number_equals_enumeration(scale):
    for g, words in cases(scale):
        p, found = ConstituentPosterior(g, words), derivations(g, words)
        if not found:
            assert p.log_partition == -np.inf
            continue
        weights = np.array([w for w, _ in found])
        log_z = np.logaddexp.reduce(weights)
        share = np.exp(weights - log_z)
        marginals, spans, trees = np.zeros_like(p.marginals()), np.zeros_like(p.spans()), {}
        for q, (_, nodes) in zip(share, found, strict=True):
            for i, j, s in nodes:
                spans[i, j] += q * bool(g.chains[s])
                for x in set(g.chains[s]):
                    marginals[i, j, g.labels.index(x)] += q
            trees[spans_of(g, nodes)] = trees.get(spans_of(g, nodes), 0.0) + q
        assert p.log_partition == pytest.approx(log_z, abs=1e-12)
        np.testing.assert_allclose(p.marginals(), marginals, atol=1e-12)
        np.testing.assert_allclose(p.spans(), spans, atol=1e-12)
        used = share[share > 0]
        assert p.entropy == pytest.approx(-float(used @ np.log(used)), abs=1e-11)
        for tree, q in trees.items():
            assert np.exp(p.log_probability(tree)) == pytest.approx(q, abs=1e-12)
        best = max(found, key=lambda x: x[0])
        assert p.best().spans == spans_of(g, best[1])
        assert p.tempered(3.0).log_partition == pytest.approx(np.logaddexp.reduce(weights / 3.0), abs=1e-12)
        heaviest = {}
        for w, nodes in sorted(found, key=lambda x: -x[0])[:25]:
            heaviest.setdefault(spans_of(g, nodes), w)
        listed = [t.spans for t in p.k_best(25)]
        weight = {spans_of(g, nodes): w for w, nodes in sorted(found, key=lambda x: x[0])}
        np.testing.assert_allclose([weight[t] for t in listed], list(heaviest.values()), atol=1e-9)


def test_samples_have_the_posterior_s_frequencies():
    g, words = list(cases(1.0))[3]
    p, n = ConstituentPosterior(g, words), 3_000
    drawn = [t.spans for t in p.samples(n, 3)]
    for tree in set(drawn):
        q = np.exp(p.log_probability(tree))
        assert abs(drawn.count(tree) / n - q) < 5 * np.sqrt(max(q * (1 - q), 1e-4) / n)


def test_the_tree_of_least_risk_has_the_most_expected_spans():
    g = Grammar.of(
        [("S", "S", "S", -0.3), ("S", "a", "S", -0.1), ("S", "a", "a", 0.0), ("S", "S", "a", -0.2)],
        {"S": 0.0},
        words="a",
    )
    p = ConstituentPosterior(g, [{"a": 0.0}] * 6)
    q = p.marginals()[..., 0]

    def expected(spans):
        return sum(q[i, j] for i, j, _ in spans)

    top = expected(p.mbr().spans)
    every = {spans_of(g, nodes) for _, nodes in derivations(g, [{"a": 0.0}] * 6)}
    assert top >= max(expected(t) for t in every) - 1e-12
    assert all(p.constituent(i, j, x) > 0.5 for i, j, x in p.mbr(price=0.5).spans)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([50.0, 1e4]))
def test_any_weights_are_finite(seed, scale):
    rng = np.random.default_rng(seed)
    g, words = random_grammar(rng, scale), [{"n": float(rng.normal() * scale), "v": 0.0} for _ in range(4)]
    p = ConstituentPosterior(g, words)
    q = p.marginals()
    assert np.isfinite(q).all()
    assert (q <= 1.0).all()
    assert np.isfinite(p.entropy)
    if p.has_tree:
        assert p._marginals[0][:, :].sum() >= 1.0
        rows = [p._chart.cell(i, i + 1) for i in range(4)]
        np.testing.assert_allclose(p._marginals[0][rows].sum(axis=1), 1.0, atol=1e-7 if scale > 1e3 else 1e-9)
        assert np.isfinite(p.best().log_prob)


def test_no_words_no_tree_and_forbidden_words():
    g = Grammar.of([("S", "a", "b", 0.0)], {"S": 0.0}, words=("a", "b"))
    empty = ConstituentPosterior(g, [])
    assert (empty.log_partition, empty.entropy, empty.best().spans, empty.log_probability([])) == (0.0, 0.0, (), 0.0)
    assert empty.samples(2)[0].spans == empty.mbr().spans == ()
    for words in ([{"a": 0.0}], [{"b": 0.0}, {"a": 0.0}], [{"a": -np.inf}, {"b": 0.0}], [{}, {}]):
        p = ConstituentPosterior(g, words)
        assert not p.has_tree
        assert p.log_partition == -np.inf
        assert p.marginals().sum() == 0.0
        assert p.best().spans == () == p.samples(1)[0].spans == p.mbr().spans
        assert p.log_probability([(0, len(words), "S")]) == -np.inf
        assert len(p.best().tags) == len(words)


def test_bad_input_is_refused():
    g = Grammar.of([("S", "a", "a", 0.0)], {"S": 0.0}, words="a")
    p = ConstituentPosterior(g, [{"a": 0.0}] * 2)
    for ask, said in (
        (lambda: ConstituentPosterior(g, [{"b": 0.0}]), "no symbol of the grammar"),
        (lambda: ConstituentPosterior(g, [{"a": np.nan}]), "finite"),
        (lambda: Grammar.of([("S", "a", "a", np.inf)], {}), "finite"),
        (lambda: p.constituent(0, 3), "within the 2 words"),
        (lambda: p.constituent(0, 2, "NP"), "none of the labels"),
    ):
        with pytest.raises(InputError, match=said):
            ask()


def test_questions_know_their_answers():
    g = Grammar.of([("S", "a", "S", 0.0), ("S", "S", "a", 0.0), ("S", "a", "a", 0.0)], {"S": 0.0}, words="a")
    p = ConstituentPosterior(g, [{"a": 0.0}] * 3)
    asked = p.span_is("S")
    assert asked.y_true([(0, 3, 0), (1, 3, 0)]).sum() == 2
    assert asked.expected == pytest.approx(2.0)
    assert p.span_is().y_true([(0, 3, 0)]).sum() == 1
