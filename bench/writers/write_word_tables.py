"""Writes the tables of first names and of noun classes that coreference uses (`names.csv`, `nouns.txt.gz` and
`clusters.npy` of `src/howsure/data`).

    python bench/writers/write_word_tables.py

Needs `names`, `wordnet` and `vectors` under HOWSURE_DATA.

Names: the lists of female and male first names, with the share of bearers that we think are women, from .02 to .98. A name of one
list starts from odds of 30 to 1, a name of both from even odds. A logistic regression on word vectors, learnt from the names
of one list and applied to names that it has not seen (ten folds), moves the odds. No name gets 0 or 1.

Nouns: the class of a noun's first sense in WordNet, and "+person" where one of its first three senses is a person. Only single
words that have a vector, so that rare words stay out.

Clusters: centres of k-means by cosine on the vectors that ship, one byte a number.
"""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np

from howsure.corpora.reading import corpus_path
from howsure.data.vectors import word_vectors
from howsure.files import write_whole

DATA = Path(__file__).parents[2] / "src" / "howsure" / "data"
ONE_LIST, LEAST, FOLDS, DECAY = 30.0, 0.02, 10, 3.0
# WordNet's files of nouns (lexicographer files 3 to 28) in ten classes.
CLASSES = {
    "person": [18],
    "group": [14],
    "place": [15],
    "animal": [5],
    "thing": [6, 8, 13, 17, 20, 25, 27],
    "event": [4, 11, 19, 22],
    "time": [28],
    "amount": [21, 23],
    "speech": [10],
    "idea": [3, 7, 9, 12, 16, 24, 26],
}
SENSES = 3
N_CLUSTERS, ROUNDS = 120, 15


def vectors() -> tuple[dict[str, int], np.ndarray]:
    words = corpus_path("vectors", "words.txt").read_text(encoding="utf-8").split("\n")
    with np.load(corpus_path("vectors", "glove-100d.npz")) as kept:
        table = kept["vectors"].astype(np.float32) * kept["scale"].reshape(-1, 1)
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
    return {w: k for k, w in enumerate(words) if w}, table


def logistic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Ridge logistic regression by Newton's method; the last weight is the intercept."""
    x = np.column_stack([x, np.ones(len(x))])
    w = np.zeros(x.shape[1])
    for _ in range(12):
        p = 1 / (1 + np.exp(-x @ w))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + DECAY * np.eye(len(w))
        w += np.linalg.solve(hessian, x.T @ (y - p) - DECAY * w)
    return w


def names_table(at: dict[str, int], table: np.ndarray) -> str:
    lists = {
        n: {w.strip().lower() for w in corpus_path("names", f"{n}.txt").read_text(encoding="utf-8").split("\n")}
        for n in ("female", "male")
    }
    female, male = ({w for w in words if w.isalpha()} for words in lists.values())
    names = sorted(female | male)
    odds = {w: (w in female) * np.log(ONE_LIST) - (w in male) * np.log(ONE_LIST) for w in names}
    single = [w for w in names if w in at and (w in female) != (w in male)]
    x, y = table[[at[w] for w in single]], np.array([w in female for w in single], dtype=float)
    fold = np.random.default_rng(0).integers(FOLDS, size=len(single))
    seen = {}
    for f in range(FOLDS):
        w = logistic(x[fold != f], y[fold != f])
        for k in np.flatnonzero(fold == f):
            seen[single[k]] = float(x[k] @ w[:-1] + w[-1])
    w = logistic(x, y)
    right = np.mean([(seen[n] > 0) == (n in female) for n in single])
    print(f"{len(names)} names, {len(single)} to learn from, held-out accuracy of the vectors {right:.3f}")
    lines = ["name,women"]  # per cent
    for n in names:
        moved = seen[n] if n in seen else float(table[at[n]] @ w[:-1] + w[-1]) if n in at else 0.0
        share = np.clip(1 / (1 + np.exp(-odds[n] - moved)), LEAST, 1 - LEAST)
        lines.append(f"{n},{100 * share:.0f}")
    return "\n".join(lines) + "\n"


def lines(name: str) -> list[str]:
    return gzip.decompress(corpus_path("wordnet", name).read_bytes()).decode("utf-8").splitlines()


def nouns_table(at: dict[str, int]) -> str:
    number = {k: name for name, ks in CLASSES.items() for k in ks}
    files = {}
    for line in lines("data.noun.gz"):
        if not line.startswith(" "):
            offset, file, _ = line.split(" ", 2)
            files[offset] = number[int(file)]
    words: dict[str, list[str]] = {}
    for line in lines("index.noun.gz"):
        if line.startswith(" "):
            continue
        entry = line.split()
        lemma, senses = entry[0], entry[-int(entry[2]) :]
        if not lemma.isalpha() or lemma not in at:
            continue
        found = [files[s] for s in senses[:SENSES]]
        kind = found[0] + ("+person" if "person" in found[1:] and found[0] != "person" else "")
        words.setdefault(kind, []).append(lemma)
    print({k: len(v) for k, v in words.items()})
    return "".join(f"{kind} {' '.join(sorted(found))}\n" for kind, found in sorted(words.items()))


def clusters() -> np.ndarray:
    v = word_vectors().matrix
    v = v / np.linalg.norm(v, axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    centres = v[rng.choice(len(v) // 4, N_CLUSTERS, replace=False)]  # frequent words first
    for _ in range(ROUNDS):
        nearest = np.argmax(v @ centres.T, axis=1)
        for k in range(N_CLUSTERS):
            if (nearest == k).any():
                centres[k] = v[nearest == k].mean(axis=0)
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    return np.rint(127 * centres / np.abs(centres).max(axis=1, keepdims=True)).astype(np.int8)


def main() -> None:
    at, table = vectors()
    write_whole(DATA / "names.csv", names_table(at, table).encode())
    write_whole(DATA / "nouns.txt.gz", gzip.compress(nouns_table(at).encode(), 9, mtime=0))
    buffer = io.BytesIO()
    np.save(buffer, clusters())
    write_whole(DATA / "clusters.npy", buffer.getvalue())


if __name__ == "__main__":
    main()
