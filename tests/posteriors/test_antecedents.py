"""The antecedent posterior against enumeration of every antecedent vector."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from howsure.errors import InputError
from howsure.kernels.coreference import antecedents as kernels
from howsure.kernels.coreference import antecedents_compiled
from howsure.kernels.coreference.antecedents import expected_f
from howsure.posteriors.antecedents import AntecedentPosterior


def random_rows(n, rng, concentration=0.5, zeros=0.0):
    a, new = np.zeros((n, n)), np.ones(n)
    for i in range(1, n):
        row = rng.gamma(concentration, size=i + 1) + 1e-9
        row[:-1][rng.random(i) < zeros] = 0.0
        row /= row.sum()
        a[i, :i], new[i] = row[:i], row[i]
    return a, new


def enumerated(a, new):
    """Every antecedent vector with its probability and its clusters (frozensets)."""
    n = len(new)
    for vector in itertools.product(*[range(-1, i) for i in range(n)]):
        p = 1.0
        owner = list(range(n))
        for i, k in enumerate(vector):
            p *= new[i] if k < 0 else a[i, k]
            if k >= 0:
                owner[i] = owner[k]
        yield p, tuple(owner)


@st.composite
def models(draw):
    n = draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return random_rows(n, rng, draw(st.sampled_from([0.05, 0.5, 5.0])), draw(st.sampled_from([0.0, 0.5])))


@given(models(), st.booleans(), st.data())
def test_every_exact_query_equals_enumeration(model, sparse, data):
    a, new = model
    n = len(new)
    posterior = AntecedentPosterior(csr_array(a) if sparse else a, new)
    pairs, roots = np.zeros((n, n)), np.zeros((n, n))
    singles, sizes, counts = np.zeros(n), np.zeros(n), np.zeros(n + 1)
    clusterings, entities = {}, {}
    for p, owner in enumerated(a, new):
        o = np.array(owner)
        same = o[:, None] == o[None, :]
        pairs += p * same
        roots[np.arange(n), o] += p
        singles += p * (same.sum(axis=1) == 1)
        sizes += p * same.sum(axis=1)
        counts[len(set(owner))] += p
        clusterings[owner] = clusterings.get(owner, 0.0) + p
        for r in set(owner):
            members = frozenset(np.flatnonzero(o == r).tolist())
            entities[members] = entities.get(members, 0.0) + p
    tight = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(posterior.pairs(), pairs, **tight)
    np.testing.assert_allclose(posterior.roots(), roots, **tight)
    np.testing.assert_allclose(posterior.singletons(), singles, **tight)
    np.testing.assert_allclose(posterior.expected_sizes(), sizes, **tight)
    np.testing.assert_allclose(posterior.n_entities().probabilities, counts, **tight)
    for owner, p in clusterings.items():
        assert abs(posterior.probability(owner) - p) < 1e-12
    for size in range(1, n + 1):
        for members in itertools.combinations(range(n), size):
            assert abs(posterior.entity_probability(members) - entities.get(frozenset(members), 0.0)) < 1e-12
    i, j = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    assert posterior.pair(i, j) == posterior.pairs()[i, j]
    assert posterior.singleton(i) == posterior.singletons()[i]
    np.testing.assert_array_equal(posterior.root(i), posterior.roots()[i])


@given(models())
def test_best_takes_each_most_probable_choice(model):
    a, new = model
    n = len(new)
    owner = list(range(n))
    for i in range(n):
        k = max(range(-1, i), key=lambda k: (new[i] if k < 0 else a[i, k], k < 0, k))
        if k >= 0:
            owner[i] = owner[k]
    for given_a in (a, csr_array(a)):
        assert AntecedentPosterior(given_a, new).best().tolist() == owner


def partitions(n):
    if n == 0:
        yield []
        return
    for rest in partitions(n - 1):
        for k in range(max(rest, default=-1) + 2):
            yield [*rest, k]


def test_minimum_risk_comes_near_the_largest_expected_f():
    """Never below the best-antecedent clustering; the global optimum in nine models of ten, and never far."""
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(60):
        posterior = AntecedentPosterior(*random_rows(6, rng))
        q = posterior.pairs()
        most = max(expected_f(q, np.array(c)) for c in partitions(6))
        got = expected_f(q, posterior.minimum_risk())
        assert got >= expected_f(q, posterior.best()) - 1e-12
        assert got > 0.95 * most
        found += got > most - 1e-9
    assert found >= 54


@pytest.mark.parametrize("block", [1, 7, 48, 500])
def test_blocks_do_not_matter(block):
    a, _ = random_rows(130, np.random.default_rng(1))
    by_row = np.eye(130)
    for i in range(1, 130):
        by_row[i, :i] = by_row[:i, i] = a[i, :i] @ by_row[:i, :i]
    np.testing.assert_allclose(kernels.pair_probabilities(a, block), by_row, rtol=1e-12, atol=0)
    np.testing.assert_allclose(kernels.pair_probabilities(csr_array(a), block), by_row, rtol=1e-12, atol=0)
    for size in (1, 2, 5, 8, 130):  # the compiled versions work in fours
        part = np.ascontiguousarray(a[:size, :size])
        np.testing.assert_allclose(antecedents_compiled.dense_pairs(part), by_row[:size, :size], rtol=1e-12, atol=0)
    for given_a in (a, csr_array(a)):
        np.testing.assert_allclose(AntecedentPosterior(given_a).pairs(), by_row, rtol=1e-12, atol=0)


@pytest.mark.parametrize("sparse", [False, True])
def test_compiled_samples_equal_numpy_samples_draw_for_draw(sparse):
    a, new = random_rows(60, np.random.default_rng(2), zeros=0.6)
    posterior = AntecedentPosterior(csr_array(a) if sparse else a, new, name="d1")
    needed = np.zeros(60, bool)
    needed[[5, 40, 59]] = True
    for some in (np.ones(60, bool), needed):
        arguments = (posterior._values, posterior._columns, posterior._starts, posterior._counts)
        arguments = (*arguments, posterior.new, 300, 99, some)
        plain, compiled = kernels.sampled_roots(*arguments), antecedents_compiled.sampled_roots(*arguments)
        np.testing.assert_array_equal(plain, compiled)
    drawn = posterior.samples(300)
    together = np.mean(drawn[:, :, None] == drawn[:, None, :], axis=0)
    np.testing.assert_allclose(antecedents_compiled.pair_frequencies(drawn), together)


def test_asking_for_some_mentions_gives_the_columns_of_the_samples():
    posterior = AntecedentPosterior(*random_rows(40, np.random.default_rng(4)), name="d")
    whole, some = posterior.samples(50, 7), posterior.ask([3, 39, 12], 50, 7)
    np.testing.assert_array_equal(whole[:, [3, 39, 12]], some)


def test_streams_belong_to_documents():
    a, new = random_rows(30, np.random.default_rng(5))
    one, same = AntecedentPosterior(a, new, name="x"), AntecedentPosterior(csr_array(a), new, name="x")
    other = AntecedentPosterior(a, new, name="y")
    np.testing.assert_array_equal(one.samples(20, 1), same.samples(20, 1))
    assert (one.samples(20, 1) != other.samples(20, 1)).any()
    assert (one.samples(20, 1) != one.samples(20, 2)).any()
    np.testing.assert_array_equal(one.samples(20, 1)[:10], one.samples(10, 1))


@pytest.mark.simulation
def test_samples_follow_the_exact_pairs():
    """20,000 samples of 12 mentions: 66 frequencies within five binomial standard errors."""
    posterior = AntecedentPosterior(*random_rows(12, np.random.default_rng(6)))
    q, n = posterior.pairs(), 20_000
    seen = antecedents_compiled.pair_frequencies(posterior.samples(n))
    assert (np.abs(seen - q) <= 5 * np.sqrt(q * (1 - q) / n) + 1e-9).all()
    counted = np.bincount([len(set(s)) for s in posterior.samples(n).tolist()], minlength=13) / n
    law = posterior.n_entities().probabilities
    assert (np.abs(counted - law) <= 5 * np.sqrt(law * (1 - law) / n) + 1e-9).all()


@given(models(), st.floats(0.1, 10))
def test_temperature_divides_scores(model, t):
    a, new = model
    for given_a in (a, csr_array(a)):
        warm = AntecedentPosterior(given_a, new).tempered(t)
        got = kernels.dense(warm.antecedents)
        for i in range(len(new)):
            powers = [new[i] ** (1 / t), *(p ** (1 / t) for p in a[i, :i])]
            np.testing.assert_allclose(warm.new[i], powers[0] / sum(powers), atol=1e-12)
            np.testing.assert_allclose(got[i, :i], np.array(powers[1:]) / sum(powers), atol=1e-12)
        back = warm.tempered(1 / t)
        np.testing.assert_allclose(back.new, new, atol=1e-9)


def test_scores_become_probabilities():
    scores = np.array([[9.0, 9, 9], [1.0, 9, 9], [-np.inf, 0.5, 9]])
    posterior = AntecedentPosterior.from_scores(scores, [0.0, 0.0, 2.0])
    a = kernels.dense(posterior.antecedents)
    assert a[1, 0] == pytest.approx(np.e / (1 + np.e))
    assert a[2, 0] == 0.0
    assert a[2, 1] == pytest.approx(np.exp(0.5) / (np.exp(0.5) + np.exp(2)))
    sparse = AntecedentPosterior.from_scores(csr_array(([1.0, 0.5], ([1, 2], [0, 1])), shape=(3, 3)), [0.0, 0.0, 2.0])
    np.testing.assert_allclose(kernels.dense(sparse.antecedents), a)
    far = AntecedentPosterior.from_scores(np.array([[0, 0], [5000.0, 0]]), [0.0, 4000.0])
    assert far.pair(0, 1) == 1.0


@pytest.mark.parametrize(
    ("a", "new", "message"),
    [
        ([[0, 0], [0.5, 0]], [1, 0.4], "row of mention 1 and P\\(NEW\\) sum to 0.9"),
        ([[0, 0], [0.5, 0]], [0.9, 0.5], "row of mention 0"),
        ([[0, 0], [1.5, 0]], None, "must lie in \\[0, 1\\]; got 1.5 in row 1"),
        ([[0, 0], [np.nan, 0]], None, "must lie in \\[0, 1\\]; got nan"),
        ([[0, 0.5], [0.5, 0]], None, "comes before its mention; row 0"),
        ([[0, 0, 0], [0.5, 0, 0]], None, "square"),
        ([[0, 0], [0.5, 0]], [1, 0.5, 0], "3 entries for 2 mentions"),
        ([[0, 0], [1.0005, 0]], [1, 0.5], "sum to 1.5"),
    ],
)
def test_bad_rows(a, new, message):
    with pytest.raises(InputError, match=message):
        AntecedentPosterior(np.array(a, dtype=float), new)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.pair(0, 3), "numbered 0 to 2"),
        (lambda p: p.ask([5], 10), "numbered 0 to 2; got 5"),
        (lambda p: p.samples(0), "whole number of 1 or more"),
        (lambda p: p.tempered(0), "above 0"),
        (lambda p: p.probability([0, 1]), "each of 3 mentions"),
        (lambda p: p.entity_probability([]), "one mention"),
    ],
)
def test_bad_questions(call, message):
    with pytest.raises(InputError, match=message):
        call(AntecedentPosterior(*random_rows(3, np.random.default_rng(0))))


def test_a_document_without_mentions_has_an_empty_posterior():
    p = AntecedentPosterior(np.zeros((0, 0)), [])
    assert p.pairs().shape == (0, 0)
    assert p.samples(3).shape == (3, 0)
    assert p.n_entities().probabilities.tolist() == [1.0]
    assert p.probability([]) == 1.0
    assert p.best().tolist() == p.minimum_risk().tolist() == []
