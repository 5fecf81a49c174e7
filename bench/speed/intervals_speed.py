"""Processor time of all intervals and tests once the sketch is there; wanted: at most 50 ms.

    python bench/speed/intervals_speed.py [--write]

Best of five after a first call, in process time, which other work on the machine does not change much. "All of it" is `analyse` without the consistency
band: also bins, decompositions and the area under the curve. `--write` puts the table into docs/evidence/theory.md.
"""

import sys
import time
from pathlib import Path

import numpy as np

from howsure.calibration.analysis import _independent, analyse
from howsure.calibration.sketch import sketch_rows

THEORY = Path(__file__).parents[2] / "docs" / "evidence" / "theory.md"
SHAPES = {
    "Beta(.3,.3)": lambda n, rng: rng.beta(0.3, 0.3, n),
    "Beta(.05,5)": lambda n, rng: rng.beta(0.05, 5, n),
    "11 values": lambda n, rng: rng.integers(0, 11, n) / 10,
}


def best(f):
    taken = []
    for _ in range(6):
        start = time.process_time()
        f()
        taken.append(time.process_time() - start)
    return 1000 * min(taken[1:])


def main():
    lines = ["| q | rows | cells | intervals and tests, ms | all of it, ms |", "|---|---|---|---|---|"]
    for name, draw in SHAPES.items():
        for n in (30, 150, 2_000, 100_000, 1_000_000):
            rng = np.random.default_rng(n)
            q = draw(n, rng)
            sketch = sketch_rows(rng.random(n) < q, q)
            inferred, whole = best(lambda s=sketch: next(_independent([s], 0.95))), best(lambda s=sketch: analyse(s))
            lines.append(f"| {name} | {n:,} | {len(sketch.size):,} | {inferred:.0f} | {whole:.0f} |")
            print(lines[-1], flush=True)
    if "--write" in sys.argv:
        begin, end = "<!-- speed: begin -->", "<!-- speed: end -->"
        before, rest = THEORY.read_text().split(begin)
        THEORY.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
