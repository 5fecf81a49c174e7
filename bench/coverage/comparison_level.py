"""Level and power of the test that two models are equally calibrated.

    python bench/coverage/comparison_level.py --write       (1,000 simulations a row: about 15 minutes on 2 cores)

Documents share a fifth of a latent normal; P(y = 1) is p ~ Beta(.3, .3), for `± .1` .1 + .8 Beta(2, 2), on heaps one of seven values. Sizes of
documents: 50 rows each; Zipf (the k-th has a share in proportion to 1/k, 50 on average); one giant (half of all rows).
Models: both calibrated (p itself, and p known only to the twentieth it falls in); equally wrong (logit × 1.4, and the
factor below 1 with the same RMS error; or p + .1 and p - .1); and logit × 0.9⁻¹ against p for power. `--write` puts the
rows that were run into the table of docs/evidence/theory.md.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.special import expit, logit, ndtr

from howsure.calibration.comparing.difference import group_differences, row_differences
from howsure.calibration.comparing.paired_rows import Binning, Plan
from howsure.calibration.comparing.result import HeldRows, compare_rows

THEORY = Path(__file__).parents[2] / "docs" / "evidence" / "theory.md"
EDGES = np.linspace(0, 1, 21)
HEAPS, SHARES = (0.1, 0.25, 0.5, 0.6, 0.75, 0.85, 0.9), (0.05, 0.1, 0.15, 0.2, 0.25, 0.15, 0.1)


def truth():
    """A large sample of p, the mean of each twentieth, and the factor below 1 as wrong as 1.4 is."""
    p = np.random.default_rng(0).beta(0.3, 0.3, 2_000_000).clip(1e-12, 1 - 1e-12)
    part = np.clip(np.digitize(p, EDGES) - 1, 0, 19)
    wrong = lambda f: np.sqrt(np.mean((expit(f * logit(p)) - p) ** 2))  # noqa: E731
    low, high = 0.3, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if wrong(middle) > wrong(1.4) else (low, middle)
    return np.bincount(part, p) / np.bincount(part), low, wrong(1.4)


def models(kind, p, means, factor):
    if kind == "both calibrated":
        return p, means[np.clip(np.digitize(p, EDGES) - 1, 0, 19)]
    if kind == "equally wrong":
        return expit(1.4 * logit(p)), expit(factor * logit(p))
    if kind.startswith("± .1"):
        return p + 0.1, p - 0.1
    return expit(logit(p) / 0.9), p


def sizes(design, groups):
    """Rows of each document, 50 on average (one giant: as many as all others)."""
    if design == "one giant":
        return np.r_[50 * (groups - 1), np.full(groups - 1, 50)]
    if design == "Zipf":
        share = 1 / np.arange(1, groups + 1)
        return np.maximum(1, np.round(50 * groups * share / share.sum())).astype(int)
    return np.full(groups, int(design.split()[0]))  # so many rows each


def p_value(y, a, b, groups):
    """Of the test of equal errors alone, without each model's own results."""
    held = HeldRows(("a", "b"), (y, y), (a, b), None if groups is None else groups.astype(np.uint64))
    plan = Plan(tuple(map(Binning.of, held.sketches())))
    if groups is None:
        return row_differences(plan, held.row_sums(plan), 0.95)[0].error_squared.p_value
    return group_differences(plan, held, 0.95)[0].error_squared.p_value


def rejections(job):
    kind, design, groups, replicates, seed, means, factor = job
    rng = np.random.default_rng(seed)
    alone = design == "rows"
    size = np.ones(groups, int) if alone else sizes(design, groups)
    g = np.repeat(np.arange(groups), size)
    n = len(g)
    count = np.zeros(2)
    for _ in range(replicates):
        if kind == "± .1 on heaps":
            p = rng.choice(HEAPS, n, p=SHARES)
        else:
            p = 0.1 + 0.8 * rng.beta(2, 2, n) if kind == "± .1" else rng.beta(0.3, 0.3, n).clip(1e-12, 1 - 1e-12)
        latent = np.sqrt(0.2) * np.repeat(rng.normal(size=groups), size) + np.sqrt(0.8) * rng.normal(size=n)
        y = (ndtr(latent) < p).astype(np.uint8)
        a, b = models(kind, p, means, factor)
        for j, by in enumerate((g, None)):
            if by is None or not alone:
                count[j] += p_value(y, a, b, by) < 0.05
    return count / replicates


def jobs(replicates, means, factor):
    listed = [(k, "rows", n) for k in ("both calibrated", "equally wrong", "± .1") for n in (30, 60, 150, 500)]
    for k in ("both calibrated", "equally wrong", "logit / 0.9 against p"):
        listed += [(k, "50 rows each", g) for g in (40, 100, 200)]
    for k in ("equally wrong", "± .1"):
        listed += [(k, "50 rows each", g) for g in (5, 10, 20)]
        listed += [(k, d, g) for d in ("Zipf", "one giant") for g in (5, 20, 100)]
    listed += [("± .1 on heaps", "rows", n) for n in (60, 200, 1_000)]
    return [(*job, replicates, i, means, factor) for i, job in enumerate(listed)]


def merged(table, rows):
    """The rows of a table with those that were run in place of the old ones, or after them."""
    kept = {tuple(line.split(" | ")[:3]): line for line in table.splitlines() if line.count(" | ") == 5}
    for line in rows:
        kept[tuple(line.split(" | ")[:3])] = line
    return list(kept.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="rows whose name contains this; the others stay as they are")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    means, factor, theta = truth()
    rows = []
    todo = [j for j in jobs(args.replicates, means, factor) if args.only in f"{j[0]} | {j[1]} | {j[2]} |"]
    with ProcessPoolExecutor(args.workers) as pool:
        for job, (with_groups, without) in zip(todo, pool.map(rejections, todo), strict=True):
            shown = "–" if job[1] == "rows" else f"{100 * with_groups:.1f}"
            rows.append(f"| {job[0]} | {job[1]} | {job[2]} | {shown} | {100 * without:.1f} | {args.replicates:,} |")
            print(rows[-1], flush=True)
    rng = np.random.default_rng(1)
    p = rng.beta(0.3, 0.3, 100_000).clip(1e-12, 1 - 1e-12)
    y, g = (rng.random(len(p)) < p).astype(np.uint8), np.arange(len(p)) // 50
    start = time.perf_counter()
    compare_rows(y, {"a": expit(1.1 * logit(p)), "b": p}, g, 0.95, None)
    print(f"\n100,000 items compared, in 2,000 documents: {time.perf_counter() - start:.2f} s")
    if args.write:
        begin, end = "<!-- comparison: begin -->", "<!-- comparison: end -->"
        head, rest = THEORY.read_text().split(begin)
        old, tail = rest.split(end)
        lines = [
            "Percent rejected.",
            "",
            "| models | rows or documents | | clustered test | ignoring documents | simulations |",
        ]
        lines += ["|---|---|---|---|---|---|", *merged(old, rows), ""]
        lines += [f"Equally wrong: logit × 1.4 and × {factor:.4f}, RMS error {theta:.4f}; or p + .1 and p - .1."]
        THEORY.write_text(head + begin + "\n" + "\n".join(lines) + "\n" + end + tail)


if __name__ == "__main__":
    main()
