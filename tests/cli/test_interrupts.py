"""Ctrl-C is answered in one line and leaves nothing half-written; how soon is measured by bench/robustness/interrupts.py."""

import signal
import sys
from pathlib import Path

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


@pytest.mark.parametrize("name", SOME)
def test_ctrl_c(folder, name):
    before = {p.name for p in folder.iterdir()}
    found = interrupts.stopped(interrupts.COMMANDS[name], folder, 1.0)
    if found is None or found[2] == -signal.SIGINT:
        pytest.skip("it had ended, or Python was on its way out")
    _, _, status, last = found
    assert status == 130
    assert last.endswith("howsure: stopped")
    assert {p.name for p in folder.iterdir()} - before <= {"results", "parts"}  # which a next run goes on with
