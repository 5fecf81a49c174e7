"""Kernels that are compiled on first use."""

import errno
import os
import subprocess
import sys

import numba.core.caching
import pytest

import howsure
from howsure.kernels import compiling


@pytest.mark.parametrize("terminal", [True, False])
def test_that_it_compiles_is_said_on_a_terminal_only(monkeypatch, capsys, terminal):
    """Elsewhere an error would be two lines."""

    class Kernel:
        signatures = ()
        compile = disable_compile = staticmethod(lambda *_: None)

    kernel = Kernel()
    monkeypatch.setitem(compiling.KERNELS, "made up", {kernel: "void()"})
    monkeypatch.setattr(compiling, "is_cached", lambda _: False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    compiling.ready("made up")
    assert ("compiling once" in capsys.readouterr().err) == terminal


def test_a_cache_that_cannot_be_written_stops_nothing(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "save", full)
    monkeypatch.setattr(compiling, "KERNELS", {})
    twice = compiling.kernel("int64(int64)")(lambda x: 2 * x)
    compiling.ready(twice)
    assert twice(3) == 6


def test_where_numba_is_told_not_to_compile_kernels_run_as_they_are_written():
    lines = ["a b c", "a b", "c a b"]
    code = f"import howsure; print(howsure.lm.train({lines}, order=2).model.score('a b c a').hex()); from howsure.kernels.compiling import mix; print(type(mix).__name__)"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [howsure.lm.train(lines, order=2).model.score("a b c a").hex(), "function"]
