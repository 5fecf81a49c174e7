"""Do the places of many models hold at once? Simultaneous coverage of `howsure score` and `howsure compare` of k models.

    python bench/coverage/rank_coverage.py             (600 simulations a row: about 8 minutes on one core)
    python bench/coverage/rank_coverage.py --write     (and put each row into the table of docs/evidence/theory.md)
    python bench/coverage/rank_coverage.py --only judged --models 21

A model is right where √.4 item + √.2 group + √.4 noise lies below the normal quantile of its accuracy: the item's part is common to
all models, the group's is each model's own (independent items have none, and √.6 noise). Equal models are right on 70%;
different ones on 50 to 90%, evenly spaced; "alike" are equal and share .95 of the variance, so that few answers differ. Groups hold
five items. "judged" draws items with replacement from the first k of the 21 systems of llm-judge in HOWSURE_DATA: probabilities,
not right and wrong. Differences: all k(k-1)/2 intervals hold the truth. Places: all k intervals of places do.
"""

import argparse
import json
import os
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import norm

from howsure.evaluation.contests import ranks
from howsure.evaluation.scores.benchmark import Answers, benchmark

THEORY = Path(__file__).parents[2] / "docs" / "evidence" / "theory.md"
SIZES = (100, 805)
MODELS = (3, 10, 21)
KINDS = ("equal", "different", "alike", "judged")


def judged():
    """Items by systems: the probability that the judge prefers the system's answer; None without the data."""
    folder = Path(os.environ.get("HOWSURE_DATA", "")) / "llm-judge"
    files = sorted(folder.glob("*.jsonl")) if folder.is_dir() else []
    held = []
    for path in files:
        lines = map(json.loads, path.read_text().splitlines())
        held.append({r["item"]: r["preference"] - 1.0 for r in lines})
    common = sorted(set.intersection(*map(set, held))) if held else []
    return np.array([[h[item] for h in held] for item in common]) if held else None


def simulated(rng, kind, n, k, grouped, pool):
    """Values, (n, k), their true means and the group of each item."""
    group = np.arange(n) // 5
    if kind == "judged":
        x = pool[:, :k]
        if not grouped:
            return x[rng.integers(0, len(x), n)], x.mean(axis=0), None
        blocks = len(x) // 5  # five items that stand together are drawn together
        drawn = (5 * rng.integers(0, blocks, n // 5)[:, None] + np.arange(5)).ravel()
        return x[drawn], x[: 5 * blocks].mean(axis=0), group
    p = np.linspace(0.9, 0.5, k) if kind == "different" else np.full(k, 0.7)
    shared = 0.95 if kind == "alike" else 0.4
    own = (0.04 if kind == "alike" else 0.2) if grouped else 0.0
    latent = np.sqrt(shared) * rng.standard_normal((n, 1)) + np.sqrt(1 - shared - own) * rng.standard_normal((n, k))
    latent += np.sqrt(own) * rng.standard_normal((n // 5 + 1, k))[group]
    return (latent < norm.ppf(p)).astype(float), p, group if grouped else None


def row(kind, n, k, grouped, pool, replicates, seed):
    rng = np.random.default_rng([seed, n, k, grouped, len(kind)])
    held = places = sure = 0
    item, model = (a.ravel() for a in np.indices((n, k)))
    names = tuple(f"m{i:02}" for i in range(k))
    for _ in range(replicates):
        x, truth, group = simulated(rng, kind, n, k, grouped, pool)
        a = Answers(x.ravel(), np.zeros(n * k, np.int64), model, item, ("",), names, group)
        made = benchmark(a).ranks[""]
        of = dict(zip(names, truth.tolist(), strict=True))
        gaps = [(q, of[q.a] - of[q.b]) for q in made.pairs]
        held += all(q.low <= gap <= q.high for q, gap in gaps)
        places += all(gap > 0 for q, gap in gaps if q.surely)
        sure += made.sure / len(made.pairs)
    share = [100 * v / replicates for v in (held, places, sure)]
    kept = "groups of 5" if grouped else "independent"
    return f"| {kind} | {kept} | {n} | {k} | {share[0]:.1f} | {share[1]:.1f} | {share[2]:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=600)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--models", type=int, choices=MODELS)
    given = parser.parse_args()
    ranks.DRAWS = 4_000  # a quantile a simulation: its noise averages out
    pool = judged()
    for kind in KINDS[: None if pool is not None else -1]:
        for grouped, n, k in product((False, True), SIZES, MODELS):
            if given.only in (None, kind) and given.models in (None, k):
                made = row(kind, n, k, grouped, pool, given.replicates, 27)
                print(made, flush=True)
                if given.write:
                    put(made)


def put(made: str) -> None:
    """Replace the row of the same kind, items and models."""
    key = "|".join(made.split("|")[:5])
    lines = THEORY.read_text().splitlines()
    begin, end = lines.index("<!-- ranks: begin -->"), lines.index("<!-- ranks: end -->")
    lines[begin:end] = [made if line.startswith(f"{key}|") else line for line in lines[begin:end]]
    THEORY.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
