"""Verbs of one kind are alike: every train_…, check_… and apply_… takes paths or objects and gives a result; `load` opens what they save."""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import howsure
from howsure._result import Result
from howsure.corpora.bracketed import read_bracketed
from howsure.corpora.coreference import read_documents
from howsure.corpora.tagged import read_tagged
from howsure.verbs.load import MODELS

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from coref_stories import as_conllu, story

TREES = "(S (NP (DT the) (NN fox)) (VP (VB saw) (NP (DT a) (NN hen))))\n(S (NP (NN hen)) (VP (VB saw)))\n" * 5
LINES = ["the fox saw a hen", "the hen saw the fox", "a fox met the hen"] * 6
TEXTS = pa.table({"text": ["good fine", "bad poor", "fine good good", "poor sad"] * 8, "label": list("xyxy") * 8})
PAIRS = pa.table({"p": np.tile([0.2, 0.7, 0.9, 0.4], 40), "y": np.tile([0, 1, 1, 0], 40)})
FORECASTS = pa.table({"y": np.arange(20.0), **{f"d_{k}": np.arange(20.0) + k - 2 for k in range(5)}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import pyarrow.csv as pc

    made = tmp_path_factory.mktemp("siblings")
    (made / "tags.tsv").write_text("the\tD\ndog\tN\nsees\tV\n\na\tD\nwalk\tN\n\n" * 6)
    (made / "trees.mrg").write_text(TREES)
    (made / "told.conllu").write_text("".join(as_conllu(story(i)) for i in range(3)))
    (made / "lines.txt").write_text("\n".join(LINES) + "\n")
    for name, table in (("texts", TEXTS), ("pairs", PAIRS), ("forecasts", FORECASTS)):
        pc.write_csv(table, made / f"{name}.csv")
    return made


# A family: how a model is trained, checked and applied, the file, and what the file holds as an object.
FAMILIES = {
    "tagger": ("train_tagger", "check_tagger", "apply_tagger", "tags.tsv", read_tagged, {"method": "hmm"}, {}, {}),
    "classifier": (
        "train_classifier", "check_classifier", "apply_classifier", "texts.csv", lambda path: TEXTS,
        {"text": "text", "true": "label", "strength": 1.0}, {"text": "text", "true": "label"}, {"text": "text"},
    ),
    "parser": ("train_parser", "check_parser", "apply_parser", "trees.mrg", read_bracketed, {}, {"groups": "sentence"}, {}),
    "coref": (
        "train_coref", "check_coref", "resolve", "told.conllu", lambda path: read_documents(path)[0],
        {"epochs": 1}, {"sample_sizes": [5]}, {},
    ),
    "lm": ("lm.train", "lm.check", "lm.perplexity", "lines.txt", lambda path: LINES, {"order": 2, "smoothing": "laplace"}, {}, {}),
}  # fmt: skip


def verb(name):
    found = howsure
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_paths_and_objects_give_the_same(family, folder):
    train, check, apply, file, opened, training, checking, applying = FAMILIES[family]
    path = folder / file
    by_path, by_object = (verb(train)(source, **training) for source in (path, opened(path)))
    assert isinstance(by_path, Result)
    saved = folder / f"{family}.npz"
    by_path.model.save(saved)
    loaded = howsure.load(saved)
    assert type(loaded) is type(by_path.model)
    found, used = [], []
    for i, model in enumerate((by_path, by_path.model, loaded, saved, str(saved))):
        for j, source in enumerate((path, str(path), opened(path))):
            if i == 0 or j == i % 3:  # one model with every source, every other model with one of them
                checked = verb(check)(model, source, **checking)
                assert isinstance(checked, Result)
                found.append(checked.verdict)
                used.append(verb(apply)(model, source, **applying))
    assert len(set(found)) == 1
    assert len({type(u) for u in used}) == 1
    assert verb(check)(by_object, path, **checking).verdict == found[0]


def test_parsers_of_dependencies_take_documents(folder):
    path, documents = folder / "told.conllu", read_documents(folder / "told.conllu")[0]
    by_path, by_object = (howsure.train_parser(source, epochs=2, rng=0) for source in (path, documents))
    assert howsure.check_parser(by_path, documents).verdict == howsure.check_parser(by_object, path).verdict
    rows = howsure.apply_parser(by_path, path).data.to_pylist()
    assert howsure.apply_parser(by_path, documents).data.to_pylist() == rows
    howsure.apply_parser(by_path, documents, folder / "parsed.conllu")
    parsed = read_documents(folder / "parsed.conllu")[0]
    assert [d.words for d in parsed] == [d.words for d in documents]
    assert (folder / "parsed.conllu").read_text().count("ArcProb=") == len(rows)
    with pytest.raises(howsure.InputError, match="an empty list"):
        howsure.train_parser([])
    with pytest.raises(howsure.InputError, match="either CoNLL-U or bracketed"):
        howsure.train_parser([*documents, read_bracketed(folder / "trees.mrg")])


def test_no_sibling_is_forgotten():
    siblings = {n for n in howsure.__all__ if n.startswith(("train_", "check_", "apply_"))}
    tested = {name for family in FAMILIES.values() for name in family[:3]}
    assert siblings - tested == {"apply_recalibrator", "apply_abstention", "check_continuous", "check_paper"}


def test_thresholds_and_recalibrators_are_applied_by_path_or_object(folder):
    for make, apply, options in (
        (howsure.recalibrate, howsure.apply_recalibrator, {"method": "platt"}),
        (howsure.abstain, howsure.apply_abstention, {"risk": 0.4}),
    ):
        made = make(folder / "pairs.csv", prob="p", true="y", **options)
        path = folder / f"{apply.__name__}.json"
        made.save(path) if make is howsure.abstain else path.write_text(made.to_json())
        found = [
            apply(model, source, prob="p").data.to_pylist()
            for model in (made, howsure.load(path), path, str(path))
            for source in (PAIRS, folder / "pairs.csv")
        ]
        assert all(rows == found[0] for rows in found)
        assert len(found[0]) == len(PAIRS)
    howsure.check(PAIRS).save(folder / "check.json")
    with pytest.raises(howsure.InputError, match=r"give what `howsure\.abstain` made or saved"):
        howsure.apply_abstention(folder / "check.json", PAIRS)


def test_tables_are_checked_by_path_or_object(folder):
    for check, table, name, options in (
        (howsure.check_continuous, FORECASTS, "forecasts.csv", {"draws": "d_*", "true": "y"}),
        (howsure.check_paper, PAIRS, "pairs.csv", {"bin_size": 20}),
    ):
        assert check(table, **options).verdict == check(folder / name, **options).verdict


@pytest.mark.parametrize("kind", MODELS)
def test_load_opens_every_kind_of_model(kind, folder):
    make = {
        "classifier": lambda: howsure.train_classifier(TEXTS, text="text", true="label", strength=1.0),
        "ngram-classifier": lambda: howsure.train_classifier(
            TEXTS, text="text", true="label", method="ngrams", order=2
        ),
        "hmm": lambda: howsure.train_tagger(folder / "tags.tsv", method="hmm"),
        "crf": lambda: howsure.train_tagger(folder / "tags.tsv", method="crf", features="basic", l2=1.0),
        "arcs": lambda: howsure.train_parser(folder / "told.conllu"),
        "pcfg": lambda: howsure.train_parser(folder / "trees.mrg"),
        "coref": lambda: howsure.train_coref(folder / "told.conllu", epochs=1),
        "ngrams": lambda: howsure.lm.train(folder / "lines.txt", order=2, smoothing="laplace"),
    }
    model = make[kind]().model
    model.save(folder / f"of-{kind}.npz")
    assert type(howsure.load(folder / f"of-{kind}.npz")) is type(model)


def test_load_opens_other_files(folder):
    model = howsure.lm.train(folder / "lines.txt", order=2, smoothing="witten-bell").model
    model.save(folder / "lm.arpa")
    bits = [howsure.lm.perplexity(m, LINES).table()[0]["perplexity"] for m in (model, howsure.load(folder / "lm.arpa"))]
    assert bits[1] == pytest.approx(bits[0], rel=1e-5)
    explored = howsure.explore(coref="simple", out=folder / "results")
    assert howsure.load(folder / "results").verdict == explored.verdict
    with pytest.raises(howsure.InputError, match="there is no file"):
        howsure.load(folder / "nothing.npz")
