"""A hidden Markov tagger: maximum likelihood, or Dirichlet MAP with a pseudocount; rare words by class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._result import shown_as
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.chains.log_space import not_last
from howsure.models.saved import Array, Names, Tempered, load_model, packed_names, save_model
from howsure.models.taggers.features import unknown_class
from howsure.posteriors.chain import ChainPosterior

VERSION = 1
ARRAYS: dict[str, Array | Names] = {
    "symbols": Names("symbol"),
    "log_emission": Array("f", ("symbol", "tag")),
    "log_transition": Array("f", ("tag", "tag")),
    "log_initial": Array("f", ("tag",)),
    "log_final": Array("f", ("tag",)),
}
FLOOR = -100.0  # log of what maximum likelihood calls impossible, so that every sentence has a posterior
RARE = "\x00rare"  # a rare word whose class was never seen; no word begins so


@dataclass(frozen=True, eq=False)
class Hmm(Tempered):
    """P(y, x) = Π P(y_t | y_{t-1}) P(x_t | y_t), with a state before the first and behind the last token."""

    tags: tuple[str, ...]
    symbols: dict[str, int] = field(repr=False)  # frequent words, and "\\x00class" of the rare
    log_emission: Floats = field(repr=False)  # (symbols, T)
    log_transition: Floats = field(repr=False)
    log_initial: Floats = field(repr=False)
    log_final: Floats = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)

    kind = "hmm"

    __repr__ = shown_as("{#tags} tags, {#symbols:,} words and classes")

    def posterior(self, words: Sequence[str], starts: Any) -> ChainPosterior:
        """The posterior over tag sequences of sentences, their words one after another."""
        known, rare = self.symbols, self.symbols[RARE]
        codes = [known[w] if w in known else known.get("\x00" + unknown_class(w), rare) for w in words]
        ends = {"initial": self.log_initial, "final": self.log_final}
        at, rows = np.asarray(starts, np.int64), np.array(codes, np.int64)
        made = ChainPosterior(self.log_emission, self.log_transition, starts=at, **ends, tags=self.tags, rows=rows)
        return made if self.temperature == 1.0 else made.tempered(self.temperature)

    def save(self, path: str | Path) -> None:
        """Write the model."""
        arrays = {name: getattr(self, name) for name in ARRAYS} | {"symbols": packed_names(list(self.symbols))}
        save_model(path, "hmm", VERSION, self.settings | {"tags": list(self.tags)}, arrays)

    @staticmethod
    def load(path: str | Path) -> Hmm:
        """Read what `save` wrote."""
        settings, arrays = load_model(path, "hmm", VERSION, ARRAYS, lists={"tags": "tag"})
        tags = tuple(settings.pop("tags"))
        symbols = {s: i for i, s in enumerate(arrays.pop("symbols"))}
        if not tags or RARE not in symbols:
            raise InputError(f"{path} is damaged: it has no tags or no rare words.")
        return Hmm(tags, symbols, settings=settings, **arrays)


def numbered_tags(words: Sequence[str], starts: Any, tags: Sequence[str]) -> tuple[tuple[str, ...], Ints, Ints]:
    """The tags in order of appearance, their number at each training token, and where sentences start."""
    if not len(words):
        raise InputError("there is no training data.")
    if len(words) != len(tags):
        raise InputError(f"each of {len(words):,} words needs its tag; there are {len(tags):,}.")
    place = {t: i for i, t in enumerate(dict.fromkeys(tags))}
    return tuple(place), np.array([place[t] for t in tags], np.int64), np.asarray(starts, np.int64)


def pair_counts(gold: Ints, starts: Ints, n_tags: int) -> Ints:
    """How often each tag (row) is followed by each, shape (T²,)."""
    t = not_last(starts)
    return np.bincount(gold[t] * n_tags + gold[t + 1], minlength=n_tags**2)


class HmmCounts:
    """What training sentences count to; `fit` may be called with several pseudocounts.

    Words seen `rare` times or less are counted as their class (shape and ending), which stands for unknown words too.
    """

    def __init__(self, words: Sequence[str], starts: Ints, tags: Sequence[str], *, rare: int = 1) -> None:
        self.tags, gold, at = numbered_tags(words, starts, tags)
        self.rare, n_tags, often = rare, len(self.tags), Counter(words)
        self.symbols: dict[str, int] = {RARE: 0}
        of_type = {
            w: self.symbols.setdefault(w if c > rare else "\x00" + unknown_class(w), len(self.symbols))
            for w, c in often.items()
        }
        symbol = np.array([of_type[w] for w in words], np.int64)
        self.emission = np.zeros((len(self.symbols), n_tags))
        np.add.at(self.emission, (symbol, gold), 1.0)
        self.transition = pair_counts(gold, at, n_tags).reshape(n_tags, n_tags)
        self.first = np.bincount(gold[at[:-1]], minlength=n_tags)
        self.last = np.bincount(gold[at[1:] - 1], minlength=n_tags)

    def fit(self, *, pseudocount: float = 1.0) -> Hmm:
        """Dirichlet MAP: (count + a) / (total + a × outcomes); a = 0 is maximum likelihood."""
        a = _validate.not_negative(pseudocount, "pseudocount")
        moves = np.concatenate([self.transition, self.last[:, None]], axis=1)
        log_moves = _log_share(moves + a, 1)
        return Hmm(
            self.tags,
            self.symbols,
            _log_share(self.emission + a, 0),
            np.ascontiguousarray(log_moves[:, :-1]),
            _log_share(self.first + a, 0),
            np.ascontiguousarray(log_moves[:, -1]),
            {"pseudocount": a, "transition_pseudocount": a, "rare": self.rare},
        )


def _log_share(count: NDArray[np.floating[Any]], axis: int) -> Floats:
    total = count.sum(axis=axis, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        made: Floats = np.maximum(np.where(total > 0, np.log(count) - np.log(total), FLOOR), FLOOR)
    return made
