"""The page of every item of the sources: rows are complete, commands run, numbers are judged as printed."""

import json
import shlex
from importlib.resources import files

import pytest

from howsure.cli.application import application, run
from howsure.errors import InputError
from howsure.experiments import seeds
from howsure.experiments.registry import EXPERIMENTS
from howsure.experiments.seeds import ITEMS, SOURCES, Item, Unavailable, fill, output, state, taken

INPUTS = {f.name for f in (files("howsure.data") / "seeds").iterdir()}
ENDINGS = (".csv", ".tsv", ".txt", ".jsonl", ".conllu", ".json")


def test_there_are_ninety_rows_in_order():
    assert [i.number for i in ITEMS] == list(range(1, 91))
    assert {i.source for i in ITEMS} == set(SOURCES)
    assert all(bool(i.command) == bool(i.take) for i in ITEMS)
    assert all(i.section and i.what for i in ITEMS)


@pytest.mark.parametrize("item", [i for i in ITEMS if i.command], ids=lambda i: str(i.number))
def test_commands_name_what_there_is(item):
    words = shlex.split(item.command)
    assert words[0] in ("howsure", "python")
    if words[0] == "howsure":
        command, rest = application().commands[words[1]], words[2:]
        if hasattr(command, "commands"):
            command = command.commands[rest.pop(0)]
        flags = {flag for p in command.parameters for flag in (*p.flags, p.off)}
        assert {w for w in rest if w.startswith("--")} <= flags | {"--help"}
    if words[:2] == ["howsure", "reproduce"]:
        assert words[2] in EXPERIMENTS
    made = {words[i + 1] for i, w in enumerate(words) if w in ("-o", "--out", "--plot", "--csv", "--html")}
    named = {w for w in words[1:] if w.endswith(ENDINGS) and "/" not in w and " " not in w}
    assert named - made <= INPUTS | {n for i in ITEMS for n in _written(i)}


def _written(item):
    words = shlex.split(item.command)
    return {words[i + 1] for i, w in enumerate(words[:-1]) if w in ("-o", "--out", "--csv")}


def test_rows_are_filled_from_what_the_command_prints(tmp_path, monkeypatch, capsys):
    (tmp_path / "tenths.csv").write_bytes((files("howsure.data") / "seeds" / "tenths.csv").read_bytes())
    monkeypatch.chdir(tmp_path)
    item = next(i for i in ITEMS if "tenths.csv" in i.command)
    assert run(shlex.split(item.command)[1:]) == 0
    out = capsys.readouterr().out
    made = fill(item, out)
    assert made.state == "beside"
    assert f"{json.loads(out)['to_the_letter']['calib_err']:.4f}" in made.ours
    assert made.row[3] == f"`{item.command}`"


def test_what_cannot_be_run_says_why(tmp_path, monkeypatch):
    monkeypatch.delenv("HOWSURE_DATA", raising=False)
    corpus = output("howsure check $HOWSURE_DATA/x.csv", tmp_path, tmp_path)
    assert isinstance(corpus, Unavailable)
    missing = output("howsure reproduce figure-3", tmp_path, tmp_path)
    (tmp_path / "figure-3.json").write_text(json.dumps({"version": "0.0.0"}))
    other = output("howsure reproduce figure-3", tmp_path, tmp_path)
    item = Item(1, "P", "§1", "x", "howsure check", "{n}", "2")
    said = [fill(item, x) for x in (corpus, missing, other, InputError("no file"), "{}", '{"n": 3}', '{"n": 2}')]
    assert [s.state for s in said] == ["not run"] * 3 + ["failed"] * 2 + ["not the same", "same"]
    assert "not run in this folder" in said[1].ours
    assert fill(Item(1, "P", "§1", "x", "", "", ""), "").state == "not done"


def test_a_row_of_a_finding_has_its_numbers_and_verdict():
    found = {"findings": [{"paper": "0.5", "ours": "0.6", "verdict": "differs"}]}
    made = fill(Item(1, "P", "§1", "x", "howsure reproduce course", "findings.0", ""), json.dumps(found))
    assert (made.expected, made.ours, made.state) == ("0.5", "0.6", "differs")


@pytest.mark.parametrize(
    ("expected", "ours", "said"),
    [
        ("0.60, 0.73", "0.5993 and 0.7340", "same"),
        ("0.60, 0.73", "0.5993", "not the same"),
        ("99%", "99.4%", "same"),
        ("0.24194", "0.24195", "not the same"),
        ("1,446", "1446 words", "same"),
        ("", "5", "beside"),
        ("962, 170 and 109 on other text", "565", "beside"),
    ],
)
def test_numbers_are_compared_as_printed(expected, ours, said):
    assert state(expected, ours) == said


def test_a_regular_expression_takes_its_group():
    assert taken("p = 0.268 (one-sided)", r"/p = ([\d.]+)/") == "0.268"
    with pytest.raises(ValueError, match="p ="):
        taken("nothing", r"/p = (\d)/")


def test_quick_runs_few_commands(monkeypatch):
    ran = []
    monkeypatch.setattr(seeds, "output", lambda command, folder, results: ran.append(command) or "{}")
    made = seeds.run(seeds.settings(True), None, seeds.Work())
    assert len(ran) == seeds.QUICK
    assert sum(len(t.rows) for t in made["tables"]) == 90
