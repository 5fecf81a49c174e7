"""Training goes on where it was stopped, and what is exported parses like what was trained."""

import json

import numpy as np
import pytest
from english_data import sentences

spacy = pytest.importorskip("spacy")

from howsure.corpora.document import Document  # noqa: E402
from howsure.english.pipeline import Shape, set_weights, weights  # noqa: E402
from howsure.english.shipped import model  # noqa: E402

SUBJECTS, VERBS, THINGS = ("dogs", "cats", "birds"), ("see", "like", "hear"), ("rain", "snow", "fish")


def tiny(name):
    """A document of 27 sentences of four words."""
    words = [w for s in SUBJECTS for v in VERBS for t in THINGS for w in (s, v, t, ".")]
    n = len(words) // 4
    columns = {
        "lemma": tuple(w.removesuffix("s") for w in words),
        "upos": ("NOUN", "VERB", "NOUN", "PUNCT") * n,
        "xpos": ("NNS", "VBP", "NN", ".") * n,
        "features": ("Number=Plur", "_", "Number=Sing", "_") * n,
        "relation": ("nsubj", "root", "obj", "punct") * n,
    }
    heads = np.concatenate([[4 * i + 1, -1, 4 * i + 1, 4 * i + 1] for i in range(n)])
    return Document(name, tuple(words), np.arange(0, 4 * n + 1, 4), columns, heads, np.ones(4 * n, dtype=bool))


@pytest.fixture(scope="module")
def training(study):
    return study("english_training")


@pytest.fixture
def small(training, monkeypatch):
    def treebank(part):
        return {"ewt": [tiny("a")], "gum": [tiny("b")]}

    monkeypatch.setattr(training, "treebank", treebank)
    monkeypatch.setattr(training, "EVERY", 2)
    monkeypatch.setattr(training, "WORDS_PER_BATCH", 60)
    monkeypatch.setattr(training, "WARM_UP", 2)
    monkeypatch.setattr(training, "LISTED", 0.0)  # its tag is not among the labels


def test_a_stopped_run_goes_on_to_the_same_weights(training, small, tmp_path, monkeypatch, capsys):
    training.train(tmp_path / "whole", 6)
    kept = training._checkpoint

    def stopped(home, nlp, optimizer, step, best):
        kept(home, nlp, optimizer, step, best)
        if step == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(training, "_checkpoint", stopped)
    with pytest.raises(KeyboardInterrupt):
        training.train(tmp_path / "parts", 6)
    monkeypatch.setattr(training, "_checkpoint", kept)
    training.train(tmp_path / "parts", 6)
    steps = [json.loads(line)["step"] for line in (tmp_path / "parts" / "log.jsonl").read_text().splitlines()]
    assert steps == [2, 4, 6]
    with np.load(tmp_path / "whole" / "checkpoint.npz") as a, np.load(tmp_path / "parts" / "checkpoint.npz") as b:
        assert sorted(a.files) == sorted(b.files)
        for key in a.files:
            assert np.array_equal(a[key], b[key]), key


def test_what_is_exported_is_what_was_trained(training, small, tmp_path, capsys):
    training.train(tmp_path / "run", 8)
    ready = model(str(training.export(tmp_path / "run", tmp_path / "model")))
    with np.load(tmp_path / "run" / "best.npz") as best:
        for key, value in weights(ready.nlp).items():
            assert np.array_equal(value, best[key].astype(np.float16).astype(np.float32))
    assert ready.lemma("DOGS", "NNS") == "dog"
    assert "snow" in ready.known
    doc = ready.nlp("cats hear fish .")
    assert [t.tag_ for t in doc] == ["NNS", "VBP", "NN", "."]
    with pytest.raises(ValueError, match="not of this pipeline"):
        set_weights(ready.nlp, {})
    assert Shape.of(weights(ready.nlp)) == Shape()  # with word vectors, of which it knows which
    with np.load(tmp_path / "model" / "weights.npz") as kept:
        arrays = dict(kept)
    np.savez(tmp_path / "model" / "weights.npz", **{**arrays, "vectors": np.zeros(32, np.uint8)})
    model.cache_clear()
    with pytest.raises(ValueError, match="not those that the weights were trained with"):
        model(str(tmp_path / "model"))


def test_a_pass_holds_every_sentence_once(training):
    document = sentences(tiny("a"))
    made = training.groups([document, document], np.random.default_rng(0))
    assert sum(len(g) for g, _ in made) == 2 * len(document)
    assert all(1 <= len(g) <= 10 for g, _ in made)
    assert {how for _, how in made} <= {"as is", "upper", "lower"}
    order = {s.words: i for i, s in enumerate(document)}
    for group, _ in made:  # consecutive; titles and items of lists are known by their words
        places = [order[_plain(s.words)] for s in group]
        assert places == list(range(places[0], places[0] + len(places)))


def _plain(words):
    words = [w.lower() for w in words if w not in "-*•–"]
    return tuple(words if words[-1] == "." else [*words, "."])


def test_titles_and_lists_are_trees(training):
    sentence = sentences(tiny("a"))[0]
    bare = training.unmarked(sentence)
    assert (bare.words, bare.heads, bare.deps) == (sentence.words[:3], (1, 1, 1), ("nsubj", "ROOT", "obj"))
    assert training.unmarked(bare) is bare
    item = training.listed(sentence, "-")
    assert item.words == ("-", *sentence.words)
    assert item.heads == (2, 2, 2, 2, 2)
    assert [d for d, h, i in zip(item.deps, item.heads, range(5), strict=True) if h == i] == ["ROOT"]
    rng = np.random.default_rng(1)
    made = {training.varied(sentence, rng).words for _ in range(2000)}
    assert {("dogs", "see", "rain"), ("Dogs", "See", "Rain"), ("DOGS", "SEE", "RAIN"), sentence.words} < made
    assert {words[0] for words in made} > set(training.LIST_MARKS)


def test_curves_rise_and_fit(training):
    rng = np.random.default_rng(3)
    p = rng.uniform(0.01, 0.999, 20_000)
    for true in (lambda p: p, lambda p: p**2, lambda p: 0.5 + 0 * p):
        right = (rng.uniform(size=len(p)) < true(p)).astype(float)
        curve = training._curve(p, right)
        made = 1 / (1 + np.exp(-training.design_of(p) @ curve))
        assert (curve[:2] >= 0).all()
        assert abs(made - true(p)).mean() < 0.02


def test_gold_documents_keep_sentences_and_heads(training):
    group = sentences(tiny("a"))[:3]
    doc = training.gold_doc(spacy.blank("en").vocab, group, "upper")
    assert [t.text for t in doc][:4] == ["DOGS", "SEE", "RAIN", "."]
    assert [s.root.i for s in doc.sents] == [1, 5, 9]
    assert [t.head.i for t in doc][4:8] == [5, 5, 5, 5]


def test_the_learning_rate_rises_and_falls(training):
    rates = [training.learning_rate(s, 1000) for s in range(1001)]
    assert max(rates) == pytest.approx(training.PEAK_RATE)
    assert np.argmax(rates) in (training.WARM_UP - 1, training.WARM_UP)
    assert rates[-1] == pytest.approx(training.LAST_SHARE * training.PEAK_RATE)
    assert all(np.diff(rates[training.WARM_UP :]) < 0)
