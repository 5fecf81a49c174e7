"""The tables of an exploration as R, Stata and spreadsheets read them."""

import csv
import re

import pandas as pd
import pytest

import howsure
from howsure.cli.application import run
from howsure.events.export import FILES


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explored")
    found = howsure.explore(out=folder / "results", every="quarter")
    found.save_tables(folder / "tables")
    return found, folder


def test_the_tables_hold_what_the_result_says(made):
    found, folder = made
    counts, events, documents = (pd.read_csv(folder / "tables" / name) for name in FILES[:3])
    assert counts.to_dict("list")["mean"] == pytest.approx([row["mean"] for row in found.table()])
    assert len(documents) == found.manifest["n_documents"]
    assert set(events["id"]) <= set(documents["id"])
    summed = events.groupby("actor")["probability"].sum()
    for code, law in found.totals():
        assert summed[code] == pytest.approx(law.mean)
        assert counts[counts["actor"] == code]["mean"].sum() == pytest.approx(law.mean)


def test_names_and_dates_suit_stata(made):
    for name in FILES[:3]:
        with open(made[1] / "tables" / name, newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        assert all(re.fullmatch(r"[a-z][a-z0-9_]{0,31}", column) for column in head)
        assert all(len(row) == len(head) for row in rows)
        for column in ("date", "start"):
            if column in head:
                assert all(re.fullmatch(r"\d{4}-\d\d-\d\d|", row[head.index(column)]) for row in rows)


def test_the_paragraph_on_methods(made):
    said = (made[1] / "tables" / "methods.txt").read_text()
    for part in (
        "60 documents dated 2021-01-12 to 2022-12-19",
        "the verb attack",
        "per quarter",
        "400 coreference",
        "seed 0",
    ):
        assert part in said


def test_in_the_shell(tmp_path, capsys, made):
    tables = tmp_path / "tables"
    (tmp_path / "in.csv").write_text('id,date,text\n=1+1,2024-01-02,"Zandar slept."\n')
    arguments = [str(tmp_path / "in.csv"), "--text", "text", "--date", "date", "--coref", "none"]
    assert run(["explore", *arguments, "--tables", str(tables), "--no-cache"]) == 0
    assert "Written: " in capsys.readouterr().out
    assert "'=1+1" in (tables / "documents.csv").read_text()
    assert (tables / "events.csv").read_text().startswith("id,date,actor,name,probability")
    assert run(["explore", *arguments, "--tables", str(tmp_path)]) == 2
    assert "it holds the input" in capsys.readouterr().err
