"""`howsure recalibrate` as typed in a shell."""

import json
import subprocess
import sys

import numpy as np
import pytest

from howsure.cli.application import run
from howsure.data import demo_table


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(600)
    q, y = p**2 / (p**2 + (1 - p) ** 2), rng.random(600) < p
    path = tmp_path / "dev.csv"
    path.write_text(
        "q,y,doc,p_0,p_1\n"
        + "".join(f"{a},{int(b)},{i // 5},{1 - a},{a}\n" for i, (a, b) in enumerate(zip(q, y, strict=True)))
    )
    return path


def test_fit_says_what_it_gains_and_apply_adds_a_column(table, capsys):
    cal, out = table.with_name("cal.json"), table.with_name("out.csv")
    assert run(["recalibrate", "fit", str(table), "-o", str(cal)]) == 0
    said = capsys.readouterr().out
    order = [said.index(s) for s in ("Recalibrate by", "5-fold cross-validation", "none", "best", "Fitted", "Written")]
    assert order == sorted(order)
    assert max(map(len, said.replace(str(cal), "cal.json").splitlines())) <= 80
    assert run(["recalibrate", "apply", str(cal), str(table), "-o", str(out)]) == 0
    assert "600 rows with the new column `q_recalibrated`" in " ".join(capsys.readouterr().out.split())
    assert out.read_text().startswith("q,y,doc,p_0,p_1,q_recalibrated\n")
    assert len(out.read_text().splitlines()) == 601


def test_json_and_groups(table, capsys):
    cal = table.with_name("cal.json")
    assert run(["recalibrate", "fit", str(table), "-o", str(cal), "--groups", "doc", "--json", "--method", "beta"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["n_groups"] == 120
    assert made["method"] == "beta"
    assert made["recalibrator"] == json.loads(cal.read_text())
    assert run(["recalibrate", "apply", str(cal), str(table), "-o", str(table.with_name("o.parquet")), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 600


def test_declining_is_said_and_saved(tmp_path, capsys):
    rng = np.random.default_rng(5)
    p = rng.random(300).round(6)
    path, cal, out = (tmp_path / n for n in ("a.csv", "cal.json", "out.csv"))
    path.write_text("p,y\n" + "".join(f"{a},{int(b)}\n" for a, b in zip(p, rng.random(300) < p, strict=True)))
    assert run(["recalibrate", "fit", str(path), "-o", str(cal)]) == 0
    assert "Leave the probabilities as they are" in capsys.readouterr().out
    assert run(["recalibrate", "apply", str(cal), str(path), "-o", str(out)]) == 0
    made = [line.split(",") for line in out.read_text().splitlines()[1:]]
    assert all(float(a) == float(b) for a, _, b in made)


def test_a_column_a_class(table, capsys):
    cal, out = table.with_name("cal.json"), table.with_name("out.tsv")
    assert run(["recalibrate", "fit", str(table), "-o", str(cal), "--prob", "p_*", "--true", "y"]) == 0
    assert json.loads(cal.read_text())["classes"] == ["0", "1"]
    assert run(["recalibrate", "apply", str(cal), str(table), "-o", str(out)]) == 0
    assert out.read_text().splitlines()[0].endswith("p_0_recalibrated\tp_1_recalibrated")


def test_the_demo_table(tmp_path, capsys):
    cal = tmp_path / "cal.json"
    assert run(["recalibrate", "fit", demo_table(), "-o", str(cal), "--where", "tag = 'NUM'"]) == 0
    assert "585 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "TABLE"], "Missing option --out or -o"),
        (["fit", "nothing.csv", "-o", "CAL"], "there is no file 'nothing.csv'"),
        (["fit", "TABLE", "-o", "/no/such/cal.json"], "there is no folder"),
        (["fit", "TABLE", "-o", "CAL", "--prob", "qq"], "Did you mean `q`"),
        (["fit", "TABLE", "-o", "CAL", "--method", "isotonc"], "Did you mean `isotonic`"),
        (["fit", "TABLE", "-o", "CAL", "--where", "q > 2"], "--where kept none"),
        (["fit", "TABLE", "-o", "CAL", "--prob", "p_*_*", "--true", "y"], "must hold one *"),
        (["fit", "TABLE", "-o", "CAL", "--prob", "p_*", "--true", "y", "--logits"], "not a glob"),
        (["apply", "TABLE", "TABLE", "-o", "OUT"], "is not a saved recalibrator"),
        (["apply", "nothing.json", "TABLE", "-o", "OUT"], "nothing.json cannot be read"),
        (["aply"], "No such command 'aply'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(table, arguments, message, capsys):
    names = {"TABLE": table, "CAL": table.with_name("cal.json"), "OUT": table.with_name("out.csv")}
    assert run(["recalibrate", *[str(names.get(a, a)) for a in arguments]]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("howsure: ")
    assert message in err
    assert [p.name for p in table.parent.iterdir()] == ["dev.csv"]


def test_help_shows_examples_and_stdin_works(table):
    for command in ("fit", "apply"):
        done = subprocess.run(
            [sys.executable, "-m", "howsure", "recalibrate", command, "--help"], capture_output=True, timeout=120
        )
        assert b"Examples" in done.stdout
    cal = table.with_name("cal.json")
    done = subprocess.run(
        [sys.executable, "-m", "howsure", "recalibrate", "fit", "-", "-o", str(cal), "--json"],
        input=table.read_bytes(),
        capture_output=True,
        timeout=120,
    )
    assert json.loads(done.stdout)["n"] == 600
