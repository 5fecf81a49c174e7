"""Where annotators disagree: which labels are confused, which items to look at, and any two annotators (Cohen's κ, Scott's π).

Every pair of ratings of one item is a row (pair of annotators, label, label); rows are summed, never looped over.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from howsure._result import Record, shown_as
from howsure.evaluation.annotation import agreement
from howsure.evaluation.annotation.ratings import Ratings
from howsure.kernels.cells import Floats, Ints

MOST_CONFUSED = 20
MOST_ITEMS = 50
KAPPAS = {"cohen": "Cohen's κ", "linear": "Cohen's κ, linear weights", "quadratic": "Cohen's κ, quadratic weights"}
SCOTT = "Scott's π"
MOST_ROWS = 50_000_000
CHUNK = 4_000_000  # pairs of annotators times labels held at once
More = tuple[float, float, Floats, Ints | None, Floats]


@dataclass(frozen=True, slots=True)
class ConfusedLabels(Record):
    """Two labels given to the same items."""

    a: str
    b: str
    share: float  # of all disagreement
    chance: float  # the share that chance would give them
    n_items: int

    __repr__ = shown_as("{a} / {b}: {share:.1%} of disagreement, chance {chance:.1%}")


@dataclass(frozen=True, slots=True)
class DisputedItem(Record):
    """An item and its votes, commonest first."""

    SHOWN = "item disagreement n votes=by_label"
    __repr__ = shown_as("{item}: {described}")

    item: str
    disagreement: float  # share of pairs of ratings that differ
    n: int
    votes: tuple[tuple[str, int], ...]

    @property
    def described(self) -> str:
        """The votes in words: yes 5, no 5."""
        return ", ".join(f"{label} {count}" for label, count in self.votes)

    @property
    def by_label(self) -> dict[str, int]:
        """Votes by label."""
        return dict(self.votes)


def confused_labels(ratings: Ratings, p: agreement.Pairable) -> tuple[ConfusedLabels, ...]:
    """Pairs of labels by their share of the disagreement, each item weighing the same."""
    from scipy.sparse import csr_array, triu

    if not p.n:
        return ()
    columns = p.count, p.count / (p.size * (p.size - 1.0))[p.item], np.ones(len(p.item))
    counts, weighted, there = (csr_array((v, (p.item, p.label)), shape=(p.n, p.n_labels)) for v in columns)
    both = triu(weighted.T @ counts, k=1).tocoo()
    items = csr_array(there.T @ there)
    total = float(both.sum())
    if total <= 0.0:
        return ()
    prior = np.bincount(p.label, p.count / p.size[p.item], p.n_labels) / p.n
    chance = 2.0 / (1.0 - float(prior @ prior))
    order = np.lexsort((both.col, both.row, -np.round(both.data, 12)))[:MOST_CONFUSED]
    made = []
    for i, c, k in zip(order.tolist(), both.row[order].tolist(), both.col[order].tolist(), strict=True):
        shares = float(both.data[i]) / total, float(prior[c] * prior[k]) * chance
        made.append(ConfusedLabels(ratings.labels[c], ratings.labels[k], *shares, int(items[c, k])))
    return tuple(made)


def disputed_items(ratings: Ratings, p: agreement.Pairable) -> tuple[DisputedItem, ...]:
    """The items whose ratings differ most; of equals those with more ratings."""
    each = p.disagreement()
    order = np.lexsort((np.arange(p.n), -p.size, -np.round(each, 12)))[:MOST_ITEMS]
    begins = np.searchsorted(p.item, np.arange(p.n + 1))
    made = []
    for i in order[each[order] > 0.0].tolist():
        cells = slice(int(begins[i]), int(begins[i + 1]))
        counted = zip(p.label[cells].tolist(), p.count[cells].astype(int).tolist(), strict=True)
        votes = sorted(counted, key=lambda v: (-v[1], v[0]))
        named = tuple((ratings.labels[label], count) for label, count in votes)
        made.append(DisputedItem(ratings.items[int(p.items[i])], float(each[i]), int(p.size[i]), named))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class AnnotatorPair(Record):
    """How two annotators agree on the items that both labelled."""

    a: str
    b: str
    n: int
    observed: float
    coefficients: tuple[agreement.Coefficient, ...]  # Cohen's κ, Scott's π, and weighted κ where labels have an order

    __repr__ = shown_as("{a}, {b}: {coefficients[0]!r}, n={n:,}")

    @property
    def kappa(self) -> agreement.Coefficient:
        """Cohen's κ, plain."""
        return self.coefficients[0]


def rating_pairs(ratings: Ratings) -> tuple[Ints, Ints]:
    """Positions of both ratings, for every pair of ratings of the same item."""
    ends = np.cumsum(ratings.per_item)[ratings.item]
    position = np.arange(len(ratings.item))
    later = ends - position - 1
    first = np.repeat(position, later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    return first, second


def n_rating_pairs(ratings: Ratings) -> int:
    """How many there are."""
    return int(np.sum(ratings.per_item * (ratings.per_item - 1)) // 2)


def annotator_pairs(ratings: Ratings, confidence_level: float) -> tuple[AnnotatorPair, ...]:
    """Every two annotators that labelled an item in common, those with most items first."""
    first, second = rating_pairs(ratings)
    n_annotators, k = len(ratings.annotators), len(ratings.labels)
    key = ratings.annotator[first] * n_annotators + ratings.annotator[second]  # a < b: ratings are sorted
    order = np.argsort(key, kind="stable")
    first, second = first[order], second[order]
    keys, starts, sizes = np.unique(key[order], return_index=True, return_counts=True)
    weighted = ratings.values is not None and k > 2
    made: list[AnnotatorPair] = []
    names, step = ratings.annotators, max(CHUNK // k, 1)
    for begin in range(0, len(keys), step):
        size = sizes[begin : begin + step]
        rows = slice(int(starts[begin]), int(starts[begin]) + int(size.sum()))
        x, y = ratings.label[first[rows]], ratings.label[second[rows]]
        groups = None if ratings.groups is None else ratings.groups[ratings.item[first[rows]]]
        found = _chunk(x, y, size, groups, k, weighted, confidence_level, ratings.labels)
        agreed = np.bincount(np.repeat(np.arange(len(size)), size), x == y, len(size)) / size
        for i, coefficients in enumerate(found):
            a, b = divmod(int(keys[begin + i]), n_annotators)
            made.append(AnnotatorPair(names[a], names[b], int(size[i]), float(agreed[i]), coefficients))
    return tuple(sorted(made, key=lambda p: (-p.n, p.a, p.b)))


def _chunk(
    x: Ints, y: Ints, size: Ints, groups: Ints | None, k: int, weighted: bool, level: float, labels: tuple[str, ...]
) -> list[tuple[agreement.Coefficient, ...]]:
    pair = np.repeat(np.arange(len(size)), size)
    shape = (len(size), k)
    px, py = (np.bincount(pair * k + v, minlength=len(size) * k).reshape(shape) / size[:, None] for v in (x, y))
    bounds = np.concatenate([[0], np.cumsum(size)])
    columns = []
    plans: list[tuple[str, Floats | None, bool]] = [(KAPPAS["cohen"], None, False), (SCOTT, None, True)]
    if weighted:
        distance = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) / (k - 1)
        plans += [(KAPPAS["linear"], distance, False), (KAPPAS["quadratic"], distance**2, False)]
    parts = list(pairwise(bounds.tolist()))
    own_groups = [None if groups is None else groups[begin:end] for begin, end in parts]
    unit = np.array([agreement.items_per_group(int(n), g) for n, g in zip(size, own_groups, strict=True)])
    extra = unit * (agreement.AGREEING + agreement.DISAGREEING)
    total = size + extra
    for name, delta, pooled in plans:
        each = (x != y).astype(np.float64) if delta is None else delta[x, y]
        # Mean disagreement of two labels that differ.
        apart = 1.0 if delta is None else float(delta.sum()) / (k * (k - 1))
        plain = np.bincount(pair, each, len(size)) / size
        by_chance = _by_chance(px, py, delta, pooled)[0]
        # With the added items: both sides' labels are spread evenly over them.
        mx, my = ((m * size[:, None] + extra[:, None] / k) / total[:, None] for m in (px, py))
        expected, of_x, of_y = _by_chance(mx, my, delta, pooled)
        observed = np.maximum((plain * size + unit * agreement.DISAGREEING * apart) / total, agreement.NONE_OBSERVED)
        expected = np.maximum(expected, agreement.NONE_OBSERVED)
        own = of_x[pair, x] + of_y[pair, y]
        influence = (each - observed[pair]) / observed[pair] - (own - 2.0 * expected[pair]) / expected[pair]
        influence /= total[pair]
        column = []
        for i, (begin, end) in enumerate(parts):
            added = _added(observed[i], expected[i], of_x[i] + of_y[i], apart) * unit[i] / total[i]
            more = float(observed[i]), float(expected[i]), influence[begin:end], own_groups[i], added
            both = float(plain[i]), float(by_chance[i])
            column.append(_coefficient(name, both, more, level, labels[int(x[begin])]))
        columns.append(column)
    return list(zip(*columns, strict=True))


def _by_chance(px: Floats, py: Floats, delta: Floats | None, pooled: bool) -> tuple[Floats, Floats, Floats]:
    """D_e of each pair, and the chance disagreement of each label with the other's labels."""
    mx, my = ((px + py) / 2.0,) * 2 if pooled else (px, py)
    of_x, of_y = (1.0 - my, 1.0 - mx) if delta is None else (my @ delta, mx @ delta)
    return np.sum(mx * of_x, axis=1), of_x, of_y


def _added(observed: float, expected: float, own: Floats, apart: float) -> Floats:
    """Influences of the items added on log D_o/D_e, times √weight: agreement on each label, and disagreement."""
    agreeing = -1.0 - (own - 2.0 * expected) / expected
    disagreeing = (apart - observed) / observed - (float(own.mean()) - 2.0 * expected) / expected
    return np.append(np.sqrt(agreement.AGREEING / len(own)) * agreeing, np.sqrt(agreement.DISAGREEING) * disagreeing)


def _coefficient(name: str, plain: tuple[float, float], more: More, level: float, label: str) -> agreement.Coefficient:
    """From D_o and D_e; `more` is what the limits are computed from: both with items added, influences, groups, those added."""
    n, groups, (observed, expected) = len(more[2]), more[3], plain
    if expected < agreement.NONE_OBSERVED:
        reason = f"both used only the label {label!r}: all agreement is by chance"
        return agreement.Coefficient(name, None, None, None, 1.0, 1.0, n, reason)
    value = 1.0 - observed / expected
    if observed < agreement.NONE_OBSERVED:
        low, high = agreement.limits_of_perfect(n, groups, expected, level)
    else:
        low, high = agreement.reaching(value, agreement.limits_of_ratio(*more, level))
    why = None
    if low is None:
        why = "no interval: one item in common" if n < 2 else "no interval: all items are of one group"
    return agreement.Coefficient(name, value, low, high, 1.0 - observed, 1.0 - expected, n, why)
