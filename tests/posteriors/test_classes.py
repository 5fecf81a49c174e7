import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from howsure.errors import InputError
from howsure.posteriors.classes import ClassPosterior

SCORES = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.floats(-1e4, 1e4), min_size=k, max_size=k), min_size=1, max_size=6)
)


@given(SCORES, st.floats(0.1, 10))
def test_marginals_sum_to_one_at_any_temperature_and_the_best_stays(scores, t):
    p = ClassPosterior(np.array(scores), tuple("abcde"[: len(scores[0])]))
    for made in (p, p.tempered(t)):
        np.testing.assert_allclose(made.marginals().sum(axis=1), 1.0)
    best = p.log_scores.argmax(axis=1)
    rows = np.arange(len(best))
    assert (p.tempered(t).marginals()[rows, best] >= p.tempered(t).marginals().max(axis=1) - 1e-12).all()


def test_samples_have_the_frequencies_of_the_marginals():
    p = ClassPosterior(np.log([[0.2, 0.5, 0.3], [1e-9, 1.0, 1e-9]]), ("a", "b", "c"))
    drawn = p.samples(40_000, rng=1)
    assert drawn.shape == (40_000, 2)
    share = [(drawn[:, 0] == k).mean() for k in range(3)]
    np.testing.assert_allclose(share, [0.2, 0.5, 0.3], atol=5 * np.sqrt(0.25 / 40_000))
    assert (drawn[:, 1] == 1).all()


def test_any_classifier_with_probabilities_is_a_posterior():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    fitted = LogisticRegression().fit(x, y)
    p = ClassPosterior.of(fitted, x)
    np.testing.assert_allclose(p.marginals(), fitted.predict_proba(x))
    assert p.best() == [str(k) for k in fitted.predict(x)]
    np.testing.assert_allclose(p.label_is("2"), fitted.predict_proba(x)[:, 2])
    np.testing.assert_allclose(p.top_label(), fitted.predict_proba(x).max(axis=1))
    with pytest.raises(InputError, match="LinearSVC has no predict_proba"):
        ClassPosterior.of(LinearSVC().fit(x, y), x)


def test_bad_questions_are_told():
    p = ClassPosterior(np.zeros((1, 2)), ("happy", "sad"))
    with pytest.raises(InputError, match="Did you mean `happy`"):
        p.label_is("hapy")
    with pytest.raises(InputError, match="above 0"):
        p.tempered(0)
    with pytest.raises(InputError, match="column for each of the 2 classes"):
        ClassPosterior(np.zeros((1, 3)), ("happy", "sad"))
    with pytest.raises(InputError, match="numbers or -infinity"):
        ClassPosterior(np.array([[np.nan, 0.0]]), ("happy", "sad"))
