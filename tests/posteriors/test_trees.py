"""Dependency trees against enumeration of all trees: every query, projective or not, with labels."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure import TreePosterior
from howsure.errors import InputError
from howsure.posteriors.trees import is_projective, is_tree, summed


def yield_of(heads, word):
    """The words under a word, itself among them; found by walking up from each."""
    found = set()
    for start in range(1, len(heads) + 1):
        x = start
        for _ in range(len(heads) + 1):
            if x == word:
                found.add(start)
            x = heads[x - 1] if x else 0
    return found


@cache
def all_trees(n, projective):
    made = []
    for heads in itertools.product(range(n + 1), repeat=n):
        if heads.count(0) != 1 or len(yield_of(heads, heads.index(0) + 1)) < n:
            continue
        spans = [sorted(yield_of(heads, w)) for w in range(1, n + 1)]
        if not projective or all(s[-1] - s[0] + 1 == len(s) for s in spans):  # every subtree is a span
            made.append(heads)
    return np.array(made).reshape(-1, n)


class Enumerated:
    """The posterior by listing all trees."""

    def __init__(self, scores, projective):
        self.trees = all_trees(scores.shape[1], projective)
        self.weights = scores[self.trees, np.arange(scores.shape[1])].sum(axis=1)
        self.log_z = np.logaddexp.reduce(self.weights)
        self.p = np.exp(self.weights - self.log_z)

    def share(self, holds):
        return float(sum(p for p, t in zip(self.p, self.trees, strict=True) if holds(t)))


def marginals_of(e, n):
    made = np.zeros((n + 1, n))
    for p, t in zip(e.p, e.trees, strict=True):
        made[t, np.arange(n)] += p
    return made


def scores_of(n, seed, scale=2.0, forbidden=0.0):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(n + 1, n)) * scale
    if forbidden:
        s[rng.random(s.shape) < forbidden] = -np.inf
        s[0, 0] = 0.0
        s[1, 1:] = 0.0  # one tree at least
    return s


@pytest.mark.parametrize("projective", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_every_number_equals_enumeration(n, projective):
    for seed, forbidden in ((n, 0.0), (10 + n, 0.4)):
        s = scores_of(n, seed, forbidden=forbidden)
        t, e = TreePosterior(s, projective=projective), Enumerated(s, projective)
        assert t.log_partition == pytest.approx(e.log_z, abs=1e-12)
        np.testing.assert_allclose(t.marginals(), marginals_of(e, n), atol=1e-12)
        used = e.p[e.p > 0]
        assert t.entropy == pytest.approx(-float(used @ np.log(used)), abs=1e-12)
        best = e.trees[e.p.argmax()]
        assert t.best().heads.tolist() == best.tolist()
        assert t.best().log_prob == pytest.approx(np.log(e.p.max()), abs=1e-12)
        risk = t.mbr().heads
        expected = marginals_of(e, n)[e.trees, np.arange(n)].sum(axis=1)
        assert t.attachment(risk).sum() == pytest.approx(expected.max(), abs=1e-12)
        for tree, p in zip(e.trees[:40], e.p, strict=False):
            assert np.exp(t.log_probability(tree)) == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("projective", [False, True])
@pytest.mark.parametrize("n", [2, 4, 5])
def test_arcs_paths_subtrees_and_spans_equal_enumeration(n, projective):
    s = scores_of(n, 20 + n)
    t, e = TreePosterior(s, projective=projective), Enumerated(s, projective)
    rng = np.random.default_rng(1)
    for tree in e.trees[rng.integers(len(e.trees), size=6)]:
        arcs = [(int(tree[m]), m + 1) for m in rng.permutation(n)[:2]]
        assert t.arcs_probability(arcs) == pytest.approx(
            e.share(lambda x, a=arcs: all(x[m - 1] == h for h, m in a)), abs=1e-12
        )
        top = int(rng.integers(1, n + 1))
        under = yield_of(tree.tolist(), top)
        inner = [(int(tree[m - 1]), m) for m in under - {top}]
        want = e.share(
            lambda x, u=under, i=inner, w=top: yield_of(x.tolist(), w) == u and all(x[m - 1] == h for h, m in i)
        )
        assert t.subtree_probability(top, inner) == pytest.approx(want, abs=1e-12)
        last = int(rng.integers(1, n + 1))
        path = [last]
        while path[0]:
            path.insert(0, int(tree[path[0] - 1]))
        want = e.share(lambda x, p=path: all(x[b - 1] == a for a, b in itertools.pairwise(p)))
        assert t.path_probability(path) == pytest.approx(want, abs=1e-12)
    for a, z in itertools.combinations(range(n + 1), 2):
        want = e.share(
            lambda x, a=a, z=z: any(yield_of(x.tolist(), w) == set(range(a + 1, z + 1)) for w in range(1, n + 1))
        )
        assert t.span_probability(a, z) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_k_best_is_the_sorted_enumeration(n):
    s = scores_of(n, 30 + n)
    t, e = TreePosterior(s, projective=True), Enumerated(s, True)
    found = t.k_best(200)
    order = np.argsort(-e.p, kind="stable")
    assert len(found) == min(200, len(e.p))
    np.testing.assert_allclose([f.log_prob for f in found], np.log(e.p[order])[:200], atol=1e-12)
    assert len({tuple(f.heads.tolist()) for f in found}) == len(found)


@pytest.mark.parametrize("projective", [False, True])
def test_labels_are_summed_and_equal_enumeration(projective):
    n, size = 3, 3
    s = np.random.default_rng(5).normal(size=(n + 1, n, size))
    s[1, 2, 0] = -np.inf
    t = TreePosterior(s, projective=projective, labels=("a", "b", "c"))
    weights = {
        (tuple(tree), labels): sum(s[h, m, c] for m, (h, c) in enumerate(zip(tree, labels, strict=True)))
        for tree in all_trees(n, projective).tolist()
        for labels in itertools.product(range(size), repeat=n)
    }
    log_z = np.logaddexp.reduce(list(weights.values()))
    q = np.zeros_like(s)
    for (tree, labels), w in weights.items():
        q[list(tree), np.arange(n), list(labels)] += np.exp(w - log_z)
        assert np.exp(t.log_probability(tree, labels)) == pytest.approx(np.exp(w - log_z), abs=1e-12)
    np.testing.assert_allclose(t.labelled_marginals(), q, atol=1e-12)
    p = np.exp(np.array([w for w in weights.values() if w > -np.inf]) - log_z)
    assert t.entropy == pytest.approx(-float(p @ np.log(p)), abs=1e-12)
    np.testing.assert_allclose(t.label_is("b").y_prob, q[..., 1].sum(axis=0), atol=1e-12)
    cooler = t.tempered(2.0)
    assert cooler.log_partition == pytest.approx(np.logaddexp.reduce(np.array(list(weights.values())) / 2), abs=1e-12)
    assert t.log_probability(t.best().heads, [-1, 0, 0]) == -np.inf


@pytest.mark.parametrize("projective", [False, True])
def test_samples_have_the_posterior_s_frequencies(projective):
    s = scores_of(4, 3)
    t, e = TreePosterior(s, projective=projective), Enumerated(s, projective)
    n = 4_000
    drawn = [tuple(x) for x in t.samples(n, 7).tolist()]
    for tree, p in zip(e.trees.tolist(), e.p, strict=True):
        seen = drawn.count(tuple(tree)) / n
        assert abs(seen - p) < 5 * np.sqrt(max(p * (1 - p), 1e-4) / n)
    assert (t.samples(5, 1) == t.samples(5, 1)).all()


@pytest.mark.parametrize("projective", [False, True])
def test_marginals_are_the_gradient_of_log_z(projective):
    s, step = scores_of(6, 8), 1e-5
    t = TreePosterior(s, projective=projective)
    for h, m in ((0, 2), (1, 4), (5, 0), (6, 2)):
        up, down = s.copy(), s.copy()
        up[h, m] += step
        down[h, m] -= step
        change = summed(up, projective)[1] - summed(down, projective)[1]
        assert t.marginals()[h, m] == pytest.approx(change / (2 * step), abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10_000), st.booleans(), st.sampled_from([0.1, 30.0, 1e4]))
def test_any_scores_are_finite_and_sum_to_one(n, seed, projective, scale):
    s = np.random.default_rng(seed).uniform(-scale, scale, size=(n + 1, n))
    t, e = TreePosterior(s, projective=projective), Enumerated(s, projective)
    q = t.marginals()
    assert np.isfinite(t.log_partition)
    assert np.isfinite(t.entropy)
    assert ((q >= 0) & (q <= 1 + 1e-9)).all()
    np.testing.assert_allclose(q.sum(axis=0), 1.0, atol=1e-9)
    np.testing.assert_allclose(q, marginals_of(e, n), atol=1e-9 if scale > 1e3 else 1e-12)
    assert q[0].sum() == pytest.approx(1.0, abs=1e-9)  # one root
    tree = t.best().heads
    assert is_tree(tree)
    assert not projective or is_projective(tree)
    assert all(is_tree(x) for x in t.samples(2, 0))


def test_two_words_that_prefer_each_other_do_not_cancel():
    s = np.full((4, 3), -1e4)
    s[1, 1] = s[2, 0] = 1e4  # a cycle that no tree can hold
    s[0, 2] = 0.0
    t, e = TreePosterior(s), Enumerated(s, False)
    np.testing.assert_allclose(t.marginals(), marginals_of(e, 3), atol=1e-12)


def test_what_is_no_tree_has_no_probability():
    t = TreePosterior(scores_of(3, 1), projective=True)
    assert t.log_probability([2, 1, 0]) == -np.inf  # a cycle
    assert t.log_probability([0, 0, 1]) == -np.inf  # two roots
    assert TreePosterior(scores_of(4, 1), projective=True).log_probability([3, 0, 2, 1]) == -np.inf  # crosses
    assert is_projective(np.array([0, 1, 2]))
    assert not is_projective(np.array([3, 0, 2]))  # passes over the root


@pytest.mark.parametrize("projective", [False, True])
def test_no_words_and_one_word(projective):
    empty = TreePosterior(np.zeros((1, 0)), projective=projective)
    assert (empty.log_partition, empty.entropy, empty.log_probability([])) == (0.0, 0.0, 0.0)
    assert empty.best().heads.tolist() == []
    assert empty.samples(3).shape == (3, 0)
    assert empty.marginals().shape == (1, 0)
    one = TreePosterior([[2.0], [0.0]], projective=projective)
    assert one.log_partition == pytest.approx(2.0)
    assert one.marginals().tolist() == [[1.0], [0.0]]
    assert one.best().heads.tolist() == [0] == one.samples(1)[0].tolist()


@pytest.mark.parametrize("projective", [False, True])
def test_all_forbidden_says_so(projective):
    with pytest.raises(InputError, match="no tree is possible"):
        TreePosterior(np.full((4, 3), -np.inf), projective=projective).best()
    cycle = np.full((3, 2), -np.inf)
    cycle[2, 0] = cycle[1, 1] = 0.0
    with pytest.raises(InputError, match="no tree is possible"):
        TreePosterior(cycle, projective=projective).marginals()


def test_bad_input_is_refused():
    for bad, said in (
        (np.zeros((2, 2)), "shape"),
        ([[np.nan], [0.0]], "finite"),
        (np.zeros((2, 1, 0)), "each label"),
    ):
        with pytest.raises(InputError, match=said):
            TreePosterior(bad)
    t = TreePosterior(np.zeros((3, 2)))
    for ask, said in (
        (lambda: t.k_best(2), "projective"),
        (lambda: t.arcs_probability([(1, 1)]), "another word"),
        (lambda: t.span_probability(1, 1), "within the 2 words"),
        (lambda: t.subtree_probability(1, [(0, 2)]), "no tree under"),
        (lambda: t.log_probability([0, 5]), "heads of 2 words"),
        (lambda: t.label_log_prob, "no labels"),
        (lambda: t.tempered(0.0), "above 0"),
        (lambda: TreePosterior(np.zeros((3, 2, 2)), labels=("x", "y")).label_is("z"), "none of the labels"),
    ):
        with pytest.raises(InputError, match=said):
            ask()


def test_questions_go_to_check():
    import howsure

    t = TreePosterior(scores_of(6, 2, 1.0))
    asked = t.arc_is(least=0.01)
    y = asked.y_true(t.samples(1, 4)[0])
    assert y.sum() <= 6
    assert howsure.check(y, asked.y_prob).n == len(asked)
    assert howsure.TreePosterior(scores_of(3, 1)).tempered(1e9).entropy == pytest.approx(np.log(9), abs=1e-6)
