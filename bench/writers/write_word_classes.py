"""Writes src/howsure/data/word_classes.npz: a tree over the word vectors that ship, twelve splits deep.

Each split is 2-means of the vectors (each of length 1), begun at the first principal component; a word's class is the way down to it,
and the first n splits are a coarser class. Discrete features of taggers (`--features advanced,vectors`).

    python bench/writers/write_word_classes.py
"""

from pathlib import Path

import numpy as np

from howsure.data.vectors import word_vectors

TARGET = Path(__file__).parents[2] / "src" / "howsure" / "data" / "word_classes.npz"
DEPTH, SMALLEST = 12, 4


def sides(x, rng):
    """Which of two clusters each row is in."""
    centred = x - x.mean(axis=0)
    w = rng.normal(size=x.shape[1])
    for _ in range(10):
        w = centred.T @ (centred @ w)
        w /= np.linalg.norm(w) + 1e-12
    side = centred @ w > 0
    for _ in range(8):
        a, b = x[side].mean(axis=0), x[~side].mean(axis=0)
        new = ((x - b) ** 2).sum(axis=1) > ((x - a) ** 2).sum(axis=1)
        if new.all() or not new.any() or (new == side).all():
            break
        side = new
    return side


def tree(x):
    rng, path, groups = np.random.default_rng(0), np.zeros(len(x), np.uint16), [np.arange(len(x))]
    for _ in range(DEPTH):
        split = []
        for rows in groups:
            path[rows] *= 2
            if len(rows) < SMALLEST:
                split.append(rows)
                continue
            side = sides(x[rows], rng)
            path[rows] += side.astype(np.uint16)
            split += [rows[side], rows[~side]]
        groups = [rows for rows in split if len(rows)]
    return path


if __name__ == "__main__":
    vectors = word_vectors().matrix.astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-12
    path = tree(vectors)
    np.savez_compressed(TARGET, classes=path)
    print(f"{len(path):,} words, {len(np.unique(path)):,} classes, {TARGET.stat().st_size:,} bytes")
