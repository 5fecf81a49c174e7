"""How the shell reads arguments, and what --help says."""

import os
import re
import subprocess
import sys

import pytest

from howsure import cli
from howsure.cli.application import COMMANDS, WORDS, application, run
from howsure.cli.parser import argument, command, option, read, summary
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


def test_commands_stand_in_groups_with_whole_summaries(capsys):
    assert run([]) == 2
    said = capsys.readouterr().out
    assert run(["--help"]) == 0
    assert capsys.readouterr().out == said
    found = re.findall(r"^(\w+):$", said, re.MULTILINE)
    assert found == ["Measure", "Repair", "Count", "Models", "Look"]
    for (path, *rest), inner in ALL.items():
        if not rest:
            assert re.search(rf"^  {path} +{re.escape(summary(inner))}$", said, re.MULTILINE), path


@pytest.mark.parametrize("path", [p for p, c in ALL.items() if hasattr(c, "commands")], ids=" ".join)
def test_summaries_of_a_family_fit_their_line(path, capsys):
    run([*path, "--help"])
    said = capsys.readouterr().out
    for name, inner in ALL[path].commands.items():
        assert re.search(rf"^  {name} +{re.escape(summary(inner))}$", said, re.MULTILINE), name


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("ece", "check"),
        ("brier", "check"),
        ("calibration", "check"),
        ("kappa", "agree"),
        ("alpha", "agree"),
        ("f1", "score"),
        ("F1", "score"),
        ("accuracy", "score"),
        ("precision", "score"),
        ("recall", "score"),
        ("significance", "compare"),
        ("perplexity", "lm perplexity"),
        ("temperature", "recalibrate"),
        ("prevalence", "count"),
        ("ner", "tagger"),
    ],
)
def test_words_of_the_field_lead_to_a_command(word, command, capsys):
    assert run([word, "data.csv"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"howsure: {word} belongs to howsure {command}. Try 'howsure {command} --help'.\n"


def test_each_word_leads_to_one_command_that_exists():
    words = [word for listed in WORDS.values() for word in listed.split()]
    assert len(words) == len(set(words))
    assert not set(words) & set(COMMANDS)
    assert all(tuple(command.split()) in ALL for command in WORDS)


# Flags with two meanings, where both are what the field says: the order of labels and of n-grams.
HOMONYMS = {"--order"}


def flags():
    """Every flag with the parameters that have it, by command."""
    found = {}
    for path, inner in ALL.items():
        for p in getattr(inner, "options", ()):
            for flag in p.flags:
                found.setdefault(flag, {})[" ".join(path)] = p
    return found


def test_a_flag_means_the_same_in_every_command():
    for flag, by in flags().items():
        if flag not in HOMONYMS:
            assert len({p.kind for p in by.values()}) == 1, flag
            assert len({p.name for p in by.values()}) == 1, flag
            assert len({p.flags for p in by.values()}) == 1, (
                flag
            )  # -o is --out's everywhere, and --out has it everywhere


def test_one_thing_has_one_flag():
    for name in {p.name for by in flags().values() for p in by.values()}:
        mine = {p.flags for by in flags().values() for p in by.values() if p.name == name}
        assert len(mine) == 1, (name, mine)
    found = set(flags())
    assert not found & {"--rng", "--workers", "--output", "--n-jobs", "--cores", "--no-sentences"}
    for flag, kind in {"--seed": int, "--jobs": int, "--out": str, "--memory": str, "--confidence": float}.items():
        assert {p.kind for p in flags()[flag].values()} == {kind}
    # A seed is --seed and nothing else, processes are --jobs, and what is written by name is --out.
    assert {p.name for by in flags().values() for p in by.values() if "Seed" in p.help} == {"rng"}
    assert {p.name for by in flags().values() for p in by.values() if p.help.startswith("Processes")} == {"jobs"}


def test_booleans_are_flags():
    for by in flags().values():
        for p in by.values():
            assert (p.kind is bool) == isinstance(p.default, bool)
            assert p.kind is bool or not re.search(r"\b(0 or 1|1 or 0|true or false)\b", p.help)


def test_every_result_has_a_markdown_summary():
    without = {
        " ".join(p) for p, c in ALL.items() if hasattr(c, "options") and "markdown" not in {o.name for o in c.options}
    }
    # These print text, tags or an address, or write a file: no result.
    assert without == {
        "parse",
        "page",
        "serve",
        "completion",
        "reproduce",
        "coref resolve",
        "lm generate",
        "lm correct",
    }


def test_commands_let_threads_of_blas_sleep_unless_the_user_says_when(monkeypatch):
    name = "OPENBLAS_THREAD_TIMEOUT"
    monkeypatch.setattr("gc.set_threshold", lambda _: None)
    for given, wanted in ((None, "20"), ("26", "26")):
        monkeypatch.setenv(name, given or "")
        if given is None:
            monkeypatch.delenv(name)
        with pytest.raises(SystemExit):
            cli.main(["--version"])
        assert os.environ[name] == wanted
