"""Coreference scores: the official scorer's answers, and an oracle that works with sets of mentions and links."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.corpora.conll2012 import read_conll2012
from howsure.errors import InputError
from howsure.evaluation.coreference import coreference_scores, scores_of_parts


def spans(document):
    return [((m.start, m.end), m.entity) for m in document.mentions]


@pytest.mark.corpus
def test_the_official_scorers_answers(corpora):
    """36 cases × 5 metrics × recall, precision and F1; the scorer cuts to two decimals instead of rounding."""
    folder = corpora / "coref-scorer-cases"
    expected = json.loads((folder / "expected.json").read_text())
    assert len(expected) == 36
    for case, metrics in expected.items():
        key = read_conll2012(folder / f"{case.rsplit('-', 1)[0]}.key")
        response = read_conll2012(folder / f"{case}.response")
        got = coreference_scores([(spans(k), spans(r)) for k, r in zip(key, response, strict=True)])
        assert len(metrics) == 5
        for metric, values in metrics.items():
            score = got["b3" if metric == "bcub" else metric]
            for name, value in values.items():
                assert -1e-6 < 100 * getattr(score, name).value - value < 0.01 + 1e-6, (case, metric, name)


def entities(pairs):
    made = {}
    for mention, entity in pairs:
        made.setdefault(entity, set()).add(mention)
    return list(made.values())


def links(clusters):
    return {frozenset(p) for c in clusters for p in itertools.combinations(c, 2)}


def apart(clusters):
    everyone = set().union(*clusters) if clusters else set()
    return {frozenset(p) for p in itertools.combinations(everyone, 2)} - links(clusters)


def oracle_recall(metric, key, response):
    """Recall from the definitions, with sets; precision is the recall of the exchanged sides."""
    if metric == "muc":
        kept = there = 0
        for k in key:
            parts = {next((n for n, r in enumerate(response) if m in r), ("alone", m)) for m in k}
            kept, there = kept + len(k) - len(parts), there + len(k) - 1
        return kept, there
    if metric == "b3":
        total = 0.0
        for k in key:
            for m in k:
                total += next((len(k & r) / len(k) for r in response if m in r), 0.0)
        return total, sum(map(len, key))
    if metric in ("ceafm", "ceafe"):

        def alike(k, r):
            return len(k & r) if metric == "ceafm" else 2 * len(k & r) / (len(k) + len(r))

        small, large = sorted([key, response], key=len)
        best = max(
            (sum(alike(a, b) for a, b in zip(small, chosen, strict=True))
             for chosen in itertools.permutations(large, len(small))),
            default=0.0,
        )  # fmt: skip
        return best, sum(alike(k, k) for k in key)
    if metric == "lea":
        total = 0.0
        for k in key:
            own = links([k]) or {frozenset(k)}
            theirs = links(response) | {frozenset(r) for r in response if len(r) == 1}
            total += len(k) * len(own & theirs) / len(own)
        return total, sum(map(len, key))
    side = links if metric == "pairwise" else apart
    return len(side(key) & side(response)), len(side(key))


mentions = st.dictionaries(st.integers(0, 8), st.sampled_from("abcd"), max_size=8)


@given(st.lists(st.tuples(mentions, mentions), min_size=1, max_size=3))
def test_equals_the_definitions_with_sets(documents):
    pairs = [(list(k.items()), list(r.items())) for k, r in documents]
    got = coreference_scores(pairs, samples=0)

    def ratio(metric, flip):
        terms = [oracle_recall(metric, *[entities(x) for x in (d[::-1] if flip else d)]) for d in pairs]
        whole = sum(t[1] for t in terms)
        return sum(t[0] for t in terms) / whole if whole else 0.0

    def f(r, p):
        return 2 * r * p / (r + p) if r + p else 0.0

    found = {}
    for metric in ("muc", "b3", "ceafm", "ceafe", "lea", "pairwise", "unlinked"):
        r, p = ratio(metric, False), ratio(metric, True)
        found[metric] = (r, p, f(r, p))
        if metric != "unlinked":
            score = got[metric]
            assert (score.recall.value, score.precision.value, score.f1.value) == pytest.approx(found[metric])
    if links(entities(pairs[0][0])) and apart(entities(pairs[0][0])):
        mean = [(a + b) / 2 for a, b in zip(found["pairwise"], found["unlinked"], strict=True)]
        score = got["blanc"]
        assert (score.recall.value, score.precision.value, score.f1.value) == pytest.approx(mean)
    assert got["conll"].f1.value == pytest.approx(np.mean([found[m][2] for m in ("muc", "b3", "ceafe")]))


@given(mentions.filter(lambda m: len(set(m.values())) < len(m)))
def test_gold_against_itself_is_perfect(m):
    got = coreference_scores([(list(m.items()), list(m.items()))])
    for score in got.scores:
        assert score.f1.value == pytest.approx(1.0)


def test_a_mention_twice_counts_once():
    gold = [(1, "a"), (2, "a")]
    assert coreference_scores([(gold, [(1, "x"), (2, "x"), (2, "y")])])["conll"].f1.value == 1.0


def test_bootstrap_over_documents_widens_with_fewer():
    rng = np.random.default_rng(0)
    documents = [([(i, i % 3) for i in range(12)], [(i, int(rng.integers(4))) for i in range(12)]) for _ in range(40)]
    whole, few = coreference_scores(documents), coreference_scores(documents[:6])
    for m in ("muc", "b3", "conll"):
        w, s = whole[m].f1, few[m].f1
        assert w.low < w.value < w.high
        assert s.high - s.low > w.high - w.low
    again = scores_of_parts(whole.parts)
    assert again["conll"].f1 == whole["conll"].f1
    assert json.loads(json.dumps(whole.to_dict(), allow_nan=False))["metrics"]["lea"]["f1"]["value"] > 0
    assert coreference_scores(documents[:1])["conll"].f1.low is None


def test_nothing_to_score():
    with pytest.raises(InputError, match="no documents"):
        coreference_scores([])
    empty = coreference_scores([([], [])])
    assert empty["conll"].f1.value == 0.0
