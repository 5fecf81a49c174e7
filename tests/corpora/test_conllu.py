import os
from pathlib import Path

import pytest

from howsure.corpora.conllu import read_conllu
from howsure.corpora.document import Mention
from howsure.errors import InputError


def row(number, word, head="0", misc="_"):
    return "\t".join([str(number), word, word.lower(), "NOUN", "NN", "_", head, "root", "_", misc])


TWO = "\n".join(
    [
        "# newdoc id = one",
        "# global.Entity = GRP-etype",
        "# meta::genre = news",
        "# sent_id = one-1",
        row(1, "The", "2", "Entity=(1-person"),
        row(2, "envoy", "0", "Entity=1)|SpaceAfter=No"),
        "3-4\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No",
        row(3, "do", "2"),
        row(4, "n't", "2"),
        "4.1\tgone\t_\t_\t_\t_\t_\t_\t_\t_",
        row(5, "!", "2"),
        "",
        row(1, "She", "0", "Entity=(1-person)(2[1/2]-place)"),
        row(2, "and", "1"),
        row(3, "him", "1", "Entity=(2[2/2]-place"),
        row(4, "self", "1", "Entity=2[2/2])"),
        "",
        "# newdoc id = two",
        row(1, "Alone"),
        "",
    ]
)


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "two.conllu"
    path.write_text(TWO)
    return path


def test_documents_sentences_spaces_and_mentions(two):
    one, other = read_conllu(two)
    assert one.name == "one"
    assert one.words == ("The", "envoy", "do", "n't", "!", "She", "and", "him", "self")
    assert one.starts.tolist() == [0, 5, 9]
    assert one.text() == "The envoydon't! She and him self"
    assert one.heads.tolist() == [1, -1, 1, 1, 1, -1, 5, 5, 5]
    assert one.mentions == (
        Mention(0, 2, "1", "person"),
        Mention(5, 6, "1", "person"),
        Mention(7, 9, "2", "place"),
    )
    assert one.metadata["genre"] == "news"
    assert one.sentence_metadata[0] == {"sent_id": "one-1"}
    assert one.sentence_of().tolist() == [0] * 5 + [1] * 4
    assert other.name == "two"
    assert other.mentions is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tonly\n", "line 1: CoNLL-U has 10 columns separated by tabs; this line has 2"),
        (row(1, "a") + "\n" + row(3, "b"), "line 2: word 2 of the sentence was expected; got 3"),
        (row("x", "a"), 'line 1: the first column numbers the words of a sentence; got "x"'),
        (row(1, "a", "7"), "line 1: head 7 is outside the sentence"),
        (row(1, "a", "b"), "line 1: the head"),
        (row(1, ""), "line 1: the word"),
        (row(1, "a", "0", "Entity=4)"), 'line 1: entity "4" is closed but was not opened'),
        (row(1, "a", "0", "Entity=(4"), 'entity "4" is opened but never closed'),
        (
            "\n".join(
                row(k + 1, w, "0", e)
                for k, (w, e) in enumerate(zip("abc", ["Entity=(1", "Entity=(2", "Entity=1)"], strict=True))
            )
            + "\n"
            + row(4, "d", "0", "Entity=2)"),
            'line 2: the brackets of entity "2" cross those of "1"',
        ),
        (row(1, "a", "0", "Entity=)"), "line 1: brackets of Entity cannot be read"),
    ],
)
def test_broken_files_are_told_by_line(tmp_path, text, message):
    path = tmp_path / "broken.conllu"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_conllu(path)
    assert message in str(error.value)
    assert "broken.conllu" in str(error.value)


def test_bytes_that_are_not_utf8_are_told_by_line(tmp_path):
    path = tmp_path / "latin.conllu"
    path.write_bytes(b"# caf\n# caf\xe9\n")
    with pytest.raises(InputError, match=r"line 2: not UTF-8 \(byte 6"):
        read_conllu(path)


def test_missing_columns_are_named(two):
    one, _ = read_conllu(two)
    with pytest.raises(InputError, match='no column "ner"; it has word, lemma'):
        one.column("ner")


@pytest.mark.corpus
@pytest.mark.skipif("HOWSURE_DATA" not in os.environ, reason="HOWSURE_DATA is not set")
def test_gum_is_read_whole():
    documents = [d for p in Path(os.environ["HOWSURE_DATA"], "gum", "dep").glob("*.conllu") for d in read_conllu(p)]
    assert len(documents) == 237
    for document in documents:
        for sentence, about in zip(document.sentences(), document.sentence_metadata, strict=True):
            part = "".join(document.words[sentence])
            assert part == about["text"].replace(" ", "")
            break
    assert all(m.end <= len(d) and m.start < m.end for d in documents for m in d.mentions)
