"""`howsure split` on files: what is written, as it was written, all or nothing."""

import gzip
import json

import pandas as pd
import pytest

import howsure
from howsure.cli.application import run


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "corpus.csv"
    rows = [f"00{i:02},author{i % 11},2024-01-{1 + i % 28:02},{'yes' if i % 3 else 'no'}" for i in range(60)]
    path.write_text("id,author,day,label\n" + "\n".join(rows) + "\n")
    return path


def test_parts_hold_every_row_once_as_it_was_written(table, tmp_path, capsys):
    out = tmp_path / "parts"
    assert run(["split", str(table), "--groups", "author", "--parts", "train=8,dev=1,test=1", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("60 rows in 3 parts")
    assert "No group is in two parts" in said.replace("\n", " ")
    lines = table.read_text().splitlines()
    parts = {p.name: p.read_text().splitlines() for p in out.iterdir()}
    assert sorted(parts) == ["dev.csv", "test.csv", "train.csv"]
    assert all(p[0] == lines[0] for p in parts.values())
    assert sorted(line for p in parts.values() for line in p[1:]) == sorted(lines[1:])
    authors = [{line.split(",")[1] for line in p[1:]} for p in parts.values()]
    assert sum(map(len, authors)) == 11
    again = howsure.split(table, groups="author")
    assert again.sizes["train"] == len(parts["train.csv"]) - 1


def test_dates_json_and_packed_files(table, tmp_path, capsys):
    frame = pd.read_csv(table, dtype=str)
    packed = tmp_path / "corpus.jsonl.gz"
    frame.to_json(packed, orient="records", lines=True)
    assert (
        run(["split", str(packed), "--date", "day", "--parts", "train=2,test=1", "-o", str(tmp_path / "d"), "--json"])
        == 0
    )
    said = json.loads(capsys.readouterr().out)
    assert said["parts"][0]["last_date"] < said["parts"][1]["first_date"]
    read = {name: gzip.decompress((tmp_path / "d" / f"{name}.jsonl.gz").read_bytes()) for name in ("train", "test")}
    days = {name: [json.loads(line)["day"] for line in text.splitlines()] for name, text in read.items()}
    assert max(days["train"]) < min(days["test"])
    assert len(days["train"]) + len(days["test"]) == 60


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_folds_as_a_column_or_as_files(table, tmp_path, suffix):
    frame = pd.read_csv(table, dtype=str)
    source, one = tmp_path / f"c.{suffix}", tmp_path / f"folds.{suffix}"
    if suffix == "csv":
        frame.to_csv(source, index=False)
    elif suffix == "jsonl":
        frame.to_json(source, orient="records", lines=True)
    else:
        frame.to_parquet(source, index=False)
    made = howsure.split(source, folds=5, stratify="label", out=one)
    read = {"csv": pd.read_csv, "jsonl": lambda p, **k: pd.read_json(p, lines=True, **k), "parquet": pd.read_parquet}[
        suffix
    ]
    whole = read(one, **({} if suffix == "parquet" else {"dtype": {"id": str}}))
    assert whole.id.tolist() == frame.id.tolist()
    assert (whole.fold - 1).tolist() == made.part.tolist()
    assert whole.groupby("fold").size().tolist() == [12] * 5
    howsure.split(source, folds=5, stratify="label", out=tmp_path / "folder")
    assert len(list((tmp_path / "folder").glob(f"fold-*.{suffix}"))) == 5


def test_rows_without_a_group_are_left_out_and_counted(tmp_path, capsys):
    path = tmp_path / "c.csv"
    path.write_text("id,doc\n1,a\n2,\n3,b\n4,c\n")
    assert run(["split", str(path), "--groups", "doc", "--parts", "a=1,b=1"]) == 0
    assert "Left out: 1 rows, because they have no group." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--groups", "auhtor"], "Did you mean `author`?"),
        (["--parts", "train"], "names with weights"),
        (["--parts", "train=1"], "got one part"),
        (["--parts", "train=1,../x=1"], "a plain name"),
        (["--parts", "train=1,test=0"], "weight above 0"),
        (["--parts", "a=1,b=1", "--folds", "3"], "exclude one another"),
        (["--folds", "1"], "2 at least"),
        (["--folds", "99"], "as many rows"),
        (["--groups", "author", "--folds", "12"], "as many groups"),
        (["--date", "label"], "must hold dates"),
        (["--date", "day", "--stratify", "label"], "exclude one another"),
        (["--date", "day", "--folds", "29"], "different dates"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_bad_calls_write_nothing(table, tmp_path, arguments, message, capsys):
    out = tmp_path / "parts"
    assert run(["split", str(table), "-o", str(out), *arguments]) == 2
    said, err = capsys.readouterr()
    assert said == ""
    assert message in err
    assert err.count("\n") == 1
    assert not out.exists()


def test_the_input_is_never_overwritten(table, tmp_path, capsys):
    assert run(["split", str(table), "--folds", "2", "-o", str(table)]) == 2
    assert "it is the input" in capsys.readouterr().err
    inside = tmp_path / "p"
    inside.mkdir()
    (inside / "train.csv").write_text(table.read_text())
    assert run(["split", str(inside / "train.csv"), "-o", str(inside)]) == 2
    assert sorted(p.name for p in inside.iterdir()) == ["train.csv"]
