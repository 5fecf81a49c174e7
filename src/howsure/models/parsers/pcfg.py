"""A probabilistic grammar read off a treebank: labels know their parent, long rules a few neighbours, unknown words their shape."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.corpora.bracketed import BracketedTree
from howsure.errors import InputError
from howsure.kernels.cells import Floats
from howsure.models.saved import Array, Names, Tempered, load_model, packed_names, save_model
from howsure.models.taggers.features import unknown_class
from howsure.posteriors.constituents import ConstituentPosterior, Grammar

VERSION = 1
ROOT = "ROOT"
CLASS, ANY = "\x00", "\x00\x00"  # names of classes of unknown words, and of all of them, among the words
FEW = 5  # a word seen less often may have other tags than those seen
BELIEF = 1.0  # how many occurrences the class of a rare word counts for
RARE = 2  # words seen so often or less tell what unknown ones are
ARRAYS: dict[str, Array | Names] = {
    "symbols": Names("symbol"),
    "words": Names("word"),
    "rules": Array("iu", ("rule", "three"), below="symbol"),
    "weight": Array("f", ("rule",), log=True),
    "root": Array("f", ("symbol",), log=True),
    "of_words": Array("f", ("word", "tag"), log=True),
}


@dataclass(frozen=True, eq=False)
class Pcfg(Tempered):
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

    @cached_property
    def _tempered(self) -> Grammar:
        return self.grammar.tempered(self.temperature)

    @cached_property
    def _leaves(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The symbols that stand for words, and the tag of each."""
        number = {t: k for k, t in enumerate(self.tags)}
        leaves = [i for i, t in enumerate(self.grammar.tags) if t]
        return np.array(leaves, np.int32), np.array([number[self.grammar.tags[i]] for i in leaves], np.int64)

    def posterior(self, words: Sequence[str]) -> ConstituentPosterior:
        """The posterior over trees of a sentence."""
        leaves, tag = self._leaves
        made = []
        for word in words:
            row = self.words.get(word, self.words.get(CLASS + unknown_class(word), self.words[ANY]))
            weights = self.of_words[row][tag] / self.temperature
            made.append((leaves[np.isfinite(weights)], weights[np.isfinite(weights)]))
        return ConstituentPosterior(self._tempered, made)

    def save(self, path: str | Path) -> None:
        """Write the model."""
        g = self.grammar
        arrays = {"symbols": packed_names(g.symbols), "words": packed_names(list(self.words)), "rules": g.rules}
        arrays |= {"weight": g.weight, "root": g.root, "of_words": self.of_words}
        save_model(path, self.kind, VERSION, self.settings | {"tags": list(self.tags)}, arrays)

    @staticmethod
    def load(path: str | Path) -> Pcfg:
        """Read what `save` wrote."""
        settings, arrays = load_model(path, "pcfg", VERSION, ARRAYS, lists={"tags": "tag"})
        tags, words = tuple(settings.pop("tags")), {w: i for i, w in enumerate(arrays["words"])}
        if arrays["rules"].shape[1] != 3 or ANY not in words:
            raise InputError(f"{path} is damaged: its rules and words are not those of a grammar.")
        grammar = _grammar(arrays["symbols"], *(arrays[k] for k in ("rules", "weight", "root")))
        if not set(grammar.tags) <= {"", *tags}:
            raise InputError(f"{path} is damaged: its symbols have tags that are not there.")
        return Pcfg(grammar, tags, words, arrays["of_words"].astype(np.float32), settings)


def _grammar(symbols: Sequence[str], rules: NDArray[Any], weight: Floats, root: Floats) -> Grammar:
    """The grammar whose symbols' names say what they stand for."""
    parts = [name.partition("(")[0].partition(")") for name in symbols]
    chains = tuple(tuple(x for x in labels.split(" ") if x and x != ROOT) for labels, _, _ in parts)
    return Grammar.ordered(tuple(symbols), chains, tuple(tag for _, _, tag in parts), rules, weight, root)


Nested = tuple[str, list["Nested"], bool]  # label (or tag), parts, and whether it is a word


def _nested(tree: BracketedTree) -> Nested:
    root: Nested = (ROOT, [], False)
    path, spans = [(len(tree), root)], list(tree.spans)[::-1]
    for i, tag in enumerate(tree.tags):
        while path[-1][0] <= i:
            path.pop()
        while spans and spans[-1][0] == i:
            _, end, label = spans.pop()
            node: Nested = (label, [], False)
            path[-1][1][1].append(node)
            path.append((end, node))
        path[-1][1][1].append((tag, [], True))
    return root


def train_pcfg(trees: Sequence[BracketedTree], *, horizontal: int = 1, parents: bool = True) -> Pcfg:
    """Relative frequencies of the rules of trees.

    `parents`: a label is split by its parent's label. `horizontal`: a rule with more than two parts is made binary from left to
    right, each step remembering so many parts before it.
    """
    usable = [t for t in trees if len(t)]
    if not usable:
        raise InputError("there are no trees with words to read a grammar off.")
    _validate.not_negative(horizontal, "horizontal")
    rules: Counter[tuple[str, str, str]] = Counter()
    tops: Counter[str] = Counter()
    seen: dict[str, Counter[str]] = defaultdict(Counter)

    def named(node: Nested, parent: str) -> tuple[str, str, list[Nested]]:
        """The symbol of a node with its unary chain, the lowest label, and what is below."""
        chain = []
        while len(node[1]) == 1:
            chain.append(node[0])
            node = node[1][0]
        if node[2]:
            return f"{' '.join(chain)}){node[0]}({parent if parents and chain else ''}", node[0], []
        return f"{' '.join([*chain, node[0]])}({parent if parents else ''}", node[0], node[1]

    def count(symbol: str, label: str, below: list[Nested]) -> None:
        parts = [named(p, label) for p in below]
        head = symbol
        for k in range(len(parts) - 2):
            rest = f"({symbol}|{' '.join(p[1] for p in parts[max(k + 1 - horizontal, 0) : k + 1])}"
            rules[head, parts[k][0], rest] += 1
            head = rest
        if parts:
            rules[head, parts[-2][0], parts[-1][0]] += 1
        for part in parts:
            count(*part)

    for tree in usable:
        for w, t in zip(tree.words, tree.tags, strict=True):
            seen[w][t] += 1
        top = named(_nested(tree), "")
        tops[top[0]] += 1
        count(*top)
    names = sorted({s for r in rules for s in r} | set(tops))
    number = {s: i for i, s in enumerate(names)}
    total: Counter[str] = Counter()
    for (a, _, _), n in rules.items():
        total[a] += n
    codes = np.array([[number[s] for s in r] for r in rules], np.int32).reshape(-1, 3)
    weight = np.array([log(n / total[r[0]]) for r, n in rules.items()])
    root = np.array([log(tops[s] / len(usable)) if s in tops else -np.inf for s in names])
    settings = {"horizontal": horizontal, "parents": parents, "n_trees": len(usable)}
    return Pcfg(_grammar(names, codes, weight, root), *_lexicon(seen), settings)


def _lexicon(seen: dict[str, Counter[str]]) -> tuple[tuple[str, ...], dict[str, int], NDArray[np.float32]]:
    """log P(tag | word) / P(tag): of words seen often as counted, of others mixed with their class, of which unknown ones are."""
    tags = tuple(sorted({t for c in seen.values() for t in c}))
    counts = {w: np.array([c[t] for t in tags], float) for w, c in seen.items()}
    overall: Floats = np.sum(list(counts.values()), axis=0)
    classes: dict[str, Floats] = defaultdict(lambda: np.zeros(len(tags)))
    for w, c in counts.items():
        if c.sum() <= RARE:
            classes[CLASS + unknown_class(w)] += c
            classes[ANY] += c
    anything = classes[ANY] / classes[ANY].sum() if ANY in classes else overall / overall.sum()
    rows = {k: (c + 2.0 * anything) / (c.sum() + 2.0) for k, c in classes.items()} | {ANY: anything}
    for w, c in counts.items():
        own = rows.get(CLASS + unknown_class(w), anything)
        rows[w] = c / c.sum() if c.sum() >= FEW else (c + BELIEF * own) / (c.sum() + BELIEF)
    with np.errstate(divide="ignore"):
        made = np.log(np.array(list(rows.values()))) - np.log(overall / overall.sum())
    return tags, {w: i for i, w in enumerate(rows)}, made.astype(np.float32)
