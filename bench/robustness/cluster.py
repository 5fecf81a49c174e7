"""A real Spark cluster on loopback, a standalone master and two workers: the numbers of one machine, with an executor and a worker killed in mid-job.

python bench/robustness/cluster.py [ROWS] [COMMAND ...]      (needs Java; 1,000,000 rows and all five commands by default)

Each command runs on the files of this machine, then on the cluster. As soon as Python works on an executor, one executor is killed (-9), then the other worker
with all its processes; the cluster goes on with what is left, and all numbers of `--json` must agree to 1e-12. The worker is started again for the next command.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from howsure.cli.application import run

HOST = "127.0.0.1"
HOWSURE = [sys.executable, "-c", "from howsure.cli import main; main()"]
# Little is run often, and the start of its JVMs is most of the work: classes of Spark's own jars are not verified.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -XX:MetaspaceSize=200m"
CONF = {
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.ui.enabled": "false",
    "spark.executor.memory": "700m",
    "spark.executor.extraJavaOptions": QUICK,
    # Nor is Java written and compiled for each query.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

COMMANDS = {
    "check": "check {}/t --prob q --true y --groups doc --by tag --json",
    "compare": "compare {}/t --true y --prob q,r --groups doc --json",
    "score": "score {}/t --true gold --pred pred --groups doc --json",
    "count": "count {}/t --prob q --true label --design random --date day --every month --json",
    "explore": "explore {}/stories.csv --text text --date date --actors {}/actors.csv --json --out {}/results-WHERE",
}


def tables(folder, rows, seed=0, parts=16):
    """Parquet files and stories for the commands."""
    rng = np.random.default_rng(seed)
    (folder / "t").mkdir()
    for part in range(parts):
        n = rows // parts
        q = rng.random(n)
        y = (rng.random(n) < q**1.2).astype(np.int8)
        gold = rng.integers(0, 4, n)
        table = {
            "doc": [f"d{part}-{i // 40}" for i in range(n)],
            "tag": np.array(["NN", "VB", "JJ", "DT"])[rng.integers(0, 4, n)],
            "day": np.array([f"2024-{m:02d}-05" for m in range(1, 13)])[rng.integers(0, 12, n)],
            "q": q,
            "r": np.clip(q + rng.normal(0, 0.1, n), 0, 1),
            "y": y,
            "label": pa.array(y, mask=rng.random(n) > 0.002),
            "gold": np.array(list("abcd"))[gold],
            "pred": np.array(list("abcd"))[np.where(rng.random(n) < 0.8, gold, rng.integers(0, 4, n))],
        }
        pq.write_table(pa.table(table), folder / "t" / f"part-{part:02d}.parquet", row_group_size=max(n // 4, 1))
    names = ["Kestia", "Valdoria", "Zandar"]
    lines = [
        f's{i},2024-{1 + i % 9:02d}-11,"{names[i % 3]} attacked {names[(i + 1) % 3]} on day {i}. Its army fled."'
        for i in range(320)
    ]
    (folder / "stories.csv").write_text("id,date,text\n" + "\n".join(lines) + "\n")
    (folder / "actors.csv").write_text("code,name,words\nKES,Kestia,Kestia\nVAL,Valdoria,Valdoria\nZAN,Zandar,Zandar\n")


def environment(folder):
    import pyspark

    set_ = " ".join(f'--conf "{k}={v}"' for k, v in CONF.items())
    return {
        **os.environ,
        "SPARK_HOME": os.path.dirname(pyspark.__file__),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYSPARK_SUBMIT_ARGS": f'{set_} --driver-java-options "{QUICK}" pyspark-shell',
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "SPARK_LAUNCHER_OPTS": QUICK,
        "OMP_NUM_THREADS": "1",
    }


class Cluster:
    """A master and two workers, each a process group of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = environment(folder)
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port = free.getsockname()[1]
        self.address = f"spark://{HOST}:{self.port}"
        self.master = self._start("master.Master", "--port", str(self.port))
        self._reachable()
        self.workers = [self.worker(), self.worker()]

    def _start(self, kind, *options):
        command = [f"{self.environment['SPARK_HOME']}/bin/spark-class", f"org.apache.spark.deploy.{kind}"]
        with open(self.folder / f"{kind}-{time.monotonic_ns()}.log", "wb") as log:
            return subprocess.Popen(
                [*command, "--host", HOST, "--webui-port", "0", *options],
                env=self.environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _reachable(self):
        for _ in range(300):
            try:
                socket.create_connection((HOST, self.port), 1).close()
                return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("the master does not answer")

    def worker(self):
        work = self.folder / f"work-{time.monotonic_ns()}"
        return self._start("worker.Worker", "--cores", "1", "--memory", "1g", "-d", str(work), self.address)

    def stop(self):
        for process in (*self.workers, self.master):
            killed(process.pid)
            process.wait()


@contextmanager
def cluster():
    """A cluster that is gone at the end."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        made = Cluster(Path(folder))
        try:
            yield made
        finally:
            made.stop()


def children():
    """Process -> the processes that it started, of this machine; and the command line of each."""
    under, said = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            said[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, ValueError, IndexError):
            continue
        under.setdefault(parent, []).append(int(path.name))
    return under, said


def below(pid, known=None):
    """A process and all that it started, with their command lines."""
    under, said = known or children()
    waiting, found = [pid], {}
    while waiting:
        one = waiting.pop()
        found[one] = said.get(one, "")
        waiting += under.get(one, [])
    return found


def killed(pid):
    """kill -9 to a process and all that it started."""
    for one in below(pid):
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


def executors(worker):
    """Executors of a worker on which Python is at work."""
    known = children()
    backends = [p for p, said in below(worker.pid, known).items() if "CoarseGrainedExecutorBackend" in said]
    daemon = CONF.get("spark.python.daemon.module", "pyspark.daemon")
    return [p for p in backends if any(daemon in said for said in below(p, known).values())]


class Trouble(threading.Thread):
    """Waits until executors work, then kills an executor, and a worker with all that it started."""

    def __init__(self, made):
        super().__init__(daemon=True)
        self.made, self.done, self.ended = made, [], threading.Event()

    def run(self):
        while not self.ended.is_set():
            busy = [(w, e) for w in self.made.workers for e in executors(w)]
            if busy:
                worker, executor = busy[0]
                killed(executor)
                self.done.append("executor")
                if not self.ended.wait(0.5):
                    other = next(w for w in self.made.workers if w is not worker)
                    killed(other.pid)
                    other.wait()
                    self.done.append("worker")
                    self.made.workers.remove(other)
                return
            self.ended.wait(0.5)  # reading /proc takes time from the cluster


def said_here(command):
    """The same on the files of this machine, in this process."""
    with redirect_stdout(StringIO()) as text:
        assert run(command.split()) == 0, command
    return json.loads(text.getvalue())


def said(command, env, *more):
    result = subprocess.run([*HOWSURE, *command.split(), *more], env=env, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-2000:]
    return json.loads(result.stdout)


def largest_difference(a, b, path=""):
    """Between all numbers of two results, relative to 1 or to their size; all else must be equal."""
    if isinstance(a, dict):
        assert a.keys() == b.keys(), (path, a.keys() ^ b.keys())
        return max(
            (largest_difference(a[k], b[k], f"{path}.{k}") for k in a if k not in ("folder", "engine")), default=0.0
        )
    if isinstance(a, list):
        assert len(a) == len(b), path
        return max((largest_difference(x, y, path) for x, y in zip(a, b, strict=True)), default=0.0)
    if isinstance(a, float) or isinstance(b, float):
        return abs(a - b) / max(1.0, abs(a), abs(b))
    assert a == b, (path, a, b)
    return 0.0


def trial(made, name, folder):
    """The largest difference of a command's numbers, what was killed, and the seconds that the cluster took."""
    command = COMMANDS[name].replace("{}", str(folder))
    made.workers += [made.worker() for _ in range(2 - len(made.workers))]  # one for that which was killed
    wanted = said_here(command.replace("WHERE", "here"))
    trouble = Trouble(made)
    trouble.start()
    begun = time.monotonic()
    found = said(command.replace("WHERE", "there"), made.environment, "--master", made.address)
    seconds = time.monotonic() - begun
    trouble.ended.set()
    trouble.join()
    return largest_difference(wanted, found), trouble.done, seconds


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    names = sys.argv[2:] or list(COMMANDS)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, cluster() as made:
        folder = Path(scratch)
        tables(folder, rows)
        print("| command | killed in mid-job | largest difference | seconds on the cluster |\n|---|---|---|---|")
        for name in names:
            difference, done, seconds = trial(made, name, folder)
            print(f"| `{name}` | {', '.join(done) or 'nothing'} | {difference:.1e} | {seconds:.0f} |", flush=True)
            assert difference <= 1e-12, name


if __name__ == "__main__":
    main()
