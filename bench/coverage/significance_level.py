"""Level of every test of `howsure compare --pred`, and coverage of the intervals of `howsure score`.

    python bench/coverage/significance_level.py             (1,000 simulations a row: about 10 minutes on 2 cores)
    python bench/coverage/significance_level.py --write     (and put the tables into docs/evidence/theory.md)
    python bench/coverage/significance_level.py --small --write     (only those of 30 to 150 rows: 2 minutes)

Two systems of equal quality: each is right on a row with probability expit(1.2 + u), u normal with its own draw for each
system and document; a wrong answer is one of the other classes. Gold is one of three classes (shares .5, .3, .2); for
spans it is a row of BIO tags. Tests on documents respect them; "ignoring" takes rows as independent.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.stats import binom

from howsure.evaluation.contests.analysis import Field, duels
from howsure.evaluation.contests.significance import mcnemar
from howsure.evaluation.scores.analysis import score_labels
from howsure.evaluation.scores.metrics import estimated, f_measure, macro
from howsure.evaluation.scores.spans import TagSet, span_units, spans_of
from howsure.evaluation.units import label_units

THEORY = Path(__file__).parents[2] / "docs" / "evidence" / "theory.md"
SHARES = np.array([0.5, 0.3, 0.2])
TAGS = TagSet.of(["B-x", "I-x", "O"])
LABELS = ("a", "b", "c")
DESIGNS = [
    ("rows", 500, 1, 0.0),
    ("rows", 2000, 1, 0.0),
    ("documents", 30, 10, 1.0),
    ("documents", 50, 10, 1.0),
    ("documents", 200, 10, 1.0),
]
METRICS = ("accuracy", "f1", "macro-f1", "span-f1")
SAMPLES = 1000


def simulated(rng, documents, size, spread):
    """Gold and two systems' label numbers, and the document of each row."""
    n = documents * size
    doc = np.repeat(np.arange(documents), size)
    gold = rng.choice(3, n, p=SHARES)
    systems = []
    for _ in range(2):
        right = rng.random(n) < expit(1.2 + spread * rng.normal(size=documents)[doc])
        systems.append(np.where(right, gold, (gold + rng.integers(1, 3, n)) % 3))
    return gold, systems, doc


def field(gold, systems, groups, metric):
    right = tuple((s == gold).astype(np.int64) for s in systems)
    if metric == "span-f1":
        new = np.arange(len(gold)) % 10 == 0  # sentences of ten tokens
        clusters = np.cumsum(new) - 1 if groups is None or groups.max() + 1 > new.sum() else groups
        found = [spans_of(x, TAGS, new) for x in (gold, *systems)]
        return Field(
            ("a", "b"),
            lambda which: span_units(found[0], tuple(found[1 + i] for i in which), 1, clusters),
            right,
            clusters,
            metric,
            None,
        )
    return Field(
        ("a", "b"),
        lambda which: label_units(gold, tuple(systems[i] for i in which), 3, groups),
        right,
        groups,
        metric,
        1 if metric == "f1" else None,
    )


def level_of(job):
    """Share of simulations in which each test rejects at 5%."""
    (kind, documents, size, spread), metric, ignoring, replicates, seed = job
    rng = np.random.default_rng(seed)
    count = {}
    for _ in range(replicates):
        gold, systems, doc = simulated(rng, documents, size, spread)
        groups = None if kind == "rows" or ignoring else doc
        d = duels(field(gold, systems, groups, metric), SAMPLES, rng, 0.95)[0]
        for t in d.tests:
            name = t.name.removeprefix("clustered ")
            count[name] = count.get(name, 0) + (t.p_value < 0.05)
        apart = d.difference.low > 0 or d.difference.high < 0
        count["interval without 0"] = count.get("interval without 0", 0) + apart
    return {name: 100 * c / replicates for name, c in count.items()}


def truth():
    """Each metric's true value, from the expected counts."""
    made = {}
    for spread in (0.0, 1.0):
        u = np.random.default_rng(5).normal(size=400_000)
        p = float(expit(1.2 + spread * u).mean())
        hit, pred = SHARES * p, SHARES * p + (1 - SHARES) * (1 - p) / 2
        f = 2 * hit / (SHARES + pred)
        made[spread] = {"accuracy": p, "precision": hit[2] / pred[2], "recall": p, "F1": f[2], "macro F1": f.mean()}
    return made


def coverage_of(job):
    """Share of simulations whose interval covers the truth: the rarest class's metrics, accuracy and macro F1."""
    (kind, documents, size, spread), ignoring, replicates, seed = job
    rng = np.random.default_rng(seed)
    right, count = truth()[spread], {}
    for _ in range(replicates):
        gold, systems, doc = simulated(rng, documents, size, spread)
        s = score_labels(gold, systems[0], LABELS, None if kind == "rows" or ignoring else doc)
        c = s.classes[2]
        found = {"accuracy": s.accuracy, "precision": c.precision, "recall": c.recall, "F1": c.f, "macro F1": s.macro.f}
        for name, e in found.items():
            inside = e is not None and e.low <= right[name] <= e.high
            count[name] = count.get(name, 0) + inside
    return {name: 100 * c / replicates for name, c in count.items()}


SMALL = {
    "3 classes, .45 .35 .2": (0.7, (0.45, 0.35, 0.2)),
    "3 classes, .7 .25 .05": (0.85, (0.7, 0.25, 0.05)),
    "2 classes, .92 .08": (0.85, (0.92, 0.08)),
    "5 classes alike": (0.75, (0.2,) * 5),
}


def small_coverage(replicates):
    """Coverage and mean width of macro F1's interval, and of Wilson's on the whole; the truth is over the classes that occur."""
    rows = []
    for name, (right, shares) in SMALL.items():
        share = np.array(shares)
        k = len(share)
        hit, labels = share * right, tuple("abcde"[:k])
        true = 2 * hit / (share + hit + (1 - share) * (1 - right) / (k - 1))
        for n in (30, 60, 150):
            rng = np.random.default_rng(n)
            held, widths = np.zeros(2), np.zeros(2)
            for _ in range(replicates):
                gold = rng.choice(k, n, p=share)
                pred = np.where(rng.random(n) < right, gold, (gold + rng.integers(1, k, n)) % k)
                now = score_labels(gold, pred, labels)
                truth = np.mean([true[labels.index(c.label)] for c in now.classes])
                units = label_units(gold, (pred,), k, None)
                t = units.totals()
                old = estimated(macro(f_measure(t), t), units, 0.95)
                for i, e in enumerate((old, now.macro.f)):
                    held[i] += e.low <= truth <= e.high
                    widths[i] += e.high - e.low
            cells = [f"{100 * h / replicates:.1f} ({w / replicates:.3f})" for h, w in zip(held, widths, strict=True)]
            rows.append([name, str(n), *cells])
            print(rows[-1], flush=True)
    return rows


def small_levels():
    """Level of McNemar's tests at 5% by enumeration, when a share of the rows is discordant and systems are equal."""
    rows = []
    for n in (30, 60, 150):
        cells = []
        for share in (0.2, 0.35):
            level = np.zeros(2)
            for d, there in enumerate(binom.pmf(np.arange(n + 1), n, share)):
                for a, split in enumerate(binom.pmf(np.arange(d + 1), d, 0.5) if there > 1e-5 else ()):
                    level += [there * split * (t.p_value < 0.05) for t in mcnemar(a, d - a)]
            cells += [f"{100 * x:.1f}" for x in level]
        rows.append([str(n), *cells])
    return rows


def small(replicates, write):
    """The tables of few rows."""
    said = (
        f"Coverage (mean width) of 95% intervals of macro F1, {replicates:,} simulations a row:\n\n"
        + table(small_coverage(replicates), ["classes", "rows", "Wilson on the whole (before)", "now"])
        + "\nLevel of McNemar's tests at 5%, by enumeration:\n\n"
        + table(small_levels(), ["rows", "exact, 20% discordant", "mid-p", "exact, 35% discordant", "mid-p"])
    )
    print(said)
    if write:
        written(said, "<!-- small: begin -->", "<!-- small: end -->")


def written(said, begin, end):
    """Put a text between its marks."""
    head, rest = THEORY.read_text().split(begin)
    THEORY.write_text(head + begin + "\n" + said + end + rest.split(end)[1])


def named(design, ignoring):
    kind, documents, size, _ = design
    return f"{documents:,} rows" if kind == "rows" else f"{documents} documents of {size}{', ignoring them' * ignoring}"


def table(rows, heads):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1_000)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/evidence/theory.md")
    parser.add_argument("--small", action="store_true", help="only the tables of few rows")
    args = parser.parse_args()
    if args.small:
        small(args.replicates, args.write)
        return
    cases = [(d, i) for d in DESIGNS for i in ((False,) if d[0] == "rows" else (False, True))]
    tests = [(d, m, i, args.replicates, k) for k, (m, (d, i)) in enumerate((m, c) for m in METRICS for c in cases)]
    covers = [(d, i, args.replicates, 900 + k) for k, (d, i) in enumerate(cases)]
    names = [
        "McNemar, exact",
        "McNemar, mid-p",
        "McNemar, normal",
        "permutation",
        "paired bootstrap",
        "interval without 0",
    ]
    rows, covered = [], []
    with ProcessPoolExecutor() as pool:
        for (d, m, i, *_), made in zip(tests, pool.map(level_of, tests), strict=True):
            if m == "span-f1" and i:
                continue  # sentences are clusters even then
            rows.append([m, named(d, i), *(f"{made[n]:.1f}" if n in made else "" for n in names)])
            print(rows[-1], flush=True)
        for (d, i, *_), made in zip(covers, pool.map(coverage_of, covers), strict=True):
            covered.append([named(d, i), *(f"{x:.1f}" for x in made.values())])
    said = (
        f"Share of {args.replicates:,} simulations of equal systems that each test rejects at 5%:\n\n"
        + table(rows, ["metric", "data", *names])
        + "\nCoverage of nominal 95% intervals of `howsure score`; precision, recall and F1 are of the rarest class:\n\n"
        + table(covered, ["data", "accuracy", "precision", "recall", "F1", "macro F1"])
    )
    print("\n" + said)
    if args.write:
        written(said, "<!-- significance: begin -->", "<!-- significance: end -->")


if __name__ == "__main__":
    main()
