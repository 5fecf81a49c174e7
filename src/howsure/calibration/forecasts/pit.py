"""Probability integral transforms (PIT = F(y), the posterior quantile of what happened) as counts.

A forecast known by S draws or L quantiles does not say F(y), only between which two edges it lies: k/(S+1), or the
levels. Rows are therefore counted by that pair of edges, in whole numbers, and sketch(A) + sketch(B) = sketch(A ∪ B)
to the bit. Only then is every row given a place in its span at random, all at once: if the forecasts are calibrated the
places are exactly uniform on [0, 1], whatever S or the ties. A forecast that knows its F fills the fixed cells directly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure.kernels.cells import Floats, Ints, merge_keyed
from howsure.kernels.pit import exact_sum

CELLS = 40_000  # of equal width: 1/1000 and 1/40 are whole numbers of cells


@dataclass(frozen=True, slots=True)
class PitSketch:
    """Rows by where their PIT lies: in fixed cells, or between two of `edges`; with exact sums of their scores."""

    edges: Floats  # increasing from 0 to 1; empty if every PIT is known
    known: Ints  # the edges where the share of rows below is known exactly, by position
    cells: Ints  # rows by cell
    spans: Ints  # (spans, 2): positions of two edges, in lexical order
    counts: Ints  # rows by span
    score_units: int = 0  # Σ score, see kernels.exact_sum
    score_square_units: int = 0

    def __repr__(self) -> str:
        return f"PitSketch({self.n:,} rows in {np.count_nonzero(self.cells) + len(self.counts):,} places)"

    def __add__(self, other: PitSketch) -> PitSketch:
        if not np.array_equal(self.edges, other.edges):
            raise ValueError("sketches of different edges cannot be added.")
        spans, counts = _compacted(
            np.concatenate([self.spans, other.spans]), np.concatenate([self.counts, other.counts]), len(self.edges)
        )
        return PitSketch(
            self.edges,
            self.known,
            self.cells + other.cells,
            spans,
            counts,
            self.score_units + other.score_units,
            self.score_square_units + other.score_square_units,
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.cells.sum() + self.counts.sum())

    def placed(self, rng: np.random.Generator) -> Ints:
        """Rows by cell, those of a span placed in it uniformly at random."""
        placed = self.cells.copy()
        low, high = (self.edges[self.spans] * CELLS).T
        first, after = np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)
        few = self.counts <= after - first
        start, width = np.repeat(low[few], self.counts[few]), np.repeat((high - low)[few], self.counts[few])
        places = (start + width * rng.random(len(start))).astype(np.int64)
        placed += np.bincount(np.minimum(places, CELLS - 1), minlength=CELLS)
        for i in np.flatnonzero(~few):  # spans with more rows than cells
            edges = np.arange(first[i], after[i] + 1, dtype=np.float64)
            share = np.diff(np.clip(edges, low[i], high[i]))
            placed[first[i] : after[i]] += rng.multinomial(self.counts[i], share / share.sum())
        return placed


@dataclass(slots=True)
class PitBuilder:
    """Folds batches into a sketch."""

    edges: Floats
    known: Ints
    _sketch: PitSketch | None = None

    def add_spans(self, first: Ints, last: Ints, scores: Floats) -> None:
        """Take rows whose PIT lies between two edges, and their scores."""
        spans, counts = _compacted(np.column_stack([first, last]), np.ones(len(first), np.int64), len(self.edges))
        cells = np.zeros(CELLS, np.int64)
        self._add(PitSketch(self.edges, self.known, cells, spans, counts, exact_sum(scores), exact_sum(scores**2)))

    def add_values(self, pit: Floats) -> None:
        """Take rows whose PIT is known."""
        cells = np.bincount(np.minimum((pit * CELLS).astype(np.int64), CELLS - 1), minlength=CELLS)
        none = np.zeros((0, 2), np.int64)
        self._add(PitSketch(self.edges, self.known, cells, none, np.zeros(0, np.int64)))

    def _add(self, part: PitSketch) -> None:
        self._sketch = part if self._sketch is None else self._sketch + part

    def finish(self) -> PitSketch:
        """The sketch of all rows taken."""
        if self._sketch is not None:
            return self._sketch
        self.add_values(np.zeros(0))
        return self.finish()


def for_draws(n_draws: int) -> PitBuilder:
    """Edges k/(S+1): calibrated, y is as likely to take any of the S+1 places among its draws."""
    return PitBuilder(np.arange(n_draws + 2) / (n_draws + 1.0), np.arange(n_draws + 2))


def for_levels(levels: Floats) -> PitBuilder:
    """Edges 0, the levels and 1, with the points half way between them (see `kernels.pit.level_spans`)."""
    known = np.concatenate([[0.0], levels, [1.0]])
    edges = np.empty(2 * len(known) - 1)
    edges[::2], edges[1::2] = known, 0.5 * (known[1:] + known[:-1])
    return PitBuilder(edges, np.arange(0, len(edges), 2))


def for_values() -> PitBuilder:
    """No edges: every PIT is known."""
    return PitBuilder(np.zeros(0), np.zeros(0, np.int64))


def _compacted(spans: Ints, counts: Ints, n_edges: int) -> tuple[Ints, Ints]:
    """One entry a span, in order."""
    keys, sums = merge_keyed(spans[:, 0] * n_edges + spans[:, 1], counts)
    return np.column_stack(np.divmod(keys, max(n_edges, 1))), sums
