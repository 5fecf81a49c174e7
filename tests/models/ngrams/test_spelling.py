"""The noisy channel: words, sentences, and what ships."""

import math
from itertools import product

import numpy as np
import pytest

import howsure
from howsure.corpora.reading import corpus_path
from howsure.errors import InputError
from howsure.models.ngrams import spelling
from howsure.models.ngrams.spelling import Corrector, Place, error_model, shipped_errors, tune_weight
from howsure.models.ngrams.training import trained

# A text of our own about eating out.
DINNER = [
    "i would like chinese food",
    "i would like some thai food for lunch",
    "i would like to spend ten dollars",
    "i want to eat chinese food",
    "i want to eat lunch in a place made of wood",
    "we are fond of good food",
    "they cut wood and cook food",
    "do you like chinese food",
    "i like it",
    "what would you like to eat",
    "that is what i would like",
] * 400


@pytest.fixture(scope="module")
def dinner():
    return trained(DINNER, order=3, smoothing="modified-kneser-ney")


def test_the_issue_sentences_come_out_right_with_what_ships(dinner):
    fix = Corrector(dinner)
    for typed, meant in (
        ("chinise fod", "chinese food"),
        ("i wood like", "i would like"),
        ("I wood like chinise fod.", "I would like chinese food."),
        ("i want to eat in a place made of wood", "i want to eat in a place made of wood"),
    ):
        assert fix.line(typed)[0] == meant
    changes = fix.line("i wood like")[1]
    assert [(c.typed, c.meant) for c in changes] == [("wood", "would")]
    assert changes[0].candidates[0][1] > 0.5
    # By itself "wood" is a word, and stays.
    assert fix.word("wood").meant == "wood"


def test_the_weight_with_most_words_right_is_chosen_the_nearest_to_1_of_several():
    class Pretend:
        weight = 1.0

        def line(self, typed):
            return (typed.replace("fod", "food") if self.weight in (0.25, 1.5, 2.0) else typed), []

    channel = Pretend()
    assert tune_weight(channel, [("Some fod", "some food"), ("it is", "it is")]) == 1.0
    assert channel.weight == 1.5
    assert tune_weight(channel, [("it was", "it is")]) == 0.5
    assert channel.weight == 1.0
    with pytest.raises(InputError, match="no lines"):
        tune_weight(channel, [])


def test_neighbours_correct_one_another(dinner):
    """Both words of "chinise fod" are wrong: each is surer beside the other's correction than by itself."""
    fix = Corrector(dinner)
    together = {c.typed: c.candidates[0] for c in fix.line("chinise fod")[1]}
    for typed, meant in (("chinise", "chinese"), ("fod", "food")):
        assert together[typed][0] == meant
        assert together[typed][1] > dict(fix.word(typed).candidates)[meant]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("weight", [0.4, 1.0])
@pytest.mark.parametrize("running", [False, True])
def test_posteriors_are_those_of_enumeration(order, weight, running, monkeypatch):
    monkeypatch.setattr(spelling, "FAR", 1e9)
    model = trained(DINNER[:30], order=order, smoothing="witten-bell", sentences=not running)
    rng = np.random.default_rng(order)
    places = [
        Place(rng.choice(np.arange(3, len(model.vocabulary)), 4, replace=False), rng.exponential(2, 4))
        for _ in range(4)
    ]
    found = Corrector(model, weight=weight).posteriors(places)
    wanted = [np.zeros(4) for _ in places]
    total = 0.0
    for chosen in product(range(4), repeat=4):
        text = " ".join(model.vocabulary.words[p.words[k]] for p, k in zip(places, chosen, strict=True))
        share = math.exp(weight * model.score(text) - sum(p.costs[k] for p, k in zip(places, chosen, strict=True)))
        total += share
        for at, k in enumerate(chosen):
            wanted[at][k] += share
    for a, b in zip(found, wanted, strict=True):
        assert a == pytest.approx(b / total, rel=1e-9)


def test_a_beam_keeps_the_best_histories(dinner, monkeypatch):
    whole = Corrector(dinner).line("i wood lick chinise fod")
    monkeypatch.setattr(spelling, "MOST_STATES", 8)
    line, changes = Corrector(dinner).line("i wood lick chinise fod")
    assert line == whole[0]
    for a, b in zip(changes, whole[1], strict=True):
        assert a.candidates[0][1] == pytest.approx(b.candidates[0][1], abs=0.05)


def test_an_unknown_word_may_be_right():
    model = trained(
        [*DINNER, *(f"we eat at {name}" for name in ("zino", "mela", "fuji", "karo"))],
        order=2,
        smoothing="katz",
        min_count=2,
    )
    assert Corrector(model).line("we eat at Quxo")[0] == "we eat at Quxo"
    assert Corrector(model).line("we eat at 7.30 !")[0] == "we eat at 7.30 !"
    assert Corrector(model).line("")[0] == ""


def test_models_without_unknown_words_or_with_zeros():
    for options in ({"closed": True, "smoothing": "katz"}, {"smoothing": "mle"}):
        model = trained(DINNER, order=2, **options)
        assert Corrector(model).line("i wood like zzzzzzzz chinise fod")[0] == "i would like zzzzzzzz chinese food"


def test_what_ships_is_a_channel():
    """Steps at a letter are a distribution, and a common slip costs less than a rare one."""
    e = shipped_errors()
    at = np.exp(-e.change).sum(1) + np.exp(-e.swap).sum(1) + np.exp(-e.drop).sum(0)
    assert at == pytest.approx(np.ones(spelling.N_CODES))
    a, i, q = (ord(c) - 97 for c in "aiq")
    assert e.change[i, a] < e.change[i, q]
    assert e.pairs > 10_000
    learnt = error_model([("teh", "the")] * 50)
    assert learnt.swap[ord("h") - 97, ord("e") - 97] < e.swap[ord("h") - 97, ord("e") - 97]


def test_bad_settings(dinner):
    with pytest.raises(InputError, match="weight"):
        Corrector(dinner, weight=-1.0)
    with pytest.raises(InputError, match="error rate"):
        Corrector(dinner, error_rate=0.0)
    with pytest.raises(InputError, match="model of words"):
        Corrector(trained(DINNER, order=2, smoothing="laplace", units="characters"))


@pytest.mark.corpus
def test_the_restaurant_corpus():
    from howsure.corpora.plain import restaurant_utterances

    model = howsure.lm.train(restaurant_utterances(corpus_path("berp", "transcript.txt")), order=3)
    fix = howsure.lm.corrector(model)
    for typed, meant in (
        ("chinise fod", "chinese food"),
        ("i wood like", "i would like"),
        ("i want too eat lunck", "i want to eat lunch"),
    ):
        assert fix.line(typed)[0] == meant
