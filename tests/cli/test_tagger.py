"""`howsure tagger` from files to files."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from howsure.cli.application import run
from howsure.verbs.tagger import check_tagger, train_tagger

LEXICON = {
    "DT": ["the", "a"],
    "NN": ["dog", "idea", "river", "walk"],
    "VB": ["walk", "sees", "sings"],
    "JJ": ["blue", "odd"],
}
NEXT = {"DT": ["NN", "NN", "JJ"], "JJ": ["NN"], "NN": ["VB", "VB", "NN"], "VB": ["DT", "JJ", "NN"]}


def sentences(n, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        tag, made = str(rng.choice(["DT", "JJ", "NN"])), []
        for _ in range(int(rng.integers(1, 9))):
            made.append((str(rng.choice(LEXICON[tag])), tag))
            tag = str(rng.choice(NEXT[tag]))
        yield made


def columns(path, n, seed, rename=None):
    path.write_text("\n".join("".join(f"{w}\t{(rename or {}).get(t, t)}\n" for w, t in s) for s in sentences(n, seed)))
    return str(path)


def conllu(path, n, seed, per_document=5):
    lines = []
    for i, s in enumerate(sentences(n, seed)):
        if i % per_document == 0:
            lines.append(f"# newdoc id = d{i}")
        lines += [f"{k}\t{w}\t_\tX\t{t}\t_\t_\t_\t_\t_" for k, (w, t) in enumerate(s, 1)] + [""]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger")
    made = {
        name: conllu(folder / f"{name}.conllu", n, seed)
        for seed, (name, n) in enumerate([("train", 150), ("dev", 40), ("test", 80)])
    }
    made["crf"], made["hmm"] = str(folder / "crf.npz"), str(folder / "hmm.npz")
    assert (
        run(
            ["tagger", "train", "crf", made["train"], "--dev", made["dev"], "--features", "advanced", "-o", made["crf"]]
        )
        == 0
    )
    assert (
        run(["tagger", "train", "hmm", made["train"], "--dev", made["dev"], "--fit-temperature", "-o", made["hmm"]])
        == 0
    )
    return made


def test_train_says_what_was_chosen(files, tmp_path, capsys):
    out = tmp_path / "m.npz"
    assert run(["tagger", "train", "hmm", files["train"], "--dev", files["dev"], "--json", "-o", str(out)]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["dev_accuracy"] == max(t["dev_accuracy"] for t in made["tried"])
    assert {t["setting"] for t in made["tried"]} == {"pseudocount"}
    assert out.exists()
    assert run(["tagger", "train", "hmm", files["train"], "--dev", files["dev"], "-o", str(out)]) == 0
    assert all(len(line) <= 80 for line in capsys.readouterr().out.splitlines()[:-1])


@pytest.mark.parametrize("kind", ["crf", "hmm"])
def test_check(files, kind, capsys):
    assert run(["tagger", "check", files[kind], files["test"], "--by", "pair", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["accuracy"]["low"] < made["accuracy"]["value"] < made["accuracy"]["high"]
    assert {s["slice"] for s in made["per_tag"]} == set(LEXICON)
    for part in (made["calibration"], made["calibration"]["pooled"]):
        assert part["ece"]["low"] <= part["ece"]["value"] <= part["ece"]["high"]
    assert "DT NN" in {s["slice"] for s in made["per_pair"]}
    assert (made["groups"], made["n_groups"]) == ("document", 16)  # of `# newdoc`
    assert run(["tagger", "check", files[kind], files["test"], "--groups", "document"]) == 0
    said = capsys.readouterr().out
    assert "16 documents are taken as independent" in said
    assert all(len(line) <= 80 for line in said.splitlines())


def test_what_the_posterior_generates_is_compared_with_gold(files, capsys):
    assert run(["tagger", "check", files["crf"], files["test"], "--predictive", "19", "--json"]) == 0
    found = {s["statistic"]: s for s in json.loads(capsys.readouterr().out)["predictive"]}
    assert set(found) == {"tag", "length of runs of one tag"}
    assert all(1 / 20 <= s["p_value"] <= 1.0 and s["n_samples"] == 19 for s in found.values())
    assert run(["tagger", "check", files["crf"], files["test"], "--predictive", "19"]) == 0
    said = capsys.readouterr().out
    assert "Is gold like what the posterior generates?" in said
    assert all(len(line) <= 80 for line in said.splitlines())
    assert run(["tagger", "check", files["crf"], files["test"], "--predictive", "-1"]) == 2
    assert "predictive must be a whole number of 1 or more" in capsys.readouterr().err


def test_check_counts_by_hand(files):
    made = check_tagger(files["crf"], files["test"])
    from howsure.verbs.load import load
    from howsure.verbs.tagger import tagged

    words, starts, tags, _ = tagged(files["test"], None)
    posterior = load(files["crf"]).posterior(words, starts)
    q = posterior.marginals()
    assert made.accuracy.value == pytest.approx(
        np.mean([posterior.tags[k] for k in q.argmax(axis=1)] == np.array(tags))
    )
    nn = next(s for s in made.per_tag if s.name == "NN")
    column = q[:, posterior.tags.index("NN")]
    assert nn.calibration.bias.gap.value == pytest.approx(column.mean() - np.mean(np.array(tags) == "NN"), abs=1e-9)
    pair = next(s for s in made.per_pair if s.name == "DT NN")
    asked = posterior.tags_are("DT", "NN")
    assert pair.calibration.n == len(asked)
    assert pair.calibration.brier.value == pytest.approx(
        np.mean((asked.y_prob - asked.y_true(posterior.codes(tags))) ** 2), abs=1e-9
    )


def test_apply_to_parquet_and_check_that(files, tmp_path, capsys):
    out = str(tmp_path / "out.parquet")
    assert run(["tagger", "apply", files["crf"], files["test"], "--out", out, "--best", "3", "--samples", "4"]) == 0
    table = pq.read_table(out)
    q = np.stack([table[f"p_{t}"].to_numpy() for t in LEXICON], axis=1)
    np.testing.assert_allclose(q.sum(axis=1), 1.0)
    assert {"best_3", "best_3_prob", "sample_4", "predicted", "tag"} <= set(table.column_names)
    assert np.all(table["best_1_prob"].to_numpy() >= table["best_2_prob"].to_numpy())
    capsys.readouterr()
    assert run(["check", out, "--prob", "p_*", "--true", "tag", "--groups", "sentence", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == table.num_rows


def test_apply_to_words_alone(files, tmp_path, capsys):
    path = tmp_path / "new.txt"
    path.write_text("the\ndog\n\nsings\n")
    assert run(["tagger", "apply", files["crf"], str(path), "--best", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == ""
    assert lines[0].split("\t")[:2] == ["the", "DT"]
    assert run(["tagger", "apply", files["crf"], str(path), "--json"]) == 0
    assert [row["word"] for row in json.loads(capsys.readouterr().out)] == ["the", "dog", "sings"]


def test_unseen_tags_have_probability_zero(files, tmp_path, capsys):
    path = columns(tmp_path / "t.txt", 60, 5, {"JJ": "ADJ"})
    assert run(["tagger", "check", files["hmm"], path, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["unseen_tags"] == ["ADJ"]
    assert "never seen" in made["verdict"]
    assert made["calibration"]["multiclass_log_loss"] is None
    adj = next(s for s in made["per_tag"] if s["slice"] == "ADJ")
    assert adj["bias"]["value"] == pytest.approx(-adj["base_rate"])


def test_spans(tmp_path, capsys):
    bio = {"DT": "B-NP", "JJ": "I-NP", "NN": "I-NP", "VB": "O"}
    train, test = columns(tmp_path / "a.txt", 120, 1, bio), columns(tmp_path / "b.txt", 60, 2, bio)
    model = str(tmp_path / "m.npz")
    assert run(["tagger", "train", "crf", train, "--l2", "0.3", "--iterations", "30", "-o", model]) == 0
    capsys.readouterr()
    assert run(["tagger", "check", model, test, "--by", "span"]) == 0
    assert "By span" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "{crf}", "{bad}"], "bad.conllu, line 1: CoNLL-U has 10 columns"),
        (["check", "{crf}", "{empty}"], "no sentences"),
        (["check", "{crf}", "{other}"], "most tags are none that the model knows"),
        (["check", "{bad}", "{test}"], "damaged or not a model file"),
        (["check", "{crf}", "{test}", "--by", "word"], "--by knows tag, pair, span"),
        (["check", "{crf}", "{test}", "--by", "span"], "no spans"),
        (["check", "{crf}", "{test}", "--groups", "page"], "must be sentence or document"),
        (["check", "{crf}", "{other}", "--groups", "document"], "most tags"),
        (["check", "{crf}", "{one}", "--groups", "document"], "all is one document"),
        (["check", "{crf}", "{missing}"], "there is no file"),
        (["train", "svm", "{train}", "-o", "{out}"], "hmm or crf"),
        (["train", "crf", "{empty}", "-o", "{out}"], "no sentences"),
        (["train", "crf", "{train}", "--features", "wrod", "-o", "{out}"], "Did you mean `word`"),
        (["train", "crf", "{train}", "--fit-temperature", "-o", "{out}"], "give --dev"),
        (["train", "crf", "{train}", "-o", "{train}"], "it is the input"),
        (["apply", "{crf}", "{test}", "--best", "-1"], "0 or more"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(files, tmp_path, capsys, arguments, message):
    bad, empty, other = tmp_path / "bad.conllu", tmp_path / "empty.txt", tmp_path / "other.txt"
    bad.write_text("1\tx\n")
    empty.write_text("\n\n")
    other.write_text("dog\tNOUN\n\nriver\tNOUN\n")
    one = columns(tmp_path / "one.txt", 5, 1)
    names = files | {
        "bad": bad,
        "empty": empty,
        "other": other,
        "one": one,
        "out": tmp_path / "out.npz",
        "missing": tmp_path / "no.pos",
    }
    assert run(["tagger", *(a.format(**names) for a in arguments)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out.npz").exists()


def test_python_takes_documents(files):
    from howsure.corpora.tagged import read_tagged

    made = train_tagger(read_tagged(files["train"]), method="hmm", pseudocount=0.01)
    assert made.dev_accuracy is None
    assert check_tagger(made.model, read_tagged(files["test"])).classes.n > 100
    assert "TaggerCheck(accuracy=" in repr(check_tagger(made.model, files["test"]))


@pytest.mark.corpus
def test_a_slice_of_real_text(corpora):
    made = train_tagger(corpora / "ark-tweets" / "oct27.train", method="hmm", dev=corpora / "ark-tweets" / "oct27.dev")
    found = check_tagger(made.model, corpora / "ark-tweets" / "oct27.test", pairs=5)
    assert found.accuracy.value > 0.75
    assert len(found.per_pair) == 5


def test_the_report(files, tmp_path):
    page = tmp_path / "report.html"
    assert run(["tagger", "check", files["crf"], files["test"], "--html", str(page)]) == 0
    html = page.read_text()
    assert "By tag pair" in html
    assert "DT NN" in html


def test_documents_are_independent_where_newdoc_marks_them(tmp_path, capsys):
    rows = "".join(
        "\t".join([str(i + 1), w, w, "_", t, "_", "_", "_", "_", "_"]) + "\n"
        for i, (w, t) in enumerate([("the", "DT"), ("dog", "NN")])
    )
    plain, marked = tmp_path / "plain.conllu", tmp_path / "marked.conllu"
    plain.write_text((rows + "\n") * 12)
    marked.write_text("".join(f"# newdoc id = d{i}\n{rows}\n{rows}\n" for i in range(6)))
    model = tmp_path / "m.npz"
    assert run(["tagger", "train", "hmm", str(plain), "-o", str(model)]) == 0
    for file, groups, n in ((plain, "sentence", 12), (marked, "document", 6)):
        capsys.readouterr()
        assert run(["tagger", "check", str(model), str(file), "--json"]) == 0
        made = json.loads(capsys.readouterr().out)
        assert (made["groups"], made["n_groups"]) == (groups, n)
        assert run(["tagger", "check", str(model), str(file)]) == 0
        assert f"{n} {groups}s are taken as independent" in capsys.readouterr().out


def test_classes_of_vectors_are_features_and_lexicons_may_be_several(tmp_path, capsys):
    days, places = ["Monday", "Tuesday", "Friday"], ["Paris", "London", "Berlin"]
    text = tmp_path / "train.txt"
    text.write_text("".join(f"{w}\tDAY\n\n" for w in days) + "".join(f"{w}\tPLACE\n\n" for w in places))
    fresh, lexicon, model = tmp_path / "fresh.txt", tmp_path / "lexicon.txt", tmp_path / "m.npz"
    fresh.write_text("Wednesday\tDAY\n\nMadrid\tPLACE\n\nSunday\tDAY\n\n")
    lexicon.write_text("now\tRB\n\n")
    more = ["--features", "bias,vectors", "--lexicon", f"{lexicon},{text}", "--l2", "0.01"]
    assert run(["tagger", "train", "crf", str(text), *more, "-o", str(model)]) == 0
    capsys.readouterr()
    assert run(["tagger", "apply", str(model), str(fresh), "--json"]) == 0
    assert [r["predicted"] for r in json.loads(capsys.readouterr().out)] == ["DAY", "PLACE", "DAY"]
