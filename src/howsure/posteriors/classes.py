"""The posterior of a classifier: for each item, a probability for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure import _validate
from howsure._result import shown_as
from howsure.errors import InputError
from howsure.kernels import special


@dataclass(frozen=True, slots=True, repr=False)
class ClassPosterior:
    """Probabilities of K classes for n items.

    Parameters
    ----------
    log_scores : array, shape (n, K)
        Log-probabilities up to a constant per item (logits).
    classes : tuple of str
        Names of the classes, in the order of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> p = ClassPosterior(np.log([[0.9, 0.1], [0.2, 0.8]]), ("ham", "spam"))
    >>> p.label_is("spam").round(6).tolist(), p.best()
    ([0.1, 0.8], ['ham', 'spam'])
    >>> p.tempered(2.0).label_is("spam").round(6).tolist()
    [0.25, 0.666667]
    """

    log_scores: np.ndarray
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.log_scores.ndim != 2 or self.log_scores.shape[1] != len(self.classes):
            raise InputError(
                f"scores must have a column for each of the {len(self.classes)} classes; got shape {self.log_scores.shape}."
            )
        if np.isnan(self.log_scores).any() or (self.log_scores == np.inf).any():
            raise InputError("scores must be numbers or -infinity.")

    @classmethod
    def of(cls, classifier: Any, items: Any) -> ClassPosterior:
        """The posterior of any classifier with scikit-learn's `predict_proba` and `classes_`."""
        if not hasattr(classifier, "predict_proba"):
            raise InputError(f"{type(classifier).__name__} has no predict_proba: it gives no probabilities.")
        return cls.from_probabilities(classifier.predict_proba(items), [str(c) for c in classifier.classes_])

    @classmethod
    def from_logits(cls, logits: Any, classes: Any = None) -> ClassPosterior:
        """From an array of logits, shape (n, K); without `classes` they are called by their numbers."""
        given = _validate.array(logits, "logits").astype(np.float64)
        return cls(given, tuple(str(c) for c in (range(given.shape[-1]) if classes is None else classes)))

    @classmethod
    def from_probabilities(cls, probabilities: Any, classes: Any) -> ClassPosterior:
        """From probabilities that sum to one in each row."""
        checked = _validate.class_probabilities(probabilities, _validate.Origin(), normalise=False)
        with np.errstate(divide="ignore"):
            return cls(np.log(checked), tuple(str(c) for c in classes))

    def __len__(self) -> int:
        return len(self.log_scores)

    __repr__ = shown_as("{#log_scores:,} items, {#classes} classes")

    def marginals(self) -> np.ndarray:
        """Probabilities, shape (n, K); every row sums to one."""
        return special.softmax(self.log_scores, axis=1)

    def label_is(self, name: str) -> np.ndarray:
        """The probability that each item is of the class `name`."""
        _validate.known(name, self.classes, f'there is no class "{name}"')
        return self.marginals()[:, self.classes.index(name)]

    def top_label(self) -> np.ndarray:
        """The probability of each item's best class."""
        return self.marginals().max(axis=1)

    def best(self) -> list[str]:
        """The most probable class of each item; the first of equals."""
        return [self.classes[i] for i in self.log_scores.argmax(axis=1)]

    def samples(self, n: int, *, rng: np.random.Generator | int | None = 0) -> np.ndarray:
        """`n` draws of every item's class, as numbers of classes: shape (n, items)."""
        generator = _validate.generator(rng)
        draws = generator.random((n, len(self)))
        drawn = np.zeros((n, len(self)), dtype=np.int64)
        for passed in np.cumsum(self.marginals(), axis=1)[:, :-1].T:
            drawn += draws >= passed
        return drawn

    def tempered(self, t: float) -> ClassPosterior:
        """The posterior with scores divided by `t`: above 1 less extreme, below 1 more."""
        return ClassPosterior(self.log_scores / _validate.temperature(t), self.classes)
