"""How often the bands of the smooth curves hold, how wide they are, and what the curves cost.

    python bench/coverage/curve_bands.py [replicates] [--write]     (100: about 15 minutes on one core)
    python bench/coverage/curve_bands.py --speed

Bandwidth factors, orders and the law of the Gaussian process's band were chosen on other data: q from Beta(.5,.5) and Beta(1,3), truths q^.7,
logit × 1.6, a damped wave of 3πq, q + .06 sin 5πq and q + .05 sin 7πq, n = 300 to 5,000.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

from howsure.calibration.curves.smooth import KINDS, smooth_curve
from howsure.engines.rows import sketched_arrays

THEORY = Path(__file__).parents[2] / "docs" / "evidence" / "theory.md"
START, END = "<!-- bands: begin -->", "<!-- bands: end -->"


def uniform(rng, n):
    return rng.random(n)


def extreme(rng, n):
    return np.clip(rng.beta(0.3, 0.3, n), 1e-9, 1 - 1e-9)


TRUTHS = {
    "calibrated": lambda q: q,
    "q^1.4": lambda q: q**1.4,
    "q + .05 sin 6πq": lambda q: q + 0.05 * np.sin(6 * np.pi * q),
    "logit × .6": lambda q: expit(0.6 * logit(np.clip(q, 1e-12, 1 - 1e-12))),
    "5 steps": lambda q: (np.floor(np.minimum(q, 0.999) * 5) + 0.5) / 5,
}
CELLS = [
    ("calibrated", uniform, 150),
    ("calibrated", uniform, 2000),
    ("calibrated", uniform, 20000),
    ("q^1.4", uniform, 150),
    ("q^1.4", uniform, 2000),
    ("q^1.4", uniform, 20000),
    ("q + .05 sin 6πq", uniform, 2000),
    ("q + .05 sin 6πq", uniform, 20000),
    ("logit × .6", extreme, 500),
    ("logit × .6", extreme, 5000),
    ("5 steps", uniform, 2000),
]


def measured(kind, truth, draw, n, replicates):
    """Mean share of places inside the band of each place, share of samples wholly inside the other band, mean width."""
    rng = np.random.default_rng(n)
    inside, everywhere, width = [], [], []
    for _ in range(replicates):
        q = draw(rng, n)
        c = smooth_curve(sketched_arrays(rng.random(n) < truth(q), q), kind)
        p = truth(c.q)
        inside.append(np.mean((c.low <= p) & (p <= c.high)))
        everywhere.append(np.all((c.low_everywhere <= p) & (p <= c.high_everywhere)))
        width.append(np.mean(c.high - c.low))
    return 100 * np.mean(inside), 100 * np.mean(everywhere), np.mean(width)


def speed():
    """Seconds of a sketch of 10⁸ rows, and of the curves from it."""
    rng = np.random.default_rng(0)
    q = rng.random(10**8)
    sketch = sketched_arrays(rng.random(len(q)) < q, q)
    for kind in KINDS:
        start = time.perf_counter()
        smooth_curve(sketch, kind)
        print(f"{kind} curve: {time.perf_counter() - start:.3f} s from the sketch of {len(q):,} rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("replicates", type=int, nargs="?", default=100)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/theory.md")
    args = parser.parse_args()
    if args.speed:
        speed()
        return
    lines = [
        f"{args.replicates} samples a row: per cent inside the 95% band of each place / samples wholly inside the band of all places (mean width of the first).\n",
        "| truth | q | n | " + " | ".join(KINDS) + " |",
        "|---|---|---|" + "---|" * len(KINDS),
    ]
    for name, draw, n in CELLS:
        found = [measured(kind, TRUTHS[name], draw, n, args.replicates) for kind in KINDS]
        cells = " | ".join(f"{a:.1f} / {b:.0f} ({w:.3f})" for a, b, w in found)
        lines.append(f"| {name} | {'uniform' if draw is uniform else 'Beta(.3,.3)'} | {n:,} | {cells} |")
        print(lines[-1], flush=True)
    if args.write:
        text = THEORY.read_text()
        head, rest = text.split(START)
        THEORY.write_text(head + START + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
