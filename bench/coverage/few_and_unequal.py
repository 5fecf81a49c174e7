"""Do the intervals hold for few rows, rare events and unequal documents? The tables "few rows" and "unequal documents" of the theory.

    python bench/coverage/few_and_unequal.py --write             (1,000 replicates a cell: about an hour on a core)
    python bench/coverage/few_and_unequal.py --only unequal

Each cell is seeded by its name. `before` are the formulas that these replaced: Wald intervals of independent rows; with groups the sandwich
with G/(G-1) and t of G-1 degrees of freedom, and Hotelling's T². `--write` puts the tables that were run into docs/evidence/theory.md.
"""

import argparse
import os
import zlib

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from comparison_level import sizes
from interval_coverage import (
    EPS,
    SHAPES,
    THEORY,
    TRUTHS,
    before_groups,
    before_means,
    covers,
    document_effect_targets,
    population,
    targets,
)
from scipy import stats
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


def few_cell(cell, replicates):
    n, shape, truth = cell
    rng, p_of, grid = seeded(cell), TRUTHS[truth], population(shape)
    want = targets(grid, p_of(grid))
    kinds = ("gap", "slope", "brier")
    cover, length = np.zeros((2, 3)), np.zeros((2, 3))
    slopes = 0
    for _ in range(replicates):
        q = rng.beta(*SHAPES[shape], n)
        y = rng.random(n) < p_of(q)
        sketch = sketch_rows(y, q)
        line = calibration_slope(sketch)
        before, (now,) = before_means(y, q, line), intervals.linear_intervals([sketch], 0.95)
        slopes += line is not None
        for k, interval in zip(kinds, now, strict=True):
            j = ("gap", "brier", "slope").index(k)
            for i, found in enumerate((before[k], interval)):
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
    cover, length, before, rejected = np.zeros(5), np.zeros(5), np.zeros((2, 4)), np.zeros(3)
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
        then = before_groups(sketch, y, q, g)
        before[:, 3] += covers(then, want["error"]), then.high - then.low
        rejected += [t.p_value < 0.05 for t in c.tests]
    cover, length, before = 100 * cover / replicates, length / replicates, before / replicates
    cols = [f"{100 * before[0, j]:.1f} → {cover[j]:.1f}" for j in range(4)] + [f"{cover[4]:.1f}"]
    cols += [f"{before[1, j]:.3f} → {length[j]:.3f}" for j in range(4)] + [f"{length[4]:.3f}"]
    cols += [f"{100 * v / replicates:.1f}" for v in rejected]
    return f"| {name} | {design} | {groups} | {c.effective_groups:.1f} | " + " | ".join(cols) + " |"


QS = {"": (0.3, 0.3), "rare": (0.2, 1.0), "even": (0.5, 0.5)}  # Beta laws of q


def document_sums(design, groups, name, replicates, rng):
    """By sample and document: Σe, Σe(q-q̄), Σe², Σ(q-q̄), Σ(q-q̄)², Σ(q-q̄)(y-ȳ), q̄ and ȳ the sample's. And the documents' sizes."""
    size = sizes(design, groups)
    g, starts = np.repeat(np.arange(groups), size), np.r_[0, np.cumsum(size)[:-1]]
    kind, _, law = name.partition(", ")
    made, strength, at_once = [], float(kind.split()[-1]), max(1_000_000 // len(g), 1)
    for first in range(0, replicates, at_once):
        k = min(at_once, replicates - first)
        q, shared = rng.beta(*QS[law], (k, len(g))).clip(EPS, 1 - EPS), rng.normal(size=(k, groups))[:, g]
        if name.startswith("calibrated"):
            y = ndtr(np.sqrt(strength) * shared + np.sqrt(1 - strength) * rng.normal(size=q.shape)) < q
        else:
            y = rng.random(q.shape) < expit(strength * logit(q) + float(kind.split()[1]) * shared)
        e, x = y - q, q - q.mean(axis=1, keepdims=True)
        columns = (e, e * x, e * e, x, x * x, x * (y - y.mean(axis=1, keepdims=True)))
        made.append(np.stack([np.add.reduceat(c, starts, axis=1) for c in columns]))
    return np.concatenate(made, axis=1), size


def worth(share):
    """The effective number of documents, by their shares (along the last axis)."""
    beta = share**2 / (1 - share)
    return 1 / (np.sum(share**2, axis=-1) + beta.sum(axis=-1) ** 2 - np.sum(beta**2, axis=-1)) + 1


def level(sums, size):
    """How often the score test rejects: Hotelling's T², and as it is."""
    groups = len(size)
    u = np.stack(list(sums[:2]), axis=2)
    mean = u.mean(axis=1)
    deviation = u - mean[:, None]
    cov = np.einsum("rgi,rgj->rij", deviation, deviation) / (groups - 1)
    t2 = groups * np.einsum("ri,rij,rj->r", mean, np.linalg.inv(cov), mean)
    hotelling = fdtrc(2, groups - 2, t2 * (groups - 2) / (2 * (groups - 1)))
    t = np.abs(mean) * np.sqrt(groups / np.stack([cov[:, 0, 0], cov[:, 1, 1]], axis=1))
    now = 4 * stdtr(groups - 1, -t.max(axis=1)) if worth(size / size.sum()) >= groups / 2 else hotelling
    return [np.mean(p < 0.05) for p in (hotelling, now)]


def held(value, want, u, without, share, influence=None):
    """How often an interval of a mean over rows, or of the slope, covers: the sandwich, and the jackknife as it is."""
    groups = u.shape[1]
    before = stdtrit(groups - 1, 0.975) * np.sqrt(
        groups / (groups - 1) * np.sum((u if influence is None else influence) ** 2, axis=1)
    )
    now = stdtrit(worth(share) - 1, 0.975) * np.sqrt((groups - 1) / groups * np.sum(without**2, axis=1))
    return [np.mean(np.abs(value - want) <= half) for half in (before, now)]


def at_once_cell(cell, replicates):
    design, groups, name = cell
    sums, size = document_sums(design, groups, name, replicates, seeded(cell))
    n, h = size.sum(), size / size.sum()
    kind, _, law = name.partition(", ")
    grid = population("Beta(.3,.3)") if not law else stats.beta.ppf((np.arange(400_000) + 0.5) / 400_000, *QS[law])
    if name.startswith("calibrated"):
        want = targets(grid, grid)
    else:
        want = document_effect_targets(float(kind.split()[1]), float(kind.split()[-1]))
    e, _, ee, x, xx, xy = sums
    found = {}
    for k, s in (("gap", -e), ("Brier", ee)):
        mean = s.sum(axis=1) / n
        u = (s - mean[:, None] * size) / n
        found[k] = held(mean, want[k.lower()], u, u / (1 - h), h)
    total = xx.sum(axis=1, keepdims=True)
    slope = xy.sum(axis=1, keepdims=True) / total
    y = e + x  # Σ(y - ȳ) but for a constant a row
    residual = y - size * y.sum(axis=1, keepdims=True) / n - slope * x
    others = n - size
    without = -(xy - slope * xx + x * residual / others) / (total - xx - x**2 / others)
    found["slope"] = held(slope[:, 0], want["slope"], without, without, xx / total, (xy - slope * xx) / total)
    found["rejected"] = level(sums, size) if name.startswith("calibrated") else None
    cols = ["–" if v is None else f"{100 * v[0]:.1f} → {100 * v[1]:.1f}" for v in found.values()]
    return f"| {name} | {design} | {groups} | " + " | ".join(cols) + " |"


AT_ONCE = [
    *(("50 rows each", g, f"calibrated share {s}") for s in (0.1, 0.2, 0.3) for g in (5, 10, 20, 40)),
    *(
        (f"{m} rows each", g, f"calibrated share 0.4, {q}")
        for q in ("rare", "even")
        for m in (50, 150)
        for g in (5, 10, 20, 40)
    ),
    *((d, g, "calibrated share 0.3") for d in ("Zipf", "one giant") for g in (5, 20, 100)),
    *((d, g, "sd 0.7 logit × 1.3") for d in ("50 rows each", "Zipf", "one giant") for g in (5, 20, 100)),
]


PARTS = {
    "at-once": (
        AT_ONCE,
        at_once_cell,
        "| data | documents | | gap covers | Brier covers | slope covers | score test rejects |",
    ),
    "few": (FEW, few_cell, "| q | truth | n | gap | Brier | slope | length, gap | Brier | slope | has a slope |"),
    "unequal": (
        UNEQUAL,
        unequal_cell,
        "| data | documents | | worth | gap | Brier | slope | RMS error | ECE | length, gap | Brier | slope | RMS error | ECE | combined | excess error | score |",
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
