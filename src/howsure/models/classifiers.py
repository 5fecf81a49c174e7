"""Classifiers of texts that are log-linear in binary unigrams: Bernoulli naive Bayes and logistic regression.

Those of n-gram models are in `models/ngrams/classifier.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure import _validate
from howsure._result import Training, drawn_by
from howsure.corpora.tweet_tokens import TOKENIZERS
from howsure.errors import InputError, MissingExtra
from howsure.models.saved import Array, Names, load_model, packed_names, save_model
from howsure.posteriors.classes import ClassPosterior
from howsure.processes import Progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from howsure.models.ngrams.classifier import NgramClassifier

KIND, VERSION = "classifier", 1
ARRAYS: dict[str, Array | Names] = {
    "words": Names("word"),
    "weights": Array("f", ("word", "class")),
    "intercept": Array("f", ("class",)),
}
METHODS = ("logistic", "naive-bayes", "ngrams")
STRENGTHS = {
    "logistic": tuple(float(c) for c in np.round(np.logspace(-2, 2, 9), 6)),  # C, scikit-learn's inverse of L2
    "naive-bayes": tuple(float(a) for a in np.round(np.logspace(-2, 1, 10), 6)),  # pseudocount
}


@dataclass(frozen=True, slots=True, repr=False)
class TextClassifier:
    """P(class | text) ∝ exp(b + Σ W[word] over the distinct known words of the text).

    Both methods are of this form: naive Bayes takes W from counts, logistic regression fits it. `settings` says how
    it was made: "method", "tokens", "min_count", "strength" (the hyperparameter) and what was tried on dev.
    """

    words: tuple[str, ...]
    classes: tuple[str, ...]
    weights: np.ndarray  # (V, K)
    intercept: np.ndarray  # (K,)
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"TextClassifier({self.settings.get('method')}: {len(self.words):,} words, {len(self.classes)} classes)"

    def posterior(self, texts: Sequence[str]) -> ClassPosterior:
        """Probabilities of the classes for each text."""
        known = {w: i for i, w in enumerate(self.words)}
        counted = unigrams(texts, known, str(self.settings["tokens"]))
        return ClassPosterior(np.asarray(counted @ self.weights) + self.intercept, self.classes)

    def save(self, path: str | Path) -> None:
        """Write a `.npz` file without pickle."""
        arrays = {"words": packed_names(self.words), "weights": self.weights, "intercept": self.intercept}
        save_model(path, KIND, VERSION, {**self.settings, "classes": list(self.classes)}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> TextClassifier:
        """Read what `save` wrote."""
        settings, arrays = load_model(path, KIND, VERSION, ARRAYS, lists={"classes": "class"})
        classes = tuple(settings.pop("classes"))
        if len(classes) < 2 or settings.get("tokens") not in list(TOKENIZERS):
            raise InputError(f"{path} is damaged: it has one class, or no way to find words.")
        return cls(tuple(arrays["words"]), classes, arrays["weights"], arrays["intercept"], settings)


@dataclass(frozen=True, slots=True)
class ClassifierTraining(Training):
    """A trained classifier, and how many rows had no text or no label."""

    model: TextClassifier | NgramClassifier
    left_out: int

    @property
    def verdict(self) -> str:
        """What was learnt."""
        m, s = self.model, self.model.settings
        classes = ", ".join(m.classes[:6]) + (", …" if len(m.classes) > 6 else "")
        what, how = "words", f"{'C' if s['method'] == 'logistic' else 'pseudocount'} {s.get('strength', 0.0):g}"
        if s["method"] == "ngrams":
            what, how = s["units"], f"order {s['order']}, temperature {s.get('temperature', 1.0):.3g}"
        said = (
            f"A {s['method']} classifier of {len(m.classes)} classes ({classes}), learnt from {s['texts']:,} texts and "
            f"{len(m.words):,} {what}, {how}."
        )
        return said + (f" {self.left_out:,} rows without a text or a label were left out." if self.left_out else "")

    def to_dict(self) -> dict[str, Any]:
        """Classes, words and how it was made."""
        m = self.model
        return {"classes": list(m.classes), "words": len(m.words), "left_out": self.left_out, **m.settings}

    to_text = drawn_by("howsure.report.text.models.classifier_training_text")


def vocabulary(texts: Sequence[str], tokens: str, min_count: int) -> dict[str, int]:
    """The words of at least `min_count` texts, numbered in the order of their spelling."""
    if tokens not in TOKENIZERS:
        raise InputError(f'there is no tokenizer "{tokens}".' + _validate.nearest(tokens, TOKENIZERS))
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(TOKENIZERS[tokens](text)))
    return {w: i for i, w in enumerate(sorted(w for w, c in counts.items() if c >= min_count))}


def unigrams(texts: Sequence[str], known: dict[str, int], tokens: str) -> csr_array:
    """Which known words each text has: a sparse matrix of ones, shape (texts, words)."""
    from scipy.sparse import csr_array

    tokenize = TOKENIZERS[tokens]
    found = [sorted({known[w] for w in tokenize(text) if w in known}) for text in texts]
    ends = np.cumsum([0, *map(len, found)])
    indices = np.fromiter((i for row in found for i in row), dtype=np.int64, count=int(ends[-1]))
    return csr_array((np.ones(len(indices)), indices, ends), shape=(len(texts), len(known)))


def fit_classifier(
    texts: Sequence[str],
    labels: Sequence[str],
    *,
    method: str = "logistic",
    dev: tuple[Sequence[str], Sequence[str]] | None = None,
    positive: str | None = None,
    tokens: str = "tweets",
    min_count: int = 2,
    strength: float | None = None,
    order: int = 4,
    units: str = "characters",
    progress: Progress | None = None,
) -> TextClassifier | NgramClassifier:
    """Fit a classifier; with `dev`, its hyperparameter is the one of the best F1 there (macro-F1 for many classes).

    Parameters
    ----------
    method : "logistic", "naive-bayes" or "ngrams"
    order, units
        Of n-gram models: their order, and "characters", "words" or "punctuation"; `dev` then fits a temperature.
    strength : float
        C of logistic regression or the pseudocount of naive Bayes; 1 when there is neither this nor `dev`.
    """
    if method not in METHODS:
        raise InputError(f'there is no method "{method}".' + _validate.nearest(method, METHODS))
    if not len(texts):
        raise InputError("there are no texts to train on.")
    if method == "ngrams":
        from howsure.models.ngrams.classifier import fit_ngrams

        if strength is not None:
            raise InputError("a strength goes with logistic and naive-bayes, not with ngrams.")
        return fit_ngrams(texts, labels, dev=dev, order=order, units=units, min_count=min_count, progress=progress)
    classes = tuple(sorted({str(label) for label in labels}))
    if len(classes) < 2:
        raise InputError(f'all training texts have one label, "{classes[0]}"; a classifier needs two at least.')
    known = vocabulary(texts, tokens, min_count)
    if not known:
        raise InputError(f"no word occurs in {min_count} texts or more; lower `min_count=`.")
    numbered = {c: i for i, c in enumerate(classes)}
    x, y = unigrams(texts, known, tokens), np.array([numbered[str(label)] for label in labels])
    x_dev, y_dev = None, None
    if dev is not None:
        unseen = sorted({str(label) for label in dev[1]} - set(classes))
        if unseen:
            raise InputError(f'dev has the label "{unseen[0]}", which training has not.')
        x_dev, y_dev = unigrams(dev[0], known, tokens), np.array([numbered[str(label)] for label in dev[1]])
        if not len(y_dev):
            raise InputError("dev has no texts.")
    tried = [strength] if strength is not None else list(STRENGTHS[method]) if x_dev is not None else [1.0]
    best: tuple[float, float, np.ndarray, np.ndarray] | None = None
    scores = []
    for number, value in enumerate(tried):
        weights, intercept = _fitted(method, x, y, len(classes), value)
        f1 = None
        if x_dev is not None and y_dev is not None:
            guessed = (np.asarray(x_dev @ weights) + intercept).argmax(axis=1)
            f1 = _f1(y_dev, guessed, len(classes), None if positive is None else numbered.get(positive))
            scores.append({"strength": value, "f1": f1})
        if best is None or (f1 or 0.0) > best[0]:
            best = (f1 or 0.0, value, weights, intercept)
        if progress is not None:
            progress(number + 1, len(tried))
    assert best is not None
    settings: dict[str, Any] = {
        "method": method,
        "tokens": tokens,
        "min_count": min_count,
        "strength": best[1],
        "texts": len(texts),
        "dev": scores,
    }
    return TextClassifier(tuple(known), classes, best[2], best[3], settings)


def _f1(y: np.ndarray, guessed: np.ndarray, n_classes: int, positive: int | None) -> float:
    """F1 of the positive class (the last of two), or the mean over many classes."""
    counts = np.bincount(y * n_classes + guessed, minlength=n_classes**2).reshape(n_classes, n_classes)
    f = 2.0 * counts.diagonal() / np.maximum(counts.sum(axis=0) + counts.sum(axis=1), 1)
    if positive is None and n_classes == 2:
        positive = 1
    return float(f.mean() if positive is None else f[positive])


def _fitted(method: str, x: csr_array, y: np.ndarray, n_classes: int, strength: float) -> tuple[np.ndarray, np.ndarray]:
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import BernoulliNB
    except ImportError:
        raise MissingExtra("training a classifier needs scikit-learn: pip install 'howsure[models]'.") from None

    if not 0.0 < strength < np.inf:
        raise InputError(f"`strength=` must be a number above 0; got {strength}.")
    if method == "naive-bayes":
        bayes = BernoulliNB(alpha=strength, binarize=None).fit(x, y)
        present = bayes.feature_log_prob_.T  # log P(word | class)
        absent = np.log1p(-np.exp(present))
        return present - absent, bayes.class_log_prior_ + absent.sum(axis=0)
    fitted = LogisticRegression(C=strength, max_iter=2000, tol=1e-6).fit(x, y)
    weights, intercept = fitted.coef_.T, fitted.intercept_
    if n_classes == 2:  # one column that speaks for the second class
        weights, intercept = np.hstack([np.zeros_like(weights), weights]), np.array([0.0, intercept[0]])
    return weights, intercept
