"""Do the bands, tests and intervals for continuous outcomes keep their word? The tables of docs/evidence/theory.md.

    python bench/coverage/pit_coverage.py --write                   (2,000 replicates a row: about 12 minutes on one core)
    python bench/coverage/pit_coverage.py --replicates 200          (a quick look)

Every row is seeded by its own name. `--write` puts the tables into docs/evidence/theory.md.
"""

import argparse
import os
import zlib
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

from howsure.calibration.forecasts.analysis import analyse_pit
from howsure.calibration.forecasts.pit import for_draws, for_levels, for_values
from howsure.kernels.pit import level_spans

THEORY = Path(__file__).parents[2] / "docs" / "evidence" / "theory.md"
TESTS = ("simultaneous band", "mean of PIT", "variance of PIT", "Kolmogorov-Smirnov", "combined")
COVID = [0.01, 0.025, *np.arange(1, 20) / 20, 0.975, 0.99]


def draws(n, s, sd=1.0, bias=0.0):
    """y ~ N(0, 1), S draws from N(bias, sd²): the number below y is binomial given y."""

    def make(rng):
        builder = for_draws(s)
        below = rng.binomial(s, ndtr((rng.normal(size=n) - bias) / sd))
        builder.add_spans(below, below + 1, np.zeros(n))
        return builder.finish(), "draws"

    return make


def counts(n, s, rate=3.0):
    """y and S draws from one Poisson law: many ties."""

    def make(rng):
        y = rng.poisson(rate, n)
        left, at = stats.poisson.cdf(y - 1, rate), stats.poisson.pmf(y, rate)
        below = rng.binomial(s, left)
        ties = rng.binomial(s - below, np.minimum(at / (1 - left), 1))
        builder = for_draws(s)
        builder.add_spans(below, below + ties + 1, np.zeros(n))
        return builder.finish(), "draws"

    return make


def quantiles(n, levels, sd=1.0, bias=0.0):
    levels = np.asarray(levels)

    def make(rng):
        builder = for_levels(levels)
        q = np.broadcast_to(bias + sd * ndtri(levels), (n, len(levels)))
        builder.add_spans(*level_spans(rng.normal(size=n), q), np.zeros(n))
        return builder.finish(), "quantiles"

    return make


def interpolated(n, levels):
    """What is not done: PIT by linear interpolation between the quantiles, at random only beyond the outermost."""
    levels = np.asarray(levels)

    def make(rng):
        y, q = rng.normal(size=n), ndtri(levels)
        pit = np.interp(y, q, levels)
        pit = np.where(y < q[0], rng.random(n) * levels[0], pit)
        pit = np.where(y > q[-1], 1 - rng.random(n) * (1 - levels[-1]), pit)
        builder = for_values()
        builder.add_values(pit)
        return builder.finish(), "distribution"

    return make


def law(n, sd=1.0, bias=0.0):
    def make(rng):
        builder = for_values()
        builder.add_values(ndtr((rng.normal(size=n) - bias) / sd))
        return builder.finish(), "distribution"

    return make


CALIBRATED = {
    "F known, n = 50": law(50),
    "F known, n = 1,000": law(1_000),
    "F known, n = 100,000": law(100_000),
    "9 draws, n = 200": draws(200, 9),
    "99 draws, n = 1,000": draws(1_000, 99),
    "1,000 draws, n = 1,000": draws(1_000, 1_000),
    "99 draws, n = 100,000": draws(100_000, 99),
    "50 draws of counts (ties), n = 1,000": counts(1_000, 50),
    "5 quantiles, n = 1,000": quantiles(1_000, [0.05, 0.25, 0.5, 0.75, 0.95]),
    "23 quantiles, n = 10,000": quantiles(10_000, COVID),
}
INTERPOLATED = {
    "23 quantiles interpolated, n = 1,000": interpolated(1_000, COVID),
    "23 quantiles interpolated, n = 10,000": interpolated(10_000, COVID),
    "5 quantiles interpolated, n = 1,000": interpolated(1_000, [0.05, 0.25, 0.5, 0.75, 0.95]),
}
WRONG = {
    "sd × 0.9 (too narrow)": {"sd": 0.9},
    "sd × 1.1 (too wide)": {"sd": 1.1},
    "shifted by 0.1 sd": {"bias": 0.1},
    "shifted by 1 sd": {"bias": 1.0},
    "sd × 0.5 (too narrow)": {"sd": 0.5},
}


def results(name, make, replicates):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for _ in range(replicates):
        sketch, kind = make(rng)
        yield analyse_pit(sketch, kind, confidence_level=0.95, rng=rng)


def rejections(made):
    p_values = [{t.name: t.p_value for t in c.tests} for c in made]
    return [np.mean([p[test] <= 0.05 for p in p_values]) for test in TESTS]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def percent(x):
    return f"{100 * x:.1f}"


def level_table(replicates):
    rows = []
    for name, make in (CALIBRATED | INTERPOLATED).items():
        made = list(results(name, make, replicates))
        shift = np.mean([c.shift.low <= 0 <= c.shift.high for c in made])
        spread = np.mean([c.spread.low <= 1 <= c.spread.high for c in made])
        rows.append([name, *map(percent, rejections(made)), percent(shift), percent(spread)])
        print(rows[-1], flush=True)
    head = ["calibrated forecasts", "band", "mean", "variance", "KS", "combined", "shift covers 0", "spread covers 1"]
    return table(head, rows)


def power_table(replicates):
    rows = []
    for name, wrong in WRONG.items():
        made = list(results(name, draws(1_000, 99, **wrong), replicates))
        words = [
            np.mean([c.width == "overconfident" for c in made]),
            np.mean([c.width == "underconfident" for c in made]),
            np.mean([c.direction is not None for c in made]),
        ]
        spread = np.mean([c.spread.value for c in made])
        rows.append([name, *map(percent, rejections(made)), *map(percent, words), f"{spread:.2f}"])
        print(rows[-1], flush=True)
    head = [
        "99 draws, n = 1,000",
        "band",
        "mean",
        "variance",
        "KS",
        "combined",
        "“narrow”",
        "“wide”",
        "“shifted”",
        "spread",
    ]
    return table(head, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=2_000)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    said = f"{level_table(chosen.replicates)}\n\n{power_table(chosen.replicates)}"
    print(said)
    if chosen.write:
        text = THEORY.read_text()
        before, rest = text.split("<!-- pit: begin -->")
        after = rest.split("<!-- pit: end -->")[1]
        THEORY.write_text(f"{before}<!-- pit: begin -->\n{said}\n<!-- pit: end -->{after}")
