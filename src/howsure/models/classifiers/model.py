"""Classifiers of texts that are log-linear in binary unigrams: Bernoulli naive Bayes and logistic regression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure import _validate
from howsure._result import Result, drawn_by
from howsure.corpora.tweet_tokens import TOKENIZERS
from howsure.errors import InputError
from howsure.models.saved import Array, Names, load_model, packed_names, save_model
from howsure.posteriors.classes import ClassPosterior

if TYPE_CHECKING:
    from scipy.sparse import csr_array

KIND, VERSION = "classifier", 1
ARRAYS: dict[str, Array | Names] = {
    "words": Names("word"),
    "weights": Array("f", ("word", "class")),
    "intercept": Array("f", ("class",)),
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
class ClassifierTraining(Result):
    """A trained classifier, and how many rows had no text or no label."""

    model: TextClassifier
    left_out: int

    @property
    def verdict(self) -> str:
        """What was learnt."""
        m, s = self.model, self.model.settings
        classes = ", ".join(m.classes[:6]) + (", …" if len(m.classes) > 6 else "")
        said = (
            f"A {s['method']} classifier of {len(m.classes)} classes ({classes}), learnt from {s['texts']:,} texts and "
            f"{len(m.words):,} words, {'C' if s['method'] == 'logistic' else 'pseudocount'} {s['strength']:g}."
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
