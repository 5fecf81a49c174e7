"""Odd names of files and columns, and tables that are not quite what they seem."""

import gzip
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import howsure

ROWS = "q,y\n0.1,0\n0.9,1\n"


def test_names_that_look_like_patterns(tmp_path):
    for name in ("a*b.csv", "[x].csv", "q?.csv", "{a}.csv", "p=2.csv"):
        (tmp_path / name).write_text(ROWS)
        (tmp_path / "aXb.csv").write_text(ROWS * 1)
        (tmp_path / "x.csv").write_text("q,y\n" + "0.5,1\n" * 200)
        assert howsure.check(tmp_path / name).n == 2
        assert howsure.check(tmp_path / name, by="y").n == 2


def test_odd_names_with_a_bad_file_among_them(tmp_path):
    (tmp_path / "[a].csv").write_bytes(b"\0")
    for i, name in enumerate(("[b].csv", "[c].csv", os.fsdecode(b"\xff.csv"))):
        (tmp_path / name).write_text("q,y\n" + f"0.{i + 1},0\n" * 10 + f"0.{i + 1},1\n")
    made = howsure.check(tmp_path, engine=howsure.Engine(skip_bad_files=True), by="q")
    assert sorted(s.name for s in made.slices) == ["0.1", "0.2", "0.3"]
    (tmp_path / "[a].csv").write_bytes(b"q,y\n" + b"0.1,0\n" * 50_000 + b"\xff,\xff\n")
    made = howsure.check(tmp_path, engine=howsure.Engine(skip_bad_files=True), by="q")
    assert sorted(s.name for s in made.slices) == ["0.1", "0.2", "0.3"]
    assert made.n == 33


def test_columns_that_differ_by_case_are_not_mixed_up(tmp_path):
    (tmp_path / "a.csv").write_text("q,Q,y\n0.1,0.9,0\n0.2,0.8,0\n0.9,0.1,1\n")
    with pytest.raises(howsure.InputError, match=r"several columns called `Q`.*`q`, `Q_1`, `y`"):
        howsure.check(tmp_path / "a.csv", prob="Q")
    assert howsure.check(tmp_path / "a.csv", prob="Q_1").brier.value == pytest.approx((0.81 + 0.64 + 0.81) / 3)
    table = pa.Table.from_arrays([pa.array([0.1, 0.9]), pa.array([0.9, 0.1]), pa.array([0, 1])], names=["q", "Q", "y"])
    pq.write_table(table, tmp_path / "a.parquet")
    assert howsure.check(tmp_path / "a.parquet", prob="Q_1").brier.value == pytest.approx(0.81)


def test_folders_named_like_values_are_not_columns(tmp_path):
    folder = tmp_path / "p=0.3"
    folder.mkdir()
    (folder / "a.csv").write_text(ROWS)
    assert howsure.check(folder / "a.csv").n == 2


def test_parquet_files_of_different_types(tmp_path):
    pq.write_table(pa.table({"q": [0.1, 0.2], "y": [0, 1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"q": pa.array(["0.3"]), "y": [0]}), tmp_path / "2.parquet")
    assert howsure.check(f"{tmp_path}/*.parquet").n == 3


def test_plain_text_named_like_a_packed_file(tmp_path):
    (tmp_path / "a.csv.gz").write_text(ROWS)
    assert howsure.check(tmp_path / "a.csv.gz").n == 2


def test_encodings(tmp_path):
    (tmp_path / "a.csv").write_bytes("q,y,wörd\n0.1,0,é\n0.9,1,ü\n".encode("cp1252"))
    with pytest.raises(howsure.InputError, match=r"is not UTF-8 text.*save it as UTF-8"):
        howsure.check(tmp_path / "a.csv", by="y")


@pytest.mark.parametrize("positive", ["True", "yes", True, "1"])
def test_positive_of_booleans(tmp_path, positive):
    (tmp_path / "a.csv").write_text("q,y\n0.1,false\n0.9,true\n0.8,true\n")
    assert howsure.check(tmp_path / "a.csv", positive=positive).base_rate == pytest.approx(2 / 3)
    frame = pd.DataFrame({"q": [0.1, 0.9, 0.8], "y": [False, True, True]})
    assert howsure.check(frame, positive=positive).base_rate == pytest.approx(2 / 3)


def test_positive_with_arrays_is_checked():
    with pytest.raises(howsure.InputError, match="no label equals `positive='1'`"):
        howsure.check([0, 1], [0.1, 0.9], positive="1")
    with pytest.raises(howsure.InputError, match="1 of 2 rows has no `y_true`, the first of them index 1"):
        howsure.check(["a", None], [0.1, 0.9], positive="a", missing="error")


def test_frames_with_odd_columns():
    frame = pd.DataFrame({"q": [0.1, 0.9], "y": [0, 1], "mixed": ["a", 1]})
    assert howsure.check(frame).n == 2
    with pytest.raises(howsure.InputError, match="`groups` names one of its columns"):
        howsure.check(frame, groups=frame.y)
    left = howsure.check(pd.Series([True, pd.NA], dtype="boolean"), [0.1, 0.2])
    assert (left.n, left.base_rate) == (1, 1.0)


def test_large_group_numbers_are_kept_apart():
    big = 2**60
    groups = np.array([big, big + 1, big, big + 1], dtype=object)
    assert howsure.check([0, 1, 1, 0], [0.1, 0.8, 0.7, 0.2], groups=groups).n_groups == 2


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow"])
def test_a_repeated_name_is_refused_when_it_is_named(tmp_path, kind):
    path = str(tmp_path / f"t.{kind}")
    table = pa.table([[0.1, 0.9], [0, 1], [0.3, 0.8]], names=["p", "y", "p"])
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    else:
        with gzip.open(path, "wt") if kind == "csv.gz" else open(path, "w") as file:
            file.write('p,"y",p\n.1,0,.3\n.9,1,.8\n')
    with pytest.raises(
        howsure.InputError, match=r"several columns called `p`: rename all but one\.$|duplicate field names"
    ):
        howsure.check(path, prob="p", true="y")


def test_a_name_that_only_looks_repeated(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("p,y,p_1\n.1,0,.3\n.9,1,.8\n")
    assert howsure.check(path, prob="p", true="y").bias.gap.value == pytest.approx(0.0)
    assert howsure.check(path, prob="p_1", true="y").bias.gap.value == pytest.approx(0.05)
