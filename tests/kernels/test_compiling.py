"""Kernels that are compiled on first use."""

import sys

import pytest

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
