"""Using a model: sampling text, the likeliest next words, ranking sentences, and adjusted counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure.errors import InputError
from howsure.models.ngrams.model import LanguageModel
from howsure.models.ngrams.trie import Floats
from howsure.models.ngrams.vocabulary import BOS, EOS, UNK


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence or word with its probability."""

    text: str
    log_prob: float  # natural

    def to_dict(self) -> dict[str, Any]:
        """The text and its log probability; None for an impossible one."""
        return {"text": self.text, "log_prob": self.log_prob if np.isfinite(self.log_prob) else None}


def sampled(
    model: LanguageModel,
    n_words: int,
    *,
    rng: np.random.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    history: str = "",
) -> str:
    """Text of `n_words` words drawn from the model, one sentence per line. <UNK> is never drawn.

    Temperature below 1 sharpens, above 1 flattens; `top_k` keeps only the likeliest words.
    """
    if n_words < 1:
        raise InputError(f"the number of words must be 1 or more; got {n_words}.")
    if not temperature > 0:
        raise InputError(f"the temperature must be above 0; got {temperature}.")
    if top_k is not None and top_k < 1:
        raise InputError(f"top-k must be 1 or more; got {top_k}.")
    ids = model.context_ids(history)
    start = np.full(model.frame, BOS, np.int32)
    made: list[list[int]] = [[]]
    words = drawn = 0
    while words < n_words and drawn < 50 * n_words:
        drawn += 1
        probs = model.distribution(ids[-(model.order - 1) :] if model.order > 1 else ids[:0])
        probs[UNK] = 0.0
        w = int(rng.choice(len(probs), p=tempered(probs, temperature, top_k)))
        if w == EOS and model.frame:
            made.append([])
            ids = start
            continue
        made[-1].append(w)
        ids = np.append(ids, np.int32(w))
        words += 1
    said = model.vocabulary.words
    glue = "" if model.settings["units"] == "characters" else " "
    return "\n".join(glue.join(said[w] for w in sentence) for sentence in made if sentence)


def tempered(probs: Floats, temperature: float, top_k: int | None) -> Floats:
    """p^(1/T), of the `top_k` likeliest alone, scaled to sum to one."""
    if top_k is not None and top_k < len(probs):
        least = np.partition(probs, -top_k)[-top_k]
        probs = np.where(probs >= least, probs, 0.0)
    if temperature != 1.0:
        probs = (probs / probs.max()) ** (1.0 / temperature)
    total = probs.sum()
    if not total > 0:
        raise InputError("the model gives no word that can follow: there is nothing to draw.")
    return probs / total


def next_words(model: LanguageModel, history: str, n: int = 10) -> list[Candidate]:
    """The likeliest words after a history."""
    probs = model.distribution(history)
    order = np.argsort(-probs, kind="stable")[:n]
    with np.errstate(divide="ignore"):
        logs = np.log(probs[order])
    return [Candidate(model.vocabulary.words[w], float(x)) for w, x in zip(order.tolist(), logs, strict=True)]


def ranked(model: LanguageModel, sentences: Sequence[str]) -> list[Candidate]:
    """Sentences from the likeliest: which transcript, translation or spelling."""
    scores = model.scores(sentences)
    order = np.argsort(-scores, kind="stable")
    return [Candidate(sentences[i], float(scores[i])) for i in order.tolist()]


def reconstituted_counts(model: LanguageModel, contexts: Sequence[str], words: Sequence[str]) -> Floats:
    """p(w | h) c(h) for each context and word: the counts that the smoothing acts as if it had seen."""
    from howsure.models.ngrams.training import context_totals

    totals = context_totals(model.trie)
    numbers = model.vocabulary.numbers(words)
    made = np.zeros((len(contexts), len(words)))
    for i, text in enumerate(contexts):
        ids = model.vocabulary.numbers(text.split())
        node = model.trie.node(ids.tolist())
        if node is not None and node < len(totals):
            made[i] = model.distribution(ids)[numbers] * totals[node]
    return made
