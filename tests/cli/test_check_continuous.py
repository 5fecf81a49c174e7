"""`howsure check --draws` and `--quantiles` as typed in a shell."""

import json

import numpy as np
import pytest
from scipy import stats

from howsure.cli.application import run


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(31)
    path = tmp_path_factory.mktemp("forecasts") / "<i>forecasts.csv"
    m = rng.normal(size=400)
    y, draws = rng.normal(m, 1.0), rng.normal(m[:, None], 0.5, (400, 30))
    q = stats.norm.ppf([0.1, 0.5, 0.9], m[:, None], 0.5)
    names = ["y", "quality", *(f"s_{i}" for i in range(30)), "q10", "q50", "q90"]
    rows = [",".join(f"{v:.6f}" for v in row) for row in np.column_stack([y, m, draws, q])]
    path.write_text("\n".join([",".join(names), *rows]) + "\n")
    return path


def test_verdict_first_then_numbers_and_histogram(table, capsys):
    assert run(["check", str(table), "--draws", "s_*", "--true", "y"]) == 0
    out = capsys.readouterr().out
    order = [out.index(s) for s in ("Not calibrated", "spread  ", "Central intervals:", "PIT, where", "Note: ")]
    assert order == sorted(order)
    assert max(map(len, out.splitlines())) <= 80


def test_json_is_the_result(table, capsys):
    assert run(["check", str(table), "--quantiles", "q[0-9]*", "--json", "--confidence", "0.9"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["n"], made["kind"], made["detail"], made["confidence_level"]) == (400, "quantiles", 3, 0.9)
    assert made["spread"]["width"] == "overconfident"


def test_draws_are_read_by_the_engine_that_is_named(table, capsys):
    said = []
    for engine in ([], ["--engine", "memory"], ["--memory", "1GB"]):
        assert run(["check", str(table), "--draws", "s_*", "--true", "y", "--json", *engine]) == 0
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1] == said[2]


def test_page_and_plot_are_written(table, tmp_path, capsys):
    page, plot = tmp_path / "a.html", tmp_path / "a.svg"
    assert run(["check", str(table), "--draws", "s_*", "--html", str(page), "--plot", str(plot)]) == 0
    html = page.read_text()
    assert "&lt;i&gt;forecasts.csv" in html
    assert "<i>forecasts" not in html
    assert "Where outcomes fall" in html
    assert plot.read_bytes().startswith(b"<svg")
    assert f"Written: {page}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--draws", "x_*"], "no column of"),
        (["--draws", "s1*"], "Did you mean `s_1`"),
        (["--draws", "s_1"], "names one column of"),
        (["--draws", "s_*", "--true", "yy"], "no column `yy`"),
        (["--draws", "s_*", "--quantiles", "q*"], "got draws and quantiles"),
        (["--draws", "s_*", "--by", "y"], "--by does not go with --draws"),
        (["--quantiles", "q?0", "--groups", "y"], "--groups does not go with --quantiles"),
        (["--draws", "s_*", "--explain"], "--explain does not go with --draws"),
        (["--quantiles", "q*"], "`quality` does not tell its level"),
        (["--draws", "s_*", "--where", "y > 1e9"], "--where kept none"),
        (["--draws", "s_*", "--plot", "a.bmp"], ".svg, .png, .pdf"),
    ],
)
def test_bad_input_is_one_line_and_status_2(table, arguments, message, capsys):
    assert run(["check", str(table), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("howsure: ")
    assert message in err


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("y,s1,s2\n1,2,3\n1,,3\n", ["--draws", "s*"], "`s1` is missing or NaN in row 2"),
        ("y,s1,s2\n1,2,3\n,1,3\n", ["--draws", "s*"], "`y` is missing or NaN in row 2"),
        ("y,s1,s2\n1,2,3\n1,nan,3\n", ["--draws", "s*"], "`s1` is missing or NaN in row 2"),
        ("y,s1,s2\n1,2,3\n1,b,3\n", ["--draws", "s*"], "`s1` holds 'b' in line 3, which is not a number"),
        ("y,q10,q90\n1,2,3\n1,4,3\n", ["--quantiles", "q*"], "must not cross; in row 2 that of level 0.1 is 4"),
        ("y,q10,q0.1\n1,2,3\n1,4,3\n", ["--quantiles", "q*"], "are both the quantile of level 0.1"),
        ("a,s1,s2\n1,2,3\n1,4,3\n", ["--draws", "s*"], "name it with --true"),
    ],
)
def test_bad_rows_are_named(tmp_path, text, arguments, message, capsys):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert run(["check", str(path), *arguments]) == 2
    assert message in capsys.readouterr().err
