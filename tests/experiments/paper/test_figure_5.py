"""Figure 5: pairs and their errors by loops, findings as functions of the rows."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import howsure
from howsure.calibration.estimation.intervals import Estimate
from howsure.corpora.conll2012 import conll2012_text
from howsure.experiments.paper import figure_5
from howsure.experiments.paper.figure_5 import Pairs, Row, documents, fitted, settings, studied
from howsure.experiments.registry import Work

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))
from coref_stories import story

TINY = {**settings(quick=True), "data": "gum", "data_fingerprint": "", "bin_size": 50, "costs": True}


@pytest.fixture(scope="module")
def stories():
    return [story(i) for i in range(14)], [story(i) for i in range(50, 54)], [story(i) for i in range(80, 86)]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return Work(folder=tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def made(stories, work):
    return studied(TINY, np.random.default_rng(0), work, *stories)


def test_pairs_and_their_error_by_loops(stories, work, made):
    test = stories[2]
    model = fitted(work, TINY, [], [], mentions="gold")  # as it was kept
    rows = []
    for number, d in enumerate(test):
        given = model.candidates(d)
        entity = {(m.start, m.end): m.entity for m in d.mentions}
        square = model.posterior(d, given).pairs()
        for i in range(len(given)):
            for j in range(i):
                a, b = (entity[given[k].start, given[k].end] for k in (i, j))
                rows.append((square[i, j], float(a == b), number))
    pairs = Pairs(model, test)
    assert sorted(zip(pairs.q, pairs.y, pairs.document, strict=True)) == sorted(rows)
    assert (pairs.n_documents, pairs.n_mentions) == (6, sum(len(d.mentions) for d in test))
    rows.sort()
    error, n = 0.0, len(rows)
    for k in range(n // 50):
        part = rows[50 * k : n if k == n // 50 - 1 else 50 * (k + 1)]
        error += len(part) * (np.mean([q for q, *_ in part]) - np.mean([y for _, y, _ in part])) ** 2
    found = next(r for r in made["tables"][0].rows if r[:2] == ("gold mentions", "exact"))
    assert float(found[4]) == pytest.approx(np.sqrt(error / n), abs=2e-3)  # ties share their labels
    assert found[2] == f"{n:,}"


def test_samples_are_off_and_exact_probabilities_are_not(made):
    off = [float(r[-1]) for r in made["tables"][0].rows if r[0] == "gold mentions"][:3]
    assert off[0] == 0
    assert min(off[1:]) > 0


def test_parts(made):
    assert [f.claim[:20] for f in made["findings"]] == [
        "The model is very we",
        "It is slightly overc",
        "Pair probabilities a",
        "What do the error co",
    ]
    assert made["data"] == "OntoGUM, 6 documents asked"
    panels = made["figures"][0].specification["hconcat"]
    assert [p["title"]["text"] for p in panels] == ["found mentions", "gold mentions"]


def row(mentions, how, error=0.02, gap=(0.02, 0.01, 0.03)):
    interval = Estimate(error, error, error)
    e, g = Estimate(error, error / 2, error * 1.5), Estimate(*gap)
    return Row(mentions, how, 100, 0.1, error, interval, e, 0.05, 0.0, 0.0, g)


def test_findings_follow_the_rows():
    hows = ("exact", "10 samples", "1,000 samples", "no temperature", "error costs")
    rows = [row(m, h) for m in ("predicted", "gold") for h in hows]
    of = {"samples": [10, 1000], "costs": True}
    assert [f.verdict for f in figure_5.findings(rows, of)] == [
        "differs",
        "confirmed",
        "corrected",
        "extended",
    ]
    fine = [replace(r, published=0.009) if r.how == "no temperature" else r for r in rows]
    assert figure_5.below_one_percent(fine).verdict == "confirmed"
    for gap, verdict in (((-0.02, -0.03, -0.01), "differs"), ((0.02, -0.01, 0.05), "undecided")):
        assert figure_5.overconfident([replace(r, gap=Estimate(*gap)) for r in rows]).verdict == verdict
    costly = [replace(r, error=Estimate(0.5, 0.4, 0.6)) if r.how == "error costs" else r for r in rows]
    found = figure_5.costs(costly)
    assert found.said.startswith("They make it worse calibrated")
    assert "do not overlap" in found.said


def test_a_model_is_kept(stories, tmp_path):
    work = Work(folder=tmp_path)
    first = fitted(work, TINY, stories[0], stories[1], mentions="gold")
    told = []
    second = fitted(replace(work, tell=told.append), TINY, [], [], mentions="gold")
    assert told == []
    assert second.temperature == first.temperature
    assert np.array_equal(Pairs(first, stories[2]).q, Pairs(second, stories[2]).q)


def test_ontonotes_files_are_read_and_parsed(tmp_path, monkeypatch):
    folder = tmp_path / "conll-2011" / "dev" / "nw"
    folder.mkdir(parents=True)
    (folder / "a.v2_gold_conll").write_text(conll2012_text([story(1)]))
    (folder / "a.v2_auto_conll").write_text("not to be read")
    monkeypatch.setenv("HOWSURE_DATA", str(tmp_path))
    (made,) = documents("conll-2011", "dev")
    assert made.words == story(1).words
    assert len(made.mentions) == len(story(1).mentions)
    assert made.heads is not None
    assert set(made.columns) >= {"upos", "relation", "lemma"}


@pytest.mark.corpus
def test_quick_on_ontogum(tmp_path):
    made = howsure.reproduce("figure-5", quick=True, out=tmp_path)
    assert made.data.startswith(("OntoGUM", "OntoNotes"))
    numbers = {k: v for f in made.findings for k, v in f.numbers.items()}
    assert 0 < numbers["base_rate"] < 0.1
    assert numbers["brier_exact"] < numbers["brier_few"]
    assert (tmp_path / "figure-5-5.svg").stat().st_size < 200_000
    assert howsure.reproduce("figure-5", quick=True, out=tmp_path).cached
