"""Probabilities of many classes: arrays, wide columns, lists, maps, structs."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import howsure
from howsure.calibration.multiclass import risk_coverage
from howsure.calibration.sketch import sketch_rows
from howsure.cli.application import run


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(35)
    logits = rng.normal(0, 1.5, (1500, 4))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(4, p=p) for p in truth])
    sharp = np.exp(1.6 * logits) / np.exp(1.6 * logits).sum(axis=1, keepdims=True)
    return y, sharp


def test_two_classes_are_the_binary_result():
    rng = np.random.default_rng(36)
    q = rng.beta(0.5, 0.5, 800)
    y = (rng.random(800) < q**1.3).astype(int)
    binary, many = howsure.check(y, q), howsure.check(y, np.column_stack([1 - q, q]))
    of_one = next(s.calibration for s in many.per_class if s.name == "1")
    assert of_one.error == binary.error
    assert of_one.p_value == binary.p_value
    assert many.pooled.error.low <= binary.error.value <= many.pooled.error.high
    assert many.pooled.brier.value == pytest.approx(binary.brier.value)
    assert many.brier == pytest.approx(2 * binary.brier.value)
    assert many.log_loss == pytest.approx(binary.log_loss.value)


def test_parts_equal_their_definitions(rows):
    y, p = rows
    m = howsure.check(y, p)
    top = howsure.check(p.argmax(1) == y, p.max(1))
    assert m.top.error == top.error
    assert m.accuracy == np.mean(p.argmax(1) == y)
    events = np.eye(4)[y].ravel()
    assert m.pooled.brier.value == pytest.approx(np.mean((events - p.ravel()) ** 2))
    assert m.pooled.n_groups == 1500
    assert m.brier == pytest.approx(np.mean(np.sum((np.eye(4)[y] - p) ** 2, axis=1)))
    squares = [howsure.check(y == k, p[:, k]).error_squared.value for k in range(4)]
    assert m.class_wise == pytest.approx(np.sqrt(np.mean(squares)))
    assert "too high" in m.verdict
    json.dumps(m.to_dict(), allow_nan=False)


def test_risk_coverage_against_a_plain_loop(rows):
    y, p = rows
    confidence, right = p.max(1), p.argmax(1) == y
    curve = risk_coverage(sketch_rows(right, confidence), points=1500)
    order = np.argsort(-confidence)
    accuracy = np.cumsum(right[order]) / np.arange(1, 1501)
    assert curve.accuracy == pytest.approx(accuracy)
    assert curve.area == pytest.approx(np.mean(1 - accuracy))
    assert curve.at(1.0) == pytest.approx(right.mean())
    assert curve.at(0.5) == pytest.approx(accuracy[749])


def test_every_layout_gives_the_same_numbers(rows, tmp_path):
    y, p = rows
    names = ["a", "b b", "<c>", "d"]
    expected = howsure.check([names[i] for i in y], p, classes=names)
    wide = pd.DataFrame(p, columns=[f"p_{n}" for n in names]).assign(gold=[names[i] for i in y])
    wide.to_csv(tmp_path / "wide.csv", index=False)
    with (tmp_path / "struct.jsonl").open("w") as out:
        for i, row in zip(y, p, strict=True):
            out.write(json.dumps({"probs": dict(zip(names, row.tolist(), strict=True)), "gold": names[i]}) + "\n")
    pq.write_table(pa.table({"probs": list(p), "gold": y}), tmp_path / "list.parquet")
    maps = pa.array([list(zip(names, r, strict=True)) for r in p.tolist()], pa.map_(pa.string(), pa.float64()))
    pq.write_table(pa.table({"probs": maps, "gold": [names[i] for i in y]}), tmp_path / "map.parquet")
    for file, prob in (
        ("wide.csv", "p_*"),
        ("struct.jsonl", "probs"),
        ("list.parquet", "probs"),
        ("map.parquet", "probs"),
    ):
        made = howsure.check(tmp_path / file, prob=prob, true="gold")
        assert made.top.error.value == pytest.approx(expected.top.error.value, rel=1e-9), file
        assert sorted(s.calibration.error.value for s in made.per_class) == pytest.approx(
            sorted(s.calibration.error.value for s in expected.per_class)
        )
    assert howsure.check(wide, prob="p_*").classes == tuple(names)


def test_shell_page_and_gate(rows, tmp_path, capsys):
    y, p = rows
    pd.DataFrame(p, columns=list("abcd")).add_prefix("p_").assign(gold=[f"{'abcd'[i]}" for i in y]).to_csv(
        tmp_path / "w.csv", index=False
    )
    page = tmp_path / "r.html"
    assert run(["check", str(tmp_path / "w.csv"), "--prob", "p_*", "--true", "gold", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Of the predicted class's probability")
    assert max(len(line) for line in out.splitlines() if not line.startswith("Written")) <= 80, out
    assert "If the least sure were left out" in page.read_text()
    assert run(["check", str(tmp_path / "w.csv"), "--prob", "p_*", "--fail-above", "0.01"]) == 1


@pytest.mark.parametrize(
    ("y", "p", "keywords", "message"),
    [
        ([0, 1], [[0.5, 0.5], [0.4, 0.4]], {}, r"sums to 0.8 in index 1, not to one; divide by the sum"),
        ([0, 2], [[0.5, 0.5], [0.4, 0.6]], {}, r"class numbers from 0 to 1; got .*2.* in index 1"),
        (
            ["a", "x"],
            [[0.5, 0.5], [0.4, 0.6]],
            {"classes": ["a", "b"]},
            r"is 'x' in index 1, which is none of the classes",
        ),
        (
            [0, 1],
            [[0.5, 0.5], [np.nan, 0.6]],
            {"missing": "error"},
            "1 of 2 rows has no `y_prob`, the first of them index 1",
        ),
        ([0, 1], [[0.5, 0.5], [-0.1, 1.1]], {}, r"must lie in \[0, 1\]; got -0.1 in index 1"),
        ([0, 1], [[0.5, 0.5], [0.5, 0.5]], {"classes": ["a"]}, "names 1 classes, but `y_prob` has 2 columns"),
        (
            [0, 1],
            [[0.5, 0.5], [0.5, 0.5]],
            {"sample_weight": [1, 2]},
            "does not go with the probabilities of many classes",
        ),
        ([0], [[0.5, 0.5], [0.5, 0.5]], {}, "lengths differ"),
    ],
)
def test_bad_input(y, p, keywords, message):
    with pytest.raises(howsure.InputError, match=message):
        howsure.check(y, p, **keywords)


def test_normalise_and_patterns_that_match_nothing(tmp_path):
    assert howsure.check([0, 1, 1], [[2, 2], [1, 3], [1, 1]], normalise=True).n == 3
    (tmp_path / "a.csv").write_text("p_a,p_b,gold\n0.5,0.5,a\n")
    with pytest.raises(howsure.InputError, match="names 0 of the columns"):
        howsure.check(tmp_path / "a.csv", prob="q_*")


@pytest.mark.corpus
def test_relation_probabilities(corpora):
    m = howsure.check(
        corpora / "relation-probabilities" / "predictions.jsonl", prob="relation_probs", true="gold_relation"
    )
    assert (m.n, len(m.classes)) == (1759, 36)
    assert m.top.error.low > 0.4
