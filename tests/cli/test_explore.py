"""`howsure explore`, `top` and `label` as typed."""

import csv
import html
import io
import json

import pytest

import howsure
from howsure.cli.application import run
from howsure.events.exploration import Exploration
from howsure.events.page_data import overview
from howsure.exploring.page import heading


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "stories"
    assert run(["explore", "--coref", "simple", "--out", str(folder)]) == 0
    return folder


def test_text_fits_the_terminal_and_says_what_is_left_out(capsys):
    assert run(["explore", "--coref", "simple", "--actor", "VAL,KES", "--every", "year"]) == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines())
    assert "made up" in said
    assert "uncertainty of coreference alone" in said
    assert "VAL against KES" in said


def test_json_csv_and_plot_agree(results, tmp_path, capsys):
    table, picture = tmp_path / "c.csv", tmp_path / "c.svg"
    arguments = ["explore", "--coref", "simple", "--out", str(results), "--json", "--actor", "VAL,KES"]
    assert run([*arguments, "--csv", str(table), "--plot", str(picture)]) == 0
    made = json.loads(capsys.readouterr().out)
    rows = [r for r in csv.DictReader(io.StringIO(table.read_text())) if r["actor"] == "VAL"]
    assert [float(r["mean"]) for r in rows] == [c["mean"] for c in made["timelines"]["VAL"]]
    assert len(rows) == 8
    assert made["comparison"]["periods"][0]["period"] == "2021-Q1"
    assert picture.read_text().startswith("<svg")
    assert "Valdoria" in picture.read_text()


def test_the_page_opens_on_the_actor_that_the_headline_names():
    """Of the event layer, which need not be the one that the rules find most often, or at all."""
    found = howsure.explore(verbs="meet")
    assert found.totals()[0][0] == "TAR"
    (first, *others) = overview(found)["actors"]
    assert f"reported as done by {first['name']}, " in heading(found)["verdict"]
    assert first["name"] == "Valdoria"
    assert [a["code"] for a in others] == [c for c, _ in found.totals() if c != "VAL"]
    del found.hits["VAL"]
    assert [a["code"] for a in overview(found)["actors"]] == ["VAL", *(c for c, _ in found.totals())]
    found.hits.clear()
    assert overview(found)["actors"] == []


def test_actors_chosen_are_those_spoken_of(tmp_path, capsys):
    """In the text, the verdicts, the table and the opening of the page; all others can still be chosen there."""
    folder, asked = tmp_path / "r", ["explore", "--coref", "simple", "--out", str(tmp_path / "r")]
    assert run([*asked, "--actor", "KES,valdoria"]) == 0
    said = capsys.readouterr().out
    assert "Zandar" not in said
    assert "5 more (--json lists all)" in said
    found = Exploration.open(folder)
    assert found.shown == ["KES", "VAL"]
    for verdict in (found.verdict, found.reported_verdict):
        assert "of Kessia and Valdoria, " in verdict
        assert "Zandar" not in verdict
    seen = overview(found)
    assert [a["code"] for a in seen["actors"]][:2] == ["KES", "VAL"]
    assert len(seen["actors"]) > 5
    assert seen["against"] == "VAL"
    head = heading(found)
    assert {a["name"] for a in head["reported"]["actors"]} == {"Kessia", "Valdoria"}
    text = howsure.page(folder).decode()
    assert found.reported_verdict.split(": ", 1)[1] in html.unescape(text)
    # A page of others speaks of them; one actor is not compared
    alone = found.showing(["ZAN"])
    assert alone.verdict.startswith('60 documents: agents of "attack" are of Zandar, in ')
    assert overview(alone, ["ZAN"])["against"] == ""
    assert "Kessia" not in alone.reported_verdict + found.showing(["TAR"]).verdict

    # The next run on the folder chooses again, without doing the work again
    assert run(asked) == 0
    assert "Zandar" in capsys.readouterr().out
    again = Exploration.open(folder)
    assert again.shown == []
    assert again.manifest == {k: v for k, v in found.manifest.items() if k != "shown"}
    assert "ahead of " in again.verdict


def test_an_actor_that_is_left_out_cannot_be_spoken_of(tmp_path, capsys):
    assert run(["explore", "--only", "KES,VAL", "--actor", "ZAN", "--out", str(tmp_path / "r")]) == 2
    assert "there is no actor `ZAN`" in capsys.readouterr().err


def test_top_by_uncertainty(results, capsys):
    assert run(["top", str(results), "--actor", "VAL", "--uncertain", "--limit", "2"]) == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines())
    assert "hangs on" in said
    assert run(["top", str(results), "--json"]) == 0
    documents = json.loads(capsys.readouterr().out)["documents"]
    assert len(documents) == 10
    assert documents[0]["probability"] == 1.0


def test_label_asks_undoes_resumes_and_reports(results, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\nn\nu\nz\ny\nq\n"))
    assert run(["label", str(results), "--actor", "VAL", "-n", "10"]) == 0
    said = capsys.readouterr()
    assert "2 of 10 items labelled, 2 yes. About" in said.out
    assert "Answer y, n, u (undo)" in said.err
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run(["label", str(results), "--actor", "VAL", "-n", "10"]) == 0
    assert "[3 of 10]" in capsys.readouterr().err
    assert run(["label", str(results), "--actor", "VAL", "-n", "10", "--report", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_labelled"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explore", "--actors", "contries"], "Did you mean `countries`"),
        (["explore", "--every", "fortnight"], "no period `fortnight`"),
        (["explore", "--verbs", "two words"], "--verbs takes lemmas"),
        (["explore", "--rules", "papr"], "Did you mean `paper`"),
        (["explore", "--samples", "0"], "--samples must be a whole number"),
        (["explore", "--temperature", "0"], "temperature must be"),
        (["explore", "--actor", "NARNIA"], "no actor `NARNIA`"),
        (["explore", "--only", "NARNIA"], "no actor `NARNIA`"),
        (["explore", "--plot", "x.gif"], "--plot must name"),
        (["explore", "nothing.csv"], "there is no file"),
        (["explore", "--coref", "no.npz"], "--coref: there is no file no.npz"),
        (["top", "nothing"], "no results"),
        (["label", "nothing"], "no file and no results folder nothing"),
    ],
)
def test_mistakes_are_one_clear_line(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_run_time_tells_speed_and_where_the_time_went():
    from howsure.report.text.exploration import run_time

    said = run_time({"documents": 1500, "total": 60.0, "parsing": 100.0, "resolving": 4.0, "asking": 2.0})
    assert said == "1,500 documents in 60 s, 25.0 a second. CPU time: 100 s for parsing, 6 s for all that follows."
