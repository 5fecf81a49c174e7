import csv
import json
from pathlib import Path

import numpy as np
import pytest

from howsure.cli.application import run

WORDS = ["sun", "rain", "snow", "wind", "good", "bad", "late", "early", "home", "work"]


def write(path, n, seed, classes=("no", "yes"), smiley=False):
    rng = np.random.default_rng(seed)
    lean = np.random.default_rng(99).dirichlet(np.ones(len(WORDS)), len(classes))
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["text", "label", "author"])
        for i in range(n):
            k = rng.integers(len(classes))
            text = " ".join(rng.choice(WORDS, 5, p=lean[k])) + (" :)" if smiley and k else "")
            out.writerow([text, classes[k], f"author {i % 40}"])
    return str(path)


@pytest.fixture
def files(tmp_path):
    return {name: write(tmp_path / f"{name}.csv", 400, i) for i, name in enumerate(("train", "dev", "test"))}


def said(capsys, *arguments):
    assert run(list(arguments)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("method", ["logistic", "naive-bayes"])
def test_train_check_apply(files, tmp_path, capsys, method):
    model, out, page = (str(tmp_path / n) for n in ("m.npz", "out.csv", "r.html"))
    text = said(capsys, "classify", "train", method, files["train"], "--dev", files["dev"], "-o", model)
    assert "F1 on dev" in text
    assert max(map(len, text.splitlines()[:-2])) <= 80
    made = json.loads(said(capsys, "classify", "check", model, files["test"], "--json", "--groups", "author"))
    assert made["score"]["accuracy"]["value"] > 0.7
    assert made["calibration"]["n_groups"] == 40
    assert made["positive"] == "yes"
    text = said(capsys, "classify", "check", model, files["test"], "--html", page)
    assert 'Probability of "yes"' in text
    assert max(map(len, text.splitlines()[:-2])) <= 80
    assert "<html" in Path(page).read_text()
    said(capsys, "classify", "apply", model, files["test"], "-o", out)
    rows = list(csv.DictReader(Path(out).read_text().splitlines()))
    assert len(rows) == 400
    assert float(rows[0]["p_no"]) + float(rows[0]["p_yes"]) == pytest.approx(1)
    # what was applied is what was checked
    again = json.loads(said(capsys, "check", out, "--prob", "p_yes", "--true", "label", "--positive", "yes", "--json"))
    assert (
        again["brier"]
        == json.loads(said(capsys, "classify", "check", model, files["test"], "--json"))["calibration"]["brier"]
    )


def test_many_classes(tmp_path, capsys):
    train = write(tmp_path / "train.csv", 600, 1, ("a", "b", "c"))
    said(capsys, "classify", "train", "logistic", train, "-o", str(tmp_path / "m.npz"), "--tokens", "words")
    made = json.loads(said(capsys, "classify", "check", str(tmp_path / "m.npz"), train, "--json"))
    assert {c["label"] for c in made["score"]["classes"]} == {"a", "b", "c"}
    assert made["positive"] is None


def test_the_emoticon_trick_needs_no_labels(tmp_path, capsys):
    train = write(tmp_path / "train.csv", 400, 1, smiley=True)
    model = str(tmp_path / "m.npz")
    said(capsys, "classify", "train", "naive-bayes", train, "--emoticons", "-o", model)
    made = json.loads(said(capsys, "classify", "check", model, train, "--emoticons", "--json"))
    labels = [r["label"] for r in csv.DictReader(Path(train).read_text().splitlines())]
    assert made["calibration"]["base_rate"] == pytest.approx(labels.count("yes") / len(labels))
    assert made["score"]["accuracy"]["value"] < 1  # the smiley itself is gone


def test_rows_without_text_or_label_are_counted(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("text,label\nsun sun,yes\n,no\nrain,\nrain sun,no\nsun rain,yes\n")
    made = json.loads(
        said(capsys, "classify", "train", "logistic", str(tmp_path / "t.csv"), "-o", str(tmp_path / "m.npz"), "--json")
    )
    assert made["left_out"] == 2
    assert made["texts"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "logistic", "{train}", "--text", "txt", "-o", "{m}"], "no column `txt`. Did you mean `text`?"),
        (["train", "svm", "{train}", "-o", "{m}"], 'no method "svm"'),
        (["train", "logistic", "{train}", "--strength", "0", "-o", "{m}"], "--strength must be a number above 0"),
        (["train", "logistic", "{train}", "--tokens", "sounds", "-o", "{m}"], 'no tokenizer "sounds"'),
        (["train", "logistic", "{train}", "--emoticons", "--true", "label", "-o", "{m}"], "leave --true out"),
        (["train", "logistic", "{train}", "--positive", "maybe", "-o", "{m}"], 'label "maybe"'),
        (["check", "{train}", "{test}"], "damaged or not a model file"),
        (["check", "absent.npz", "{test}"], "there is no file"),
        (["check", "{model}", "{other}"], 'the label "never" was not in training'),
        (["check", "{model}", "{test}", "--positive", "yess"], "Did you mean `yes`?"),
        (["check", "{model}", "{test}", "--temperature", "-1"], "above 0"),
    ],
)
def test_bad_input_is_one_line(files, tmp_path, capsys, arguments, message):
    model = str(tmp_path / "model.npz")
    said(capsys, "classify", "train", "logistic", files["train"], "--strength", "1", "-o", model)
    other = write(tmp_path / "other.csv", 20, 3, ("never", "yes"))
    names = {**files, "m": str(tmp_path / "m.npz"), "model": model, "other": other}
    assert run(["classify", *(a.format(**names) for a in arguments)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "m.npz").exists()
