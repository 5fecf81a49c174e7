"""Best and random trees of a packed forest: nodes, each made in one of several ways of at most two parts.

A forest answers `ways(node)`: the log value of each way and a function from a way's number to its parts, or None of a leaf.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Protocol

import numpy as np

from howsure.kernels.cells import Floats

Node = tuple[int, ...]
Ways = tuple[Floats, Callable[[int], tuple[Node, ...]]] | None
Tree = list[tuple[Node, int]]  # its nodes that are no leaves, each with the way it is made


class Forest(Protocol):
    """What is asked of a packed forest."""

    def ways(self, node: Node) -> Ways: ...


def remembered(forest: Forest) -> Callable[[Node], Ways]:
    """`forest.ways`, each computed once."""
    known: dict[Node, Ways] = {}

    def ways(node: Node) -> Ways:
        if node not in known:
            known[node] = forest.ways(node)
        return known[node]

    return ways


def sampled(forest: Forest, root: Node, n: int, rng: np.random.Generator) -> list[Tree]:
    """Trees drawn in proportion to their weights; the values are those of inside sums."""
    ways = remembered(forest)
    cumulated: dict[Node, Floats] = {}
    made = []
    for _ in range(n):
        tree: Tree = []
        waiting = [root]
        while waiting:
            node = waiting.pop()
            found = ways(node)
            if found is not None:
                if node not in cumulated:
                    p = np.exp(found[0] - found[0].max())
                    cumulated[node] = np.cumsum(p)
                c = cumulated[node]
                way = int(np.searchsorted(c, rng.random() * c[-1], side="right"))
                tree.append((node, way))
                waiting.extend(found[1](way))
        made.append(tree)
    return made


def k_best(forest: Forest, root: Node, k: int, depth: int) -> list[tuple[float, Tree]]:
    """The k heaviest trees, heaviest first (Huang and Chiang 2005, lazily); the values are those of best trees.

    `depth` bounds the length of a path from the root to a leaf.
    """
    ways = remembered(forest)
    found: dict[Node, list[tuple[float, int, tuple[int, ...]]]] = {}
    heaps: dict[Node, list[tuple[float, int, tuple[int, ...]]]] = {}

    def ranked(node: Node, rank: int) -> float | None:
        """The weight of the best, second best, … tree under a node, counted from 0."""
        made = ways(node)
        if made is None:
            return 0.0 if rank == 0 else None
        values, parts = made
        if node not in heaps:
            top = range(len(values)) if len(values) <= k else np.argpartition(-values, k - 1)[:k].tolist()
            heaps[node] = [(-float(values[w]), w, (0,) * len(parts(w))) for w in top if values[w] > -np.inf]
            heapify(heaps[node])
            found[node] = []
        done, heap = found[node], heaps[node]
        while len(done) <= rank:
            if done:  # the last one's neighbours
                _, way, ranks = done[-1]
                below = parts(way)
                for p in range(len(ranks)):
                    if any(ranks[p + 1 :]):  # reached from another neighbour
                        continue
                    following = (*ranks[:p], ranks[p] + 1, *ranks[p + 1 :])
                    scores = [(ranked(b, r), ranked(b, 0)) for b, r in zip(below, following, strict=True)]
                    if all(s is not None for s, _ in scores):
                        loss = sum(s - top for s, top in scores)  # type: ignore[operator]
                        heappush(heap, (-(float(values[way]) + loss), way, following))
            if not heap:
                return None
            weight, way, ranks = heappop(heap)
            done.append((-weight, way, ranks))
        return done[rank][0]

    made: list[tuple[float, Tree]] = []
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 4 * depth + 1_000))
    try:
        while len(made) < k and (weight := ranked(root, len(made))) is not None:
            made.append((weight, _walked(root, len(made), ways, found, ranked)))
    finally:
        sys.setrecursionlimit(limit)
    return made


def _walked(root: Node, rank: int, ways: Any, found: Any, ranked: Any) -> Tree:
    tree: Tree = []
    waiting = [(root, rank)]
    while waiting:
        node, r = waiting.pop()
        made = ways(node)
        if made is not None:
            ranked(node, r)
            _, way, ranks = found[node][r]
            tree.append((node, way))
            waiting.extend(zip(made[1](way), ranks, strict=True))
    return tree
