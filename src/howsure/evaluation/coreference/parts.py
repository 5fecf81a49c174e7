"""What every coreference metric is made of: how a document's gold and predicted entities share mentions.

Each metric is a ratio of sums over documents. `document_parts` gives a document's terms; they add up, so a corpus is
the sum of its documents and a bootstrap only weighs rows. n[k, r] is the number of mentions that key entity k and
response entity r share, |k| and |r| their sizes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Pairs = Iterable[tuple[Hashable, Hashable]]  # (mention, entity)

RATIOS = ("muc", "b3", "ceafm", "ceafe", "lea", "pairwise", "unlinked", "mentions")
TERMS = ("recall_part", "recall_whole", "precision_part", "precision_whole")


def document_parts(key: Pairs, response: Pairs) -> Floats:
    """The terms of every metric for one document, shape (ratios, 4), in the order of RATIOS and TERMS.

    A mention that is given twice counts once, where it is first named, as in the official scorer (version 8.01).
    Mentions without a twin on the other side stay in their entities and are shared with nobody.
    """
    gold, system = dict(_once(key)), dict(_once(response))
    k_names = {e: i for i, e in enumerate(dict.fromkeys(gold.values()))}
    r_names = {e: i for i, e in enumerate(dict.fromkeys(system.values()))}
    n = np.zeros((len(k_names), len(r_names)))
    for mention, entity in gold.items():
        if mention in system:
            n[k_names[entity], r_names[system[mention]]] += 1
    k_size = np.bincount([k_names[e] for e in gold.values()], minlength=len(k_names)).astype(np.float64)
    r_size = np.bincount([r_names[e] for e in system.values()], minlength=len(r_names)).astype(np.float64)
    return contingency_parts(n, k_size, r_size)


def contingency_parts(n: Floats, k_size: Floats, r_size: Floats) -> Floats:
    """The terms from n[k, r], |k| and |r|."""
    shared = float(n.sum())
    k_links, r_links = choose2(k_size).sum(), choose2(r_size).sum()
    both = choose2(n).sum()
    # Pairs of shared mentions that both sides keep apart.
    apart = choose2(shared) - choose2(n.sum(axis=1)).sum() - choose2(n.sum(axis=0)).sum() + both
    k_apart, r_apart = choose2(k_size.sum()) - k_links, choose2(r_size.sum()) - r_links
    m, e = matched(n), matched(_dice(n, k_size, r_size))
    rows = {
        "muc": (*_muc(n, k_size), *_muc(n.T, r_size)),
        "b3": (_b3(n, k_size), k_size.sum(), _b3(n.T, r_size), r_size.sum()),
        "ceafm": (m, k_size.sum(), m, r_size.sum()),
        "ceafe": (e, len(k_size), e, len(r_size)),
        "lea": (_lea(n, k_size, r_size), k_size.sum(), _lea(n.T, r_size, k_size), r_size.sum()),
        "pairwise": (both, k_links, both, r_links),
        "unlinked": (apart, k_apart, apart, r_apart),
        "mentions": (shared, k_size.sum(), shared, r_size.sum()),
    }
    return np.array([rows[name] for name in RATIOS], dtype=np.float64)


def choose2(x: Floats | float) -> Floats:
    """Number of pairs among x."""
    return np.asarray(x) * (np.asarray(x) - 1.0) / 2.0


def _muc(n: Floats, size: Floats) -> tuple[float, float]:
    """Links kept, links there are: an entity falls into as many parts as others share it, mentions alone apart."""
    parts = (n > 0).sum(axis=1) + (size - n.sum(axis=1))
    return float((size - parts).sum()), float((size - 1.0).sum())


def _b3(n: Floats, size: Floats) -> float:
    return float((n**2 / size[:, None]).sum()) if n.size else 0.0


def _dice(n: Floats, k_size: Floats, r_size: Floats) -> Floats:
    return np.asarray(2.0 * n / (k_size[:, None] + r_size[None, :])) if n.size else n


def matched(similarity: Floats) -> float:
    """The largest total similarity of a one-to-one matching of entities."""
    if not similarity.any():
        return 0.0
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(similarity, maximize=True)
    return float(similarity[rows, columns].sum())


def _lea(n: Floats, size: Floats, other: Floats) -> float:
    """Σ |k| × share of k's links found; an entity of one mention has one link, to itself."""
    if not n.size:
        return 0.0
    links = choose2(size)
    single = size == 1
    found = choose2(n).sum(axis=1) / np.where(single, 1.0, links)
    alone = (n[:, other == 1] > 0).any(axis=1)
    return float((size * np.where(single, alone, found)).sum())


def _once(pairs: Pairs) -> dict[Hashable, Hashable]:
    made: dict[Hashable, Hashable] = {}
    for mention, entity in pairs:
        made.setdefault(mention, entity)
    return made
