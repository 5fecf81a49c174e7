"""Trees with the labels of spaCy's English pipelines, Stanford and UD's first version, against the same trees in Universal Dependencies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.corpora.document import Document
from howsure.corpora.relations import RENAMED, UNIVERSAL, universal
from howsure.errors import InputError
from howsure.events.rules import RULES, agents


def tree(*rows):
    """Rows of word, upos, head (from 1, 0 for the root), relation; lemmas are the words in small letters."""
    words, upos, heads, relation = zip(*rows, strict=True)
    columns = {"upos": upos, "relation": relation, "lemma": tuple(LEMMAS.get(w, w.lower()) for w in words)}
    return Document("d", tuple(words), np.array([0, len(words)]), columns, np.array([h - 1 for h in heads]))


LEMMAS = {"attacked": "attack", "was": "be", "is": "be", "were": "be", "spoke": "speak"}


def shape(document):
    return [(int(h) + 1, r) for h, r in zip(document.heads, document.columns["relation"], strict=True)]


def test_a_passive_and_its_agent():
    given_tree = tree(
        ("Iran", "PROPN", 3, "nsubjpass"),
        ("was", "AUX", 3, "auxpass"),
        ("attacked", "VERB", 0, "ROOT"),
        ("by", "ADP", 3, "agent"),
        ("forces", "NOUN", 4, "pobj"),
        ("of", "ADP", 5, "prep"),
        ("Iraq", "PROPN", 6, "pobj"),
        (".", "PUNCT", 3, "punct"),
    )
    made = universal(given_tree)
    expected = [
        (3, "nsubj:pass"),
        (3, "aux:pass"),
        (0, "root"),
        (5, "case"),
        (3, "obl:agent"),
        (7, "case"),
        (5, "nmod"),
    ]
    assert shape(made) == [*expected, (3, "punct")]
    assert [(made.words[a.token], a.rule) for a in agents(made, {"attack"})] == [("forces", "agent")]
    assert agents(given_tree, {"attack"}) == []  # what was found before, without a word


def test_possessors_relative_clauses_objects_and_particles():
    made = universal(
        tree(
            ("Iraq", "PROPN", 3, "poss"),
            ("'s", "PART", 1, "case"),
            ("army", "NOUN", 10, "nsubj"),
            (",", "PUNCT", 3, "punct"),
            ("which", "PRON", 6, "nsubj"),
            ("attacked", "VERB", 3, "relcl"),
            ("two", "NUM", 8, "nummod"),
            ("towns", "NOUN", 6, "dobj"),
            (",", "PUNCT", 3, "punct"),
            ("gave", "VERB", 0, "ROOT"),
            ("up", "ADP", 10, "prt"),
            ("to", "ADP", 10, "dative"),
            ("Iran", "PROPN", 12, "pobj"),
        )
    )
    assert shape(made)[:3] == [(3, "nmod:poss"), (1, "case"), (10, "nsubj")]
    assert shape(made)[5:8] == [(3, "acl:relcl"), (8, "nummod"), (6, "obj")]
    assert shape(made)[9:] == [(0, "root"), (10, "compound:prt"), (13, "case"), (10, "obl")]
    assert [(made.words[a.token], a.rule) for a in agents(made, {"attack"})] == [
        ("army", "relative"),
        ("which", "subject"),
    ]


def test_copulas_infinitives_and_clauses_behind_prepositions():
    made = universal(
        tree(
            ("He", "PRON", 2, "nsubj"),
            ("is", "AUX", 0, "ROOT"),
            ("not", "PART", 2, "neg"),
            ("ready", "ADJ", 2, "acomp"),
            ("to", "PART", 6, "aux"),
            ("leave", "VERB", 4, "xcomp"),
            ("without", "ADP", 6, "prep"),
            ("attacking", "VERB", 7, "pcomp"),
        )
    )
    assert shape(made) == [
        (4, "nsubj"), (4, "cop"), (4, "advmod"), (0, "root"), (6, "mark"), (4, "xcomp"), (8, "mark"), (6, "advcl"),
    ]  # fmt: skip
    there = universal(tree(("There", "PRON", 2, "expl"), ("was", "VERB", 0, "ROOT"), ("peace", "NOUN", 2, "attr")))
    assert shape(there) == [(2, "expl"), (0, "root"), (2, "nsubj")]


def test_conjuncts_hang_on_the_first_and_conjunctions_on_the_next():
    made = universal(
        tree(
            ("Iraq", "PROPN", 2, "nsubj"),
            ("came", "VERB", 0, "ROOT"),
            (",", "PUNCT", 2, "punct"),
            ("attacked", "VERB", 2, "conj"),
            ("and", "CCONJ", 4, "cc"),
            ("left", "VERB", 4, "conj"),
            ("in", "ADP", 6, "prep"),
            ("May", "PROPN", 7, "pobj"),
        )
    )
    assert shape(made)[3:] == [(2, "conj"), (6, "cc"), (2, "conj"), (8, "case"), (6, "obl")]
    assert [made.words[a.token] for a in agents(made, {"leave"} | {"left"}, RULES["wide"])] == ["Iraq"]


def test_two_prepositions_and_a_stranded_one():
    made = universal(
        tree(
            ("came", "VERB", 0, "ROOT"),
            ("out", "ADP", 1, "prep"),
            ("of", "ADP", 2, "prep"),
            ("Iran", "PROPN", 3, "pobj"),
            ("whom", "PRON", 6, "dobj"),
            ("spoke", "VERB", 4, "relcl"),
            ("to", "ADP", 6, "prep"),
        )
    )
    assert shape(made) == [
        (0, "root"), (4, "case"), (4, "case"), (1, "obl"), (6, "obj"), (4, "acl:relcl"), (6, "advmod"),
    ]  # fmt: skip


def test_first_version_of_universal_dependencies():
    made = universal(
        tree(
            ("Iran", "PROPN", 3, "nsubjpass"),
            ("was", "AUX", 3, "auxpass"),
            ("attacked", "VERB", 0, "root"),
            ("by", "ADP", 5, "case"),
            ("forces", "NOUN", 3, "nmod"),
        )
    )
    assert shape(made) == [(3, "nsubj:pass"), (3, "aux:pass"), (0, "root"), (5, "case"), (3, "obl")]
    assert [a.rule for a in agents(made, {"attack"})] == ["agent"]


def test_universal_dependencies_stay_and_unknown_schemes_are_refused():
    own = tree(("Iran", "PROPN", 2, "nsubj:pass"), ("attacked", "VERB", 0, "root"))
    assert universal(own) is own
    german = tree(("Iran", "PROPN", 2, "sb"), ("attacked", "VERB", 0, "ROOT"), ("Iraq", "PROPN", 2, "oa"))
    with pytest.raises(InputError, match=r"67% of its relations \(oa, sb\) are neither Universal Dependencies"):
        universal(german)
    assert shape(universal(german, refuse=False))[0] == (2, "sb")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_comes_out_is_a_tree_with_universal_labels(data):
    n = data.draw(st.integers(1, 9))
    order = data.draw(st.permutations(range(n)))
    heads = [-1] * n
    for at in range(1, n):
        heads[order[at]] = order[data.draw(st.integers(0, at - 1))]
    labels = sorted(RENAMED) + sorted(UNIVERSAL - {"root"})
    relation = tuple("ROOT" if h < 0 else data.draw(st.sampled_from(labels)) for h in heads)
    upos = tuple(data.draw(st.sampled_from(["VERB", "NOUN", "AUX", "ADP", "ADJ"])) for _ in range(n))
    words = tuple(data.draw(st.sampled_from(["be", "to", "x"])) for _ in range(n))
    columns = {"relation": relation, "upos": upos, "lemma": words}
    made = universal(Document("d", words, np.array([0, n]), columns, np.array(heads)))
    assert all(r.split(":")[0] in UNIVERSAL for r in made.columns["relation"])
    assert (made.heads < 0).sum() == 1
    assert [r == "root" for r in made.columns["relation"]] == (made.heads < 0).tolist()
    for i in range(n):
        at, steps = i, 0
        while at >= 0:
            at, steps = int(made.heads[at]), steps + 1
            assert steps <= n
    once_more = universal(made)
    assert shape(once_more) == shape(made)
