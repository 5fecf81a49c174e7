"""`howsure score` and `howsure compare --pred`, in Python and in the shell."""

import json

import numpy as np
import pandas as pd
import pytest

import howsure
from howsure.cli.application import run


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    n = 1200
    names = np.array(["normal", "spam <b>", "urgent"])
    gold = rng.choice(names, n, p=[0.5, 0.3, 0.2])
    pa, pb = rng.beta(5, 2, n), rng.beta(8, 1, n)
    made = {"gold": gold, "doc": np.arange(n) // 12, "pa": pa, "pb": pb}
    for name, p in (("a", pa), ("b", pb)):
        made[name] = np.where(rng.random(n) < p, gold, names[(np.searchsorted(names, gold) + 1) % 3])
    made["gold2"] = np.where(rng.random(n) < 0.97, gold, "normal")
    return pd.DataFrame(made)


@pytest.fixture
def path(frame, tmp_path):
    frame.to_csv(tmp_path / "p.csv", index=False)
    return str(tmp_path / "p.csv")


def test_score_in_the_shell(frame, path, tmp_path, capsys):
    arguments = ["score", path, "--true", "gold", "--pred", "a", "--groups", "doc", "--second", "gold2"]
    page, plot = tmp_path / "s.html", tmp_path / "s.svg"
    assert run([*arguments, "--html", str(page), "--plot", str(plot)]) == 0
    out = capsys.readouterr().out
    assert "accuracy (95% interval" in out.splitlines()[0]
    assert "Confusion matrix" in out
    assert "There is room" in out.replace("\n", " ")
    assert max(map(len, out.replace(str(tmp_path), "").splitlines())) <= 80
    html = page.read_text()
    assert "spam &lt;b&gt;" in html
    assert "spam <b>" not in html
    assert plot.read_bytes().startswith(b"<svg")
    assert run([*arguments, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    direct = howsure.score(frame.gold, frame.a, groups=frame.doc, second=frame.gold2)
    assert made["accuracy"] == direct.to_dict()["accuracy"]
    assert made["accuracy"]["value"] == (frame.gold == frame.a).mean()
    assert made["ceiling"]["accuracy"]["value"] == (frame.gold == frame.gold2).mean()
    assert "<svg" in direct._repr_html_()


def test_one_answer_from_labels_and_probabilities(frame, path, tmp_path, capsys):
    page = tmp_path / "c.html"
    arguments = ["compare", path, "--true", "gold", "--pred", "a,b", "--prob", "pa,pb", "--metric", "macro-f1"]
    assert run([*arguments, "--groups", "doc", "--planned", "300", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("b is better than a by ")
    assert "b's probabilities are not found to be wrong (an RMS error above" in out.replace("\n", " ")
    assert max(map(len, out.replace(str(tmp_path), "").splitlines())) <= 80
    assert "Their probabilities" in page.read_text()
    assert run([*arguments, "--groups", "doc", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    right = howsure.check((frame.gold == frame.b).to_numpy(), frame.pb, groups=frame.doc)
    assert made["calibration"]["models"]["b"]["error"] == pytest.approx(right.to_dict()["error"])
    assert made["pairs"][0]["difference"]["low"] < made["pairs"][0]["effect_size"] < 0


def test_positive_makes_it_f1_and_its_probability(frame):
    y = (frame.gold == "urgent").to_numpy()
    q = np.where(y, 0.7, 0.1)
    made = howsure.compare(frame.gold, {"qa": q, "qb": q}, y_preds={"a": frame.a, "b": frame.b}, positive="urgent")
    assert made.metric == "f1"
    assert made.calibration.calibrations[0].base_rate == y.mean()
    assert made.calibration.calibrations[0].brier.value == pytest.approx(np.mean((y - q) ** 2))


def test_many_systems_are_adjusted(frame):
    preds = {"a": frame.a, "a again": frame.a, "b": frame.b, "gold2": frame.gold2}
    made = howsure.compare(frame.gold, y_preds=preds, samples=500)
    assert len(made.duels) == 6
    assert made.duels[0].tests[0].p_value == 1.0  # a against itself
    assert all(d.adjusted_p_value >= d.tests[0].p_value for d in made.duels)
    assert made.verdict.startswith("By accuracy: gold2")
    assert "<svg" in made._repr_html_()


def test_three_tags_columns(frame):
    rng = np.random.default_rng(1)
    tags = rng.choice(["O", "B-x", "I-x"], 600)
    said = {k: np.where(rng.random(600) < r, tags, "O") for k, r in (("a", 0.7), ("b", 0.95))}
    made = howsure.compare(tags, y_preds=said, metric="span-f1", sentence=np.arange(600) // 10, samples=1000)
    alone = howsure.score(tags, said["a"], sentence=np.arange(600) // 10, spans=True)
    assert made.systems[0].value.to_dict() == pytest.approx(alone.micro.f.to_dict())
    assert made.duels[0].difference.p_value < 0.01


def test_rows_without_a_label_are_counted(frame):
    holed = frame.head(100).copy()
    holed["gold"] = holed["gold"].astype(object)
    holed["a"] = holed["a"].astype(object)
    holed.loc[[3, 4], "gold"] = None
    holed.loc[[4, 9], "a"] = np.nan
    made = howsure.score(holed, true="gold", pred="a")
    assert made.n == 97
    assert dict(made.left_out) == {"gold": 2, "a": 1}
    assert "3 rows left out: 2 without gold, 1 without a." in made.verdict


def test_whole_numbers_are_labels_however_stored():
    table = pd.DataFrame({"gold": [1, 2, 1, 2], "pred": [1.0, 2.0, 2.0, None]})
    made = howsure.score(table, true="gold", pred="pred")
    assert (made.n, made.accuracy.value) == (3, pytest.approx(2 / 3))
    assert [c.label for c in made.classes] == ["1", "2"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: howsure.score([1, 2, 3], [1, 2]), "lengths differ: `y_true` has 3, `y_pred` has 2"),
        (lambda: howsure.score(["a", "b"], ["0", "1"]), "have no label in common: 'a', 'b' against '0', '1'"),
        (lambda: howsure.score([1, 2]), "give the system's labels too"),
        (lambda: howsure.score(["a"], ["a"], groups=[1]), "one group"),
        (lambda: howsure.score(["a", "b"], [None, None]), "no row has all its labels: 2 without y_pred"),
        (lambda: howsure.score(["a", "b"], ["a", "b"], groups=["d", None]), "`groups` is missing in index 1"),
        (lambda: howsure.compare([0, 1], y_preds={"a": [0, 1]}), "two systems"),
        (lambda: howsure.compare([0, 1], y_preds={"a": [0, 1], "b": [0]}), "lengths differ"),
        (lambda: howsure.compare([0, 1], y_preds={"a": [0, 1], "b": [0, 1]}, metric="f1"), "`positive=`"),
        (
            lambda: howsure.compare([0, 1], y_preds={"a": [0, 1], "b": [0, 1]}, metric="macrof1"),
            "Did you mean `macro-f1`",
        ),
        (lambda: howsure.compare([0, 1], y_preds={"a": [0, 1], "b": [0, 1]}, positive=7), "no label equals"),
        (
            lambda: howsure.compare([0, 1], {"a": [0.1, 1]}, y_preds={"a": [0, 1], "b": [0, 1]}),
            "each system needs its own",
        ),
        (lambda: howsure.compare([0, 1], {"a": [0.1, 1], "b": [0, 1]}, metric="f1"), "`metric=` is about labels"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises(howsure.InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "TABLE", "--true", "gold", "--pred", "sistem"], "no column `sistem`"),
        (["score", "TABLE", "--true", "gold"], "--pred"),
        (["compare", "TABLE", "--true", "gold", "--pred", "a"], "--pred a,b"),
        (["compare", "TABLE", "--true", "gold", "--pred", "a,a"], "may be named once"),
        (["compare", "TABLE", "--true", "gold", "--pred", "a,b", "--prob", "pa"], "each system needs its own"),
        (["compare", "TABLE", "--true", "gold", "--pred", "a,b", "--by", "doc"], "--by"),
    ],
)
def test_bad_calls_in_the_shell(path, arguments, message, capsys):
    assert run([path if a == "TABLE" else a for a in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_one_class_only():
    made = howsure.score(["a", "a", "a"], ["a", "a", "a"])
    assert made.accuracy.value == 1.0
    assert "single class" in made.notes[0]
    both = howsure.compare(["a", "a"], y_preds={"x": ["a", "a"], "y": ["a", "b"]})
    assert "single class" in " ".join(both.notes)
    json.dumps([made.to_dict(), both.to_dict()], allow_nan=False)


def test_labels_that_differ_only_in_case_or_spaces_are_pointed_out():
    gold = ["cat", "dog", "cat", "dog"]
    note = "Counted as different labels, though only case or spaces differ: 'Cat'/'cat'."
    assert note in howsure.score(gold, ["Cat", "dog", "cat", "dog"]).notes
    assert note in howsure.compare(gold, y_preds={"a": ["Cat", "dog", "cat", "dog"], "b": gold}, samples=50).notes
    with pytest.raises(howsure.InputError, match=r"no label in common.*Only case or spaces differ"):
        howsure.score(gold, ["Cat", "Dog ", "Cat", "Dog "])
