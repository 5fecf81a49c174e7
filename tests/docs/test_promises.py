"""The tests that promises rest on exist; and promises that are about the documentation itself."""

import ast
import gzip
import random
import re
import shlex
from pathlib import Path

import yaml

from howsure.cli.application import application, run
from howsure.cli.completion import commands
from howsure.cli.parser import Family

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_test_that_is_named_exists():
    promises = [line for line in (DOCS / "evidence" / "promises.md").read_text().splitlines() if line.startswith("| ")]
    promises = [line for line in promises if line != "| promise | tests |"]
    assert len(promises) > 40
    defined = {}
    for line in promises:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", line)
        assert named, line  # each promise rests on something
        for file, test in named:
            if file not in defined:
                tree = ast.parse((ROOT / "tests" / file).read_text())
                defined[file] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert test in defined[file], f"{file}::{test}"


def test_the_glossary_has_the_words_of_verdicts():
    terms = dict(re.findall(r"^(\S.*)\n: ((?:.+\n)+)", (DOCS / "glossary.md").read_text(), re.M))
    assert "confidence is above accuracy" in terms["Overconfident"]
    assert "§3.3: the curve below the diagonal" in terms["Overconfident"]
    assert "slope" in terms["Too extreme, too timid"]
    assert {"Too high, too low", "Groups", "Difference (of two models or systems)"} <= set(terms)


def test_claims_of_confidence_have_both_definitions():
    """Each says what the curve does, and what our own words would be: confidence against accuracy, q - p, or the slope."""
    import tomllib

    claims = tomllib.loads((ROOT / "src" / "howsure" / "data" / "claims.toml").read_text())
    judged = {
        n: c
        for n, c in claims.items()
        if isinstance(c, dict) and re.search(r"\bis .*confident|are under", str(c.get("claim")))
    }
    assert set(judged) >= {"figure-3/underconfident", "figure-3/overconfident", "figure-5/overconfident"}
    for name, claim in judged.items():
        assert re.search(r"diagonal|mean q - mean y", claim["said"]), name
        assert re.search(r"accuracy|our word|mean q - mean y", claim["said"]), name


def test_help_says_groups():
    """Clusters are those of coreference, or of machines."""
    for path, at in commands(application()):
        if isinstance(at, Family) or path.startswith("coref"):
            continue
        said = at.help(path)
        assert not re.search(r"cluster(?!ings? of mentions)", re.sub(r"Spark.*", "", said)), path


def test_the_demo_is_worth_looking_at():
    import howsure
    from howsure.data import demo_table

    with gzip.open(demo_table(), "rt") as file:
        head, *rows = (line.rstrip("\n").split(",") for line in file)
    assert head == ["confidence", "correct", "tag", "genre", "sentence", "document"]
    assert all(re.fullmatch(r"[\d.e+-]+,[01],[A-Z]+,[a-z]+,\d+,\d+", ",".join(row)) for row in rows)  # no text
    right = [row[1] for row in rows]
    assert 0.5 < right.count("1") / len(rows) < 0.99
    made = howsure.check(demo_table(), groups="document", by="tag")
    assert made.n_groups > 100
    assert len(made.slices) > 10
    assert made.error.low > 0
    assert len(made.bins) > 10
    assert "check --demo --groups document --by tag" in (ROOT / "Makefile").read_text()


def predictions(path, wrong):
    """600 answers in 60 documents; of a share `wrong` the probability is upside down."""
    rng, rows = random.Random(0), []
    for i in range(600):
        p = round(rng.random(), 3)
        label = int(rng.random() < p)
        rows.append(f"{i},{i // 10},{label},{1 - p if i % 100 < 100 * wrong else p}")
    path.write_text("id,document,label,prob\n" + "\n".join(rows) + "\n")


def test_the_workflow_runs(tmp_path, monkeypatch, capsys):
    [text] = re.findall(r"```yaml\n(.*?)```", (DOCS / "guides" / "pull-requests.md").read_text(), re.S)
    steps = yaml.safe_load(text)["jobs"]["calibration"]["steps"]
    lines = [line for step in steps for line in step.get("run", "").splitlines() if line.startswith("howsure ")]
    assert len(lines) == 2
    monkeypatch.chdir(tmp_path)
    for wrong, status in ((0.0, 0), (0.9, 1)):
        predictions(tmp_path / "main.csv", 0.0)
        predictions(tmp_path / "branch.csv", wrong)
        for line in lines:
            assert run(shlex.split(line.split(" | ")[0])[1:]) == status, line
            assert capsys.readouterr().out.count("|") > 8
    assert (tmp_path / "report.html").is_file()


def test_exit_statuses_are_those_documented(tmp_path, capsys):
    """What each number means; 130 is tested in test_interrupts.py."""
    page = (DOCS / "guides" / "pull-requests.md").read_text()
    assert re.findall(r"^\| (\d+) \|", page, re.M) == ["0", "1", "2", "130"]
    predictions(tmp_path / "good.csv", 0.0)
    predictions(tmp_path / "bad.csv", 0.9)
    for file, status in (("good.csv", 0), ("bad.csv", 1), ("none.csv", 2)):
        assert run(["check", str(tmp_path / file), "--fail-above", "0.05"]) == status
    assert capsys.readouterr().err.splitlines()[-1].startswith("howsure: there is no file")
