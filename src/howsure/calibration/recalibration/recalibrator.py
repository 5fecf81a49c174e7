"""What all recalibrators share: settings, checks, shapes, and how they are saved.

The interface is scikit-learn's (`fit`, `transform`, `predict_proba`, `get_params`, `set_params`; `sklearn.base.clone`
works) without importing it. Settings are given once and read-only; what was fitted ends in `_`.
"""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.calibration.recalibration.folds import inner_folds
from howsure.calibration.recalibration.pooling import MANY_ROWS, pooled
from howsure.errors import InputError
from howsure.kernels.cells import Floats

FORMAT, VERSION = "howsure recalibrator", 1
# Log-odds and log-probabilities are clipped here, in and out: q = 0 and 1 count as 1e-13 and 1 - 1e-13.
LOG_ODDS_BOUND = 30.0


class Recalibrator(ABC):
    """A map from a model's probabilities to better ones, learnt from labels."""

    method: ClassVar[str]
    cross_validates: ClassVar[bool] = False
    n_classes_: int

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._settings() and name in self.__dict__:
            raise AttributeError(f"`{name}` is a setting and read-only; make another {type(self).__name__}.")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in self.get_params().items())
        return f"{type(self).__name__}({given})" + (f": {self._formula()}" if self.is_fitted else "")

    @classmethod
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
        """Learn from probabilities X, shape (n,) or (n, K), and labels y in 0 … K-1, shape (n,).

        `sample_weight` counts repetitions or importance. `groups` keeps dependent rows together where a method
        cross-validates inside.
        """
        log_p = log_probabilities(X)
        labels = _validate.class_labels(y, _n_classes(log_p), Origin("y", "X"))
        given: dict[str, NDArray[Any]] = {"X": log_p, "y": labels}
        if sample_weight is not None:
            given["sample_weight"] = _validate.importance(sample_weight, "sample_weight")
        if groups is not None:
            given["groups"] = _validate.one_dimensional(groups, "groups")
        _validate.same_length(**given)
        weight: Floats = given.get("sample_weight", np.ones(len(labels)))
        if not weight.sum() > 0:
            raise InputError("`sample_weight` must not be all 0.")
        self._learn(log_p, labels, weight, given.get("groups"))
        self.n_classes_ = _n_classes(log_p)
        return self

    def transform(self, X: Any) -> Floats:
        """Recalibrated probabilities in the shape of X."""
        return self._transformed(log_probabilities(X))

    def predict_proba(self, X: Any) -> Floats:
        """Recalibrated probabilities, one column a class."""
        made = self.transform(X)
        return made if made.ndim == 2 else np.stack([1.0 - made, made], axis=1)

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Floats:
        """`fit`, then `transform` the same rows."""
        return self.fit(X, y, sample_weight, groups).transform(X)

    def _transformed(self, log_p: Floats) -> Floats:
        self._check_classes(_n_classes(log_p))
        if log_p.ndim == 2 and log_p.shape[1] == 2:
            q = self._curve(_clipped(log_p[:, 1] - log_p[:, 0]))
            return np.stack([1.0 - q, q], axis=1)
        return self._curve(log_p) if log_p.ndim == 1 else self._classes_curve(log_p)

    def _check_classes(self, found: int) -> None:
        if not self.is_fitted:
            raise InputError(f"this {type(self).__name__} is not fitted yet: call `fit` first.")
        if self.n_classes_ != found:
            raise InputError(f"this recalibrator was fitted to {self.n_classes_} classes; got {found}.")

    def _learn(self, log_p: Floats, y: NDArray[np.int64], weight: Floats, groups: NDArray[Any] | None) -> None:
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

    @abstractmethod
    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: NDArray[np.int64]) -> None:
        """Fit to log-odds x; `fold` is for methods that cross-validate inside."""

    @abstractmethod
    def _curve(self, x: Floats) -> Floats:
        """Probabilities at log-odds x."""

    def _classes_curve(self, log_p: Floats) -> Floats:
        """Probabilities of K > 2 classes; for the methods that have them."""
        raise NotImplementedError

    @abstractmethod
    def _formula(self) -> str:
        """The fitted map in a few words."""

    # Saving: settings and fitted attributes as plain data, floats exact.

    def to_dict(self) -> dict[str, Any]:
        """Everything that `from_dict` needs, as plain data."""
        if not self.is_fitted:
            raise InputError(f"this {type(self).__name__} is not fitted yet: call `fit` first.")
        fitted = {k: v for k, v in self.__dict__.items() if k.endswith("_") and k != "n_classes_"}
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
        self.n_classes_ = n_classes


def log_probabilities(X: Any) -> Floats:
    """Log-odds, shape (n,), of probabilities of shape (n,); log-probabilities, shape (n, K), of shape (n, K)."""
    array = _validate.array(X, "X")
    if array.ndim == 1:
        return log_odds(_validate.probabilities(array, Origin("y", "X")))
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(_validate.class_probabilities(array, Origin("y", "X"))), -LOG_ODDS_BOUND)


def log_odds(q: Floats) -> Floats:
    """ln q/(1-q), clipped to ±`LOG_ODDS_BOUND`."""
    from howsure.kernels.special import logit

    return _clipped(logit(q))


def sigmoid(z: Floats) -> Floats:
    """1/(1 + e^-z), never 0 or 1: z is clipped to ±`LOG_ODDS_BOUND`."""
    from howsure.kernels.special import expit

    return np.asarray(expit(_clipped(z)))


def _clipped(z: Any) -> Floats:
    return np.asarray(np.clip(z, -LOG_ODDS_BOUND, LOG_ODDS_BOUND))


def _n_classes(log_p: Floats) -> int:
    return 2 if log_p.ndim == 1 else int(log_p.shape[1])
