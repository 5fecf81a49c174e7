"""Who wrote it: n-gram models as a classifier."""

import json

import numpy as np
import pytest

from howsure.cli.application import run
from howsure.errors import InputError
from howsure.models.classifiers import fit_classifier
from howsure.models.ngrams.classifier import NgramClassifier, fit_ngrams
from howsure.models.ngrams.training import trained
from howsure.verbs.classify import check_classifier
from howsure.verbs.load import load

HABITS = {
    "ann": (["thou", "thy", "doth", "lord", "night"], 0.7),
    "bob": (["you", "your", "does", "boss", "day"], 0.7),
}
COMMON = ["and", "the", "of", "go", "see"]


def passages(n, seed, length=6):
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        who = str(rng.choice(list(HABITS)))
        own, other = HABITS[who][0], HABITS["bob" if who == "ann" else "ann"][0]
        words = [
            str(rng.choice(COMMON if rng.random() < 0.6 else own if rng.random() < 0.7 else other))
            for _ in range(length)
        ]
        texts.append(" ".join(words))
        labels.append(who)
    return texts, labels


@pytest.mark.parametrize("units", ["words", "characters"])
def test_posterior_is_bayes_rule(units):
    """By hand: prior times p(text | class) of a model trained by itself over the shared vocabulary."""
    texts, labels = passages(60, 1)
    made = fit_ngrams(texts, labels, order=2, units=units, min_count=1)
    split = list if units == "characters" else str.split
    known = sorted({w for t in texts for w in split(t) if w.strip()})
    models = [
        trained(
            [t for t, c in zip(texts, labels, strict=True) if c == who],
            order=2,
            smoothing="witten-bell",
            units=units,
            words=known,
        )
        for who in ("ann", "bob")
    ]
    new = passages(10, 2)[0]
    p = np.array([[m.score(t) for m in models] for t in new]) + np.log(
        [labels.count("ann") / 60, labels.count("bob") / 60]
    )
    p = np.exp(p - p.max(axis=1, keepdims=True))
    assert made.posterior(new).marginals() == pytest.approx(p / p.sum(axis=1, keepdims=True))
    assert made.posterior([""]).marginals()[0] == pytest.approx(np.exp(made.log_prior))


def test_the_temperature_of_dev_makes_long_passages_less_sure():
    """Words come in runs of four: the model counts each as fresh evidence, and is far too sure until it is tempered."""

    def repeated(n, seed):
        texts, labels = passages(n, seed, length=3)
        return [" ".join(w for w in t.split() for _ in range(4)) for t in texts], labels

    train, dev, test = (repeated(n, s) for n, s in ((400, 3), (400, 4), (600, 5)))
    plain, warm = (fit_ngrams(*train, dev=d, order=1, units="words") for d in (None, dev))
    assert warm.settings["temperature"] > 2

    def log_loss(model):
        p = model.posterior(test[0]).marginals()
        return -np.mean(np.log([row[model.classes.index(c)] for row, c in zip(p, test[1], strict=True)]))

    assert log_loss(warm) < log_loss(plain) - 0.05


def test_train_check_apply_and_cv(tmp_path, capsys):
    for name, n, seed in (("train", 300, 6), ("dev", 400, 7), ("test", 200, 8)):
        rows = zip(*passages(n, seed, length=15), strict=True)
        (tmp_path / f"{name}.tsv").write_text("text\tauthor\n" + "".join(f"{t}\t{c}\n" for t, c in rows))
    train, dev, test, model = (str(tmp_path / x) for x in ("train.tsv", "dev.tsv", "test.tsv", "who.npz"))
    how = ["--units", "words", "--order", "2"]
    assert run(["classify", "train", "ngrams", train, "--true", "author", "--dev", dev, *how, "-o", model]) == 0
    assert "log loss on dev" in capsys.readouterr().out
    assert run(["classify", "check", model, test, "--true", "author", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["score"]["accuracy"]["value"] > 0.75
    assert found["calibration"]["error"]["low"] < 0.05
    out = tmp_path / "with.csv"
    assert run(["classify", "apply", model, test, "-o", str(out)]) == 0
    assert out.read_text().splitlines()[0].endswith("p_ann,p_bob")
    capsys.readouterr()
    assert run(["classify", "cv", "ngrams", train, "--true", "author", "--folds", "3", *how, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gain"]["low"] > 0
    again = load(model)
    assert isinstance(again, NgramClassifier)
    assert check_classifier(again, test, true="author").score.accuracy.value == found["score"]["accuracy"]["value"]


def test_bad_calls_and_files(tmp_path):
    texts, labels = passages(20, 9)
    with pytest.raises(InputError, match="strength goes with"):
        fit_classifier(texts, labels, method="ngrams", strength=1.0)
    with pytest.raises(InputError, match="one label"):
        fit_ngrams(texts, ["ann"] * 20)
    with pytest.raises(InputError, match='label "eve"'):
        fit_ngrams(texts, labels, dev=(texts[:2], ["eve", "ann"]))
    path = tmp_path / "m.npz"
    fit_ngrams(texts, labels, order=2).save(path)
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 255
    path.write_bytes(bytes(whole))
    with pytest.raises(InputError, match="damaged"):
        load(path)
