"""scikit-learn for real: its own estimator checks, pipelines, clones and cross-validation."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from sklearn.utils.validation import validate_data

import howsure
from howsure import CalibratedClassifier, InputError
from howsure.calibration.recalibration.methods import METHODS
from howsure.calibration.recalibration.platt import Platt, Temperature


def failed(estimator):
    """What scikit-learn's checks say of an estimator; and how many there were."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None)
    return {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}, len(results)


@parametrize_with_checks([CalibratedClassifier()])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_scikit_learns_checks_of_a_method_for_two_classes():
    faults, n = failed(CalibratedClassifier(LogisticRegression(), method="platt"))
    assert not faults
    assert n > 40


def on_anything(kind):
    """A recalibrator for what scikit-learn's checks bring, rows of any numbers: it reads the first as log-odds."""

    class OnAnything(kind):
        def fit(self, X, y, sample_weight=None, groups=None):
            if y is None:
                raise ValueError("requires y to be passed, but the target y is None")
            X = validate_data(self, X, dtype=np.float64)
            super().fit(expit(X[:, 0]), y, sample_weight, groups)
            self.n_features_in_ = X.shape[1]
            return self

        def transform(self, X):
            self._check_fitted()
            return super().transform(self._first(X))[:, None]

        def predict_proba(self, X):
            self._check_fitted()
            return super().predict_proba(self._first(X))

        def _first(self, X):
            return expit(validate_data(self, X, reset=False, dtype=np.float64)[:, 0])

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.estimator_type = None  # one column cannot tell all that is asked of classifiers
            tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
            tags.input_tags.positive_only = False
            tags.classifier_tags.multi_class = False
            return tags

    OnAnything.__qualname__ = OnAnything.__name__ = f"{kind.__name__}OnAnything"
    globals()[OnAnything.__name__] = OnAnything  # where pickle looks for it
    return OnAnything


@pytest.mark.parametrize("method", METHODS)
def test_scikit_learns_checks_of_recalibrators(method):
    faults, n = failed(on_anything(METHODS[method])())
    if METHODS[method].cross_validates:  # folds are of rows: a row of weight two is in one fold, two rows may be in two
        faults.pop("check_sample_weight_equivalence_on_dense_data", None)
    assert not faults
    assert n > 30


@pytest.mark.parametrize("method", METHODS)
def test_recalibrators_in_scikit_learns_tools(method):
    rng = np.random.default_rng(0)
    q = rng.random((400, 1))
    y = np.where(rng.random(400) < q[:, 0], "yes", "no")
    made = make_pipeline(clone(METHODS[method]())).fit(q, y)
    assert made.classes_.tolist() == ["no", "yes"]
    assert set(made.predict(q)) <= {"no", "yes"}
    assert made.transform(q).shape == (400, 1)
    held_out = cross_val_predict(METHODS[method](), q, y, cv=4, method="predict_proba")
    assert held_out.shape == (400, 2)
    np.testing.assert_allclose(held_out.sum(axis=1), 1.0)
    assert np.corrcoef(held_out[:, 1], q[:, 0])[0, 1] > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_numbers_and_columns_are_taken_alike(method):
    rng = np.random.default_rng(1)
    q = rng.random(300)
    y = rng.random(300) < q
    made = METHODS[method]().fit(q, y)
    of_column = METHODS[method]().fit(q[:, None], y)
    np.testing.assert_array_equal(of_column.transform(q[:, None])[:, 0], made.transform(q))
    assert made.transform(0.3) == made.transform([0.3])[0]
    assert np.ndim(made.transform(0.3)) == 0
    assert made.n_features_in_ == of_column.n_features_in_ == 1


def test_labels_of_recalibrators():
    q = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]] * 3
    made = Temperature().fit(q, ["a", "b", "c"] * 3)
    assert made.predict(q).tolist() == ["a", "b", "c"] * 3
    assert Platt().fit([0.2, 0.8, 0.5], [-1, 1, 1]).classes_.tolist() == [-1, 1]
    with pytest.raises(InputError, match="got 2 in index 1"):
        Platt().fit([0.2, 0.8], [0, 2])
    with pytest.raises(InputError, match="sparse"):
        Platt().fit(csr_array([[0.2]]), [0])


def overconfident_rows(n=1500, seed=0):
    return make_classification(n, n_features=20, n_redundant=14, n_informative=4, random_state=seed)


def test_it_learns_from_rows_left_out_and_helps_on_new_ones():
    X, y = overconfident_rows(3000)
    plain = GaussianNB().fit(X[:1500], y[:1500]).predict_proba(X[1500:])[:, 1]
    made = CalibratedClassifier(GaussianNB()).fit(X[:1500], y[:1500])
    better = made.predict_proba(X[1500:])[:, 1]
    assert not made.recalibration_.declined
    assert howsure.check(y[1500:], better).log_loss.value < 0.8 * howsure.check(y[1500:], plain).log_loss.value
    # The same by hand: folds, probabilities of the rows left out, a recalibrator, the estimator on all rows.
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    unseen = cross_val_predict(GaussianNB(), X[:1500], y[:1500], cv=folds, method="predict_proba")[:, 1]
    np.testing.assert_array_equal(better, howsure.recalibrate(y[:1500], unseen, rng=0).transform(plain))


def test_nothing_is_changed_where_nothing_is_wrong():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    y = rng.random(1000) < expit(X[:, 0])
    made = CalibratedClassifier(LogisticRegression()).fit(X, y)
    assert made.recalibration_.declined
    np.testing.assert_array_equal(made.predict_proba(X)[:, 1], made.estimator_.predict_proba(X)[:, 1])


def test_groups_stay_in_one_fold():
    seen = []

    class Spy(GaussianNB):
        def fit(self, X, y):
            seen.append(set(X[:, 0]))
            return super().fit(X, y)

        def predict_proba(self, X):
            seen[-1] = (seen[-1], set(X[:, 0]))
            return super().predict_proba(X)

    rng = np.random.default_rng(0)
    document = np.repeat(np.arange(60), 10)
    X = np.stack([document, rng.normal(size=600)], axis=1)  # the spy sees the document as a feature
    y = rng.random(600) < expit(X[:, 1])
    CalibratedClassifier(Spy()).fit(X, y, groups=document)
    folds = [s for s in seen if isinstance(s, tuple)]
    assert len(folds) == 5
    assert all(not a & b for a, b in folds)


def test_groups_as_a_column_of_x():
    X, y = overconfident_rows(600)
    document = np.repeat(np.arange(120), 5)
    given = CalibratedClassifier(GaussianNB(), method="platt").fit(X, y, groups=document)
    wide = np.column_stack([document, X])
    by_number = CalibratedClassifier(GaussianNB(), method="platt", groups=0).fit(wide, y)
    np.testing.assert_array_equal(by_number.predict_proba(wide), given.predict_proba(X))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(document=document)
    by_name = CalibratedClassifier(GaussianNB(), method="platt", groups="document").fit(frame, y)
    np.testing.assert_allclose(by_name.predict_proba(frame), given.predict_proba(X), rtol=1e-9)
    assert given.recalibration_.n_groups == 120
    assert cross_val_predict(by_name, frame, y, cv=3, method="predict_proba").shape == (600, 2)
    with pytest.raises(InputError, match="Did you mean `document`"):
        CalibratedClassifier(groups="documnt").fit(frame, y)
    with pytest.raises(InputError, match="is no column of `X`"):
        CalibratedClassifier(groups=99).fit(X, y)


def test_pipelines_searches_scores_and_many_classes():
    X, y = make_classification(400, n_classes=3, n_informative=5, random_state=1)
    names = np.array(["ant", "bee", "cat"])[y]
    made = make_pipeline(StandardScaler(), CalibratedClassifier(LinearSVC())).fit(X, names)
    assert made.predict_proba(X).shape == (400, 3)
    assert made.score(X, names) > 0.6
    search = GridSearchCV(
        CalibratedClassifier(GaussianNB()), {"method": ["auto", "vector"]}, cv=2, scoring="neg_log_loss"
    )
    assert search.fit(X, y).best_params_["method"] in ("auto", "vector")
    with pytest.raises(InputError, match="Method 'beta' is for two classes; of 3"):
        CalibratedClassifier(method="beta").fit(X, y)
    with pytest.raises(InputError, match="has one row"):
        CalibratedClassifier().fit(X[:50], np.array([1] + [0] * 49))
