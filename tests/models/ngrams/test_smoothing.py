"""Every smoothing against a slow reference, NLTK or KenLM, and the laws they obey."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import ModifiedKneserNey, log_prob

from howsure.errors import InputError
from howsure.models.ngrams.smoothing import SMOOTHINGS, fitted_weights
from howsure.models.ngrams.training import held_out_counts, left_out, trained


@pytest.fixture(scope="module")
def models(sentences):
    made = {}

    def get(smoothing, order, padding, closed, has_sentences):
        key = (smoothing, order, padding, closed, has_sentences)
        if key not in made:
            made[key] = trained(
                sentences[:40],
                order=order,
                smoothing=smoothing,
                padding=padding if padding == 1 else max(1, order - 1),
                closed=closed,
                sentences=has_sentences,
            )
        return made[key]

    return get


@given(
    smoothing=st.sampled_from(sorted(SMOOTHINGS)),
    order=st.integers(1, 5),
    padding=st.sampled_from([1, 9]),
    closed=st.booleans(),
    has_sentences=st.booleans(),
    words=st.lists(st.integers(0, 1000), max_size=6),
    at_start=st.booleans(),
)
def test_distributions_sum_to_one(models, smoothing, order, padding, closed, has_sentences, words, at_start):
    model = models(smoothing, order, padding, closed, has_sentences)
    v = len(model.vocabulary)
    history = [w % v for w in words if w % v not in (1, 2)]
    if at_start and has_sentences:
        history = [1] * model.frame + history
    probs = model.distribution(np.array(history, np.int32))
    assert probs.min() >= 0.0
    assert probs.sum() == pytest.approx(1.0, abs=1e-10)
    assert probs[1] == 0.0  # <s> is never predicted
    if closed:
        assert probs[0] == 0.0
    elif smoothing != "mle":
        assert probs[0] > 0.0


@pytest.mark.parametrize("smoothing", sorted(SMOOTHINGS))
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_scores_and_guesses_are_those_of_the_distribution(models, smoothing, order):
    model = models(smoothing, order, 1, False, True)
    ids = model.ids(["the old fox saw a unicorn", "a hen met", "the the river"])
    log_prob_of, matched = model.log_probs(ids)
    guess, log_guess = model.predictions(ids)
    history = []
    for i, w in enumerate(ids.tolist()):
        if w == 1:
            history = [1]
            continue
        probs = model.distribution(np.array(history, np.int32))
        assert math.exp(log_prob_of[i]) == pytest.approx(probs[w], abs=1e-12)
        assert math.exp(log_guess[i]) == pytest.approx(probs.max(), abs=1e-12)
        assert probs[guess[i]] == pytest.approx(probs.max(), abs=1e-12)
        assert 1 <= matched[i] <= order
        history.append(w)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_modified_kneser_ney_is_the_papers_recursion(sentences, order):
    slow = ModifiedKneserNey(sentences, order)
    model = trained(sentences, order=order, smoothing="modified-kneser-ney")
    for text in ("the fox saw a hen", "a barn left", "hen hen hen", "the dragon met a moon"):
        known = " ".join(w if model.vocabulary.number(w) else "<UNK>" for w in text.split())
        assert model.score(text) == pytest.approx(log_prob(slow, known), rel=1e-10)


def nltk_grams(sentences, n):
    made = []
    for s in sentences:
        words = ["<s>"] * (n - 1) + s.split() + ["</s>"]
        made.append(
            [
                tuple(words[i - k + 1 : i + 1])
                for i in range(n - 1, len(words))
                for k in range(1, n + 1)
                if i - k + 1 >= 0
            ]
        )
    return made


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    ("smoothing", "options"),
    [("lidstone", {"alpha": 0.3}), ("laplace", {}), ("mle", {})],
)
def test_additive_equals_nltk(sentences, order, smoothing, options):
    nltk = pytest.importorskip("nltk.lm")
    theirs = {
        "lidstone": lambda: nltk.Lidstone(0.3, order),
        "laplace": lambda: nltk.Laplace(order),
        "mle": lambda: nltk.MLE(order),
    }[smoothing]()
    words = sorted({w for s in sentences for w in s.split()} | {"</s>"})
    theirs.fit(nltk_grams(sentences, order), vocabulary_text=words)  # <s> left out: NLTK would count it in V
    ours = trained(sentences, order=order, smoothing=smoothing, padding=max(1, order - 1), **options)
    for history in (["the", "fox"], ["a", "hen"], ["old", "fox"]):
        history = history[: order - 1] if order > 1 else []
        probs = ours.distribution(ours.vocabulary.numbers(history))
        for word in ("saw", "hen", "moon"):
            expected = theirs.score(word, history)
            assert probs[ours.vocabulary.number(word)] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("smoothing", ["witten-bell", "kneser-ney"])
@pytest.mark.parametrize("order", [2, 3])
def test_interpolated_equals_nltk_over_its_own_base(sentences, smoothing, order):
    """NLTK stops at the unigram, so that unknown words get nothing; with the same base the recursion is the same."""
    nltk = pytest.importorskip("nltk.lm")
    options = {"uniform_base": False} | ({"discount": 0.4} if smoothing == "kneser-ney" else {})
    theirs = (
        nltk.WittenBellInterpolated(order)
        if smoothing == "witten-bell"
        else nltk.KneserNeyInterpolated(order, discount=0.4)
    )
    words = sorted({w for s in sentences for w in s.split()} | {"</s>"})
    theirs.fit(nltk_grams(sentences, order), vocabulary_text=words)
    ours = trained(sentences, order=order, smoothing=smoothing, padding=order - 1, **options)
    for history in (["the", "fox"], ["a", "hen"], ["old", "fox"], ["moon", "saw"]):
        history = history[-(order - 1) :]
        probs = ours.distribution(ours.vocabulary.numbers(history))
        for word in ("saw", "hen", "moon", "a", "</s>"):
            expected = theirs.score(word, history)
            assert probs[ours.vocabulary.number(word)] == pytest.approx(expected, abs=1e-12)


def test_katz_keeps_large_counts_and_backs_off_to_the_rest(sentences):
    model = trained(sentences, order=2, smoothing="katz", cut_off=3)
    trie = model.trie
    node = trie.node(model.vocabulary.numbers(["the", "fox"]).tolist())
    the = model.vocabulary.number("the")
    context = sum(int(trie.count[c]) for c in range(int(trie.start[the]), int(trie.start[the + 1])))
    ratios = model.settings["parameters"]["ratios"][1]
    p = model.distribution(model.vocabulary.numbers(["the"]))[model.vocabulary.number("fox")]
    kept = 1.0 if ratios is not None else (trie.count[node] - 0.5) / trie.count[node]
    assert trie.count[node] > 3
    assert p == pytest.approx(kept * trie.count[node] / context)


def test_alpha_is_the_best_on_dev(sentences):
    train, dev = sentences[:100], sentences[100:]
    best = trained(train, order=2, smoothing="lidstone", dev=dev)
    alpha = best.settings["parameters"]["alpha"]

    def loss(model):
        return -model.log_probs(model.ids(dev))[0].sum()

    here = loss(best)
    for factor in (0.8, 1.25, 3.0):
        assert here <= loss(trained(train, order=2, smoothing="lidstone", alpha=factor * alpha)) + 1e-9


def test_em_weights_are_the_best_on_dev(sentences):
    train, dev = sentences[:100], sentences[100:]
    best = trained(train, order=2, smoothing="interpolated", dev=dev)
    shares = best.settings["parameters"]["weights"]

    def loss(weights):
        model = trained(train, order=2, smoothing="interpolated", weights=weights)
        return -model.log_probs(model.ids(dev))[0].sum()

    here = loss(shares)
    for k in range(2):
        for step in (-0.05, 0.05):
            moved = [min(max(s + step * (i == k), 1e-6), 1 - 1e-6) for i, s in enumerate(shares)]
            assert here <= loss(moved) + 1e-3  # EM nears an edge slowly


def test_leaving_one_out_is_leaving_one_out(sentences):
    few = sentences[:12]
    model = trained(few, order=2, smoothing="mle")
    c, h, weight = left_out(model.trie, 1)
    slow = {}
    whole_c, whole_h, _ = held_out_counts(model, few)
    for row_c, row_h in zip((whole_c - 1).tolist(), (whole_h - 1).tolist(), strict=True):
        key = (*row_c, *row_h)
        slow[key] = slow.get(key, 0) + 1
    fast = {}
    for row_c, row_h, w in zip(c.tolist(), h.tolist(), weight.tolist(), strict=True):
        key = (*row_c, *row_h)
        fast[key] = fast.get(key, 0) + w
    assert fast == slow
    assert sum(weight) == len(whole_c)


def test_em_finds_a_mixture():
    rng = np.random.default_rng(3)
    n = 20_000
    known = rng.random(n) < 0.3  # explained by the bigram, else by the unigram
    c = np.where(known, 1.0, 0.0)[:, None] * np.array([0.0, 100.0]) + np.array([10.0, 0.0])
    weights = fitted_weights((c, np.full((n, 2), 100.0), np.ones(n)), 10**9)
    # With the bigram at 1 when known and 0 otherwise, its share is the share known (less what the unigram explains).
    assert weights[1] == pytest.approx(0.3 - 0.1 * 0.7 / 0.9, abs=0.03)
    assert weights[0] > 0.999


def test_alpha_must_be_positive(sentences):
    with pytest.raises(InputError, match="above 0"):
        trained(sentences, order=2, smoothing="lidstone", alpha=0.0)


def test_unknown_smoothing_names_the_nearest(sentences):
    with pytest.raises(InputError, match="Did you mean `katz`"):
        trained(sentences, order=2, smoothing="kats")
