"""Do the RMS error and the ECE of documents cover where the truth changes fast? The table "steps in documents" of the theory.

    python bench/coverage/group_resolution.py [replicates] --write            (200 replicates a cell: two minutes on a core)

Rows of a document share a part of a latent normal, y = 1 when it is below Φ⁻¹(p(q)): p(q) is the truth whatever is shared. Each cell is seeded by its
name. `before` is the coarsest resolution alone, as it was.
"""

import os
import sys
import zlib
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from interval_coverage import THEORY, covers, steps, targets, wave
from scipy.special import ndtr

from howsure.calibration.analysis import analyse, cluster_rows
from howsure.calibration.sketch import sketch_rows

TRUTHS = {"calibrated": lambda q: q, "3 steps": steps(3), "5 steps": steps(5), "q + .05 sin 20πq": wave(10, 0.05)}
CELLS = [
    (truth, design, share)
    for truth in TRUTHS
    for design in ("100 of 50", "400 of 25", "Zipf, 200")
    for share in (0.05, 0.3)
]


def sizes(design):
    if design.startswith("Zipf"):
        return np.maximum(np.rint(1_700 / np.arange(1, 201)).astype(int), 1)
    return np.full(int(design.split()[0]), int(design.split()[-1]))


def cell(truth, design, share, replicates):
    rng = np.random.default_rng(zlib.crc32(f"{truth}|{design}|{share}".encode()))
    size, p_of, grid = sizes(design), TRUTHS[truth], (np.arange(400_000) + 0.5) / 400_000
    want, g = targets(grid, p_of(grid)), np.repeat(np.arange(len(size)), size)
    cover, length, rejected, bins = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(3), 0
    for _ in range(replicates):
        q = rng.random(len(g))
        latent = np.sqrt(share) * rng.normal(size=len(size))[g] + np.sqrt(1 - share) * rng.normal(size=len(g))
        y = (ndtr(latent) < p_of(q)).view(np.uint8)
        sketch = sketch_rows(y, q)
        table = cluster_rows(sketch, y, q, g, None, 0.95)
        now, then = (analyse(sketch, clusters=t) for t in (table, replace(table, levels=table.levels[:1])))
        for i, c in enumerate((then, now)):
            cover[i] += covers(c.error, want["error"]), covers(c.ece, want["ece"])
            length[i] += c.error.high - c.error.low, c.ece.high - c.ece.low
        rejected += [t.p_value < 0.05 for t in now.tests]
        bins += now.resolution.bins
    cols = [f"{a:.1f} → {b:.1f}" for a, b in (100 * cover / replicates).T]
    cols += [f"{a:.3f} → {b:.3f}" for a, b in (length / replicates).T]
    cols += [f"{bins / replicates:.0f}", *(f"{100 * v / replicates:.1f}" for v in rejected)]
    return f"| {truth} | {design} | {share} | {want['error']:.3f} | " + " | ".join(cols) + " |"


def main():
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
    replicates = numbers[0] if numbers else 200
    lines = [
        f"Percent of {replicates} replicates and mean lengths, “before → now”; mean number of bins now; rejections at 5%, the same before and now.",
        "",
        "| truth | documents | shared | θ | RMS error | ECE | length, RMS | ECE | bins | combined | excess error | score |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for c in CELLS:
        lines.append(cell(*c, replicates))
        print(lines[-1], flush=True)
    if "--write" in sys.argv:
        begin, end = "<!-- group steps: begin -->", "<!-- group steps: end -->"
        before, rest = THEORY.read_text().split(begin)
        THEORY.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
