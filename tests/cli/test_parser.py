"""How the shell reads arguments, and what --help says."""

import subprocess
import sys

import pytest

from howsure.cli.application import application, run
from howsure.cli.parser import argument, command, option, read
from howsure.errors import InputError

PARAMETERS = (
    argument("model", "A model."),
    argument("files", "Tables.", many=True),
    option("where", "A condition."),
    option("out", "A file.", None, "--out -o", required=True),
    option("n", "How many.", 40, "-n"),
    option("beta", "A weight.", 1.0),
    option("spans", "Spans.", False),
    option("cache", "Keep it.", True),
)


def values(line):
    return read(PARAMETERS, line.split())[0]


def test_arguments_and_options_in_any_order():
    found = values("--spans m.npz -o out a.csv --where x>1 b.csv -n 3 -")
    assert found == {
        "model": "m.npz",
        "files": ["a.csv", "b.csv", "-"],
        "where": "x>1",
        "out": "out",
        "n": 3,
        "beta": 1.0,
        "spans": True,
        "cache": True,
    }


def test_ways_to_give_a_value():
    assert values("m a --out=x=y --beta=-2.5 -n7") == values("m a -ox=y --beta -2.5 -n 7")
    assert values("m a -o x --where -1")["where"] == "-1"
    assert values("m a -o x --no-cache")["cache"] is False


def test_the_last_of_repeated_options_counts():
    assert values("m a -o x --out y --beta 2 --beta 3") == values("m a -o y --beta 3")


def test_after_two_dashes_all_are_arguments():
    assert values("-o x -- --model --spans -h")["files"] == ["--spans", "-h"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("m a -o x --whree 1", "No such option: --whree. Did you mean --where?"),
        ("m a -o x -z", "No such option: -z."),
        ("m a --where", "--where needs a value."),
        ("m a -o x --spans=yes", "--spans takes no value; got 'yes'."),
        ("m a -o x -n 2.5", "-n must be a whole number; got '2.5'."),
        ("m a -o x --beta much", "--beta must be a number; got 'much'."),
        ("m a", "Missing option --out or -o."),
        ("m -o x", "Missing argument FILES."),
    ],
)
def test_what_is_wrong_is_said(line, message):
    with pytest.raises(InputError) as error:
        values(line)
    assert str(error.value) == message
    with pytest.raises(InputError, match="Unexpected argument 'b'"):
        read(PARAMETERS[:1], ["a", "b"])


def commands(family, path=()):
    for name, inner in family.commands.items():
        yield (*path, name), inner
        yield from commands(inner, (*path, name)) if hasattr(inner, "commands") else ()


ALL = dict(commands(application()))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_fits_and_names_everything(path, capsys):
    assert run([*path, "-h"]) == 0
    said = capsys.readouterr().out
    assert run([*path, "--help"]) == 0
    assert capsys.readouterr().out == said
    assert said.startswith(f"Usage: howsure {' '.join(path)} ")
    for p in getattr(ALL[path], "parameters", ()):
        assert f"  {p.term}" in said
    examples = getattr(ALL[path], "examples", ())
    assert examples or not hasattr(ALL[path], "parameters")
    lines = [line for line in said.splitlines() if line.strip() not in examples]
    assert max(map(len, lines)) <= 80


def test_defaults_are_shown():
    made = command(*PARAMETERS)(lambda deliver, **given: 0)
    said = " ".join(made.help("x").split())
    assert "--beta NUMBER A weight. [default: 1.0]" in said
    assert "-o, --out TEXT A file. [required]" in said


def test_nothing_heavy_is_loaded_for_help():
    code = (
        "import sys; from howsure.cli.application import run; run(['--help']); "
        "assert not {'numpy', 'rich', 'duckdb', 'pydantic', 'typer'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
