"""`ConstituentPosterior`: the posterior over the trees of a weighted grammar, as a thing you can ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.posteriors.answers import Answers
from howsure.posteriors.forests import Node, Tree, Ways, k_best, sampled

PROBABILITY, LOG, MOST = 0, 1, 2  # ways of filling a chart, as in the kernels
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
    parent: NDArray[np.int32] = field(repr=False)
    left: NDArray[np.int32] = field(repr=False)
    right: NDArray[np.int32] = field(repr=False)
    weight: Floats = field(repr=False)
    root: Floats = field(repr=False)

    @staticmethod
    def of(
        rules: Iterable[tuple[str, str, str, float]],
        root: Mapping[str, float],
        *,
        chains: Mapping[str, Sequence[str]] | None = None,
        words: Iterable[str] = (),
    ) -> Grammar:
        """From rules (A, B, C, log weight), log weights of symbols at the top, the chain of labels of each symbol (by
        default itself; none if its name begins with @) and the symbols that stand for words, whose chains are empty by default."""
        given, tagged = list(rules), set(words)
        names = tuple(sorted({s for r in given for s in r[:3]} | set(root) | tagged))
        number = {s: i for i, s in enumerate(names)}
        known = {} if chains is None else chains
        made = tuple(tuple(known.get(s, () if s[:1] == "@" or s in tagged else (s,))) for s in names)
        codes = np.array([[number[s] for s in r[:3]] for r in given], np.int32).reshape(-1, 3)
        weight, top = np.array([r[3] for r in given], np.float64), np.full(len(names), -np.inf)
        for s, w in root.items():
            top[number[s]] = w
        if np.isnan(weight).any() or np.isnan(top).any() or (weight > 1e100).any() or (top > 1e100).any():
            raise InputError("weights of a grammar must be finite numbers or -inf.")
        return Grammar(names, made, tuple(s if s in tagged else "" for s in names), *codes.T, weight, top).ordered()

    def ordered(self) -> Grammar:
        """The same grammar, its rules in order of B."""
        order = np.lexsort((self.right, self.parent, self.left))
        columns = {n: np.ascontiguousarray(getattr(self, n)[order], np.int32) for n in ("parent", "left", "right")}
        return replace(self, **columns, weight=np.ascontiguousarray(self.weight[order], np.float64))

    def __repr__(self) -> str:
        return f"Grammar({len(self.symbols):,} symbols, {len(self.weight):,} rules, {len(self.labels)} labels)"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of all chains."""
        return tuple(sorted({x for c in self.chains for x in c}))

    @cached_property
    def number(self) -> dict[str, int]:
        """Numbers of symbols."""
        return {s: i for i, s in enumerate(self.symbols)}

    @cached_property
    def ptr(self) -> Ints:
        """Where the rules of each B begin."""
        return np.searchsorted(self.left, np.arange(len(self.symbols) + 1)).astype(np.int64)

    @cached_property
    def by_parent(self) -> list[Ints]:
        """The rules of each A."""
        order = np.argsort(self.parent, kind="stable")
        return np.split(order, np.searchsorted(self.parent[order], np.arange(1, len(self.symbols))))

    @cached_property
    def kinds(self) -> dict[tuple[str, ...], int]:
        """Numbers of chains; that without labels is 0."""
        return {c: i for i, c in enumerate(sorted({(), *self.chains}))}

    @cached_property
    def kind(self) -> NDArray[np.int32]:
        """The number of each symbol's chain."""
        return np.array([self.kinds[c] for c in self.chains], np.int32)

    @cached_property
    def holds(self) -> NDArray[np.bool_]:
        """Whether a symbol's chain has a label, (symbols, labels)."""
        return np.array([[x in c for x in self.labels] for c in self.chains], bool).reshape(len(self.symbols), -1)


@dataclass(frozen=True, slots=True)
class Constituents:
    """A tree of one sentence: labelled spans, each before those inside it; the tags of its words; and its log probability."""

    spans: tuple[Span, ...]
    tags: tuple[str, ...]
    log_prob: float

    def __repr__(self) -> str:
        return f"Constituents({len(self.tags)} words, {len(self.spans)} spans, log P {self.log_prob:.3f})"


@dataclass(frozen=True, eq=False)
class _Chart:
    """A filled chart of one sentence; it is also the forest of its trees."""

    grammar: Grammar
    n: int
    way: int
    values: Floats
    scale: Floats
    active: NDArray[np.int32]
    counts: Ints

    def log(self, i: int, j: int) -> Floats:
        row = self.cell(i, j)
        if self.way != PROBABILITY:
            return self.values[row]
        with np.errstate(divide="ignore"):
            made: Floats = np.log(self.values[row]) + self.scale[row]
        return made

    def cell(self, i: int, j: int) -> int:
        return i * self.n - (i * (i - 1)) // 2 + (j - i - 1)

    @property
    def top(self) -> Floats:
        """Log weights of the symbols of the whole sentence."""
        return self.log(0, self.n) + self.grammar.root

    def ways(self, node: Node) -> Ways:
        i, j, symbol = node
        if symbol >= 0 and j == i + 1:
            return None
        if symbol < 0:
            return self.top, lambda way: self.parts(node, way)
        rules = self.grammar.by_parent[symbol]
        b, c = self.grammar.left[rules], self.grammar.right[rules]
        values = self.grammar.weight[rules] + np.stack([self.log(i, k)[b] + self.log(k, j)[c] for k in range(i + 1, j)])
        return values.ravel(), lambda way: self.parts(node, way)

    def parts(self, node: Node, way: int) -> tuple[Node, ...]:
        i, j, symbol = node
        if symbol < 0:
            return ((0, self.n, way),)
        rules = self.grammar.by_parent[symbol]
        k, r = i + 1 + way // len(rules), rules[way % len(rules)]
        return (i, k, int(self.grammar.left[r])), (k, j, int(self.grammar.right[r]))


class ConstituentPosterior:
    """P(tree | words) ∝ Π weights of its rules and words, for many sentences, by inside and outside sums.

    Parameters
    ----------
    grammar : Grammar
    sentences : list of sentences
        Each a list of words, each word the log weights of its symbols: a mapping, or a pair of arrays (numbers, weights).

    Notes
    -----
    Everything is computed when first asked; one chart is kept at a time. A sentence that the grammar cannot make has a
    log partition of -inf, marginals of 0, and a best tree without spans. Charts are filled in probability space, each row
    divided by its largest; in log space where rules differ by more than exp(200), or where a tree was lost.

    Examples
    --------
    >>> import numpy as np
    >>> g = Grammar.of([("S", "a", "S", -1.0), ("S", "S", "a", -1.0), ("S", "a", "a", 0.0)], {"S": 0.0}, words=["a"])
    >>> p = ConstituentPosterior(g, [[{"a": 0.0}] * 3])
    >>> p.constituent(0, 0, 2, "S")
    0.5
    >>> p.best(0).spans
    ((0, 3, 'S'), (1, 3, 'S'))
    """

    def __init__(self, grammar: Grammar, sentences: Sequence[Sequence[Any]]) -> None:
        self.grammar = grammar
        self._words = [[self._read(w, s) for w in words] for s, words in enumerate(sentences)]
        self._kept: dict[str, Any] = {}
        self._log_z: dict[int, float] = {}

    def _read(self, word: Any, sentence: int) -> tuple[NDArray[np.int32], Floats]:
        if isinstance(word, Mapping):
            unknown = [s for s in word if s not in self.grammar.number]
            if unknown:
                raise InputError(f"`{unknown[0]}` is no symbol of the grammar.{_validate.nearest(unknown[0], self.grammar.symbols)}")
            word = [self.grammar.number[s] for s in word], list(word.values())
        codes, weights = np.asarray(word[0], np.int32), np.asarray(word[1], np.float64)
        if np.isnan(weights).any() or (weights > 1e100).any():
            raise InputError(f"weights of words must be finite or -inf; sentence {sentence} has others.")
        return codes, weights

    def __repr__(self) -> str:
        return f"ConstituentPosterior({self.n_sentences:,} sentences, {int(self.lengths.sum()):,} words, {self.grammar!r})"

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self._words)

    @cached_property
    def lengths(self) -> Ints:
        """Number of words of each sentence."""
        return np.array([len(w) for w in self._words], np.int64)

    # -- charts --------------------------------------------------------------------------------------------------

    def _filled(self, s: int, way: int, wanted: NDArray[np.int32] | None = None) -> _Chart:
        from howsure.kernels.trees.choice import kernel

        g, words = self.grammar, self._words[s]
        n, size = len(words), len(g.symbols)
        rows = n * (n + 1) // 2
        ptr = np.concatenate([[0], np.cumsum([len(w[0]) for w in words])]).astype(np.int64)
        symbols = np.concatenate([w[0] for w in words]).astype(np.int32)
        weights = np.concatenate([w[1] for w in words]).astype(np.float64)
        made = _Chart(
            g, n, way, np.empty((rows, size)), np.empty(rows), np.empty((rows, size), np.int32), np.empty(rows, np.int64)
        )
        only = np.full(rows, -1, np.int32) if wanted is None else wanted
        work = n**3 / 6 * (1 + len(g.weight) / 4) + rows * size
        kernel("cky_inside", work)(
            g.ptr, g.right, g.parent, g.weight, ptr, symbols, weights, g.kind, only, n, way,
            made.values, made.scale, made.active, made.counts,
        )  # fmt: skip
        return made

    def _sums(self, s: int) -> _Chart:
        """The chart of inside sums, kept until another sentence is asked."""
        if self._kept.get("sentence") != s:
            made = self._filled(s, PROBABILITY if self._narrow else LOG)
            if self._narrow and np.isneginf(_log_sum(made.top)):
                made = self._filled(s, LOG)
            self._kept = {"sentence": s, "chart": made}
            self._log_z[s] = _log_sum(made.top)
        found: _Chart = self._kept["chart"]
        return found

    @cached_property
    def _narrow(self) -> bool:
        finite = self.grammar.weight[np.isfinite(self.grammar.weight)]
        words = [w[1][np.isfinite(w[1])] for sentence in self._words for w in sentence]
        return (not finite.size or float(np.ptp(finite)) <= 200.0) and all(not w.size or np.ptp(w) <= 200.0 for w in words)

    def _marginals(self, s: int) -> tuple[Floats, float]:
        """P(symbol spans the words of a row), and E[Σ log weights of rules]."""
        from howsure.kernels.trees.choice import kernel

        chart = self._sums(s)
        if "marginals" not in self._kept:
            g, q = self.grammar, np.zeros(chart.values.shape)
            expected = 0.0
            if self._log_z[s] > -np.inf:
                q[chart.cell(0, chart.n)] = np.exp(chart.top - self._log_z[s])
                work = chart.n**3 / 6 * (1 + len(g.weight) / 4) + q.size
                expected = kernel("cky_outside", work)(
                    g.ptr, g.right, g.parent, np.where(np.isneginf(g.weight), -1e300, g.weight), chart.n, chart.way,
                    chart.values, chart.scale, chart.active, chart.counts, q,
                )  # fmt: skip
            self._kept["marginals"] = (q, float(expected))
        found: tuple[Floats, float] = self._kept["marginals"]
        return found

    # -- exact numbers -------------------------------------------------------------------------------------------

    def log_z(self, sentence: int) -> float:
        """log Z of one sentence; -inf if it has no tree, 0 if it has no words."""
        s = self._number(sentence)
        if s not in self._log_z:
            if self.lengths[s]:
                self._sums(s)
            else:
                self._log_z[s] = 0.0
        return self._log_z[s]

    @property
    def log_partition(self) -> Floats:
        """log Z of each sentence."""
        return np.array([self.log_z(s) for s in range(self.n_sentences)])

    def marginals(self, sentence: int) -> Floats:
        """P(words i … j - 1 are a constituent with this label), (n, n + 1, labels); labels as in `grammar.labels`."""
        return self._spread(self._number(sentence), self.grammar.holds.astype(np.float64))

    def spans(self, sentence: int) -> Floats:
        """P(words i … j - 1 are a constituent, whatever its label), (n, n + 1)."""
        return self._spread(self._number(sentence), self.grammar.holds.any(axis=1).astype(np.float64)[:, None])[..., 0]

    def _spread(self, s: int, holds: Floats) -> Floats:
        n = int(self.lengths[s])
        made = np.zeros((n, n + 1, holds.shape[1]))
        if n:
            i, width = np.triu_indices(n)
            made[i, width + 1] = np.minimum(self._marginals(s)[0] @ holds, 1.0)
        return made

    def constituent(self, sentence: int, start: int, end: int, label: str | None = None) -> float:
        """P(words start … end - 1, counted from 0, are a constituent with this label, or with any)."""
        n = int(self.lengths[self._number(sentence)])
        if not 0 <= start < end <= n:
            raise InputError(f"a span lies within the {n} words of sentence {sentence}; got {start}, {end}.")
        if label is None:
            return float(self.spans(sentence)[start, end])
        return float(self.marginals(sentence)[start, end, self._label(label)])

    def entropy(self, sentence: int) -> float:
        """Entropy of the posterior over derivations, in nats: log Z - E[log weight]; 0 without a tree."""
        s = self._number(sentence)
        if not self.lengths[s] or np.isneginf(self.log_z(s)):
            return 0.0
        q, expected = self._marginals(s)
        chart, top = self._sums(s), self.grammar.root
        p = q[chart.cell(0, chart.n)]
        expected += float(np.sum(p[p > 0] * top[p > 0]))
        for i, (codes, weights) in enumerate(self._words[s]):
            p = q[chart.cell(i, i + 1), codes]
            expected += float(np.sum(p[p > 0] * weights[p > 0]))
        return max(self.log_z(s) - expected, 0.0)

    def log_probability(self, sentence: int, spans: Iterable[Span]) -> float:
        """log P of a whole tree, given by its labelled spans (an outer one before those inside it), whatever its tags.

        -inf for what the grammar cannot make. Sums over all derivations with these spans.
        """
        s = self._number(sentence)
        n = int(self.lengths[s])
        if not n or np.isneginf(self.log_z(s)):
            return 0.0 if not n and not list(spans) else -np.inf
        chains: dict[tuple[int, int], tuple[str, ...]] = {}
        for start, end, label in spans:
            chains[start, end] = (*chains.get((start, end), ()), label)
        wanted = np.zeros(n * (n + 1) // 2, np.int32)
        for (i, j), chain in chains.items():
            if chain not in self.grammar.kinds or not 0 <= i < j <= n:
                return -np.inf
            wanted[i * n - (i * (i - 1)) // 2 + (j - i - 1)] = self.grammar.kinds[chain]
        return min(_log_sum(self._filled(s, LOG, wanted).top) - self.log_z(s), 0.0)

    # -- trees ---------------------------------------------------------------------------------------------------

    def best(self, sentence: int) -> Constituents:
        """The tree of the most probable derivation."""
        return self.k_best(sentence, 1)[0]

    def k_best(self, sentence: int, k: int) -> list[Constituents]:
        """Trees of the k most probable derivations, best first, each once; one without spans where there is no tree."""
        s, k = self._number(sentence), _validate.count(k, "k")
        n = int(self.lengths[s])
        if not n or np.isneginf(self.log_z(s)):
            return [Constituents((), self._likely_tags(s), 0.0 if not n else -np.inf)]
        forest = self._filled(s, MOST)
        trees = [self._tree(s, t) for _, t in k_best(forest, (0, n, -1), k, 2 * n)]
        return list({t.spans: t for t in reversed(trees)}.values())[::-1]

    def _likely_tags(self, s: int) -> tuple[str, ...]:
        """Each word's likeliest tag, without regard to its neighbours."""
        return tuple(self.grammar.tags[c[w.argmax()]] if len(c) else "" for c, w in self._words[s])

    def _tree(self, s: int, tree: Tree) -> Constituents:
        forest = self._sums(s)
        nodes = {node for node, _ in tree if node[2] >= 0}
        leaves = [part for node, way in tree for part in forest.parts(node, way) if part[1] == part[0] + 1]
        every = sorted({*nodes, *leaves}, key=lambda x: (x[0], -x[1]))
        spans = tuple((i, j, x) for i, j, symbol in every for x in self.grammar.chains[symbol])
        tags = tuple(self.grammar.tags[x[2]] for x in sorted(leaves))
        return Constituents(spans, tags, self.log_probability(s, spans))

    def mbr(self, sentence: int, price: float = 0.0) -> Constituents:
        """The tree of least risk: the most expected right spans, less `price` for each span.

        0 maximises the expected recall (Goodman 1996), 0.5 minimises the expected number of missing and wrong spans.
        """
        from howsure.kernels.trees.choice import kernel

        s = self._number(sentence)
        q = self.marginals(s)
        n = len(q)
        if not n or not q.shape[2] or np.isneginf(self.log_z(s)):
            return self.k_best(s, 1)[0]
        gain = np.ascontiguousarray(np.maximum(q.max(axis=2) - price, 0.0))
        gain = np.vstack([gain, np.zeros((1, n + 1))])
        best, split = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1), np.int64)
        kernel("most_recall", n**3 / 6)(gain, n, best, split)
        spans: list[Span] = []
        waiting = [(0, n)]
        while waiting:
            i, j = waiting.pop()
            if gain[i, j] > 0.0:
                first = int(q[i, j].argmax())
                chosen = [c for c in range(q.shape[2]) if c == first or q[i, j, c] > 0.5]
                order = sorted(chosen, key=lambda c: -q[i, j, c])
                spans += [(i, j, self.grammar.labels[c]) for c in order]
            if j > i + 1:
                waiting += [(int(split[i, j]), j), (i, int(split[i, j]))]
        return Constituents(tuple(spans), self.best(s).tags, self.log_probability(s, spans))

    def samples(self, sentence: int, n: int, rng: np.random.Generator | int | None = 0) -> list[Constituents]:
        """Exact samples of derivations, as trees. The random numbers depend on the seed and the sentence's number only."""
        s, seed = self._number(sentence), int(_validate.generator(rng).integers(0, 2**63))
        length = int(self.lengths[s])
        if not length or np.isneginf(self.log_z(s)):
            return self.k_best(s, 1) * _validate.count(n, "n")
        drawn = sampled(self._sums(s), (0, length, -1), _validate.count(n, "n"), np.random.default_rng([seed, s]))
        return [self._tree(s, t) for t in drawn]

    def tempered(self, temperature: float) -> ConstituentPosterior:
        """The posterior with all log weights divided by `temperature`: above 1 it is less sure."""
        t, g = _validate.temperature(temperature), self.grammar
        divided = replace(g, weight=g.weight / t, root=g.root / t)
        return ConstituentPosterior(divided, [[(c, w / t) for c, w in words] for words in self._words])

    # -- questions -----------------------------------------------------------------------------------------------

    def span_is(self, label: str | None = None, *, least: float = 1e-3) -> Answers:
        """Is this span a constituent `label` (or any)? Asked of every span whose probability is `least` or more.

        Gold is an array of rows (sentence, start, end, label's number), start and end counted in the sentence.
        """
        code = None if label is None else self._label(label)
        found = []
        for s in range(self.n_sentences):
            q = self.spans(s) if code is None else self.marginals(s)[..., code]
            i, j = np.nonzero(q >= least)
            found.append(np.column_stack([np.full(len(i), s), i, j, q[i, j]]))
        rows = np.vstack([np.zeros((0, 4)), *found])
        at = rows[:, :3].astype(np.int64)

        def truth(gold: Ints) -> NDArray[np.bool_]:
            given = np.asarray(gold, np.int64).reshape(-1, 4)
            known = {tuple(r) for r in (given if code is None else given[given[:, 3] == code])[:, :3].tolist()}
            return np.array([tuple(r) in known for r in at.tolist()], bool)

        asked = "constituent" if label is None else f"constituent is {label}"
        return Answers(asked, at[:, 1], at[:, 2], at[:, 0], np.ascontiguousarray(np.minimum(rows[:, 3], 1.0)), truth)

    def _label(self, label: str) -> int:
        if label not in self.grammar.labels:
            raise InputError(f"`{label}` is none of the labels.{_validate.nearest(label, self.grammar.labels)}")
        return self.grammar.labels.index(label)

    def _number(self, sentence: int) -> int:
        if not -self.n_sentences <= sentence < self.n_sentences:
            raise InputError(f"`sentence` must be below {self.n_sentences}; got {sentence}.")
        return sentence % self.n_sentences


def _log_sum(values: Floats) -> float:
    top = float(values.max(initial=-np.inf))
    return top if np.isneginf(top) else top + float(np.log(np.exp(values - top).sum()))
