"""Paired bootstraps through counts beside a NumPy loop over resamples, in one run: best of several, interleaved.

    make bench
    python bench/speed/evaluation_speed.py

B = 10,000 resamples of n = 100,000 rows; counting the rows is part of the time. The loop draws n row numbers a resample; 20
resamples of it are timed and scaled.
"""

import time

import numpy as np
from goals import heading, row

from howsure.evaluation.contests.contrast import contrast
from howsure.evaluation.contests.significance import paired_bootstrap, permutation
from howsure.evaluation.units import label_units

N, B = 100_000, 10_000


def timed(f):
    """Seconds by the clock, and of processor time on all cores: what the clock would say on one idle core."""
    start, used = time.perf_counter(), time.process_time()
    f()
    return np.array([time.perf_counter() - start, time.process_time() - used])


def labels(rng, classes):
    """Gold and two systems: classes as frequent as 1/rank, each system wrong on a tenth, mostly towards a neighbour."""
    p = 1.0 / np.arange(1, classes + 1)
    gold = rng.choice(classes, N, p=p / p.sum())
    made = []
    for wrong in (0.09, 0.10):
        step = rng.geometric(0.3, N) * rng.choice([-1, 1], N)
        made.append(np.where(rng.random(N) < wrong, (gold + step) % classes, gold))
    return gold, made[0], made[1]


def ours(gold, a, b, classes, metric, groups=None, test=paired_bootstrap):
    rng = np.random.default_rng(1)
    positive = 1 if metric == "f1" else None
    return lambda: test(contrast(label_units(gold, (a, b), classes, groups), metric, positive), B, rng)


def loop(gold, a, b, resamples):
    rng = np.random.default_rng(2)
    right_a, right_b = a == gold, b == gold

    def run():
        twice = 2 * (right_a.mean() - right_b.mean())
        beyond = 0
        for _ in range(resamples):
            rows = rng.integers(0, N, N)
            beyond += right_a[rows].mean() - right_b[rows].mean() >= twice
        return beyond

    return run


def main():
    rng = np.random.default_rng(0)
    two, many = labels(rng, 2), labels(rng, 45)
    sentences = np.arange(N) // 20
    cases = [
        ("Δaccuracy", 10, ours(*two, 2, "accuracy")),
        ("ΔF1", 20, ours(*two, 2, "f1")),
        ("Δmacro-F1, 45 classes", 1000, ours(*many, 45, "macro-f1")),
        ("Δaccuracy, 5,000 sentences", 500, ours(*many, 45, "accuracy", sentences)),
        ("Δmacro-F1, 45 classes, 5,000 sentences", 500, ours(*many, 45, "macro-f1", sentences)),
        ("permutation, Δmacro-F1, 45 classes", None, ours(*many, 45, "macro-f1", None, permutation)),
    ]
    for _, _, f in cases:
        f()  # compiled, or loaded from the cache
    slow = loop(*two, 20)
    best, best_loop = np.full((len(cases), 2), np.inf), np.full(2, np.inf)
    for _ in range(7):
        for i, (_, _, f) in enumerate(cases):
            best[i] = np.minimum(best[i], timed(f))
        best_loop = np.minimum(best_loop, timed(slow) * B / 20)
    heading(f"paired bootstrap, B = {B:,}, n = {N:,}")
    for (name, wanted, _), (clock, used) in zip(cases, 1000 * best, strict=True):
        row(name, clock, at_most=wanted, unit="ms")
        row("  processor time", used, unit="ms")
    for name, mine, other in zip(("", ", processor time"), best[0], best_loop, strict=True):
        row(f"Δaccuracy{name}; NumPy loop (scaled from 20)", mine, other, at_least=1000)


if __name__ == "__main__":
    main()
