"""Classifiers of texts that are log-linear in binary n-grams of words and, if asked, in averaged word vectors: Bernoulli
naive Bayes and logistic regression. Those of n-gram models are in `models/ngrams/classifier.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure import _validate
from howsure._result import Training, drawn_by
from howsure.corpora.tweet_tokens import TOKENIZERS
from howsure.data.vectors import word_vectors
from howsure.errors import InputError
from howsure.models.lbfgs import minimise
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
TOLERANCE = 1e-10  # relative decrease of the loss in an iteration at which a fit has converged
CURVATURE = 0.2  # about p (1 - p): the loss's second derivative by a score
METHODS = ("logistic", "naive-bayes", "ngrams")
LONGEST = 9  # sequence of words that is a feature
STRENGTHS = {
    "logistic": tuple(float(c) for c in np.round(np.logspace(-2, 2, 9), 6)),  # C, the inverse of L2, as scikit-learn's
    "naive-bayes": tuple(float(a) for a in np.round(np.logspace(-2, 1, 10), 6)),  # pseudocount
}


@dataclass(frozen=True, slots=True, repr=False)
class TextClassifier:
    """P(class | text) ∝ exp(b + Σ W[word] over the distinct known words of the text).

    Both methods are of this form: naive Bayes takes W from counts, logistic regression fits it. Words are n-grams of up to
    `settings["ngrams"]` words; the last `settings["vectors"]` rows of W are for the numbers of the text's averaged vector. `settings`
    says how it was made: "method", "tokens", "min_count", "strength" (the hyperparameter) and what was tried on dev.
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
        n = len(self.words) - int(self.settings.get("vectors", 0))
        found = tokens_of(texts, str(self.settings["tokens"]), int(self.settings.get("ngrams", 1)))
        scores = incidence(found, {w: i for i, w in enumerate(self.words[:n])}) @ self.weights[:n] + self.intercept
        if n < len(self.words):
            scores += averaged_vectors(found) @ self.weights[n:]
        return ClassPosterior(scores, self.classes)

    def unknown(self, texts: Sequence[str]) -> np.ndarray:
        """The number of unknown words in texts, and of all words."""
        known, found = set(self.words), tokens_of(texts, str(self.settings["tokens"]))
        return np.array([sum(w not in known for words in found for w in words), sum(map(len, found))])

    def unlike(self, unknown: np.ndarray, shares: np.ndarray, n: int, *, labelled: bool = False) -> tuple[str, ...]:
        """What to say where n texts are unlike those of training: in unknown words, or in shares (of labels or probabilities)."""
        made, old = [], np.array(self.settings.get("shares", shares))
        expected, share = self.settings.get("unknown", 1.0), unknown[0] / max(unknown[1], 1)
        if share > 1.25 * expected + 0.02:
            made.append(
                f"The text is unlike the training text: {100 * share:.0f}% of its words are unknown to the model, where "
                f"{100 * expected:.0f}% were to be expected. Label some of it, and check the probabilities on that."
            )
        k = int(np.argmax(np.abs(shares - old)))
        if abs(shares[k] - old[k]) > 0.03 + 3.0 * np.sqrt(old[k] * (1.0 - old[k]) / max(n, 1)):
            made.append(
                f'The share of "{self.classes[k]}" is {shares[k]:.2f}{"" if labelled else " by the probabilities"} and was '
                f"{old[k]:.2f} in training. Where shares move, probabilities are off; `howsure count` estimates shares from "
                "the probabilities and a few labels."
            )
        return tuple(made)

    def save(self, path: str | Path) -> None:
        """Write a `.npz` file without pickle."""
        arrays = {"words": packed_names(self.words), "weights": self.weights, "intercept": self.intercept}
        save_model(path, KIND, VERSION, {**self.settings, "classes": list(self.classes)}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> TextClassifier:
        """Read what `save` wrote."""
        settings, arrays = load_model(path, KIND, VERSION, ARRAYS, lists={"classes": "class"})
        classes = tuple(settings.pop("classes"))
        numbers = settings.get("vectors", 0)
        if (
            len(classes) < 2
            or settings.get("tokens") not in list(TOKENIZERS)
            or settings.get("ngrams", 1) not in range(1, LONGEST + 1)
        ):
            raise InputError(f"{path} is damaged: it has one class, or no way to find words.")
        shares = settings.get("shares", [0.0] * len(classes))
        seen = [settings.get("unknown", 1.0), *(shares if isinstance(shares, list) else [None])]
        if len(seen) != 1 + len(classes) or not all(isinstance(x, int | float) and 0 <= x <= 1 for x in seen):
            raise InputError(
                f"{path} is damaged: the shares of classes and of unknown words must be numbers from 0 to 1."
            )
        if numbers and (numbers, settings.get("vector_words")) != (word_vectors().matrix.shape[1], len(word_vectors())):
            raise InputError(f"{path} was trained with other word vectors than those of this howsure: train it again.")
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


def tokens_of(texts: Sequence[str], tokens: str, ngrams: int = 1) -> list[list[str]]:
    """The words of each text and, joined by spaces, its n-grams of up to `ngrams` words."""
    cut, made = TOKENIZERS[_validate.known(tokens, TOKENIZERS, f'there is no tokenizer "{tokens}"')], []
    for text in texts:
        w = cut(text)
        made.append(w + [" ".join(w[i : i + n]) for n in range(2, ngrams + 1) for i in range(len(w) - n + 1)])
    return made


def vocabulary(found: Sequence[Sequence[str]], min_count: int) -> tuple[dict[str, int], float]:
    """The words of at least `min_count` texts, numbered in the order of their spelling; and the share of unknown words to
    expect in a text like these: of the words of a text, those that would be unknown without it.
    """
    counts = Counter(chain.from_iterable(map(set, found)))
    single = [counts[w] <= min_count for words in found for w in words if " " not in w]
    known = sorted(w for w, c in counts.items() if c >= min_count)
    return {w: i for i, w in enumerate(known)}, float(np.mean(single)) if single else 0.0


def incidence(found: Sequence[Sequence[str]], known: dict[str, int]) -> csr_array:
    """Which known words each text has: a sparse matrix of ones, shape (texts, words)."""
    from scipy.sparse import csr_array

    rows = [sorted({known[w] for w in words if w in known}) for words in found]
    ends = np.cumsum([0, *map(len, rows)])
    indices = np.fromiter((i for row in rows for i in row), dtype=np.int64, count=int(ends[-1]))
    return csr_array((np.ones(len(indices)), indices, ends), shape=(len(rows), len(known)))


def averaged_vectors(found: Sequence[Sequence[str]]) -> np.ndarray:
    """The sum of the vectors of each text's words, each of length 1, divided by the root of their number."""
    from scipy.sparse import csr_array

    vectors = word_vectors()
    rows = vectors.rows(w.removeprefix("#") for words in found for w in words)
    text = np.repeat(np.arange(len(found)), [len(words) for words in found])[rows >= 0]
    table = csr_array((np.ones(len(text)), (text, rows[rows >= 0])), shape=(len(found), len(vectors)))
    unit = vectors.matrix / np.maximum(np.linalg.norm(vectors.matrix, axis=1, keepdims=True), 1e-12)
    return (table @ unit) / np.sqrt(np.maximum(table.sum(axis=1), 1.0))[:, None]


def fit_classifier(
    texts: Sequence[str],
    labels: Sequence[str],
    *,
    method: str = "logistic",
    dev: tuple[Sequence[str], Sequence[str]] | None = None,
    positive: str | None = None,
    tokens: str = "tweets",
    min_count: int = 2,
    ngrams: int = 1,
    vectors: bool = False,
    strength: float | None = None,
    order: int = 4,
    units: str = "characters",
    progress: Progress | None = None,
) -> TextClassifier | NgramClassifier:
    """Fit a classifier; with `dev`, its hyperparameter is the one of the best F1 there (macro-F1 for many classes).

    Parameters
    ----------
    method : "logistic", "naive-bayes" or "ngrams"
    ngrams : int
        Sequences of up to so many words are features, each where it occurs in `min_count` texts.
    vectors : bool
        The averaged vector of a text's words is a feature too (logistic).
    order, units
        Of n-gram models: their order, and "characters", "words" or "punctuation"; `dev` then fits a temperature.
    strength : float
        C of logistic regression or the pseudocount of naive Bayes; 1 when there is neither this nor `dev`.
    """
    _validate.known(method, METHODS, f'there is no method "{method}"')
    if not len(texts):
        raise InputError("there are no texts to train on.")
    if method == "ngrams":
        from howsure.models.ngrams.classifier import fit_ngrams

        if strength is not None:
            raise InputError("a strength goes with logistic and naive-bayes, not with ngrams.")
        return fit_ngrams(texts, labels, dev=dev, order=order, units=units, min_count=min_count, progress=progress)
    if vectors and method != "logistic":
        raise InputError("averaged vectors go with logistic regression.")
    classes = tuple(sorted({str(label) for label in labels}))
    if len(classes) < 2:
        raise InputError(f'all training texts have one label, "{classes[0]}"; a classifier needs two at least.')
    if _validate.count(ngrams, "ngrams") > LONGEST:
        raise InputError(f"`ngrams=` must be at most {LONGEST}; got {ngrams}.")
    found = tokens_of(texts, tokens, ngrams)
    known, unknown = vocabulary(found, min_count)
    if not known:
        raise InputError(f"no word occurs in {min_count} texts or more; lower `min_count=`.")
    numbered = {c: i for i, c in enumerate(classes)}
    y = np.array([numbered[str(label)] for label in labels])
    held = None
    if dev is not None:
        unseen = sorted({str(label) for label in dev[1]} - set(classes))
        if unseen:
            raise InputError(f'dev has the label "{unseen[0]}", which training has not.')
        if not len(dev[1]):
            raise InputError("dev has no texts.")
        others = tokens_of(dev[0], tokens, ngrams)
        y_dev = np.array([numbered[str(label)] for label in dev[1]])
        held = (incidence(others, known), averaged_vectors(others) if vectors else np.zeros((len(others), 0)), y_dev)
    tried = [strength] if strength is not None else list(STRENGTHS[method]) if held is not None else [1.0]
    if not all(0.0 < value < np.inf for value in tried):
        raise InputError(f"`strength=` must be a number above 0; got {strength}.")
    x, dense = incidence(found, known), averaged_vectors(found) if vectors else np.zeros((len(found), 0))
    fits = _logistic(x, dense, y, len(classes), tried, progress)
    if method == "naive-bayes":
        fits = (_naive_bayes(x, y, len(classes), value) for value in tried)
    best: tuple[float, float, np.ndarray, np.ndarray] | None = None
    scores = []
    for number, (value, (weights, intercept)) in enumerate(zip(tried, fits, strict=True)):
        f1 = None
        if held is not None:
            guessed = (held[0] @ weights[: len(known)] + held[1] @ weights[len(known) :] + intercept).argmax(axis=1)
            f1 = _f1(held[2], guessed, len(classes), None if positive is None else numbered.get(positive))
            scores.append({"strength": value, "f1": f1})
        if best is None or (f1 or 0.0) > best[0]:
            best = (f1 or 0.0, value, weights, intercept)
        if progress is not None:
            progress(number + 1, len(tried))
    assert best is not None
    settings = {"method": method, "tokens": tokens, "min_count": min_count, "ngrams": ngrams, "strength": best[1]}
    settings |= {"texts": len(texts), "unknown": unknown, "shares": (np.bincount(y) / len(y)).tolist(), "dev": scores}
    settings |= {"vectors": dense.shape[1], "vector_words": len(word_vectors())} if vectors else {}
    words = (*known, *(f"vector number {i + 1}" for i in range(dense.shape[1])))
    return TextClassifier(words, classes, best[2], best[3], settings)


def _f1(y: np.ndarray, guessed: np.ndarray, n_classes: int, positive: int | None) -> float:
    """F1 of the positive class (the last of two), or the mean over many classes."""
    counts = np.bincount(y * n_classes + guessed, minlength=n_classes**2).reshape(n_classes, n_classes)
    f = 2.0 * counts.diagonal() / np.maximum(counts.sum(axis=0) + counts.sum(axis=1), 1)
    if positive is None and n_classes == 2:
        positive = 1
    return float(f.mean() if positive is None else f[positive])


def _naive_bayes(x: csr_array, y: np.ndarray, n_classes: int, pseudocount: float) -> tuple[np.ndarray, np.ndarray]:
    of_class = np.eye(n_classes)[y]
    n = of_class.sum(axis=0)
    present = np.log((x.T @ of_class + pseudocount) / (n + 2.0 * pseudocount))  # log P(word | class)
    absent = np.log1p(-np.exp(present))
    return present - absent, np.log(n / n.sum()) + absent.sum(axis=0)


def _logistic(
    x: csr_array, dense: np.ndarray, y: np.ndarray, n_classes: int, tried: Sequence[float], progress: Progress | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Weights and intercepts of least -log P + |W|²/2C for each C, in the order given; each fit begins where the last ended.

    Of two classes one column of weights speaks for the second.
    """
    k, v, rows = 1 if n_classes == 2 else n_classes, x.shape[1], x.shape[1] + dense.shape[1]
    true, transposed = np.eye(n_classes)[y], x.T.tocsr()
    squares = np.concatenate([x.sum(axis=0), (dense**2).sum(axis=0), [len(y)]])
    w = np.zeros((rows + 1, k))
    for number, c in enumerate(tried):
        decay = np.append(np.full(rows, 1.0 / c), 0.0)[:, None]
        scale = 1.0 / np.sqrt(CURVATURE * squares[:, None] + decay)  # so that all directions are about equally curved

        def loss(given: np.ndarray, scale: np.ndarray = scale, decay: np.ndarray = decay) -> tuple[float, np.ndarray]:
            table = given.reshape(rows + 1, k) * scale
            z = x @ table[:v] + dense @ table[v:rows] + table[rows]
            z = np.hstack([np.zeros_like(z), z]) if k == 1 else z
            z -= z.max(axis=1, keepdims=True)
            off = np.exp(z)
            total = off.sum(axis=1, keepdims=True)
            value = float(np.log(total).sum() - (z * true).sum() + (decay * table**2).sum() / 2.0)
            off = (off / total - true)[:, n_classes - k :]
            gradient = np.vstack([transposed @ off, dense.T @ off, off.sum(axis=0)[None]])
            return value, ((gradient + decay * table) * scale).ravel()

        def after(i: int, *_: Any, told: tuple[int, float] = (number, c)) -> bool:
            return bool(progress and progress(told[0], len(tried), f"C = {told[1]:g}, iteration {i}"))

        found = minimise(loss, (w / scale).ravel(), max_iterations=2000, tolerance=TOLERANCE, after=after)
        w = found.reshape(rows + 1, k) * scale
        table = np.hstack([np.zeros_like(w), w]) if k == 1 else w
        yield table[:rows], table[rows]
