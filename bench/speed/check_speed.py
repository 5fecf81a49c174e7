"""`howsure check` beside NumPy, the peers and DuckDB, in one run: best of three, as ratios.

    make bench                     (about 12 minutes, 4 GB of memory and disk)
    python bench/speed/check_speed.py --small     (a hundredth of the rows)

Peers: scikit-learn's quantile calibration curve, relplot's smooth calibration, model-diagnostics' isotonic
decomposition of the Brier score.
"""

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from goals import best_of, heading, row


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
    ours = best_of(1, lambda: howsure.check(y_true, y_prob))
    extra = peak() - before
    heading(f"n = {n:,} in memory")
    again, sums = best_of(7, lambda: howsure.check(y_true, y_prob), lambda: np.sum(y_prob) + np.sum(y_true))
    ours = min(ours, again)
    row("bool labels; np.sum(y_prob) + np.sum(y_true)", ours, sums, at_most=3)
    labels = y_true.astype(np.int64)
    for name, probs in (("int64 labels", y_prob), ("int64 labels, float32", y_prob.astype(np.float32))):
        row(f"{name}; the same sums", best_of(5, lambda probs=probs: howsure.check(labels, probs)), sums, at_most=3)
    row("bool labels; np.sort(y_prob)", ours, best_of(3, lambda: np.sort(y_prob)), at_most=0.25)
    row("extra memory of check", extra, at_most=64, unit="MB")


def grouped(n, n_groups):
    """Documents in random order, in memory and from a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import howsure

    y_true, y_prob = sample(n)
    rng = np.random.default_rng(1)
    groups = rng.integers(0, n_groups, n)
    tags = np.array([f"tag {i}" for i in range(12)])[rng.integers(0, 12, n)]
    heading(f"n = {n:,}, {n_groups:,} documents in random order")
    timed = best_of(3, lambda: howsure.check(y_true, y_prob, groups=groups), lambda: np.argsort(groups))
    row("in memory; np.argsort(groups)", *timed, at_most=3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.parquet"
        pq.write_table(pa.table({"q": y_prob, "y": y_true.astype(np.int8), "doc": groups, "tag": tags}), path)
        command = [sys.executable, "-m", "howsure", "check", str(path), "--prob", "q", "--true", "y"]
        for more in ([], ["--by", "tag"]):
            clustered = [*command, *more, "--groups", "doc"]
            timed = best_of(
                3,
                *(
                    lambda c=c: subprocess.run(c, capture_output=True, check=True)
                    for c in (clustered, [*command, *more])
                ),
            )
            row(f"{' '.join(['command on Parquet', *more])}; without --groups", *timed, at_most=3)


def many(rows, n_documents, n_slices):
    """Files within 1 GB, each run in a process of its own: documents, then slices of a hundred rows."""
    from scale import LIMIT, make, measured, source

    engine = {"kind": "files", "memory": LIMIT}
    with tempfile.TemporaryDirectory() as temporary:
        make(Path(temporary), rows, n_slices)
        heading(f"files, {LIMIT}")
        for what, n, options, goal in (
            (f"{n_documents:,} documents", rows, {"groups": "doc"}, 163 / 4),
            (f"{n_slices:,} slices", 100 * n_slices, {"by": "slice"}, 454 / 4),
        ):
            made = measured(source(Path(temporary), n), engine, options)
            row(f"{what} in {n:,} rows", made["seconds"], at_most=goal)
            row("  peak memory", made["peak"] / 1e9, at_most=1, unit="GB")


def beside_peers(n):
    import howsure

    y_true, y_prob = sample(n)
    labels = y_true.astype(np.int64)
    howsure.check(labels, y_prob)
    ours = best_of(3, lambda: howsure.check(labels, y_prob))
    heading(f"n = {n:,}, equal-mass or isotonic analysis")
    for name, f in peers(labels, y_prob):
        row(name, ours, best_of(3, f), at_least=8)


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
    heading(f"n = {n:,}, error with an interval")
    ours = best_of(3, lambda: howsure.check(labels, y_prob))
    for name, f in (
        ("relplot diagram, 200 bootstraps", lambda: relplot.prepare_rel_diagram(y_prob, labels, num_bootstrap=200)),
        (
            "model-diagnostics reliability diagram, 100 bootstraps",
            lambda: plot_reliability_diagram(labels, y_prob, n_bootstrap=100),
        ),
    ):
        row(name, ours, best_of(1, f), at_least=100)
    for size in (10**3, 10**5, 10**6, 10**7):
        sketch = sketched_arrays(*sample(size))
        _ = sketch.sum_ee, sketch.mean_q, sketch.spread_q, sketch.log_loss  # what any analysis needs
        added = best_of(3, lambda sketch=sketch: next(_independent([sketch], 0.95)))
        whole = best_of(3, lambda sketch=sketch: analyse(sketch, rng=np.random.default_rng(0)))
        row(f"intervals and tests once the sketch is there, n = {size:,}", 1000 * added, at_most=50, unit="ms")
        row("  the whole analysis", 1000 * whole, unit="ms")


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
        heading(f"n = {n:,}, Parquet file")
        row("DuckDB select sum(q), sum(y)", ours, theirs, at_most=3)
        row("peak memory", memory, at_most=1000, unit="MB")


def start_up():
    def cost(arguments):
        return lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)

    heading("start-up, whole commands")
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
            row(f"{name}; import {other}", *best_of(9, cost(ours), cost(("-c", f"import {other}"))), at_most=most)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    scale = 100 if parser.parse_args().small else 1
    warnings.simplefilter("ignore")
    start_up()
    in_memory(10**8 // scale)
    parquet(10**8 // scale)
    grouped(6 * 10**6 // scale, 40_000 // scale)
    many(10**8 // scale, 10**7 // scale, 10**5 // scale)
    beside_peers(10**7 // scale)
    intervals(10**6 // scale)
