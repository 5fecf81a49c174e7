"""`howsure check` as typed in a shell."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import howsure
from howsure.cli.application import run

HOWSURE = [sys.executable, "-m", "howsure"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "predictions.csv"
    rows = [f"{i / 200:.3f},{int(i * 7919 % 200 < i)},{'NN' if i % 3 else 'a|b$c'}" for i in range(200)]
    path.write_text("prob,label,tag\n" + "\n".join(rows) + "\n")
    return path


def shell(*arguments, stdin=None, **keywords):
    return subprocess.run([*HOWSURE, *map(str, arguments)], input=stdin, capture_output=True, timeout=120, **keywords)


def test_verdict_first_then_numbers_bins_and_curve(table, capsys):
    assert run(["check", str(table)]) == 0
    out = capsys.readouterr().out
    order = [out.index(s) for s in ("iscalibrat", "RMS error", "Bins of the probability q:", "● bin")]
    assert order == sorted(order)
    assert max(map(len, out.splitlines())) <= 80


def test_output_fits_80_columns_with_long_names(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("p,y,by\n" + "".join(f"{i / 1e6},{i % 2},{'long name ' * 9}{i % 60}\n" for i in range(600)))
    assert run(["check", str(path), "--by", "by", "--explain"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_json_is_the_result(table, capsys):
    assert run(["check", str(table), "--json", "--by", "tag", "--confidence", "0.9"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["n"] == 200
    assert made["confidence_level"] == 0.9
    assert {s["slice"] for s in made["slices"]} == {"NN", "a|b$c"}


def test_latex_is_escaped(table, capsys):
    assert run(["check", str(table), "--latex", "--by", "tag"]) == 0
    out = capsys.readouterr().out
    assert r"\begin{tabular}" in out
    assert r"a|b\$c" in out


def test_explain_names_every_number(table, capsys):
    assert run(["check", str(table), "--explain"]) == 0
    head, _, tail = capsys.readouterr().out.partition("What the numbers mean")
    for name in re.findall(r"^  (\w[\w ?-]*?)  ", head.split("Bins of the probability q:")[0], re.M):
        assert name == "rows" or f"  {name}\n" in tail, name


def test_gate(table, capsys):
    assert run(["check", str(table), "--fail-above", "0.9"]) == 0
    bad = table.with_name("bad.csv")
    bad.write_text("p,y\n" + "0.9,0\n" * 50)
    capsys.readouterr()
    assert run(["check", str(bad), "--fail-above", "0.05"]) == 1
    assert capsys.readouterr().err.startswith(
        "howsure: --fail-above 0.05: fails by shown-above: the error is shown to be"
    )


def test_a_small_file_is_not_mistaken_for_a_pass(table, capsys):
    small = table.with_name("small.csv")
    small.write_text("p,y\n" + "0.8,1\n" * 7 + "0.8,0\n" * 3)
    status = {}
    for rule in ("shown-above", "point", "shown-below"):
        status[rule] = run(["check", str(small), "--fail-above", "0.05", "--gate", rule, "--json"])
        judged = json.loads(capsys.readouterr().out)["gate"]
        assert judged == {"bound": 0.05, "rule": rule, "outcome": "undecided", "fails": bool(status[rule])}
    assert (status["shown-above"], status["shown-below"]) == (0, 1)
    assert run(["check", str(small), "--fail-above", "0.05"]) == 0
    assert "--fail-above 0.05: undecided by shown-above: these rows cannot tell" in capsys.readouterr().out
    assert run(["check", str(table), "--fail-above", "0.9", "--gate", "shown-below"]) == 0
    assert "passes by shown-below: the error is shown to be at most 0.9" in capsys.readouterr().out


def test_standard_input(table):
    done = shell("check", "-", "--json", stdin=table.read_bytes())
    assert done.returncode == 0
    assert json.loads(done.stdout)["n"] == 200
    assert json.loads(shell("check", table, "--json").stdout) == json.loads(done.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "give a file"),
        (["check", "nothing.csv"], "there is no file 'nothing.csv'"),
        (["check", "TABLE", "--prob", "prbo"], "Did you mean `prob`"),
        (["check", "TABLE", "--prb", "x"], "No such option"),
        (["check", "TABLE", "--bins", "ten"], "--bins must be"),
        (["check", "TABLE", "--confidence", "2"], "between 0.01 and 0.9999"),
        (["check", "TABLE", "--json", "--latex"], "cannot be combined"),
        (["check", "TABLE", "--where", "label = 1; drop table t"], "--where must be a single SQL expression"),
        (["chekc"], "No such command"),
    ],
)
def test_bad_input_is_one_line_and_status_2(table, arguments, message, capsys):
    arguments = [str(table) if a == "TABLE" else a for a in arguments]
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("howsure: ")
    assert message in err


def test_control_characters_in_data_do_not_reach_the_terminal(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text('p,y,"t"\n0.5,1,"\x1b[31mred"\n0.5,0,b\n0.2,1,b\n')
    assert run(["check", str(path), "--by", "t"]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", "-1"], "seed of 0 or more"),
        (["--bins", "²"], "--bins must be"),
        (["--confidence", "1e-17"], "between 0.01 and 0.9999"),
        (["--fail-above", "nan"], "must lie in [0, 1]"),
        (["--fail-above", "0.1", "--gate", "above"], "must be one of shown-above, point, shown-below"),
        (["--gate", "point"], "needs a bound"),
        (["--html", "TABLE"], "it is the input"),
        (["--html", "x.svg", "--plot", "x.svg"], "two outputs have the same name"),
        (["--html", "/dev/null"], "not a regular file"),
        (["--by", "x" * 5000], "has no column"),
    ],
)
def test_odd_options(table, arguments, message, capsys, monkeypatch):
    monkeypatch.chdir(table.parent)
    assert run(["check", str(table), *[str(table) if a == "TABLE" else a for a in arguments]]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""
    assert err.count("\n") == 1
    assert table.read_text().startswith("prob,")


def test_weight_and_slice_may_be_one_column(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("q,y,w\n0.1,0,1\n0.9,1,2\n0.8,1,2\n")
    assert run(["check", str(path), "--weight", "w", "--by", "w"]) == 0


def test_long_paths_full_disks_and_narrow_encodings(table):
    assert shell("check", "a" * 5000).returncode == 2
    with open("/dev/full", "w") as full:
        done = subprocess.run([*HOWSURE, "check", str(table)], stdout=full, stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") <= 2
    narrow = shell("check", table, env={**os.environ, "PYTHONIOENCODING": "cp1252"})
    assert narrow.returncode == 0


def test_version_help_and_closed_pipe(table):
    assert shell("--version").stdout.startswith(b"howsure ")
    assert b"Examples" in shell("check", "--help").stdout
    piped = subprocess.run(
        f"{' '.join(HOWSURE)} check {table} | head -1",
        shell=True,
        capture_output=True,
        timeout=120,
        env=os.environ,
    )
    assert piped.stderr == b""


def test_a_small_file_never_waits_for_a_compiler(table):
    code = (
        "import sys; from howsure.cli.application import run\n"
        f"run(['check', {str(table)!r}]); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_paper_prints_its_numbers_in_the_order_of_the_rows(tmp_path, capsys):
    """CSV, and Parquet in several row groups: tied rows stay as they stand in the file."""
    rng = np.random.default_rng(8)
    q = rng.integers(1, 10, 3000) / 10
    y = (rng.random(3000) < q).astype(int)
    csv, parquet = tmp_path / "ties.csv", tmp_path / "ties.parquet"
    csv.write_text("q,y\n" + "".join(f"{a},{b}\n" for a, b in zip(q, y, strict=True)))
    pq.write_table(pa.table({"q": q, "y": y}), parquet, row_group_size=500)
    expected = howsure.check_paper(y, q, bin_size=200).to_dict()
    for path in (csv, parquet):
        assert run(["check", str(path), "--paper", "--bins", "200", "--json"]) == 0
        made = json.loads(capsys.readouterr().out)
        assert made["to_the_letter"] == expected["to_the_letter"]
    html, plot = tmp_path / "paper.html", tmp_path / "paper.svg"
    assert run(["check", str(csv), "--paper", "--bins", "200", "--html", str(html), "--plot", str(plot)]) == 0
    out = capsys.readouterr().out
    for said in ("Algorithm 1", "Algorithm 2", "+ refinement", "Brier score", "not the paper's", "p̂ ± 1.96 se"):
        assert said in out
    assert max(map(len, out.splitlines())) <= 80 + len(str(tmp_path))
    assert "as in the paper" in html.read_text()
    assert "CalibErr" in plot.read_text()
    assert run(["check", str(csv), "--paper", "--groups", "y"]) == 2
    assert "--groups does not go with --paper" in capsys.readouterr().err
