"""Files and folders appear whole or not at all; what killed runs left is removed, what others write is not."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import howsure
from howsure import InputError, files
from howsure.files import only_run

WRITER = """
import sys, time
from howsure.files import whole_files, whole_folder
kind, target = sys.argv[1:]
with (whole_files([target]) if kind == "file" else whole_folder(target)) as made:
    print("ready", flush=True)
    sys.stdin.read()
"""


def writer(kind, target):
    source = str(Path(files.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, kind, str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": source},
    )
    assert process.stdout.readline() == b"ready\n"
    return process


def fill(names):
    for name in names:
        Path(name).write_text("new")


def test_all_files_or_none(tmp_path):
    targets = [tmp_path / "a", tmp_path / "b"]
    targets[0].write_text("old")
    with pytest.raises(FileNotFoundError), files.whole_files(targets) as names:
        fill([*names, tmp_path / "no" / "folder"])
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert targets[0].read_text() == "old"
    with files.whole_files(targets) as names:
        fill(names)
        assert targets[0].read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]
    assert [p.read_text() for p in targets] == ["new", "new"]


def test_files_are_flushed_before_they_are_renamed_and_their_folder_after(tmp_path, monkeypatch):
    seen = []
    fsync, replace = os.fsync, os.replace

    def flushed(handle):
        seen.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def renamed(*names):
        seen.append("rename")
        replace(*names)

    monkeypatch.setattr(files.os, "fsync", flushed)
    monkeypatch.setattr(files.os, "replace", renamed)
    files.write_whole(tmp_path / "a", b"x")
    assert seen == ["file", "rename", "folder"]
    seen.clear()
    with files.whole_folder(tmp_path / "b") as made:
        (made / "c").write_text("x")
    assert seen == ["file", "folder", "rename", "folder"]
    seen.clear()
    with files.whole_file(tmp_path / "d", durable=False) as file:
        file.write(b"x")
    assert seen == ["rename"]


def test_rights_are_those_of_new_files_and_links_are_followed(tmp_path):
    (tmp_path / "plain").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    files.write_whole(tmp_path / "link", b"y")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"y"
    assert (tmp_path / "target").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_appears_when_it_is_full(tmp_path):
    target = tmp_path / "f"
    with pytest.raises(FileNotFoundError), files.whole_folder(target) as made:
        fill([made / "a", made / "no" / "folder"])
    assert not list(tmp_path.iterdir())
    with files.whole_folder(target) as made:
        (made / "a").write_text("x")
        assert not target.exists()
    assert [p.name for p in target.iterdir()] == ["a"]
    with pytest.raises(OSError, match="not empty"), files.whole_folder(target) as made:
        (made / "b").write_text("x")
    assert [p.name for p in tmp_path.iterdir()] == ["f"]
    assert [p.name for p in target.iterdir()] == ["a"]


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_pieces_beside_a_dead_writers_file_are_removed_too(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    for name in (".out.csv.abcd1234.part", ".out.csv.abcd1234.part.part", ".b.csv.abcd1234.part.part"):
        (tmp_path / name).write_text("half")
    with open(tmp_path / ".c.csv.abcd1234.part", "w") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        (tmp_path / ".c.csv.abcd1234.part.part").write_text("of a writer that is alive")
        files.remove_leftovers(tmp_path, "out.csv")
        assert not list(tmp_path.glob(".out.csv*"))
        files.remove_leftovers(tmp_path)
        assert sorted(p.name for p in tmp_path.iterdir()) == [".c.csv.abcd1234.part", ".c.csv.abcd1234.part.part"]


def test_links_in_a_circle(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match="its links lead in a circle"):
        files.check_outputs(str(tmp_path / "a"))
    with pytest.raises(InputError, match="there is no folder"):
        files.check_outputs(str(tmp_path / "a" / "x.html"))


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_leftovers_of_a_killed_run_are_removed_and_those_of_a_live_one_are_not(tmp_path, kind):
    target = tmp_path / "a.csv"
    process = writer(kind, target)
    [left] = tmp_path.iterdir()
    other = tmp_path / ".a.csv.notours.part"
    other.write_text("x")
    files.remove_leftovers(tmp_path)
    assert left.exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert left.exists()
    files.remove_leftovers(tmp_path, "b.csv")
    assert left.exists()
    if kind == "file":
        files.write_whole(target, b"whole")
        assert target.read_bytes() == b"whole"
    else:
        files.remove_leftovers(tmp_path)
    assert not left.exists()
    assert other.exists()
    process.stdin.close()
    process.stdout.close()


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot write .*no/a: No such file"):
        files.write_whole(tmp_path / "no" / "a", b"x")


def test_one_run_at_a_time_in_a_folder(tmp_path):
    with (
        only_run(tmp_path),
        pytest.raises(InputError, match=r"another run is writing to .*: wait for it"),
        only_run(tmp_path),
    ):
        pass
    with only_run(tmp_path):
        pass


def test_explore_keeps_out_of_a_folder_that_another_run_writes_to(tmp_path):
    with only_run(tmp_path), pytest.raises(InputError, match="another run is writing"):
        howsure.explore(out=tmp_path, coref="none")


@pytest.mark.parametrize(
    ("command", "content"),
    [
        (["check"], b"label,prob\n1,0.5\n0,\x00\n"),
        (["lm", "train", "-o", "lm.npz", "--order", "1"], b"the dog\x00 sleeps\n"),
        (["tagger", "train", "hmm", "-o", "hmm.npz"], b"the\tDT\nd\x00g\tNN\n\n"),
        (["parse"], b"The dog\x00 sleeps.\n"),
    ],
)
def test_nul_bytes_are_one_line(command, content, tmp_path, monkeypatch, capsys):
    from howsure.cli.application import run

    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_bytes(content)
    assert run([*command, "in.txt"]) == 2
    said = capsys.readouterr().err
    assert "binary data" in said
    assert said.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["in.txt"]
