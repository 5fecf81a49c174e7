"""`ChainPosterior`: the posterior over tag sequences of a linear chain, as a thing you can ask."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._result import shown_as
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.chains.log_space import not_last
from howsure.kernels.ragged import offsets
from howsure.posteriors import chain_spans
from howsure.posteriors.answers import Answers
from howsure.posteriors.chain_passes import (
    Chain,
    Messages,
    best_of_chain,
    checked_chain,
    marginals_of,
    messages_of,
    pair_parts,
    sample_of,
)


@dataclass(frozen=True, slots=True)
class Best:
    """The k most probable tag sequences of each sentence: `tags` (tokens, k) by number, log probabilities (sentences, k).

    Where a sentence has fewer than k sequences the rest have log probability -inf.
    """

    tags: NDArray[np.int16]
    log_prob: Floats

    __repr__ = shown_as("{log_prob.shape[1]} of each of {log_prob.shape[0]:,} sentences")

    @property
    def prob(self) -> Floats:
        """The probabilities."""
        return np.exp(self.log_prob)


class ChainPosterior:
    """P(y | x) ∝ exp(initial[y₁] + Σ scores[t, y_t] + Σ transitions[y_{t-1}, y_t] + final[y_L]), for many sentences.

    Parameters
    ----------
    scores : array, shape (tokens, T)
        Log potentials of each token's tags, the sentences one after another. -inf forbids a tag.
    transitions : array, shape (T, T)
        Log potentials of a tag (row) followed by a tag (column). -inf forbids a pair.
    starts : whole numbers, shape (sentences + 1,)
        The first token of each sentence, and the number of tokens. Without them all is one sentence.
    initial, final : arrays, shape (T,)
        Log potentials of the first and the last tag; 0 if not given.
    tags : names of the T tags
        By default their numbers.
    rows : whole numbers, shape (tokens,)
        The row of `scores` of each token, where many share one, as a word's occurrences do. By default each has its own.

    Notes
    -----
    Everything is computed when first asked. A pass over the tokens costs O(T²) each. Small inputs run in NumPy, larger
    ones compiled and on all cores; the answers do not depend on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> c = ChainPosterior(np.log([[0.9, 0.1], [0.5, 0.5]]), np.log([[0.8, 0.2], [0.3, 0.7]]), tags=("D", "N"))
    >>> c.marginals().round(3).tolist()
    [[0.9, 0.1], [0.75, 0.25]]
    >>> float(c.tags_are("D", "N").y_prob[0].round(3))
    0.18
    """

    def __init__(
        self,
        scores: Any,
        transitions: Any,
        *,
        starts: Any = None,
        initial: Any = None,
        final: Any = None,
        tags: Sequence[str] | None = None,
        rows: Any = None,
    ) -> None:
        self._chain, self.tags = checked_chain(scores, transitions, starts, initial, final, tags, rows)

    @classmethod
    def from_logits(cls, logits: Any, tags: Sequence[str], *, keep: Any = None) -> ChainPosterior:
        """From logits of shape (sentences, length, T), as token classifiers give them: tokens are then independent.

        `keep` says where the tokens are, shape (sentences, length): `label_ids != -100` leaves out padding and all pieces of a
        word but the first. A sentence with none is left out.

        >>> c = ChainPosterior.from_logits(np.log([[[0.9, 0.1], [0.2, 0.8]]]), ("D", "N"), keep=[[True, False]])
        >>> c.n_tokens, c.marginals().round(3).tolist()
        (1, [[0.9, 0.1]])
        """
        given = np.asarray(logits, np.float64)
        kept = np.ones(given.shape[:2], bool) if keep is None else np.asarray(keep, bool)
        if given.ndim != 3 or kept.shape != given.shape[:2] or given.shape[2] != len(tags):
            raise InputError(
                f"logits have shape (sentences, length, {len(tags)}); got {given.shape}, `keep` {kept.shape}."
            )
        lengths = kept.sum(axis=1)
        starts = offsets(lengths[lengths > 0])
        return cls(given[kept], np.zeros((len(tags), len(tags))), starts=starts, tags=tags)

    @classmethod
    def _of(cls, chain: Chain, tags: tuple[str, ...]) -> ChainPosterior:
        made = cls.__new__(cls)
        made._chain, made.tags = chain, tags
        return made

    __repr__ = shown_as("{n_sentences:,} sentences, {n_tokens:,} tokens, {#tags} tags")

    @property
    def starts(self) -> Ints:
        """The first token of each sentence, and the number of tokens."""
        return self._chain.starts

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self._chain.n_tokens

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self._chain.starts) - 1

    @cached_property
    def sentence(self) -> Ints:
        """The number of each token's sentence."""
        return np.repeat(np.arange(self.n_sentences), np.diff(self.starts))

    def codes(self, tags: Sequence[str]) -> Ints:
        """Numbers of tags by name; -1 for names that are none of the posterior's tags."""
        place = {name: i for i, name in enumerate(self.tags)}
        return np.array([place.get(t, -1) for t in tags], np.int64)

    def names(self, codes: NDArray[Any]) -> list[str]:
        """Names of tags by number."""
        return [self.tags[c] for c in codes.tolist()]

    def marginals(self) -> Floats:
        """P(y_t = j), shape (tokens, T)."""
        return self._marginals[0]

    @property
    def log_partition(self) -> Floats:
        """log Z of each sentence."""
        return self._marginals[1]

    @cached_property
    def _marginals(self) -> tuple[Floats, Floats]:
        if "_messages" in self.__dict__:
            return self._messages.marginals, self._messages.log_z
        return marginals_of(self._chain)

    @cached_property
    def _messages(self) -> Messages:
        return messages_of(self._chain)

    @cached_property
    def entropy(self) -> Floats:
        """Entropy of each sentence's posterior over whole sequences, in nats: Σ_t H(y_t | y_{t+1}), never negative."""
        return chain_spans.entropy(self._chain, self._messages)

    def pair_marginals(self, sentence: int) -> Floats:
        """P(y_t = i, y_{t+1} = j) of one sentence, shape (L - 1, T, T)."""
        if not -self.n_sentences <= sentence < self.n_sentences:
            raise InputError(f"`sentence` must be below {self.n_sentences}; got {sentence}.")
        sentence %= self.n_sentences
        a, z = self.starts[sentence : sentence + 2]
        return chain_spans.pairs_between(self._chain, self._messages, np.arange(a, z - 1))

    def pairs(self, pairs: Sequence[tuple[str, str]], consume: Callable[[Ints, Floats], None]) -> Floats:
        """Stream pair probabilities: `consume(first_tokens, q)` with q of shape (rows, len(pairs)), part by part.

        Returns the expected number of every pair, (T, T). Extra memory is one part, whatever the number of tokens; the
        token marginals are computed on the way and kept.
        """
        left, right = (self._known([p[side] for p in pairs]) for side in (0, 1))
        marginals, log_z, expected = pair_parts(self._chain, left, right, consume)
        self.__dict__["_marginals"] = (marginals, log_z)
        return expected

    def log_probability(self, tags: Any) -> Floats:
        """log P of a given whole tag sequence (numbers, one per token) of each sentence; -inf where a tag is -1."""
        codes = np.asarray(tags)
        if codes.shape != (self.n_tokens,):
            raise InputError(f"a tag for each of {self.n_tokens:,} tokens is needed; got shape {codes.shape}.")
        return chain_spans.log_weight(self._chain, codes) - self.log_partition

    def best(self) -> Best:
        """The most probable sequence of each sentence (Viterbi)."""
        return self.k_best(1)

    def k_best(self, k: int) -> Best:
        """The k most probable sequences of each sentence, most probable first."""
        tags, weight = best_of_chain(self._chain, _validate.count(k, "k"))
        return Best(tags, weight - self.log_partition[:, None])

    def diverse_best(self, k: int, penalty: float) -> Best:
        """k sequences of each sentence that differ: each is the most probable one after `penalty` was subtracted from the log
        potential of every tag that an earlier one has at its place (Gimpel et al. 2013, with Hamming distance).

        The log probabilities are those of the posterior itself; with a penalty of 0 all k are the same.
        """
        scores, found = self._chain.scores.copy(), []
        for _ in range(_validate.count(k, "k")):
            found.append(best_of_chain(replace(self._chain, table=scores, rows=None), 1)[0][:, 0])
            scores[np.arange(self.n_tokens), found[-1]] -= _validate.not_negative(penalty, "penalty")
        return Best(np.stack(found, axis=1), np.stack([self.log_probability(tags) for tags in found], axis=1))

    def mbr_tags(self) -> Ints:
        """The tag of least expected error at each token: the largest marginal."""
        return self.marginals().argmax(axis=1)

    def samples(self, n: int, rng: np.random.Generator | int | None = 0) -> NDArray[np.int16]:
        """Exact samples of whole sequences, shape (n, tokens): forward filtering, backward sampling.

        A sentence's random numbers depend on the seed and the sentence's number only.
        """
        seed = int(_validate.generator(rng).integers(0, 2**63))
        return sample_of(self._chain, self._messages, _validate.count(n, "n"), seed)

    def tempered(self, temperature: float) -> ChainPosterior:
        """The posterior with all log potentials divided by `temperature`: above 1 it is less sure."""
        return ChainPosterior._of(self._chain.divided(_validate.temperature(temperature)), self.tags)

    def tag_is(self, tag: str) -> Answers:
        """Is this token's tag `tag`? Asked of every token."""
        code = int(self._known([tag])[0])
        tokens = np.arange(self.n_tokens)
        q = np.ascontiguousarray(self.marginals()[:, code])
        return Answers(f"tag is {tag}", tokens, tokens + 1, self.sentence, q, lambda gold: gold == code)

    def tags_are(self, *tags: str) -> Answers:
        """Are these the tags of the run that begins here? Asked wherever the run fits into the sentence."""
        if not tags:
            raise InputError("name one tag at least.")
        run = self._known(list(tags))
        length = len(run)
        last = np.repeat(self.starts[1:], np.diff(self.starts))
        first = np.flatnonzero(np.arange(self.n_tokens) + length <= last)

        def truth(gold: Ints) -> NDArray[np.bool_]:
            return np.all(gold[first[:, None] + np.arange(length)] == run, axis=1)

        q = self.run_probability(first, run)
        return Answers(f"tags are {' '.join(tags)}", first, first + length, self.sentence[first], q, truth)

    def run_probability(self, first: Any, run: Any) -> Floats:
        """P(y_t … y_{t+m-1} = run) for each token t in `first`; `run` holds m tags, names or numbers."""
        codes = self._known(list(run)) if len(run) and isinstance(run[0], str) else np.asarray(run, np.int64)
        at = np.asarray(first, np.int64)
        after = at + len(codes)
        if not len(codes) or (len(at) and (at.min() < 0 or after.max() > self.n_tokens)):
            raise InputError("a run has one tag at least and must lie within the tokens.")
        if np.any(self.sentence[at] != self.sentence[after - 1]):
            raise InputError("a run must lie within one sentence.")
        return chain_spans.run_probability(self._chain, self._messages, at, codes)

    def span_is(self, kind: str, *, spans: Any = None, least: float = 1e-3) -> Answers:
        """Is this span exactly a `kind` (of a chain tagged B-kind, I-kind, O; or with E- and S- too)?

        Asked of the (start, end) pairs in `spans`, or of every span whose probability is `least` or more. A span begins
        with B and goes on with I; what follows it is not I.
        """
        return chain_spans.span_answers(self._chain, self._messages, self.tags, self.sentence, kind, spans, least)

    def span_kinds(self) -> list[str]:
        """What can be asked with `span_is`."""
        return chain_spans.kinds(self.tags)

    def sentences(self) -> Iterator[slice]:
        """The tokens of each sentence."""
        return itertools.starmap(slice, itertools.pairwise(self.starts.tolist()))

    def _known(self, names: list[str]) -> Ints:
        return self.codes([_validate.known(n, self.tags, f"`{n}` is none of the model's tags") for n in names])


def accuracy(posterior: ChainPosterior, tags: Sequence[str]) -> float:
    """Share of tokens whose most probable tag is right."""
    return float(np.mean(posterior.mbr_tags() == posterior.codes(tags)))


def top_pairs(posterior: ChainPosterior, codes: NDArray[np.int64], most: int) -> list[tuple[str, str]]:
    """The commonest pairs of consecutive gold tags, most frequent first."""
    t, tags = not_last(posterior.starts), posterior.tags
    t = t[(codes[t] >= 0) & (codes[t + 1] >= 0)]
    pair, count = np.unique(codes[t] * len(tags) + codes[t + 1], return_counts=True)
    order = np.lexsort((pair, -count))[:most]
    return [(tags[p // len(tags)], tags[p % len(tags)]) for p in pair[order].tolist()]
