"""Whether Dawid & Skene's posteriors are right: how sure they are on average, and how often they are right.

    python bench/coverage/crowd_posteriors.py [replicates] [--write]     (100: a few minutes)

Annotators know the answer with a probability of their own, else they guess; hard items, half of all, take away 60% of what they know. The prior of the
average was chosen on five annotators who know 40 to 70% of 30 items of two classes.
"""

import argparse
from pathlib import Path

import numpy as np

from howsure.evaluation.annotation.crowds import dawid_skene, posterior_over_models
from howsure.evaluation.annotation.ratings import made_ratings

THEORY = Path(__file__).parents[2] / "docs" / "evidence" / "theory.md"
START, END = "<!-- crowds: begin -->", "<!-- crowds: end -->"
KNOWN = {2: (0.75, 0.65, 0.55, 0.55, 0.35, 0.3), 3: (0.8, 0.6, 0.5, 0.5, 0.3)}


def row(n, k, hard, replicates):
    """One line of the table."""
    rng = np.random.default_rng([n, k])
    known = np.array(KNOWN[k])
    m = len(known)
    made = np.zeros((2, 3))
    for _ in range(replicates):
        true = rng.integers(0, k, n)
        share = np.where((rng.random(n) < hard)[:, None], 0.4 * known, known)
        label = np.where(rng.random((n, m)) < share, true[:, None], rng.integers(0, k, (n, m)))
        item, annotator = (v.ravel() for v in np.indices((n, m)))
        ratings = made_ratings(
            item,
            annotator,
            label.ravel(),
            items=[f"{i:05}" for i in range(n)],
            annotators=[f"a{i}" for i in range(m)],
            labels=[str(i) for i in range(k)],
        )
        if len(ratings.labels) < k:
            continue
        fitted = dawid_skene(ratings)
        for i, p in enumerate((fitted.posterior, posterior_over_models(ratings, fitted, rng))):
            loss = -np.log(np.maximum(p[np.arange(n), true], 1e-12)).mean()
            made[i] += [p.max(axis=1).mean(), (p.argmax(axis=1) == true).mean(), loss]
    cells = " | ".join(f"{a:.3f} | {b:.3f} | {c:.2f}" for a, b, c in made / replicates)
    return f"| {n} | {k} | {'half' if hard else 'none'} | {cells} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("replicates", type=int, nargs="?", default=100)
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/theory.md")
    args = parser.parse_args()
    lines = [
        f"{args.replicates} replicates a row.\n",
        "| items | classes | hard items | fitted model says | is right | log loss | averaged says | is right | log loss |",
        "|---|" + "---|" * 8,
    ]
    for n in (30, 100):
        for k in KNOWN:
            for hard in (0.0, 0.5):
                lines.append(row(n, k, hard, args.replicates))
                print(lines[-1], flush=True)
    if args.write:
        head, rest = THEORY.read_text().split(START)
        THEORY.write_text(head + START + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
