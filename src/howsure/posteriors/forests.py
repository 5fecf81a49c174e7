"""Best and random trees of a packed forest: nodes, each made in one of several ways of at most two parts.

A forest is a function `ways`: for a node the log value of each way and a function from a way's number to its parts; None of a leaf.
"""

import sys
from collections.abc import Callable
from functools import cache
from heapq import heapify, heappop, heappush

import numpy as np

from howsure.kernels.cells import Floats

Node = tuple[int, ...]
Ways = Callable[[Node], tuple[Floats, Callable[[int], tuple[Node, ...]]] | None]
Tree = list[tuple[Node, int]]  # its nodes that are no leaves, each with the way it is made


def sampled(ways: Ways, root: Node, n: int, rng: np.random.Generator) -> list[Tree]:
    """Trees drawn in proportion to their weights; the values are those of inside sums."""

    @cache
    def known(node: Node) -> tuple[Floats, Callable[[int], tuple[Node, ...]]] | None:
        found = ways(node)
        return None if found is None else (np.cumsum(np.exp(found[0] - found[0].max())), found[1])

    made: list[Tree] = []
    for _ in range(n):
        made.append([])
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if (found := known(node)) is not None:
                way = int(np.searchsorted(found[0], rng.random() * found[0][-1], side="right"))
                made[-1].append((node, way))
                waiting.extend(found[1](way))
    return made


def k_best(ways: Ways, root: Node, k: int, depth: int) -> list[tuple[float, Tree]]:
    """The k heaviest trees, heaviest first (Huang and Chiang 2005, lazily); the values are those of best trees.

    `depth` bounds the length of a path from the root to a leaf.
    """
    known = cache(ways)
    found: dict[Node, list[tuple[float, int, tuple[int, ...]]]] = {}  # less the weight, way, ranks of the parts
    heaps: dict[Node, list[tuple[float, int, tuple[int, ...]]]] = {}

    def ranked(node: Node, rank: int) -> float | None:
        """The weight of the best, second best, … tree under a node, counted from 0."""
        made = known(node)
        if made is None:
            return 0.0 if rank == 0 else None
        values, parts = made
        if node not in heaps:
            top = range(len(values)) if len(values) <= k else np.argpartition(-values, k - 1)[:k].tolist()
            heaps[node] = [(-float(values[w]), w, (0,) * len(parts(w))) for w in top if values[w] > -np.inf]
            heapify(heaps[node])
            found[node] = []
        done = found[node]
        while len(done) <= rank:
            for p in range(len(done[-1][2]) if done else 0):  # neighbours of the last one, each reached in one way
                way, ranks = done[-1][1:]
                if not any(ranks[p + 1 :]):
                    following = (*ranks[:p], ranks[p] + 1, *ranks[p + 1 :])
                    below = [ranked(b, r) for b, r in zip(parts(way), following, strict=True)]
                    tops = [ranked(b, 0) or 0.0 for b in parts(way)]
                    if None not in below:
                        loss = sum(top - (x or 0.0) for top, x in zip(tops, below, strict=True))
                        heappush(heaps[node], (loss - float(values[way]), way, following))
            if not heaps[node]:
                return None
            done.append(heappop(heaps[node]))
        return -done[rank][0]

    made: list[tuple[float, Tree]] = []
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 4 * depth + 1_000))
    try:
        while len(made) < k and (weight := ranked(root, len(made))) is not None:
            tree: Tree = []
            waiting = [(root, len(made))]
            while waiting:
                node, rank = waiting.pop()
                if (made_of := known(node)) is not None:
                    ranked(node, rank)
                    _, way, ranks = found[node][rank]
                    tree.append((node, way))
                    waiting.extend(zip(made_of[1](way), ranks, strict=True))
            made.append((weight, tree))
    finally:
        sys.setrecursionlimit(limit)
    return made
