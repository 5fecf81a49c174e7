"""Spans of tags: against seqeval, and against a reader that goes token by token."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score

import howsure
from howsure.evaluation.scores.spans import TagSet, spans_of

BIOES = ["O", *(f"{p}-{t}" for p in "BIES" for t in ("per", "org"))]
BIO = ["O", *(f"{p}-{t}" for p in "BI" for t in ("per", "org"))]


def slow_spans(sentence):
    """A span grows while tags continue it: I or E of its type after B or I; anything else begins or ends one."""
    made, current = [], None
    for i, tag in enumerate(sentence):
        prefix, _, kind = tag.partition("-")
        goes_on = current is not None and prefix in ("I", "E") and current[0] == kind and not current[3]
        if goes_on:
            current = (kind, current[1], i, prefix == "E")
        else:
            if current:
                made.append(current[:3])
            current = None if prefix == "O" else (kind, i, i, prefix in ("S", "E"))
    return made + ([current[:3]] if current else [])


sentences = st.lists(st.lists(st.sampled_from(BIOES), min_size=1, max_size=8), min_size=1, max_size=5)


@given(sentences)
def test_spans_equal_a_slow_reader(given):
    tags = [t for s in given for t in s]
    scheme = TagSet.of(BIOES)
    new = np.concatenate([np.arange(len(s)) == 0 for s in given])
    found = spans_of(np.array([BIOES.index(t) for t in tags]), scheme, new)
    ours = [(scheme.types[k], a, b - 1) for a, b, k in zip(found.start, found.stop, found.type, strict=True)]
    at, theirs = 0, []
    for s in given:
        theirs += [(k, at + a, at + b) for k, a, b in slow_spans(s)]
        at += len(s)
    assert ours == theirs


@pytest.mark.parametrize("scheme", [BIO, BIOES])
@pytest.mark.filterwarnings("ignore")
def test_scores_equal_seqeval(scheme):
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 15, 200)
    gold = [[scheme[i] for i in rng.integers(0, len(scheme), n)] for n in lengths]
    pred = [[t if rng.random() < 0.8 else scheme[rng.integers(0, len(scheme))] for t in s] for s in gold]
    flat = [np.concatenate([np.array(s) for s in x]) for x in (gold, pred)]
    made = howsure.score(*flat, sentence=np.repeat(np.arange(200), lengths), spans=True)
    for ours, theirs in (
        (made.micro.precision, precision_score),
        (made.micro.recall, recall_score),
        (made.micro.f, f1_score),
    ):
        assert ours.value == pytest.approx(theirs(gold, pred), abs=1e-12)
    assert made.macro.f.value == pytest.approx(f1_score(gold, pred, average="macro"), abs=1e-12)
    assert made.micro.f.low < made.micro.f.value < made.micro.f.high


def test_io_tags_and_bare_types():
    for tags in (["I-x", "I-x", "O", "I-y"], ["x", "x", "O", "y"]):
        scheme = TagSet.of(sorted(set(tags)))
        codes = np.array([sorted(set(tags)).index(t) for t in tags])
        found = spans_of(codes, scheme, np.array([True, False, False, False]))
        assert list(zip(found.start, found.stop, strict=True)) == [(0, 2), (3, 4)]
        assert found.irregular == 0


def test_broken_sequences_are_read_and_counted():
    tags = np.array(["O", "I-x", "O", "B-x", "I-x", "I-y"])
    made = howsure.score(tags, tags, sentence=np.zeros(6, int), groups=[0, 0, 0, 1, 1, 1], spans=True)
    assert made.micro.f.value == 1.0
    assert made.notes[0].startswith("2 of 3 gold spans break their tagging scheme")


def test_a_span_does_not_cross_a_sentence():
    tags = np.array(["B-x", "I-x", "I-x", "I-x"])
    one = howsure.score(tags, tags, sentence=[1, 1, 2, 2], spans=True)
    assert sum(c.gold for c in one.classes) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: howsure.score(["B-x"], ["O"], spans=True), "`sentence=`"),
        (lambda: howsure.score(["O", "O"], ["O", "O"], sentence=[1, 2], spans=True), "no tag but O"),
        (lambda: howsure.score(["B-x", None], ["O", "B-x"], sentence=[1, 2], spans=True), "every token needs a tag"),
    ],
)
def test_bad_tags(call, message):
    with pytest.raises(howsure.InputError, match=message):
        call()
