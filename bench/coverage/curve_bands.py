"""How often the pointwise bands of the smooth curves cover, and what the curves cost.

python bench/coverage/curve_bands.py             (about a minute)
"""

import time

import numpy as np

from howsure.calibration.curves.smooth import KINDS, smooth_curve
from howsure.engines.pair_rows import pairs_from_arrays

TRUTHS = {
    "calibrated": lambda q: q,
    "q^1.4": lambda q: q**1.4,
    "q + .05 sin 6πq": lambda q: q + 0.05 * np.sin(6 * np.pi * q),
}

print("Mean pointwise coverage of the 95% band, 200 samples, q uniform\n")
print("| curve | " + " | ".join(f"{t}, n = {n:,}" for t in TRUTHS for n in (2_000, 20_000)) + " |")
print("|---|" + "---|" * 6)
for kind in KINDS:
    shares = []
    for truth in TRUTHS.values():
        for n in (2_000, 20_000):
            rng = np.random.default_rng(n)
            hit = []
            for _ in range(200 if n == 2_000 else 50):
                q = rng.random(n)
                c = smooth_curve(pairs_from_arrays(rng.random(n) < truth(q), q).sketch(None), kind)
                p = truth(c.q)
                hit.append(np.mean((c.low <= p) & (p <= c.high)))
            shares.append(f"{100 * np.mean(hit):.1f}")
    print(f"| {kind} | " + " | ".join(shares) + " |", flush=True)

rng = np.random.default_rng(0)
n = 10**8
q = rng.random(n)
y = rng.random(n) < q
pairs_from_arrays(y, q).sketch(None)


def best(f):
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        f()
        taken.append(time.perf_counter() - start)
    return min(taken)


alone = best(lambda: pairs_from_arrays(y, q).sketch(None))
print(f"\nn = {n:,}: the sketch takes {alone:.3f} s")
for kind in KINDS:
    both = best(lambda kind=kind: smooth_curve(pairs_from_arrays(y, q).sketch(None), kind))
    print(f"  sketch and {kind} curve: {both:.3f} s, {both / alone:.2f} x  (wanted <= 1.5 for kernel)")
