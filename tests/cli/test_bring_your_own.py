"""Files of other libraries, written as those libraries write them, each checked with one command."""

import json

import numpy as np
import pytest

import howsure
from howsure.cli.application import run
from howsure.corpora.conllu import read_conllu
from howsure.corpora.document import Document
from howsure.errors import InputError
from howsure.models.coreference.others import read_system
from howsure.posteriors.chain import ChainPosterior
from howsure.posteriors.classes import ClassPosterior

# Two documents with gold entities, parsed by Stanza (offsets, a multi-word token) and joined with CorefUD's brackets.
GOLD = """# global.Entity = eid-etype-head-other
# newdoc id = one
# meta::date = 1987-03-02
# text = Iran's army attacked a town. It left.
1-2 Iran's _ _ _ _ _ _ _ start_char=0|end_char=6
1 Iran Iran PROPN NNP _ 3 nmod:poss _ Entity=(e2-place-1-)(e1-org-3-
2 's 's PART POS _ 1 case _ _
3 army army NOUN NN _ 4 nsubj _ start_char=7|end_char=11|Entity=e1)
4 attacked attack VERB VBD _ 0 root _ start_char=12|end_char=20
5 a a DET DT _ 6 det _ start_char=21|end_char=22|Entity=(e3-place-2-
6 town town NOUN NN _ 4 obj _ start_char=23|end_char=27|Entity=e3)
7 . . PUNCT . _ 4 punct _ start_char=27|end_char=28

1 It it PRON PRP _ 2 nsubj _ start_char=29|end_char=31|Entity=(e1-org-1-)
2 left leave VERB VBD _ 0 root _ start_char=32|end_char=36
3 . . PUNCT . _ 2 punct _ start_char=36|end_char=37

# newdoc id = two
# meta::date = 1987-04-02
1 Ann Ann PROPN NNP _ 2 nsubj _ start_char=0|end_char=3|Entity=(e1-person-1-)
2 saw see VERB VBD _ 0 root _ start_char=4|end_char=7
3 Bob Bob PROPN NNP _ 2 obj _ start_char=8|end_char=11|Entity=(e2-person-1-)
4 . . PUNCT . _ 2 punct _ start_char=11|end_char=12

1 She she PRON PRP _ 2 nsubj _ start_char=13|end_char=16|Entity=(e1-person-1-)
2 left leave VERB VBD _ 0 root _ start_char=17|end_char=21
3 . . PUNCT . _ 2 punct _ start_char=21|end_char=22

"""
ONE, TWO = "Iran's army attacked a town. It left.", "Ann saw Bob. She left."


def conllu(text):
    return "".join(line if line.startswith("#") else "\t".join(line.split(" ")) for line in text.splitlines(True))


@pytest.fixture
def gold(tmp_path):
    path = tmp_path / "gold.conllu"
    path.write_text(conllu(GOLD))
    return path


def fastcoref(text, spans, logits):
    """A line as docs/guides/bring-your-own.md writes it: masked places hold -10,000, the last column is the dummy's 0."""
    n = len(spans)
    table = np.full((n, n + 1), -10_000.0)
    table[:, -1] = 0.0
    for i, row in enumerate(logits):
        table[i, : len(row)] = row
    return {"text": text, "spans": spans, "logits": table.tolist()}


@pytest.fixture
def logits(tmp_path):
    spans = [[0, 6], [0, 11], [21, 27], [29, 31]]  # "Iran's", "Iran's army", "a town", "It"
    lines = [
        fastcoref(ONE, spans, [[], [-4.0], [-5.0, -3.0], [-2.0, 1.5, 0.5]]),
        fastcoref(TWO, [[0, 3], [8, 11], [13, 16]], [[], [-3.0], [2.0, -1.0]]),
    ]
    path = tmp_path / "fastcoref.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_mentions_may_count_our_tokens(tmp_path):
    logits = np.random.default_rng(0).normal(size=(6, 7))
    made = howsure.AntecedentPosterior.from_logits(logits)
    path = tmp_path / "own.jsonl"
    line = {"name": "d", "mentions": [[i, i + 1] for i in range(6)], "logits": logits.tolist()}
    path.write_text(json.dumps(line) + "\n\n")
    read = read_system(path).posterior(Document("d", tuple("abcdef"), np.array([0, 6])))
    np.testing.assert_allclose(read.pairs(), made.pairs(), atol=1e-12)
    assert read.name == "d"
    assert howsure.AntecedentPosterior.from_logits(logits[None]).pair(1, 4) == made.pair(1, 4)


def printed(capsys, *arguments):
    code = run([str(a) for a in arguments])
    said = capsys.readouterr()
    assert code == 0, said.err
    return json.loads(said.out)


def test_fastcoref_logits_are_checked_in_one_command(gold, logits, capsys):
    made = printed(capsys, "coref", "check", "--scores", logits, gold, "--sample-sizes", "10", "--json")
    assert (made["n_documents"], made["n_mentions"]) == (2, 7)
    assert made["pairs"]["n"] == 6 + 3
    # "It" takes "Iran's army" with e^1.5 / (1 + e^-2 + e^1.5 + e^.5), or through a link of "a town".
    document = read_conllu(gold)[0]
    posterior = read_system(logits).posterior(document)
    rows = [np.exp([*row, 0.0]) for row in ([-4.0], [-5.0, -3.0], [-2.0, 1.5, 0.5])]
    a1, a2, a3 = (row / row.sum() for row in rows)
    town_army = a2[1] + a2[0] * a1[0]
    assert posterior.pair(1, 3) == pytest.approx(a3[1] + a3[0] * a1[0] + a3[2] * town_army)
    found = read_system(logits).candidates(document)
    assert [(m.start, m.end) for m in found] == [(0, 2), (0, 3), (4, 6), (7, 8)]
    sliced = printed(
        capsys, "coref", "check", gold, "--scores", logits, "--by", "distance", "--sample-sizes", "10", "--json"
    )
    assert {s["slice"] for s in sliced["links"]["slices"]} <= {"same sentence", "1 sentence"}


def test_scores_are_resolved(gold, logits, tmp_path, capsys):
    out = tmp_path / "resolved.jsonl"
    assert printed(capsys, "coref", "resolve", "--scores", logits, gold, "-o", out, "--json")["documents"] == 2
    one = json.loads(out.read_text().splitlines()[0])
    assert one["document"] == "one"
    assert [m["text"] for m in one["mentions"]] == ["Iran 's", "Iran 's army", "a town", "It"]
    assert [1, 3] in one["clusters"]


def test_explore_with_anybodys_links_and_parses(gold, logits, tmp_path, capsys):
    links = ["--parses", gold, "--actors", "countries", "--verbs", "leave", "--rules", "paper", "--samples", 4000]
    made = printed(capsys, "explore", *links, "--coref", logits, "--json")
    # "It" left; it is the army of Iran with the probability that the scores give, and the army is described as Iran's.
    posterior = read_system(logits).posterior(read_conllu(gold)[0])
    assert made["totals"][0]["actor"] == "IRN"
    texts = tmp_path / "texts.csv"
    texts.write_text(f'id,date,text\none,1987-03-02,"{ONE}"\ntwo,1987-04-02,"{TWO}"\nthree,1987-05-02,Nothing.\n')
    found = howsure.explore(texts, parses=gold, coref=str(logits), actors="countries", verbs="leave", samples=4000)
    again = howsure.explore(None, parses=gold, coref=str(logits), actors="countries", verbs="leave", samples=4000)
    assert found.totals()[0][0] == again.totals()[0][0] == "IRN"
    event = found.timeline("IRN")[0]
    expected = posterior.pair(1, 3)
    assert event.mean == pytest.approx(expected, abs=0.05)
    assert found.manifest["n_failed"] == 1  # no parse of "three"


def test_fastcorefs_own_file_and_mavericks_have_clusters_alone(gold, tmp_path):
    one, two = read_conllu(gold)
    own = tmp_path / "clusters.jsonl"
    own.write_text(
        json.dumps({"text": ONE, "clusters": [[[0, 11], [29, 31]]], "clusters_strings": [["Iran's army", "It"]]})
        + "\n"
        + json.dumps({"text": TWO, "clusters": [[[0, 3], [13, 16]]], "clusters_strings": [["Ann", "She"]]})
    )
    tokens = ["Iran's", "army", "attacked", "a", "town", ".", "It", "left", "."]
    maverick = tmp_path / "maverick.jsonl"
    record = {"tokens": tokens, "clusters_token_offsets": [[[0, 1], [6, 6]]], "clusters_char_offsets": None}
    maverick.write_text(
        json.dumps(record | {"clusters_token_text": [["Iran's army", "It"]], "clusters_char_text": None})
    )
    for path in (own, maverick):
        read = read_system(path)
        assert [(m.start, m.end) for m in read.candidates(one)] == [(0, 3), (7, 8)]
        assert read.posterior(one).pair(0, 1) == 1.0
    checked = howsure.check_coref(own, gold, sample_sizes=())
    assert checked.scores["pairwise"].f1.value == 1.0
    with pytest.raises(InputError, match='has no document "two"'):
        read_system(maverick).candidates(two)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            '{"name": "one", "text": "Iran left.", "spans": [[0, 4]], "logits": [[0, 0]]}',
            "behind 4 characters the system has",
        ),
        ('{"name": "one", "spans": [[0, 4]], "logits": [[0, 0]]}', '"spans" or "clusters" of its "text"'),
        ('{"name": "one", "text": "ab", "spans": [[0, 9]], "logits": [[0, 0]]}', "is outside its text of 2 characters"),
        ('{"name": "one", "mentions": [[0, 99]], "logits": [[0, 0]]}', "is outside the 10 tokens"),
        ('{"name": "one", "mentions": [], "logits": [[0, 0]]}', "0 mentions, but logits of 1"),
        ('{"name": "one", "mentions": [[0, 1]]}', "KeyError: 'logits'"),
        ('{"mentions": [], "logits": [[0, "x"]]}', "cannot be read as numbers"),
        ('{"mentions": [], "logits": [[1, 2], [3, 4]]}', "shape (N, N + 1)"),
        ('{"tokens": ["a"], "clusters_token_offsets": [[[0, 7]]]}', "cannot be read"),
        ("[1]", "cannot be read"),
        ("{", "not JSON"),
        ("", "holds no documents"),
    ],
)
def test_bad_scores_are_one_line(gold, tmp_path, line, said, capsys):
    path = tmp_path / "bad.jsonl"
    path.write_text(line)
    assert run(["coref", "check", "--scores", str(path), str(gold)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_model_and_scores_are_refused(gold, logits, capsys):
    assert run(["coref", "check", "m.npz", str(gold), "--scores", str(logits)]) == 2
    assert "a model or --scores" in capsys.readouterr().err


# As spaCy's English pipelines label it, in CoNLL-U: a passive, its agent, a preposition's object.
SPACY = """# newdoc id = one
# meta::date = 1987-03-02
1 A a DET DT _ 2 det _ _
2 town town NOUN NN _ 6 nsubjpass _ _
3 in in ADP IN _ 2 prep _ _
4 Iraq Iraq PROPN NNP _ 3 pobj _ _
5 was be AUX VBD _ 6 auxpass _ _
6 attacked attack VERB VBN _ 0 ROOT _ _
7 by by ADP IN _ 6 agent _ _
8 Iran Iran PROPN NNP _ 7 pobj _ SpaceAfter=No
9 . . PUNCT . _ 6 punct _ _

"""


def test_a_spacy_label_file_is_explored_in_one_command(tmp_path, capsys):
    path = tmp_path / "spacy.conllu"
    path.write_text(conllu(SPACY))
    made = printed(capsys, "explore", path, "--actors", "countries", "--coref", "none", "--json")
    assert [(t["actor"], round(t["mean"], 2)) for t in made["totals"]] == [("IRN", 1.0)]
    strange = tmp_path / "german.conllu"
    strange.write_text(conllu(SPACY.replace("nsubjpass", "sb").replace("pobj", "nk").replace("agent", "sbp")))
    made = printed(capsys, "explore", strange, "--actors", "countries", "--verbs", "attack", "--json")
    assert made["manifest"]["n_failed"] == 1
    assert "neither Universal Dependencies nor" in next(iter(made["manifest"]["failures"]))


def test_a_spacy_pipeline_with_its_own_labels_parses_to_universal_dependencies():
    spacy = pytest.importorskip("spacy")
    from spacy.language import Language

    rows = [line.split(" ") for line in SPACY.splitlines() if line and not line.startswith("#")]

    @Language.component("own_labels")
    def own_labels(doc):
        for token, row in zip(doc, rows, strict=True):
            token.lemma_, token.pos_, token.tag_, token.dep_ = row[2], row[3], row[4], row[7]
            token.head = token if row[6] == "0" else doc[int(row[6]) - 1]
        return doc

    nlp = spacy.blank("en")
    nlp.add_pipe("own_labels")
    (document,) = howsure.parse(["A town in Iraq was attacked by Iran."], model=nlp).documents
    relation = dict(zip(document.words, document.columns["relation"], strict=True))
    assert (relation["town"], relation["Iran"], relation["by"]) == ("nsubj:pass", "obl:agent", "case")
    rows[1][7] = rows[3][7] = rows[7][7] = "sb"
    with pytest.raises(InputError, match="neither Universal Dependencies nor the labels of ClearNLP"):
        howsure.parse(["A town in Iraq was attacked by Iran."], model=nlp)


def test_a_stanza_file_is_checked_in_one_command(gold, tmp_path, capsys):
    model = tmp_path / "hmm.npz"
    assert run(["tagger", "train", "hmm", str(gold), "-o", str(model)]) == 0
    capsys.readouterr()
    made = printed(capsys, "tagger", "check", model, gold, "--json")
    assert made["n"] == 17


# -- Hugging Face ------------------------------------------------------------------------------------------------------


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_logits_of_trainer_predict_are_checked_in_one_command(tmp_path, capsys):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(300, 3)).astype(np.float32), rng.integers(3, size=300)
    path = tmp_path / "predictions.npz"
    np.savez(path, predictions=logits, label_ids=labels, classes=np.array(["a", "b", "c"]))
    made = printed(capsys, "check", "--from", "huggingface", path, "--json")
    own = howsure.check(np.array(["a", "b", "c"])[labels], softmax(logits.astype(float)), classes=["a", "b", "c"])
    assert made["n"] == 300
    assert made["error"]["value"] == pytest.approx(own.error.value)
    np.save(tmp_path / "logits.npy", logits)
    np.save(tmp_path / "labels.npy", labels)
    apart = ["--true", tmp_path / "labels.npy"]
    made = printed(capsys, "check", "--from", "huggingface", tmp_path / "logits.npy", *apart, "--json")
    assert made["error"]["value"] == pytest.approx(own.error.value)


def test_token_logits_leave_out_padding_and_all_but_first_pieces(tmp_path, capsys):
    rng = np.random.default_rng(1)
    logits, labels = rng.normal(size=(40, 7, 4)), rng.integers(4, size=(40, 7))
    labels[:, 0] = labels[:, -2:] = -100  # [CLS], [SEP], padding
    labels[:, 3] = -100  # a second piece
    path = tmp_path / "predictions.npz"
    np.savez(path, predictions=logits, label_ids=labels)
    made = printed(capsys, "check", "--from", "huggingface", path, "--json")
    kept = labels != -100
    groups = np.repeat(np.arange(40), 3)
    own = howsure.check(labels[kept], softmax(logits[kept]), groups=groups)
    assert (made["n"], made["n_groups"]) == (120, 40)
    assert made["error"] == pytest.approx(own.to_dict()["error"])
    chain = ChainPosterior.from_logits(logits, list("abcd"), keep=kept)
    np.testing.assert_allclose(chain.marginals(), softmax(logits[kept]))
    assert chain.n_sentences == 40
    # The same as JSON lines: with a label for each place, or with words' labels and `word_ids`.
    lines, words = tmp_path / "places.jsonl", tmp_path / "words.jsonl"
    lines.write_text(
        "\n".join(json.dumps({"logits": x.tolist(), "labels": y.tolist()}) for x, y in zip(logits, labels, strict=True))
    )
    ids = [None, 0, 1, 1, 2, None, None]
    with words.open("w") as file:
        for x, y in zip(logits, labels, strict=True):
            file.write(json.dumps({"logits": x.tolist(), "labels": y[[1, 2, 4]].tolist(), "word_ids": ids}) + "\n")
    for file in (lines, words):
        again = printed(capsys, "check", "--from", "huggingface", file, "--json")
        assert again["error"] == pytest.approx(made["error"])


def test_scores_of_a_text_classification_pipeline(tmp_path, capsys):
    rng = np.random.default_rng(2)
    path = tmp_path / "scores.jsonl"
    q = rng.random(200)
    gold = rng.random(200) < q
    with path.open("w") as file:
        for p, y in zip(q, gold, strict=True):
            scores = [{"label": "POSITIVE", "score": p}, {"label": "NEGATIVE", "score": 1 - p}]
            scores = sorted(scores, key=lambda s: -s["score"])  # as the pipeline does
            file.write(json.dumps({"text": "…", "scores": scores, "gold": "POSITIVE" if y else "NEGATIVE"}) + "\n")
    made = printed(capsys, "check", "--from", "huggingface", path, "--json")
    own = howsure.check(gold.astype(int), np.column_stack([1 - q, q]))
    assert made["error"]["value"] == pytest.approx(own.error.value)


def test_entities_of_a_token_classification_pipeline(tmp_path, capsys):
    text = "Ann Aukerman left Paris."
    pieces = [("Ann", 0, 3, "B-PER"), ("Au", 4, 6, "I-PER"), ("##kerman", 6, 12, "I-PER"), ("Paris", 18, 23, "B-ORG")]
    entities = [
        {"entity": e, "score": 0.9 - 0.1 * i, "index": i + 1, "word": w, "start": s, "end": t}
        for i, (w, s, t, e) in enumerate(pieces)
    ]
    gold = [{"start": 0, "end": 12, "label": "PER"}, {"start": 18, "end": 23, "label": "LOC"}]
    grouped = [{"entity_group": "PER", "score": 0.8, "word": "Ann Aukerman", "start": 0, "end": 12}]
    path = tmp_path / "entities.jsonl"
    path.write_text("\n".join([json.dumps({"text": text, "entities": entities, "gold": gold})] * 30))
    made = printed(capsys, "check", "--from", "huggingface", path, "--json")
    assert (made["n"], made["base_rate"], made["n_groups"]) == (90, pytest.approx(2 / 3), 30)
    path.write_text("\n".join([json.dumps({"text": text, "entities": grouped, "gold": gold})] * 30))
    assert printed(capsys, "check", "--from", "huggingface", path, "--json")["base_rate"] == 1.0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"logits": [1, 2]}', "cannot be read (StopIteration"),
        ('{"text": "a"}', "it has none of logits, scores, entities"),
        ('{"scores": [{"label": "a", "score": 0.9}], "gold": "a"}', "scores sum to 0.9"),
        ('{"logits": [1, 2], "label": 0}\n{"logits": [1, 2, 3], "label": 0}', "number of classes is not the same"),
        ('{"logits": [1, 2], "label": 0}\n{"scores": [{"label": "a", "score": 1}], "gold": "a"}', "different kinds"),
        ('{"logits": [[1, 2]], "labels": [-100]}', "nothing is labelled"),
        ('{"logits": [1, 2], "label": 7}', "none of the classes"),
    ],
)
def test_bad_lines_of_huggingface(tmp_path, line, said, capsys):
    path = tmp_path / "bad.jsonl"
    path.write_text(line)
    assert run(["check", "--from", "huggingface", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_bad_arrays_of_huggingface(tmp_path, capsys):
    path = tmp_path / "bad.npz"
    np.savez(path, predictions=np.zeros((3, 2)), label_ids=np.zeros(4, int))
    assert run(["check", "--from", "huggingface", str(path)]) == 2
    assert "got (3, 2) and (4,)" in capsys.readouterr().err
    np.savez(path, predictions=np.zeros((3, 2)))
    assert run(["check", "--from", "huggingface", str(path)]) == 2
    assert "needs arrays predictions and label_ids; it has predictions" in capsys.readouterr().err
    path.write_bytes(b"no")
    assert run(["check", "--from", "huggingface", str(path)]) == 2
    assert "cannot be read as arrays" in capsys.readouterr().err


def test_any_array_of_scores_is_a_posterior():
    logits = np.log([[0.9, 0.1], [0.2, 0.8]])
    made = ClassPosterior.from_logits(logits, ["ham", "spam"])
    assert made.label_is("spam").round(6).tolist() == [0.1, 0.8]
    assert ClassPosterior.from_logits(logits).best() == ["0", "1"]
