"""k folds: what is trained on what, the average, and intervals that know of shared training data."""

import json
import math

import numpy as np
import pytest

import howsure
from howsure.cli.application import run
from howsure.corpora.tagged import read_tagged
from howsure.errors import InputError
from howsure.evaluation.cross_validation import fold_difference, fold_interval
from howsure.verbs.classify import cv_classifier
from howsure.verbs.cross_validation import cross_validated
from howsure.verbs.tagger import cv_tagger


def test_every_item_is_predicted_by_a_model_that_did_not_see_it():
    rng = np.random.default_rng(1)
    gold = rng.choice(["a", "b", "c"], 90)
    part = rng.integers(0, 6, 90)
    said = rng.choice(["a", "b", "c"], 90)
    asked = []

    def trained(train, test):
        assert not set(train.tolist()) & set(test.tolist())
        assert len(train) + len(test) == 90
        asked.append(test)
        return said[test], np.full(len(test), 0.5), ["a"] * len(test)

    made = cross_validated(gold, part, trained, method="m", what="items", baseline="always a")
    assert sorted(np.concatenate(asked).tolist()) == list(range(90))
    by_fold = [np.mean(said[part == f] == gold[part == f]) for f in range(6)]
    base = [np.mean(gold[part == f] == "a") for f in range(6)]
    assert [f.accuracy for f in made.folds] == pytest.approx(by_fold)
    assert made.accuracy.value == pytest.approx(np.mean(by_fold))
    assert made.score.accuracy.value == pytest.approx(np.mean(said == gold))
    assert made.gain.value == pytest.approx(np.mean(by_fold) - np.mean(base))
    assert made.baseline_accuracy == pytest.approx(np.mean(base))


def test_the_corrected_interval_by_hand():
    """Five folds of 20: Var = (1/5 + 20/80) s², t with 4 degrees of freedom (2.776)."""
    scores = [0.7, 0.75, 0.8, 0.65, 0.6]
    half = 2.7764451 * math.sqrt((0.2 + 0.25) * np.var(scores, ddof=1))
    made = fold_interval(scores, [20] * 5, 0.95)
    assert (made.value, made.low, made.high) == pytest.approx((0.7, 0.7 - half, 0.7 + half))
    same = fold_difference([0.1] * 4, [5] * 4, 0.95)
    assert (same.low, same.high, same.p_value) == pytest.approx((0.1, 0.1, 0.0))
    assert fold_interval([1.0, 0.9, 1.0], [5] * 3, 0.95).high == 1.0


@pytest.mark.simulation
def test_the_corrected_interval_covers_where_the_pooled_does_not():
    """Least squares with 40 weights on 90 rows, ten folds; the true accuracy of every model is known."""
    from scipy.stats import norm

    rng = np.random.default_rng(5)
    n, d, k, times = 100, 40, 10, 150
    hits = np.zeros(2)
    for _ in range(times):
        y = rng.choice([-1.0, 1.0], n)
        x = rng.normal(size=(n, d)) + y[:, None] * 1.5 / math.sqrt(d)
        part = rng.permutation(n) % k
        right, true = np.zeros(n), []
        for f in range(k):
            a = np.column_stack([x[part != f], np.ones((part != f).sum())])
            w = np.linalg.solve(a.T @ a + 0.1 * np.eye(d + 1), a.T @ y[part != f])
            right[part == f] = (x[part == f] @ w[:-1] + w[-1] > 0) == (y[part == f] > 0)
            mean, spread = 1.5 * w[:-1].sum() / math.sqrt(d), np.linalg.norm(w[:-1])
            true.append(np.mean(norm.cdf([(mean + w[-1]) / spread, (mean - w[-1]) / spread])))
        scores = [right[part == f].mean() for f in range(k)]
        for i, e in enumerate(
            (fold_interval(scores, [10] * k, 0.95), howsure.score(np.ones(len(right), int), right.astype(int)).accuracy)
        ):
            hits[i] += e.low <= np.mean(true) <= e.high
    spread = math.sqrt(0.95 * 0.05 / times)
    assert hits[0] / times > 0.95 - 2 * spread
    assert hits[1] / times < 0.95 - 2 * spread


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    rng = np.random.default_rng(2)
    words = {"good": ["fine", "great", "warm"], "bad": ["poor", "cold", "dull"]}
    lines = ["text\tlabel\tauthor\tsecond"]
    for i in range(160):
        label = "good" if rng.random() < 0.6 else "bad"
        other = label if rng.random() < 0.9 else {"good": "bad", "bad": "good"}[label]
        mine = words[label] if rng.random() < 0.85 else words[{"good": "bad", "bad": "good"}[label]]
        lines.append(f"{' '.join(rng.choice(mine, 3))} day\t{label}\twriter{i % 16}\t{other}")
    path = tmp_path_factory.mktemp("cv") / "texts.tsv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("method", ["naive-bayes", "logistic"])
def test_classify_cv(texts, method, capsys, tmp_path):
    page = tmp_path / "cv.html"
    command = ["classify", "cv", method, texts, "--true", "label", "--folds", "4", "--groups", "author"]
    assert run([*command, "--second", "second", "--strength", "1", "--html", str(page), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [f["tested_on"] for f in made["folds"]] == [40] * 4
    assert made["accuracy"]["low"] < made["accuracy"]["value"] < made["accuracy"]["high"]
    assert 0.7 < made["accuracy"]["value"] < 0.95
    assert 0.5 < made["baseline_accuracy"] < 0.7
    assert made["gain"]["low"] > 0
    assert 0.8 < made["score"]["ceiling"]["accuracy"]["value"] < 0.97
    assert made["calibration"]["n_groups"] == 16
    assert b"second annotator" in page.read_bytes()
    assert run([*command, "--strength", "1", "--plot", str(tmp_path / "cv.svg")]) == 0
    assert (tmp_path / "cv.svg").read_bytes().startswith(b"<svg")
    assert max(len(line) for line in capsys.readouterr().out.split("\n") if "Written" not in line) <= 80


def test_the_strength_is_chosen_inside_each_fold(texts):
    made = cv_classifier(texts, true="label", method="naive-bayes", folds=3)
    assert len(made.folds) == 3
    assert made.accuracy.value > made.baseline_accuracy
    with pytest.raises(InputError, match="2 or more"):
        cv_classifier(texts, true="label", folds=1)


def test_tagger_cv_equals_training_by_hand(tmp_path):
    """A fold's accuracy is that of a tagger trained on the other folds' sentences."""
    rng = np.random.default_rng(3)
    tags = {"the": "D", "dog": "N", "walk": "N", "sees": "V", "sings": "V", "odd": "A"}
    sentences = []
    for _ in range(40):
        words = [str(w) for w in rng.choice(list(tags), rng.integers(2, 7))]
        sentences.append([(w, "V" if w == "walk" and rng.random() < 0.5 else tags[w]) for w in words])
    path = tmp_path / "tagged.txt"

    def written(which, to):
        to.write_text("\n\n".join("\n".join(f"{w}\t{t}" for w, t in sentences[i]) for i in which) + "\n")
        return str(to)

    made = cv_tagger(written(range(40), path), method="hmm", folds=4, pseudocount=0.5, rng=7)
    part = howsure.split(40, folds=4, groups=[str(i) for i in range(40)], rng=7).part
    from howsure.verbs.tagger import check_tagger, train_tagger

    for f in range(4):
        rest = written(np.flatnonzero(part != f), tmp_path / "train.txt")
        tagger = train_tagger(rest, method="hmm", pseudocount=0.5).model
        found = check_tagger(tagger, written(np.flatnonzero(part == f), tmp_path / "test.txt"))
        assert made.folds[f].accuracy == pytest.approx(found.accuracy.value)
    assert "Sentences are kept" in made.notes[0]


def test_tagger_cv_has_baselines_and_a_ceiling(tmp_path):
    rng = np.random.default_rng(5)
    tags = rng.choice(["A", "B"], 120, p=[0.7, 0.3]).tolist()
    other = [t if rng.random() < 0.9 else "C" for t in tags]
    lines = [
        f"w{i % 7}\t{t}\t{o}" + ("\n" if i % 4 == 3 else "") for i, (t, o) in enumerate(zip(tags, other, strict=True))
    ]
    path = tmp_path / "t.txt"
    path.write_text("\n".join(lines) + "\n")
    alone = cv_tagger(path, method="hmm", folds=3, column="2")
    assert "No ceiling is known" in alone.verdict
    assert alone.score.ceiling is None
    made = cv_tagger(path, method="hmm", folds=3, column="2", second="3")
    agreed = np.mean([t == o for t, o in zip(tags, other, strict=True)])
    assert made.score.ceiling.accuracy.value == pytest.approx(agreed)
    assert f"The ceiling, a second annotator, has {agreed:.3f}" in made.verdict
    assert f"has {tags.count('A') / 120:.3f}." in made.verdict  # always A
    documents = read_tagged(path, "2")
    own = [d.with_(columns=d.columns | {"second": tuple(other)}) for d in documents]
    assert cv_tagger(own, method="hmm", folds=3, second="second").score.ceiling.accuracy == made.score.ceiling.accuracy


def test_tagger_cv_in_the_shell(tmp_path, capsys):
    lines = []
    for i in range(24):
        lines += [
            f"# newdoc id = d{i}",
            "1\tthe\t_\tX\tD\t_\t_\t_\t_\t_",
            f"2\tdog{i % 3}\t_\tX\t{'NV'[i % 2]}\t_\t_\t_\t_\t_",
            "",
        ]
    (tmp_path / "t.conllu").write_text("\n".join(lines) + "\n")
    assert run(["tagger", "cv", "hmm", str(tmp_path / "t.conllu"), "--folds", "3", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert "Documents are kept" in made["notes"][0]
    assert sum(f["tested_on"] for f in made["folds"]) == 48
    assert (
        run(["tagger", "cv", "crf", str(tmp_path / "t.conllu"), "--folds", "2", "--groups", "sentence", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["method"] == "CRF"
    assert run(["tagger", "cv", "hmm", str(tmp_path / "t.conllu"), "--groups", "page"]) == 2
