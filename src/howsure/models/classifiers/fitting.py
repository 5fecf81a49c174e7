"""Fitting text classifiers: the hyperparameter is chosen for F1 on held-out texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure import _validate
from howsure.errors import InputError, MissingExtra
from howsure.kernels.soft_calibration import soft_calibration_error
from howsure.models.classifiers.model import TextClassifier, unigrams, vocabulary
from howsure.processes import Progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array

METHODS = ("logistic", "naive-bayes")
STRENGTHS = {
    "logistic": tuple(float(c) for c in np.round(np.logspace(-2, 2, 9), 6)),  # C, scikit-learn's inverse of L2
    "naive-bayes": tuple(float(a) for a in np.round(np.logspace(-2, 1, 10), 6)),  # pseudocount
}


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
    penalty: float = 0.0,
    progress: Progress | None = None,
) -> TextClassifier:
    """Fit a classifier; with `dev`, its hyperparameter is the one of the best F1 there (macro-F1 for many classes).

    Parameters
    ----------
    method : "logistic" or "naive-bayes"
    strength : float
        C of logistic regression or the pseudocount of naive Bayes; 1 when there is neither this nor `dev`.
    penalty : float
        λ of a calibration penalty added to the loss of logistic regression: mean log loss + ½|W|²/(Cn) + λ CE², CE²
        the soft calibration error averaged over classes (`howsure.kernels.soft_calibration`).
    """
    if method not in METHODS:
        raise InputError(f'there is no method "{method}".' + _validate.nearest(method, METHODS))
    if not len(texts):
        raise InputError("there are no texts to train on.")
    if _validate.not_negative(penalty, "penalty") and method != "logistic":
        raise InputError("a calibration penalty goes with logistic regression only.")
    classes = tuple(sorted({str(label) for label in labels}))
    if len(classes) < 2:
        raise InputError(f'all training texts have one label, "{classes[0]}"; a classifier needs two at least.')
    known = vocabulary(texts, tokens, min_count)
    if not known:
        raise InputError(f"no word occurs in {min_count} texts or more; lower --min-count.")
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
        weights, intercept = _fitted(method, x, y, len(classes), value, penalty)
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
        "penalty": penalty,
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


def _fitted(
    method: str, x: csr_array, y: np.ndarray, n_classes: int, strength: float, penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import BernoulliNB
    except ImportError:
        raise MissingExtra("training a classifier needs scikit-learn: pip install 'howsure[models]'.") from None

    if not 0.0 < strength < np.inf:
        raise InputError(f"`strength` must be a number above 0; got {strength}.")
    if method == "naive-bayes":
        bayes = BernoulliNB(alpha=strength, binarize=None).fit(x, y)
        present = bayes.feature_log_prob_.T  # log P(word | class)
        absent = np.log1p(-np.exp(present))
        return present - absent, bayes.class_log_prior_ + absent.sum(axis=0)
    fitted = LogisticRegression(C=strength, max_iter=2000, tol=1e-6).fit(x, y)
    weights, intercept = fitted.coef_.T, fitted.intercept_
    if n_classes == 2:  # one column that speaks for the second class
        weights, intercept = np.hstack([np.zeros_like(weights), weights]), np.array([0.0, intercept[0]])
    return (weights, intercept) if not penalty else _penalised(x, y, n_classes, strength, penalty, weights, intercept)


def _penalised(
    x: csr_array,
    y: np.ndarray,
    n_classes: int,
    strength: float,
    penalty: float,
    weights: np.ndarray,
    intercept: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """L-BFGS on the penalised loss, from the plain optimum. With two classes only the second column is free."""
    from scipy.optimize import minimize

    from howsure.kernels.special import logsumexp

    n, v = x.shape
    free = slice(1, 2) if n_classes == 2 else slice(0, n_classes)
    width = 1 if n_classes == 2 else n_classes
    gold = np.zeros((n, n_classes))
    gold[np.arange(n), y] = 1.0

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = flat[: v * width].reshape(v, width), flat[v * width :]
        scores = np.zeros((n, n_classes))
        scores[:, free] = np.asarray(x @ w) + b
        log_p = scores - logsumexp(scores, axis=1, keepdims=True)
        p = np.exp(log_p)
        value = -float((gold * log_p).sum()) / n + 0.5 * float((w * w).sum()) / (strength * n)
        by_score = (p - gold) / n
        for k in range(n_classes):
            error, by_q = soft_calibration_error(gold[:, k], p[:, k])
            value += penalty * error / n_classes
            by_score -= (penalty / n_classes * by_q * p[:, k])[:, None] * p
            by_score[:, k] += penalty / n_classes * by_q * p[:, k]
        by_score = by_score[:, free]
        by_w = np.asarray(x.T @ by_score) + w / (strength * n)
        return value, np.concatenate([by_w.ravel(), by_score.sum(axis=0)])

    start = np.concatenate([weights[:, free].ravel(), intercept[free]])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    made_w, made_b = np.zeros((v, n_classes)), np.zeros(n_classes)
    made_w[:, free], made_b[free] = found[: v * width].reshape(v, width), found[v * width :]
    return made_w, made_b
