"""Many classes as people have them: slices, percentages, logarithms, logits, rows that miss something."""

import json

import numpy as np
import pytest

import howsure
from howsure import InputError
from howsure.cli.application import run


def three(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.7, 1.0, 0.8], n)
    y = (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    return p, y, np.array(["u", "v"])[rng.integers(0, 2, n)]


def written(path, p, y, team, form="{:.6f}"):
    rows = [
        ",".join([*(form.format(v) if v == v else "" for v in row), y_, t])
        for row, y_, t in zip(p, y, team, strict=True)
    ]
    path.write_text("p_a,p_b,p_c,gold,team\n" + "\n".join(rows) + "\n")
    return path


def test_slices_are_those_rows_alone():
    p, y, team = three()
    made = howsure.check(y, p, by=team, groups=np.arange(400) // 4)
    assert made.top.by == "by"
    assert {s.name for s in made.top.slices} == {"u", "v"}
    for s in made.top.slices:
        mine = team == s.name
        alone = howsure.check(y[mine], p[mine], groups=(np.arange(400) // 4)[mine])
        assert s.calibration.error.value == pytest.approx(alone.top.error.value, abs=1e-12)
        assert s.calibration.n == mine.sum()
        assert s.adjusted_p_value >= s.calibration.p_value - 1e-12
    assert [row[""] for row in made.table()][:3] == ["all", *(f"by: {s.name}" for s in made.top.slices)]
    assert "by: u" in made.to_latex()


def test_slices_in_the_shell_and_on_the_page(tmp_path, capsys):
    p, y, team = three()
    path = written(tmp_path / "t.csv", p, np.array(list("abc"))[y], team)
    page = tmp_path / "page.html"
    assert run(["check", str(path), "--prob", "p_*", "--true", "gold", "--by", "team", "--html", str(page)]) == 0
    said = capsys.readouterr().out
    assert "The predicted class by team, worst first:" in said
    assert "ECE, predicted" in said
    assert max(map(len, said.split("Written")[0].splitlines())) <= 80
    assert "The predicted class by team" in page.read_text()
    assert run(["check", str(path), "--prob", "p_*", "--true", "gold", "--by", "team", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {s["slice"] for s in found["slices"]} == {"u", "v"}
    assert found["ece"]["low"] <= found["ece"]["value"] <= found["ece"]["high"]


def test_scales_are_recognised_or_asked_for(tmp_path, capsys):
    p, y, team = three()
    gold = np.array(list("abc"))[y]
    plain = howsure.check(y, p)
    percent = howsure.check(y, 100 * p)
    assert percent.top.error.value == pytest.approx(plain.top.error.value, abs=1e-9)
    assert "read as percentages" in percent.top.notes[0]
    for scale, numbers in (("percent", 100 * p), ("logprob", np.log(p)), ("logit", np.log(p) + 3.7)):
        again = howsure.check(y, numbers, scale=scale)
        assert again.top.error.value == pytest.approx(plain.top.error.value, abs=1e-9)
    with pytest.raises(InputError, match="are these log-probabilities"):
        howsure.check(y, np.log(p))
    with pytest.raises(InputError, match="are these logits"):
        howsure.check(y, np.log(p) + 3.7)
    one_slip = p.copy()
    one_slip[17] = [1.3, 0.0, 0.0]
    with pytest.raises(InputError, match=r"got 1\.3 in index 17"):
        howsure.check(y, one_slip)
    path = written(tmp_path / "log.csv", np.log(p), gold, team)
    assert run(["check", str(path), "--prob", "p_*", "--true", "gold"]) == 2
    assert "pass --scale logprob" in capsys.readouterr().err


def test_rows_that_miss_something_are_left_out_and_counted(tmp_path, capsys):
    p, y, team = three()
    gold = np.array(list("abc"), dtype=object)[y]
    holes, labels = p.copy(), gold.copy()
    holes[3, 1], labels[8] = np.nan, ""
    path = written(tmp_path / "t.csv", holes, labels, team)
    made = howsure.check(path, prob="p_*", true="gold")
    kept = np.delete(np.arange(400), [3, 8])
    assert made.n == 398
    assert made.top.error.value == pytest.approx(howsure.check(y[kept], p[kept].round(6)).top.error.value, abs=1e-6)
    assert made.top.notes[0] == (
        "2 of 400 rows have no `gold` (1) or no `p_*` (1): left out (`missing='error'` refuses instead)."
    )
    assert run(["check", str(path), "--prob", "p_*", "--true", "gold", "--missing", "error"]) == 2
    assert "the first of them row 4" in capsys.readouterr().err
    # Numbers of rows in other complaints do not move.
    holes[9] = [0.5, 0.5, 0.5]
    with pytest.raises(InputError, match=r"sums to 1\.5 in row 10"):
        howsure.check(written(path, holes, labels, team), prob="p_*", true="gold")
