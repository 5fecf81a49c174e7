"""`howsure reproduce` as typed in a shell."""

import io
import json
import os
import re
import shutil
import sys

import pytest
import rich.progress

from howsure.cli.application import run
from howsure.experiments.registry import EXPERIMENTS
from howsure.verbs import reproduce

INDEX = {"index.md", "index.html"}
QUICK = ["reproduce", "synthetic", "--quick"]


def test_list(capsys):
    assert run(["reproduce", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in EXPERIMENTS)
    assert max(map(len, out.splitlines())) <= 80
    assert run(["reproduce", "--list", "--json"]) == 0
    assert [e["name"] for e in json.loads(capsys.readouterr().out)] == list(EXPERIMENTS)


def test_files_cache_and_again(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert run([*QUICK, "--out", str(out)]) == 0
    first, err = capsys.readouterr()
    assert err == ""
    assert "CONFIRMED: As we double the bin size" in first
    assert max(map(len, (line for line in first.splitlines() if not line.startswith("Written")))) <= 80
    names = {p.name for p in out.iterdir()}
    assert names == {f"synthetic-4.{i}.svg" for i in range(7, 12)} | {"synthetic.md", "synthetic.json"} | INDEX

    kept = out / "synthetic.json"
    stamp = kept.stat().st_mtime_ns
    (out / "synthetic-4.7.svg").unlink()
    assert run([*QUICK, "--out", str(out)]) == 0
    second, err = capsys.readouterr()
    assert second == first
    assert err == f"howsure: synthetic was done before, in {out}; --again computes it again.\n"
    assert kept.stat().st_mtime_ns == stamp
    assert (out / "synthetic-4.7.svg").exists()

    assert run([*QUICK, "--out", str(out), "--again"]) == 0
    assert capsys.readouterr() == (first, "")
    assert kept.stat().st_mtime_ns > stamp


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done")
    assert run([*QUICK, "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def no_pictures(monkeypatch):
    """They take half of the time."""
    monkeypatch.setattr(reproduce, "rendered", lambda *_: b"<svg/>")


@pytest.mark.parametrize("change", ["seed", "version", "damage"])
def test_another_result_is_not_used(done, tmp_path, capsys, change, no_pictures):
    shutil.copytree(done, tmp_path, dirs_exist_ok=True)
    kept = tmp_path / "synthetic.json"
    data = json.loads(kept.read_text())
    if change == "version":
        kept.write_text(json.dumps({**data, "version": "0.0.0"}))
    elif change == "damage":
        kept.write_text(kept.read_text()[:-9])
    assert run([*QUICK, "--out", str(tmp_path), "--seed", "5" if change == "seed" else "0"]) == 0
    assert capsys.readouterr().err == ""
    assert json.loads(kept.read_text())["settings"]["rng"] == (5 if change == "seed" else 0)


def test_json(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("HOWSURE_DATA", raising=False)
    assert run(["reproduce", "all", "--quick", "--json", "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    made = json.loads(out)
    without = [name for name, e in EXPERIMENTS.items() if e.data is None]
    assert list(made) == [name for name in EXPERIMENTS if name not in without]
    assert [line.split()[2] for line in err.splitlines() if line.startswith("howsure: skipped: ")] == without
    assert {f["verdict"] for f in made["synthetic"]["findings"]} <= {"confirmed", "corrected", "extended"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce"], "name an experiment"),
        (["reproduce", "sinthetic"], "there is no experiment 'sinthetic'. Did you mean `synthetic`?"),
        (["reproduce", "synthetic", "nothing"], "there is no experiment 'nothing'"),
        ([*QUICK, "--out", "FILE"], "it is not a folder"),
        ([*QUICK, "--out", "FILE/inside"], "cannot write to"),
        ([*QUICK, "--agian"], "No such option"),
    ],
)
def test_bad_input_is_one_line_and_status_2(tmp_path, arguments, message, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text("mine")
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("howsure: ")
    assert message in err
    assert [p.name for p in tmp_path.iterdir()] == ["FILE"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_read_only_folder(tmp_path, capsys):
    tmp_path.chmod(0o500)
    assert run([*QUICK, "--out", str(tmp_path)]) == 2
    assert "read-only" in capsys.readouterr().err


def test_progress_is_for_terminals(tmp_path, capsys, monkeypatch, no_pictures):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    class Eager(rich.progress.Progress):
        def update(self, *given, **changed):  # each step is shown, however soon the next one comes
            super().update(*given, refresh=True, **changed)

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(rich.progress, "Progress", Eager)
    assert run([*QUICK, "--out", str(tmp_path)]) == 0
    shown = terminal.getvalue()
    assert re.search(r"synthetic: (bin|sample) sizes, Beta\(0\.\d, 0\.\d\)", shown)
    assert shown.endswith("\x1b[2K")  # nothing of it stays


def test_no_progress_where_stderr_is_closed(tmp_path, monkeypatch, no_pictures):
    monkeypatch.setattr(sys, "stderr", None)
    assert run([*QUICK, "--out", str(tmp_path)]) == 0
