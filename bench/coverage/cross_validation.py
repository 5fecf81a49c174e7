"""Coverage of the intervals of `howsure classify cv` and `tagger cv`.

    python bench/coverage/cross_validation.py             (500 simulations a row: about 3 minutes on a core)
    python bench/coverage/cross_validation.py --write     (and put the table into docs/evidence/theory.md)

Texts are vectors: of class -1 or +1, shifted by ±δ/√d in each of d normal coordinates, some coordinates shared by the rows of a
document. A classifier is fitted by least squares on the other folds. Its true accuracy is known in closed form (rows) or
from 20,000 more rows (documents). Two questions are asked of each interval: does it hold the mean true accuracy of the k models that were trained, and
the accuracy to be expected of another training set of this size? "naive" is mean ± t s/√k over folds, as if folds were independent.
"""

import argparse
from math import sqrt
from pathlib import Path

import numpy as np
from scipy.special import ndtr

import howsure
from howsure.evaluation.cross_validation import fold_interval

THEORY = Path(__file__).parents[2] / "docs" / "evidence" / "theory.md"
DESIGNS = [  # rows, documents (0: rows are independent), coordinates, separation, folds
    (100, 0, 10, 1.5, 10),
    (100, 0, 40, 1.5, 10),
    (300, 0, 20, 1.0, 10),
    (300, 0, 20, 1.0, 5),
    (1000, 0, 100, 1.0, 10),
    (300, 30, 20, 1.0, 10),
    (1000, 100, 50, 1.0, 10),
]
SHARED = 0.7  # standard deviation of what the rows of a document share, along the separating direction


def drawn(rng, n, documents, d, separation):
    """Rows, labels and documents; documents have about the same size."""
    y = rng.choice([-1.0, 1.0], n)
    x = rng.normal(size=(n, d)) + y[:, None] * separation / sqrt(d)
    group = np.arange(n) if not documents else np.arange(n) * documents // n
    if documents:
        x += SHARED * rng.normal(size=documents)[group][:, None] / sqrt(d)
    return x, y, group


def fitted(x, y):
    """Least squares with a little ridge: weights and intercept."""
    a = np.column_stack([x, np.ones(len(x))])
    return np.linalg.solve(a.T @ a + 0.1 * np.eye(a.shape[1]), a.T @ y)


def accuracy(w, d, separation, documents):
    """The true accuracy of a linear rule; what a document shares only adds to the variance."""
    direction = np.ones(d) / sqrt(d)
    spread = sqrt(w[:-1] @ w[:-1] + (SHARED * (w[:-1] @ direction)) ** 2 * (documents > 0))
    mean = separation * (w[:-1] @ direction)
    return 0.5 * (ndtr((mean + w[-1]) / spread) + ndtr((mean - w[-1]) / spread))


def simulated(design, times, rng):
    n, documents, d, separation, k = design
    found = []
    for _ in range(times):
        x, y, group = drawn(rng, n, documents, d, separation)
        fold = rng.permutation(group.max() + 1)[group] % k
        right, true, scores = np.zeros(n), [], []
        for f in range(k):
            w = fitted(x[fold != f], y[fold != f])
            right[fold == f] = (x[fold == f] @ w[:-1] + w[-1] > 0) == (y[fold == f] > 0)
            true.append(accuracy(w, d, separation, documents))
            scores.append(right[fold == f].mean())
        found.append((right, group, np.array(scores), np.array(true), np.bincount(fold)))
    expected = float(np.mean([t for *_, t, _ in found]))
    hits = np.zeros((3, 2))
    widths = np.zeros(3)
    from scipy.stats import t as student

    for right, group, scores, true, sizes in found:
        naive = student.ppf(0.975, k - 1) * scores.std(ddof=1) / sqrt(k)
        pooled = howsure.score(np.ones(n, int), right.astype(int), groups=group if documents else None).accuracy
        corrected = fold_interval(scores, sizes, 0.95)
        for i, (low, high) in enumerate(
            [(scores.mean() - naive, scores.mean() + naive), (pooled.low, pooled.high), (corrected.low, corrected.high)]
        ):
            hits[i] += [low <= true.mean() <= high, low <= expected <= high]
            widths[i] += high - low
    return hits / times, widths / times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=500)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rng = np.random.default_rng(20220207)
    lines = [
        "| rows | documents | coordinates | folds | naive | pooled | corrected | width: naive, pooled, corrected |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for design in DESIGNS:
        hits, widths = simulated(design, given.times, rng)
        n, documents, d, _, k = design
        shown = " | ".join(f"{100 * a:.1f}, {100 * b:.1f}" for a, b in hits)
        lines.append(
            f"| {n:,} | {documents or '–'} | {d} | {k} | {shown} | {', '.join(f'{w:.3f}'.lstrip('0') for w in widths)} |"
        )
        print(lines[-1], flush=True)
    if given.write:
        begin, end = "<!-- cross-validation: begin -->", "<!-- cross-validation: end -->"
        text = THEORY.read_text(encoding="utf-8")
        before, rest = text.split(begin)
        note = f"Of {given.times:,} simulations, % whose 95% interval holds the mean true accuracy of the k models, and that of another training set:"
        THEORY.write_text(
            before + begin + "\n" + note + "\n\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1], encoding="utf-8"
        )


if __name__ == "__main__":
    main()
