"""The network beside the hashed weights, learning from a few answers, and what word lists tell."""

import sys
from pathlib import Path

import numpy as np
import pytest

from howsure.corpora.document import Document, Mention
from howsure.data import first_names, nations, noun_classes
from howsure.kernels.coreference import hidden, hidden_compiled
from howsure.models.coreference.attributes import attributes
from howsure.models.coreference.features import DIMENSIONS, features, templates, vocabulary
from howsure.models.coreference.network import CODES, HALVES, ROW_BITS, Network, NetworkTrainer
from howsure.models.coreference.ranker import fit_coref, gold_clusters, pair_posterior
from howsure.models.coreference.relations import relation_codes

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[3] / "bench" / "studies"))
from coref_stories import story
from gap import Asked, asked_differences


def layer(seed, n=9, size=5, relations=3):
    rng = np.random.default_rng(seed)
    u, v = (rng.normal(size=(n, size)).astype(np.float32) for _ in range(2))
    e = rng.normal(size=(relations, CODES, size)).astype(np.float32)
    codes = rng.integers(0, 4, (n * (n - 1) // 2, relations)).astype(np.uint8)
    return u, v, e, codes, rng.normal(size=size).astype(np.float32)


def test_compiled_scores_equal_numpy_scores_and_a_loop(monkeypatch):
    u, v, e, codes, out = layer(0)
    plain = hidden.pair_scores(u, v, e, codes, out)
    np.testing.assert_allclose(hidden_compiled.pair_scores(u, v, e, codes, out), plain, rtol=1e-5, atol=1e-5)
    monkeypatch.setattr(hidden, "CHUNK", 11)  # of 36 pairs
    plain = hidden.pair_scores(u, v, e, codes, out)
    np.testing.assert_array_equal(hidden.pair_scores(u, v, e, codes, out, hidden_compiled.active), plain)
    i, j = 7, 3
    at = i * (i - 1) // 2 + j
    units = [u[i, k] + v[j, k] + sum(e[c, codes[at, c], k] for c in range(3)) for k in range(5)]
    assert plain[at] == pytest.approx(sum(out[k] * max(0.0, units[k]) for k in range(5)), rel=1e-5)


def test_derivatives_equal_differences_of_the_scores():
    u, v, e, codes, out = layer(1)
    weight = np.random.default_rng(2).normal(size=len(codes))
    made = hidden_compiled.derivatives(u, v, e, codes, out, weight)
    for which, at in ((0, (4, 2)), (1, (3, 1)), (2, (1, 2, 3)), (3, (4,))):
        values = []
        for step in (1e-2, -1e-2):
            given = [x.astype(np.float64) for x in (u, v, e)] + [out.astype(np.float64)]
            given[which][at] += step
            values.append(weight @ hidden.pair_scores(*given[:3], codes, given[3]))
        assert made[which][at] == pytest.approx((values[0] - values[1]) / 2e-2, rel=0.02, abs=1e-3)


def test_a_compiled_step_of_adam_is_the_formula_to_the_bit():
    rng = np.random.default_rng(4)
    w, g, mean, square = (rng.normal(size=(3, 500)).astype(np.float32) for _ in range(4))
    square **= 2
    n, new, new_square, first, second, small, rate, decay = by = np.array(
        [7, 0.1, 0.001, 0.19, 0.002, 1e-8, 0.01, 0.1], np.float32
    )
    made = [w.copy(), mean.copy(), square.copy()]
    hidden_compiled.adam(made[0], g, made[1], made[2], by)
    mean = mean + new * (g / n - mean)
    square = square + new_square * ((g / n) ** 2 - square)
    w = w - rate * (mean / first / (np.sqrt(square / second) + small) + decay * w)
    for one, other in zip(made, (w, mean, square), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_step_of_training_lowers_the_loss():
    from howsure.kernels.coreference.ranking_compiled import differences

    d = story(1)
    f = features(d, d.mentions, vocabulary([d], 1), templates())
    assert f.vectors.shape == (len(d.mentions), DIMENSIONS)
    rng = np.random.default_rng(0)
    network = Network.started(DIMENSIONS, f.codes.shape[1], 16, rng)
    trainer = NetworkTrainer(network, decay=0.0, dropped=0.0, rng=rng)
    gold = gold_clusters(d, d.mentions)
    losses = [
        trainer.step([(f.vectors, f.rows, f.codes, lambda p, n: differences(p, n, gold, np.zeros(3)))], 0.01)
        for _ in range(30)
    ]
    assert losses[-1] < 0.5 * losses[0]
    made = trainer.trained()
    assert made.fits(DIMENSIONS, f.codes.shape[1])
    assert not made.fits(DIMENSIONS, 3)
    assert made.rows.shape == (HALVES, 1 << ROW_BITS, 16)
    assert (made.relations == 0).mean() > 0.5  # codes that never came
    pair, new = made.scores(f.vectors, f.rows, f.codes)
    assert differences(pair, new, gold, np.zeros(3))[2] < losses[0]


def test_what_is_learnt_from_answers_is_the_derivative_of_their_likelihood():
    rng = np.random.default_rng(3)
    n = 6
    pair, new = rng.normal(size=n * (n - 1) // 2), rng.normal(size=n)
    asked = Asked(story(0), (), 5, (((1,), True), ((2, 3), False)))
    d_pair, d_new, loss = asked_differences(asked, pair, new)
    p = pair_posterior(pair, new, "x")
    q = p.pairs()
    other = max((2, 3), key=lambda k: q[5, k])

    def minus_log(row, fresh):
        """The earlier mentions' pairs are given; the row of the last varies."""
        power = np.exp(row)
        share = (power * q[:5, 1] * (1 - q[:5, other])).sum() / (power.sum() + np.exp(fresh))
        return -np.log(share)

    row = pair[10:].copy()
    assert loss == pytest.approx(minus_log(row, new[5]))
    for k in range(5):
        step = np.eye(5)[k] * 1e-5
        slope = (minus_log(row + step, new[5]) - minus_log(row - step, new[5])) / 2e-5
        assert d_pair[10 + k] == pytest.approx(slope, rel=1e-4, abs=1e-8)
    assert d_new[5] == pytest.approx((minus_log(row, new[5] + 1e-5) - minus_log(row, new[5] - 1e-5)) / 2e-5, rel=1e-4)
    assert not d_pair[:10].any()


def test_answers_teach():
    """Stories without gold, but with the answer of one pronoun each, move the answer."""
    d = story(3)
    pronoun = next(k for k, m in enumerate(d.mentions) if d.words[m.start] in ("She", "He"))
    name = d.mentions[pronoun - 1]
    known = [story(k) for k in range(2)]
    no, yes = (
        fit_coref(
            known, asked=[Asked(d, d.mentions, pronoun, (((pronoun - 1,), answer),)).lesson] * 20, epochs=2, hidden=0
        )
        .posterior(d)
        .pair(pronoun, pronoun - 1)
        for answer in (False, True)
    )
    assert name
    assert yes > 0.9 > 0.1 > no


def text(words, mentions, tags, **columns):
    n = len(words)
    document = Document("d", tuple(words), np.array([0, n]), {"upos": tuple(tags), **columns})
    return attributes(document, [Mention(s, e, "") for s, e in mentions])


def test_a_short_name_knows_what_the_long_one_does():
    words = [
        "Mary",
        "Jones",
        "met",
        "Jones",
        "and",
        "Smith",
        ",",
        "54",
        ",",
        "and",
        "President",
        "Obama",
        "in",
        "Paris",
    ]
    tags = ["PROPN" if w[0].isupper() else "VERB" for w in words]
    spans = [(0, 2), (3, 4), (5, 6), (10, 12), (13, 14)]
    a = text(words, spans, tags)
    assert a.name == [("mary", "jones"), ("jones",), ("smith",), ("obama",), ("paris",)]
    assert a.gender[:2] == ["f-name", "f-name"]
    assert a.noun[2:] == ["person", "person", "place"]  # by an age, by a title, by WordNet
    assert a.roles[3] == {"president"}


def test_gender_of_names_and_nouns():
    words = ["he", "she", "the", "queen", "Mary", "Mr.", "Smith", "a", "lamp", "the", "team", "Kim"]
    tags = ["PRON", "PRON", "DET", "NOUN", "PROPN", "PROPN", "PROPN", "DET", "NOUN", "DET", "NOUN", "PROPN"]
    spans = [(0, 1), (1, 2), (2, 4), (4, 5), (5, 7), (7, 9), (9, 11), (11, 12)]
    a = text(words, spans, tags)
    assert a.gender == ["m", "f", "f", "f-maybe", "m", "n-class", "g", "a"]
    codes = relation_codes(a, ["gender", "number"])

    def code(i, j, what=0):
        return int(codes[i * (i - 1) // 2 + j, what])

    assert code(1, 0) == 2  # she, he
    assert code(2, 1) == 1
    assert code(3, 1) == 9  # she, Mary: the same by a single name
    assert code(3, 0) == 10  # he, Mary: different, by a single name only
    assert code(4, 0) == 1
    assert code(5, 0) == 14  # he, a lamp: different by class
    assert code(7, 0) == 3


@pytest.mark.parametrize(
    ("one", "other", "code"),
    [
        ("Ann Lee", "Ann Lee", 1),
        ("Lee", "Ann Lee", 2),
        ("Ann", "Ann Lee", 3),
        ("Ann Lee", "Lee", 5),
        ("Bob Lee", "Ann Lee", 8),
        ("Ann Roe", "Ann Lee", 9),
        ("Bob Roe", "Ann Lee", 12),
        ("Roe", "Lee", 11),
    ],
)
def test_names_match_by_their_parts(one, other, code):
    words = [*other.split(), "met", *one.split()]
    tags = ["VERB" if w == "met" else "PROPN" for w in words]
    at = len(other.split())
    a = text(words, [(0, at), (at + 1, len(words))], tags)
    assert relation_codes(a, ["names"]).tolist() == [[code]]


def test_no_name_is_certain():
    shares = first_names()
    assert 8000 < len(shares) < 9000
    assert all(0.02 <= s <= 0.98 for s in shares.values())
    assert shares["mary"] > 0.9 > 0.1 > shares["john"]
    assert 0.3 < shares["kim"] < 0.7
    classes = noun_classes()
    assert (classes["lawyer"], classes["committee"], classes["lamp"], classes["city"]) == (
        "person",
        "group",
        "thing",
        "place",
    )
    assert nations()["french"] == nations()["france"] == "FRA"
