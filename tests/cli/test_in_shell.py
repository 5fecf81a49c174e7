"""Python is told in Python's words and the shell in the shell's: the library writes `prob=`, and one function translates."""

import ast
import re
from pathlib import Path

import pytest

import howsure
from howsure.cli.application import application, run
from howsure.cli.completion import commands
from howsure.cli.delivery import in_shell
from howsure.cli.parser import Family

SOURCE = Path(howsure.__file__).parent
# Texts for the terminal alone, and programs with options of their own.
OF_THE_SHELL = ("cli/", "report/text/", "experiments/", "verbs/doctor.py", "verbs/reproduce.py")
FLAGS = {f for _, at in commands(application()) if not isinstance(at, Family) for p in at.options for f in p.flags}


def texts(path):
    """The strings of a file that are no docstrings, each with its line."""
    text = path.read_text()
    if "--" not in text:  # what is looked for
        return
    tree = ast.parse(text)
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.lineno, node.value


def test_the_library_names_no_flags():
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {text}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.relative_to(SOURCE).as_posix().startswith(OF_THE_SHELL)
        for line, text in texts(path)
        if FLAGS & set(re.findall(r"--[a-z][a-z0-9-]*", text))
    ]
    assert found == []  # write `name=`, or `name='value'`: cli/delivery.py makes --name of it


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ("name it with `prob=`.", "name it with --prob."),
        ("pass `scale='logit'`", "pass --scale logit"),
        ("give `prob='p_*'`", "give --prob 'p_*'"),
        ('`mentions="predicted"`', "--mentions predicted"),
        ("`again=True` does", "--again does"),
        ("`min_count=` is", "--min-count is"),
        ("`master='local[2]'`:", "--master local[2]:"),
        ("`bin_size=200` uses", "--bins 200 uses"),
        ("`rng=` must be", "--seed must be"),
        ("draw with `howsure.to_label`", "draw with `howsure count --to-label`"),
        ("the column `prob` is = `q`", "the column `prob` is = `q`"),
    ],
)
def test_translation(python, shell):
    assert in_shell(python, {"rng": "--seed", "bin_size": "--bins", "prob": "--prob"}) == shell


@pytest.mark.parametrize(
    ("command", "call", "said"),
    [
        ("check t.csv --confidence 2", lambda: howsure.check("t.csv", confidence_level=2.0), "confidence_level"),
        ("check t.csv --seed -1", lambda: howsure.check("t.csv", rng=-1), "rng"),
        ("check t.csv --scale odds", lambda: howsure.check("t.csv", scale="odds"), "scale"),
        ("check u.csv", lambda: howsure.check("u.csv"), "prob"),
        ("compare t.csv", lambda: howsure.compare("t.csv"), "prob='a,b'"),
        ("split t.csv --folds 1", lambda: howsure.split("t.csv", folds=1), "folds"),
        ("lm train t.csv --memory much -o lm.npz", lambda: howsure.lm.train("t.csv", memory="much"), "memory"),
    ],
)
def test_the_same_mistake_in_both(command, call, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 2},0.{i}\n" for i in range(1, 9))
    Path("t.csv").write_text("label,prob\n" + rows)
    Path("u.csv").write_text("a,b\n" + rows)
    with pytest.raises(howsure.InputError) as error:
        call()
    assert f"`{said}" in str(error.value)
    assert "--" not in str(error.value)
    assert run(command.split()) == 2
    line = capsys.readouterr().err
    assert "`=" not in line
    assert "=`" not in line
    assert "--" in line
