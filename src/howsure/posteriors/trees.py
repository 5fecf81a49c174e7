"""`TreePosterior`: the posterior over dependency trees whose arcs are scored one by one, as a thing you can ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.chains.log_space import log_sum
from howsure.posteriors.answers import Answers
from howsure.posteriors.forests import Node, Tree, k_best, sampled

ROOT, RIGHT, LEFT, ARC_RIGHT, ARC_LEFT = range(5)  # kinds of nodes of Eisner's chart
START = (ROOT, 0, 0)


@dataclass(frozen=True, slots=True)
class DependencyTree:
    """Heads of the words (0: the root; else numbers from 1), the likeliest labels by number if there are any, and log P(heads)."""

    heads: Ints
    log_prob: float
    labels: Ints | None = None

    def __repr__(self) -> str:
        return f"DependencyTree({self.heads.tolist()}, log P {self.log_prob:.3f})"


class TreePosterior:
    """P(tree | x) ∝ exp Σ scores[head, dependent] over the trees of one sentence with one root, projective or not.

    Parameters
    ----------
    scores : array, shape (n + 1, n) or with labels (n + 1, n, L)
        Log potentials of arcs: the head is the root (row 0) or a word (1 … n), the dependent a word (column). -inf
        forbids an arc; a word's arc to itself is ignored.
    projective : bool
        Whether only trees without crossing arcs are possible.
    labels : names of the L labels
        By default their numbers.

    Notes
    -----
    Without `projective`, sums over trees follow the matrix-tree theorem in a form that subtracts nothing; with it, Eisner's
    algorithm. Both cost O(n³). Labels are independent given the tree.

    Examples
    --------
    >>> import numpy as np
    >>> t = TreePosterior(np.log([[0.7, 0.3], [1.0, 0.5], [0.25, 1.0]]))
    >>> t.marginals().round(3).tolist()
    [[0.824, 0.176], [0.0, 0.824], [0.176, 0.0]]
    >>> t.best().heads.tolist()
    [0, 1]
    """

    def __init__(self, scores: Any, *, projective: bool = False, labels: Sequence[str] | None = None) -> None:
        s = np.asarray(scores, np.float64)
        if s.ndim not in (2, 3) or s.shape[0] != s.shape[1] + 1:
            raise InputError(f"scores of arcs must have shape (n + 1, n) or (n + 1, n, L); got {s.shape}.")
        if not (s <= 1e100).all() or ((s < -1e100) & ~np.isneginf(s)).any():
            raise InputError("scores of arcs must be finite or -inf.")
        self.projective, self.n = bool(projective), s.shape[1]
        self.labels = tuple(map(str, range(s.shape[2] if s.ndim == 3 else 0) if labels is None else labels))
        if len(set(self.labels)) != (s.shape[2] if s.ndim == 3 else 0) or (s.ndim == 3 and not self.labels):
            raise InputError(f"`labels=` must name each label of scores of shape (n + 1, n, L) once; got {s.shape}.")
        self._given = s
        self.scores = np.ascontiguousarray(log_sum(s, -1) if s.ndim == 3 else s)

    def __repr__(self) -> str:
        kind = "projective" if self.projective else "non-projective"
        return f"TreePosterior({self.n} words, {kind}, {len(self.labels)} labels)"

    @cached_property
    def _sums(self) -> tuple[Floats, float]:
        q, log_z = summed(self.scores, self.projective)
        if log_z == -np.inf:
            raise InputError("no tree is possible: all are forbidden.")
        return q, log_z

    @property
    def log_partition(self) -> float:
        """log Z; 0 without words."""
        return self._sums[1]

    def marginals(self) -> Floats:
        """P(head → dependent), (n + 1, n)."""
        return self._sums[0]

    @cached_property
    def label_log_prob(self) -> Floats:
        """log P(label | arc), (n + 1, n, L)."""
        if not self.labels:
            raise InputError("this posterior has no labels: its scores are of shape (n + 1, n).")
        return self._given - np.where(np.isneginf(self.scores), 0.0, self.scores)[..., None]

    def labelled_marginals(self) -> Floats:
        """P(head → dependent with label), (n + 1, n, L)."""
        return self.marginals()[..., None] * np.exp(self.label_log_prob)

    @cached_property
    def entropy(self) -> float:
        """Entropy of the posterior over trees (and labels), in nats: log Z - E[score] + E[H(labels)], never negative."""
        q, log_z = self._sums
        made = log_z - float(np.sum(q * np.where(q > 0, self.scores, 0.0)))
        if self.labels:
            p = self.label_log_prob
            made -= float(np.sum(self.labelled_marginals() * np.where(np.isneginf(p), 0.0, p)))
        return max(made, 0.0)

    def log_probability(self, heads: Any, labels: Any = None) -> float:
        """log P of a given tree (and its labels, numbers; -1 is a label that the posterior has not).

        -inf for what is no tree, has two roots, or crosses where the posterior is projective.
        """
        h, words = self._heads(heads), np.arange(self.n)
        if not is_tree(h) or (self.projective and not is_projective(h)):
            return -np.inf
        made = float(self.scores[h, words].sum()) - self.log_partition
        if labels is not None:
            codes = np.asarray(labels)
            made += float(self.label_log_prob[h, words, codes].sum()) if (codes >= 0).all() else -np.inf
        return made

    def _heads(self, heads: Any) -> Ints:
        h = np.asarray(heads)
        if h.shape != (self.n,) or (self.n and (h.dtype.kind not in "iu" or h.min() < 0 or h.max() > self.n)):
            raise InputError(f"heads of {self.n} words are needed: 0 (the root), or a word's number from 1.")
        return h.astype(np.int64)

    def attachment(self, heads: Any) -> Floats:
        """P(head) of each word's given head; its mean is the expected unlabelled attachment score of these heads."""
        return self.marginals()[self._heads(heads), np.arange(self.n)]

    def _share(self, scores: Floats) -> float:
        return float(np.exp(min(summed(scores, self.projective, False)[1] - self.log_partition, 0.0)))

    def arcs_probability(self, arcs: Sequence[tuple[int, int]]) -> float:
        """P(all these arcs (head, dependent) are in the tree)."""
        s = self.scores.copy()
        for h, m in self._arcs(arcs):
            s[np.arange(self.n + 1) != h, m - 1] = -np.inf
        return self._share(s)

    def path_probability(self, path: Sequence[int]) -> float:
        """P(the path of arcs path[0] → path[1] → … is in the tree); 0 is the root."""
        return self.arcs_probability(list(pairwise(path)))

    def subtree_probability(self, top: int, arcs: Sequence[tuple[int, int]]) -> float:
        """P(what hangs from the word `top` is exactly these arcs)."""
        heads = {m: h for h, m in self._arcs(arcs)}
        inside = [top, *heads]
        if len(heads) < len(arcs) or top in heads or not set(heads.values()) <= set(inside):
            raise InputError(f"these arcs are no tree under word {top}.")
        s = self.scores.copy()
        s[inside] = -np.inf
        for m, h in heads.items():
            s[:, m - 1] = -np.inf
            s[h, m - 1] = self.scores[h, m - 1]
        return self._share(s)

    def span_probability(self, start: int, end: int) -> float:
        """P(words start … end - 1, counted from 0, are one word and everything under it).

        The words inside are a tree under each head outside; seen from outside they are one word without dependents.
        """
        s, size = self.scores, end - start
        if not 0 <= start < end <= self.n:
            raise InputError(f"a span lies within the {self.n} words; got {start}, {end}.")
        out = np.array([h for h in range(self.n + 1) if not start < h <= end])
        inner = s[start + 1 : end + 1, start:end]
        rows, kept = np.where(out <= start, out, out - size + 1), out[1:] - 1
        outer = np.full((self.n - size + 2, self.n - size + 1), -np.inf)
        outer[np.ix_(rows, np.where(kept < start, kept, kept - size + 1))] = s[np.ix_(out, kept)]
        under = [summed(np.vstack([s[h : h + 1, start:end], inner]), self.projective, False)[1] for h in out]
        outer[rows, start] = under
        return self._share(outer)

    def _arcs(self, arcs: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
        bad = next(((h, m) for h, m in arcs if not (0 <= h <= self.n and 1 <= m <= self.n and h != m)), None)
        if bad is not None:
            raise InputError(f"an arc goes from 0 … {self.n} to another word 1 … {self.n}; got {bad[0]} → {bad[1]}.")
        return arcs

    def best(self) -> DependencyTree:
        """The most probable tree: the heaviest of all spanning trees, or of the projective ones."""
        return self._tree(self._heaviest(self.scores))

    def mbr(self) -> DependencyTree:
        """The tree of the largest expected attachment score: of least risk."""
        return self._tree(self._heaviest(self.marginals()))

    def _heaviest(self, weights: Floats) -> Ints:
        if not self._sums[0].size or not self.projective:  # an error if there is no tree
            return spanning_tree(weights)
        return _heads_of(k_best(eisner_ways(weights, most=True), START, 1, 2 * self.n)[0][1], self.n)

    def _tree(self, heads: Ints, log_prob: float | None = None) -> DependencyTree:
        words = np.arange(self.n)
        labels = self.label_log_prob[heads, words].argmax(axis=1) if self.labels and self.n else None
        log_p = float(self.scores[heads, words].sum()) - self.log_partition if log_prob is None else log_prob
        return DependencyTree(heads, log_p, labels)

    def k_best(self, k: int) -> list[DependencyTree]:
        """The k most probable trees, best first; fewer where there are not as many. Projective only."""
        if not self.projective:
            raise InputError("the k best trees are found for projective posteriors: give `projective=True`.")
        if not self.n:
            return [self.best()]
        found = k_best(eisner_ways(self.scores, most=True), START, _validate.count(k, "k"), 2 * self.n)
        return [self._tree(_heads_of(t, self.n), w - self.log_partition) for w, t in found]

    def samples(self, n: int, rng: np.random.Generator | int | None = 0) -> Ints:
        """Exact samples of trees: heads, (n, words). Projective ones from the chart, others head by head."""
        random, n = _validate.generator(rng), _validate.count(n, "n")
        if self.projective and self.n:
            drawn = sampled(eisner_ways(self.scores, most=False), START, n, random)
            return np.array([_heads_of(t, self.n) for t in drawn], np.int64)
        return np.array([self._one_by_one(random) for _ in range(n)], np.int64).reshape(n, self.n)

    def _one_by_one(self, rng: np.random.Generator) -> list[int]:
        """Heads drawn word by word, each given those before."""
        s, q, made = self.scores.copy(), self.marginals(), list[int]()
        for m in range(self.n):
            if m:
                q = summed(s, False)[0]
            made.append(int(np.searchsorted(np.cumsum(q[:, m]), rng.random() * q[:, m].sum(), side="right")))
            s[np.arange(self.n + 1) != made[m], m] = -np.inf
        return made

    def tempered(self, temperature: float) -> TreePosterior:
        """The posterior with all log potentials, of labels too, divided by `temperature`: above 1 it is less sure."""
        given = self._given / _validate.temperature(temperature)
        return TreePosterior(given, projective=self.projective, labels=self.labels or None)

    def arc_is(self, *, least: float = 1e-3) -> Answers:
        """Is this the arc to the word? Asked of every arc whose probability is `least` or more; gold: the words' heads."""
        h, m = np.nonzero(self.marginals() >= least)
        q = np.minimum(self.marginals()[h, m], 1.0)
        return Answers("arc", m, m + 1, np.zeros_like(m), q, lambda gold: np.asarray(gold)[m] == h)

    def label_is(self, label: str) -> Answers:
        """Is the label of this word's arc `label`? Asked of every word; gold: numbers of labels."""
        _validate.one_of(label, self.labels, "`{}` is none of the labels.")
        code, m = self.labels.index(label), np.arange(self.n)
        q = np.minimum(self.labelled_marginals()[..., code].sum(axis=0), 1.0)
        return Answers(f"label is {label}", m, m + 1, np.zeros_like(m), q, lambda gold: np.asarray(gold) == code)


def summed(scores: Floats, projective: bool, wanted: bool = True) -> tuple[Floats, float]:
    """Marginals (if wanted) and log Z of one sentence's arcs."""
    from howsure.kernels.trees.choice import kernel

    q = np.zeros(scores.shape if wanted else (0, 0))
    if not scores.size:
        return q, 0.0
    return q, float(kernel("tree_sums", scores.shape[1] ** 3)(np.ascontiguousarray(scores), projective, wanted, q))


def eisner_ways(scores: Floats, *, most: bool) -> Callable[[Node], Any]:
    """Eisner's chart of one sentence as a forest, of best trees (`most`) or of sums."""
    from howsure.kernels.trees.choice import kernel

    last = scores.shape[1] - 1
    charts = np.full((7, last + 1, last + 1), -np.inf)
    kernel("eisner_charts", last**3)(scores, most, charts)
    right, right_t, left, left_t, arc_right, arc_left_t, _ = charts

    def ways(node: Node) -> Any:
        kind, i, j = node
        if kind == ROOT:
            return scores[0] + left[0] + right[:, last], lambda r: ((LEFT, 0, r), (RIGHT, r, last))
        if i == j:
            return None
        if kind == RIGHT:
            values = arc_right[i, i + 1 : j + 1] + right_t[j, i + 1 : j + 1]
            return values, lambda k: ((ARC_RIGHT, i, i + 1 + k), (RIGHT, i + 1 + k, j))
        if kind == LEFT:
            return left[i, i:j] + arc_left_t[j, i:j], lambda k: ((LEFT, i, i + k), (ARC_LEFT, i + k, j))
        score = scores[i + 1, j] if kind == ARC_RIGHT else scores[j + 1, i]
        return right[i, i:j] + left_t[j, i + 1 : j + 1] + score, lambda k: ((RIGHT, i, i + k), (LEFT, i + k + 1, j))

    return ways


def _heads_of(tree: Tree, n: int) -> Ints:
    made = np.zeros(n, np.int64)
    for (kind, i, j), _ in tree:
        if kind in (ARC_RIGHT, ARC_LEFT):
            made[j if kind == ARC_RIGHT else i] = (i if kind == ARC_RIGHT else j) + 1
    return made


def spanning_tree(scores: Floats) -> Ints:
    """Heads of the heaviest tree with one root (Chu-Liu-Edmonds); scores as in `TreePosterior`."""
    n = scores.shape[1]
    s = np.full((n + 1, n + 1), -np.inf)
    s[:, 1:] = scores
    np.fill_diagonal(s, -np.inf)
    finite = s[np.isfinite(s)]
    s[0] -= 1.0 + 2.0 * n * float(np.ptp(finite)) if finite.size else 0.0  # a second arc from the root never pays
    return _arborescence(s)[1:]


def _arborescence(s: Floats) -> Ints:
    """Heads of the heaviest arborescence from node 0: a cycle of best heads is made one node, and opened again."""
    head = s.argmax(axis=0)
    head[0] = 0
    cycle = _cycle(head)
    if cycle is None:
        return head
    out = np.setdiff1d(np.arange(len(s)), cycle)
    c = len(out)
    entering, leaving = s[np.ix_(out, cycle)] - s[head[cycle], cycle], s[np.ix_(cycle, out)]
    small = np.full((c + 1, c + 1), -np.inf)
    small[:c, :c] = s[np.ix_(out, out)]
    small[:c, c], small[c, :c] = entering.max(axis=1), leaving.max(axis=0)
    above = _arborescence(small)
    for i in range(1, c):
        head[out[i]] = cycle[leaving[:, i].argmax()] if above[i] == c else out[above[i]]
    head[cycle[entering[above[c]].argmax()]] = out[above[c]]
    return head


def _cycle(head: Ints) -> Ints | None:
    """A cycle of heads, if there is one; node 0 is the root."""
    at = head
    for _ in range(len(head).bit_length()):
        at = at[at]  # twice as many steps up
    lost = np.flatnonzero(at)
    path = lost[:1].tolist()
    while path and (above := int(head[path[-1]])) not in path:
        path.append(above)
    return np.array(path[path.index(above) :]) if path else None


def is_tree(heads: Ints) -> bool:
    """Whether heads (0: the root) make a tree with one root; nothing is a tree too."""
    return not len(heads) or (int((heads == 0).sum()) == 1 and _cycle(np.append(0, heads)) is None)


def is_projective(heads: Ints) -> bool:
    """Whether no two arcs of a tree cross, and none passes over its root."""
    m, inner = np.arange(1, len(heads) + 1), heads > 0
    low, high = np.minimum(m, heads)[inner], np.maximum(m, heads)[inner]
    crossing = (low[:, None] < low) & (low < high[:, None]) & (high[:, None] < high)
    return not crossing.any() and not any(((low < r) & (r < high)).any() for r in m[~inner])
