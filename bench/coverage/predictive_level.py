"""The level and power of posterior predictive checks: how often p ≤ 0.05, where gold is a draw from the posterior and where not.

    python bench/coverage/predictive_level.py [--trials 1000]

Chains of 30 sentences of 8 tokens, three tags of B-, I-, O; and 20 documents of 9 mentions. Gold is drawn from the posterior itself,
or from the posterior at another temperature. Prints the table of docs/evidence/theory.md.
"""

from __future__ import annotations

import argparse

import numpy as np

from howsure import AntecedentPosterior, ChainPosterior
from howsure.verbs.predictive import of_entities, of_tags

SAMPLES, LEVEL = 99, 0.05


def chains(rng):
    starts = np.arange(0, 241, 8)
    p = ChainPosterior(rng.normal(size=(240, 3)), rng.normal(size=(3, 3)), starts=starts, tags=("B-X", "I-X", "O"))
    return p, lambda t: of_tags(p, p.tempered(t).samples(1, rng)[0].astype(np.int64), SAMPLES, rng)


def documents(rng):
    seed = int(rng.integers(1 << 60))
    made = [
        AntecedentPosterior.from_scores(rng.normal(size=(9, 9)), rng.normal(size=9), name=str(k)) for k in range(20)
    ]
    return made, lambda t: of_entities(made, [p.tempered(t).samples(1, seed + 1)[0] for p in made], SAMPLES, seed)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=1000)
    trials = parser.parse_args().trials
    rng = np.random.default_rng(0)
    print(
        f"| statistic, p ≤ {LEVEL:g} in % of {trials:,} | gold from the posterior | at temperature 1.5 | at temperature 4 |\n|---|---:|---:|---:|"
    )
    for made in (chains, documents):
        found = {t: [] for t in (1.0, 1.5, 4.0)}
        for _ in range(trials):
            _, check = made(rng)
            for t, rows in found.items():
                checked = check(t)
                rows.append([s.p_value <= LEVEL for s in checked])
        for k, s in enumerate(checked):
            print(
                f"| {s.statistic} | "
                + " | ".join(f"{100 * np.mean([r[k] for r in rows]):.1f}" for rows in found.values())
                + " |"
            )


if __name__ == "__main__":
    main()
