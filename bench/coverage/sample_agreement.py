"""Agreement of k samples as a confidence: what few samples do to the calibration error, before and after shrinkage.

    python bench/coverage/sample_agreement.py

p is the share of all samples that would give the same answer, y whether the answer is right. The error of p itself is the truth;
that of the share among k samples (with the answer's own vote, as is usual), of the share m/K of the K = k - 1 others, and of that share
shrunk is computed on a million answers, so that what remains is bias.
"""

import numpy as np

from howsure.calibration.estimation.agreement import shrinkage

N = 1_000_000


def error(confidence: np.ndarray, y: np.ndarray) -> float:
    """RMS calibration error of a confidence with few distinct values."""
    _, at, count = np.unique(confidence, return_inverse=True, return_counts=True)
    gap = np.bincount(at, confidence - y) / count
    return float(np.sqrt(np.sum(count * gap**2) / len(y)))


def main() -> None:
    rng = np.random.default_rng(5)
    laws = {
        "Beta(2, 1)": rng.beta(2, 1, N),
        "Beta(0.8, 0.4)": rng.beta(0.8, 0.4, N),
        "0.95 or 0.4": rng.choice([0.95, 0.4], N),
    }
    truths = {
        "calibrated": lambda p: p,
        "overconfident": lambda p: 0.75 * p,
        "underconfident": lambda p: p + 0.5 * p * (1 - p),
    }
    print(
        f"{'law of p':16}{'truth':16}{'error':>7}  "
        + "".join(f"{f'k={k}: with own, others, shrunk':>34}" for k in (5, 10, 20))
    )
    for law, p in laws.items():
        for name, truth in truths.items():
            y = (rng.random(N) < truth(p)).astype(float)
            cells = []
            for k in (5, 10, 20):
                m = rng.binomial(k - 1, p)
                found, count = np.unique(m, return_counts=True)
                made = shrinkage(found, np.full(len(found), k - 1), count)
                each = error((m + 1) / k, y), error(m / (k - 1), y), error(made(np.arange(k), np.full(k, k - 1))[m], y)
                cells.append("   ".join(f"{e:.3f}" for e in each))
            true = float(np.sqrt(np.mean((p - truth(p)) ** 2)))
            print(f"{law:16}{name:16}{true:7.3f}  " + "".join(f"{c:>34}" for c in cells), flush=True)


if __name__ == "__main__":
    main()
