"""Readers of tagged text, on files written here."""

import pytest

from howsure.corpora.document import Document, Mention
from howsure.corpora.tagged import entity_tags, format_of, read_tagged, sentences_of
from howsure.errors import InputError

CONLLU = (
    "# newdoc id = one\n1\tBirds\tbird\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tsing\tsing\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
    "# newdoc id = two\n1\tHush\thush\tINTJ\tUH\t_\t0\troot\t_\t_\n"
)
PENN = """
=======
[ The/DT old/JJ ferry/NN ]
sank/VBD ./. ''/''

[ It/PRP ] was/VBD 3\\/4/CD full/JJ|RB ./.
=======
Gone/VBN
"""


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    return path


def test_conllu_columns(tmp_path):
    path = write(tmp_path, "a.conllu", CONLLU)
    assert [d.column("tag") for d in read_tagged(path)] == [("NNS", "VBP"), ("UH",)]
    assert [d.column("tag") for d in read_tagged(path, "upos")] == [("NOUN", "VERB"), ("INTJ",)]
    with pytest.raises(InputError, match="no column features; it has lemma"):
        read_tagged(path, "features")
    words, starts, of_document = sentences_of(read_tagged([path, path]))
    assert words == ["Birds", "sing", "Hush"] * 2
    assert starts.tolist() == [0, 2, 3, 5, 6]
    assert of_document.tolist() == [0, 1, 2, 3]


def test_universal_tags_where_there_are_no_others(tmp_path):
    both = write(tmp_path, "both.conllu", CONLLU)
    one = write(tmp_path, "one.conllu", CONLLU.replace("NNS", "_").replace("VBP", "_").replace("UH", "_"))
    assert [d.columns["tag"] for d in read_tagged(one)] == [("NOUN", "VERB"), ("INTJ",)]
    with pytest.raises(InputError, match="has no column xpos"):
        read_tagged([both, one])


def test_two_and_more_columns(tmp_path):
    two = write(tmp_path, "tweets.txt", "RT\t~\n@me\t@\n\n\nok\t!\n")
    (d,) = read_tagged(two)
    assert d.words == ("RT", "@me", "ok")
    assert d.column("tag") == ("~", "@", "!")
    assert d.starts.tolist() == [0, 2, 3]
    three = write(tmp_path, "chunks.txt", "a DT B-NP\nferry NN I-NP\n")
    assert read_tagged(three)[0].column("tag") == ("B-NP", "I-NP")
    assert read_tagged(three, "2")[0].column("tag") == ("DT", "NN")


def test_penn(tmp_path):
    path = write(tmp_path, "a.pos", PENN)
    (d,) = read_tagged(path)
    assert d.words == ("The", "old", "ferry", "sank", ".", "''", "It", "was", "3/4", "full", ".", "Gone")
    assert d.column("tag")[8:10] == ("CD", "JJ")
    assert d.starts.tolist() == [0, 6, 11, 12]


def test_format_by_content(tmp_path):
    assert format_of(write(tmp_path, "x", CONLLU)) == "conllu"
    assert format_of(write(tmp_path, "y", PENN)) == "penn"
    assert format_of(write(tmp_path, "z", "a\tb\n")) == "columns"


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("a.txt", "one two\nthree\n", None, "a.txt, line 2: 2 columns were expected"),
        ("a.txt", "one\n", None, "a.txt, line 1: a word and its tag are needed"),
        ("a.txt", "one two\n", "3", "no column 3"),
        ("a.txt", "one two\n", "pos", "columns are numbered"),
        ("a.txt", "\n\n", None, "no sentences"),
        ("a.txt", "one\t\n", None, "a column is empty"),
        (
            "a.pos",
            "[ fine/DT broken ]\n",
            None,
            'a.pos, line 1: a word with its tag, word/TAG, was expected; got "broken"',
        ),
        ("a.pos", "fine/DT\n", "2", "leave the column out"),
        ("a.conllu", "1\ttoo\tfew\n", None, "a.conllu, line 1: CoNLL-U has 10 columns"),
        ("a.conllu", "", None, "no sentences"),
    ],
)
def test_broken_files(tmp_path, name, content, column, message):
    with pytest.raises(InputError, match=message):
        read_tagged(write(tmp_path, name, content), column)


def test_words_alone_where_no_tags_are_needed(tmp_path):
    (d,) = read_tagged(write(tmp_path, "a.txt", "only\nwords\n"), need_tags=False)
    assert d.words == ("only", "words")
    assert "tag" not in d.columns


def test_entities_outermost_and_within_a_sentence():
    import numpy as np

    mentions = (
        Mention(0, 3, "1", "person"),
        Mention(1, 2, "2", "place"),
        Mention(3, 4, "3", "place"),
        Mention(4, 6, "4", "event"),
    )
    d = Document("d", tuple("abcdef"), np.array([0, 5, 6]), mentions=mentions)
    assert entity_tags(d) == ("B-person", "I-person", "I-person", "B-place", "O", "O")
    with pytest.raises(InputError, match="has no mentions"):
        entity_tags(d.with_(mentions=None))


@pytest.mark.corpus
def test_the_corpora_have_the_sizes_that_are_documented(corpora):
    penn = read_tagged(sorted((corpora / "treebank").glob("wsj_00*.pos")))
    assert len(penn) == 99
    tweets = read_tagged(corpora / "ark-tweets" / "oct27.train")
    assert sum(d.n_sentences for d in tweets) == 1000
    assert len({t for d in tweets for t in d.column("tag")}) == 25
    chunks = read_tagged(corpora / "conll2000" / "test.txt")
    assert sum(d.n_sentences for d in chunks) == 2012
