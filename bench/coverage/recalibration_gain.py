"""How often recalibration is accepted, and whether the gain reported then is the true one.

    python bench/coverage/recalibration_gain.py [replicates] [--write]     (400: about an hour on one core)

The true gain is the expected fall of the log loss on new rows, p being known, of the recalibrator that is returned; where it is declined, of
those fitted to the folds. "Before" is the
mean of the held-out gains ± t standard errors, accepted when that lies above 0. Constants were chosen on other data: logit × 1.3,
1.6 and 0.8 and shifts at n = 200 and 600, and impossible events at other shares (20% at 0 or 1, 10% of them wrong; 67% and 3%).
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.special import expit, logit, stdtrit

from howsure.calibration.recalibration.choosing import _called_impossible, chosen_methods, cross_fitted, losses
from howsure.calibration.recalibration.gain import MeanGain, impossible_share
from howsure.calibration.recalibration.methods import candidates
from howsure.calibration.recalibration.recalibrator import random_folds

THEORY = Path(__file__).parents[2] / "docs" / "evidence" / "theory.md"
START, END = "<!-- gain: begin -->", "<!-- gain: end -->"


def scaled(slope, a=1.0, shift=0.0):
    """p from Beta(a, a), log-odds of q = slope × those of p + shift."""

    def draw(rng, n):
        p = np.clip(rng.beta(a, a, n), 1e-6, 1 - 1e-6)
        return expit(slope * logit(p) + shift), p

    return draw


def impossible(share, wrong):
    """A share of the rows has q of 0 or 1, some of them wrong; the others are calibrated."""

    def draw(rng, n):
        q = rng.random(n)
        extreme, one = rng.random(n) < share, rng.random(n) < 0.5
        return np.where(extreme, one * 1.0, q), np.where(extreme, np.where(one, 1 - wrong, wrong), q)

    return draw


CELLS = {
    "calibrated, uniform": (scaled(1.0), (500,)),
    "calibrated, Beta(.3,.3)": (scaled(1.0, 0.3), (100,)),
    "logit × 1.45": (scaled(1.45), (500,)),
    "logit × 2": (scaled(2.0), (100, 500)),
    "logit + .4": (scaled(1.0, shift=0.4), (300,)),
    "30% at 0 or 1, 7% of them wrong": (impossible(0.3, 0.07), (100,)),
    "50% at 0 or 1, 4% of them wrong": (impossible(0.5, 0.04), (100,)),
}


def expected_gain(q, p, made):
    """Of each row, over y."""
    one, zero = (np.ones(len(q), np.int64), np.zeros(len(q), np.int64))
    return p * (losses(q, one)[0] - losses(made, one)[0]) + (1 - p) * (losses(q, zero)[0] - losses(made, zero)[0])


def row(name, draw, n, replicates):
    """One line of the table."""
    rng = np.random.default_rng([n, len(name)])
    new_q, new_p = draw(np.random.default_rng(99), 10_000)
    old, now, plain, declined = [], [], [], []
    for _ in range(replicates):
        q, p = draw(rng, n)
        y = (rng.random(n) < p).astype(np.int64)
        methods, fold = candidates("auto", 2), random_folds(n, 5, None, 0)
        log_losses, _ = cross_fitted(methods, q, y, None, fold)
        chosen = chosen_methods(log_losses, fold)
        gains = (losses(q, y)[0] - log_losses)[chosen, np.arange(n)]
        best = list(methods.values())[int(np.argmin(log_losses.sum(axis=1)))]
        mean, half = gains.mean(), stdtrit(n - 1, 0.975) * gains.std(ddof=1) / np.sqrt(n)
        made = MeanGain.of(gains, None)
        clear = made.excess(0.95) > 0
        if clear or mean > half:
            truth = expected_gain(new_q, new_p, best.fit(q, y).transform(new_q)).mean()
        if mean > half:
            old.append((mean - half <= truth <= mean + half, mean, truth, 2 * half))
        if clear:
            e = made.given_accepted(0.95)
            now.append((e.low <= truth <= e.high, e.value, truth, e.high - e.low))
        else:
            truth = 0.0  # nothing is returned: what the folds' recalibrators gain
            for f in range(5):
                method, rest = list(methods.values())[chosen[fold == f][0]], fold != f
                by_fold = expected_gain(new_q, new_p, method.fit(q[rest], y[rest]).transform(new_q)).mean()
                truth += by_fold * np.mean(fold == f)
            e, unseen = made.estimate(0.95), 30 * impossible_share(*_called_impossible(q, y), n, 0.95)
            plain.append((e.low <= truth <= e.high, e.value, truth, e.high - e.low))
            e = made.given_declined(0.95)
            declined.append((e.low <= truth <= e.high + unseen, e.value, truth, e.high + unseen - e.low))
    cells = [name, f"{n:,}"]
    for found in (old, now):
        held, value, true, width = np.array(found, float).reshape(-1, 4).T
        cells.append(f"{100 * len(held) / replicates:.1f}")
        cells += (
            [f"{100 * held.mean():.1f}", f"{value.mean():.4f}", f"{true.mean():.4f}", f"{width.mean():.3f}"]
            if len(held) > 9
            else ["–"] * 4
        )
    for k in (0, 3):
        for found in (plain, declined):
            some = np.array(found, float).reshape(-1, 4)[:, k]
            cells.append((f"{100 * some.mean():.1f}" if k == 0 else f"{some.mean():.3f}") if len(found) > 9 else "–")
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("replicates", type=int, nargs="?", default=400)
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/theory.md")
    args = parser.parse_args()
    lines = [
        f"{args.replicates:,} replicates a row; – where there were fewer than 10.\n",
        "| data | n | accepted before | covers | mean gain | true | width | accepted now | covers | mean gain | true | width "
        "| declined, plain limits: covers | now | plain width | now |",
        "|---|" + "---|" * 15,
    ]
    for name, (draw, sizes) in CELLS.items():
        for n in sizes:
            lines.append(row(name, draw, n, args.replicates))
            print(lines[-1], flush=True)
    if args.write:
        text = THEORY.read_text()
        head, rest = text.split(START)
        THEORY.write_text(head + START + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
