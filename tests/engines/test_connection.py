"""Conditions see the rows that they are asked about: no other file, no network, no setting, bounded time and memory."""

import os
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import howsure
from howsure.cli.application import run
from howsure.engines import connection
from howsure.engines.connection import checked_condition, connect
from howsure.engines.files import Selection
from howsure.engines.spark.rows import evaluated
from howsure.errors import InputError

SECRET = "the secret that stands here"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "other.csv").write_text(f"q,y\n{SECRET},1\n")
    (tmp_path / "it's.csv").write_text("q,y\n" + "".join(f"{i % 10 / 10},{i % 2}\n" for i in range(200)))
    (tmp_path / "spill").mkdir()
    return tmp_path


QUERIES = [
    "(SELECT content FROM read_text('secret.txt')) = 'a'",
    "CAST((SELECT content FROM read_text('secret.txt')) AS INTEGER) = 1",
    "q IN (SELECT q FROM read_csv('other.csv'))",
    "q IN (FROM 'other.csv')",
    "EXISTS (SELECT * FROM read_blob('secret.txt'))",
    "(SELECT count(*) FROM glob('/etc/*')) > 0",
    "(SELECT count(*) FROM read_csv('https://example.com/a.csv')) > 0",
    "(SELECT count(*) FROM read_parquet('s3://bucket/a.parquet')) > 0",
    "q = ANY (SELECT 1)",
    "q IN (SELECT q FROM given)",
    "(WITH RECURSIVE t AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM t) SELECT count(*) FROM t) > 0",
    "len(ARRAY(SELECT 1)) = 1",
    "list_sum([(SELECT 1)]) = 1",
    "CASE WHEN q > 0 THEN (SELECT 1) ELSE 2 END = 1",
]
STATEMENTS = [
    "ATTACH 'other.db' (READ_ONLY)",
    "COPY (SELECT 1) TO 'made.csv'",
    "q > 0; COPY (SELECT 1) TO 'made.csv'",
    "1 = 1) TO 'made.csv' (FORMAT csv",
    "INSTALL httpfs",
    "SET memory_limit = '1GB'",
]


@pytest.mark.parametrize("where", QUERIES + STATEMENTS)
def test_a_condition_is_about_one_row(folder, capsys, where):
    before = sorted(os.listdir(folder))
    assert run(["check", "it's.csv", "--prob", "q", "--true", "y", "--where", where]) == 2
    told = capsys.readouterr()
    assert "--where must be a single SQL expression" in told.err
    assert SECRET not in told.err + told.out
    assert sorted(os.listdir(folder)) == before
    rows = pa.RecordBatch.from_pydict({"q": [0.5], "y": [1]})
    with pytest.raises(InputError, match="`where=` must be a single SQL expression"):
        list(evaluated(iter([rows]), Selection({"q": '"q"'}, where)))  # as Spark's executors do


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("q > 0.5", 80),
        ("q IN (0.1, 0.2) AND y = 1 -- a comment", 20),
        ("list_contains([0.1, 0.2], q)", 40),
        ("len(list_filter([q], lambda x: x > 0.5)) = 1", 80),
        ("CASE WHEN q > 0.5 THEN y = 1 ELSE false END", 40),
        ("CAST(q AS VARCHAR) NOT LIKE '%.0'", 180),
        ('q BETWEEN 0.1 AND 0.2 OR "y" = 7', 40),
    ],
)
def test_conditions_that_people_write(folder, where, rows):
    assert howsure.check("it's.csv", prob="q", true="y", where=where).n == rows


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('secret.txt')",
        "SELECT * FROM read_blob('{folder}/secret.txt')",
        "SELECT * FROM read_csv('other.csv')",
        "SELECT * FROM read_csv('spill/../other.csv')",
        "FROM 'other.csv'",
        "SELECT * FROM glob('*')",
        "SELECT * FROM read_csv('https://example.com/a.csv')",
        "SELECT * FROM read_parquet('s3://bucket/a.parquet')",
        "ATTACH 'https://example.com/a.db'",
        "ATTACH 'other.db'",
        "COPY (SELECT 1) TO 'made.csv'",
        "EXPORT DATABASE 'made'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "LOAD '{folder}/some.duckdb_extension'",
        "SET enable_external_access = true",
        "SET allowed_paths = ['/']",
        "SET temp_directory = '{folder}'",
        "RESET memory_limit",
        "CREATE SECRET s (TYPE s3)",
        "SELECT getenv('HOME')",
        "SELECT * FROM local_table",
    ],
)
def test_a_connection_reaches_its_files_only(folder, statement):
    local_table = pa.table({"a": [1]})  # a variable is no table
    assert len(local_table)
    before = sorted(folder.rglob("*"))
    with (
        connect(files=["it's.csv"], folder=folder / "spill") as opened,
        pytest.raises((duckdb.Error, RuntimeError)) as error,
    ):
        opened.execute(statement.format(folder=folder)).fetchall()
    assert SECRET not in str(error.value)
    assert sorted(folder.rglob("*")) == before


def test_a_connection_reads_its_files(folder):
    with connect(files=["it's.csv"], folder=folder / "spill") as opened:
        for name in ("it's.csv", str(folder / "it's.csv")):
            sql = f"SELECT count(*) FROM read_csv({connection.literal(name)})"
            assert opened.execute(sql).fetchall() == [(200,)]
            with opened.cursor() as cursor:
                assert cursor.execute(sql).fetchall() == [(200,)]
                with pytest.raises(duckdb.Error):
                    cursor.execute("SELECT * FROM read_text('secret.txt')")
        opened.execute(f"COPY (SELECT 1) TO {connection.literal(str(folder / 'spill' / 'made.csv'))}")


def test_every_connection_is_made_so():
    source = Path(howsure.__file__).parent
    made = [
        p for p in source.rglob("*.py") if re.search(r"duckdb\.(connect|sql|query|execute|read_|from_)", p.read_text())
    ]
    assert [p.name for p in made] == ["connection.py"]


def test_a_condition_takes_little_memory(folder, capsys):
    for where in ("list_sum(range((q * 1e10)::BIGINT)) > 0", "length(repeat('x', 4000000000)) > y"):
        assert run(["check", "it's.csv", "--prob", "q", "--true", "y", "--where", where]) == 2
        assert "--where needs more than 4 GB of memory" in capsys.readouterr().err
    assert run(["check", "it's.csv", "--prob", "q", "--true", "y", "--where", "repeat('x', 1000000000000) = 'x'"]) == 2
    assert "string" in capsys.readouterr().err
    assert howsure.check("it's.csv", prob="q", true="y", where="q > 0.5").n == 80  # the limit is gone


def test_a_condition_takes_little_time(folder, monkeypatch):
    slow = "list_sum(range(CAST(1000 + q * {} AS INTEGER))) < 0"
    monkeypatch.setattr(connection, "SLOW", 0.05)
    with pytest.raises(InputError, match=r"`where=` takes more than 0\.05 seconds for 16 rows"):
        howsure.check("it's.csv", prob="q", true="y", where=slow.format(5_000_000))
    monkeypatch.setattr(connection, "SLOW", 60.0)
    monkeypatch.setattr(connection, "SECONDS", 0.2)
    (folder / "many.csv").write_text("q,y\n" + "0.5,1\n0.4,0\n" * 50_000)
    with pytest.raises(InputError, match=r"`where=` takes more than 0\.2 seconds for 131,072 rows"):
        howsure.check("many.csv", prob="q", true="y", where=slow.format(20_000))
    rows = pa.RecordBatch.from_pydict({"q": [0.5] * 100_000})
    with pytest.raises(InputError, match=r"`where=` takes more than 0\.2 seconds"):
        list(evaluated(iter([rows]), Selection({"q": '"q"'}, slow.format(20_000))))


def test_conditions_are_parenthesised():
    assert checked_condition("a OR b -- c") == "(a OR b -- c\n)"
