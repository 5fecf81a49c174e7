"""What all experiments share: the choice of data, skipping without, results and models that are used again."""

import ast
import json
import re
import sys
from pathlib import Path
from string import Formatter
from types import ModuleType

import numpy as np
import pytest

import howsure
from howsure.calibration.estimation.intervals import Estimate
from howsure.cli.application import run
from howsure.errors import InputError
from howsure.experiments import registry
from howsure.experiments.findings import CLAIMS, NOTES, Finding, finding_on
from howsure.experiments.overview import page
from howsure.experiments.registry import Work
from howsure.experiments.result import Reproduction


@pytest.fixture
def demo(monkeypatch, tmp_path):
    """An experiment `demo` on ewt/, or gum/, with a model that counts how often it was made."""
    module = ModuleType("demo_experiment")
    module.made = 0

    def train():
        module.made += 1
        return np.arange(3.0)

    def run_demo(settings, rng, work):
        work("training")
        model = work.kept("line", {"n": 3}, train, save, load)
        if getattr(module, "killed", False):
            raise KeyboardInterrupt
        return {
            "findings": (Finding("Sums are 3.", "§0", "differs", "So it is.", {"sum": 3}, "4", f"{model.sum():g}"),)
        }

    def save(model, path):
        path.write_text(json.dumps(model.tolist()))

    def load(path):
        try:
            return np.array(json.loads(path.read_text()))
        except ValueError:
            raise InputError("damaged") from None

    module.settings, module.run = lambda quick: {"quick": quick}, run_demo
    monkeypatch.setitem(sys.modules, "demo_experiment", module)
    made = registry.Experiment("demo", "A demonstration", "sums", "demo_experiment", ("ewt", "gum"))
    for module_with_the_list in ("experiments.registry", "verbs.reproduce"):
        monkeypatch.setattr(f"howsure.{module_with_the_list}.EXPERIMENTS", {"demo": made})
    root = tmp_path / "data"
    (root / "gum" / "dep").mkdir(parents=True)
    (root / "gum" / "dep" / "a.conllu").write_text("x")
    monkeypatch.setenv("HOWSURE_DATA", str(root))
    return module


def test_the_first_corpus_that_is_there_is_used(demo, tmp_path, monkeypatch):
    made = howsure.reproduce("demo")
    assert (made.settings["data"], made.data) == ("gum", "GUM")
    (tmp_path / "data" / "ewt").mkdir()
    assert howsure.reproduce("demo").data == "GUM"  # an empty folder is no corpus
    (tmp_path / "data" / "ewt" / "en_ewt-ud-train.conllu").write_text("x")
    assert howsure.reproduce("demo").data == "UD English EWT"
    assert registry.chosen(["nyt", "ewt+gum"]) == "ewt+gum"
    assert registry.chosen(["nyt", "ewt+gap"]) is None
    assert registry.chosen(["nyt", ""]) == ""
    monkeypatch.delenv("HOWSURE_DATA")
    assert registry.chosen(["ewt", "gum"]) is None


def test_without_data(demo, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOWSURE_DATA", str(tmp_path))
    with pytest.raises(InputError, match="demo needs ewt/ or gum/, not below HOWSURE_DATA"):
        howsure.reproduce("demo")
    out = str(tmp_path / "out")
    assert run(["reproduce", "all", "--out", out]) == 0
    assert capsys.readouterr().err.startswith("howsure: skipped: demo needs ewt/ or gum/")
    assert run(["reproduce", "demo", "--out", out]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "UD_English-EWT" in err
    assert not Path(out).exists()
    monkeypatch.delenv("HOWSURE_DATA")
    assert run(["reproduce", "--list"]) == 0
    assert "[needs ewt or gum]" in capsys.readouterr().out


def test_a_killed_run_goes_on_with_its_model(demo, tmp_path):
    demo.killed = True
    with pytest.raises(KeyboardInterrupt):
        howsure.reproduce("demo", out=tmp_path / "out")
    assert [p.suffix for p in (tmp_path / "out").iterdir()] == [""]  # models/ and no result
    demo.killed = False
    assert howsure.reproduce("demo", out=tmp_path / "out").findings[0].ours == "3"
    assert demo.made == 1
    kept = next((tmp_path / "out" / "models").iterdir())
    kept.write_bytes(kept.read_bytes()[:5])
    assert howsure.reproduce("demo", out=tmp_path / "out", again=True).findings[0].ours == "3"
    assert demo.made == 2  # a damaged model is made again
    assert not howsure.reproduce("demo", out=tmp_path / "out", rng=1).cached
    assert demo.made == 2
    howsure.reproduce("demo")
    assert demo.made == 3  # nothing is kept without a folder


def test_other_data_is_another_result(demo, tmp_path):
    out = tmp_path / "out"
    howsure.reproduce("demo", out=out)
    assert howsure.reproduce("demo", out=out).cached
    (tmp_path / "data" / "gum" / "dep" / "b.conllu").write_text("y")
    assert not howsure.reproduce("demo", out=out).cached


def test_another_key_is_another_file(tmp_path):
    work = Work(folder=tmp_path)

    def save(n, path):
        path.write_text(str(n))

    def of(key, made):
        return work.kept("n", key, lambda: made, save, lambda p: int(p.read_text()))

    assert of({"a": 1}, 1) == 1
    assert of({"a": 2}, 2) == 2
    assert of({"a": 1}, 3) == 1


def test_source_and_ours_stand_side_by_side(demo, capsys, tmp_path):
    made = howsure.reproduce("demo", out=tmp_path / "out")
    assert "Source: 4. Here: 3." in page(made, "x")
    assert "Data: GUM." in page(made, "x")
    assert repr(made) == "Reproduction(demo: 0 claims confirmed, 0 corrected, 1 differs)"
    assert run(["reproduce", "demo", "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("A demonstration\nData: GUM\n")
    assert "source: 4; here: 3" in out
    old = json.loads(json.dumps(made.to_dict()))
    del old["data"], old["findings"][0]["paper"], old["findings"][0]["ours"]
    assert Reproduction.from_dict(old).findings[0].paper == ""


def named_values(call):
    """The names of the values that a call of `finding_on` or `notes_on` gives; None where some are not named there."""
    given = {k.arg for k in call.keywords}
    for more in call.args[2:]:
        given |= {key.value for key in more.keys} if isinstance(more, ast.Dict) else {None}
    return None if None in given else given


def test_every_claim_is_judged_and_its_words_are_filled_in():
    source = Path(registry.__file__).parent
    calls = [n for p in source.rglob("*.py") for n in ast.walk(ast.parse(p.read_text())) if isinstance(n, ast.Call)]
    judged = {s for p in source.rglob("*.py") for s in re.findall(r'"([a-z0-9-]+/[a-z0-9-]+)"', p.read_text())}
    assert judged == set(CLAIMS)
    checked = 0
    for call in (c for c in calls if isinstance(c.func, ast.Name) and c.func.id in ("finding_on", "notes_on")):
        if not isinstance(call.args[0], ast.Constant):
            continue
        name, given = call.args[0].value, named_values(call)
        words = CLAIMS[name] if call.func.id == "finding_on" else {"said": " ".join(NOTES[name])}
        fields = {f for part in ("said", "ours") for _, f, _, _ in Formatter().parse(words.get(part, "")) if f}
        fields |= {n.partition("=")[2].strip() or n.strip() for n in words.get("numbers", "").split(";") if n.strip()}
        if given is not None:
            assert {re.split(r"[.\[]", f)[0] for f in fields} <= given, name
            checked += 1
    assert checked > 30
    assert all(row.keys() >= {"claim", "source", "paper"} for row in CLAIMS.values())
    assert all("like" in row or row.keys() >= {"said", "ours"} for row in CLAIMS.values())


def test_words_show_estimates_with_their_intervals_and_call_methods():
    spread = np.array([1.0, 3.0])
    found = finding_on("synthetic/misprint", "corrected", printed=spread, ratio=2.0, clipped=spread / 10)
    assert "up to 3, up to 2 times" in found.said
    assert found.numbers == {"largest_ratio": 2.0, "largest_printed": 3.0, "largest_clipped": 0.3}
    shown = finding_on("figure-2/higher", "differs", f=[Estimate(0.5, 0.4, 0.6), Estimate(0.25)], gain=Estimate(0.1))
    assert shown.said.startswith("Naive Bayes 0.500 [0.400, 0.600], logistic regression 0.250;")
