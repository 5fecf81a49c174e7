"""`count --by` beside `check --by` of the same cells, and the same count on every engine: times, peak memory, ratio.

    python bench/speed/count_speed.py                   # 10^8 rows (engines: 10^7); about 1 GB of disk
    python bench/speed/count_speed.py --rows 1000000    # a small version

Each run is a process of its own, in turn, the least of `--repeats`. One item in 100,000 is labelled.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scale import PART, difference, source, watched

CELLS = 60
RUN = """
import json, sys, time
import howsure
verb, source, engine, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
began = time.perf_counter()
made = getattr(howsure, verb)(source, engine=howsure.Engine(**engine), **options)
print(json.dumps({"seconds": time.perf_counter() - began, "result": made.to_dict()}))
"""
CHECK = {"prob": "q", "true": "y", "by": "cell"}
COUNT = {"prob": "q", "true": "label", "by": "cell", "design": "random"}


def write_part(path: Path, number: int, rows: int) -> None:
    """Overconfident pairs in cells whose shares differ; few labels."""
    rng = np.random.default_rng([11, number])
    cell = rng.integers(0, CELLS, rows, np.int32)
    z = rng.standard_normal(rows) * 2 - 2 + cell / CELLS
    y = rng.random(rows) < 1 / (1 + np.exp(-0.8 * z))
    label = pa.array(y.astype(np.int8), mask=rng.random(rows) > 1e-5)
    table = {"q": 1 / (1 + np.exp(-z)), "y": y.astype(np.uint8), "cell": cell, "label": label}
    pq.write_table(pa.table(table), path, row_group_size=250_000)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10**8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", default=None, help="where the rows are kept; by default a temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for i in range(-(-given.rows // PART)):
            path = folder / f"part-{i:04d}.parquet"
            if not path.exists():
                write_part(path, i, min(PART, given.rows - i * PART))
        run(str(folder), given.rows, given.repeats)


def run(folder: str, n: int, repeats: int) -> None:
    print(f"{n:,} rows in {CELLS} cells, {len(os.sched_getaffinity(0))} cores")
    files = {"kind": "files", "memory": "1GB"}
    best: dict[str, dict] = {}
    for _ in range(repeats):
        for verb, options in (("check", CHECK), ("count", COUNT)):
            made = watched([RUN, verb, folder, json.dumps(files), json.dumps(options)])
            if verb not in best or made["seconds"] < best[verb]["seconds"]:
                best[verb] = made
    for verb, made in best.items():
        print(f"  {verb + ' --by':<22} {made['seconds']:>7.2f} s {made['peak'] / 1e9:>6.2f} GB", flush=True)
    print(f"  ratio {best['count']['seconds'] / best['check']['seconds']:.2f}")
    few = min(n, 10 * PART)
    part = source(Path(folder), few)
    print(f"{few:,} rows, count on each engine")
    first: dict = {}
    for name, engine in {"files": files, "memory": {"kind": "memory"}, "Spark": {"kind": "spark"}}.items():
        made = watched([RUN, "count", part, json.dumps(engine), json.dumps(COUNT)])
        first = first or made
        far = difference(made["result"], first["result"])
        print(f"  {name:<22} {made['seconds']:>7.2f} s   largest difference {far:.1e}", flush=True)


if __name__ == "__main__":
    main()
