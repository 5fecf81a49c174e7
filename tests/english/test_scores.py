"""What the model card promises, measured on the test parts; and the measure itself on a case done by hand."""

import pytest
from english_data import NON_COMMERCIAL, Sentence, scores, sentences, treebank

spacy = pytest.importorskip("spacy")

from howsure.corpora.reading import corpus_path, read_splits  # noqa: E402
from howsure.english.shipped import model  # noqa: E402


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("part", "how", "upos", "xpos", "las"),
    [("ewt", "as is", 94.5, 93.0, 82.0), ("ewt", "upper", 93.0, 92.0, 74.0), ("gum", "as is", 94.5, 93.0, 82.0)],
)
def test_the_shipped_model_keeps_its_word(shipped, part, how, upos, xpos, las):
    gold = [s for d in treebank("test")[part] for s in sentences(d)]
    found = scores(model().nlp, gold[::3], how)  # 6,000 words or more: a standard error of 0.6 points at most
    assert found.upos >= upos
    assert found.xpos >= xpos
    assert found.las >= las


@pytest.mark.corpus
def test_genres_that_forbid_commercial_use_are_left_out():
    names = read_splits(corpus_path("gum", "splits.md"))["train"]
    assert any(n.split("_")[1] in NON_COMMERCIAL for n in names)
    assert not any(d.name.split("_")[1] in NON_COMMERCIAL for d in treebank("train")["gum"])


def test_scores_by_hand():
    """Four words; one universal tag, one Penn tag, one head and one subtype are wrong."""
    from spacy.tokens import Doc

    rules = spacy.blank("en")

    def answer(doc):
        return Doc(
            doc.vocab,
            words=[t.text for t in doc],
            pos=["DET", "NOUN", "NOUN", "PUNCT"],
            tags=["DT", "NNS", "VBP", "."],
            morphs=["", "Number=Plur", "", ""],
            heads=[1, 2, 2, 0],
            deps=["det", "nsubj:outer", "ROOT", "punct"],
        )

    spacy.Language.component("answer", func=answer)
    rules.add_pipe("answer")
    gold = Sentence(
        ("The", "dogs", "bark", "."),
        (True, True, False, True),
        ("DT", "NNS", "VBD", "."),
        ("DET", "NOUN", "VERB", "PUNCT"),
        ("", "Number=Plur", "", ""),
        (1, 2, 2, 2),
        ("det", "nsubj", "ROOT", "punct"),
    )
    found = scores(rules, [gold])
    assert found.to_dict() == {
        "n_words": 4,
        "upos": 75.0,
        "xpos": 75.0,
        "features": 100.0,
        "uas": 75.0,
        "las": 50.0,
        "las_universal": 75.0,
    }
