"""How often `--fail-above` fails models that are perfect, just good enough, and bad, by each rule of `--gate`.

    python bench/coverage/gate_rates.py [replicates] [--write]

q is uniform and the bound 0.05. Models: calibrated (RMS error 0), p = q + .04 sin 2πq (0.028), p = q - .05 cut at 0 (0.05: at the bound) and
q - .12 (0.12). `--write` puts the table into docs/evidence/theory.md.
"""

import argparse

import numpy as np
from interval_coverage import THEORY

from howsure.calibration.estimation.estimate import ladder
from howsure.calibration.estimation.intervals import at_least_bias, linear_intervals, squared_error_interval
from howsure.calibration.gate import RULES, Gate
from howsure.calibration.sketch import sketch_rows

BOUND = 0.05
MODELS = {
    "calibrated": lambda q: q,
    "q + .04 sin 2πq": lambda q: q + 0.04 * np.sin(2 * np.pi * q),
    "q - .05": lambda q: np.maximum(q - 0.05, 0),
    "q - .12": lambda q: np.maximum(q - 0.12, 0),
}


def row(name, n, replicates):
    rng = np.random.default_rng([n, len(name)])
    fails, undecided = dict.fromkeys(RULES, 0), 0
    for _ in range(replicates):
        q = rng.random(n)
        sketch = sketch_rows(rng.random(n) < MODELS[name](q), q)
        ((gap, *_),) = linear_intervals([sketch], 0.95, whole=False)
        error = at_least_bias(squared_error_interval(ladder(sketch), 0.95).sqrt(), gap)
        for rule in RULES:
            gate = Gate(error, BOUND, rule)
            fails[rule] += gate.fails
        undecided += gate.outcome == "undecided"
    grid = (np.arange(100_000) + 0.5) / 100_000
    theta = np.sqrt(np.mean((grid - MODELS[name](grid)) ** 2))
    cells = [f"{100 * v / replicates:.1f}" for v in (*fails.values(), undecided)]
    return f"| {name} | {theta:.3f} | {n:,} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("replicates", type=int, nargs="?", default=1_000)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    lines = [f"Percent of {args.replicates:,} replicates that fail at the bound {BOUND}.", ""]
    lines += [
        "| truth | RMS error | n | shown-above | point | shown-below | undecided |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in MODELS:
        for n in (50, 150, 500, 2_000):
            lines.append(row(name, n, args.replicates))
            print(lines[-1], flush=True)
    if args.write:
        begin, end = "<!-- gate: begin -->", "<!-- gate: end -->"
        before, rest = THEORY.read_text().split(begin)
        THEORY.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
