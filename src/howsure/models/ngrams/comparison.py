"""Two models on the same text: the paired difference in bits a word, tested over sentences."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure._result import Result, drawn_by, finite, shown_as
from howsure.errors import InputError
from howsure.models.ngrams.evaluation import LN2, ratio_half_width
from howsure.models.ngrams.model import LanguageModel
from howsure.models.ngrams.vocabulary import UNK, blocks

MUST_AGREE = ("units", "sentences", "lowercase")
PERMUTATIONS = 9_999


@dataclass(frozen=True, slots=True)
class ModelComparison(Result):
    """A against B, in bits a word over the words that both know; a positive difference favours A."""

    a: str
    b: str
    words: int
    sentences: int
    left_out: int  # words that one of them does not know
    bits_a: float
    bits_b: float
    difference: float
    low: float | None
    high: float | None
    p_value: float
    better_sentences: int  # sentences that A finds likelier
    confidence_level: float

    __repr__ = shown_as("{difference:+.4f} bits a word, p={p_value:.3g}")

    @property
    def verdict(self) -> str:
        """The answer in words."""
        share = f"{self.better_sentences:,} of {self.sentences:,} sentences are likelier under {self.a}"
        if not math.isfinite(self.difference):
            who = self.b if self.difference > 0 else self.a
            return f"{who} gives some of these words probability 0: its perplexity is infinite; {share}."
        if self.p_value >= 0.05:
            return f"No clear difference between {self.a} and {self.b}: {abs(self.difference):.3f} bits a word, p = {self.p_value:.3f}; {share}."
        better, worse = (self.a, self.b) if self.difference > 0 else (self.b, self.a)
        p = "< 0.001" if self.p_value < 0.001 else f"= {self.p_value:.3f}"
        return (
            f"{better} predicts better than {worse}, by {abs(self.difference):.3f} bits a word (p {p}): perplexity "
            f"{2 ** min(self.bits_a, self.bits_b):.1f} against {2 ** max(self.bits_a, self.bits_b):.1f}; {share}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data; None for infinite."""
        bits = [finite(self.bits_a), finite(self.bits_b)]
        return {
            "verdict": self.verdict,
            "models": [self.a, self.b],
            **{name: getattr(self, name) for name in ("words", "sentences", "left_out")},
            "cross_entropy": bits,
            "perplexity": [2.0**b if b is not None and b < 1000 else None for b in bits],
            **{name: finite(getattr(self, name)) for name in ("difference", "low", "high")},
            **{name: getattr(self, name) for name in ("p_value", "better_sentences", "confidence_level")},
        }

    to_text = drawn_by("howsure.report.text.models.language_comparison_text")


def compared(
    a: LanguageModel,
    b: LanguageModel,
    source: Any,
    *,
    names: tuple[str, str] = ("A", "B"),
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> ModelComparison:
    """Difference in bits a word with an interval, and a sign-flip test over sentences.

    Words that either model does not know are left out of the sums (both still see <UNK> in the history): a model
    must not win by knowing fewer words.
    """
    for key in MUST_AGREE:
        if a.settings.get(key) != b.settings.get(key):
            raise InputError(f"the models read text differently ({key}): {a.settings.get(key)}, {b.settings.get(key)}.")
    source = source if isinstance(source, bytes) else b"".join(blocks(source))
    pairs = []
    for model in (a, b):
        ids = model.ids(source)
        event = model.events(ids)
        pairs.append((-model.log_probs(ids)[0][event] / LN2, ids[event], model.groups(ids)[event]))
    (bits_a, ids_a, number), (bits_b, ids_b, _) = pairs
    kept = (ids_a != UNK) & (ids_b != UNK)
    if not kept.any():
        raise InputError("no word of the text is known to both models.")
    _, group = np.unique(number[kept], return_inverse=True)
    sizes = np.bincount(group)
    sum_a, sum_b = np.bincount(group, bits_a[kept]), np.bincount(group, bits_b[kept])
    n = int(kept.sum())
    with np.errstate(invalid="ignore"):
        d = sum_b - sum_a
    d = np.where(np.isnan(d), 0.0, d)  # impossible under both
    a_bits, b_bits, half = float(sum_a.sum() / n), float(sum_b.sum() / n), None
    value = float(np.sign(np.sum(np.sign(d)))) * math.inf
    if np.isfinite(d).all():
        value, half = b_bits - a_bits, ratio_half_width(d, sizes, confidence_level)
    limits = (None, None) if half is None else (value - half, value + half)
    p, better = sign_flip_p_value(np.clip(d, -1e6, 1e6), rng), int((d > 0).sum())
    found = (a_bits, b_bits, value, *limits, p, better, confidence_level)
    return ModelComparison(*names, n, len(d), int((~kept).sum()), *found)


def sign_flip_p_value(d: np.ndarray, rng: np.random.Generator, permutations: int = PERMUTATIONS) -> float:
    """Two-sided p-value of Σd when the sign of each sentence's difference is a coin toss; (1 + hits)/(1 + B)."""
    observed = abs(float(d.sum())) * (1 - 1e-12)
    hits = 0
    step = max(1, 4_000_000 // max(len(d), 1))
    for begin in range(0, permutations, step):
        rows = min(step, permutations - begin)
        signs = rng.integers(0, 2, (rows, len(d)), dtype=np.int8)
        sums = 2.0 * (signs @ d) - d.sum()
        hits += int((np.abs(sums) >= observed).sum())
    return (1 + hits) / (1 + permutations)
