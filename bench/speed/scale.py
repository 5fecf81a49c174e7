"""Ten to the eighth rows through memory, files and Spark: the same numbers, times and peak memory side by side.

    python bench/speed/scale.py                    # 10^8 rows; slices, groups; and files from 10^6 to 10^8
    python bench/speed/scale.py --rows 1000000     # a small version
    python bench/speed/scale.py --most 1000000000  # files up to 10^9 rows (10 GB of disk)
    python bench/speed/scale.py --json build/scale.json
    python bench/speed/scale.py --only files --skip engines,explore,linear --json bench/speed/scale.json   # these rows anew, the others stay

Each run is a process of its own; its peak is the largest sum of resident memory over it and its children, sampled.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PART = 1_000_000
DOCUMENT = 10  # rows of a document
LIMIT = "1GB"
MASTER = "local[2]"
EXPLORE = """
import json, sys, time
import howsure
source, out, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
began = time.perf_counter()
engine = howsure.Engine(master=options.pop("master", None))
made = howsure.explore(source, out=out, cache=False, engine=engine, **options)
print(json.dumps({"seconds": time.perf_counter() - began, "documents": made.manifest["n_documents"]}))
"""
RUN = """
import dataclasses, json, sys, time
import howsure
folder, engine, options = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
began = time.perf_counter()
made = howsure.check(folder, engine=howsure.Engine(**engine), **options)
seconds = time.perf_counter() - began
worst = [s.to_dict() for s in made.slices[:20]]
whole = dataclasses.replace(made, slices=()).to_dict() | {"slices": worst}
print(json.dumps({"seconds": seconds, "result": whole, "n_slices": len(made.slices)}))
"""


def write_part(path: Path, number: int, rows: int, n_slices: int) -> None:
    """Overconfident pairs in documents that share a shift; slices at random."""
    rng = np.random.default_rng([7, number])
    documents = np.arange(rows // DOCUMENT) + number * (PART // DOCUMENT)
    z = rng.standard_normal(rows) * 2
    q = 1 / (1 + np.exp(-z))
    p = 1 / (1 + np.exp(-0.8 * z - 0.5 * np.repeat(rng.standard_normal(rows // DOCUMENT), DOCUMENT)))
    table = pa.table(
        {
            "q": q,
            "y": (rng.random(rows) < p).astype(np.uint8),
            "doc": np.repeat(documents, DOCUMENT),
            "slice": rng.integers(0, n_slices, rows, np.int32),
        }
    )
    pq.write_table(table, path, row_group_size=250_000)


def make(folder: Path, rows: int, n_slices: int) -> None:
    """Files of a million rows each, those that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(-(-rows // PART)):
        path = folder / f"part-{i:04d}.parquet"
        if not path.exists():
            new = path.with_name(f".{path.name}")
            write_part(new, i, min(PART, rows - i * PART), n_slices)
            new.rename(path)


def measured(source: str, engine: dict, options: dict) -> dict:
    """Run one check in a process of its own."""
    return watched([RUN, source, json.dumps(engine), json.dumps(options)])


def watched(command: list[str]) -> dict:
    """What a process prints, its time and its peak."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", *command], stdout=subprocess.PIPE, text=True)
    peak = [0, 0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            peak[:] = [max(a, b) for a, b in zip(peak, tree_memory(process.pid), strict=True)]

    watcher = threading.Thread(target=watch)
    watcher.start()
    said, _ = process.communicate()
    done.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"failed: {command[1:]}")
    return json.loads(said) | {"wall": time.perf_counter() - began, "peak": peak[0], "peak_java": peak[1]}


def tree_memory(root: int) -> tuple[int, int]:
    """Resident bytes of a process and all below it, and of Java alone."""
    parents, resident, java = {}, {}, set()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = Path(f"/proc/{entry}/stat").read_text()
            name, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
            parents[int(entry)] = int(rest[1])
            resident[int(entry)] = int(rest[21]) * os.sysconf("SC_PAGE_SIZE")
            if name == "java":
                java.add(int(entry))
        except (OSError, ValueError, IndexError):
            continue
    mine = {root}
    for _ in range(20):
        mine |= {child for child, parent in parents.items() if parent in mine}
    return sum(resident.get(p, 0) for p in mine), sum(resident.get(p, 0) for p in mine & java)


def difference(a: object, b: object) -> float:
    """The largest relative difference of two results' numbers; infinite where they differ otherwise."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return max((difference(a[k], b[k]) for k in a), default=0.0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((difference(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) / max(abs(a), abs(b), 1e-3)
    return 0.0 if a == b else float("inf")


def row(name: str, n: int, made: dict, against: dict | None = None) -> str:
    same = "" if against is None else f"   largest difference {difference(made['result'], against['result']):.1e}"
    error = made["result"]["error"]
    return (
        f"  {name:<26} {made['seconds']:>8.1f} s {n / made['seconds'] / 1e6:>8.2f} M rows/s {made['peak'] / 1e9:>7.2f} GB"
        f"   error {error['value']:.6f} [{error['low']:.6f}, {error['high']:.6f}]{same}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10**8)
    parser.add_argument("--most", type=int, default=None, help="the most rows through files; by default --rows")
    parser.add_argument("--slices", type=int, default=100_000)
    parser.add_argument("--slice-rows", type=int, default=10**7)
    parser.add_argument("--folder", default=None, help="where the rows are kept; by default a temporary folder")
    parser.add_argument("--json", default=None)
    parser.add_argument("--skip", default="", help="parts to leave out: engines, groups, slices, explore, linear")
    parser.add_argument("--only", default="", help="engines whose name begins like this: memory, files, Spark")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given.folder or temporary)
        found = run(given, folder)
    if given.json:
        Path(given.json).parent.mkdir(parents=True, exist_ok=True)
        Path(given.json).write_text(json.dumps(found, indent=1))


def run(given: argparse.Namespace, folder: Path) -> dict:
    n, most = given.rows, given.most or given.rows
    make(folder, max(n, most), given.slices)
    size = sum(p.stat().st_size for p in folder.glob("part-*.parquet")) / max(n, most)
    found: dict = {"cores": len(os.sched_getaffinity(0)), "bytes_per_row": size, "runs": []}
    if given.json and Path(given.json).exists():
        found = json.loads(Path(given.json).read_text()) | {k: found[k] for k in ("cores", "bytes_per_row")}
    print(
        f"{size:.1f} bytes a row in Parquet, {found['cores']} cores; time of check() alone, peak of the process and its children"
    )
    files, spark = {"kind": "files", "memory": LIMIT}, {"kind": "spark", "master": MASTER}
    engines = {"memory": {"kind": "memory"}, f"files, {LIMIT}": files, f"Spark, {MASTER}": spark}
    engines = {name: engine for name, engine in engines.items() if name.startswith(given.only)}

    def record(what: str, name: str, rows: int, made: dict) -> None:
        run = {"what": what, "engine": name, "rows": rows}
        new = run | {k: made[k] for k in ("seconds", "wall", "peak", "peak_java")} | {"error": made["result"]["error"]}
        places = [i for i, old in enumerate(found["runs"]) if run.items() <= old.items()]
        if places:
            found["runs"][places[0]] = new
        else:
            found["runs"].append(new)
        if given.json:
            Path(given.json).write_text(json.dumps(found, indent=1))

    def compare(what: str, rows: int, options: dict, among: dict) -> None:
        print(f"\n{what}, {rows:,} rows", flush=True)
        first = None
        for name, engine in among.items():
            made = measured(source(folder, rows), engine, options)
            print(row(name, rows, made, first), flush=True)
            record(what, name, rows, made)
            first = first or made

    bounded = {k: v for k, v in engines.items() if k != "memory"}
    if "engines" not in given.skip:
        compare("one curve", n, {}, engines)
    if "groups" not in given.skip:
        compare(f"check --groups, {n // DOCUMENT:,} documents", n, {"groups": "doc"}, bounded)
    if "slices" not in given.skip:
        compare(f"check --by, {given.slices:,} slices", min(n, given.slice_rows), {"by": "slice"}, bounded)
    if "explore" not in given.skip and "HOWSURE_DATA" in os.environ:
        found["explore"] = explored(Path(os.environ["HOWSURE_DATA"]) / "muc", folder)
    if "linear" not in given.skip:
        print(f"\ntime against rows, files, {LIMIT}")
        rows = PART
        while rows <= most:
            made = measured(source(folder, rows), files, {})
            print(row(f"{rows:,}", rows, made), flush=True)
            record("linear", f"files, {LIMIT}", rows, made)
            rows *= 10
    return found


def explored(corpus: Path, folder: Path) -> dict:
    """The texts of MUC through processes of this machine and through Spark: the same tables."""
    from howsure.corpora.news import muc_texts

    texts = [t.text for t in muc_texts(corpus)]
    print(f"\nexplore, {len(texts):,} documents of MUC, 400 samples", flush=True)
    made: dict[str, dict] = {}
    first: dict[str, bytes] = {}
    for name, options in (("2 processes", {"jobs": 2}), (f"Spark, {MASTER}", {"master": MASTER})):
        out = folder / f"explore-{len(made)}"
        shutil.rmtree(out, ignore_errors=True)
        made[name] = watched([EXPLORE, str(corpus), str(out), json.dumps(options)])
        files = {p.name: p.read_bytes() for p in sorted(out.glob("*.parquet"))}
        first = first or files
        same = "" if len(made) == 1 else f"   tables {'identical' if files == first else 'DIFFER'}"
        print(f"  {name:<26} {made[name]['seconds']:>8.1f} s {made[name]['peak'] / 1e9:>7.2f} GB{same}", flush=True)
    words = sum(len(t.split()) for t in texts) / len(texts)
    best = min(m["seconds"] for m in made.values())
    return {"documents": len(texts), "words": words, "seconds_per_document": 2 * best / len(texts), "runs": made}


def source(folder: Path, rows: int) -> str:
    """A folder of links to the first files, with this number of rows."""
    links = folder / f"first-{rows}"
    links.mkdir(exist_ok=True)
    for i in range(-(-rows // PART)):
        link = links / f"part-{i:04d}.parquet"
        if not link.exists():
            os.link(folder / f"part-{i:04d}.parquet", link)
    return str(links)


if __name__ == "__main__":
    main()
