"""Using a model: sampling text, the next word, probabilities of sentences, ranking hypotheses, adjusted counts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure import _validate
from howsure._result import Record, Result, drawn_by, finite
from howsure.errors import InputError
from howsure.kernels.cells import Floats
from howsure.models.ngrams.evaluation import LN2
from howsure.models.ngrams.model import LanguageModel
from howsure.models.ngrams.vocabulary import BOS, EOS, UNK, text_bytes


@dataclass(frozen=True, slots=True)
class Word(Record):
    """A word after others: its probability, and how many words the n-gram that gave it has."""

    SHOWN = "word prob log2_prob=bits order known"

    word: str
    log_prob: float  # natural
    order: int
    known: bool = True

    @property
    def prob(self) -> float:
        """p(word | the words before it)."""
        return math.exp(self.log_prob)

    @property
    def bits(self) -> float | None:
        """log₂ of the probability; None for 0."""
        return finite(self.log_prob / LN2)


@dataclass(frozen=True, slots=True)
class NextWords(Result):
    """The likeliest words after a history. Made by `howsure.lm.next`."""

    SHOWN = "verdict history words"

    history: str
    words: tuple[Word, ...]

    @property
    def verdict(self) -> str:
        """The likeliest ones."""
        first = ", ".join(f"{w.word} ({w.prob:.3g})" for w in self.words[:3])
        return f"After “{self.history}”: {first}." if self.history else f"First in a sentence: {first}."

    def table(self) -> list[dict[str, Any]]:
        """One row a word."""
        return [w.to_dict() for w in self.words]

    to_text = drawn_by("howsure.report.tables.verdict_and_table")


@dataclass(frozen=True, slots=True)
class Sentence(Record):
    """A sentence with the probability of each of its words."""

    SHOWN = "text log2_prob=bits perplexity words"

    text: str
    words: tuple[Word, ...]

    @property
    def log_prob(self) -> float:
        """Natural log of the sentence's probability, its end included."""
        return float(sum(w.log_prob for w in self.words))

    @property
    def bits(self) -> float | None:
        """log₂ of the probability; None for 0."""
        return finite(self.log_prob / LN2)

    @property
    def perplexity(self) -> float | None:
        """The inverse of the geometric mean of its words' probabilities; None where it is infinite."""
        return None if self.bits is None else math.exp(min(-self.log_prob / max(len(self.words), 1), 700.0))


@dataclass(frozen=True, slots=True)
class SentenceProbabilities(Result):
    """How probable sentences are, word by word. Made by `howsure.lm.prob`."""

    SHOWN = "verdict sentences"

    sentences: tuple[Sentence, ...]

    @property
    def verdict(self) -> str:
        """The probability of the sentence, or the likeliest of several."""
        first = max(self.sentences, key=lambda s: s.log_prob)
        if first.bits is None or first.perplexity is None:
            said = "a word of it has probability 0, so its perplexity is infinite"
        else:
            said = f"log₂ p = {first.bits:.3f}, {-first.bits / len(first.words):.3f} bits a word, perplexity {first.perplexity:.1f}"
        return f"“{first.text}”: {said}." if len(self.sentences) == 1 else f"The likeliest is “{first.text}”: {said}."

    def table(self) -> list[dict[str, Any]]:
        """One row a word of a single sentence, or one row a sentence."""
        if len(self.sentences) == 1:
            return [w.to_dict() for w in self.sentences[0].words]
        return [{k: v for k, v in s.to_dict().items() if k != "words"} for s in self.sentences]

    to_text = drawn_by("howsure.report.tables.verdict_and_table")


@dataclass(frozen=True, slots=True)
class Hypothesis(Record):
    """What may have been said or meant: log p of the text, log p of the signal given it, and its probability among the others."""

    SHOWN = "key rank text prob log_prob=language channel? score=total"

    key: str
    rank: int
    text: str
    log_prob: float
    channel: float | None
    score: float
    prob: float

    @property
    def language(self) -> float | None:
        """Natural log of the text's probability; None for 0."""
        return finite(self.log_prob)

    @property
    def total(self) -> float | None:
        """The sum that the ranking goes by; None for minus infinity."""
        return finite(self.score)


@dataclass(frozen=True, slots=True)
class RankedTexts(Result):
    """Hypotheses from the likeliest, for each key. Made by `howsure.lm.rank`."""

    DRAWN = "prob"
    SHOWN = "verdict weight hypotheses"

    hypotheses: tuple[Hypothesis, ...]
    weight: float = 1.0

    @property
    def best(self) -> tuple[Hypothesis, ...]:
        """The likeliest of each key."""
        return tuple(h for h in self.hypotheses if h.rank == 1)

    @property
    def verdict(self) -> str:
        """The likeliest, with its probability."""
        best = self.best
        if len(best) == 1:
            return f"The likeliest of {len(self.hypotheses):,}, with probability {best[0].prob:.3g}: “{best[0].text}”."
        sure = float(np.mean([h.prob for h in best]))
        return f"{len(best):,} keys, {len(self.hypotheses):,} hypotheses; the likeliest have probability {sure:.2f} on average."

    def table(self) -> list[dict[str, Any]]:
        """One row a hypothesis."""
        shown = {"key": "key"} if len(self.best) > 1 else {}
        shown |= {"rank": "rank", "text": "text", "prob": "prob", "log p(text)": "language"}
        shown |= {"channel": "channel"} if any(h.channel is not None for h in self.hypotheses) else {}
        return [{title: getattr(h, name) for title, name in shown.items()} for h in self.hypotheses]

    to_text = drawn_by("howsure.report.tables.verdict_and_table")


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
    n_words, temperature = _validate.count(n_words, "words"), _validate.temperature(temperature)
    top_k = None if top_k is None else _validate.count(top_k, "top_k")
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


def next_words(model: LanguageModel, history: str, n: int = 10) -> NextWords:
    """The likeliest words after a history."""
    ids = model.context_ids(history)
    probs = model.distribution(ids)
    best = np.argsort(-probs, kind="stable")[: _validate.count(n, "words")]
    rows = np.empty((len(best), len(ids) + 2), np.int32)
    rows[:, 0], rows[:, 1:-1], rows[:, -1] = BOS, ids, best  # <s> starts each row afresh
    orders = model.log_probs(np.ascontiguousarray(rows if not model.frame else rows[:, 1:]).ravel())[1]
    orders = orders.reshape(len(best), -1)[:, -1]
    with np.errstate(divide="ignore"):
        logs = np.log(probs[best])
    said = model.vocabulary.words
    made = zip(best.tolist(), logs.tolist(), orders.tolist(), strict=True)
    return NextWords(history, tuple(Word(said[w], x, k, w != UNK) for w, x, k in made))


def sentence_probabilities(model: LanguageModel, sentences: Sequence[str]) -> SentenceProbabilities:
    """Each sentence's probability, word by word."""
    if not sentences:
        raise InputError("there is no sentence to score.")
    glue = list if model.settings["units"] == "characters" else str.split
    said = model.vocabulary.words
    made = []
    for text in sentences:
        ids = model.ids(text_bytes([text]))
        event = model.events(ids)
        if not event.any():
            raise InputError("a sentence is empty: there is nothing to score.")
        log_prob, matched = model.log_probs(ids)
        names, units = [said[w] for w in ids[event].tolist()], glue(text)
        ends = [said[EOS]] if model.frame else []
        shown = [*units, *ends] if len(units) + len(ends) == len(names) else names
        known = (ids[event] != UNK).tolist()
        rows = zip(shown, log_prob[event].tolist(), matched[event].tolist(), known, strict=True)
        made.append(Sentence(text, tuple(Word(w, x, int(k), there) for w, x, k, there in rows)))
    return SentenceProbabilities(tuple(made))


def ranked(
    model: LanguageModel,
    texts: Sequence[str],
    *,
    channel: Sequence[float] | None = None,
    keys: Sequence[str] | None = None,
    weight: float = 1.0,
) -> RankedTexts:
    """Hypotheses of each key by channel + weight · log p(text): which transcript, translation or spelling."""
    if not texts:
        raise InputError("there are no hypotheses to rank.")
    log_prob, weight = model.scores(texts), _validate.not_negative(weight, "weight")
    heard = np.zeros(len(texts)) if channel is None else np.asarray(channel, np.float64)
    if len(heard) != len(texts) or (keys is not None and len(keys) != len(texts)):
        raise InputError("each hypothesis needs one channel score and one key.")
    if np.isnan(heard).any():
        raise InputError(f"the channel score of hypothesis {int(np.flatnonzero(np.isnan(heard))[0]) + 1} is no number.")
    score = heard + (weight * log_prob if weight else 0.0)
    members: dict[str, list[int]] = {}
    for i, key in enumerate([""] * len(texts) if keys is None else keys):
        members.setdefault(key, []).append(i)
    made = []
    for key, rows in members.items():
        mine = score[rows]
        share = np.exp(mine - mine.max()) if np.isfinite(mine.max()) else np.ones(len(mine))
        order = np.argsort(-mine, kind="stable")
        ranks = zip(np.array(rows)[order].tolist(), (share / share.sum())[order].tolist(), strict=True)
        for place, (i, prob) in enumerate(ranks, 1):
            of = None if channel is None else float(heard[i])
            made.append(Hypothesis(key, place, texts[i], float(log_prob[i]), of, float(score[i]), prob))
    return RankedTexts(tuple(made), weight)


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
