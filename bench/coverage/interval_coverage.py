"""Do the intervals cover, and do the tests hold their level? A simulation on the grid of docs/evidence/theory.md.

    make coverage                                   (1,000 replicates a cell: about two hours of one core)
    python bench/coverage/interval_coverage.py --replicates 250       (a quick look)

A cell is simulated in parts, each seeded by the cell's name and the part's number, so results do not depend on the number of workers. Finished parts are
kept in bench/data/coverage.jsonl; a stopped run goes on from there, and the tables say how many replicates they hold. What is compared with
earlier formulas is compared on the first part. `--only family` runs the families alone. `--write` puts the tables that are complete into docs/evidence/theory.md.
"""

import argparse
import json
import os
import zlib
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import stats
from scipy.special import expit, logit, ndtr

from howsure.calibration import paper
from howsure.calibration.analysis import analyse, cluster_rows, drawn_starts, filing
from howsure.calibration.estimation import intervals, perfection
from howsure.calibration.estimation.bias import calibration_slope
from howsure.calibration.estimation.estimate import MOST_BINS, bin_count, estimation_bins, nested_bins
from howsure.calibration.estimation.intervals import Estimate, normal_quantile
from howsure.calibration.groups import estimates as clustered
from howsure.calibration.groups.clusters import ClusterBuilder, parts
from howsure.calibration.groups.moments import moments
from howsure.calibration.sketch import sketch_rows

ROOT = Path(__file__).parents[2]
STORE = ROOT / "bench" / "data" / "coverage.jsonl"
THEORY = ROOT / "docs" / "evidence" / "theory.md"
SIZES = (500, 2_000, 33_306, 200_000)
SHAPES = {"Beta(.3,.3)": (0.3, 0.3), "Beta(.05,.5)": (0.05, 0.5), "Beta(2,2)": (2, 2), "grid of 11": None}
PART = 250  # replicates simulated at a time
LARGE = {200_000: 100}  # the same for samples of this size, which are simulated for two shapes only
EPS = 1e-15


def scaled(factor):
    return lambda q: expit(factor * logit(np.clip(q, EPS, 1 - EPS)))


TRUTHS = {
    "calibrated": lambda q: q,
    "logit × .95": scaled(0.95),
    "logit × .8": scaled(0.8),
    "logit × 1.3": scaled(1.3),
    "clip(q ∓ .1)": lambda q: np.where(q < 0.5, np.maximum(q - 0.1, 0), np.minimum(q + 0.1, 1)),
    "q + .05 sin 6πq": lambda q: np.clip(q + 0.05 * np.sin(6 * np.pi * q), 0, 1),
}


def steps(k):
    """The middle of the k-th part of [0, 1] that q lies in."""
    return lambda q: (np.minimum(np.floor(k * q), k - 1) + 0.5) / k


def wave(cycles, height):
    return lambda q: np.clip(q + height * np.sin(2 * np.pi * cycles * q), 0, 1)


# What language models say of themselves: few values, most of them high.
SAID = np.array([0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0])
SHARE = np.array([0.05, 0.1, 0.15, 0.2, 0.25, 0.15, 0.1])
FAMILY_SHAPES = {
    **{name: (lambda n, rng, ab=ab: rng.beta(*ab, n)) for name, ab in SHAPES.items() if ab},
    "uniform": lambda n, rng: rng.random(n),
    "rare: Beta(.05,5)": lambda n, rng: rng.beta(0.05, 5, n),
    "heaps": lambda n, rng: rng.choice(SAID, n, p=SHARE),
    "heaps and between": lambda n, rng: np.where(rng.random(n) < 0.5, rng.choice(SAID, n, p=SHARE), rng.random(n)),
}
FAMILY_TRUTHS = {
    **TRUTHS,
    "3 steps": steps(3),
    "5 steps": steps(5),
    "q + .05 sin 20πq": wave(10, 0.05),
    "q + .05 sin 40πq": wave(20, 0.05),
    "heaps off by .1": lambda q: np.where(np.isin(q, SAID), np.where(q < 0.75, q + 0.1, q - 0.1), q),
}
# How the resolution is chosen was settled on other truths: 2, 4 and 7 steps, square waves, sin 14πq, 30πq and 60πq, other heaps and
# percentages, on uniform q, Beta(.5,2) and a mixture, n = 40 to 80,000.
FAMILIES = [
    *((n, "uniform", "3 steps") for n in (1_000, 5_000)),
    *((n, "uniform", "5 steps") for n in (1_000, 5_000, 10_000, 50_000)),
    *((n, "Beta(.3,.3)", "5 steps") for n in (5_000, 50_000)),
    *((n, "uniform", "q + .05 sin 20πq") for n in (5_000, 50_000)),
    *((n, "uniform", "q + .05 sin 40πq") for n in (5_000, 20_000, 50_000)),
    *((n, "heaps", t) for n in (60, 500, 5_000) for t in ("calibrated", "logit × .8", "heaps off by .1")),
    *((n, "heaps and between", t) for n in (500, 5_000) for t in ("calibrated", "logit × .8", "heaps off by .1")),
    *((n, s, t) for n in (30, 60, 150) for s in ("Beta(.3,.3)", "Beta(.05,.5)", "Beta(2,2)", "rare: Beta(.05,5)")
      for t in ("calibrated", "logit × .8", "clip(q ∓ .1)")),
]  # fmt: skip
TESTS = ("combined", "excess error", "score", "Spiegelhalter", "Kolmogorov-Smirnov", "Kuiper")
BETA = {500: 100, 2_000: 200, 33_306: 1_000, 200_000: 5_000}  # bin size of Algorithm 2


def draw(shape, n, rng):
    return rng.integers(0, 11, n) / 10 if SHAPES[shape] is None else rng.beta(*SHAPES[shape], n)


@lru_cache
def population(shape):
    """A fine, even grid over the distribution of q."""
    if SHAPES[shape] is None:
        return np.arange(11) / 10
    return stats.beta.ppf((np.arange(400_000) + 0.5) / 400_000, *SHAPES[shape])


def targets(q, p):
    return {
        "error": float(np.sqrt(np.mean((q - p) ** 2))),
        "ece": float(np.mean(np.abs(q - p))),
        "gap": float(np.mean(q - p)),
        "brier": float(np.mean((q - p) ** 2 + p * (1 - p))),
        "slope": float(np.mean((q - q.mean()) * (p - p.mean())) / np.var(q)),
    }


def covers(estimate, target):
    return estimate.low - 1e-9 <= target <= estimate.high + 1e-9


def wald(value, variance):
    half = 1.96 * np.sqrt(variance)
    return Estimate(value, value - half, value + half)


def before_means(y, q, line):
    """The gap, the Brier score and the slope as value ± 1.96 standard errors."""
    e, n = y - q, len(q)
    return {
        "gap": wald(-e.mean(), max(e.var(ddof=1), 0.5 / n) / n),
        "brier": wald(np.mean(e**2), np.var(e**2, ddof=1) / n),
        "slope": line and wald(line[0], line[1] ** 2),
    }


@lru_cache
def wanted(kind, *cell):
    """What a cell's intervals should cover."""
    if kind == "independent":
        _, shape, truth = cell
        grid = population(shape)
        return targets(grid, TRUTHS[truth](grid))
    if kind == "family":
        shape, truth = cell[1:]
        grid = FAMILY_SHAPES[shape](4_000_000, np.random.default_rng(7))
        if shape == "heaps":
            grid = np.repeat(SAID, np.rint(100 * SHARE).astype(int))
        return targets(grid, FAMILY_TRUTHS[truth](grid))
    name = cell[0]
    if name == "mention pairs":
        return mention_pair_targets()
    if name.startswith("calibrated"):
        grid = population("Beta(.3,.3)")
        return targets(grid, grid)
    return document_effect_targets(float(name.split()[1]), float(name.split()[-1]))


def record(sums, found, want, prefix=""):
    """Count intervals that cover, and add up their lengths."""
    for k, e in found.items():
        sums[f"{prefix}{k}"] += e is None or covers(e, want[k])  # no slope, no claim: one class only
        sums[f"{prefix}length {k}"] += 0.0 if e is None else e.high - e.low


def independent_cell(n, shape, truth, replicates, rng, chance, first):
    p_of, want, sums = TRUTHS[truth], wanted("independent", n, shape, truth), Counter()
    for _ in range(replicates):
        q = draw(shape, n, rng)
        p = p_of(q)
        y = rng.random(n) < p
        sketch = sketch_rows(y, q)
        c = analyse(sketch, rng=chance if truth == "calibrated" else None)
        record(
            sums,
            {"error": c.error, "ece": c.ece, "gap": c.bias.gap, "brier": c.brier_interval, "slope": c.bias.slope},
            want,
        )
        if first:
            error, ece, p_value = before(sketch)
            then = {"error": error, "ece": ece, **before_means(y, q, calibration_slope(sketch))}
            record(sums, then, want, "before ")
            sums["before rejects combined"] += p_value < 0.05
            sums["algorithm 2"] += covers(paper.calibration_interval(y, q, BETA[n], 1_000, chance), want["error"])
        for t in c.tests:
            sums[f"rejects {t.name}"] += t.p_value < 0.05
        drawn = parts(sketch, drawn_starts(sketch, c.bins, None), c.bins.from_prob).of(q)[1]
        mean_p = np.bincount(drawn, p) / c.bins.n
        sums["bins"] += np.sum((c.bins.low <= mean_p + 1e-9) & (mean_p <= c.bins.high + 1e-9))
        if c.band is not None:
            sums["band"] += np.sum((c.band[0] <= c.bins.mean_true + 1e-12) & (c.bins.mean_true <= c.band[1] + 1e-12))
        sums["drawn"] += len(c.bins)
    return sums


def before(sketch):
    """RMS error, ECE and p-value as they were: bins of one resolution, limits from these alone, an uncut combination."""
    n, z = sketch.n, normal_quantile(0.975)
    counts = [bin_count(n)]
    while 2 * counts[-1] <= min(n / 8, MOST_BINS):
        counts.append(2 * counts[-1])
    levels = nested_bins(sketch, counts, heaps=False)
    first, k = levels[0], 0
    law = intervals._law(first, z)
    while k + 1 < len(levels) and 2 * levels[k].null_spread <= 0.2 * law.variance1 * max(first.squared_error, 0):
        k += 1
    bins = levels[k]
    low, high = intervals._lower(bins, z), intervals._upper(bins, bins.squared_error, z)
    few = estimation_bins(sketch, min(max(10, round(n ** (1 / 3))), MOST_BINS), heaps=False)
    ece, ece_low = intervals._bins_ece(few, z)
    plug_in = float(np.sum(few.weight * np.abs(few.gap)))
    ece_high = max(min(plug_in + z * intervals._ece_error(few), np.sqrt(high)), ece)
    p = np.clip(
        [perfection.excess_error(first).p_value, perfection._score(*perfection._scores(sketch)).p_value],
        1e-15,
        1 - 1e-15,
    )
    return (
        Estimate(bins.squared_error, low, high).sqrt(),
        Estimate(ece, min(ece_low, ece), ece_high),
        0.5 - np.arctan(np.mean(np.tan((0.5 - p) * np.pi))) / np.pi,
    )


def family_cell(n, shape, truth, replicates, rng, chance, first):
    """One part of a cell of the families: RMS error, ECE and the combined test, beside what they were."""
    p_of, want, sums = FAMILY_TRUTHS[truth], wanted("family", n, shape, truth), Counter()
    for _ in range(replicates):
        q = FAMILY_SHAPES[shape](n, rng)
        sketch = sketch_rows(rng.random(n) < p_of(q), q)
        c = analyse(sketch)
        record(sums, {"error": c.error, "ece": c.ece}, want)
        sums["rejects combined"] += c.p_value < 0.05
        sums["resolution"] += c.resolution.bins
        if first:
            error, ece, p = before(sketch)
            record(sums, {"error": error, "ece": ece}, want, "before ")
            sums["before rejects combined"] += p < 0.05
    return sums


def document_effect(groups, size, sd, truth, rng):
    """50-item documents whose items share a shift of the logit: dependent, and the marginal p(q) is known."""
    q = rng.beta(0.3, 0.3, groups * size)
    g = np.repeat(np.arange(groups), size)
    shift = np.repeat(rng.normal(0, sd, groups), size)
    y = rng.random(len(q)) < expit(truth * logit(np.clip(q, EPS, 1 - EPS)) + shift)
    return y, q, g


def document_effect_targets(sd, truth):
    grid = population("Beta(.3,.3)")
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    logits = truth * logit(np.clip(grid, EPS, 1 - EPS))
    p = sum(w * expit(logits + sd * x) for x, w in zip(nodes, weights, strict=True)) / weights.sum()
    return targets(grid, p)


def calibrated_documents(groups, size, share, rng):
    """Calibrated and dependent: y = 1 when a latent normal, part of it shared by the document, is below Φ⁻¹(q)."""
    q = rng.beta(0.3, 0.3, groups * size)
    g = np.repeat(np.arange(groups), size)
    latent = np.sqrt(share) * np.repeat(rng.normal(size=groups), size) + np.sqrt(1 - share) * rng.normal(size=len(q))
    return ndtr(latent) < q, q, g


def mention_pairs(groups, rng, strength=0.8):
    """Coreference-like: all pairs of 12 mentions in 5 entities, scored with mention effects that pairs share."""
    ys, qs, gs = [], [], []
    i, j = np.triu_indices(12, 1)
    entity = rng.integers(0, 5, (groups, 12))
    effect = rng.normal(0, 0.7, (groups, 12))
    same = entity[:, i] == entity[:, j]
    score = 2.0 * (same - 0.5) + effect[:, i] + effect[:, j] + rng.normal(0, 1, same.shape)
    q = expit(strength * (2.0 * score / (1 + 2 * 0.49)) + logit(0.2))
    ys, qs, gs = same.ravel(), q.ravel(), np.repeat(np.arange(groups), len(i))
    return ys, qs, gs


@lru_cache
def mention_pair_targets():
    """The truth of `mention_pairs`, from 60,000 documents by the clustered estimate, whose bias is none."""
    rng = np.random.default_rng(1)
    y, q, g = mention_pairs(60_000, rng)
    sketch = sketch_rows(y, q)
    builder = ClusterBuilder(filing(sketch, None, 0.95))
    builder.add(g.astype(np.uint64), y.view(np.uint8), q)
    table = moments(builder.finish())
    return {
        "error": clustered.squared_error(table, 0.95)[0].sqrt().value,
        "gap": float(q.mean() - y.mean()),
        "brier": float(np.mean((y - q) ** 2)),
        "slope": clustered.slope(table, 0.95).value,
    }


def before_groups(sketch, y, q, g):
    """RMS error of rows in groups as it was: bins of one resolution, G/(G-1) and t of G-1 degrees of freedom."""
    bins = estimation_bins(sketch, bin_count(sketch.n), heaps=False)
    groups, n = g.max() + 1, len(q)
    b = np.searchsorted(sketch.mean_q[bins.starts], q, side="right") - 1
    s, m = np.zeros((groups, len(bins.n))), np.zeros((groups, len(bins.n)))
    np.add.at(s, (g, b), y - q)
    np.add.at(m, (g, b), 1.0)
    alone = np.sum(m**2, axis=0) >= bins.n**2  # one group only: left out
    s, m = s[:, ~alone], m[:, ~alone]
    size = m.sum(axis=0)
    a = size / n / (size**2 - np.sum(m**2, axis=0))
    d = s.sum(axis=0) / size
    t = float(np.sum(a * (s.sum(axis=0) ** 2 - np.sum(s**2, axis=0))))
    r, f = s - d * m, groups / (groups - 1)
    c, d2 = f * r.T @ r, float(np.sum(size * d**2)) / n
    root = np.sqrt(a)
    matrix = root[:, None] * c * root
    square = float(np.sum(matrix**2))
    v0 = max(
        2 * (square - f**2 * np.sum((r**2 @ a) ** 2)),
        2 * np.sum(np.diag(matrix) ** 2) - 2 * f**2 * np.sum((a * r**2) ** 2),
    )
    v0 = max(v0, 1e-3 * square)
    third = 8 * float(np.sum(matrix * (matrix @ matrix))) * min(1.0, v0 / (2 * square)) ** 1.5
    z, cd = stats.t.ppf(0.975, groups - 1), c @ d
    between = f * np.sum((m @ (d**2 - d2)) ** 2) / (n * d2) ** 2
    law = intervals.Law(
        v0, 4 * float(d @ cd) / (n**2 * d2), min(between, 0.5 / z**2), third, 24 * float((a * cd / n) @ (cd / n)) / d2
    )
    straight = intervals.Law(law.variance0, law.variance1, law.variance2, 0.0, 0.0)
    low = intervals.solve(lambda x: law.quantile(x, z), t)
    return Estimate(t, low, intervals.solve(lambda x: straight.quantile(x, -z), max(t, 0.0))).sqrt()


def clustered_cell(name, groups, replicates, rng, chance, first):
    want, sums = wanted("clustered", name, groups), Counter()
    if name == "mention pairs":
        make = lambda: mention_pairs(groups, rng)  # noqa: E731
    elif name.startswith("calibrated"):
        make = lambda: calibrated_documents(groups, 50, float(name.split()[-1]), rng)  # noqa: E731
    else:
        make = lambda: document_effect(groups, 50, float(name.split()[1]), float(name.split()[-1]), rng)  # noqa: E731
    for _ in range(replicates):
        y, q, g = make()
        sketch = sketch_rows(y, q)
        c = analyse(sketch, clusters=cluster_rows(sketch, y.view(np.uint8), q, g, None, 0.95))
        now = {"error": c.error, "gap": c.bias.gap, "brier": c.brier_interval, "slope": c.bias.slope}
        record(sums, {**now, "ece": c.ece} if "ece" in want else now, want)
        for t in c.tests:
            sums[f"rejects {t.name}"] += t.p_value < 0.05
        if first:
            alone = analyse(sketch)
            record(sums, {"error": alone.error, "gap": alone.bias.gap}, want, "alone ")
            record(sums, {"error": before_groups(sketch, y, q, g)}, want, "before ")
            sums["alone rejects combined"] += alone.p_value < 0.05
    return sums


CLUSTERED = [
    *((f"sd {sd} logit × {t}", g) for sd in (0.5, 1.0) for t in (1.0, 0.8) for g in (10, 40, 200, 666)),
    *((f"calibrated share {s}", g) for s in (0.1, 0.3) for g in (10, 40, 200, 666)),
    *(("mention pairs", g) for g in (20, 100)),
]


def cells():
    for n in SIZES:
        for shape in ("Beta(.3,.3)", "grid of 11") if n in LARGE else SHAPES:
            for truth in TRUTHS:
                yield ("independent", n, shape, truth)
    for n, shape, truth in FAMILIES:
        yield ("family", n, shape, truth)
    for name, groups in CLUSTERED:
        yield ("clustered", name, groups)


def simulated(cell, part):
    """One part of a cell."""
    kind, *rest = cell
    run = {"independent": independent_cell, "family": family_cell, "clustered": clustered_cell}[kind]
    seed = zlib.crc32("|".join(map(str, rest)).encode())
    rng, chance = np.random.default_rng([seed, part]), np.random.default_rng([seed, part, 1])
    sums = run(*rest, LARGE.get(cell[1], PART), rng, chance, part == 0)
    return {"cell": cell, "part": part, "sums": {k: float(v) for k, v in sums.items()}}


class Found:
    """What was counted in the parts of a cell."""

    def __init__(self, cell, parts):
        self.cell, self.parts = cell, parts
        self.size = LARGE.get(cell[1], PART)
        self.replicates = self.size * len(parts)
        self.target = wanted(*cell)["error"]
        self.sums = sum((Counter(p) for p in parts.values()), Counter())

    def share(self, key, of=None):
        """Of all replicates, or of `of`."""
        return self.sums[key] / (self.sums[of] if of else self.replicates)

    def first(self, key):
        """Mean over the first part."""
        return self.parts[0].get(key, 0.0) / self.size


def percent(values):
    values = [100 * v for v in values]
    low, high = min(values), max(values)
    return f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f}–{high:.1f}"


def counted(found):
    """How many replicates the cells have."""
    low, high = min(r.replicates for r in found), max(r.replicates for r in found)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def family_table(found):
    """Steps, waves, heaps, rare events and few rows: each cell beside what it was."""
    out = [
        f"Percent of {counted(found)} replicates ({PART} of what was before), mean lengths, and rejections at 5% by the combined test (its level where θ = 0), each "
        "“before → now”; before: bins of one resolution, limits from these alone. Bins: mean number now.",
        "",
        "| q | truth | n | θ | RMS error | ECE | length, RMS | length, ECE | rejected | bins |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in found:
        _, n, shape, truth = r.cell
        cols = [f"{100 * r.first('before ' + k):.1f} → {100 * r.share(k):.1f}" for k in ("error", "ece")]
        cols += [f"{r.first('before length ' + k):.3f} → {r.share('length ' + k):.3f}" for k in ("error", "ece")]
        cols += [f"{100 * r.first('before rejects combined'):.1f} → {100 * r.share('rejects combined'):.1f}"]
        out.append(
            f"| {shape} | {truth} | {n:,} | {r.target:.3f} | "
            + " | ".join([*cols, f"{r.share('resolution'):.0f}"])
            + " |"
        )
    return "\n".join(out) + "\n"


NAMES = {
    "error": "**RMS error (default)**", "before error": "RMS error before", "algorithm 2": "Algorithm 2, 1,000 samples", "ece": "ECE", "before ece": "ECE before",
    "gap": "mean q - mean y", "slope": "slope", "brier": "Brier score", "bins": "a drawn bin's frequency (Clopper-Pearson)",
    "band": "consistency band, if calibrated",
}  # fmt: skip


def grid_table(found):
    """Coverage, lengths, levels and power on the main grid."""
    of = {n: [r for r in found if r.cell[1] == n] for n in SIZES}
    sizes = [n for n in SIZES if len(of[n]) == sum(c[:2] == ("independent", n) for c in cells())]
    calibrated = {n: [r for r in of[n] if r.cell[3] == "calibrated"] for n in sizes}
    wrong = {n: [r for r in of[n] if r.cell[3] != "calibrated"] for n in sizes}
    said = ", ".join(f"{counted(of[n])} at n = {n:,}" for n in sizes)
    out = [
        f"Percent of replicates: {said}; what was before and Algorithm 2 in the first {PART} ({LARGE[200_000]} at n = 200,000). Least and most over the {len(SHAPES) * len(TRUTHS)} cells of each size ({2 * len(TRUTHS)} at n = 200,000).",
        "",
        "| 95% interval of | " + " | ".join(f"n = {n:,}" for n in sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    for k, label in NAMES.items():
        if k == "band":
            row = [percent([r.share(k, "drawn") for r in calibrated[n]]) for n in sizes]
        elif k == "bins":
            row = [percent([r.share(k, "drawn") for r in of[n]]) for n in sizes]
        elif k in ("error", "ece", "gap", "slope", "brier"):
            row = [percent([r.share(k) for r in of[n]]) for n in sizes]
        else:
            row = [percent([r.first(k) for r in of[n]]) for n in sizes]
        out.append(f"| {label} | " + " | ".join(row) + " |")
    for k, label in (("error", "the RMS error"), ("ece", "the ECE")):
        worst = min((r for n in sizes for r in of[n]), key=lambda r: r.share(k))
        above = sum(r.share(k) > 0.995 for n in sizes for r in of[n])
        out += ["", f"Least coverage of {label}: {100 * worst.share(k):.1f}% at n = {worst.cell[1]:,}, {worst.cell[2]}, "
                f"{worst.cell[3]}; above 99.5% in {above} of {sum(len(of[n]) for n in sizes)} cells."]  # fmt: skip
    out += [
        "",
        "Mean length over that of the interval before, on the same samples (mean over cells; least and most).",
        "",
    ]
    out += ["| interval of | " + " | ".join(f"n = {n:,}" for n in sizes) + " |", "|---|" + "---|" * len(sizes)]
    for k in ("error", "ece", "gap", "slope", "brier"):
        row = []
        for n in sizes:
            ratio = [r.first(f"length {k}") / r.first(f"before length {k}") for r in of[n]]
            row.append(f"{np.mean(ratio):.2f} ({min(ratio):.2f}–{max(ratio):.2f})")
        out.append(f"| {NAMES[k].strip('*')} | " + " | ".join(row) + " |")
    out += [
        "",
        "Tests at α = 5%: level (calibrated cells) and mean power (the others; the combined test on the samples that the one before was run on).",
        "",
    ]
    out += ["| test | " + " | ".join(f"level, n = {n:,}" for n in sizes) + " | " + " | ".join(f"power, {n:,}" for n in sizes) + " |",
            "|---|" + "---|" * (2 * len(sizes))]  # fmt: skip
    for t in (TESTS[0], "combined before", *TESTS[1:]):
        k = "before rejects combined" if t == "combined before" else f"rejects {t}"
        paired = t.startswith("combined")
        level = [percent([r.first(k) if t == "combined before" else r.share(k) for r in calibrated[n]]) for n in sizes]
        power = [f"{100 * np.mean([r.first(k) if paired else r.share(k) for r in wrong[n]]):.1f}" for n in sizes]
        out.append(f"| {t} | " + " | ".join(level + power) + " |")
    return "\n".join(out) + "\n"


def groups_table(found):
    """Coverage, lengths, levels and power with documents of one size."""
    out = [
        f"Percent of {counted(found)} replicates ({PART} of what ignores groups and of what was before).",
        "",
        "| data | groups | RMS error | ignoring groups | length (before) | ECE | mean q - y | ignoring groups | slope | Brier |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in found:
        length = f"{r.first('length error'):.3f} ({r.first('before length error'):.3f})"
        cols = [f"{100 * v:.1f}" for v in (r.share("error"), r.first("alone error"))]
        cols += [length, f"{100 * r.share('ece'):.1f}" if "ece" in wanted(*r.cell) else "–"]
        cols += [f"{100 * v:.1f}" for v in (r.share("gap"), r.first("alone gap"), r.share("slope"), r.share("brier"))]
        out.append(f"| {r.cell[1]} | {r.cell[2]} | " + " | ".join(cols) + " |")
    out += ["", "Tests on groups, share rejected at 5% (the first rows are calibrated: their level).", ""]
    out += [
        "| data | groups | combined | excess error | score | combined, ignoring groups |",
        "|---|---|---|---|---|---|",
    ]
    for r in sorted(found, key=lambda r: not r.cell[1].startswith("calibrated")):
        cols = [r.share(f"rejects {t}") for t in TESTS[:3]] + [r.first("alone rejects combined")]
        out.append(f"| {r.cell[1]} | {r.cell[2]} | " + " | ".join(f"{100 * v:.1f}" for v in cols) + " |")
    return "\n".join(out) + "\n"


TABLES = {
    "coverage": ("independent", grid_table),
    "groups": ("clustered", groups_table),
    "families": ("family", family_table),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1_000)
    parser.add_argument("--only", default="", help="cells whose name contains one of these, separated by commas")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true", help="put the tables into docs/evidence/theory.md")
    args = parser.parse_args()
    STORE.parent.mkdir(parents=True, exist_ok=True)
    done = defaultdict(dict)
    for line in STORE.read_text().splitlines() if STORE.exists() else ():
        r = json.loads(line)
        done[tuple(r["cell"])][r["part"]] = r["sums"]
    todo = [
        (c, k)
        for k in range(-(-args.replicates // PART))
        for c in cells()
        if k not in done[c] and any(o in str(c) for o in args.only.split(","))
    ]
    todo.sort(key=lambda job: (job[1], job[0][2] * 50 if job[0][0] == "clustered" else job[0][1]))
    with ProcessPoolExecutor(args.workers) as pool, STORE.open("a") as store:
        waiting = [pool.submit(simulated, *job) for job in todo]
        for i, future in enumerate(as_completed(waiting), 1):
            r = future.result()
            done[tuple(r["cell"])][r["part"]] = r["sums"]
            store.write(json.dumps(r) + "\n")
            store.flush()
            print(
                f"{i}/{len(todo)} {r['cell']} {r['part']} error {r['sums']['error']:.0f} combined {r['sums']['rejects combined']:.0f}",
                flush=True,
            )
    for mark, (kind, table) in TABLES.items():
        listed = [c for c in cells() if c[0] == kind]
        found = [Found(c, done[c]) for c in listed if 0 in done[c]]
        if not found or (len(found) < len(listed) and kind != "independent"):
            continue
        made = table(found)
        print(made)
        if args.write:
            begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
            head, rest = THEORY.read_text().split(begin)
            THEORY.write_text(head + begin + "\n" + made + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
