"""Do the intervals cover, and do the tests hold their level? A simulation on the grid of docs/evidence/theory.md.

    make coverage                                   (1,000 replicates a cell: about 40 minutes on 2 cores)
    python bench/coverage/interval_coverage.py --replicates 100       (a quick look)

Every cell is seeded by its own name, so results do not depend on the number of workers; finished cells are kept in
bench/data/coverage.jsonl and a stopped run goes on from there. `--only family` runs the families alone. `--write` puts the tables that are complete into docs/evidence/theory.md.
"""

import argparse
import json
import os
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import stats
from scipy.special import expit, logit, ndtr

from howsure.calibration import paper
from howsure.calibration.analysis import analyse, drawn_starts, filing
from howsure.calibration.estimation import intervals, perfection
from howsure.calibration.estimation.estimate import MOST_BINS, bin_count, estimation_bins, nested_bins, null_spread
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
PAPER = 200  # replicates of Algorithm 2, which stays as published
MOST = {200_000: 400}  # replicates of a cell of this size
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


def independent_cell(n, shape, truth, replicates):
    rng = np.random.default_rng(zlib.crc32(f"{n}|{shape}|{truth}".encode()))
    p_of = TRUTHS[truth]
    grid = population(shape)
    want = targets(grid, p_of(grid))
    hits = dict.fromkeys((*want, "error before", "algorithm 2", "bins", "band"), 0)
    rejections = dict.fromkeys((*TESTS, "combined before"), 0)
    n_bins = length = length_before = 0
    for i in range(replicates):
        q = draw(shape, n, rng)
        p = p_of(q)
        y = rng.random(n) < p
        sketch = sketch_rows(y, q)
        c = analyse(sketch, rng=rng if truth == "calibrated" else None)
        found = {
            "error": c.error,
            "ece": c.ece,
            "gap": c.bias.gap,
            "brier": c.brier_interval,
            "slope": c.bias.slope,
        }
        for k, e in found.items():
            hits[k] += e is None or covers(e, want[k])  # no slope, no claim: one class only
        length += c.error.high - c.error.low
        error, _, p_value = before(sketch)
        hits["error before"] += covers(error, want["error"])
        length_before += error.high - error.low
        rejections["combined before"] += p_value < 0.05
        if i < PAPER:
            a2 = paper.calibration_interval(y, q, BETA[n], 1_000, rng)
            hits["algorithm 2"] += covers(a2, want["error"])
        for t in c.tests:
            rejections[t.name] += t.p_value < 0.05
        drawn = parts(sketch, drawn_starts(sketch, c.bins, None), c.bins.from_prob).of(q) % len(c.bins)
        mean_p = np.bincount(drawn, p) / c.bins.n
        hits["bins"] += int(np.sum((c.bins.low <= mean_p + 1e-9) & (mean_p <= c.bins.high + 1e-9)))
        if c.band is not None:
            hits["band"] += int(
                np.sum((c.band[0] <= c.bins.mean_true + 1e-12) & (c.bins.mean_true <= c.band[1] + 1e-12))
            )
        n_bins += len(c.bins)
    cover = {k: v / replicates for k, v in hits.items()}
    cover["algorithm 2"] = hits["algorithm 2"] / min(replicates, PAPER)
    cover["bins"], cover["band"] = hits["bins"] / n_bins, hits["band"] / n_bins
    return {
        "kind": "independent", "n": n, "shape": shape, "truth": truth, "replicates": replicates, "target": want["error"],
        "cover": cover, "reject": {k: v / replicates for k, v in rejections.items()}, "length": length / replicates,
        "length before": length_before / replicates,
    }  # fmt: skip


def before(sketch):
    """RMS error, ECE and p-value as they were: bins of one resolution, limits from these alone, an uncut combination."""
    n, z = sketch.n, normal_quantile(0.975)
    counts = [bin_count(n)]
    while 2 * counts[-1] <= min(n / 8, MOST_BINS):
        counts.append(2 * counts[-1])
    levels = nested_bins(sketch, counts, heaps=False)
    first, k = levels[0], 0
    law = intervals._law(first, z)
    while k + 1 < len(levels) and 2 * null_spread(levels[k]) <= 0.2 * law.variance1 * max(first.squared_error, 0):
        k += 1
    bins = levels[k]
    low, high = intervals._lower(bins, z), intervals._upper(bins, bins.squared_error, z)
    few = estimation_bins(sketch, min(max(10, round(n ** (1 / 3))), MOST_BINS), heaps=False)
    ece, ece_low = intervals._bins_ece(few, z)
    plug_in = float(np.sum(few.weight * np.abs(few.gap)))
    ece_high = max(min(plug_in + z * intervals._ece_error(few), np.sqrt(high)), ece)
    p = np.clip([perfection.excess_error(first).p_value, perfection._score(sketch).p_value], 1e-15, 1 - 1e-15)
    return (
        Estimate(bins.squared_error, low, high).sqrt(),
        Estimate(ece, min(ece_low, ece), ece_high),
        0.5 - np.arctan(np.mean(np.tan((0.5 - p) * np.pi))) / np.pi,
    )


def family_cell(n, shape, truth, replicates):
    """One cell of the families: RMS error, ECE and the combined test, beside what they were."""
    rng = np.random.default_rng(zlib.crc32(f"{n}|{shape}|{truth}".encode()))
    p_of = FAMILY_TRUTHS[truth]
    grid = FAMILY_SHAPES[shape](4_000_000, np.random.default_rng(7))
    if shape == "heaps":
        grid = np.repeat(SAID, np.rint(100 * SHARE).astype(int))
    want = targets(grid, p_of(grid))
    kinds = ("error", "ece", "error before", "ece before")
    hits, length, rejected = dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0.0), {"combined": 0, "before": 0}
    bins = 0
    for _ in range(replicates):
        q = FAMILY_SHAPES[shape](n, rng)
        sketch = sketch_rows(rng.random(n) < p_of(q), q)
        c = analyse(sketch)
        error, ece, p = before(sketch)
        for kind, e in zip(kinds, (c.error, c.ece, error, ece), strict=True):
            hits[kind] += covers(e, want[kind.split()[0]])
            length[kind] += (e.high - e.low) / replicates
        rejected["combined"] += c.p_value < 0.05
        rejected["before"] += p < 0.05
        bins += c.resolution.bins
    return {
        "kind": "family", "n": n, "shape": shape, "truth": truth, "replicates": replicates, "target": want["error"],
        "cover": {k: v / replicates for k, v in hits.items()}, "length": length, "bins": bins / replicates,
        "reject": {k: v / replicates for k, v in rejected.items()},
    }  # fmt: skip


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


def clustered_cell(name, groups, replicates):
    rng = np.random.default_rng(zlib.crc32(f"{name}|{groups}".encode()))
    if name == "mention pairs":
        want = mention_pair_targets()
        make = lambda: mention_pairs(groups, rng)  # noqa: E731
    elif name.startswith("calibrated"):
        share = float(name.split()[-1])
        grid = population("Beta(.3,.3)")
        want = targets(grid, grid)
        make = lambda: calibrated_documents(groups, 50, share, rng)  # noqa: E731
    else:
        sd, truth = float(name.split()[1]), float(name.split()[-1])
        want = document_effect_targets(sd, truth)
        make = lambda: document_effect(groups, 50, sd, truth, rng)  # noqa: E731
    hits = dict.fromkeys(("error", "gap", "brier", "slope", "unclustered error", "unclustered gap"), 0)
    rejections = dict.fromkeys(("combined", "excess error", "score", "unclustered combined"), 0)
    for _ in range(replicates):
        y, q, g = make()
        sketch = sketch_rows(y, q)
        builder = ClusterBuilder(filing(sketch, None, 0.95))
        builder.add(g.astype(np.uint64), y.view(np.uint8), q)
        c, alone = analyse(sketch, clusters=builder.finish()), analyse(sketch)
        for k, e in (
            ("error", c.error),
            ("gap", c.bias.gap),
            ("brier", c.brier_interval),
            ("slope", c.bias.slope),
        ):
            hits[k] += covers(e, want[k])
        hits["unclustered error"] += covers(alone.error, want["error"])
        hits["unclustered gap"] += covers(alone.bias.gap, want["gap"])
        for t in c.tests:
            rejections[t.name] += t.p_value < 0.05
        rejections["unclustered combined"] += alone.p_value < 0.05
    return {
        "kind": "clustered", "name": name, "groups": groups, "replicates": replicates, "target": want["error"],
        "cover": {k: v / replicates for k, v in hits.items()}, "reject": {k: v / replicates for k, v in rejections.items()},
    }  # fmt: skip


CLUSTERED = [
    *((f"sd {sd} logit × {t}", g) for sd in (0.5, 1.0) for t in (1.0, 0.8) for g in (10, 40, 200, 666)),
    *((f"calibrated share {s}", g) for s in (0.1, 0.3) for g in (10, 40, 200, 666)),
    *(("mention pairs", g) for g in (20, 100)),
]


def cells():
    for n in SIZES:
        for shape in SHAPES:
            for truth in TRUTHS:
                yield ("independent", n, shape, truth)
    for n, shape, truth in FAMILIES:
        yield ("family", n, shape, truth)
    for name, groups in CLUSTERED:
        yield ("clustered", name, groups)


def run_cell(cell, replicates):
    kind, *rest = cell
    return {"independent": independent_cell, "family": family_cell, "clustered": clustered_cell}[kind](
        *rest, replicates
    )


def key(result):
    if result["kind"] != "clustered":
        return (result["kind"], result["n"], result["shape"], result["truth"])
    return ("clustered", result["name"], result["groups"])


def percent(values):
    values = [100 * v for v in values]
    low, high = min(values), max(values)
    return f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f}–{high:.1f}"


def family_table(families):
    """Steps, waves, heaps, rare events and few rows: each cell beside what it was."""
    replicates = sorted({r["replicates"] for r in families})
    out = [
        f"Percent of {' to '.join(f'{k:,}' for k in replicates[:: max(len(replicates) - 1, 1)])} replicates (150 to 300 in rows that were not run again), mean lengths, and rejections at 5% by the combined test (its level where θ = 0), each "
        "“before → now”; before: bins of one resolution, limits from these alone. Bins: mean number now.",
        "",
        "| q | truth | n | θ | RMS error | ECE | length, RMS | length, ECE | rejected | bins |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in families:
        c, w, t = r["cover"], r["length"], r["reject"]
        cols = [
            *(f"{100 * c[k + ' before']:.1f} → {100 * c[k]:.1f}" for k in ("error", "ece")),
            *(f"{w[k + ' before']:.3f} → {w[k]:.3f}" for k in ("error", "ece")),
            f"{100 * t['before']:.1f} → {100 * t['combined']:.1f}",
            f"{r['bins']:.0f}",
        ]
        out.append(f"| {r['shape']} | {r['truth']} | {r['n']:,} | {r['target']:.3f} | " + " | ".join(cols) + " |")
    return "\n".join(out) + "\n"


def tables(results):
    """The tables of docs/evidence/theory.md, as Markdown."""
    plain = [r for r in results if r["kind"] == "independent"]
    grouped = [r for r in results if r["kind"] == "clustered"]
    out = [
        f"Percent of {plain[0]['replicates']:,} replicates ({plain[-1]['replicates']:,} at n = {SIZES[-1]:,}, {PAPER} of Algorithm 2); least and most over the 24 cells of each size.",
        "",
    ]
    names = {
        "error": "**RMS error (default)**", "error before": "RMS error, one resolution", "algorithm 2": "Algorithm 2, 1,000 samples", "ece": "ECE", "gap": "mean q - mean y",
        "slope": "slope", "brier": "Brier score", "bins": "a drawn bin's frequency (Clopper-Pearson)",
    }  # fmt: skip
    head = "| 95% interval of | " + " | ".join(f"n = {n:,}" for n in SIZES) + " |"
    out += [head, "|---|" + "---|" * len(SIZES)]
    for k, label in names.items():
        row = [percent([r["cover"][k] for r in plain if r["n"] == n]) for n in SIZES]
        out.append(f"| {label} | " + " | ".join(row) + " |")
    band = [percent([r["cover"]["band"] for r in plain if r["n"] == n and r["truth"] == "calibrated"]) for n in SIZES]
    out.append("| consistency band, if calibrated | " + " | ".join(band) + " |")
    worst = min(plain, key=lambda r: r["cover"]["error"])
    out += ["", f"Least coverage of the RMS error: {100 * worst['cover']['error']:.1f}% at n = {worst['n']:,}, "
            f"{worst['shape']}, {worst['truth']}."]  # fmt: skip
    out += ["", "Mean length of the interval of the RMS error, beside that with bins of one resolution (mean of the cells' ratios): "
            + "; ".join(
                f"n = {n:,}: × {np.mean([r['length'] / r['length before'] for r in plain if r['n'] == n]):.2f}" for n in SIZES
            ) + "."]  # fmt: skip
    out += ["", "Tests at α = 5%: level (calibrated cells) and mean power (the others).", ""]
    out += ["| test | " + " | ".join(f"level, n = {n:,}" for n in SIZES) + " | " + " | ".join(f"power, {n:,}" for n in SIZES) + " |",
            "|---|" + "---|" * (2 * len(SIZES))]  # fmt: skip
    for t in (TESTS[0], "combined before", *TESTS[1:]):
        level = [percent([r["reject"][t] for r in plain if r["n"] == n and r["truth"] == "calibrated"]) for n in SIZES]
        power = [
            f"{100 * np.mean([r['reject'][t] for r in plain if r['n'] == n and r['truth'] != 'calibrated']):.0f}"
            for n in SIZES
        ]
        out.append(f"| {t} | " + " | ".join(level + power) + " |")
    out += [
        "",
        "Groups: coverage of the cluster-robust intervals, beside the intervals that ignore the groups.",
        "",
    ]
    out += [
        "| data | groups | RMS error | ignoring groups | mean q - y | ignoring groups | slope | Brier |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in grouped:
        c = r["cover"]
        cols = [c["error"], c["unclustered error"], c["gap"], c["unclustered gap"], c["slope"], c["brier"]]
        out.append(f"| {r['name']} | {r['groups']} | " + " | ".join(f"{100 * v:.1f}" for v in cols) + " |")
    out += ["", "Tests on groups, share rejected at 5% (the first rows are calibrated: their level).", ""]
    out += [
        "| data | groups | combined | excess error | score | combined, ignoring groups |",
        "|---|---|---|---|---|---|",
    ]
    for r in sorted(grouped, key=lambda r: not r["name"].startswith("calibrated")):
        c = r["reject"]
        cols = [c["combined"], c["excess error"], c["score"], c["unclustered combined"]]
        out.append(f"| {r['name']} | {r['groups']} | " + " | ".join(f"{100 * v:.1f}" for v in cols) + " |")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1_000)
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true", help="put the tables into docs/evidence/theory.md")
    args = parser.parse_args()
    STORE.parent.mkdir(parents=True, exist_ok=True)
    done = {}
    if STORE.exists():
        for line in STORE.read_text().splitlines():
            r = json.loads(line)
            if r["replicates"] >= min(args.replicates, MOST.get(r.get("n"), args.replicates)):
                done[key(r)] = r
    todo = [c for c in cells() if c not in done and args.only in str(c)]
    todo.sort(key=lambda c: c[2] * 50 if c[0] == "clustered" else c[1])
    with ProcessPoolExecutor(args.workers) as pool, STORE.open("a") as store:
        waiting = {pool.submit(run_cell, c, min(args.replicates, MOST.get(c[1], args.replicates))): c for c in todo}
        for i, future in enumerate(as_completed(waiting), 1):
            r = future.result()
            done[key(r)] = r
            store.write(json.dumps(r) + "\n")
            store.flush()
            print(
                f"{i}/{len(todo)} {key(r)} error {100 * r['cover']['error']:.1f} combined {100 * r['reject']['combined']:.1f}",
                flush=True,
            )
    for mark, kinds, table in (
        ("coverage", ("independent", "clustered"), tables),
        ("families", ("family",), family_table),
    ):
        wanted = [c for c in cells() if c[0] in kinds]
        found = [done[c] for c in wanted if c in done]
        if not found or (len(found) < len(wanted) and mark == "coverage"):
            continue
        made = table(found)
        print(made)
        if args.write:
            begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
            head, rest = THEORY.read_text().split(begin)
            old, tail = rest.split(end)
            if mark == "families":
                made = with_old_rows(made, old)
            THEORY.write_text(head + begin + "\n" + made + end + tail)


def with_old_rows(table, old):
    """A table of families with the old table's rows for cells that were not run."""
    lines = table.splitlines()
    rows = {tuple(line.split(" | ")[:3]): line for line in lines if line.count(" | ") == 9 and "θ" not in line}
    kept = [line for line in old.splitlines() if line.count(" | ") == 9 and "θ" not in line]
    merged = [rows.pop(tuple(line.split(" | ")[:3]), line) for line in kept]
    return "\n".join([*lines[:4], *merged, *rows.values()]) + "\n"


if __name__ == "__main__":
    main()
