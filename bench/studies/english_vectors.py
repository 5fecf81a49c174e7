"""Writes the word vectors that ship: the most frequent words of GloVe 6B, four bits a number.

python bench/studies/english_vectors.py [N]
"""

import sys

import numpy as np

from howsure.corpora.reading import corpus_path
from howsure.data.vectors import LEVELS, shipped_path
from howsure.files import whole_file

N = 40_000


def packed_vectors(words: list[str], matrix: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of a file that `read_vectors` reads: each number rounded to a seventh of the largest of its row."""
    scale = (np.abs(matrix).max(axis=1) / LEVELS).astype(np.float32)
    levels = np.rint(matrix / np.where(scale > 0, scale, 1.0)[:, None]).astype(np.int64) + LEVELS + 1
    packed = (levels[:, ::2] | levels[:, 1::2] << 4).astype(np.uint8)
    return {"words": np.frombuffer("\n".join(words).encode(), np.uint8), "packed": packed, "scale": scale}


def main(n: int) -> None:
    with np.load(corpus_path("vectors", "glove-100d.npz"), allow_pickle=False) as kept:
        matrix = kept["vectors"][:n].astype(np.float32) * kept["scale"][:n, None]
    words = corpus_path("vectors", "words.txt").read_text(encoding="utf-8").split("\n")[:n]
    with whole_file(shipped_path()) as file:
        np.savez_compressed(file, **packed_vectors(words, matrix))
    print(f"{shipped_path().name}: {n:,} words, {shipped_path().stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else N)
