"""`howsure abstain`: how often the promised risk is broken, and how much is answered beside an oracle with the same margin.

    python bench/coverage/abstain_risk.py [RUNS]

n = 2,000 labelled answers, risk 5%, 95%. A run breaks the promise when the true share of wrong answers above its threshold exceeds
5% (with subgroups: in any of them). The oracle knows the true risk at every threshold, and answers as much as lets the same test pass
when the mistakes are as many as expected. Ties: confidences rounded to 20 values. Clusters: conversations of 1 to 5 answers, half of which
are never wrong and half twice as often as others of their confidence; their oracle answers as much as lets the test of groups pass in half of 200 other runs.
"""

import sys

import numpy as np

from howsure.calibration.abstaining.rule import STEPS, abstention_rule, betting_p_values, binomial_p_values

RISK, DELTA, N = 0.05, 0.05, 2_000
POPULATION = 400_000
TRUTHS = {
    "calibrated": lambda q: q,
    "overconfident": lambda q: 0.5 + 0.5 * q**3,
    "more overconfident": lambda q: q**2,
    "sharp": lambda q: 1 / (1 + np.exp(-12 * (q - 0.5))),
}


def population(rng, truth, ties, clusters):
    q = np.sort(rng.beta(4, 0.7, POPULATION))[::-1]
    p = 1 - 0.5 * np.minimum(2 * (1 - truth(q)), 1) if clusters else truth(q)
    q = np.round(20 * q) / 20 if ties else q
    last = np.append(q[1:] != q[:-1], True)  # of each value
    answered = np.arange(1, POPULATION + 1)[last]
    return q[last], answered / POPULATION, (np.cumsum(1 - p)[last]) / answered


def oracle(share, risk, n=N, delta=DELTA):
    answered = np.floor(n * share)
    wrong = answered * risk
    passed = (answered > 0) & (binomial_p_values(answered, wrong, RISK) <= delta)
    return float(share[passed].max()) if passed.any() else 0.0


def sample(rng, truth, ties, clusters, n=N):
    """Confidence, right or wrong, group."""
    groups = None
    q = rng.beta(4, 0.7, n)
    p = truth(q)
    if clusters:
        size = rng.integers(1, 6, n)
        groups = np.repeat(np.arange(n), size)[:n]
        # Half of the conversations are hard, wrong twice as often as their confidence says; the others never.
        factor = np.where(rng.random(n) < 0.5, 2.0, 0.0)[groups]
        p = 1 - np.minimum((1 - p) * factor, 1.0)
    right = (rng.random(n) < p).astype(np.int64)
    return np.round(20 * q) / 20 if ties else q, right, groups


def oracle_of_groups(rng, truth, ties, value, share, runs=200):
    at = np.unique(np.searchsorted(share, np.arange(1, STEPS) / STEPS))
    passed = np.zeros(len(at))
    for _ in range(runs):
        q, right, groups = sample(rng, truth, ties, clusters=True)
        seen = value[at] <= q.max()
        passed[seen] += betting_p_values(q, right, groups, value[at][seen], RISK, DELTA, rng) <= DELTA
    return float(share[at][passed >= runs / 2].max(initial=0.0))


def study(name, runs, rng, truth, ties=False, clusters=False, subgroups=1):
    value, share, risk = population(rng, truth, ties, clusters)
    broken, answered = 0, []
    for _ in range(runs):
        failed = False
        for _ in range(subgroups):
            q, right, groups = sample(rng, truth, ties, clusters, N // subgroups)
            made = abstention_rule(q, right, risk=RISK, delta=DELTA / subgroups, groups=groups, rng=rng)
            at = -1 if made.threshold is None else int(np.searchsorted(-value, -made.threshold, side="right")) - 1
            answered.append(0.0 if at < 0 else share[at])
            failed |= at >= 0 and risk[at] > RISK
        broken += failed
    best = (
        oracle_of_groups(rng, truth, ties, value, share)
        if clusters
        else oracle(share, risk, N // subgroups, DELTA / subgroups)
    )
    print(f"{name:42} broken {broken / runs:6.1%}   answered {np.mean(answered):6.1%}   oracle {best:6.1%}", flush=True)


def main(runs: int = 1_000) -> None:
    rng = np.random.default_rng(11)
    for name, truth in TRUTHS.items():
        study(name, runs, rng, truth)
    for name in ("calibrated", "overconfident"):
        study(f"{name}, ties", runs, rng, TRUTHS[name], ties=True)
        study(f"{name}, four subgroups of 500", runs, rng, TRUTHS[name], subgroups=4)
        study(f"{name}, clusters", runs, rng, TRUTHS[name], clusters=True)
        study(f"{name}, clusters and ties", runs, rng, TRUTHS[name], ties=True, clusters=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
