"""Columns of BIO, BIOES (BILOU) or IO tags read as spans, as conlleval reads them: whole columns at a time.

A span begins at a B or S, at an I or E that nothing of its type precedes, and wherever the type changes; it ends where
the next begins, after an E or S, and at the end of a sentence. Tags that break their scheme are thus read, not dropped,
and counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.evaluation.units import Units, summed
from howsure.kernels.cells import Ints

OUT, BEGIN, INSIDE, END, SINGLE = range(5)
_PREFIXES = {"B": BEGIN, "I": INSIDE, "E": END, "L": END, "S": SINGLE, "U": SINGLE, "M": INSIDE}


@dataclass(frozen=True)
class TagSet:
    """What each distinct tag means: its prefix, and the number of its type (-1 outside)."""

    prefix: Ints
    type: Ints
    types: tuple[str, ...]

    @staticmethod
    def of(tags: Sequence[str]) -> TagSet:
        """Read tags such as B-PER, I-PER, O. Without any prefix, a tag is a type and a run of it a span (IO)."""
        parsed = [_parsed(t) for t in tags]
        types = tuple(sorted({kind for prefix, kind in parsed if prefix != OUT}))
        if not types:
            raise InputError("no tag but O: there are no spans to score.")
        number = {name: i for i, name in enumerate(types)}
        prefix = np.array([p for p, _ in parsed], np.int64)
        return TagSet(prefix, np.array([number[k] if p != OUT else -1 for p, k in parsed], np.int64), types)


def _parsed(tag: str) -> tuple[int, str]:
    if tag in ("O", "_", "-"):
        return OUT, ""
    found = re.fullmatch(r"([BIELSUM])(?:[-_](.+))?", tag)
    if found:
        return _PREFIXES[found[1]], found[2] or "span"
    return INSIDE, tag


@dataclass(frozen=True)
class Spans:
    """Spans in order: first row, row after the last, type; and how many broke the scheme."""

    start: Ints
    stop: Ints
    type: Ints
    irregular: int

    def __len__(self) -> int:
        return len(self.start)

    def found_in(self, other: Spans, n_rows: int) -> NDArray[np.bool_]:
        """Whether `other` has the very same span: one at most begins at a row."""
        at = np.full(n_rows, -1, np.int64)
        at[other.start] = np.arange(len(other))
        match = at[self.start]
        if not len(other):
            return np.zeros(len(self), bool)
        return (match >= 0) & (other.stop[match] == self.stop) & (other.type[match] == self.type)


def spans_of(codes: Ints, tags: TagSet, new_sentence: NDArray[np.bool_]) -> Spans:
    """The spans of a column of tag numbers; `new_sentence` marks each sentence's first row."""
    prefix, kind = tags.prefix[codes], tags.type[codes]
    before, before_kind = np.roll(prefix, 1), np.roll(kind, 1)
    before[new_sentence], before_kind[new_sentence] = OUT, -1
    other = kind != before_kind
    inside = prefix != OUT
    closed = (before == END) | (before == SINGLE)
    starts = inside & ((prefix == BEGIN) | (prefix == SINGLE) | closed | (before == OUT) | other)
    # The row after a span's last: the next start or the next row outside, whichever is first; or a new sentence.
    breaks = np.append(starts | ~inside | new_sentence, True)
    start = np.flatnonzero(starts)
    at_break = np.flatnonzero(breaks)
    stop = at_break[np.searchsorted(at_break, start, side="right")]
    irregular = 0
    if np.any(tags.prefix == BEGIN):
        bad = (prefix[start] == INSIDE) | (prefix[start] == END)
        if np.any((tags.prefix == END) | (tags.prefix == SINGLE)):
            bad |= (prefix[stop - 1] == BEGIN) | (prefix[stop - 1] == INSIDE)
        irregular = int(bad.sum())
    return Spans(start, stop, kind[start], irregular)


def span_units(gold: Spans, preds: tuple[Spans, ...], n_types: int, clusters: Ints) -> Units:
    """Spans counted by cluster (sentence or document) and type; `clusters` number every row's."""
    shape = (int(clusters.max()) + 1, n_types)
    hits = [p.found_in(gold, len(clusters)) for p in preds]
    return Units(
        np.ones(shape[0], np.int64),
        summed(clusters[gold.start], gold.type, shape),
        tuple(summed(clusters[p.start], p.type, shape) for p in preds),
        tuple(summed(clusters[p.start[h]], p.type[h], shape) for p, h in zip(preds, hits, strict=True)),
        True,
    )
