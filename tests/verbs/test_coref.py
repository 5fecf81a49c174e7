"""`howsure coref` in Python and in the shell: train, resolve, score, check, and bad input."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import howsure
from howsure.cli.application import run
from howsure.corpora.conll2012 import conll2012_text, read_conll2012
from howsure.corpora.coreference import read_coref_json, read_documents, read_ontogum
from howsure.corpora.document import Mention
from howsure.corpora.reading import read_splits

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from coref_stories import as_conllu, story


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """train/, dev/ and test/ with stories in CoNLL-U, and a trained model."""
    root = tmp_path_factory.mktemp("coref")
    for part, seeds in (("train", range(40)), ("dev", range(100, 110)), ("test", range(200, 212))):
        (root / part).mkdir()
        for k in seeds:
            (root / part / f"story{k}.conllu").write_text(as_conllu(story(k)))
    model = str(root / "coref.npz")
    assert (
        run(["coref", "train", str(root / "train"), "--dev", str(root / "dev"), "--mentions", "gold", "-o", model]) == 0
    )
    return root


def test_train_says_how_good_it_is(folder, tmp_path, capsys):
    out = str(tmp_path / "m.npz")
    arguments = ["coref", "train", str(folder / "train"), "--dev", str(folder / "dev"), "-o", out]
    assert run([*arguments, "--epochs", "2", "--without", "heads,governors"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Trained on 640 gold mentions in 40 documents. On dev: CoNLL F1")
    assert max(map(len, said.replace(out, "").splitlines())) <= 80
    assert run([*arguments, "--json", "--objective", "brier", "--costs"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["training"]["costs"] is True
    assert made["dev"]["metrics"]["conll"]["f1"]["value"] > 0.7


def test_resolve_writes_probabilities_and_samples(folder, tmp_path, capsys):
    out = tmp_path / "resolved.jsonl"
    source = folder / "test" / "story200.conllu"
    assert run(["coref", "resolve", str(folder / "coref.npz"), str(source), "--samples", "100", "-o", str(out)]) == 0
    (line,) = out.read_text().splitlines()
    made = json.loads(line)
    d = story(200)
    assert made["document"] == "story200"
    assert [(m["start"], m["end"]) for m in made["mentions"]] == [(m.start, m.end) for m in d.mentions]
    assert np.shape(made["samples"]) == (100, len(d.mentions))
    (direct,) = howsure.resolve(str(folder / "coref.npz"), source)
    for a, b, p in made["pairs"]:
        assert a < b
        assert p == pytest.approx(direct.posterior.pair(a, b), abs=1e-6)
    assert sorted(k for c in made["clusters"] for k in c) == list(range(len(d.mentions)))
    text = " ".join(d.words)
    assert made["tokens"] == list(d.words)
    assert [text[a:b] for a, b in made["token_characters"]] == list(d.words)
    assert made["sentence_starts"] == d.starts[:-1].tolist()
    assert all(text[slice(*m["characters"])] == m["text"] for m in made["mentions"])
    assert (
        run(["coref", "resolve", str(folder / "coref.npz"), str(source), "--mentions", "predicted", "-o", str(out)])
        == 0
    )
    assert len(json.loads(out.read_text())["mentions"]) == len(d.mentions)
    capsys.readouterr()


def test_resolve_then_score(folder, tmp_path, capsys):
    gold, system = tmp_path / "gold.conll", tmp_path / "system.conll"
    documents, _ = read_documents(folder / "test")
    gold.write_text(conll2012_text(documents))
    assert run(["coref", "resolve", str(folder / "coref.npz"), str(folder / "test"), "-o", str(system)]) == 0
    capsys.readouterr()
    assert run(["coref", "score", str(gold), str(system), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert {"muc", "b3", "ceafm", "ceafe", "blanc", "lea", "conll"} <= set(made["metrics"])
    assert set(made["metrics"]["b3"]) == {"recall", "precision", "f1"}
    f = made["metrics"]["conll"]["f1"]
    assert 0.6 < f["low"] <= f["value"] <= f["high"] <= 1
    assert run(["coref", "score", str(gold), str(gold)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("CoNLL F1 100.00")
    assert max(map(len, said.splitlines())) <= 80


def test_check_and_its_page(folder, tmp_path, capsys):
    page = tmp_path / "report.html"
    arguments = ["coref", "check", str(folder / "coref.npz"), str(folder / "test")]
    assert run([*arguments, "--by", "mention-type", "--html", str(page)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Do these two mentions corefer?")
    assert "1,000 samples" in said
    assert max(len(x) for x in said.splitlines() if str(page) not in x) <= 80
    html = page.read_text()
    assert "Exact and sampled" in html
    assert "pronoun to proper" in html
    assert run([*arguments, "--by", "distance", "--sample-sizes", "10,100", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [s["samples"] for s in made["sampling"]] == [None, 10, 100]
    assert made["pairs"]["n"] == 12 * 16 * 15 // 2
    assert made["pairs"]["n_groups"] == 12
    # First come the pairs that could be links; gold links among the others are counted.
    assert made["links"]["n"] < made["pairs"]["n"] / 2
    assert sum(s["n"] for s in made["links"]["slices"]) == made["links"]["n"]
    resolved = howsure.resolve(str(folder / "coref.npz"), str(folder / "test"))
    q, y = [], []
    for r in resolved:
        entity = np.array([m.entity for m in r.mentions])
        below = np.tril_indices(len(entity), -1)
        q.append(r.posterior.pairs()[below])
        y.append((entity[:, None] == entity[None, :])[below])
    q, y = np.concatenate(q), np.concatenate(y)
    assert made["links"]["n"] == (q >= 0.05).sum()
    assert (made["gold_links"], made["missed"]) == (y.sum(), y[q < 0.05].sum())
    assert made["missed_expected"] == pytest.approx(q[q < 0.05].sum())
    assert f"Of {y.sum():,} gold links" in made["verdict"]
    assert made["entities"]["n"] > 12
    assert made["new"]["n"] == 12 * 16


def test_one_document_is_allowed(folder, capsys):
    source = str(folder / "test" / "story200.conllu")
    assert run(["coref", "check", str(folder / "coref.npz"), source, "--sample-sizes", "10", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert "One document" in made["notes"][0]
    assert made["n_documents"] == 1
    assert made["pairs"]["n_groups"] == 15  # mentions that have an earlier one
    assert run(["coref", "check", str(folder / "coref.npz"), source]) == 0
    assert "too narrow" in " ".join(capsys.readouterr().out.split())


def test_sampled_pairs_get_nearer_with_more_samples(folder):
    model = howsure.CorefModel.load(folder / "coref.npz").with_temperature(8.0)  # unsure of much
    made = howsure.check_coref(model, str(folder / "test"), sample_sizes=(10, 100, 1000))
    off = [s.rms_deviation for s in made.sampling]
    assert off[0] == 0.0
    assert off[1] > off[2] > off[3] > 0.0
    # Each frequency is a binomial share: its mean square deviation is the mean of q(1-q)/n.
    resolved = howsure.resolve(model, str(folder / "test"))
    q = np.concatenate([r.posterior.pairs()[np.tril_indices(len(r.mentions), -1)] for r in resolved])
    assert off[3] == pytest.approx(np.sqrt(np.mean(q * (1 - q)) / 1000), rel=0.2)


def test_what_the_posterior_generates_is_compared_with_gold(folder):
    made = howsure.check_coref(str(folder / "coref.npz"), str(folder / "test"), sample_sizes=(), predictive=19)
    assert [s.statistic for s in made.predictive] == ["mentions of an entity", "entities by document"]
    assert "Is gold like what the posterior generates?" in made.to_text()


def test_one_bad_document_leaves_the_others(folder, tmp_path, capsys):
    for k in (1, 2):
        (tmp_path / f"good{k}.conllu").write_text(as_conllu(story(k)))
    (tmp_path / "bad.conllu").write_text("1\tonly\n")
    out = tmp_path / "out.jsonl"
    assert run(["coref", "resolve", str(folder / "coref.npz"), str(tmp_path), "-o", str(out)]) == 2
    err = capsys.readouterr().err
    assert "left out: " in err
    assert "bad.conllu, line 1" in err
    assert len(out.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "nowhere/", "-o", "OUT"], "there is no file nowhere"),
        (["train", "TRAIN", "-o", "OUT", "--mentions", "guessed"], "gold or predicted"),
        (["train", "TRAIN", "-o", "OUT", "--without", "hed"], "Did you mean `head`"),
        (["train", "TRAIN", "-o", "OUT", "--epochs", "0"], "epochs"),
        (["train", "EMPTY", "-o", "OUT"], "gold entities are needed"),
        (["train", "CROSSING", "-o", "OUT"], "cross those of"),
        (["resolve", "MODEL", "TRAIN", "-o", "OUT", "--decoder", "x"], "fitted, minimum-risk or best"),
        (["check"], "give documents"),
        (["check", "MODEL", "UNPARSED", "--mentions", "predicted"], "Parse it first, or with --parse"),
        (["resolve", "OTHER", "TRAIN", "-o", "OUT"], "version 7 of the coref format"),
        (["resolve", "MODEL", "x.xyz", "-o", "OUT"], "no file"),
        (["check", "MODEL", "TRAIN", "--by", "colour"], "mention-type or distance"),
        (["check", "MODEL", "TRAIN", "--sample-sizes", "many"], "whole numbers"),
        (["score", "GOLD", "SHORT"], "tokens in gold and"),
        (["score", "GOLD", "RENAMED"], 'the system has no document "story3"'),
        (["score", "SPANS", "GOLD"], "outside its"),
    ],
)
def test_bad_input(folder, tmp_path, arguments, message, capsys):
    from howsure.models.saved import save_model

    d = story(3)
    files = {
        "TRAIN": folder / "train",
        "MODEL": folder / "coref.npz",
        "OUT": tmp_path / "out.npz",
        "OTHER": tmp_path / "other.npz",
        "GOLD": tmp_path / "gold.conll",
        "SHORT": tmp_path / "short.conll",
        "RENAMED": tmp_path / "renamed.conll",
        "EMPTY": tmp_path / "empty.conllu",
        "CROSSING": tmp_path / "crossing.conllu",
        "SPANS": tmp_path / "spans.jsonl",
        "UNPARSED": tmp_path / "gold.conll",
    }
    save_model(files["OTHER"], "coref", 7, {}, {})
    files["GOLD"].write_text(conll2012_text([d]))
    files["SHORT"].write_text(conll2012_text([story(4, 2).with_(name=d.name)]))
    files["RENAMED"].write_text(conll2012_text([d.with_(name="another")]))
    files["EMPTY"].write_text(as_conllu(d.with_(mentions=())))
    crossing = d.with_(mentions=(Mention(0, 2, "a"), Mention(1, 3, "b")))
    files["CROSSING"].write_text(as_conllu(crossing))
    files["SPANS"].write_text('{"name": "x", "sentences": [["a", "b"]], "clusters": [[[0, 9]]]}')
    assert run(["coref", *[str(files.get(a, a)) for a in arguments]]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert err.count("\n") == 1
    assert out == ""
    assert not files["OUT"].exists()


def test_formats_agree(tmp_path):
    d = story(6)
    (tmp_path / "d.conll").write_text(conll2012_text([d]))
    clusters = {}
    for m in d.mentions:
        clusters.setdefault(m.entity, []).append([m.start, m.end])
    sentences = [list(d.words[s]) for s in d.sentences()]
    line = {"name": d.name, "sentences": sentences, "clusters": list(clusters.values())}
    (tmp_path / "d.jsonl").write_text(json.dumps(line))
    spans = [(m.start, m.end) for m in d.mentions]
    for made in (read_conll2012(tmp_path / "d.conll")[0], read_coref_json(tmp_path / "d.jsonl")[0]):
        assert made.words == d.words
        assert made.starts.tolist() == d.starts.tolist()
        assert [(m.start, m.end) for m in made.mentions] == spans
        same = [[a.entity == b.entity for a in made.mentions] for b in made.mentions]
        assert same == [[a.entity == b.entity for a in d.mentions] for b in d.mentions]


def test_full_conll2012_columns_and_nested_brackets(tmp_path):
    rows = ["Her|PRP|her|(1|(0)", "ship|NN|ship|-", "'s|POS|'s|1)", "gone|VBN|go|-"]
    lines = []
    for k, r in enumerate(rows):
        word, pos, lemma, coref = r.split("|", 3)
        lines.append(f"a/b 0 {k} {word} {pos} * {lemma} - - Ann * * {coref}")
    path = tmp_path / "x_conll"
    path.write_text("#begin document (a/b); part 001\n" + "\n".join(lines) + "\n\n#end document\n")
    (d,) = read_documents(path)[0]
    assert d.name == "a/b#1"
    assert d.columns["xpos"][0] == "PRP"
    assert d.sentence_metadata[0]["speaker"] == "Ann"
    assert [(m.start, m.end, m.entity) for m in d.mentions] == [(0, 3, "1"), (0, 1, "0")]
    for text, message in (
        ("a b -\n", "outside `#begin document`"),
        ("#begin document (a);\nx y -\n", "no `#end document`"),
        ("#begin document (a);\nx y (3\n#end document\n", "opened but never closed"),
    ):
        path.write_text(text)
        with pytest.raises(howsure.InputError, match=message):
            read_conll2012(path)


def test_ontogum_is_joined_by_token(tmp_path):
    d = story(7)
    lines = [f"{k}\t{w}\t{'(5)' if k in (0, 2) else '_'}" for k, w in enumerate(d.words)]
    path = tmp_path / "x.conll"
    path.write_text("# begin document\n" + "\n".join(lines) + "\n# end document\n")
    assert [(m.start, m.end) for m in read_ontogum(path, d).mentions] == [(0, 1), (2, 3)]
    path.write_text("\n".join([*lines[:3], "3\tother\t_", *lines[4:]]))
    with pytest.raises(howsure.InputError, match='line 4: "other" is token 3, where document "story7" has'):
        read_ontogum(path, d)
    (tmp_path / "splits.md").write_text("# Splits\n## dev\n  * a\n## test\n  * b\n\n## empty\n")
    assert read_splits(tmp_path / "splits.md") == {"dev": ["a"], "test": ["b"]}


def test_many_mentions():
    """5,000 mentions in one document (bench/speed/coref_speed.py measures time and memory)."""
    p = howsure.AntecedentPosterior.from_scores(np.zeros((5000, 5000)), np.full(5000, 5.0))
    assert p.ask([4999, 17], 10).shape == (10, 2)
    assert p.n_entities().mean == pytest.approx(p.new.sum())


@pytest.mark.corpus
def test_ontogum_splits(corpora):
    from howsure.corpora.coreference import gum_documents

    dev = gum_documents("dev", "ontogum")
    assert len(dev) == 30
    assert sum(len(d.mentions) for d in dev) == 3818
    with pytest.raises(howsure.InputError, match="GUM has the parts"):
        gum_documents("nope")
