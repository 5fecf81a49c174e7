"""How well a model predicts a text: cross-entropy, perplexity, bits, next-word accuracy; and two models compared."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure._result import Result, drawn_by, finite, shown_as
from howsure.errors import InputError
from howsure.kernels import special
from howsure.kernels.cells import Floats
from howsure.models.ngrams.model import LanguageModel
from howsure.models.ngrams.vocabulary import EOS, UNK

LN2 = math.log(2.0)


def entropy(probs: Any) -> float:
    """H = -Σ p log2 p, in bits."""
    p = np.asarray(probs, np.float64)
    return float(-np.sum(p[p > 0] * np.log2(p[p > 0]))) + 0.0


def perplexity_of(log2_probs: Any) -> float:
    """2 to the mean of -log2 p."""
    return float(2.0 ** -np.mean(np.asarray(log2_probs, np.float64)))


@dataclass(frozen=True, slots=True)
class Surprise:
    """Words and the bits they cost, with an interval of the bits a word from the spread between groups."""

    words: int
    bits: float  # infinite when something had probability 0
    low: float | None  # of bits per word
    high: float | None

    @property
    def per_word(self) -> float:
        """Per-word cross-entropy in bits."""
        return self.bits / self.words if self.words else math.nan

    @property
    def perplexity(self) -> float:
        """2 to the per-word cross-entropy."""
        return _power(self.per_word)

    __repr__ = shown_as("perplexity {perplexity:.4g}, {words:,} words")

    def to_dict(self) -> dict[str, Any]:
        """Words, bits, cross-entropy and perplexity with limits; None for infinite or missing."""
        low, high = (None if x is None else _power(x) for x in (self.low, self.high))
        found = {"bits": self.bits, "cross_entropy": self.per_word, "perplexity": self.perplexity}
        return {"words": self.words, **{k: finite(v) for k, v in found.items()}, "low": low, "high": high}


@dataclass(frozen=True, slots=True)
class Evaluation(Result):
    """A model on a text. The headline counts every word, words not in the vocabulary as <UNK>, and </s>."""

    DRAWN = "perplexity"
    SHOWN = """verdict model text sentences *all_words without_oov=known_words without_ends=no_ends
        without_oov_and_ends=known_no_ends out_of_vocabulary probability_zero=impossible next_word_accuracy
        bits_per_character matched_order=matched confidence_level"""
    __repr__ = shown_as("perplexity {all_words.perplexity:.4g}, {all_words.words:,} words")
    model: str
    text: str
    sentences: int
    all_words: Surprise  # with OOV and </s>
    known_words: Surprise  # without OOV, with </s>
    no_ends: Surprise  # with OOV, without </s>
    known_no_ends: Surprise
    out_of_vocabulary: int
    impossible: int  # tokens of probability 0
    next_word_accuracy: float
    characters: int
    matched: tuple[int, ...]  # tokens whose probability came from an n-gram of order 1, 2, …
    confidence_level: float
    smoothing: str

    @property
    def perplexity(self) -> float:
        """Of all words, </s> included, words not in the vocabulary as <UNK>."""
        return self.all_words.perplexity

    @property
    def verdict(self) -> str:
        """The answer in words."""
        a = self.all_words
        if not math.isfinite(a.bits):
            said = f"The perplexity is infinite: {self.impossible:,} of {a.words:,} words have probability 0."
            if self.smoothing == "mle":
                said += (
                    " Maximum likelihood gives nothing to what it has not seen: train with another `smoothing=`, such as "
                    "modified-kneser-ney, witten-bell, katz, interpolated or lidstone."
                )
            return said + (" Words not in the closed vocabulary have none." if self.out_of_vocabulary else "")
        limits = "" if a.low is None or a.high is None else f" [{_power(a.low):.1f}, {_power(a.high):.1f}]"
        ends = " with </s>" if self.sentences else ""
        unknown = " and counted as <UNK>" if self.out_of_vocabulary else ""
        return (
            f"Perplexity {a.perplexity:.1f}{limits}: {a.per_word:.3f} bits a word, over {a.words:,} words{ends}; "
            f"{self.out_of_vocabulary:,} of them are not in the vocabulary{unknown}."
        )

    @property
    def bits_per_character(self) -> float | None:
        """Cross-entropy in bits a character of the text."""
        return finite(self.all_words.bits / self.characters) if self.characters else None

    def table(self) -> list[dict[str, Any]]:
        """All words, then without those that are unknown or end a sentence."""
        names = ("all words", "without unknown words", "without </s>", "without either")
        parts = (self.all_words, self.known_words, self.no_ends, self.known_no_ends)
        return [{"": name, **part.to_dict()} for name, part in zip(names, parts, strict=True)]

    to_text = drawn_by("howsure.report.text.models.evaluation_text")


def evaluated(
    model: LanguageModel,
    source: Any,
    *,
    groups: NDArray[np.int64] | None = None,
    confidence_level: float = 0.95,
    name: str = "",
    text: str = "",
) -> Evaluation:
    """A model on a text; `groups` (one a sentence) are what is independent, by default sentences."""
    ids = model.ids(source)
    event = model.events(ids)
    if not event.any():
        raise InputError("the text is empty: there is nothing to evaluate.")
    log_prob, matched = model.log_probs(ids)
    guess, _ = model.predictions(ids)
    number = model.groups(ids)
    if groups is not None:
        number = np.asarray(groups, np.int64)[number]
    bits, number, word = -log_prob[event] / LN2, number[event], ids[event]
    oov, end = word == UNK, word == EOS if model.frame else np.zeros(len(word), bool)
    kept = (np.ones(len(bits), bool), ~oov, ~end, ~oov & ~end)
    whole, known, no_ends, neither = (_surprise(bits[k], number[k], confidence_level) for k in kept)
    asked = ~oov | model.has_unknown
    accuracy = float((guess[event] == word)[asked].mean()) if asked.any() else 0.0
    orders = np.bincount(matched[event], minlength=model.order + 1)[1:]
    lengths = np.diff(model.vocabulary.packed[1], prepend=0) + int(model.settings["units"] == "words")
    characters, sentences = int(np.where(end, 1, lengths[word]).sum()), int((ids == EOS).sum()) if model.frame else 0
    unknown, impossible, smoothing = int(oov.sum()), int(np.isinf(bits).sum()), str(model.settings["smoothing"])
    found = (unknown, impossible, accuracy, characters, tuple(orders.tolist()), confidence_level, smoothing)
    return Evaluation(name, text, sentences, whole, known, no_ends, neither, *found)


def _surprise(bits: Floats, group: NDArray[np.int64], level: float) -> Surprise:
    """Bits a word is a ratio of sums over groups; its interval is the linearised one, by Student's t."""
    n = len(bits)
    total = float(bits.sum())
    if n == 0 or not math.isfinite(total):
        return Surprise(n, total, None, None)
    _, group = np.unique(group, return_inverse=True)
    sums, sizes = np.bincount(group, bits), np.bincount(group)
    half = ratio_half_width(sums, sizes, level)
    limits = (None, None) if half is None else (total / n - half, total / n + half)
    return Surprise(n, total, *limits)


def ratio_half_width(sums: NDArray[Any], sizes: NDArray[Any], level: float) -> float | None:
    """Half the interval of Σ sums / Σ sizes over independent groups; None for one group."""
    g = len(sums)
    if g < 2:
        return None
    ratio = sums.sum() / sizes.sum()
    spread = np.sqrt(g / (g - 1) * np.sum((sums - ratio * sizes) ** 2)) / sizes.sum()
    return float(special.stdtrit(g - 1, 0.5 + level / 2) * spread)


def _power(bits: float) -> float:
    return math.inf if bits > 1000 else 2.0**bits
