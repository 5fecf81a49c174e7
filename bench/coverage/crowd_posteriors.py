"""Whether Dawid & Skene's posteriors are right: how sure they are on average, and how often they are right.

    python bench/coverage/crowd_posteriors.py [replicates] [--write]     (100: a few minutes)

Annotators know the answer with a probability of their own, else they guess; hard items, half of all, take away 60% of what they know. The
priors of the average were chosen on five annotators who know 40 to 70% of 30 and 80 items of two and three classes, and on seven who know 20 to 80% of 60 of four.
"""

import argparse
import csv
import os
from pathlib import Path

import numpy as np

from howsure.calibration.estimation.estimate import ladder
from howsure.calibration.sketch import sketch_rows
from howsure.evaluation.annotation import crowds
from howsure.evaluation.annotation.ratings import made_ratings

THEORY = Path(__file__).parents[2] / "docs" / "evidence" / "theory.md"
START, END = "<!-- crowds: begin -->", "<!-- crowds: end -->"
KNOWN = {2: (0.75, 0.65, 0.55, 0.55, 0.35, 0.3), 3: (0.8, 0.6, 0.5, 0.5, 0.3)}


def posteriors(ratings, rng):
    """Of the fitted model, of the average in which no item is hard, and the one reported."""
    fitted = crowds.dawid_skene(ratings)
    share, crowds.KNOWN = crowds.KNOWN, 1.0  # no guesses: hard items are like the others
    without = crowds.posterior_over_models(ratings, fitted, rng)
    crowds.KNOWN = share
    return fitted.posterior, without, crowds.posterior_over_models(ratings, fitted, rng)


def measured(p, true):
    loss = -np.log(np.maximum(p[np.arange(len(p)), true], 1e-12)).mean()
    return [p.max(axis=1).mean(), (p.argmax(axis=1) == true).mean(), loss]


def shown(name, made):
    return f"| {name} | " + " | ".join(f"{a:.3f} | {b:.3f} | {c:.2f}" for a, b, c in made) + " |"


def row(n, k, hard, replicates):
    """One line of the table."""
    rng = np.random.default_rng([n, k])
    known = np.array(KNOWN[k])
    m = len(known)
    made = []
    while len(made) < replicates:
        true = rng.integers(0, k, n)
        share = np.where((rng.random(n) < hard)[:, None], 0.4 * known, known)
        label = np.where(rng.random((n, m)) < share, true[:, None], rng.integers(0, k, (n, m)))
        item, annotator = (v.ravel() for v in np.indices((n, m)))
        names = [f"{i:05}" for i in range(n)], [f"a{i}" for i in range(m)], [str(i) for i in range(k)]
        ratings = made_ratings(item, annotator, label.ravel(), items=names[0], annotators=names[1], labels=names[2])
        if len(ratings.labels) == k:
            made.append([measured(p, true) for p in posteriors(ratings, rng)])
    return shown(f"{n} | {k} | {'half' if hard else 'none'}", np.mean(made, axis=0))


def real_row(path):
    """Snow's textual entailment, with gold labels; and the RMS calibration errors of P(entailed)."""
    with path.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    items, item = np.unique([r["orig_id"] for r in rows], return_inverse=True)
    workers, worker = np.unique([r["!amt_worker_ids"] for r in rows], return_inverse=True)
    label, gold = (np.array([int(float(r[c])) for r in rows]) for c in ("response", "gold"))
    true = gold[np.unique(item, return_index=True)[1]]
    ratings = made_ratings(item, worker, label, items=items.tolist(), annotators=workers.tolist(), labels=["0", "1"])
    made = posteriors(ratings, np.random.default_rng(0))
    errors = [np.sqrt(max(ladder(sketch_rows(true.astype(bool), p[:, 1])).bins.squared_error, 0)) for p in made]
    return shown(f"RTE, {len(items)} | 2 | unknown", [measured(p, true) for p in made]), errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("replicates", type=int, nargs="?", default=100)
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/theory.md")
    args = parser.parse_args()
    lines = [
        f"{args.replicates} replicates a row; RTE: the labels of Snow et al. (2008), real annotators.\n",
        "| items | classes | hard items | fitted model says | is right | log loss | average without hard items says | is right | log loss | reported says | is right | log loss |",
        "|---|" + "---|" * 11,
    ]
    for n in (30, 100):
        for k in KNOWN:
            for hard in (0.0, 0.5):
                lines.append(row(n, k, hard, args.replicates))
                print(lines[-1], flush=True)
    path = Path(os.environ.get("HOWSURE_DATA", "")) / "crowd" / "rte.standardized.tsv"
    if path.exists():
        line, errors = real_row(path)
        lines += [
            line,
            "",
            "RMS calibration error of P(entailed) on RTE: " + ", ".join(f"{e:.3f}" for e in errors) + ".",
        ]
        print(*lines[-3:], sep="\n", flush=True)
    if args.write:
        head, rest = THEORY.read_text().split(START)
        THEORY.write_text(head + START + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
