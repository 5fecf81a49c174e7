"""A noisy channel: what was meant, given what was typed. p(typed | word) of an error model times p(words) of a language model.

The channel copies a word letter by letter, and may put, drop, change or swap letters; the probability of each such step,
given the letter it happens at, comes from counts of edits: those of data/edits.csv, or of pairs (misspelling, word). A sentence
is decoded as a whole: the candidates of its words form a lattice, and the forward and backward sums over all its paths give
each candidate's posterior probability.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._result import Record, shown_as
from howsure.data import table
from howsure.errors import InputError
from howsure.kernels.ngrams.edits_compiled import align_pair, channel_costs, edit_distances, ready_edits
from howsure.models.ngrams.model import LanguageModel
from howsure.models.ngrams.training import trained
from howsure.models.ngrams.vocabulary import BOS, EOS, RESERVED, UNK

N_CODES = 28  # a-z, any other character, the start of the word
SMOOTHING, COPIES = 0.5, 20.0  # occurrences added to each step, and to each copy: letters are mostly typed right
# change[meant, typed], drop[before, meant], put[before, typed], swap[first, second]
STEPS = ("change", "drop", "put", "swap")
LETTERS = "abcdefghijklmnopqrstuvwxyz?^"  # names of the codes in data/edits.csv
MOST_CANDIDATES, MOST_STATES = 40, 150  # of a word; of histories at a place
FAR = 25.0  # what is less likely than the best by more than exp of this is left out
IMPOSSIBLE = -100.0  # log probability in place of 0, so that a model of maximum likelihood can be used
AROUND = '.,;:!?"()[]'


def codes(word: str) -> NDArray[np.uint8]:
    """Letters as numbers 0-25, all others 26."""
    return np.array([ord(c) - 97 if "a" <= c <= "z" else 26 for c in word.lower()], np.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class ErrorModel:
    """-log probabilities of the channel's steps."""

    change: np.ndarray
    drop: np.ndarray
    put: np.ndarray
    swap: np.ndarray
    pairs: int

    __repr__ = shown_as("{pairs:,} pairs")

    @classmethod
    def of_counts(cls, tables: NDArray[np.float64], pairs: int) -> Self:
        """From counts of steps, copies on the diagonal of `change`; every step gets half an occurrence more, a copy twenty."""
        change, drop, put, swap = tables + SMOOTHING
        change[np.diag_indices(N_CODES)] += COPIES - SMOOTHING
        # At a letter the channel copies, changes, swaps or drops it; beforehand it may put a letter.
        at = change.sum(1) + swap.sum(1) + drop.sum(0)
        seen_before = tables[0].sum(1) + tables[1].sum(0) + tables[3].sum(1)
        seen_before[N_CODES - 1] = pairs
        return cls(
            -np.log(change / at[:, None]),
            -np.log(drop / at[None, :]),
            -np.log(put / (put.sum(1) + seen_before)[:, None]),
            -np.log(swap / at[:, None]),
            pairs,
        )


def edit_counts(pairs: Iterable[tuple[str, str]]) -> tuple[NDArray[np.float64], int]:
    """The steps of one shortest alignment of each (typed, meant), counted; and the number of pairs."""
    ready_edits()
    tables = np.zeros((4, N_CODES, N_CODES))
    n = 0
    for typed, meant in pairs:
        if typed and meant:
            align_pair(codes(typed), codes(meant), tables)
            n += 1
    if n == 0:
        raise InputError("there are no pairs of a misspelling and a word to learn from.")
    return tables, n


def error_model(pairs: Iterable[tuple[str, str]]) -> ErrorModel:
    """The channel learnt from (typed, meant) pairs."""
    return ErrorModel.of_counts(*edit_counts(pairs))


@cache
def shipped_errors() -> ErrorModel:
    """The channel of data/edits.csv, which bench/writers/write_edits.py counts."""
    tables, rows = np.zeros((4, N_CODES, N_CODES)), table("edits")
    for row in rows:
        if row["step"] != "pairs":
            at = STEPS.index(row["step"]), LETTERS.index(row["first"]), LETTERS.index(row["second"])
            tables[at] = float(row["count"])
    return ErrorModel.of_counts(tables, next(int(row["count"]) for row in rows if row["step"] == "pairs"))


@dataclass(frozen=True, slots=True)
class Correction(Record):
    """A typed word, what was probably meant, and up to five candidates with their posterior probabilities."""

    typed: str
    meant: str
    candidates: tuple[tuple[str, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """The word and its candidates."""
        found = [{"word": w, "probability": p} for w, p in self.candidates]
        return {"typed": self.typed, "meant": self.meant, "candidates": found}


@dataclass(frozen=True)
class Place:
    """A word of a sentence: numbers of the words that it may be, and -log p(typed | word) of each."""

    words: NDArray[np.int64]
    costs: NDArray[np.float64]


class Corrector:
    """Corrects sentences with a language model and an error model.

    `weight` is the power of the language model's probability in the posterior; `error_rate` the share of words that are
    mistyped. A typed word that the model does not know may be right: it then has the probability of <UNK> times that
    of its letters, by a model of the letters of the words that are known.
    """

    def __init__(
        self,
        model: LanguageModel,
        errors: ErrorModel | None = None,
        *,
        error_rate: float = 0.05,
        weight: float = 1.0,
        most_edits: int = 2,
    ) -> None:
        """Without `errors`, the counts of edits that ship are used."""
        if not 0.0 < error_rate < 1.0:
            raise InputError(f"the error rate must lie strictly between 0 and 1; got {error_rate}.")
        if model.settings["units"] == "characters":
            raise InputError("words are corrected with a model of words; this one is of characters.")
        ready_edits()
        self._model, self._errors = model, errors or shipped_errors()
        self._rate, self._most, self.weight = error_rate, most_edits, _validate.not_negative(weight, "weight")
        self._words = model.vocabulary.words
        encoded = [codes(w) if i >= len(RESERVED) else codes("") for i, w in enumerate(self._words)]
        self._ends = np.cumsum([len(c) for c in encoded]).astype(np.int64)
        self._text = np.concatenate(encoded).astype(np.uint8)

    @cached_property
    def _spelt(self) -> LanguageModel:
        """A model of the letters of the words that are known."""
        words = [w.lower() for w in self._words[len(RESERVED) :]]
        return trained(words, order=min(3, max(map(len, words)) + 1), smoothing="witten-bell", units="characters")

    def candidates(self, typed: str) -> Place:
        """The words within reach of `typed` and -log p(typed | word); <UNK> for itself, where it is not known."""
        same = typed.lower()
        distances = edit_distances(codes(typed), self._text, self._ends, self._most)
        near = np.flatnonzero(distances <= self._most)
        near = near[near >= len(RESERVED)]
        e = self._errors
        costs = channel_costs(codes(typed), self._text, self._ends, near, e.change, e.drop, e.put, e.swap)
        costs -= np.log(self._rate)
        spelt = np.array([self._words[w].lower() == same for w in near], bool)
        costs[spelt] = -np.log1p(-self._rate)
        if not spelt.any():
            near = np.append(near, UNK)
            costs = np.append(costs, -np.log1p(-self._rate) - self._spelt.score(same))
        if len(near) > MOST_CANDIDATES:  # far from the best on both counts: the rest cannot win
            rough = costs - self.weight * np.maximum(self._model.log_p[near], IMPOSSIBLE)
            kept = np.sort(np.argsort(rough, kind="stable")[:MOST_CANDIDATES])
            near, costs = near[kept], costs[kept]
        return Place(near, costs)

    def posteriors(self, places: Sequence[Place]) -> list[NDArray[np.float64]]:
        """The posterior probability of each candidate at each place, summed over all readings of the others."""
        n, frame = self._model.order - 1, self._model.frame
        history = np.full((1, min(frame, n)), BOS, np.int64)
        alpha = np.zeros(1)
        arcs = []  # from, to, candidate, log weight
        end = [Place(np.array([EOS]), np.zeros(1))] if frame else []
        for place in [*places, *end]:
            language = np.maximum(self._language(history, place.words), IMPOSSIBLE)
            step = self.weight * language - place.costs
            score = (alpha[:, None] + step).ravel()
            used = np.flatnonzero(score > score.max() - FAR)
            source, candidate = np.divmod(used, len(place.words))
            longer = np.column_stack([history[source], place.words[candidate]])
            states, to = _distinct(longer[:, max(longer.shape[1] - n, 0) :], len(self._words))
            forward = _log_sums(score[used], to, len(states))
            if len(states) > MOST_STATES:
                best = np.sort(np.argsort(-forward, kind="stable")[:MOST_STATES])
                kept = np.isin(to, best)
                source, candidate, used, to = (x[kept] for x in (source, candidate, used, to))
                to, states, forward = np.searchsorted(best, to), states[best], forward[best]
            arcs.append((source, to, candidate, step.ravel()[used], alpha))
            history, alpha = states, forward
        beta = np.zeros(len(alpha))
        made = []
        for (source, to, candidate, step, before), place in zip(arcs[::-1], [*places, *end][::-1], strict=True):
            through = before[source] + step + beta[to]
            share = np.exp(through - through.max())
            made.append(np.bincount(candidate, share, len(place.words)) / share.sum())
            beta = _log_sums(step + beta[to], source, len(before))
        return made[::-1][: len(places)]

    def _language(self, history: NDArray[np.int64], words: NDArray[np.int64]) -> NDArray[np.float64]:
        """Log probability of each word after each history."""
        afresh = [] if history.shape[1] and history[0, 0] == BOS else [np.full((len(history), 1), BOS)]
        rows = np.concatenate([*afresh, history], axis=1)
        table = np.empty((len(rows), len(words), rows.shape[1] + 1), np.int32)
        table[:, :, :-1], table[:, :, -1] = rows[:, None, :], words
        return self._model.log_probs(table.ravel())[0].reshape(table.shape)[:, :, -1]

    def word(self, typed: str) -> Correction:
        """The likeliest word by itself: by its frequency and the channel."""
        place = self.candidates(typed)
        score = self.weight * np.maximum(self._model.log_p[place.words], IMPOSSIBLE) - place.costs
        share = np.exp(score - score.max())
        return self._correction(typed, place, share / share.sum())

    def _correction(self, typed: str, place: Place, posterior: NDArray[np.float64]) -> Correction:
        found: dict[str, float] = {}
        for w, p in zip(place.words.tolist(), posterior.tolist(), strict=True):
            name = typed if w == UNK or self._words[w].lower() == typed.lower() else self._words[w]
            found[name] = found.get(name, 0.0) + p
        first = sorted(found.items(), key=lambda f: -f[1])[:5]
        return Correction(typed, first[0][0], tuple(first))

    def line(self, text: str) -> tuple[str, list[Correction]]:
        """A line corrected as a whole, and the changes made. Case, punctuation and other tokens are kept."""
        tokens = text.split()
        cores = [t.lower().strip(AROUND) for t in tokens]
        asked = [any("a" <= c <= "z" for c in core) for core in cores]
        numbers = self._model.vocabulary.numbers([t.lower() for t in tokens]).astype(np.int64)
        given = zip(cores, asked, numbers, strict=True)
        places = [self.candidates(core) if ask else Place(np.array([k]), np.zeros(1)) for core, ask, k in given]
        made, changes = [], []
        words = zip(tokens, cores, asked, places, self.posteriors(places), strict=True)
        for token, core, ask, place, posterior in words:
            if ask and (found := self._correction(core, place, posterior)).meant != core:
                changes.append(found)
                at = token.lower().index(core)
                token = token[:at] + _cased(found.meant, token[at : at + len(core)]) + token[at + len(core) :]
            made.append(token)
        return " ".join(made), changes


WEIGHTS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)


def tune_weight(channel: Corrector, lines: Sequence[tuple[str, str]]) -> float:
    """Set the weight that gets most words of (typed, meant) lines right, of several the nearest to 1; the share right.

    Words are compared in lower case; a line has as many words typed as meant, since the channel keeps words apart.
    """
    for typed, meant in lines:
        if len(typed.split()) != len(meant.split()):
            raise InputError(f"a line must have as many words typed as meant; got {typed!r} for {meant!r}.")
    total = sum(len(typed.split()) for typed, _ in lines)
    if total == 0:
        raise InputError("there are no lines to choose the weight on.")
    found = []
    for weight in WEIGHTS:
        channel.weight = weight
        said = [(channel.line(typed)[0].lower().split(), meant.lower().split()) for typed, meant in lines]
        found.append((sum(s == m for line in said for s, m in zip(*line, strict=True)), -abs(weight - 1.0), weight))
    right, _, channel.weight = max(found)
    return right / total


def _log_sums(score: NDArray[np.float64], to: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """log Σ exp of the scores that go to each place."""
    top = np.full(size, -np.inf)
    np.maximum.at(top, to, score)
    top[np.isneginf(top)] = 0.0  # where nothing goes
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(np.bincount(to, np.exp(score - top[to]), size)))


def _distinct(rows: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows of numbers below `size`, and which of them each row is; columns are joined one by one."""
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), np.int64)
    number = np.zeros(len(rows), np.int64)
    for column in rows.T:
        _, first, number = np.unique(number * size + column, return_index=True, return_inverse=True)
    return rows[first], number


def _cased(word: str, like: str) -> str:
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word.capitalize() if like[:1].isupper() else word
