"""A few mutated inputs for every reader; `make fuzz` runs very many. And the harness finds what it looks for."""

import numpy as np
import pytest
from tests.fuzzing import __main__ as fuzzing
from tests.fuzzing.targets import TARGETS, Target, made

FEW = 4
SLOW = ("explore-actors", "explore-table", "coref-model")


@pytest.mark.parametrize("name", [n for n in TARGETS if n not in SLOW])
def test_mutated_inputs(name, tmp_path):
    target = TARGETS[name]
    files = made(target, tmp_path)
    folder = tmp_path / "input"
    folder.mkdir()
    for number in range(1_000_000, 1_000_000 + FEW):  # not those that `make fuzz` begins with
        assert fuzzing.one(target, number, folder, files) is None, number


@pytest.mark.parametrize("name", TARGETS)
def test_the_input_before_mutation_is_valid(name, tmp_path, monkeypatch, capsys):
    said = []
    for change in ("mutated", "mutated_arrays"):
        monkeypatch.setattr(fuzzing, change, lambda content, _: content)
    monkeypatch.setattr(fuzzing, "fault_in", said.append)
    assert fuzzing.one(TARGETS[name], 0, tmp_path, made(TARGETS[name], tmp_path)) is None
    assert "--json" in TARGETS[name].command
    assert len(said) == 1  # exit status 0
    assert said[0].startswith(("{", "["))


def test_mutations_depend_on_their_seed_and_change_something():
    content = b"q,y\n0.5,1\n0.25,0\n" * 5
    several = [fuzzing.mutated(content, np.random.default_rng(i)) for i in range(50)]
    assert several == [fuzzing.mutated(content, np.random.default_rng(i)) for i in range(50)]
    assert sum(m != content for m in several) > 45
    assert len(set(several)) > 45


@pytest.mark.parametrize(
    "said", ['{"a": NaN}', '{"a": [{"p_value": 1.5}]}', '{"ece": {"share": -0.1}}', '{"a": Infinity}', "{", "words"]
)
def test_numbers_that_cannot_be_are_faults(said):
    assert fuzzing.fault_in(said) is not None


def test_plain_results_are_no_faults():
    assert fuzzing.fault_in('{"p_value": 1.0, "share": 0, "statistic": 17.5, "ece": null}') is None


def test_tracebacks_long_complaints_and_control_characters_are_faults(monkeypatch, tmp_path):
    target = Target("x", ["check", "{}/a"], "a")
    for said, status, wanted in (
        ("a\nb\n", 2, "not one line"),
        ("howsure: \x1b[1m\n", 2, "control characters"),
        ("", 3, "status 3"),
    ):

        def run(_, said=said, status=status):
            print(said, end="", file=fuzzing.sys.stderr)
            return status

        monkeypatch.setattr("howsure.cli.application.run", run)
        assert wanted in fuzzing.one(target, 0, tmp_path, {"a": b"1"})
    monkeypatch.setattr("howsure.cli.application.run", lambda _: 1 / 0)
    assert "ZeroDivisionError" in fuzzing.one(target, 0, tmp_path, {"a": b"1"})


def test_a_process_that_dies_and_one_that_hangs(monkeypatch):
    """Both are faults of their input, and the inputs after it are still run."""
    code = (
        "import json, os, sys, time\nfirst, after = map(int, sys.argv[-2:])\n"
        "for i in range(first, after):\n"
        "    print(json.dumps(['begins', i]), flush=True)\n"
        "    os.abort() if i == 1 else time.sleep(60) if i == 3 else None\n"
        "print(json.dumps(['done', after]))\n"
    )
    started = fuzzing.subprocess.Popen
    monkeypatch.setattr(fuzzing.subprocess, "Popen", lambda c, **k: started([c[0], "-c", code, *c[-2:]], **k))
    monkeypatch.setattr(fuzzing, "PATIENCE", 0.05)  # three seconds for what sleeps
    found = fuzzing.watched("any", 0, 6)
    assert [number for number, _, _ in found] == [1, 3]
    assert "ends with -6" in found[0][1]
    assert "hangs" in found[1][1]
