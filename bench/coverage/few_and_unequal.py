"""Do the intervals hold for few rows, rare events and unequal documents? The tables "few rows" and "unequal documents" of the theory.

    python bench/coverage/few_and_unequal.py --write             (1,000 replicates a cell: about an hour on a core)
    python bench/coverage/few_and_unequal.py --only unequal

Each cell is seeded by its name. `before` are the formulas that these replaced: Wald intervals of independent rows; with groups the sandwich
with G/(G-1) and t of G-1 degrees of freedom. `--write` puts the tables that were run into docs/evidence/theory.md.
"""

import argparse
import os
import zlib

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from comparison_level import sizes
from interval_coverage import EPS, SHAPES, THEORY, TRUTHS, covers, document_effect_targets, population, targets
from scipy.special import expit, fdtrc, logit, ndtr, stdtr, stdtrit

from howsure.calibration.analysis import analyse, cluster_rows
from howsure.calibration.estimation import intervals
from howsure.calibration.estimation.bias import calibration_slope
from howsure.calibration.sketch import sketch_rows

SHAPES |= {"rate 1e-3: Beta(1,999)": (1, 999), "rare: Beta(.05,5)": (0.05, 5), "skewed: Beta(.5,5)": (0.5, 5)}
FEW = [
    (n, shape, truth)
    for shape in (*list(SHAPES)[-3:], "Beta(.3,.3)", "Beta(2,2)")
    for truth in ("calibrated", "logit × 1.3")
    for n in (30, 60, 150)
]
UNEQUAL = [
    (design, groups, name)
    for name in ("calibrated share 0.2", "sd 0.7 logit × 1.3")
    for design, counts in (("50 rows each", (5, 10, 20)), ("Zipf", (5, 20, 100)), ("one giant", (5, 20, 100)))
    for groups in counts
]


def seeded(cell):
    return np.random.default_rng(zlib.crc32("|".join(map(str, cell)).encode()))


def wald(value, variance):
    return intervals.Estimate(value, value - 1.96 * np.sqrt(variance), value + 1.96 * np.sqrt(variance))


def few_cell(cell, replicates):
    n, shape, truth = cell
    rng, p_of, grid = seeded(cell), TRUTHS[truth], population(shape)
    want = targets(grid, p_of(grid))
    kinds = {"gap": intervals.mean_gap_interval, "brier": intervals.brier_interval, "slope": intervals.slope_interval}
    cover, length = np.zeros((2, 3)), np.zeros((2, 3))
    slopes = 0
    for _ in range(replicates):
        q = rng.beta(*SHAPES[shape], n)
        y = rng.random(n) < p_of(q)
        sketch = sketch_rows(y, q)
        e = y - q
        line = calibration_slope(sketch)
        before = {
            "gap": wald(-e.mean(), max(e.var(ddof=1), 0.5 / n) / n),
            "brier": wald(np.mean(e**2), np.var(e**2, ddof=1) / n),
            "slope": line and wald(line[0], line[1] ** 2),
        }
        slopes += line is not None
        for j, (k, interval) in enumerate(kinds.items()):
            for i, found in enumerate((before[k], interval(sketch, 0.95))):
                cover[i, j] += found is None or covers(found, want[k])  # no slope, no claim: one class only
                length[i, j] += 0.0 if found is None else found.high - found.low
    shown = np.maximum([replicates, replicates, slopes], 1)
    cols = [f"{100 * a:.1f} → {100 * b:.1f}" for a, b in (cover / replicates).T]
    cols += [f"{a:.3g} → {b:.3g}" for a, b in (length / shown).T]
    return f"| {shape} | {truth} | {n} | " + " | ".join(cols) + f" | {100 * slopes / replicates:.0f} |"


def unequal_rows(design, groups, name, rng):
    size = sizes(design, groups)
    g = np.repeat(np.arange(groups), size)
    q = rng.beta(0.3, 0.3, len(g))
    shared, strength = rng.normal(size=groups)[g], float(name.split()[-1])
    if name.startswith("calibrated"):
        return ndtr(np.sqrt(strength) * shared + np.sqrt(1 - strength) * rng.normal(size=len(g))) < q, q, g
    sd = float(name.split()[1])
    return rng.random(len(g)) < expit(strength * logit(np.clip(q, EPS, 1 - EPS)) + sd * shared), q, g


def sandwich(f, g):
    """The mean of f with the variance and quantile of groups of one size."""
    n, groups = len(f), g.max() + 1
    u = np.bincount(g, f - f.mean())
    return f.mean(), stdtrit(groups - 1, 0.975) * np.sqrt(groups / (groups - 1) * np.sum(u**2)) / n


def unequal_cell(cell, replicates):
    design, groups, name = cell
    rng = seeded(cell)
    grid = population("Beta(.3,.3)")
    want = (
        targets(grid, grid)
        if name.startswith("calibrated")
        else document_effect_targets(float(name.split()[1]), float(name.split()[-1]))
    )
    kinds = ("gap", "brier", "slope", "error", "ece")
    cover, length, before, rejected = np.zeros(5), np.zeros(5), np.zeros((2, 3)), np.zeros(3)
    for _ in range(replicates):
        y, q, g = unequal_rows(design, groups, name, rng)
        sketch = sketch_rows(y, q)
        c = analyse(sketch, clusters=cluster_rows(sketch, y.view(np.uint8), q, g, None, 0.95))
        found = (c.bias.gap, c.brier_interval, c.bias.slope, c.error, c.ece)
        cover += [covers(e, want[k]) for e, k in zip(found, kinds, strict=True)]
        length += [e.high - e.low for e in found]
        x = q - q.mean()
        influence = x * (y - y.mean() - c.bias.slope.value * x) / np.mean(x**2)
        for j, (f, value) in enumerate(((q - y, None), ((q - y) ** 2, None), (influence, c.bias.slope.value))):
            mean, half = sandwich(f, g)
            mean = mean if value is None else value
            before[:, j] += abs(mean - want[kinds[j]]) <= half, 2 * half
        rejected += [t.p_value < 0.05 for t in c.tests]
    cover, length, before = 100 * cover / replicates, length / replicates, before / replicates
    cols = [f"{100 * before[0, j]:.1f} → {cover[j]:.1f}" for j in range(3)] + [f"{v:.1f}" for v in cover[3:]]
    cols += [f"{before[1, j]:.3f} → {length[j]:.3f}" for j in range(3)] + [f"{v:.3f}" for v in length[3:4]]
    cols += [f"{100 * v / replicates:.1f}" for v in rejected]
    return f"| {name} | {design} | {groups} | {c.effective_groups:.1f} | " + " | ".join(cols) + " |"


def document_sums(design, groups, name, replicates, rng):
    """Σe, Σe(1-2q) of each document and Σ(q - y) for many samples at once: (replicates, documents) each, and the documents' sizes."""
    size = sizes(design, groups)
    g, starts = np.repeat(np.arange(groups), size), np.r_[0, np.cumsum(size)[:-1]]
    made, strength = [], float(name.split()[-1])
    for first in range(0, replicates, max(1_000_000 // len(g), 1)):
        k = min(max(1_000_000 // len(g), 1), replicates - first)
        q, shared = rng.beta(0.3, 0.3, (k, len(g))).clip(EPS, 1 - EPS), rng.normal(size=(k, groups))[:, g]
        if name.startswith("calibrated"):
            y = ndtr(np.sqrt(strength) * shared + np.sqrt(1 - strength) * rng.normal(size=q.shape)) < q
        else:
            y = rng.random(q.shape) < expit(strength * logit(q) + float(name.split()[1]) * shared)
        e = y - q
        made.append([np.add.reduceat(x, starts, axis=1) for x in (e, e * (1 - 2 * q))])
    first, second = (np.concatenate(x) for x in zip(*made, strict=True))
    return first, second, size


def level_cell(cell, replicates):
    """Level of the score test, as it was (Hotelling) and is, by formulas of its own."""
    design, groups, name = cell
    first, second, size = document_sums(design, groups, name, replicates, seeded(cell))
    u = np.stack([first, second], axis=2)
    mean = u.mean(axis=1)
    deviation = u - mean[:, None]
    cov = np.einsum("rgi,rgj->rij", deviation, deviation) / (groups - 1)
    t2 = groups * np.einsum("ri,rij,rj->r", mean, np.linalg.inv(cov), mean)
    hotelling = fdtrc(2, groups - 2, t2 * (groups - 2) / (2 * (groups - 1)))
    # The mean of q is near enough ½ here: Σe(1-2q) is -2 Σe(q - q̄).
    t = np.abs(mean) * np.sqrt(groups / np.stack([cov[:, 0, 0], cov[:, 1, 1]], axis=1))
    students = 4 * stdtr(groups - 1, -t.max(axis=1))
    balanced = worth(size) >= groups / 2
    now = students if balanced else hotelling
    return f"| {name} | {design} | {groups} | score test rejects | {100 * np.mean(hotelling < 0.05):.1f} → {100 * np.mean(now < 0.05):.1f} |"


def worth(size):
    """The effective number of documents."""
    h = size / size.sum()
    beta = h**2 / (1 - h)
    return 1 / (np.sum(h**2) + beta.sum() ** 2 - np.sum(beta**2)) + 1


def gap_cell(cell, replicates):
    design, groups, name = cell
    first, _, size = document_sums(design, groups, name, replicates, seeded(cell))
    want = document_effect_targets(float(name.split()[1]), float(name.split()[-1]))["gap"]
    n, h = size.sum(), size / size.sum()
    mean = -first.sum(axis=1) / n
    u = -first - mean[:, None] * size
    before = stdtrit(groups - 1, 0.975) * np.sqrt(groups / (groups - 1) * np.sum(u**2, axis=1)) / n
    now = stdtrit(worth(size) - 1, 0.975) * np.sqrt((groups - 1) / groups * np.sum((u / (1 - h)) ** 2, axis=1)) / n
    covered = [100 * np.mean(np.abs(mean - want) <= half) for half in (before, now)]
    return f"| {name} | {design} | {groups} | gap covers | {covered[0]:.1f} → {covered[1]:.1f} |"


AT_ONCE = [
    *(("50 rows each", g, f"calibrated share {s}") for s in (0.1, 0.2, 0.3) for g in (5, 10, 20, 40)),
    *((d, g, "calibrated share 0.3") for d in ("Zipf", "one giant") for g in (5, 20, 100)),
    *((d, g, "sd 0.7 logit × 1.3") for d in ("50 rows each", "Zipf", "one giant") for g in (5, 20, 100)),
]


def at_once_cell(cell, replicates):
    return (level_cell if cell[2].startswith("calibrated") else gap_cell)(cell, replicates)


PARTS = {
    "at-once": (AT_ONCE, at_once_cell, "| data | documents | | | before → now |"),
    "few": (FEW, few_cell, "| q | truth | n | gap | Brier | slope | length, gap | Brier | slope | has a slope |"),
    "unequal": (
        UNEQUAL,
        unequal_cell,
        "| data | documents | | worth | gap | Brier | slope | RMS error | ECE | length, gap | Brier | slope | RMS error | combined | excess error | score |",
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1_000)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    for part, (cells, run, head) in PARTS.items():
        if args.only not in (None, part):
            continue
        lines = [
            f"Percent of {args.replicates:,} replicates{'' if part == 'at-once' else ' and mean lengths'}, “before → now”.",
            "",
            head,
        ]
        lines.append("|---" * (head.count("|") - 1) + "|")
        for cell in cells:
            lines.append(run(cell, args.replicates))
            print(lines[-1], flush=True)
        if args.write:
            begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
            before, rest = THEORY.read_text().split(begin)
            THEORY.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
