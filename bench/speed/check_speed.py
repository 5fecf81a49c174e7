"""`howsure check` beside NumPy, the peers and DuckDB, in one run: best of three, as ratios.

    make bench                     (about 5 minutes and 3 GB of memory and disk)
    python bench/speed/check_speed.py --small     (a hundredth of the rows)

Peers: scikit-learn's quantile calibration curve, relplot's smooth calibration, model-diagnostics' isotonic
decomposition of the Brier score.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np


def best_of(times, f):
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        f()
        taken.append(time.perf_counter() - start)
    return min(taken)


def row(name, ours, theirs, wanted, holds):
    print(f"{name:<58} {ours:>9.3f} s {theirs:>9.3f} s  {wanted:<12} {'yes' if holds else 'NO'}", flush=True)


def peak():
    """Peak resident memory in MB since it was last cleared."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def sample(n):
    rng = np.random.default_rng(0)
    y_prob = rng.beta(0.3, 0.3, n)
    return rng.random(n) < y_prob, y_prob


def in_memory(n):
    import howsure

    y_true, y_prob = sample(n)
    howsure.check(y_true[: n // 10], y_prob[: n // 10])
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of making the sample
    before = peak()
    ours = best_of(3, lambda: howsure.check(y_true, y_prob))
    extra = peak() - before
    sort = best_of(3, lambda: np.sort(y_prob))
    print(f"\nn = {n:,} in memory{'howsure':>45} {'other':>11}  wanted       holds")
    sums = best_of(3, lambda: np.sum(y_prob) + np.sum(y_true))
    row(f"np.sort(y_prob): ratio {ours / sort:.3f}", ours, sort, "<= 0.25", ours <= 0.25 * sort)
    row(f"np.sum(y_prob) + np.sum(y_true): ratio {ours / sums:.1f}", ours, sums, "<= 3 x", ours <= 3 * sums)
    print(f"{'extra memory of check':<58} {extra:>8.0f} MB {'':>11}  <= 64 MB     {'yes' if extra <= 64 else 'NO'}")
    labels = y_true.astype(np.int64)
    for name, probs in (("int64 labels", y_prob), ("int64 labels, float32", y_prob.astype(np.float32))):
        ours = best_of(3, lambda probs=probs: howsure.check(labels, probs))
        print(f"{f'  the same with {name}: ratio to np.sort {ours / sort:.3f}':<58} {ours:>9.3f} s")


def grouped(n, n_groups):
    """Documents in random order, in memory and from a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import howsure

    y_true, y_prob = sample(n)
    rng = np.random.default_rng(1)
    groups = rng.integers(0, n_groups, n)
    tags = np.array([f"tag {i}" for i in range(12)])[rng.integers(0, 12, n)]
    print(f"\nn = {n:,}, {n_groups:,} documents in random order")
    theirs = best_of(3, lambda: np.argsort(groups))
    ours = best_of(3, lambda: howsure.check(y_true, y_prob, groups=groups))
    row(f"np.argsort(groups): ratio {ours / theirs:.1f}", ours, theirs, "<= 3 x", ours <= 3 * theirs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.parquet"
        pq.write_table(pa.table({"q": y_prob, "y": y_true.astype(np.int8), "doc": groups, "tag": tags}), path)
        command = [sys.executable, "-m", "howsure", "check", str(path), "--prob", "q", "--true", "y"]
        for more in ([], ["--by", "tag"]):
            plain = best_of(3, lambda more=more: subprocess.run([*command, *more], capture_output=True, check=True))
            clustered = [*command, *more, "--groups", "doc"]
            ours = best_of(3, lambda clustered=clustered: subprocess.run(clustered, capture_output=True, check=True))
            name = f"the command {' '.join(more)} without groups, Parquet: ratio {ours / plain:.1f}".replace("  ", " ")
            row(name, ours, plain, "<= 3 x", ours <= 3 * plain)


def beside_peers(n):
    import howsure

    y_true, y_prob = sample(n)
    labels = y_true.astype(np.int64)
    howsure.check(labels, y_prob)
    ours = best_of(3, lambda: howsure.check(labels, y_prob))
    print(f"\nn = {n:,}, equal-mass or isotonic analysis")
    for name, f in peers(labels, y_prob):
        theirs = best_of(3, f)
        row(f"{name}: {theirs / ours:.0f} x", ours, theirs, ">= 8 x", theirs >= 8 * ours)


def peers(y_true, y_prob):
    import relplot
    from model_diagnostics.scoring import SquaredError, decompose
    from sklearn.calibration import calibration_curve

    yield (
        "scikit-learn calibration_curve(quantile)",
        lambda: calibration_curve(y_true, y_prob, strategy="quantile", n_bins=20),
    )
    yield "relplot smECE", lambda: relplot.smECE(y_prob, y_true)
    yield (
        "model-diagnostics decompose (isotonic)",
        lambda: decompose(y_true, y_prob, scoring_function=SquaredError()),
    )


def intervals(n):
    import matplotlib as mpl
    import relplot
    from model_diagnostics.calibration import plot_reliability_diagram

    import howsure
    from howsure.calibration.analysis import _independent, analyse
    from howsure.engines.rows import sketched_arrays

    mpl.use("Agg")
    y_true, y_prob = sample(n)
    labels = y_true.astype(np.int64)
    print(f"\nn = {n:,}, error with an interval")
    ours = best_of(3, lambda: howsure.check(labels, y_prob))
    for name, f in (
        ("relplot diagram, 200 bootstraps", lambda: relplot.prepare_rel_diagram(y_prob, labels, num_bootstrap=200)),
        (
            "model-diagnostics reliability diagram, 100 bootstraps",
            lambda: plot_reliability_diagram(labels, y_prob, n_bootstrap=100),
        ),
    ):
        theirs = best_of(1, f)
        row(f"{name}: {theirs / ours:.0f} x", ours, theirs, ">= 100 x", theirs >= 100 * ours)
    for size in (10**3, 10**5, 10**6, 10**7):
        sketch = sketched_arrays(*sample(size))
        _ = sketch.sum_ee, sketch.mean_q, sketch.spread_q, sketch.log_loss  # what any analysis needs
        added = best_of(3, lambda sketch=sketch: _independent(sketch, 0.95))
        whole = best_of(3, lambda sketch=sketch: analyse(sketch, rng=np.random.default_rng(0)))
        label = f"intervals and tests once the sketch is there, n = {size:,}"
        said = f"<= 50 ms     {'yes' if added <= 0.05 else 'NO'}   (whole analysis {1000 * whole:.0f} ms)"
        print(f"{label:<58} {1000 * added:>8.0f} ms {'':>11}  {said}")


def parquet(n):
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.parquet"
        y_true, y_prob = sample(n)
        pq.write_table(pa.table({"q": y_prob, "y": y_true.astype(np.int8)}), path, row_group_size=1 << 20)
        del y_true, y_prob
        connection = duckdb.connect()
        sql = f"select sum(q), sum(y) from '{path}'"
        theirs = best_of(3, lambda: connection.execute(sql).fetchall())
        code = (
            "import time, howsure, sys\n"
            "howsure.check([0, 1], [0.5, 0.5])\n"
            "taken = []\n"
            "for _ in range(3):\n"
            "    start = time.perf_counter(); howsure.check(sys.argv[1]); taken.append(time.perf_counter() - start)\n"
            "status = open('/proc/self/status').read()\n"
            "print(min(taken), int(status.split('VmHWM:')[1].split()[0]) / 1024)\n"
        )
        out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        ours, memory = map(float, out.stdout.split())
        print(f"\nn = {n:,}, Parquet file")
        row(
            f"DuckDB select sum(q), sum(y): ratio {ours / theirs:.2f}",
            ours,
            theirs,
            "<= 3 x",
            ours <= 3 * theirs,
        )
        print(f"{'peak memory':<58} {memory:>8.0f} MB {'':>11}  <= 1000 MB   {'yes' if memory <= 1000 else 'NO'}")


def start_up():
    def cost(*arguments):
        command = [sys.executable, *arguments]
        return best_of(5, lambda: subprocess.run(command, capture_output=True, check=True))

    print(f"\nstart-up, whole commands{'howsure':>45} {'other':>11}  wanted       holds")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.csv"
        y_true, y_prob = sample(1000)
        path.write_text("q,y\n" + "".join(f"{q},{int(y)}\n" for q, y in zip(y_prob, y_true, strict=True)))
        check = ("-m", "howsure", "check", str(path))
        arrays = "import howsure; howsure.check([0, 1] * 500, [i / 1000 for i in range(1000)])"
        for name, ours, other, most in (
            ("--help", ("-m", "howsure", "--help"), "numpy", 1.5),
            ("check, a CSV of 1,000 rows", check, "duckdb", 2.5),
            ("the same with --html", (*check, "--html", str(Path(folder) / "report.html")), "duckdb", 6),
            ("check(y, q) of 1,000 rows", ("-c", arrays), "numpy, scipy.special", 3),
        ):
            own, theirs = cost(*ours), cost("-c", f"import {other}")
            row(f"{name}; import {other}: ratio {own / theirs:.1f}", own, theirs, f"<= {most} x", own <= most * theirs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    scale = 100 if parser.parse_args().small else 1
    warnings.simplefilter("ignore")
    start_up()
    in_memory(10**8 // scale)
    parquet(10**8 // scale)
    grouped(6 * 10**6 // scale, 40_000 // scale)
    beside_peers(10**7 // scale)
    intervals(10**6 // scale)
