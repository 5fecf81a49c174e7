"""What all recalibrators share: settings, checks, shapes, and how they are saved.

The interface is scikit-learn's (`fit`, `transform`, `predict_proba`, `predict`, `get_params`, `set_params`, tags; clones,
pipelines and cross-validation work) without importing it. Settings are given once and read-only; what was fitted ends in `_`.
"""

import inspect
import json
import sys
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._result import Attributes
from howsure._validate import Origin
from howsure.errors import InputError
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints

FORMAT, VERSION = "howsure recalibrator", 1
# Log-odds and log-probabilities are clipped here, in and out: q = 0 and 1 count as 1e-13 and 1 - 1e-13.
LOG_ODDS_BOUND = 30.0


class Recalibrator:
    """A map from a model's probabilities to better ones, learnt from labels."""

    method: ClassVar[str]
    FORMULA: ClassVar[str] = ""  # names fitted attributes, as in `shown_as`
    cross_validates: ClassVar[bool] = False
    n_classes_: int
    classes_: NDArray[Any]  # the labels in order: what column k of the probabilities is about
    n_features_in_: int

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._settings() and name in self.__dict__:
            raise AttributeError(f"`{name}` is a setting and read-only; make another {type(self).__name__}.")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in self.get_params().items())
        return f"{type(self).__name__}({given})" + (f": {self._formula()}" if self.is_fitted else "")

    @classmethod
    @cache
    def _settings(cls) -> tuple[str, ...]:
        own = inspect.signature(cls.__init__).parameters.values()
        return tuple(p.name for p in own if p.name != "self" and p.kind == p.KEYWORD_ONLY)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings."""
        return {name: getattr(self, name) for name in self._settings()}

    def set_params(self, **params: Any) -> Self:
        """Change settings; what was fitted stays until `fit` is called again."""
        for name, value in params.items():
            if name not in self._settings():
                raise InputError(f"{type(self).__name__} has no setting `{name}`.")
            self.__dict__[name] = value
        return self

    @property
    def is_fitted(self) -> bool:
        """Whether `fit` was called."""
        return "n_classes_" in self.__dict__

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from probabilities X, shape (n,), (n, 1) or (n, K), and labels y in 0 … K-1, shape (n,).

        Other labels will do if there are K of them: in their order they belong to the columns, as in scikit-learn.
        `sample_weight` counts repetitions or importance. `groups` keeps dependent rows together where a method
        cross-validates inside.
        """
        probs, _ = _given(X)
        log_p = log_probabilities(probs)
        labels, classes = _numbered(y, _n_classes(log_p))
        given: dict[str, NDArray[Any]] = {"X": log_p, "y": labels}
        if sample_weight is not None:
            given["sample_weight"] = _validate.importance(sample_weight, "sample_weight")
        if groups is not None:
            given["groups"] = _validate.one_dimensional(groups, "groups")
        _validate.same_length(**given)
        weight: Floats = given.get("sample_weight", np.ones(len(labels)))
        if not weight.sum() > 0:
            raise InputError("`sample_weight` must not be zero in all rows.")
        self._learn(log_p, labels, weight, given.get("groups"))
        self.n_classes_, self.classes_, self.n_features_in_ = len(classes), classes, int(probs[0].size)
        return self

    def transform(self, X: Any) -> Any:
        """Recalibrated probabilities in the shape of X: (n,), (n, 1), (n, K), or of one number."""
        self._check_fitted()
        probs, shape = _given(X)
        return self._mapped(probs).reshape(shape)[()]

    def predict_proba(self, X: Any) -> Floats:
        """Recalibrated probabilities, one column a class."""
        self._check_fitted()
        made = self._mapped(_given(X)[0])
        return made if made.ndim == 2 else np.stack([1.0 - made, made], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of the largest recalibrated probability."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _mapped(self, probs: NDArray[Any]) -> Floats:
        """`transform` of an array of one dimension, or of (n, K)."""
        log_p = log_probabilities(probs)
        self._check_classes(_n_classes(log_p))
        if log_p.ndim == 2 and log_p.shape[1] == 2:
            q = self._curve(_clipped(log_p[:, 1] - log_p[:, 0]))
            return np.stack([1.0 - q, q], axis=1)
        return self._curve(log_p) if log_p.ndim == 1 else self._classes_curve(log_p)

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may give: a column of probabilities, or one a class, and labels."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags, TransformerTags

        of_two = type(self)._classes_curve is Recalibrator._classes_curve
        given = InputTags(one_d_array=True, two_d_array=False, positive_only=True)
        kinds = {"classifier_tags": ClassifierTags(multi_class=not of_two), "transformer_tags": TransformerTags()}
        return Tags(estimator_type="classifier", target_tags=TargetTags(required=True), input_tags=given, **kinds)

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Floats:
        """`fit`, then `transform` the same rows."""
        return self.fit(X, y, sample_weight, groups).transform(X)

    def _check_fitted(self) -> None:
        if not self.is_fitted:
            raise _not_fitted()(f"this {type(self).__name__} is not fitted yet: call `fit` first.")

    def _check_classes(self, found: int) -> None:
        if self.n_classes_ != found:
            raise InputError(f"this recalibrator was fitted to {self.n_classes_} classes; got {found}.")

    def _learn(self, log_p: Floats, y: Ints, weight: Floats, groups: NDArray[Any] | None) -> None:
        if log_p.ndim == 2:
            if log_p.shape[1] > 2:
                raise InputError(
                    f"method {self.method!r} is for two classes; got {log_p.shape[1]}. Use 'temperature' or 'vector'."
                )
            log_p = _clipped(log_p[:, 1] - log_p[:, 0])
        x, labels = log_p, y.astype(np.float64)
        fold = inner_folds(x, labels, groups) if self.cross_validates else np.zeros(len(x), np.int64)
        if len(x) > MANY_ROWS:
            x, labels, weight, fold = pooled(x, labels, weight, fold)
        self._fit_binary(x, labels, weight, fold)

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: Ints) -> None:
        """Fit to log-odds x; `fold` is for methods that cross-validate inside."""
        raise NotImplementedError

    def _curve(self, x: Floats) -> Floats:
        """Probabilities at log-odds x."""
        raise NotImplementedError

    def _classes_curve(self, log_p: Floats) -> Floats:
        """Probabilities of K > 2 classes; for the methods that have them."""
        raise NotImplementedError

    def _formula(self) -> str:
        """The fitted map in a few words."""
        return self.FORMULA.format_map(Attributes(self))

    # Saving: settings and fitted attributes as plain data, floats exact.

    def to_dict(self) -> dict[str, Any]:
        """Everything that `from_dict` needs, as plain data."""
        self._check_fitted()
        fitted = {k: v for k, v in self.__dict__.items() if k.endswith("_") and k not in Recalibrator.__annotations__}
        return {
            "format": FORMAT,
            "version": VERSION,
            "method": self.method,
            "n_classes": self.n_classes_,
            "settings": self.get_params(),
            "fitted": {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in fitted.items()},
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    def _restore(self, n_classes: int, fitted: dict[str, Any]) -> None:
        for name, value in fitted.items():
            setattr(self, name, np.array(value, np.float64) if isinstance(value, list) else value)
        self.n_classes_, self.n_features_in_ = n_classes, 1 if n_classes == 2 else n_classes
        self.classes_ = np.arange(n_classes)


def _given(X: Any) -> tuple[NDArray[Any], tuple[int, ...]]:
    """X with one dimension, or as (n, K), and the shape in which it came."""
    if hasattr(X, "tocsr"):
        raise InputError("`X` is a sparse matrix; give a dense array of probabilities.")
    made = _validate.array(np.reshape(X, 1) if np.ndim(X) == 0 else X, "X")
    if made.dtype.kind == "c":
        raise InputError("Complex data not supported: `X` holds complex numbers.")
    if made.ndim == 2 and not made.size:
        raise InputError(
            f"`X` holds 0 feature(s) or 0 sample(s) (shape={made.shape}) while a minimum of 1 is required."
        )
    return made.ravel() if made.shape[1:] == (1,) else made, np.shape(X)


def _numbered(y: Any, n_classes: int) -> tuple[Ints, NDArray[Any]]:
    """Labels as numbers of classes, and the labels that they stand for."""
    given = _validate.one_dimensional(y, "y", numbers=False)
    classes = np.unique(given) if given.dtype.kind in "iuUSO" else given[:0]
    if len(classes) == n_classes and (
        classes.dtype.kind in "USO"
        or (0 < classes[-1] - classes[0] < n_classes and classes[0] != 0)
        or classes.tolist() == [-1, 1]
    ):
        return np.searchsorted(classes, given), classes
    return _validate.class_labels(given, n_classes, Origin("y", "X")), np.arange(n_classes)


def _not_fitted() -> type[InputError]:
    """The error before `fit`: scikit-learn's too, where it is loaded."""
    if "sklearn" not in sys.modules:
        return InputError
    from sklearn.exceptions import NotFittedError

    return type("NotFitted", (InputError, NotFittedError), {})


def log_probabilities(X: Any) -> Floats:
    """Log-odds, shape (n,), of probabilities of shape (n,); log-probabilities, shape (n, K), of shape (n, K)."""
    array = _validate.array(X, "X")
    if array.ndim == 1:
        return log_odds(_validate.probabilities(array, Origin("y", "X")))
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(_validate.class_probabilities(array, Origin("y", "X"))), -LOG_ODDS_BOUND)


def log_odds(q: Floats) -> Floats:
    """ln q/(1-q), clipped to ±`LOG_ODDS_BOUND`."""
    return _clipped(special.logit(q))


def sigmoid(z: Floats) -> Floats:
    """1/(1 + e^-z), never 0 or 1: z is clipped to ±`LOG_ODDS_BOUND`."""
    return np.asarray(special.expit(_clipped(z)))


def _clipped(z: Any) -> Floats:
    return np.asarray(np.clip(z, -LOG_ODDS_BOUND, LOG_ODDS_BOUND))


def _n_classes(log_p: Floats) -> int:
    return 2 if log_p.ndim == 1 else int(log_p.shape[1])


INNER_FOLDS = 5


def random_folds(n: int, n_folds: int, groups: NDArray[Any] | None, rng: np.random.Generator | int) -> Ints:
    """The fold of each row: rows, or whole groups, dealt out in random order."""
    generator = np.random.default_rng(rng)
    if groups is None:
        return generator.permutation(n) % n_folds
    names, number = np.unique(groups, return_inverse=True)
    return (generator.permutation(len(names)) % n_folds)[number]


def inner_folds(x: Floats, y: Floats, groups: NDArray[Any] | None) -> Ints:
    """Folds inside an estimator: rows dealt out in order of (x, y), so that the order given does not matter."""
    if groups is not None:
        return random_folds(len(x), INNER_FOLDS, groups, 0)
    fold = np.empty(len(x), np.int64)
    fold[np.lexsort((y, x))] = np.arange(len(x)) % INNER_FOLDS
    return fold


MANY_ROWS = 50_000  # up to here rows are used as they are
CELLS_PER_UNIT = 128


def pooled(x: Floats, y: Floats, weight: Floats, fold: Ints) -> tuple[Floats, Floats, Floats, Ints]:
    """Log-odds, labels, weights and folds of at most 77,000 rows that stand for all.

    A pooled row stands at the mean of its cell, 1/128 wide, whatever its label: two places in one cell would look like
    order where there is none. Cells are fixed: one pass, no sort.
    """
    cell = np.rint((x - x.min()) * CELLS_PER_UNIT).astype(np.int64)
    n_folds = int(fold.max()) + 1
    key = (cell * 2 + (y > 0)) * n_folds + fold
    mass = np.bincount(key, weight).astype(np.float64)
    kept = np.flatnonzero(mass > 0)
    mass = mass[kept]
    with np.errstate(invalid="ignore"):
        means = np.bincount(cell, weight * x) / np.bincount(cell, weight)
    label = (kept // n_folds % 2).astype(np.float64)
    return means[kept // (2 * n_folds)], label, mass, (kept % n_folds).astype(np.int64)
