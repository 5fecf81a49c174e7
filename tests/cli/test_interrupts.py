"""Ctrl-C is answered within a second, in one line, and leaves nothing half-written: also while kernels are compiled for the first time."""

import os
import shutil
import signal
import sys
import tempfile
import time
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "robustness"))
import interrupts

SOME = ["check", "count", "classify train", "tagger train", "lm train", "explore"]
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("interrupted")
    interrupts.inputs(made, rows=200_000)
    return made


def stopped(name, folder, monkeypatch, tmp_path, busy, cache=None):
    """Ctrl-C after `busy` seconds of processor time; earlier where the command had ended by then, or Python was on its way out."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for earlier in (1.0, 0.7, 0.5, 0.3, 0.2):
        before = {p.name for p in folder.iterdir()}
        found = interrupts.stopped(interrupts.COMMANDS[name], folder, busy * earlier, cache)
        if found is not None and found[2] != -signal.SIGINT:
            break
        assert cache is None, "kernels are compiled once only"
        shutil.rmtree(folder / "results", ignore_errors=True)
    else:
        pytest.fail("it always ends before it can be stopped: more rows are needed")
    clock, used, status, last = found
    assert status == 130
    assert last.endswith("howsure: stopped")
    assert {p.name for p in folder.iterdir()} - before <= {"results", "parts"}  # which a next run goes on with
    assert not [p for p in tmp_path.iterdir() if p.name != "cache"]
    assert used < 1.0
    if os.getloadavg()[0] < (os.cpu_count() or 1):  # else the clock tells how busy the machine is
        assert clock < 1.0


@pytest.mark.parametrize("name", SOME)
def test_ctrl_c(folder, name, monkeypatch, tmp_path):
    stopped(name, folder, monkeypatch, tmp_path, 0.8)


@pytest.mark.parametrize("moment", [0.2, 0.8, 1.6])
def test_ctrl_c_while_kernels_are_compiled(folder, moment, monkeypatch, tmp_path):
    (tmp_path / "cache").mkdir()
    stopped("lm train", folder, monkeypatch, tmp_path, moment, tmp_path / "cache")


@pytest.fixture
def is_stopped(monkeypatch, capsys):
    """Whether a command, a function here, ends as after Ctrl-C."""
    from howsure.cli import application

    def ask(command):
        def run(*_):
            command()
            for _ in range(1000):
                time.sleep(0.01)
            return 0

        monkeypatch.setattr(application, "application", lambda names: SimpleNamespace(run=run))
        return (application.run(["check"]), capsys.readouterr().err) == (130, "howsure: stopped\n")

    signal.signal(signal.SIGINT, signal.default_int_handler)
    return ask


def test_ctrl_c_that_became_another_error(is_stopped):
    def command():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError from None

    assert is_stopped(command)


def test_ctrl_c_waits_until_an_extension_module_is_imported(is_stopped):
    """DuckDB's aborts where it hears of it."""
    imported = []

    class Loader(ExtensionFileLoader):
        def exec_module(self, module):
            signal.raise_signal(signal.SIGINT)
            imported.append(module)

    assert is_stopped(lambda: Loader("x", "x.so").exec_module("x"))
    assert imported == ["x"]


def test_an_end_that_no_finally_sees_removes_temporary_files(tmp_path):
    from howsure.files import remove_unfinished, whole_file, whole_folder

    def interrupted():
        with (
            tempfile.TemporaryDirectory(dir=tmp_path) as folder,
            whole_file(tmp_path / "a.csv") as file,
            whole_folder(tmp_path / "b") as made,
        ):
            file.write(b"half")
            (made / "c").write_text("half")
            remove_unfinished()
            assert not os.path.exists(folder)
            assert not list(tmp_path.iterdir())

    with pytest.raises(FileNotFoundError):
        interrupted()
