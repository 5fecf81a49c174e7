"""The course notes: the tables by other computations, the corrections as laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import howsure
from howsure.experiments.course import models as notes
from howsure.experiments.course.models import bigram_tables, good_turing_masses, passages, restaurant_counts
from howsure.experiments.course.tables import exact_bootstrap
from howsure.experiments.findings import CLAIMS


@pytest.fixture(scope="module")
def without_data():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HOWSURE_DATA", raising=False)
        return howsure.reproduce("course", quick=True)


def test_bootstrap_by_enumeration_of_all_outcomes():
    plus, minus = notes.ONLY_A / 10, notes.ONLY_B / 10
    at_delta = at_twice = 0.0
    for a in range(11):
        for b in range(11 - a):
            ways = math.factorial(10) / (math.factorial(a) * math.factorial(b) * math.factorial(10 - a - b))
            p = ways * plus**a * minus**b * (1 - plus - minus) ** (10 - a - b)
            at_delta += p * (a - b >= 2)
            at_twice += p * (a - b >= 4)
    assert exact_bootstrap() == pytest.approx((at_delta, at_twice))


def test_bigram_tables_by_their_formulas():
    counts, contexts = notes.counts(), np.array(notes.CONTEXTS)[:, None]
    made = bigram_tables()
    assert made["mle"] == pytest.approx(counts / contexts)
    assert made["laplace"] == pytest.approx((counts + 1) / (contexts + 1446))
    assert made["adjusted"] == pytest.approx((counts + 1) * contexts / (contexts + 1446))
    assert [notes.agreeing(t, made[k])[0] for t, k in ((notes.LIKELIEST, "mle"), (notes.LAPLACE, "laplace"))] == [
        63,
        64,
    ]
    right, wrong = notes.agreeing(notes.RECONSTITUTED, made["adjusted"])
    assert (right, {w[0] for w in wrong}) == (59, {"chinese"})


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_good_turing_sums_to_one_with_the_factor_only(counts):
    with_factor, without, unseen = good_turing_masses(np.array(counts))
    assert with_factor == pytest.approx(1.0)
    assert unseen <= without <= 1.0 + 1e-12
    assert unseen == pytest.approx(counts.count(1) / sum(counts))


def test_verdicts(without_data):
    verdicts = {f.source + f.claim[:9]: f.verdict for f in without_data.findings}
    assert list(verdicts.values()).count("confirmed") == 8
    assert list(verdicts.values()).count("corrected") == 2
    assert [f.claim for f in without_data.findings if f.verdict == "not tested"] == [
        "Perplexity falls from unigrams over bigrams to trigrams.",
        *(CLAIMS[f"course/{name}"]["claim"] for name in ("restaurant", "newswire", "who-wrote-it")),
    ]
    numbers = {k: v for f in without_data.findings for k, v in f.numbers.items()}
    assert numbers["macro"] == pytest.approx((8 / 19 + 60 / 115 + 200 / 233) / 3)
    assert numbers["micro"] == pytest.approx(268 / 367)
    assert numbers["chance"] == pytest.approx(0.82)
    assert numbers["bootstrap"] == pytest.approx(exact_bootstrap()[1], abs=0.05)
    assert numbers["mcnemar"] == pytest.approx(2 * 22 / 64)  # P(at most 2 of 6), twice
    assert numbers["sum_by_tokens"] == pytest.approx(1.0)
    assert (numbers["agree"], numbers["cells"]) == (186, 192)
    assert "stories that ship" in without_data.data


def test_perplexity_on_a_corpus(tmp_path, monkeypatch):
    folder = tmp_path / "conll2000"
    folder.mkdir()
    words = ["the", "fox", "saw", "a", "hen", ".", "the", "hen", "saw", "the", "fox", "."]
    block = "\n".join(f"{w} X B-X" for w in words)
    (folder / "train.txt").write_text("\n\n".join([block] * 30))
    (folder / "test.txt").write_text(block)
    monkeypatch.setenv("HOWSURE_DATA", str(tmp_path))
    (found,) = (f for f in howsure.reproduce("course", quick=True).findings if "Perplexity falls" in f.claim)
    assert found.numbers["order_1"] > found.numbers["order_2"] > found.numbers["order_3"] > 1
    assert found.verdict == "confirmed"
    assert found.paper == "962, 170, 109"


@pytest.mark.corpus
def test_the_restaurant_counts_by_a_loop():
    """Counted again with a dictionary: the model's trie has the same bigrams."""
    from collections import Counter
    from itertools import pairwise

    from howsure.corpora.plain import restaurant_utterances
    from howsure.corpora.reading import corpus_path

    pairs, words = Counter(), Counter()
    for line in restaurant_utterances(corpus_path("berp", "transcript.txt")):
        said = line.split()
        words.update(said)
        pairs.update(pairwise(said))
    counts, contexts, size = restaurant_counts()
    assert counts.tolist() == [[pairs[a, b] for b in notes.WORDS] for a in notes.WORDS]
    assert contexts.tolist() == [words[a] for a in notes.WORDS]
    assert size == len(words)


@pytest.mark.corpus
def test_no_work_is_in_two_parts():
    made = passages(None)
    works = {part: set(columns[2]) for part, columns in made.items()}
    assert not works["train"] & works["dev"]
    assert not works["train"] & works["test"]
    assert not works["dev"] & works["test"]
    assert {"macbeth", "othello"} < works["test"]
