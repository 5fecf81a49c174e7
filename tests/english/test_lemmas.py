"""Lemmas: seen words by the table, unseen ones by their endings, capitals or not."""

import pytest

from howsure.english.lemmas import Lemmatiser, Vocabulary

SEEN = [
    *[(w + "ed", "VBD", w) for w in ("walk", "jump", "climb", "attack", "end")],
    *[(w + w[-1] + "ed", "VBD", w) for w in ("grab", "stop", "rob", "rub", "nab")],
    *[(w + "s", "NNS", w) for w in ("cat", "dog", "tree", "house")],
    *[(w + "y", "NN", w + "y") for w in ("cit", "part")],
    *[(w + "ies", "NNS", w + "y") for w in ("cit", "part", "bod", "stor")],
    *[("went", "VBD", "go")] * 3,
    *[("us", "PRP", "we")] * 2,
    *[("TVs", "NNS", "TV")] * 2,
    *[("Paris", "NNP", "Paris")] * 2,
    ("bomb", "NN", "bomb"),
]


@pytest.fixture(scope="module")
def lemmas(study):
    return study("english_lemmas").learnt_lemmatiser(SEEN, Vocabulary.of(w for w, _, lemma in SEEN for w in (w, lemma)))


@pytest.mark.parametrize(
    ("word", "tag", "lemma"),
    [
        ("went", "VBD", "go"),
        ("WENT", "VBD", "go"),
        ("Us", "PRP", "we"),
        ("TVs", "NNS", "TV"),
        ("Paris", "NNP", "Paris"),
        ("PARIS", "NNP", "PARIS"),
        ("talked", "VBD", "talk"),  # never seen
        ("TALKED", "VBD", "talk"),
        ("countries", "NNS", "country"),
        ("bombed", "VBD", "bomb"),  # the ending -bbed alone would say otherwise
        ("strange", "JJ", "strange"),  # a tag never seen
        ("Strange", "JJ", "strange"),
    ],
)
def test_lemmas(lemmas, word, tag, lemma):
    assert lemmas.lemma(word, tag) == lemma


def test_every_word_that_was_seen_often_has_its_lemma(lemmas):
    assert all(lemmas.lemma(word, tag) == lemma for word, tag, lemma in SEEN)


def test_saved_as_plain_data(lemmas):
    import json

    back = Lemmatiser.from_dict(json.loads(json.dumps(lemmas.to_dict())), lemmas.known)
    assert back == lemmas


def test_vocabulary_tells_what_is_unknown():
    words = Vocabulary.of(["One", "two"])
    assert "ONE" in words
    assert "three" not in words
    assert words.unknown_share(["one", "two", "three", "four", "5", "."] * 10) == 0.5
    assert words.unknown_share(["three"] * 19) is None
    assert Vocabulary.from_array(words.to_array()) == words
