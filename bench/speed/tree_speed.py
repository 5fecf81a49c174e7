"""Speed of trees: marginals of arcs beside NumPy, charts of a grammar beside NLTK's Viterbi parser, in one run, as ratios.

    python bench/speed/tree_speed.py [sentences]

Lengths are those of EWT's test part and trees those of the WSJ sample where HOWSURE_DATA is set, else made up. Times are
processor seconds, the best of three rounds taken in turn (NLTK: one round).
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
from goals import heading, row

from howsure.corpora.bracketed import BracketedTree, read_bracketed
from howsure.corpora.conllu import read_conllu
from howsure.models.parsers.pcfg import train_pcfg
from howsure.posteriors.trees import summed

ROUNDS = 3


def lengths() -> list[int]:
    """Words of each sentence."""
    if folder := os.environ.get("HOWSURE_DATA"):
        documents = read_conllu(Path(folder, "ewt", "en_ewt-ud-test.conllu"))
        return [int(n) for d in documents for n in np.diff(d.starts)]
    return np.random.default_rng(0).geometric(1 / 12, 2_077).clip(1, 80).tolist()


def matrix_tree(s: np.ndarray) -> np.ndarray:
    """Marginals by the inverse of the Laplacian with one root (Koo et al. 2007)."""
    n = s.shape[1]
    w = np.exp(s - s.max(axis=0))
    root, a = w[0], w[1:].copy()
    np.fill_diagonal(a, 0.0)
    laplacian = np.diag(a.sum(axis=0)) - a
    laplacian[0] = root
    inverse = np.linalg.inv(laplacian)
    first, q = np.arange(n) != 0, np.zeros_like(s)
    diagonal = np.diag(inverse)
    q[1:] = a * (np.where(first, diagonal, 0.0)[None, :] - np.where(first[:, None], inverse.T, 0.0))
    q[0] = root * inverse[:, 0]
    return q


def lse(x: np.ndarray) -> float:
    top = x.max()
    return top if top == -np.inf else top + np.log(np.exp(x - top).sum())


def eisner(s: np.ndarray) -> np.ndarray:
    """Marginals by inside and outside sums, each sum over splits in NumPy."""
    n = s.shape[1]
    right, left, go, come, both = np.full((5, n, n), -np.inf)
    np.fill_diagonal(right, 0.0)
    np.fill_diagonal(left, 0.0)
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            both[i, j] = lse(right[i, i:j] + left[i + 1 : j + 1, j])
            go[i, j], come[i, j] = both[i, j] + s[i + 1, j], both[i, j] + s[j + 1, i]
            right[i, j] = lse(go[i, i + 1 : j + 1] + right[i + 1 : j + 1, j])
            left[i, j] = lse(left[i, i:j] + come[i:j, j])
    top = s[0] + left[0] + right[:, n - 1]
    q = np.zeros_like(s)
    q[0] = np.exp(top - lse(top))
    of_right, of_left = np.zeros((2, n, n))
    of_left[0] += q[0]
    of_right[:, n - 1] += q[0]
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            f = of_right[i, j] * np.exp(go[i, i + 1 : j + 1] + right[i + 1 : j + 1, j] - right[i, j])
            q[i + 1, i + 1 : j + 1] += f
            of_right[i + 1 : j + 1, j] += f
            f = of_left[i, j] * np.exp(left[i, i:j] + come[i:j, j] - left[i, j])
            of_left[i, i:j] += f
            q[j + 1, i:j] += f
            f = (q[i + 1, j] + q[j + 1, i]) * np.exp(right[i, i:j] + left[i + 1 : j + 1, j] - both[i, j])
            of_right[i, i:j] += f
            of_left[i + 1 : j + 1, j] += f
    return q


def timed(work, given) -> tuple[float, list]:
    start = time.process_time()
    made = [work(x) for x in given]
    return time.process_time() - start, made


def arcs(most: int | None) -> None:
    rng = np.random.default_rng(1)
    given = [rng.normal(size=(n + 1, n)) * 3.0 for n in lengths()[:most]]
    heading("marginals of arcs; processor time")
    for name, peer, projective in (("non-projective", matrix_tree, False), ("projective", eisner, True)):
        summed(given[0], projective)  # compiled before the clock starts
        summed(np.zeros((41, 40)), projective)
        ours, theirs = [], []
        for _ in range(ROUNDS if not projective else 1):
            a, mine = timed(lambda s, p=projective: summed(s, p)[0], given)
            b, other = timed(peer, given)
            ours.append(a), theirs.append(b)
        off = max(float(np.abs(x - y).max()) for x, y in zip(mine, other, strict=True))
        row(f"{name}, {len(given):,} sentences, off by {off:.1e}; NumPy", min(ours), min(theirs), at_least=1)


def treebank() -> list[BracketedTree]:
    if folder := os.environ.get("HOWSURE_DATA"):
        files = sorted(Path(folder, "treebank").glob("wsj_*.mrg"))
        return [t for f in files for t in read_bracketed(f).trees]
    raise SystemExit("the grammar's part needs HOWSURE_DATA with treebank/")


def grammar(n_trees: int, sizes: tuple[int, ...]) -> None:
    """The same grammar and words, whole sentences: best derivation by NLTK's ViterbiParser and by howsure."""
    from nltk import ViterbiParser
    from nltk.grammar import PCFG, Nonterminal, ProbabilisticProduction

    trees = treebank()
    known = trees[:n_trees]
    g = train_pcfg(known, parents=False).grammar
    names = [Nonterminal(f"S{i}") for i in range(len(g.symbols))]
    rules = [(int(a), (names[b], names[c]), float(w)) for (a, b, c), w in zip(g.rules.tolist(), g.weight, strict=True)]
    rules += [(i, (f"t{t}",), 0.0) for i, t in enumerate(g.tags) if t]
    productions = [ProbabilisticProduction(names[a], b, prob=float(np.exp(w))) for a, b, w in rules]
    productions += [
        ProbabilisticProduction(Nonterminal("TOP"), (names[i],), prob=float(np.exp(w)))
        for i, w in enumerate(g.root)
        if w > -np.inf
    ]
    parser = ViterbiParser(PCFG(Nonterminal("TOP"), productions), max_time=None)
    from howsure import ConstituentPosterior

    leaves: dict[str, list[int]] = {}
    for i, t in enumerate(g.tags):
        leaves.setdefault(t, []).append(i)
    heading(f"a grammar of {len(g.weight):,} rules; processor time")
    for size in sizes:
        tree = min(known, key=lambda t: abs(len(t) - size))
        words = [(np.array(leaves[t], np.int32), np.zeros(len(leaves[t]))) for t in tree.tags]
        ConstituentPosterior(g, words).best()  # compiled before the clock starts
        ours, _ = timed(lambda w: ConstituentPosterior(g, w).marginals(), [words] * ROUNDS)
        theirs, found = timed(lambda t: next(iter(parser.parse([f"t{x}" for x in t])), None), [tree.tags])
        mine = ConstituentPosterior(g, words)
        best = float(mine._filled(most=True).top.max())
        off = abs(best - np.log(found[0].prob())) if found[0] is not None else float("nan")
        what = f"{len(tree)} words, all marginals; NLTK's best tree, log P off by {off:.1e}"
        row(what, ours / ROUNDS, theirs, at_least=1)


if __name__ == "__main__":
    arcs(int(sys.argv[1]) if len(sys.argv) > 1 else None)
    grammar(*((40, (10, 20, 40)) if len(sys.argv) < 3 else (int(sys.argv[2]), tuple(map(int, sys.argv[3:])))))
