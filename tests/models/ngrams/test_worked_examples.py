"""Numbers printed in the course notes and in the literature."""

import math

import numpy as np
import pytest

from howsure.models.ngrams.evaluation import entropy, perplexity_of
from howsure.models.ngrams.good_turing import adjusted_counts, simple_good_turing
from howsure.models.ngrams.smoothing import one_discount, three_discounts
from howsure.models.ngrams.training import trained
from howsure.models.ngrams.use import reconstituted_counts

WORDS = ["i", "want", "to", "eat", "chinese", "food", "lunch", "spend"]
UNIGRAMS = [2533, 927, 2417, 746, 158, 1093, 341, 278]
BIGRAMS = [
    [5, 827, 0, 9, 0, 0, 0, 2],
    [2, 0, 608, 1, 6, 6, 5, 1],
    [2, 0, 4, 686, 2, 0, 6, 211],
    [0, 0, 2, 0, 16, 2, 42, 0],
    [1, 0, 0, 0, 0, 82, 1, 0],
    [15, 0, 15, 0, 1, 4, 0, 0],
    [2, 0, 0, 0, 0, 1, 0, 0],
    [1, 0, 1, 0, 0, 0, 0, 0],
]
V = 1446


@pytest.fixture(scope="module")
def restaurant():
    """Sentences of two words with the bigram counts of the Berkeley Restaurant tables and a vocabulary of 1,446."""
    text = []
    for a, n, row in zip(WORDS, UNIGRAMS, BIGRAMS, strict=True):
        for b, c in zip(WORDS, row, strict=True):
            text += [f"{a} {b}"] * c
        text += [f"{a} other0"] * (n - sum(row))
    # </s> is a word too; with the closed vocabulary V words can follow.
    return text, [*WORDS, *(f"other{i}" for i in range(V - 1 - len(WORDS)))]


def bigram(model, a, b):
    return float(model.distribution(model.vocabulary.numbers([a]))[model.vocabulary.number(b)])


def conditional(text, smoothing, words):
    # As the contexts' own counts in the tables: each first word is followed by exactly its row.
    return trained(text, order=2, smoothing=smoothing, words=words, closed=True, sentences=True)


def test_restaurant_bigrams(restaurant):
    text, words = restaurant
    # Words in second place are followed by </s>; make the contexts' counts those of the table by running pairs apart.
    model = conditional([t.replace(" ", "_1 ", 1) for t in text], "mle", [*words, *(w + "_1" for w in WORDS)])
    assert bigram(model, "i_1", "want") == pytest.approx(827 / 2533)
    assert round(bigram(model, "i_1", "want"), 2) == 0.33
    assert round(bigram(model, "to_1", "eat"), 2) == 0.28
    assert round(bigram(model, "chinese_1", "food"), 2) == 0.52


def test_restaurant_laplace(restaurant):
    text, words = restaurant
    firsts = [w + "_1" for w in WORDS]
    model = conditional([t.replace(" ", "_1 ", 1) for t in text], "laplace", [*words[: V - 1 - len(firsts)], *firsts])
    assert model.distribution(model.vocabulary.numbers(["i_1"])).astype(bool).sum() == V
    assert bigram(model, "i_1", "want") == pytest.approx(828 / (2533 + 1446))
    assert round(bigram(model, "i_1", "want"), 2) == 0.21
    assert round(bigram(model, "want_1", "to"), 2) == 0.26
    adjusted = reconstituted_counts(model, firsts, WORDS)
    assert round(adjusted[0, 1]) == 527
    assert round(adjusted[1, 2]) == 238
    assert round(adjusted[4, 5], 1) == 8.2


def test_simple_good_turing_on_the_published_vector():
    made = simple_good_turing([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12], [120, 40, 24, 13, 15, 5, 11, 2, 2, 1, 3])
    assert made.p0 == pytest.approx(0.2047782, abs=5e-8)
    assert made.probabilities[0] == pytest.approx(0.0009267, abs=5e-8)
    assert made.probabilities[-1] == pytest.approx(0.0199696, abs=5e-8)
    assert made.p0 + float(made.n_r @ made.probabilities) == pytest.approx(1.0)


def test_plain_good_turing_has_the_factor():
    made = adjusted_counts([1, 2, 3, 4], [10, 4, 2, 1], cut_off=2)
    assert made.adjusted.tolist() == [2 * 4 / 10, 3 * 2 / 4, 3.0, 4.0]
    assert made.p0 == pytest.approx(10 / (10 + 8 + 6 + 4))


def test_a_bump_in_the_counts_of_counts_leaves_the_count():
    assert adjusted_counts([1, 2, 3], [4, 9, 1]).adjusted[0] == 1.0  # 2 · 9/4 would raise it
    assert adjusted_counts([1, 3], [4, 1]).adjusted[0] == 1.0  # nothing was seen twice


def test_entropy_of_the_pets():
    assert entropy([0.25] * 4) == 2.0
    assert entropy([0.97, 0.01, 0.01, 0.01]) == pytest.approx(0.24194, abs=5e-6)


def test_per_word_cross_entropy_of_the_sentence():
    log2 = [-6.9381, -11.0546, -3.1699, -4.2362, -5.0, -2.4426, -8.4246]
    assert -np.mean(log2) == pytest.approx(5.895, abs=1e-3)
    assert round(-float(np.mean(log2)), 1) == 5.9
    assert perplexity_of(log2) == pytest.approx(2**5.895, rel=1e-3)


def test_perplexity_of_digits():
    assert perplexity_of(np.log2([0.1] * 7)) == pytest.approx(10.0)
    digits = ["0"] * 91 + [str(d) for d in range(1, 10)]
    model = trained([" ".join(digits)], order=1, smoothing="mle", sentences=False)
    ids = model.ids([" ".join(digits)])
    assert perplexity_of(model.log_probs(ids)[0] / math.log(2)) == pytest.approx(1.65, abs=0.005)


def test_discounts_of_chen_and_goodman():
    n = [100, 40, 20, 10]
    y = 100 / 180
    assert one_discount(n)[0] == pytest.approx(y)
    assert three_discounts(n) == pytest.approx((1 - 2 * y * 0.4, 2 - 3 * y * 0.5, 3 - 4 * y * 0.5))
    assert three_discounts([0, 1, 1, 1]) is None
