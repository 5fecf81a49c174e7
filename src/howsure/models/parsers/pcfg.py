"""A probabilistic grammar read off a treebank: labels know their parent, long rules a few neighbours, unknown words their shape."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.corpora.bracketed import BracketedTree
from howsure.errors import InputError
from howsure.kernels.cells import Floats
from howsure.models.saved import Array, Names, load_model, packed_names, save_model
from howsure.models.taggers.features import unknown_class
from howsure.posteriors.constituents import ConstituentPosterior, Grammar

VERSION = 1
ROOT = "ROOT"
CLASS, ANY = "\x00", "\x00\x00"  # names of classes of unknown words, and of all of them, among the words
FEW = 5  # a word seen less often may have other tags than those seen
BELIEF = 1.0  # how many occurrences the class of a rare word counts for
ARRAYS: dict[str, Array | Names] = {
    "symbols": Names("symbol"),
    "words": Names("word"),
    "parent": Array("iu", ("rule",), below="symbol"),
    "left": Array("iu", ("rule",), below="symbol"),
    "right": Array("iu", ("rule",), below="symbol"),
    "weight": Array("f", ("rule",), log=True),
    "root": Array("f", ("symbol",), log=True),
    "of_words": Array("f", ("word", "tag"), log=True),
}


@dataclass(frozen=True, eq=False)
class Pcfg:
    """A grammar with a lexicon. Made by `train_pcfg` or `Pcfg.load`.

    A symbol is written `chain)tag(parent`: the labels of a unary chain with spaces between, the tag where it stands for a word,
    and the parent's label. What is left of a long rule begins with a bracket. Labels have neither spaces nor brackets.
    """

    grammar: Grammar
    tags: tuple[str, ...]
    words: dict[str, int] = field(repr=False)
    of_words: NDArray[np.float32] = field(repr=False)  # log P(tag | word) / P(tag), words and classes of unknown words
    settings: dict[str, Any] = field(default_factory=dict)

    kind = "pcfg"

    def __repr__(self) -> str:
        return f"Pcfg({len(self.grammar.symbols):,} symbols, {len(self.grammar.weight):,} rules, {len(self.words):,} words)"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of constituents."""
        return self.grammar.labels

    def posterior(
        self, sentences: Sequence[Sequence[str]], *, tags: Sequence[Sequence[str]] | None = None
    ) -> ConstituentPosterior:
        """The posterior over trees of sentences of words; `tags` are taken as given where the grammar knows them."""
        of_tag: dict[str, list[int]] = {t: [] for t in self.tags}
        for i, t in enumerate(self.grammar.tags):
            if t:
                of_tag[t].append(i)
        leaves = np.array([i for t in self.tags for i in of_tag[t]], np.int32)
        tag = np.array([k for k, t in enumerate(self.tags) for _ in of_tag[t]], np.int64)
        number = {t: k for k, t in enumerate(self.tags)}

        def word(w: str, given: str | None) -> tuple[NDArray[np.int32], Floats]:
            row = self.words.get(w, self.words.get(CLASS + unknown_class(w), self.words[ANY]))
            weights = self.of_words[row][tag].astype(np.float64)
            if given is not None and given in number:
                weights = np.where(tag == number[given], 0.0, -np.inf)
            kept = np.isfinite(weights)
            return leaves[kept], weights[kept]

        made = [
            [word(w, None if tags is None else tags[s][i]) for i, w in enumerate(words)] for s, words in enumerate(sentences)
        ]
        t = float(self.settings.get("temperature", 1.0))
        posterior = ConstituentPosterior(self.grammar, made)
        return posterior if t == 1.0 else posterior.tempered(t)

    def with_settings(self, **changes: Any) -> Pcfg:
        """A copy with some settings changed: `temperature` divides every log weight."""
        return replace(self, settings=self.settings | changes)

    def save(self, path: str | Path) -> None:
        """Write the model."""
        g = self.grammar
        rules = {"parent": g.parent, "left": g.left, "right": g.right, "weight": g.weight, "root": g.root}
        names = {"symbols": packed_names(g.symbols), "words": packed_names(list(self.words))}
        save_model(
            path, self.kind, VERSION, self.settings | {"tags": list(self.tags)}, names | rules | {"of_words": self.of_words}
        )

    @staticmethod
    def load(path: str | Path) -> Pcfg:
        """Read what `save` wrote."""
        settings, arrays = load_model(path, "pcfg", VERSION, ARRAYS, lists={"tags": "tag"})
        tags, words = tuple(settings.pop("tags")), {w: i for i, w in enumerate(arrays["words"])}
        grammar = _grammar(arrays["symbols"], *(arrays[k] for k in ("parent", "left", "right", "weight", "root")))
        if ANY not in words or not set(grammar.tags) <= {"", *tags}:
            raise InputError(f"{path} is damaged: its symbols and words are not those of a grammar.")
        return Pcfg(grammar, tags, words, arrays["of_words"].astype(np.float32), settings)


def _grammar(symbols: Sequence[str], parent: Any, left: Any, right: Any, weight: Any, root: Any) -> Grammar:
    """The grammar whose symbols' names say what they stand for."""
    chains, tags = [], []
    for name in symbols:
        labels, _, tag = name.partition("(")[0].partition(")")
        chains.append(tuple(x for x in labels.split(" ") if x and x != ROOT))
        tags.append(tag)
    weights = np.asarray(weight, np.float64), np.asarray(root, np.float64)
    return Grammar(tuple(symbols), tuple(chains), tuple(tags), parent, left, right, *weights).ordered()


Nested = tuple[str, list["Nested"], int]  # label (or tag), parts, and of a leaf the word's place + 1


def _nested(tree: BracketedTree) -> Nested:
    root: Nested = (ROOT, [], 0)
    open_: list[tuple[int, Nested]] = [(len(tree), root)]
    spans = list(tree.spans)[::-1]
    for i, tag in enumerate(tree.tags):
        while open_[-1][0] <= i:
            open_.pop()
        while spans and spans[-1][0] == i:
            _, end, label = spans.pop()
            node: Nested = (label, [], 0)
            open_[-1][1][1].append(node)
            open_.append((end, node))
        open_[-1][1][1].append((tag, [], i + 1))
    return root


def train_pcfg(trees: Sequence[BracketedTree], *, horizontal: int = 1, parents: bool = True) -> Pcfg:
    """Relative frequencies of the rules of trees.

    `parents`: a label is split by its parent's label. `horizontal`: a rule with more than two parts is made binary from left to
    right, each step remembering so many parts before it.
    """
    usable = [t for t in trees if len(t)]
    if not usable:
        raise InputError("there are no trees with words to read a grammar off.")
    rules: Counter[tuple[str, str, str]] = Counter()
    tops: Counter[str] = Counter()
    seen: dict[str, Counter[str]] = defaultdict(Counter)

    def name(node: Nested, parent: str) -> tuple[str, str, list[Nested]]:
        """The symbol of a node with its unary chain, the lowest label, and what is below."""
        chain = []
        while len(node[1]) == 1:
            chain.append(node[0])
            node = node[1][0]
        if node[2]:
            return f"{' '.join(chain)}){node[0]}({parent if parents and chain else ''}", node[0], []
        chain.append(node[0])
        return f"{' '.join(chain)}({parent if parents else ''}", node[0], node[1]

    def count(symbol: str, label: str, parts: list[Nested]) -> None:
        named = [name(p, label) for p in parts]
        before: list[str] = []
        head = symbol
        for k in range(len(named) - 2):
            before.append(named[k][1])
            rest = f"({symbol}|{' '.join(before[-horizontal:] if horizontal else [])}"
            rules[head, named[k][0], rest] += 1
            head = rest
        if named:
            rules[head, named[-2][0], named[-1][0]] += 1
        for n, below, inside in named:
            count(n, below, inside)

    for tree in usable:
        for w, t in zip(tree.words, tree.tags, strict=True):
            seen[w][t] += 1
        symbol, label, parts = name(_nested(tree), "")
        tops[symbol] += 1
        count(symbol, label, parts)
    names = sorted({s for r in rules for s in r} | set(tops))
    number = {s: i for i, s in enumerate(names)}
    total: Counter[str] = Counter()
    for (a, _, _), n in rules.items():
        total[a] += n
    codes = np.array([[number[s] for s in r] for r in rules], np.int32).reshape(-1, 3)
    weight = np.array([log(n / total[r[0]]) for r, n in rules.items()])
    root = np.full(len(names), -np.inf)
    for s, n in tops.items():
        root[number[s]] = log(n / len(usable))
    words, tags, of_words = _lexicon(seen)
    settings = {"horizontal": horizontal, "parents": parents, "n_trees": len(usable)}
    return Pcfg(_grammar(names, *codes.T, weight, root), tags, words, of_words, settings)


def _lexicon(seen: dict[str, Counter[str]]) -> tuple[dict[str, int], tuple[str, ...], NDArray[np.float32]]:
    """log P(tag | word) / P(tag): of words seen often as counted, of others mixed with their class, of which unknown ones are."""
    tags = tuple(sorted({t for c in seen.values() for t in c}))
    number = {t: i for i, t in enumerate(tags)}
    counts = {w: np.bincount([number[t] for t in c.elements()], minlength=len(tags)) for w, c in seen.items()}
    overall = np.sum(list(counts.values()), axis=0)
    classes: dict[str, Any] = defaultdict(lambda: np.zeros(len(tags)))
    for w, c in counts.items():
        if c.sum() <= 2:  # rare words tell what unknown ones are
            classes[CLASS + unknown_class(w)] += c
            classes[ANY] += c
    if ANY not in classes:
        classes[ANY] = overall.astype(float)
    anything = classes[ANY] / classes[ANY].sum()
    share = {k: (c + 2.0 * anything) / (c.sum() + 2.0) for k, c in classes.items()}
    rows = dict(share)
    for w, c in counts.items():
        own = share.get(CLASS + unknown_class(w), anything)
        rows[w] = c / c.sum() if c.sum() >= FEW else (c + BELIEF * own) / (c.sum() + BELIEF)
    with np.errstate(divide="ignore"):
        made = np.log(np.array(list(rows.values()))) - np.log(overall / overall.sum())
    return {w: i for i, w in enumerate(rows)}, tags, made.astype(np.float32)
