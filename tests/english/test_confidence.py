"""Probabilities of tags and arcs: the trees stay the same, and the numbers are those of the model done another way."""

import json

import numpy as np
import pytest

spacy = pytest.importorskip("spacy")

from howsure import parse  # noqa: E402
from howsure.cli.application import run  # noqa: E402
from howsure.corpora.conllu import conllu_text, read_conllu  # noqa: E402
from howsure.english import original_text, probabilities  # noqa: E402
from howsure.english.confidence import (  # noqa: E402
    KINDS,
    design_of,
    parse_with_probabilities,
    read_curves,
    tag_probabilities,
    with_probabilities,
)
from howsure.english.shipped import model  # noqa: E402
from howsure.errors import InputError  # noqa: E402

TEXT = (
    "Rebels ATTACKED a convoy near the border, officials said on Monday. Two soldiers were killed and the third, who "
    'had seen them come, ran\n\nAfter the raid\n\n- he hid\n- "They did not find me," he told us. 3.5 hours later it was over!'
)


def softmax(x):
    e = np.exp(np.asarray(x, dtype=np.float64) - np.max(x))
    return e / e.sum()


def test_the_parse_is_the_same_with_and_without(shipped):
    plain, sure = (parse([TEXT, "", TEXT.upper()], cache=False, jobs=1, probabilities=p) for p in (False, True))
    for a, b in zip(plain, sure, strict=True):
        assert a.words == b.words
        assert {k: v for k, v in a.columns.items() if k != "misc"} == {
            k: v for k, v in b.columns.items() if k != "misc"
        }
        assert np.array_equal(a.heads, b.heads) if len(a) else not len(b)
        assert original_text(a) == original_text(b)
        assert probabilities(a) == {}
        found = probabilities(b)
        assert list(found) == (list(KINDS) if len(b) else [])
        assert all(((p >= 0) & (p <= 1)).all() and len(p) == len(b) for p in found.values())


def test_probabilities_are_in_the_file_the_json_and_the_cache(shipped, tmp_path, capsys):
    document = parse([("a", TEXT)], probabilities=True, jobs=1)[0]
    again = parse([("a", TEXT)], probabilities=True, jobs=1)[0]  # from the cache
    assert again.columns == document.columns
    assert probabilities(parse([("a", TEXT)], jobs=1)[0]) == {}  # not mixed up with parses that have none
    path = tmp_path / "a.conllu"
    path.write_text(conllu_text(document))
    kept = probabilities(read_conllu(path)[0])
    (tmp_path / "a.txt").write_text(TEXT)
    assert run(["parse", str(tmp_path / "a.txt"), "--probabilities", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["documents"][0]
    for kind, p in probabilities(document).items():
        assert np.array_equal(kept[kind], p)
        assert said[kind] == p.tolist()


def test_another_pipeline_has_none(shipped):
    with pytest.raises(InputError, match="probabilities come with the pipeline that ships"):
        next(iter(parse(["Yes."], model=spacy.blank("en"), probabilities=True)))


def test_tags_have_the_softmax_of_the_tagger(shipped):
    ready = model()
    doc = ready.nlp("Two soldiers were killed near the border .")
    for name in ("tagger", "morphologizer"):
        component = ready.nlp.get_pipe(name)
        scores = component.model.predict([doc])[0]
        found = tag_probabilities(component, [doc])[0]
        for token, row, p in zip(doc, scores, found, strict=True):
            label = [
                x if name == "tagger" else dict(e.split("=", 1) for e in x.split("|"))["POS"] for x in component.labels
            ]
            own = token.tag_ if name == "tagger" else token.pos_
            assert p == pytest.approx(sum(q for x, q in zip(label, softmax(row), strict=True) if x == own))


def test_arcs_by_a_walk_over_named_transitions(shipped):
    """The same tree, transition by transition, with the names and the validity that the parser tells."""
    ready = model()
    parser = ready.nlp.get_pipe("parser")
    words = [
        "The",
        "president",
        ",",
        "who",
        "met",
        "rebels",
        "on",
        "Monday",
        ",",
        "said",
        "he",
        "was",
        "tired",
        ".",
        "He",
        "then",
        "left",
    ]
    made = []
    for _ in range(2):
        with ready.nlp.select_pipes(disable=["parser"]):
            made.append(ready.nlp(spacy.tokens.Doc(ready.nlp.vocab, words=words)))
    found = parse_with_probabilities(parser, [made[0]])[0]
    state = parser.moves.init_batch([made[1]])[0]
    step = parser.model.predict([made[1]])
    names = [parser.moves.get_class_name(i) for i in range(parser.moves.n_moves)]
    arcs = [i for i, n in enumerate(names) if not n.startswith("B")]
    free, expected, heads = np.ones(len(words)), {}, {}
    while not state.is_final():
        scores = step.predict([state])[0]
        p = dict(zip((names[i] for i in arcs), softmax(scores[arcs]), strict=True))
        chosen = max((n for n in names if parser.moves.is_valid(state, n)), key=lambda n: scores[names.index(n)])
        s, b = state.S(0), state.B(0)
        if chosen.startswith("L-"):
            heads[s], expected[s] = b, free[s] * p[chosen]
        elif chosen.startswith("R-"):
            heads[b], expected[b] = s, free[b] * p[chosen]
        if s >= 0 and b >= 0:
            free[s] *= 1 - sum(q for n, q in p.items() if n.startswith("L-"))
            free[b] *= 1 - sum(q for n, q in p.items() if n.startswith("R-"))
        parser.moves.apply_transition(state, chosen)
    assert [t.head.i for t in made[0]] == [heads.get(i, i) for i in range(len(words))]
    np.testing.assert_allclose(found, [expected.get(i, free[i]) for i in range(len(words))], rtol=1e-9)


def test_curves_are_applied_and_checked(shipped, tmp_path):
    ready = model()
    doc = lambda: spacy.tokens.Doc(ready.nlp.vocab, words=["She", "left", "."])  # noqa: E731
    (_, raw), (_, sure) = (next(with_probabilities(ready.nlp, [doc()], 8, c)) for c in (None, ready.curves))
    for kind, curve in zip(KINDS, ready.curves, strict=True):
        np.testing.assert_allclose(sure[kind], 1 / (1 + np.exp(-design_of(raw[kind]) @ curve)))
    path = tmp_path / "curves.json"
    assert read_curves(path) is None
    for bad in ([1, 2], [1, 2, float("nan")], [-1, 1, 0]):
        path.write_text(json.dumps(dict.fromkeys(KINDS, bad)))
        with pytest.raises(ValueError, match="no curves that rise"):
            read_curves(path)
