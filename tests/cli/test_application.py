"""What holds for every command: Ctrl-C is never lost."""

import os
import signal
import subprocess
import sys
import time

import pytest

from howsure.cli.application import run


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemError])
def test_an_interrupt_in_a_destructor_is_not_lost(kind, monkeypatch):
    class Dying:
        def __del__(self):
            raise kind

    def examine(**_):
        thing = Dying()
        del thing
        for _ in range(100):
            time.sleep(0.01)
        return

    seen = []
    monkeypatch.setattr("sys.unraisablehook", lambda ignored: seen.append(ignored.exc_type))
    monkeypatch.setattr("howsure.verbs.doctor.doctor", examine)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if kind is KeyboardInterrupt:
            assert run(["doctor"]) == 130
            assert seen == []
        else:  # anything else is reported as before
            with pytest.raises(AttributeError):
                run(["doctor"])
            assert seen == [SystemError]
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_an_interrupt_leaves_half_made_says_nothing(monkeypatch, capsys):
    """llvmlite's objects, whose destructors ask for what their constructors had not set yet."""

    class HalfMade:
        def __init__(self):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5.0)

        def __del__(self):
            raise AttributeError("never set")

    seen = []
    monkeypatch.setattr("sys.unraisablehook", lambda ignored: seen.append(ignored.exc_type))
    monkeypatch.setattr("howsure.verbs.doctor.doctor", lambda **_: HalfMade())
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run(["doctor"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == []
    assert capsys.readouterr().err == "howsure: stopped\n"


@pytest.mark.parametrize(("said", "status"), [("Query interrupted", 130), ("another fault", None)])
def test_an_interrupt_in_a_query_of_duckdb(said, status, monkeypatch, capsys):
    """DuckDB makes a RuntimeError of a Ctrl-C; any other is a fault."""

    def examine(**_):
        raise RuntimeError(said)

    monkeypatch.setattr("howsure.verbs.doctor.doctor", examine)
    if status is None:
        with pytest.raises(RuntimeError, match=said):
            run(["doctor"])
    else:
        assert run(["doctor"]) == status
        assert capsys.readouterr().err == "howsure: stopped\n"


def test_standard_input_that_is_closed():
    code = "import sys; sys.stdin = None; from howsure.cli.application import run; sys.exit(run(sys.argv[1:]))"
    for command in (["check", "-", "--prob", "p"], ["lm", "train", "-", "-o", "x.npz"], ["parse", "-"]):
        done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (2, "howsure: standard input is closed.\n"), command
