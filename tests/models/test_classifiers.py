import csv
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB

import howsure
from howsure.corpora.tweet_tokens import tweet_features
from howsure.errors import InputError
from howsure.kernels.losses import HATS, soft_calibration_error
from howsure.models.classifiers import TextClassifier, fit_classifier

WORDS = ["sun", "rain", "snow", "wind", "good", "bad", "late", "early", "home", "work"]


def made_texts(n, n_classes, seed):
    """Texts whose words lean towards their class."""
    rng = np.random.default_rng(seed)
    lean = rng.dirichlet(np.ones(len(WORDS)), n_classes)
    labels = rng.integers(n_classes, size=n)
    return [" ".join(rng.choice(WORDS, 6, p=lean[k])) for k in labels], [f"class {k}" for k in labels]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("method", "peer"),
    [
        ("naive-bayes", lambda s: BernoulliNB(alpha=s)),
        ("logistic", lambda s: LogisticRegression(C=s, tol=1e-8, max_iter=5000)),
    ],
)
def test_equals_scikit_learn_on_its_own_features(method, peer, n_classes):
    texts, labels = made_texts(300, n_classes, 1)
    made = fit_classifier(texts, labels, method=method, strength=0.7)
    counter = CountVectorizer(analyzer=tweet_features, binary=True, min_df=2)
    fitted = peer(0.7).fit(counter.fit_transform(texts), labels)
    fresh, _ = made_texts(50, n_classes, 2)
    expected = fitted.predict_proba(counter.transform(fresh))
    np.testing.assert_allclose(made.posterior(fresh).marginals(), expected, atol=1e-12 if "bayes" in method else 1e-4)


def test_the_strength_is_the_best_on_dev():
    texts, labels = made_texts(200, 2, 3)
    dev = made_texts(200, 2, 3)
    made = fit_classifier(texts, labels, dev=(dev[0][100:], dev[1][100:]))
    tried = made.settings["dev"]
    assert len(tried) == 9
    assert made.settings["strength"] == max(tried, key=lambda t: t["f1"])["strength"]


def test_saved_and_loaded_it_says_the_same(tmp_path):
    texts, labels = made_texts(100, 3, 4)
    made = fit_classifier(texts, labels)
    made.save(tmp_path / "c.npz")
    again = TextClassifier.load(tmp_path / "c.npz")
    np.testing.assert_array_equal(again.posterior(texts).marginals(), made.posterior(texts).marginals())
    assert again.classes == made.classes
    assert again.settings == made.settings


def test_texts_without_known_words_get_the_prior():
    texts, labels = made_texts(100, 2, 5)
    q = fit_classifier(texts, labels, method="naive-bayes").posterior(["", "unheard-of"]).marginals()
    assert np.isfinite(q).all()
    np.testing.assert_allclose(q[0], q[1])


def test_the_soft_error_is_the_binned_one_when_scores_sit_on_the_grid():
    rng = np.random.default_rng(6)
    q = rng.integers(HATS, size=500) / (HATS - 1)
    y = (rng.random(500) < 0.4).astype(float)
    by_hand = sum(((y - q)[q == v].mean()) ** 2 * (q == v).mean() for v in np.unique(q))
    assert soft_calibration_error(y, q)[0] == pytest.approx(by_hand, rel=1e-9)


def test_the_soft_error_has_the_gradient_it_claims():
    rng = np.random.default_rng(7)
    q, y = rng.uniform(0.01, 0.99, 40), (rng.random(40) < 0.5).astype(float)
    numeric = approx_fprime(q, lambda v: soft_calibration_error(y, v)[0], 1e-7)
    np.testing.assert_allclose(soft_calibration_error(y, q)[1], numeric, atol=1e-6)


def test_bad_training_data_is_told():
    with pytest.raises(InputError, match="no texts"):
        fit_classifier([], [])
    with pytest.raises(InputError, match='one label, "a"'):
        fit_classifier(["x", "y"], ["a", "a"])
    with pytest.raises(InputError, match="lower `min_count=`"):
        fit_classifier(["x", "y"], ["a", "b"])
    with pytest.raises(InputError, match='dev has the label "c"'):
        fit_classifier(["x", "x"], ["a", "b"], dev=(["x"], ["c"]))
    with pytest.raises(InputError, match="Did you mean `logistic`"):
        fit_classifier(["x"], ["a"], method="logistics")


@pytest.mark.corpus
@pytest.mark.skipif("HOWSURE_DATA" not in os.environ, reason="HOWSURE_DATA is not set")
def test_logistic_regression_is_better_calibrated_than_naive_bayes_on_tweets():
    """The paper's figure 2 (NB .105, LR .041), on other tweets, split by time."""
    with open(Path(os.environ["HOWSURE_DATA"], "tweet-sentiment", "emoticon.tsv")) as file:
        rows = sorted(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), key=lambda r: r["date"])[::2]
    texts, labels = [r["text"] for r in rows], [r["label"] for r in rows]
    cut = int(0.8 * len(rows))
    errors = {}
    for method, strength in (("naive-bayes", 2.0), ("logistic", 0.3)):
        made = fit_classifier(texts[:cut], labels[:cut], method=method, strength=strength)
        q = made.posterior(texts[cut:]).label_is("1")
        errors[method] = howsure.check([int(v) for v in labels[cut:]], q).error
    assert errors["logistic"].high < errors["naive-bayes"].low


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_fit_of_a_warm_path_is_the_optimum(n_classes):
    from howsure.models.classifiers import STRENGTHS, _logistic, incidence, tokens_of, vocabulary

    texts, labels = made_texts(200, n_classes, 8)
    found = tokens_of(texts, "tweets", 2)
    x = incidence(found, vocabulary(found, 2)[0])
    y = np.unique(labels, return_inverse=True)[1]
    dense = np.random.default_rng(0).normal(size=(200, 3))
    told = []
    path = _logistic(x, dense, y, n_classes, STRENGTHS["logistic"], lambda *said: told.append(said))
    both = np.hstack([x.toarray(), dense])
    for c, (weights, intercept) in zip(STRENGTHS["logistic"], path, strict=True):
        peer = LogisticRegression(C=c, tol=1e-10, max_iter=20_000).fit(both, y)
        z = both @ weights + intercept
        q = np.exp(z - z.max(axis=1, keepdims=True))
        np.testing.assert_allclose(q / q.sum(axis=1, keepdims=True), peer.predict_proba(both), atol=2e-3)
        losses = []
        for w, b in (
            (weights, intercept),
            (np.hstack([0 * peer.coef_.T, peer.coef_.T]) if n_classes == 2 else peer.coef_.T, peer.intercept_),
        ):
            b = np.array([0.0, b[0]]) if len(np.atleast_1d(b)) == 1 else b
            z = both @ w + b
            top = z.max(axis=1)
            losses.append(
                (top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[np.arange(200), y]).sum()
                + (w**2).sum() / (2 * c)
            )
        assert losses[0] <= losses[1] * (1 + 1e-6)
    assert told[-1][0] == 8
    assert told[-1][2].startswith("C = 100, iteration")


def test_ngrams_and_averaged_vectors_are_features(tmp_path):
    rng = np.random.default_rng(9)
    places, days = (
        ["paris", "london", "berlin", "madrid", "rome", "vienna"],
        ["monday", "tuesday", "friday", "sunday", "april", "june"],
    )
    texts = [f"it was {w}" for w in rng.permutation(places[:4] * 20 + days[:4] * 20)]
    labels = ["place" if t.split()[-1] in places else "time" for t in texts]
    made = fit_classifier(texts, labels, ngrams=2, vectors=True)
    assert "was monday" in made.words
    fresh = made.posterior([f"it was {w}" for w in places[4:] + days[4:]]).best()
    assert fresh == ["place"] * 2 + ["time"] * 2  # words that training lacks
    made.save(tmp_path / "v.npz")
    again = TextClassifier.load(tmp_path / "v.npz")
    np.testing.assert_array_equal(again.posterior(texts).marginals(), made.posterior(texts).marginals())
    TextClassifier(made.words, made.classes, made.weights, made.intercept, made.settings | {"vector_words": 7}).save(
        tmp_path / "w.npz"
    )
    with pytest.raises(InputError, match="other word vectors"):
        TextClassifier.load(tmp_path / "w.npz")
    with pytest.raises(InputError, match="go with logistic"):
        fit_classifier(texts, labels, method="naive-bayes", vectors=True)


def test_texts_unlike_those_of_training_are_told(tmp_path):
    texts, labels = made_texts(400, 2, 10)
    made = fit_classifier(texts, labels)
    same = made_texts(400, 2, 10)
    told = howsure.check_classifier(made, {"text": same[0], "label": same[1]})
    assert told.notes == ()
    strange = howsure.check_classifier(made, {"text": [f"{t} zug bahn" for t in same[0]], "label": same[1]})
    assert "unlike the training text: 25% of its words are unknown to the model, where 0%" in strange.verdict
    kept = [i for i, label in enumerate(same[1]) if label == "class 0" or i % 4 == 0]
    moved = howsure.check_classifier(made, {"text": [same[0][i] for i in kept], "label": [same[1][i] for i in kept]})
    assert "`howsure count`" in moved.to_text()
    assert 'The share of "class' in moved.verdict
    applied = howsure.apply_classifier(made, {"text": ["zug bahn"] * 50})
    assert "unknown to the model" in applied.verdict
    assert howsure.apply_classifier(made, {"text": same[0]}).notes == ()


def test_the_expected_share_of_unknown_words_is_that_of_fresh_text():
    """The share left unknown by leaving each text out, against a fresh half of the same texts."""
    from howsure.models.classifiers import tokens_of, vocabulary

    rng = np.random.default_rng(11)
    words = [f"w{int(i)}" for i in rng.zipf(1.5, 12_000)]
    found = [words[i : i + 6] for i in range(0, 12_000, 6)]
    known, expected = vocabulary(found[:1000], 2)
    fresh = [w not in known for text in found[1000:] for w in text]
    assert abs(np.mean(fresh) - expected) < 4 * np.sqrt(expected * (1 - expected) / len(fresh)) + 0.01
    assert tokens_of(["a b c"], "words", 3) == [["a", "b", "c", "a b", "b c", "a b c"]]
