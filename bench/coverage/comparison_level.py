"""Level and power of the test that two models are equally calibrated, on clustered data.

    python bench/coverage/comparison_level.py                    (1,000 simulations a row: about 5 minutes on 2 cores)

50-row documents; labels share a fifth of a latent normal within a document, and P(y = 1) is p ~ Beta(.3, .3). Models:
both calibrated (p itself, and p known only to the twentieth it falls in); equally wrong (logit × 1.4, and the factor
below 1 with the same RMS error); and logit × 0.9⁻¹ against p for power.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from scipy.special import expit, logit, ndtr

from howsure.calibration.comparing.result import compare_rows

EDGES = np.linspace(0, 1, 21)


def truth():
    """A large sample of p, the mean of each twentieth, and the factor below 1 as wrong as 1.4 is."""
    p = np.random.default_rng(0).beta(0.3, 0.3, 2_000_000).clip(1e-12, 1 - 1e-12)
    part = np.clip(np.digitize(p, EDGES) - 1, 0, 19)
    wrong = lambda f: np.sqrt(np.mean((expit(f * logit(p)) - p) ** 2))  # noqa: E731
    low, high = 0.3, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if wrong(middle) > wrong(1.4) else (low, middle)
    return np.bincount(part, p) / np.bincount(part), low, wrong(1.4)


def models(kind, p, means, factor):
    if kind == "both calibrated":
        return p, means[np.clip(np.digitize(p, EDGES) - 1, 0, 19)]
    if kind == "equally wrong":
        return expit(1.4 * logit(p)), expit(factor * logit(p))
    return expit(logit(p) / 0.9), p


def rejections(job):
    kind, groups, replicates, seed, means, factor = job
    rng = np.random.default_rng(seed)
    count = np.zeros(2)
    for _ in range(replicates):
        n = groups * 50
        p = rng.beta(0.3, 0.3, n).clip(1e-12, 1 - 1e-12)
        latent = np.sqrt(0.2) * np.repeat(rng.normal(size=groups), 50) + np.sqrt(0.8) * rng.normal(size=n)
        y = (ndtr(latent) < p).astype(np.uint8)
        a, b = models(kind, p, means, factor)
        for j, g in enumerate((np.repeat(np.arange(groups), 50), None)):
            pair = compare_rows(y, {"a": a, "b": b}, g, 0.95, None)[1][0]
            count[j] += pair.error_squared.p_value < 0.05
    return count / replicates


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1_000)
    replicates = parser.parse_args().replicates
    means, factor, theta = truth()
    print(f"equally wrong: logit × 1.4 and × {factor:.4f}, RMS error {theta:.4f}\n")
    print("| models | documents | clustered test rejects | ignoring documents |\n|---|---|---|---|")
    kinds = ("both calibrated", "equally wrong", "logit / 0.9 against p")
    jobs = [
        (k, g, replicates, i, means, factor) for i, (k, g) in enumerate((k, g) for k in kinds for g in (40, 100, 200))
    ]
    with ProcessPoolExecutor() as pool:
        for job, (with_groups, without) in zip(jobs, pool.map(rejections, jobs), strict=True):
            print(f"| {job[0]} | {job[1]} | {100 * with_groups:.1f} | {100 * without:.1f} |", flush=True)
    rng = np.random.default_rng(1)
    p = rng.beta(0.3, 0.3, 100_000).clip(1e-12, 1 - 1e-12)
    y, g = (rng.random(len(p)) < p).astype(np.uint8), np.arange(len(p)) // 50
    start = time.perf_counter()
    compare_rows(y, {"a": expit(1.1 * logit(p)), "b": p}, g, 0.95, None)
    print(f"\n100,000 items compared, in 2,000 documents: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
