"""`TreePosterior`: the posterior over dependency trees whose arcs are scored one by one, as a thing you can ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.threads import for_each
from howsure.posteriors.answers import Answers
from howsure.posteriors.forests import Node, Tree, Ways, k_best, sampled

# log P(label | arc), (arcs, labels), of arcs given by sentence, head and dependent
Labels = Callable[[Ints, Ints, Ints], Floats]
WALK = 200  # steps of a random walk for each word: longer ones are given up, and heads drawn one by one
ROOT, RIGHT, LEFT, ARC_RIGHT, ARC_LEFT = range(5)


@dataclass(frozen=True, slots=True)
class BestTrees:
    """A tree of each sentence: `heads` of all words (0: the root; else numbers from 1), `labels` by number if the posterior
    has any, and the log probability of each tree without its labels."""

    heads: Ints
    log_prob: Floats
    labels: Ints | None = None

    def __repr__(self) -> str:
        return f"BestTrees({len(self.log_prob):,} sentences, {len(self.heads):,} words)"


class TreePosterior:
    """P(tree | x) ∝ exp Σ scores[head, dependent] over trees with one root, projective or not, of many sentences.

    Parameters
    ----------
    scores : array or list of arrays
        For each sentence log potentials of its arcs, shape (n + 1, n), or with labels (n + 1, n, L): the head is the root
        (row 0) or a word (1 … n), the dependent a word (column). -inf forbids an arc; a word's arc to itself is ignored.
    projective : bool
        Whether only trees without crossing arcs are possible.
    labels : names of the L labels
        By default their numbers.

    Notes
    -----
    Without `projective`, sums over trees follow the matrix-tree theorem in a form that subtracts nothing (O(n³) a
    sentence); with it, Eisner's algorithm (O(n³)). Labels are independent given the tree.

    Examples
    --------
    >>> import numpy as np
    >>> t = TreePosterior(np.log([[0.7, 0.3], [1.0, 0.5], [0.25, 1.0]]))
    >>> t.marginals(0).round(3).tolist()
    [[0.824, 0.176], [0.0, 0.824], [0.176, 0.0]]
    >>> t.best().heads.tolist()
    [0, 1]
    """

    def __init__(self, scores: Any, *, projective: bool = False, labels: Sequence[str] | None = None) -> None:
        one = isinstance(scores, np.ndarray) and scores.dtype != object and scores.ndim in (2, 3)
        given = [np.asarray(s, np.float64) for s in ([scores] if one else scores)]
        for i, s in enumerate(given):
            if s.ndim not in (2, 3) or s.shape[0] != s.shape[1] + 1 or s.ndim != given[0].ndim:
                raise InputError(f"scores of sentence {i} must have shape (n + 1, n) or (n + 1, n, L); got {s.shape}.")
            bad = np.isnan(s) | (s > 1e100) | ((s < -1e100) & ~np.isneginf(s))
            if bad.any():
                at = tuple(int(x) for x in np.argwhere(bad)[0])
                raise InputError(f"scores of sentence {i} must be finite or -inf; got {s[at]:g} at {at}.")
        self.projective, self.labels = bool(projective), ()
        self._labels: Labels | None = None
        if given and given[0].ndim == 3:
            sizes = {s.shape[2] for s in given}
            names = tuple(str(x) for x in labels) if labels is not None else tuple(str(i) for i in range(min(sizes)))
            if sizes != {len(names)} or len(set(names)) < len(names) or not names:
                raise InputError(f"every sentence must have scores of {len(names)} labels, each of another name.")
            self.labels, self._labels = names, _label_table(given)
            given = [_log_sum(s) for s in given]
        elif labels is not None:
            raise InputError("`labels=` names the labels of scores of shape (n + 1, n, L).")
        self.lengths = np.array([s.shape[1] for s in given], np.int64)
        self._scores = np.concatenate([np.zeros(0), *(s.ravel() for s in given)])

    @classmethod
    def of_flat(
        cls, scores: Floats, lengths: Ints, *, projective: bool, names: tuple[str, ...] = (), labels: Labels | None = None
    ) -> TreePosterior:
        """From matrices one after another, in one array, and a function for the labels' log probabilities given arcs."""
        made = cls.__new__(cls)
        made._scores, made.lengths, made.projective, made.labels, made._labels = scores, lengths, projective, names, labels
        return made

    def __repr__(self) -> str:
        kind = "projective" if self.projective else "non-projective"
        return f"TreePosterior({self.n_sentences:,} sentences, {self.n_tokens:,} words, {kind})"

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.lengths)

    @property
    def n_tokens(self) -> int:
        """Number of words."""
        return int(self.lengths.sum())

    @cached_property
    def starts(self) -> Ints:
        """The first word of each sentence, and the number of words."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @cached_property
    def sentence(self) -> Ints:
        """The number of each word's sentence."""
        return np.repeat(np.arange(self.n_sentences), self.lengths)

    @cached_property
    def _at(self) -> Ints:
        return np.concatenate([[0], np.cumsum(self.lengths * (self.lengths + 1))]).astype(np.int64)

    def scores(self, sentence: int) -> Floats:
        """Log potentials of one sentence's arcs, labels summed, (n + 1, n)."""
        return self._one(self._scores, sentence)

    def _one(self, flat: Floats, sentence: int) -> Floats:
        if not -self.n_sentences <= sentence < self.n_sentences:
            raise InputError(f"`sentence` must be below {self.n_sentences}; got {sentence}.")
        s = sentence % self.n_sentences
        n = int(self.lengths[s])
        return flat[self._at[s] : self._at[s + 1]].reshape(n + 1, n)

    # -- exact numbers -------------------------------------------------------------------------------------------

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        q, log_z = _summed(self._scores, self.lengths, self.projective)
        if np.isneginf(log_z).any():
            raise InputError(f"no tree is possible for sentence {int(np.argmin(log_z))}: all are forbidden.")
        return q, log_z

    @property
    def log_partition(self) -> Floats:
        """log Z of each sentence; 0 of an empty one."""
        return self._sums[1]

    def marginals(self, sentence: int) -> Floats:
        """P(head → dependent) of one sentence, (n + 1, n)."""
        return self._one(self._sums[0], sentence)

    def labelled_marginals(self, sentence: int) -> Floats:
        """P(head → dependent with label) of one sentence, (n + 1, n, L)."""
        q = self.marginals(sentence)
        h, m = (x.ravel() for x in np.indices(q.shape))
        return q[..., None] * np.exp(self.label_log_prob(np.full(q.size, sentence), h, m + 1)).reshape(*q.shape, -1)

    def label_log_prob(self, sentence: Ints, head: Ints, dependent: Ints) -> Floats:
        """log P(label | arc) of arcs, (arcs, L)."""
        if self._labels is None:
            raise InputError("this posterior has no labels: its scores are of shape (n + 1, n).")
        return self._labels(sentence, head, dependent)

    @cached_property
    def entropy(self) -> Floats:
        """Entropy of each sentence's posterior over trees (with their labels, if any), in nats: log Z - E[score] + E[H(labels)]."""
        q, log_z = self._sums
        each = np.where(q > 0, q * np.where(q > 0, self._scores, 0.0), 0.0)
        if self._labels is not None:
            for a, z in self._parts():
                p = self.label_log_prob(*self._arcs(a, z))
                each[a:z] += q[a:z] * np.sum(np.exp(p) * np.where(np.isneginf(p), 0.0, p), axis=1)
        return np.maximum(log_z - _sums_between(each, self._at), 0.0)

    def _parts(self) -> list[tuple[int, int]]:
        size, part = len(self._scores), max(1, 2_000_000 // max(len(self.labels), 1))
        return [(a, min(a + part, size)) for a in range(0, size, part)]

    def _arcs(self, a: int, z: int) -> tuple[Ints, Ints, Ints]:
        """Sentence, head and dependent of places of the flat arrays."""
        place = np.arange(a, z)
        s = np.searchsorted(self._at, place, side="right") - 1
        h, m = np.divmod(place - self._at[s], np.maximum(self.lengths[s], 1))
        return s, h, m + 1

    def _places(self, heads: Any) -> Ints:
        """Places in the flat arrays of each word's arc from its head."""
        h = np.asarray(heads)
        if h.shape != (self.n_tokens,) or h.dtype.kind not in "iu":
            raise InputError(f"a head for each of {self.n_tokens:,} words is needed, a whole number.")
        n = self.lengths[self.sentence]
        if ((h < 0) | (h > n)).any():
            raise InputError("heads must be 0 (the root) or numbers of the sentence's words, from 1.")
        place = np.arange(self.n_tokens) - self.starts[self.sentence]
        return self._at[self.sentence] + h * n + place

    def log_probability(self, heads: Any, labels: Any = None) -> Floats:
        """log P of a given tree of each sentence (and its labels, numbers; -1 is a label that the posterior has not).

        -inf for what is no tree, has two roots, or crosses where the posterior is projective.
        """
        places = self._places(heads)
        each = self._scores[places]
        if labels is not None:
            codes = np.asarray(labels)
            p = self.label_log_prob(self.sentence, np.asarray(heads), np.arange(self.n_tokens) - self.starts[self.sentence] + 1)
            each = each + np.where(codes < 0, -np.inf, p[np.arange(len(codes)), np.maximum(codes, 0)])
        made = _sums_between(each, self.starts) - self.log_partition
        h = np.asarray(heads)
        for s in range(self.n_sentences):
            one = h[self.starts[s] : self.starts[s + 1]]
            if not is_tree(one) or (self.projective and not is_projective(one)):
                made[s] = -np.inf
        return made

    def attachment(self, heads: Any) -> Floats:
        """P(head) of each word's given head; its mean is the expected unlabelled attachment score of these heads."""
        return self._sums[0][self._places(heads)]

    def _share(self, sentence: int, scores: Floats) -> float:
        log_z = _summed(np.ascontiguousarray(scores).ravel(), np.array([scores.shape[1]]), self.projective, False)[1][0]
        return float(np.exp(min(log_z - self.log_partition[sentence], 0.0)))

    def arcs_probability(self, sentence: int, arcs: Sequence[tuple[int, int]]) -> float:
        """P(all these arcs (head, dependent) are in the tree)."""
        s = self.scores(sentence).copy()
        for h, m in self._checked(sentence, arcs):
            kept = s[h, m - 1]
            s[:, m - 1] = -np.inf
            s[h, m - 1] = kept
        return self._share(sentence, s)

    def path_probability(self, sentence: int, path: Sequence[int]) -> float:
        """P(the path of arcs path[0] → path[1] → … is in the tree); 0 is the root."""
        return self.arcs_probability(sentence, list(zip(path[:-1], path[1:], strict=True)))

    def subtree_probability(self, sentence: int, top: int, arcs: Sequence[tuple[int, int]]) -> float:
        """P(what hangs from the word `top` is exactly these arcs)."""
        s = self.scores(sentence).copy()
        checked = self._checked(sentence, arcs)
        heads = {m: h for h, m in checked}
        inside = {top, *heads}
        if len(heads) < len(checked) or top in heads or not all(h in inside for h in heads.values()):
            raise InputError(f"these arcs are no tree under word {top}.")
        for m in range(1, s.shape[1] + 1):
            for h in range(s.shape[0]):
                if (m in heads and heads[m] != h) or (m not in heads and h in inside):
                    s[h, m - 1] = -np.inf
        return self._share(sentence, s)

    def span_probability(self, sentence: int, start: int, end: int) -> float:
        """P(words start … end - 1, counted from 0, are one word and everything under it).

        The words inside are a tree under each head outside; seen from outside they are one word without dependents.
        """
        s = self.scores(sentence)
        n = s.shape[1]
        if not 0 <= start < end <= n:
            raise InputError(f"a span lies within the {n} words of sentence {sentence}; got {start}, {end}.")
        inner = s[start + 1 : end + 1, start:end]
        out = np.array([h for h in range(n + 1) if not start < h <= end])
        each = np.stack([np.vstack([s[h, start:end][None], inner]) for h in out])
        size = end - start
        lengths = np.full(len(out), size)
        whole = _summed(np.ascontiguousarray(each).ravel(), lengths, self.projective, False)[1]
        kept = [m for m in range(n) if not start <= m < end]
        outer = np.full((n - size + 2, n - size + 1), -np.inf)
        rows = np.array([h if h <= start else h - size + 1 for h in out])
        columns = [m if m < start else m - size + 1 for m in kept]
        outer[np.ix_(rows, columns)] = s[np.ix_(out, kept)]
        outer[rows, start] = whole
        return self._share(sentence, outer)

    def _checked(self, sentence: int, arcs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        n = int(self.lengths[sentence])
        for h, m in arcs:
            if not (0 <= h <= n and 1 <= m <= n and h != m):
                raise InputError(f"an arc goes from 0 … {n} to another word 1 … {n}; got {h} → {m}.")
        return [(int(h), int(m)) for h, m in arcs]

    # -- trees ---------------------------------------------------------------------------------------------------

    def best(self) -> BestTrees:
        """The most probable tree of each sentence: of all spanning trees, or projective ones."""
        return self._found(self._scores)

    def mbr(self) -> BestTrees:
        """The tree of the largest expected attachment score of each sentence: of least risk."""
        return self._found(self._sums[0])

    def _found(self, weights: Floats) -> BestTrees:
        found = [self._heaviest(self._one(weights, s)) for s in range(self.n_sentences)]
        heads = np.concatenate([np.zeros(0, np.int64), *found])
        labels = None
        if self._labels is not None:
            place = np.arange(self.n_tokens) - self.starts[self.sentence] + 1
            labels = np.concatenate(
                [np.zeros(0, np.int64)]
                + [self.label_log_prob(self.sentence[a : a + 10_000], heads[a : a + 10_000], place[a : a + 10_000]).argmax(axis=1)
                   for a in range(0, self.n_tokens, 10_000)]
            )  # fmt: skip
        return BestTrees(heads, _sums_between(self._scores[self._places(heads)], self.starts) - self.log_partition, labels)

    def _heaviest(self, scores: Floats) -> Ints:
        if not scores.size:
            return np.zeros(0, np.int64)
        if not self.projective:
            return spanning_tree(scores)
        forest = _Projective(scores, most=True)
        return forest.heads(k_best(forest, (ROOT, 0, 0), 1, 2 * len(scores))[0][1])

    def k_best(self, sentence: int, k: int) -> list[BestTrees]:
        """The k most probable trees of one sentence, best first; fewer where there are not as many. Projective only."""
        if not self.projective:
            raise InputError("the k best trees are found for projective posteriors: give `projective=True`.")
        s, k = self.scores(sentence), _validate.count(k, "k")
        if not s.size:
            return [BestTrees(np.zeros(0, np.int64), np.zeros(1))]
        forest = _Projective(s, most=True)
        log_z = self.log_partition[sentence]
        return [BestTrees(forest.heads(t), np.array([w - log_z])) for w, t in k_best(forest, (ROOT, 0, 0), k, 2 * len(s))]

    def samples(self, n: int, rng: np.random.Generator | int | None = 0) -> Ints:
        """Exact samples of trees: heads, (n, words). Projective ones from the chart, others by Wilson's walks.

        A sentence's random numbers depend on the seed and the sentence's number only.
        """
        seed, n = int(_validate.generator(rng).integers(0, 2**63)), _validate.count(n, "n")
        made = np.zeros((n, self.n_tokens), np.int64)
        for s in range(self.n_sentences):
            if self.lengths[s]:
                own, scores = np.random.default_rng([seed, s]), self.scores(s)
                out = made[:, self.starts[s] : self.starts[s + 1]]
                if self.projective:
                    forest = _Projective(scores, most=False)
                    for i, tree in enumerate(sampled(forest, (ROOT, 0, 0), n, own)):
                        out[i] = forest.heads(tree)
                else:
                    self._walked(scores, self.marginals(s), own, out)
        return made

    def _walked(self, scores: Floats, q: Floats, rng: np.random.Generator, out: Ints) -> None:
        from howsure.kernels.trees.choice import kernel

        n = scores.shape[1]
        inner = np.where(np.eye(n, dtype=bool), -np.inf, scores[1:])
        top = inner.max(axis=0)
        weights = np.ascontiguousarray(np.cumsum(np.exp(inner - np.where(np.isneginf(top), 0.0, top)), axis=0))
        roots = np.searchsorted(np.cumsum(q[0]), rng.random(len(out)) * q[0].sum(), side="right")
        walk, found = kernel("walks", len(out) * n * 10), np.zeros(n, np.int64)
        for i in range(len(out)):
            if n > 1 and walk(weights, int(roots[i]), rng.random(WALK * n), WALK * n, found):
                out[i] = found
            elif n > 1:
                out[i] = self._one_by_one(scores, rng)

    def _one_by_one(self, scores: Floats, rng: np.random.Generator) -> Ints:
        """A tree whose heads are drawn word by word, each given those before."""
        s, made = scores.copy(), np.zeros(scores.shape[1], np.int64)
        for m in range(s.shape[1]):
            q = _summed(s.ravel(), np.array([s.shape[1]]), False)[0].reshape(s.shape)[:, m]
            made[m] = np.searchsorted(np.cumsum(q), rng.random() * q.sum(), side="right")
            kept = s[made[m], m]
            s[:, m] = -np.inf
            s[made[m], m] = kept
        return made

    def tempered(self, temperature: float) -> TreePosterior:
        """The posterior with all log potentials, of labels too, divided by `temperature`: above 1 it is less sure."""
        t = _validate.temperature(temperature)
        labels, scores = self._labels, self._scores / t
        if labels is None:
            return TreePosterior.of_flat(scores, self.lengths, projective=self.projective)
        for a, z in self._parts():
            scores[a:z] += _log_sum(labels(*self._arcs(a, z)) / t)

        def divided(sentence: Ints, head: Ints, dependent: Ints) -> Floats:
            p = labels(sentence, head, dependent) / t
            return p - _log_sum(p)[:, None]

        return TreePosterior.of_flat(
            scores, self.lengths, projective=self.projective, names=self.labels, labels=divided
        )

    # -- questions -----------------------------------------------------------------------------------------------

    def arc_is(self, *, least: float = 1e-3) -> Answers:
        """Is this the arc to the word? Asked of every arc whose probability is `least` or more; gold: heads of all words."""
        place = np.flatnonzero(self._sums[0] >= least)
        s, h, m = self._arcs_at(place)
        word = self.starts[s] + m - 1
        return Answers("arc", word, word + 1, s, self._sums[0][place], lambda gold: np.asarray(gold)[word] == h)

    def _arcs_at(self, place: Ints) -> tuple[Ints, Ints, Ints]:
        s = np.searchsorted(self._at, place, side="right") - 1
        h, m = np.divmod(place - self._at[s], np.maximum(self.lengths[s], 1))
        return s, h, m + 1

    def label_marginals(self, least: float = 1e-6) -> Floats:
        """P(label of the word's arc), (words, L), whatever its head; arcs below `least` count by their share."""
        q = self._sums[0]
        made = np.zeros((self.n_tokens, len(self.labels)))
        place = np.flatnonzero(q >= least)
        for a in range(0, len(place), 20_000):
            s, h, m = self._arcs_at(place[a : a + 20_000])
            np.add.at(made, self.starts[s] + m - 1, q[place[a : a + 20_000], None] * np.exp(self.label_log_prob(s, h, m)))
        return made / made.sum(axis=1, keepdims=True)

    def label_is(self, label: str) -> Answers:
        """Is the label of this word's arc `label`? Asked of every word; gold: numbers of labels."""
        if label not in self.labels:
            raise InputError(f"`{label}` is none of the labels.{_validate.nearest(label, self.labels)}")
        code, words = self.labels.index(label), np.arange(self.n_tokens)
        q = np.ascontiguousarray(np.minimum(self.label_marginals()[:, code], 1.0))
        return Answers(f"label is {label}", words, words + 1, self.sentence, q, lambda gold: np.asarray(gold) == code)


class _Projective:
    """Eisner's chart of one sentence as a forest."""

    def __init__(self, scores: Floats, *, most: bool) -> None:
        from howsure.kernels.trees.choice import kernel

        n = scores.shape[1]
        self.scores, self.charts = scores, np.full((7, n, n), -np.inf)
        kernel("eisner_charts", n**3)(np.ascontiguousarray(scores), most, self.charts)

    def ways(self, node: Node) -> Ways:
        kind, i, j = node
        right, right_t, left, left_t, arc_right, arc_left_t, _ = self.charts
        if kind == ROOT:
            n = self.scores.shape[1]
            return self.scores[0] + left[0] + right[:, n - 1], lambda r: ((LEFT, 0, r), (RIGHT, r, n - 1))
        if i == j:
            return None
        if kind == RIGHT:
            values = arc_right[i, i + 1 : j + 1] + right_t[j, i + 1 : j + 1]
            return values, lambda k: ((ARC_RIGHT, i, i + 1 + k), (RIGHT, i + 1 + k, j))
        if kind == LEFT:
            return left[i, i:j] + arc_left_t[j, i:j], lambda k: ((LEFT, i, i + k), (ARC_LEFT, i + k, j))
        score = self.scores[i + 1, j] if kind == ARC_RIGHT else self.scores[j + 1, i]
        return right[i, i:j] + left_t[j, i + 1 : j + 1] + score, lambda k: ((RIGHT, i, i + k), (LEFT, i + k + 1, j))

    def heads(self, tree: Tree) -> Ints:
        made = np.zeros(self.scores.shape[1], np.int64)
        for (kind, i, j), _ in tree:
            if kind == ARC_RIGHT:
                made[j] = i + 1
            elif kind == ARC_LEFT:
                made[i] = j + 1
        return made


def _summed(scores: Floats, lengths: Ints, projective: bool, wanted: bool = True) -> tuple[Floats, Floats]:
    """Marginals (if wanted) and log Z."""
    from howsure.kernels.trees.choice import kernel

    n = np.asarray(lengths, np.int64)
    at = np.concatenate([[0], np.cumsum(n * (n + 1))]).astype(np.int64)
    q, log_z = np.zeros(len(scores) if wanted else 0), np.empty(len(n))
    run = kernel("projective" if projective else "spanning", float((n.astype(float) ** 3).sum()))
    flat = np.ascontiguousarray(scores)

    def work(first: int, after: int) -> None:
        run(flat, at, n, first, after, wanted, q, log_z)

    for_each(work, np.concatenate([[0], np.cumsum(n)]))
    return q, log_z


def _log_sum(scores: Floats) -> Floats:
    """log Σ exp over the last axis; -inf where all are."""
    top = scores.max(axis=-1)
    shift = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        made: Floats = np.log(np.exp(scores - shift[..., None]).sum(axis=-1)) + shift
    return made


def _label_table(given: list[Floats]) -> Labels:
    def labels(sentence: Ints, head: Ints, dependent: Ints) -> Floats:
        made = np.array([given[s][h, m - 1] for s, h, m in zip(sentence, head, dependent, strict=True)])
        made = made.reshape(len(sentence), given[0].shape[2])
        total = _log_sum(made)[:, None]
        return np.where(np.isneginf(total), -np.log(made.shape[1]), made - np.where(np.isneginf(total), 0.0, total))

    return labels


def _sums_between(values: Floats, at: Ints) -> Floats:
    """Σ of each run at[i] … at[i + 1]; 0 of an empty one."""
    made = np.zeros(len(at) - 1)
    full = np.flatnonzero(np.diff(at) > 0)
    if len(full):
        made[full] = np.add.reduceat(values, at[full])
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
    """Heads of the heaviest arborescence from node 0: cycles of best heads are made one node, and opened again."""
    head = s.argmax(axis=0)
    head[0] = 0
    cycle = _cycle(head)
    if cycle is None:
        return head
    inside = np.zeros(len(s), bool)
    inside[cycle] = True
    out = np.flatnonzero(~inside)
    kept = s[head[cycle], cycle]
    c = len(out)
    small = np.full((c + 1, c + 1), -np.inf)
    small[:c, :c] = s[np.ix_(out, out)]
    entering = s[np.ix_(out, cycle)] - kept
    leaving = s[np.ix_(cycle, out)]
    small[:c, c], small[c, :c] = entering.max(axis=1), leaving.max(axis=0)
    small[c, 0] = -np.inf
    above = _arborescence(small)
    made = head.copy()
    for i in range(1, c):
        made[out[i]] = cycle[leaving[:, i].argmax()] if above[i] == c else out[above[i]]
    broken = cycle[entering[above[c]].argmax()]
    made[broken] = out[above[c]]
    return made


def _cycle(head: Ints) -> Ints | None:
    colour = np.zeros(len(head), np.int64)
    colour[0] = -1
    for start in range(1, len(head)):
        i = start
        while colour[i] == 0:
            colour[i] = start
            i = int(head[i])
        if colour[i] == start:
            members = [i]
            while int(head[members[-1]]) != i:
                members.append(int(head[members[-1]]))
            return np.array(members)
    return None


def is_tree(heads: NDArray[Any]) -> bool:
    """Whether heads (0: the root) make a tree with one root; nothing is a tree too."""
    if not len(heads):
        return True
    with_root = np.concatenate([[0], heads]).astype(np.int64)
    return int((heads == 0).sum()) == 1 and _cycle(with_root) is None


def is_projective(heads: NDArray[Any]) -> bool:
    """Whether no two arcs of a tree cross, the arc from the root (before the first word) left out."""
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(np.asarray(heads).tolist(), 1) if h > 0]
    root = int(np.argmax(np.asarray(heads) == 0)) + 1 if len(heads) else 0
    spans = np.array(arcs or [(0, 0)])
    crossing = any(((spans[:, 0] < a) & (a < spans[:, 1]) & (spans[:, 1] < z)).any() for a, z in arcs)
    return not crossing and not any(a < root < z for a, z in arcs)
