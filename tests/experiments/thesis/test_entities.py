"""Named entities: the same spans are asked of all taggers, and claims follow their calibration."""

from itertools import pairwise, product

import numpy as np
import pytest

import howsure
from howsure.calibration.comparing.result import compare_rows
from howsure.experiments.questions import Question
from howsure.experiments.registry import EXPERIMENTS
from howsure.experiments.thesis.entities import ADVANCED, BASIC, HMM, LEAST, asked, findings, gold_spans, pooled
from howsure.posteriors.chain import ChainPosterior

TAGS = ("O", "B-x", "I-x", "B-y", "I-y")
GOLD = ["B-x", "I-x", "O", "B-y", "B-x", "O", "B-x"]
STARTS = np.array([0, 3, 7])


def chain(seed):
    rng = np.random.default_rng(seed)
    return ChainPosterior(rng.normal(size=(7, 5)) * 2, rng.normal(size=(5, 5)), starts=STARTS, tags=TAGS)


def by_enumeration(posterior, start, end, kind):
    """The probability that a span is exactly of the kind, over all tag sequences of its sentence."""
    a, z = next((a, z) for a, z in pairwise(STARTS) if a <= start < z)
    total = found = 0.0
    scores, moves = posterior._chain.scores, posterior._chain.transitions
    for codes in product(range(5), repeat=z - a):
        w = np.exp(sum(scores[a + i, c] for i, c in enumerate(codes)) + sum(moves[c, d] for c, d in pairwise(codes)))
        total += w
        names = [TAGS[c] for c in codes]
        found += w * ((start - a, end - a) in gold_spans(names, np.array([0, z - a]), kind))
    return found / total


def test_gold_spans_end_where_the_kind_or_the_sentence_does():
    assert gold_spans(GOLD, STARTS, "x") == [(0, 2), (4, 5), (6, 7)]
    assert gold_spans(["B-x", "I-x", "I-x"], np.array([0, 2, 3]), "x") == [(0, 2)]
    assert gold_spans(["I-x", "B-y", "I-x"], np.array([0, 3]), "x") == []


def test_all_taggers_are_asked_the_same_spans():
    posteriors = {"a": chain(1), "b": chain(2)}
    made = asked(posteriors, GOLD, "x")
    found = [p.span_is("x", least=LEAST) for p in posteriors.values()]
    candidates = {(int(s), int(e)) for x in found for s, e in zip(x.start, x.end, strict=True)}
    assert len(made.y) == len(candidates | set(gold_spans(GOLD, STARTS, "x")))
    assert made.y.sum() == 3
    spans = sorted(candidates | set(gold_spans(GOLD, STARTS, "x")))
    for name, p in posteriors.items():
        expected = [by_enumeration(p, s, e, "x") for s, e in spans]
        np.testing.assert_allclose(made.q[name], expected, atol=1e-10)
    both = pooled([made, asked(posteriors, GOLD, "y")])
    assert len(both.y) == len(both.q["a"]) == len(both.group)


@pytest.mark.parametrize(("sharp", "said"), [(1.0, "undecided"), (3.0, "confirmed")])
def test_claims_follow_the_calibration(sharp, said):
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 4000)
    y = (rng.random(4000) < p).astype(np.uint8)
    off = 1 / (1 + np.exp(-sharp * np.log(p / (1 - p))))
    whole = Question("all", y, {HMM: off, BASIC: p, ADVANCED: p}, np.arange(4000) // 4)
    calibrations, pairs = compare_rows(y, whole.q, whole.group, 0.95, None)
    made = findings(
        dict(zip(whole.q, calibrations, strict=True)),
        {(x.a, x.b): x for x in pairs},
        dict.fromkeys(whole.q, 0.9),
        whole,
    )
    assert [f.verdict for f in made] == [said, "undecided"]


@pytest.mark.corpus
def test_quick_on_gum(tmp_path):
    if not EXPERIMENTS["thesis-ner"].data:
        pytest.skip("GUM is not below HOWSURE_DATA")
    made = howsure.reproduce("thesis-ner", quick=True, out=tmp_path)
    assert len(made.tables[1].rows) == 2
    assert all(row[2] > 0 for row in made.tables[1].rows)
