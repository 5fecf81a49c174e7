"""Figures of docs/guides/parser.md beyond EWT: genres of GUM, GUM's constituents, and the WSJ sample beside NLTK.

    python bench/studies/parser_scores.py genres constituents nltk

Needs GUM and the WSJ sample under HOWSURE_DATA. Prints tables; one to three minutes of one core each.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import howsure
from howsure.corpora.bracketed import read_bracketed
from howsure.corpora.reading import corpus_path
from howsure.models.parsers.pcfg import train_pcfg
from howsure.posteriors.constituents import ConstituentPosterior

LONGEST, MOST = 10, 40  # words of the sentences that NLTK gets, and how many
SHORT = 20  # words of the sentences of GUM whose constituents are parsed
CONST_TEST = 8  # documents of GUM's test part whose constituents are parsed: the first of each of eight genres


def splits():
    part, of = "", {}
    for line in corpus_path("gum", "splits.md").read_text().splitlines():
        if line.startswith("## "):
            part = line[3:].strip()
        elif "GUM_" in line:
            of[line.strip(" *")] = part
    return of


def shown(e):
    return f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]"


def genres():
    """The parser that ships, trained on EWT, on GUM's test part with gold tags, by genre."""
    of = splits()
    files = [f for f in sorted(corpus_path("gum", "dep").glob("*.conllu")) if of.get(f.stem) == "test"]
    by = defaultdict(list)
    for f in files:
        by[f.stem.split("_")[1]].append(f)
    print(
        "| GUM test | documents | words | UAS | LAS | whole trees | RMS error, chosen arcs | bias |\n|---|---:|---:|---|---|---|---|---:|"
    )
    for name, chosen in [("all", files), *sorted(by.items())]:
        c = howsure.check_parser("english", chosen, groups="document" if name == "all" else "sentence")
        a = c.accuracy
        row = [
            name,
            len(chosen),
            f"{c.n_words:,}",
            shown(a["UAS"]),
            shown(a["LAS"]),
            shown(a["whole trees"]),
            shown(c.calibration.error),
            f"{c.calibration.bias.gap.value:+.3f}",
        ]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def constituents():
    """A grammar of GUM's training part on the first test document of each genre."""
    of = splits()
    files = sorted(corpus_path("gum", "const").glob("*.ptb"))
    train = [f for f in files if of.get(f.stem, "train") == "train"]
    first = {}
    for f in files:
        if of.get(f.stem) == "test":
            first.setdefault(f.stem.split("_")[1], f)
    test = list(first.values())[:CONST_TEST]
    model = howsure.train_parser(train).model
    with TemporaryDirectory() as folder:
        short = []
        for f in test:
            kept = [t.text() for t in read_bracketed(f).trees if 0 < len(t) <= SHORT]
            short.append(Path(folder, f.name))
            short[-1].write_text("\n".join(kept) + "\n", encoding="utf-8")
        c = howsure.check_parser(model, short)
    print(model, len(train), [f.stem for f in test], file=sys.stderr, flush=True)
    print(f"{c.n_sentences} sentences, {c.n_words:,} words, {len(test)} documents; {c.notes}")
    print({k: shown(v) for k, v in c.accuracy.items()})
    for s in c.calibration.slices[:3]:
        print(s.name, shown(s.calibration.error), f"{s.calibration.bias.gap.value:+.3f}")


def f1(pairs):
    hit = sum(sum((Counter(a) & Counter(b)).values()) for a, b in pairs)
    return 2.0 * hit / sum(len(a) + len(b) for a, b in pairs)


def walked(node, start, spans):
    """Adds the labelled spans of NLTK's tree, outer ones first; returns where it ends."""
    if isinstance(node, str):
        return start + 1
    at, here = start, len(spans)
    for child in node:
        at = walked(child, at, spans)
    spans[here:here] = [(start, at, x) for x in node.label().split("+") if x != "TOP" and "|" not in x]
    return at


def nltk():
    """Short test sentences of the WSJ sample, gold tags as words: NLTK's grammar and parser, and ours on the same trees."""
    from nltk import Nonterminal, Tree, ViterbiParser, induce_pcfg

    files = sorted(corpus_path("treebank").glob("wsj_*.mrg"))
    banks = {int(f.stem[4:]): read_bracketed(f).trees for f in files}
    train = [t for k, trees in banks.items() if k <= 149 for t in trees if len(t)]
    test = [t for k, trees in banks.items() if k >= 175 for t in trees if 1 < len(t) <= LONGEST][:MOST]

    def tree_of(t):
        """NLTK's tree over the tags, without empty elements and function tags as we read it."""
        root = Tree("TOP", [])
        path, spans = [(len(t), root)], list(t.spans)[::-1]
        for i, tag in enumerate(t.tags):
            while path[-1][0] <= i:
                path.pop()
            while spans and spans[-1][0] == i:
                _, end, label = spans.pop()
                path.append((end, Tree(label, [])))
                path[-2][1].append(path[-1][1])
            path[-1][1].append(f"t{tag}")
        return root

    productions = []
    for t in train:
        tree = tree_of(t)
        tree.collapse_unary(collapsePOS=False, joinChar="+")
        tree.chomsky_normal_form(horzMarkov=1)
        productions += tree.productions()
    grammar = induce_pcfg(Nonterminal("TOP"), productions)
    parser = ViterbiParser(grammar, max_time=None)
    known = {r for p in grammar.productions() for r in p.rhs() if isinstance(r, str)}
    ours = {name: train_pcfg(train, parents=parents) for name, parents in (("plain", False), ("parents", True))}
    found = defaultdict(list)
    theirs = mine = 0.0
    missing = 0
    for t in test:
        tags = [f"t{x}" for x in t.tags]
        began = time.process_time()
        tree = next(iter(parser.parse(tags)), None) if set(tags) <= known else None
        theirs += time.process_time() - began
        missing += tree is None
        spans = []
        if tree is not None:
            tree.un_chomsky_normal_form(expandUnary=False)
            walked(tree, 0, spans)
        found["NLTK"].append((t.spans, tuple(spans)))
        for name, model in ours.items():
            g = model.grammar
            began = time.process_time()
            words = [[i for i, x in enumerate(g.tags) if x == tag] for tag in t.tags]
            p = ConstituentPosterior(g, [(np.array(w, np.int32), np.zeros(len(w))) for w in words])
            best = p.best()
            mine += time.process_time() - began if name == "plain" else 0.0
            found[f"howsure, {name}"].append((t.spans, best.spans))
    print(
        f"{len(test)} sentences of 2 to {LONGEST} words, {sum(map(len, test))} words, {len(grammar.productions()):,} rules of NLTK; {missing} without a tree of NLTK"
    )
    for name, pairs in found.items():
        rng = np.random.default_rng(0)
        draws = [f1([pairs[i] for i in rng.integers(0, len(pairs), len(pairs))]) for _ in range(500)]
        print(f"| {name} | {f1(pairs):.3f} [{np.quantile(draws, 0.025):.3f}, {np.quantile(draws, 0.975):.3f}] |")
    print(f"processor time: NLTK {theirs:.0f} s, howsure {mine:.2f} s")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["genres", "constituents", "nltk"]:
        {"genres": genres, "constituents": constituents, "nltk": nltk}[name]()
