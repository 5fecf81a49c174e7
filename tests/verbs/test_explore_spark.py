"""`howsure explore --engine spark`: the same bytes as without, whatever becomes of workers, blocks and disks."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import howsure
from howsure.cli.application import run
from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.events.storage import SCHEMAS
from howsure.exploring import spark as explore_spark

TABLES = [*(f"{t}.parquet" for t in SCHEMAS), "manifest.json"]
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java")
OPTIONS = {"actors": "stories", "coref": "simple"}


def contents(folder):
    return {name: (folder / name).read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def whole(many_stories, tmp_path_factory):
    """What the many stories give in this process."""
    folder = tmp_path_factory.mktemp("whole") / "r"
    howsure.explore(many_stories, out=folder, jobs=1, **OPTIONS)
    return contents(folder)


@pytest.fixture
def tasks_that(monkeypatch):
    """Puts `before(name)` before a block's work on the executors, or another task in the place of a task."""

    real = explore_spark.map_in_arrow

    def put(before=None, instead=None):
        def mapped(frame, task, schema):
            task = instead(task) if instead else task

            def with_that(batches):
                for batch in batches:
                    if before:
                        for name in batch.column(0).to_pylist():
                            before(name)
                    yield from task(iter([batch]))

            return real(frame, with_that, schema)

        monkeypatch.setattr(explore_spark, "map_in_arrow", mapped)

    return put


def test_the_stories_that_ship_give_the_same_bytes(spark, tmp_path):
    howsure.explore(out=tmp_path / "memory", jobs=1)
    made = howsure.explore(out=tmp_path / "spark", engine="spark")
    assert contents(tmp_path / "spark") == contents(tmp_path / "memory")
    assert made.timing["resolving"] > 0


def test_raw_text_parsed_on_the_executors_gives_the_same_bytes(spark, tmp_path):
    who = ["Iraq", "Iran", "The French army", "Peru", "Turkish planes"]
    rows = [
        {
            "id": f"d{i}",
            "date": f"1999-{i % 12 + 1:02d}-{i % 28 + 1:02d}" if i % 9 else "soon",
            "text": f"{who[i % 5]} attacked the town. Later they attacked {who[(i + 2) % 5]} again."
            if i % 11
            else None,
        }
        for i in range(70)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "wire.parquet")
    howsure.explore(tmp_path / "wire.parquet", out=tmp_path / "memory", jobs=1, cache=False)
    made = howsure.explore(
        tmp_path / "wire.parquet", out=tmp_path / "spark", engine=howsure.Engine("spark", "local[2]"), cache=False
    )
    assert contents(tmp_path / "spark") == contents(tmp_path / "memory")
    assert made.manifest["n_failed"] == 7
    assert made.timing["parsing"] > 0


def test_a_table_that_spark_reads_gives_the_same_rows_ordered_by_id(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(explore_spark, "PREFETCH", 7)
    rows = [
        {"Doc ID": f"d{i * 37 % 70:02d}", "day": "1999-05-01", "body": None if i % 5 else "Bad", "n": i}
        for i in range(70)
    ]
    (tmp_path / "wire").mkdir()
    for k in range(3):
        pq.write_table(pa.Table.from_pylist(rows[k::3]), tmp_path / "wire" / f"{k}.parquet")
    pq.write_table(pa.Table.from_pylist(sorted(rows, key=lambda r: r["Doc ID"])), tmp_path / "wire.parquet")
    columns = {"id": "doc id", "where": "n < 60", "coref": "simple", "cache": False}
    howsure.explore(tmp_path / "wire.parquet", out=tmp_path / "memory", jobs=1, **columns)
    howsure.explore((tmp_path / "wire").as_uri(), out=tmp_path / "spark", engine="spark", **columns)
    assert contents(tmp_path / "spark") == contents(tmp_path / "memory")


def test_a_table_that_spark_cannot_read_is_told(spark, tmp_path):
    pq.write_table(pa.table({"text": ["a"], "date": ["1999-01-01"], "key": ["k"]}), tmp_path / "a.parquet")
    address = (tmp_path / "a.parquet").as_uri()
    for source, options, said in [
        (address, {}, "documents that Spark reads need ids"),
        (address, {"text": "txt"}, "has no column `txt`. Did you mean `text`?"),
        (address, {"id": "key", "where": "texx = 1"}, "texx"),
        (address, {"id": "key", "where": "reflect('java.lang.System', 'getenv', 'HOME') = 'a'"}, "reflect"),
        (address, {"id": "key", "where": "text IN (SELECT value FROM text.`/etc/passwd`)"}, "`where=` must be"),
        (address, {"id": "key", "where": "EXISTS (SELECT 1)"}, "without a query"),
        (address, {"id": "key", "metadata": "m.csv"}, "`metadata=` goes with a folder of text files"),
        (address, {"id": "key", "format": "muc"}, "Spark reads tables"),
        ((tmp_path / "no").as_uri(), {}, "PATH_NOT_FOUND"),
    ]:
        with pytest.raises(InputError, match=re.escape(said)) as caught:
            howsure.explore(source, engine="spark", out=tmp_path / "r", **options)
        assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(InputError, match=r"an address, which Spark alone reads: add `engine='spark'`"):
        howsure.explore("s3a://bucket/wire.parquet", out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_worker_killed_in_the_middle_changes_nothing(spark, many_stories, whole, tmp_path, tasks_that):
    marker = tmp_path / "killed"

    def once(name):
        if name.startswith("000005-") and not marker.exists():
            marker.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)

    tasks_that(once)
    howsure.explore(many_stories, out=tmp_path / "r", engine="spark", **OPTIONS)
    assert int(marker.read_text()) != os.getpid()
    assert contents(tmp_path / "r") == whole


def test_a_block_that_always_fails_is_one_line_and_the_run_goes_on_elsewhere(
    spark, many_stories, whole, tmp_path, tasks_that, capfd
):
    def always(name):
        if name.startswith("000008-"):
            raise RuntimeError("no\nluck")

    tasks_that(always)
    command = ["explore", str(many_stories), "--actors", "stories", "--coref", "simple", "--out", str(tmp_path / "r")]
    assert run([*command, "--engine", "spark", "--master", "local[2]"]) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err == "howsure: a task failed on Spark: RuntimeError: no luck.\n"
    assert sorted(p.name for p in (tmp_path / "r").iterdir()) == ["manifest.json", "parts"]
    kept = {p.name[:6] for p in (tmp_path / "r" / "parts").iterdir()}
    assert {f"{i:06d}" for i in range(4)} <= kept <= {f"{i:06d}" for i in range(12) if i != 8}
    made = howsure.explore(many_stories, out=tmp_path / "r", jobs=1, **OPTIONS)
    assert made.timing["documents"] == 360 - sum(8 if k == "000011" else 32 for k in kept)
    assert contents(tmp_path / "r") == whole


def test_executors_with_other_code_or_models_are_refused(spark, many_stories, tmp_path, tasks_that):
    tasks_that(instead=lambda task: replace(task, version="0.0.0"))
    with pytest.raises(InputError, match=r"an executor of Spark has another howsure \(.*, not 0\.0\.0\)"):
        howsure.explore(many_stories, out=tmp_path / "r", engine="spark", **OPTIONS)
    tasks_that(instead=lambda task: replace(task, version=howsure.__version__, coref="other"))
    with pytest.raises(InputError, match=r"another `coref=` \(simple, not other\)"):
        howsure.explore(many_stories, out=tmp_path / "r", engine="spark", **OPTIONS)


def test_a_full_disk_says_so_and_leaves_nothing_half_written(spark, many_stories, whole, tmp_path, monkeypatch):
    from howsure.events.storage import Path

    real, calls = Path.write_bytes, []

    def full(path, content):
        if path.parent.name.endswith(".part"):
            calls.append(path)
            if len(calls) > 10:
                real(path, content[:10])
                raise OSError(28, "No space left on device")
        return real(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(InputError, match=r"No space left on device\. What is done so far is kept"):
            howsure.explore(many_stories, out=tmp_path / "r", engine="spark", **OPTIONS)
    kept = list((tmp_path / "r" / "parts").iterdir())
    assert len(kept) in (1, 2)  # ten files, written by as many as three threads
    assert all(sorted(f.stem for f in p.iterdir()) == sorted(SCHEMAS) for p in kept)
    howsure.explore(many_stories, out=tmp_path / "r", engine="spark", **OPTIONS)
    assert contents(tmp_path / "r") == whole


def test_ctrl_c_cancels_the_jobs_and_the_run_goes_on_later(spark, many_stories, whole, tmp_path, tasks_that, capfd):
    def slow(name):
        time.sleep(100 if name.startswith("000007-") else 0)

    tasks_that(slow)
    parts = tmp_path / "r" / "parts"

    pressed = []

    def press():
        while not parts.is_dir() or len(list(parts.iterdir())) < 4:
            time.sleep(0.02)
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    pressing = threading.Thread(target=press, daemon=True)
    pressing.start()
    command = ["explore", str(many_stories), "--actors", "stories", "--coref", "simple", "--out", str(tmp_path / "r")]
    try:
        assert run([*command, "--engine", "spark"]) == 130
        assert time.monotonic() - pressed[0] < 50
    finally:
        signal.signal(signal.SIGINT, before)
    assert capfd.readouterr().err == "howsure: stopped\n"
    tracker, ended = spark.sparkContext.statusTracker(), time.monotonic()
    while (
        tracker.getActiveJobsIds() and time.monotonic() - ended < 10
    ):  # it hears of the end of a job later; the job sleeps 100 s
        time.sleep(0.05)
    assert tracker.getActiveJobsIds() == []
    howsure.explore(many_stories, out=tmp_path / "r", jobs=1, **OPTIONS)
    assert contents(tmp_path / "r") == whole


def test_a_session_of_its_own_says_nothing_on_the_terminal(spark, tmp_path):
    command = [sys.executable, "-m", "howsure", "explore", "--coref", "simple", "--out", str(tmp_path / "r")]
    done = subprocess.run([*command, "--engine", "spark", "--master", "local[1]"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert Exploration.open(tmp_path / "r").manifest["n_documents"] == 60


@needs_java
def test_finished_results_need_no_session(tmp_path, monkeypatch):
    pytest.importorskip("pyspark")
    howsure.explore(coref="simple", out=tmp_path / "r", jobs=1)
    monkeypatch.setattr(explore_spark, "session", lambda master: pytest.fail("a session was started"))
    howsure.explore(coref="simple", out=tmp_path / "r", engine="spark", every="month")


@needs_java
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "sparc"], "no engine 'sparc'. Did you mean `spark`?"),
        (["--engine", "files", "--master", "yarn"], "--master goes with --engine spark"),
        (["--engine", "spark", "--jobs", "2"], "--jobs is for the processes of this machine"),
        (["--engine", "spark", "--master", "locl"], "--master must be local[2], local[*]"),
    ],
)
def test_mistakes_are_one_clear_line(options, said, capsys, tmp_path):
    pytest.importorskip("pyspark")
    assert run(["explore", "--out", str(tmp_path / "r"), *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
