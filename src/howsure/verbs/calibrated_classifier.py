"""`howsure.CalibratedClassifier`: any classifier of scikit-learn with probabilities that were recalibrated where that clearly helps."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.calibration.recalibration.methods import FOR_MANY_CLASSES
from howsure.calibration.recalibration.result import Recalibration
from howsure.errors import InputError, MissingExtra
from howsure.kernels.cells import Floats
from howsure.kernels.special import softmax
from howsure.verbs.recalibrate import recalibrate

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
    from sklearn.utils import _safe_indexing, get_tags
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, indexable
except ImportError:
    raise MissingExtra("CalibratedClassifier needs scikit-learn: pip install 'howsure[models]'.") from None


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities are recalibrated on rows that it has not seen.

    The estimator is cross-validated; `howsure.recalibrate` learns from the probabilities of the rows left out; then the
    estimator is fitted to all rows. Unlike scikit-learn's `CalibratedClassifierCV` there is one model in the end, the
    method is chosen, nothing is changed where the gain is not clear, and whole groups stay in one fold.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba` or `decision_function`; by default a logistic regression.
    method : str
        As in `howsure.recalibrate`: "auto" chooses, and declines where the gain is not clear.
    groups : name or number of a column of X, or None
        What is dependent (document, speaker). The estimator does not see this column. Groups that are not in X may be given to `fit`.
    cv : int
        Folds; fewer where a class has fewer rows.
    random_state : int
        Seeds the folds.

    Attributes
    ----------
    estimator_ : the classifier, fitted to all rows
    recalibration_ : Recalibration
        The recalibrator, what it gains on rows left out, and the verdict in words.

    Examples
    --------
    >>> from howsure import CalibratedClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(1000, n_redundant=10, random_state=0)
    >>> made = CalibratedClassifier(GaussianNB()).fit(X, y)
    >>> made.recalibration_.declined, made.predict_proba(X).shape
    (False, (1000, 2))
    """

    def __init__(
        self, estimator: Any = None, *, method: str = "auto", groups: Any = None, cv: int = 5, random_state: int = 0
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.groups = groups
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Learn from X, shape (n, features), and labels y; `groups`, shape (n,), stands in place of a column of X."""
        if y is None:
            raise InputError("This CalibratedClassifier requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        X, y, groups = indexable(X, y, groups)
        X, of_column = self._parted(X)
        groups = of_column if groups is None else _validate.one_dimensional(groups, "groups", numbers=False)
        self.classes_, codes = np.unique(y, return_inverse=True)
        rarest = int(np.bincount(codes).min()) if len(codes) else 0
        if len(self.classes_) < 2:
            raise InputError("all labels are of one class: there is nothing to learn from.")
        if len(self.classes_) > 2 and not self._takes_many():
            raise InputError(
                f"Only binary classification is supported. The type of the target is multiclass. Method {self.method!r} is "
                f"for two classes; of {len(self.classes_)} there are: auto, {', '.join(FOR_MANY_CLASSES)}."
            )
        if rarest < 2:
            rare = self.classes_[np.bincount(codes).argmin()]
            raise InputError(f"class {rare!r} has one row; recalibration needs two at least.")
        base = LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator
        self.estimator_ = clone(base).fit(X, y)
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        folds = kind(max(min(_validate.count(self.cv, "cv"), rarest), 2), shuffle=True, random_state=self.random_state)
        unseen = np.zeros((len(codes), len(self.classes_)))
        for rest, out in folds.split(codes, codes, groups):
            fitted = clone(base).fit(_safe_indexing(X, rest), codes[rest])
            unseen[np.ix_(out, fitted.classes_)] = _probabilities(fitted, _safe_indexing(X, out))
        probs = unseen[:, 1] if len(self.classes_) == 2 else unseen
        how: dict[str, Any] = {"method": self.method, "groups": groups, "rng": self.random_state}
        self.recalibration_: Recalibration = recalibrate(codes, probs, **how)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Recalibrated probabilities, one column for each of `classes_`."""
        check_is_fitted(self)
        probs = _probabilities(self.estimator_, self._parted(X)[0])
        return self.recalibration_.recalibrator.predict_proba(probs[:, 1] if probs.shape[1] == 2 else probs)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest recalibrated probability."""
        probs = self.predict_proba(X)
        return np.asarray(self.classes_[probs.argmax(axis=1)])

    def _parted(self, X: Any) -> tuple[Any, NDArray[Any] | None]:
        """X without the column of groups, and that column."""
        if self.groups is None:
            return X, None
        if hasattr(X, "columns"):
            _validate.known(self.groups, list(X.columns), f"`X` has no column {self.groups!r}")
            rest = X[[c for c in X.columns if c != self.groups]]
            return rest, np.asarray(X[self.groups])
        array = np.asarray(X)
        if array.ndim != 2 or not isinstance(self.groups, int) or not -array.shape[1] <= self.groups < array.shape[1]:
            raise InputError(f"`groups={self.groups!r}` is no column of `X`, which has shape {array.shape}.")
        return np.delete(array, self.groups, axis=1), array[:, self.groups]

    def _takes_many(self) -> bool:
        return self.method in ("auto", *FOR_MANY_CLASSES)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._takes_many()
        if self.estimator is not None:
            given = get_tags(self.estimator).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = given.sparse, given.allow_nan
        else:
            tags.input_tags.sparse = True
        return tags


def _probabilities(estimator: Any, X: Any) -> Floats:
    """A fitted classifier's probabilities; of its decision function where it gives none."""
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X), np.float64)
    z = np.asarray(estimator.decision_function(X), np.float64)
    z = np.stack([np.zeros_like(z), z], axis=1) if z.ndim == 1 else z
    return np.asarray(softmax(z, axis=1))
