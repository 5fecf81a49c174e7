"""Dawid-Skene on 50,000 labels beside a plain loop over the labels, one run, interleaved: best of several, as a ratio."""

from __future__ import annotations

import time

import numpy as np
from goals import heading, row

from howsure.evaluation.annotation.crowds import dawid_skene
from howsure.evaluation.annotation.ratings import made_ratings

ITEMS, PER_ITEM, ANNOTATORS, LABELS = 10_000, 5, 200, 4


def simulated(seed=0):
    """50,000 labels by annotators of accuracies from 0.3 to 0.95."""
    rng = np.random.default_rng(seed)
    true = rng.integers(LABELS, size=ITEMS)
    item = np.repeat(np.arange(ITEMS), PER_ITEM)
    annotator = rng.permuted(np.tile(np.arange(ANNOTATORS), (ITEMS, 1)), axis=1)[:, :PER_ITEM].ravel()
    right = rng.random(len(item)) < rng.uniform(0.3, 0.95, ANNOTATORS)[annotator]
    label = np.where(right, true[item], rng.integers(LABELS, size=len(item)))
    return made_ratings(
        item,
        annotator,
        label,
        items=[f"{i:05}" for i in range(ITEMS)],
        annotators=[f"{i:03}" for i in range(ANNOTATORS)],
        labels=[str(i) for i in range(LABELS)],
    )


def looped(ratings, iterations, smoothing=1.0):
    """The same model, label by label with NumPy rows."""
    n_items, n_annotators, k = len(ratings.items), len(ratings.annotators), len(ratings.labels)
    rows = list(zip(ratings.item.tolist(), ratings.annotator.tolist(), ratings.label.tolist(), strict=True))
    posterior = np.zeros((n_items, k))
    for i, _, label in rows:
        posterior[i, label] += 1
    posterior /= posterior.sum(axis=1, keepdims=True)
    for _ in range(iterations + 1):
        prior = posterior.sum(axis=0) + smoothing / k
        prior /= prior.sum()
        answered = np.full((n_annotators, k, k), smoothing / k)
        for i, a, label in rows:
            answered[a, label] += posterior[i]
        answered /= answered.sum(axis=1, keepdims=True)
        log_answered = np.log(answered)
        log_joint = np.tile(np.log(prior), (n_items, 1))
        for i, a, label in rows:
            log_joint[i] += log_answered[a, label]
        posterior = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior


def main():
    """Print both times and their ratio."""
    ratings = simulated()
    fitted = dawid_skene(ratings)  # loads SciPy
    few = 3
    ours, theirs = [], []
    for _ in range(3):
        fresh = simulated()  # whose counts are not yet made
        begin = time.perf_counter()
        fitted = dawid_skene(fresh)
        ours.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        plain = looped(ratings, few)
        theirs.append((time.perf_counter() - begin) * (fitted.iterations + 1) / (few + 1))
    same = np.abs(dawid_skene(ratings, max_iterations=few).posterior - plain).max()
    heading(
        f"Dawid-Skene, {len(ratings.label):,} labels, {LABELS} classes, {ANNOTATORS} annotators, {fitted.iterations} iterations"
    )
    row(f"a loop over labels (scaled from {few + 1} iterations)", min(ours), min(theirs))
    print(f"  largest difference {same:.1e}")


if __name__ == "__main__":
    main()
