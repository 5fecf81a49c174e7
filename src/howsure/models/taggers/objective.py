"""The CRF's training loss and its gradient: Σ -log P(gold) + c₂ |w|², the same as CRFsuite's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from howsure.kernels.cells import Floats, Ints
from howsure.kernels.chains import crf_compiled
from howsure.kernels.threads import cores
from howsure.models.taggers.crf import WeightRows
from howsure.models.taggers.features import TokenFeatures

SHARES = 4  # fixed, so that the sums are the same on any number of threads


class CrfObjective:
    """Loss and gradient over training sentences. A parameter vector is the weights of `rows`, then T × T transitions.

    Weights exist for (feature, tag) and (tag, tag) pairs seen in training, as in CRFsuite by default.
    """

    def __init__(
        self, features: TokenFeatures, starts: Ints, gold: Ints, n_features: int, n_tags: int, l2: float
    ) -> None:
        self.features, self.starts, self.gold, self.n_tags, self.l2 = features, starts, gold, n_tags, l2
        code = features.ids.astype(np.int64) * n_tags + np.repeat(gold, np.diff(features.ptr))
        pairs, count = np.unique(code, return_counts=True)
        self.rows = WeightRows.of_pairs(pairs // n_tags, pairs % n_tags, n_features, n_tags)
        self.n_states = len(self.rows.row_tag)
        observed = np.zeros(self.n_states)
        observed[self.rows.seen] = count
        inner = np.ones(len(gold), bool)
        inner[starts[1:] - 1] = False
        at = np.flatnonzero(inner)
        moves = np.bincount(gold[at] * n_tags + gold[at + 1], minlength=n_tags**2).astype(np.float64)
        self.observed = np.concatenate([observed, moves])
        self.movable = np.concatenate([self.rows.seen, moves > 0])
        order = np.arange(len(starts) - 1)
        self._shares = [np.ascontiguousarray(order[i::SHARES]) for i in range(SHARES)]
        crf_compiled.compile_all()

    @property
    def n_sentences(self) -> int:
        """Number of training sentences."""
        return len(self.starts) - 1

    def split(self, w: Floats) -> tuple[Floats, Floats]:
        """State weights and (T, T) transitions."""
        return w[: self.n_states], w[self.n_states :].reshape(self.n_tags, self.n_tags)

    def value_and_gradient(self, w: Floats, threads: int | None = None) -> tuple[float, Floats]:
        """The whole loss, regularised, and its gradient."""
        threads = min(cores(), SHARES) if threads is None else threads
        if threads == 1:
            parts = [self.part(w, s) for s in self._shares]
        else:
            with ThreadPoolExecutor(threads) as pool:
                parts = list(pool.map(lambda s: self.part(w, s), self._shares))
        gradient = parts[0][1]
        for _, more in parts[1:]:
            gradient += more
        square = crf_compiled.regularised(gradient, self.observed, w, self.l2, self.movable)
        return sum(p[0] for p in parts) + self.l2 * square, gradient

    def part(self, w: Floats, sentences: Ints) -> tuple[float, Floats]:
        """Negative log-likelihood of some sentences and the expected counts of every parameter."""
        states, transitions = self.split(w)
        e = np.exp(transitions - transitions.max())
        expected = np.zeros(len(w))
        pairs = np.zeros((self.n_tags, self.n_tags))
        f, r = self.features, self.rows
        loss = crf_compiled.loss_and_expectations(
            f.ptr, f.ids, r.row_ptr, r.row_tag, states, transitions, e, np.ascontiguousarray(e.T), self.starts,
            self.gold, sentences, expected[: self.n_states], pairs,
        )  # fmt: skip
        expected[self.n_states :] = (pairs * e).ravel()
        return float(loss), expected

    def observed_in(self, sentences: Ints) -> Floats:
        """Observed counts of every parameter in some sentences."""
        features, starts = self.features.sentences(self.starts, sentences)
        lengths = np.diff(starts)
        tokens = np.arange(starts[-1]) + np.repeat(self.starts[:-1][sentences] - starts[:-1], lengths)
        gold = self.gold[tokens]
        tag = np.repeat(gold, np.diff(features.ptr))
        rows = self.rows
        begin, size = rows.row_ptr[features.ids], rows.row_ptr[features.ids + 1] - rows.row_ptr[features.ids]
        at = np.where(size == self.n_tags, begin + tag, -1)
        short = np.flatnonzero(at < 0)
        key = self._sparse_keys()
        at[short] = key[1][np.searchsorted(key[0], features.ids[short].astype(np.int64) * self.n_tags + tag[short])]
        made = np.zeros(len(self.observed))
        np.add.at(made, at, 1.0)
        inner = np.ones(len(gold), bool)
        inner[starts[1:] - 1] = False
        t = np.flatnonzero(inner)
        made[self.n_states :] = np.bincount(gold[t] * self.n_tags + gold[t + 1], minlength=self.n_tags**2)
        return made

    def _sparse_keys(self) -> tuple[Ints, Ints]:
        if not hasattr(self, "_keys"):
            places = np.flatnonzero(self.rows.seen)
            self._keys = (self.rows.feature[places] * self.n_tags + self.rows.row_tag[places], places)
        return self._keys
