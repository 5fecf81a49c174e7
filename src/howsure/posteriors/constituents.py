"""`ConstituentPosterior`: the posterior over the trees of a weighted grammar, as a thing you can ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._result import shown_as
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.chains.log_space import log_sum
from howsure.kernels.ragged import offsets
from howsure.posteriors.answers import Answers
from howsure.posteriors.forests import Node, Tree, k_best, sampled

Span = tuple[int, int, str]


@dataclass(frozen=True, eq=False)
class Grammar:
    """A grammar in Chomsky normal form: rules A → B C with log weights, in order of B, and log weights of A at the top.

    A symbol stands for a chain of labels from above to below: NP; S over VP (a unary rule of the treebank); or no label at
    all, where a rule with many parts was made binary. `tags` names the tag of symbols that stand for words.
    """

    symbols: tuple[str, ...]
    chains: tuple[tuple[str, ...], ...] = field(repr=False)
    tags: tuple[str, ...] = field(repr=False)
    rules: NDArray[np.int32] = field(repr=False)  # rows A, B, C
    weight: Floats = field(repr=False)
    root: Floats = field(repr=False)

    @staticmethod
    def of(
        rules: Iterable[tuple[str, str, str, float]],
        root: Mapping[str, float],
        *,
        words: Iterable[str] = (),
        chains: Mapping[str, Sequence[str]] | None = None,
    ) -> Grammar:
        """From rules (A, B, C, log weight), log weights of symbols at the top, the symbols that stand for words, and chains
        of labels: by default a symbol is its own label; one of a word, or whose name begins with @, has none."""
        given, tagged, known = list(rules), set(words), chains or {}
        names = tuple(sorted({s for r in given for s in r[:3]} | set(root) | tagged))
        number = {s: i for i, s in enumerate(names)}
        made = tuple(tuple(known.get(s, () if s[:1] == "@" or s in tagged else (s,))) for s in names)
        codes = np.array([[number[s] for s in r[:3]] for r in given], np.int32).reshape(-1, 3)
        weight, top = np.array([r[3] for r in given], np.float64), np.full(len(names), -np.inf)
        for s, w in root.items():
            top[number[s]] = w
        if not ((weight <= 1e100).all() and (top <= 1e100).all()):
            raise InputError("weights of a grammar must be finite numbers or -inf.")
        return Grammar.ordered(names, made, tuple(s if s in tagged else "" for s in names), codes, weight, top)

    @staticmethod
    def ordered(symbols: Any, chains: Any, tags: Any, rules: NDArray[Any], weight: Floats, root: Floats) -> Grammar:
        """The grammar of rules (rows A, B, C) in any order."""
        order = np.lexsort((rules[:, 2], rules[:, 0], rules[:, 1]))
        return Grammar(symbols, chains, tags, rules[order].astype(np.int32), weight[order], root)

    __repr__ = shown_as("{#symbols:,} symbols, {#weight:,} rules, {#labels} labels")

    def tempered(self, temperature: float) -> Grammar:
        """The grammar with all log weights divided by `temperature`."""
        return replace(self, weight=self.weight / temperature, root=self.root / temperature)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of all chains."""
        return tuple(sorted({x for c in self.chains for x in c}))

    @cached_property
    def number(self) -> dict[str, int]:
        """Numbers of symbols."""
        return {s: i for i, s in enumerate(self.symbols)}

    @cached_property
    def packed(self) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32], Floats]:
        """The rules as the kernels read them: where those of each B begin, their C, their A, their weights."""
        a, b, c = (np.ascontiguousarray(x) for x in self.rules.T)
        return np.searchsorted(b, np.arange(len(self.symbols) + 1)).astype(np.int64), c, a, self.weight

    @cached_property
    def by_parent(self) -> list[Ints]:
        """The rules of each A."""
        order = np.argsort(self.rules[:, 0], kind="stable")
        return np.split(order, np.searchsorted(self.rules[order, 0], np.arange(1, len(self.symbols))))

    @cached_property
    def kinds(self) -> dict[tuple[str, ...], int]:
        """Numbers of chains; that without labels is 0."""
        return {c: i for i, c in enumerate(sorted({(), *self.chains}))}

    @cached_property
    def kind(self) -> NDArray[np.int32]:
        """The number of each symbol's chain."""
        return np.array([self.kinds[c] for c in self.chains], np.int32)

    @cached_property
    def holds(self) -> Floats:
        """1 where a symbol's chain has a label, (symbols, labels)."""
        return np.array([[x in c for x in self.labels] for c in self.chains], float).reshape(len(self.symbols), -1)


@dataclass(frozen=True, slots=True)
class Constituents:
    """A tree of one sentence: labelled spans, each before those inside it; the tags of its words; and its log probability."""

    spans: tuple[Span, ...]
    tags: tuple[str, ...]
    log_prob: float

    __repr__ = shown_as("{#tags} words, {#spans} spans, log P {log_prob:.3f}")


@dataclass(frozen=True, eq=False)
class _Chart:
    """A filled chart of one sentence; it is also the forest of its trees."""

    grammar: Grammar
    n: int
    log: Floats
    active: NDArray[np.int32]
    counts: Ints

    def cell(self, i: int, j: int) -> int:
        return i * self.n - (i * (i - 1)) // 2 + (j - i - 1)

    @property
    def top(self) -> Floats:
        """Log weights of the symbols of the whole sentence."""
        return self.log[self.cell(0, self.n)] + self.grammar.root

    def ways(self, node: Node) -> Any:
        i, j, symbol = node
        if symbol < 0:
            return self.top, lambda way: self.parts(node, way)
        if j == i + 1:
            return None
        rules = self.grammar.by_parent[symbol]
        _, b, c = self.grammar.rules[rules].T
        pairs = [self.log[self.cell(i, k), b] + self.log[self.cell(k, j), c] for k in range(i + 1, j)]
        return (self.grammar.weight[rules] + np.stack(pairs)).ravel(), lambda way: self.parts(node, way)

    def parts(self, node: Node, way: int) -> tuple[Node, ...]:
        i, j, symbol = node
        if symbol < 0:
            return ((0, self.n, way),)
        rules = self.grammar.by_parent[symbol]
        k, (_, b, c) = i + 1 + way // len(rules), self.grammar.rules[rules[way % len(rules)]].tolist()
        return (i, k, b), (k, j, c)


class ConstituentPosterior:
    """P(tree | words) ∝ Π weights of its rules and words, of one sentence, by inside and outside sums.

    Parameters
    ----------
    grammar : Grammar
    words : list
        Of each word the log weights of its symbols: a mapping, or a pair of arrays (numbers, weights).

    Notes
    -----
    A sentence that the grammar cannot make has a log partition of -inf, marginals of 0, and a best tree without spans; one
    without words has a log partition of 0.

    Examples
    --------
    >>> g = Grammar.of([("S", "a", "S", -1.0), ("S", "S", "a", -1.0), ("S", "a", "a", 0.0)], {"S": 0.0}, words=["a"])
    >>> p = ConstituentPosterior(g, [{"a": 0.0}] * 3)
    >>> round(p.constituent(0, 2, "S"), 3)
    0.5
    >>> p.best().spans
    ((0, 3, 'S'), (1, 3, 'S'))
    """

    def __init__(self, grammar: Grammar, words: Sequence[Any]) -> None:
        self.grammar, self.n = grammar, len(words)
        self._words = [self._read(w) for w in words]

    def _read(self, word: Any) -> tuple[NDArray[np.int32], Floats]:
        if isinstance(word, Mapping):
            for s in word:
                _validate.known(s, self.grammar.number, f"`{s}` is no symbol of the grammar")
            word = [self.grammar.number[s] for s in word], list(word.values())
        weights = np.asarray(word[1], np.float64)
        if not (weights <= 1e100).all():
            raise InputError("weights of words must be finite or -inf.")
        return np.asarray(word[0], np.int32), weights

    __repr__ = shown_as("{n} words, {grammar!r}")

    def _filled(self, *, most: bool = False, wanted: NDArray[np.int32] | None = None) -> _Chart:
        from howsure.kernels.trees.choice import kernel

        g, n = self.grammar, self.n
        shape = n * (n + 1) // 2, len(g.symbols)
        made = _Chart(g, n, np.empty(shape), np.empty(shape, np.int32), np.empty(shape[0], np.int64))
        ptr = offsets([len(w[0]) for w in self._words])
        given = ptr, *(np.concatenate([w[k] for w in self._words]) for k in (0, 1))
        only = np.full(shape[0], -1, np.int32) if wanted is None else wanted
        fill = kernel("cky_inside", n**3 / 6 * (1 + len(g.weight) / 4) + made.log.size)
        fill(*g.packed, *given, g.kind, only, n, most, made.log, made.active, made.counts)
        return made

    @cached_property
    def _chart(self) -> _Chart:
        return self._filled()

    @cached_property
    def log_partition(self) -> float:
        """log Z: -inf if there is no tree, 0 if there are no words."""
        return float(log_sum(self._chart.top, 0)) if self.n else 0.0

    @property
    def has_tree(self) -> bool:
        """Whether there are words, and a tree of them."""
        return bool(self.n) and self.log_partition > -np.inf

    @cached_property
    def _marginals(self) -> tuple[Floats, float]:
        """P(symbol spans the words of a row), and E[Σ log weights of rules]."""
        from howsure.kernels.trees.choice import kernel

        c, q = self._chart, np.zeros(self._chart.log.shape)
        if not self.has_tree:
            return q, 0.0
        q[c.cell(0, self.n)] = np.exp(c.top - self.log_partition)
        share = kernel("cky_outside", self.n**3 / 6 * (1 + len(self.grammar.weight) / 4) + q.size)
        return q, float(share(*self.grammar.packed, self.n, c.log, c.active, c.counts, q))

    def marginals(self) -> Floats:
        """P(words i … j - 1 are a constituent with this label), (n, n + 1, labels); labels as in `grammar.labels`."""
        return self._spread(self.grammar.holds)

    def spans(self) -> Floats:
        """P(words i … j - 1 are a constituent, whatever its label), (n, n + 1)."""
        return self._spread(self.grammar.holds.max(axis=1, keepdims=True, initial=0.0))[..., 0]

    def _spread(self, holds: Floats) -> Floats:
        made = np.zeros((self.n, self.n + 1, holds.shape[1]))
        if self.n:
            i, last = np.triu_indices(self.n)
            made[i, last + 1] = np.minimum(self._marginals[0] @ holds, 1.0)
        return made

    def constituent(self, start: int, end: int, label: str | None = None) -> float:
        """P(words start … end - 1, counted from 0, are a constituent with this label, or with any)."""
        q = self.spans() if label is None else self.marginals()[..., self._label(label)]
        if not 0 <= start < end <= self.n:
            raise InputError(f"a span lies within the {self.n} words; got {start}, {end}.")
        return float(q[start, end])

    @cached_property
    def entropy(self) -> float:
        """Entropy of the posterior over derivations, in nats: log Z - E[log weight]; 0 without a tree."""
        if not self.has_tree:
            return 0.0
        q, expected = self._marginals
        used = [(q[self._chart.cell(0, self.n)], self.grammar.root)]
        used += [(q[self._chart.cell(i, i + 1), c], w) for i, (c, w) in enumerate(self._words)]
        expected += sum(float(np.sum(p[p > 0] * w[p > 0])) for p, w in used)
        return max(self.log_partition - expected, 0.0)

    def log_probability(self, spans: Iterable[Span]) -> float:
        """log P of a whole tree, given by its labelled spans (an outer one before those inside it), whatever its tags.

        -inf for what the grammar cannot make. Sums over all derivations with these spans.
        """
        chains: dict[tuple[int, int], tuple[str, ...]] = {}
        for start, end, label in spans:
            chains[start, end] = (*chains.get((start, end), ()), label)
        if not self.has_tree:
            return -np.inf if self.n or chains else 0.0
        a, z = np.triu_indices(self.n)
        wanted, z = np.zeros(len(a), np.int32), z + 1
        for (i, j), chain in chains.items():
            if chain not in self.grammar.kinds or not 0 <= i < j <= self.n:
                return -np.inf
            wanted[((a < i) & (i < z) & (z < j)) | ((i < a) & (a < j) & (j < z))] = len(self.grammar.kinds)  # crosses
        for (i, j), chain in chains.items():
            if not wanted[self._chart.cell(i, j)]:
                wanted[self._chart.cell(i, j)] = self.grammar.kinds[chain]
        return min(float(log_sum(self._filled(wanted=wanted).top, 0)) - self.log_partition, 0.0)

    def best(self) -> Constituents:
        """The tree of the most probable derivation."""
        return self.k_best(1)[0]

    def k_best(self, k: int) -> list[Constituents]:
        """Trees of the k most probable derivations, best first, each once; one without spans where there is no tree."""
        if not self.has_tree:
            likely = tuple(self.grammar.tags[c[w.argmax()]] if len(c) else "" for c, w in self._words)
            return [Constituents((), likely, -np.inf if likely else 0.0)]
        found = k_best(self._filled(most=True).ways, (0, self.n, -1), _validate.count(k, "k"), 2 * self.n)
        trees: dict[tuple[Span, ...], Constituents] = {}
        for _, tree in found:
            trees.setdefault((made := self._tree(tree)).spans, made)
        return list(trees.values())

    def _tree(self, tree: Tree) -> Constituents:
        leaves = [part for node, way in tree for part in self._chart.parts(node, way) if part[1] == part[0] + 1]
        nodes = sorted({*leaves, *(node for node, _ in tree if node[2] >= 0)}, key=lambda x: (x[0], -x[1]))
        spans = tuple((i, j, x) for i, j, symbol in nodes for x in self.grammar.chains[symbol])
        return Constituents(spans, tuple(self.grammar.tags[x[2]] for x in sorted(leaves)), self.log_probability(spans))

    def mbr(self, price: float = 0.0) -> Constituents:
        """The tree of least risk: the most expected right spans, less `price` for each span; labels above ½ are all kept.

        0 maximises the expected recall (Goodman 1996), 0.5 minimises the expected number of missing and wrong spans.
        """
        if not self.has_tree or not self.grammar.labels:
            return self.best()
        q = self.marginals()
        gain = np.maximum(q.max(axis=2) - price, 0.0)
        best, split = np.zeros((self.n, self.n + 1)), np.zeros((self.n, self.n + 1), np.int64)
        for width in range(1, self.n + 1):
            for i in range(self.n - width + 1):
                j = i + width
                if width > 1:
                    sums = best[i, i + 1 : j] + best[i + 1 : j, j]
                    split[i, j], best[i, j] = i + 1 + sums.argmax(), sums.max()
                best[i, j] += gain[i, j]
        spans: list[Span] = []
        waiting = [(0, self.n)]
        while waiting:
            i, j = waiting.pop()
            order = np.argsort(-q[i, j], kind="stable").tolist() if gain[i, j] > 0.0 else []
            spans += [(i, j, self.grammar.labels[c]) for k, c in enumerate(order) if k == 0 or q[i, j, c] > 0.5]
            if j > i + 1:
                waiting += [(int(split[i, j]), j), (i, int(split[i, j]))]
        return Constituents(tuple(spans), self.best().tags, self.log_probability(spans))

    def samples(self, n: int, rng: np.random.Generator | int | None = 0) -> list[Constituents]:
        """Exact samples of derivations, as trees."""
        n = _validate.count(n, "n")
        if not self.has_tree:
            return self.k_best(1) * n
        return [self._tree(t) for t in sampled(self._chart.ways, (0, self.n, -1), n, _validate.generator(rng))]

    def tempered(self, temperature: float) -> ConstituentPosterior:
        """The posterior with all log weights divided by `temperature`: above 1 it is less sure."""
        t = _validate.temperature(temperature)
        return ConstituentPosterior(self.grammar.tempered(t), [(c, w / t) for c, w in self._words])

    def span_is(self, label: str | None = None, *, least: float = 1e-3) -> Answers:
        """Is this span a constituent `label` (or any)? Asked of every span whose probability is `least` or more.

        Gold is an array of rows (start, end, label's number).
        """
        code = None if label is None else self._label(label)
        q = self.spans() if code is None else self.marginals()[..., code]
        i, j = np.nonzero(q >= least)

        def truth(gold: Ints) -> NDArray[np.bool_]:
            given = np.asarray(gold, np.int64).reshape(-1, 3)
            is_gold = np.zeros((self.n, self.n + 1), bool)
            chosen = given if code is None else given[given[:, 2] == code]
            is_gold[chosen[:, 0], chosen[:, 1]] = True
            return is_gold[i, j]

        asked = "constituent" if label is None else f"constituent is {label}"
        return Answers(asked, i, j, np.zeros_like(i), q[i, j], truth)

    def _label(self, label: str) -> int:
        labels = self.grammar.labels
        return labels.index(_validate.known(label, labels, f"`{label}` is none of the labels"))
