"""What goes wrong at scale: bad files, bad rows on executors, killed workers, a full disk. No wrong number is printed."""

import errno
import os
import signal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import howsure
from howsure.engines import shares
from howsure.engines.engine import Engine

N = 3_000


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(33)
    q = rng.random(N)
    frame = pd.DataFrame({"q": q, "y": (rng.random(N) < q).astype(int), "doc": np.arange(N) // 10})
    folder = tmp_path / "rows"
    folder.mkdir()
    for i in range(6):
        pq.write_table(pa.table(frame.iloc[i * 500 : i * 500 + 500]), folder / f"part-{i}.parquet", row_group_size=100)
    return folder


def damage(path, where):
    """Bytes overwritten inside the data, or the end cut off."""
    data = bytearray(path.read_bytes())
    if where == "end":
        path.write_bytes(data[: len(data) // 2])
        return
    start = len(data) // 3
    data[start : start + 400] = bytes(400)
    path.write_bytes(data)


@pytest.mark.parametrize("engine", ["files", "memory", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("where", ["middle", "end"])
@pytest.mark.parametrize("options", [{}, {"groups": "doc"}], ids=["sketch", "groups"])
def test_bad_files_among_many(folder, engine, where, options, request):
    if engine == "spark":
        request.getfixturevalue("spark")
    good = howsure.check(str(folder / "part-[0235].parquet"), **options)
    damage(folder / "part-1.parquet", where)
    damage(folder / "part-4.parquet", where)
    with pytest.raises(
        howsure.InputError, match=r"2 of 6 files cannot be read: .*part-1\.parquet .*part-4\.parquet"
    ) as told:
        howsure.check(folder, engine=engine, **options)
    assert "\n" not in str(told.value)
    assert "`skip_bad_files=True`" in str(told.value)
    made = howsure.check(folder, engine=Engine(engine, skip_bad_files=True), **options)
    assert made.n == good.n == 2000
    assert made.error.low == pytest.approx(good.error.low, rel=1e-12)
    assert any("2 of 6 files could not be read and were left out" in n and "part-4" in n for n in made.notes)


@pytest.mark.parametrize(
    "command",
    [
        ["check", "--prob", "q", "--true", "y"],
        ["compare", "--prob", "q,r", "--true", "y"],
        ["score", "--true", "y", "--pred", "z", "--groups", "doc"],
    ],
    ids=lambda c: c[0],
)
def test_every_command_says_what_it_left_out(folder, tmp_path, command, capsys):
    from howsure.cli import main

    for path in folder.iterdir():
        table = pq.read_table(path).to_pandas()
        pq.write_table(pa.table(table.assign(r=table.q**2, z=(table.q > 0.5).astype(int))), path)
    damage(folder / "part-3.parquet", "middle")
    with pytest.raises(SystemExit) as status:
        main([*command, str(folder)])
    assert status.value.code == 2
    assert "1 of 6 files cannot be read" in capsys.readouterr().err
    page = tmp_path / "page.html"
    with pytest.raises(SystemExit) as status:
        main([*command, str(folder), "--skip-bad-files", "--html", str(page)])
    assert status.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 of 6 files could not be read and were left out" in said
    assert "1 of 6 files could not be read and were left out" in page.read_text()


def test_all_files_bad(folder):
    for path in folder.iterdir():
        damage(path, "middle")
    with pytest.raises(howsure.InputError, match="6 of 6 files cannot be read"):
        howsure.check(folder, engine=Engine("files", skip_bad_files=True))


def test_a_bad_row_is_no_bad_file(folder):
    pq.write_table(pa.table({"q": [1.5], "y": [1], "doc": [0]}), folder / "part-9.parquet")
    for engine in ("files", "memory"):
        with pytest.raises(howsure.InputError, match=r"must lie in \[0, 1\]; got 1.5 in row 3,001"):
            howsure.check(folder, engine=Engine(engine, skip_bad_files=True), groups="doc")


def test_a_bad_row_on_spark(spark, folder):
    pq.write_table(pa.table({"q": [1.5], "y": [1], "doc": [0]}), folder / "part-9.parquet")
    with pytest.raises(howsure.InputError, match=r"^`q` must lie in \[0, 1\]; got 1.5 in a row\."):
        howsure.check(folder, engine="spark")
    pq.write_table(pa.table({"q": ["x"], "y": [1], "doc": [0]}), folder / "text.parquet")
    with pytest.raises(howsure.InputError, match=r"`q` must hold numbers; got 'x'\."):
        howsure.check(folder / "text.parquet", engine="spark")
    (folder / "a.csv").write_text("q,y\n0.5,1\n")
    with pytest.raises(howsure.InputError, match="Spark reads Parquet"):
        howsure.check(folder / "a.csv", engine="spark")


class DiesOnce:
    """Kills the Python that does it, the first time."""

    def __init__(self, work, marker):
        self.work, self.marker = work, marker

    def __call__(self, chunks):
        made = self.work(chunks)
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return made
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def test_a_killed_worker_of_spark_changes_nothing(spark, folder, tmp_path, monkeypatch):
    from howsure.engines.spark.rows import KeyedFrame, SparkRows

    expected = howsure.check(folder, groups="doc")
    markers = []
    for kind in (SparkRows, KeyedFrame):
        whole = kind.fold

        def fold(self, work, whole=whole, kind=kind):
            marker = str(tmp_path / f"{kind.__name__}-{type(work).__name__}-{len(markers)}")
            markers.append(marker)
            return whole(self, DiesOnce(work, marker))

        monkeypatch.setattr(kind, "fold", fold)
    made = howsure.check(folder, groups="doc", engine="spark")
    assert len(markers) >= 3
    assert all(os.path.exists(m) for m in markers)  # each of them was killed once
    assert made.n == expected.n
    assert made.n_groups == expected.n_groups
    assert made.error.high == pytest.approx(expected.error.high, rel=1e-12)


def dies(chunks):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_of_spark_that_always_dies_is_an_error(spark, folder, monkeypatch):
    from howsure.engines.spark.rows import SparkRows

    whole = SparkRows.fold
    monkeypatch.setattr(SparkRows, "fold", lambda self, work: whole(self, dies))
    with pytest.raises(howsure.InputError, match="Spark gave up: a Python worker ended 2 times"):
        howsure.check(folder, engine="spark")


def no_space(path, table):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk(folder, monkeypatch, capsys, tmp_path):
    from howsure.cli import main

    monkeypatch.setattr(Engine, "budget", property(lambda self: 1_000))
    monkeypatch.setattr(shares, "write_run", no_space)
    made = []
    spool = shares.tempfile.TemporaryDirectory
    monkeypatch.setattr(shares.tempfile, "TemporaryDirectory", lambda **k: made.append(spool(**k)) or made[-1])
    with pytest.raises(SystemExit) as status:
        main(["check", str(folder), "--groups", "doc"])
    said = capsys.readouterr()
    assert status.value.code == 2
    assert said.out == ""
    assert "no space is left in the temporary folder" in said.err
    assert "TMPDIR" in said.err
    assert said.err.strip().count("\n") == 0
    assert made
    assert not any(os.path.exists(m.name) for m in made)


def test_apply_on_spark(spark, folder, tmp_path):
    from howsure.verbs.recalibrate import apply_recalibrator

    saved = tmp_path / "cal.json"
    saved.write_text(howsure.recalibrate(folder, method="platt").to_json())
    for out, engine in (("here.parquet", "files"), ("there.parquet", "spark")):
        made = apply_recalibrator(saved, folder, str(tmp_path / out), engine=engine)
        assert (made.n, made.columns) == (N, ("q_recalibrated",))
    here, there = (pq.read_table(tmp_path / f"{x}.parquet").to_pandas() for x in ("here", "there"))
    columns = ["doc", "q", "y", "q_recalibrated"]
    pd.testing.assert_frame_equal(
        *(f[columns].sort_values(columns).reset_index(drop=True) for f in (here, there)),
        check_exact=True,
        check_dtype=False,
    )
    with pytest.raises(howsure.InputError, match="is there already"):
        apply_recalibrator(saved, folder, str(tmp_path / "there.parquet"), engine="spark")
    with pytest.raises(howsure.InputError, match="Spark writes a folder"):
        apply_recalibrator(saved, folder, str(tmp_path / "x.csv"), engine="spark")
    pq.write_table(pa.table({"q": [1.5], "y": [1], "doc": [0]}), folder / "part-9.parquet")
    with pytest.raises(howsure.InputError, match="must lie in"):
        apply_recalibrator(saved, folder, str(tmp_path / "half.parquet"), engine="spark")
    assert not (tmp_path / "half.parquet").exists()
