"""A chain posterior beside gold tags: its accuracy, and the pairs of tags that are common enough to ask about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from howsure.posteriors.chain import ChainPosterior


def accuracy(posterior: ChainPosterior, tags: Sequence[str]) -> float:
    """Share of tokens whose most probable tag is right."""
    return float(np.mean(posterior.mbr_tags() == posterior.codes(tags)))


def top_pairs(posterior: ChainPosterior, codes: NDArray[np.int64], most: int) -> list[tuple[str, str]]:
    """The commonest pairs of consecutive gold tags, most frequent first."""
    inner = np.ones(len(codes), bool)
    inner[posterior.starts[1:] - 1] = False
    t = np.flatnonzero(inner)
    t = t[(codes[t] >= 0) & (codes[t + 1] >= 0)]
    pair, count = np.unique(codes[t] * len(posterior.tags) + codes[t + 1], return_counts=True)
    order = np.lexsort((pair, -count))[:most]
    return [
        (posterior.tags[p // len(posterior.tags)], posterior.tags[p % len(posterior.tags)])
        for p in pair[order].tolist()
    ]
