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


def lines(*rows):
    return "".join("\t".join(r.split()) + "\n" if r and r[0] != "#" else r + "\n" for r in rows)


# As Stanza 1.4 writes it: no SpaceAfter, offsets in the last column, of a multi-word token on its range.
STANZA = lines(
    "# text = She can't go.",
    "# sent_id = 0",
    "1 She she PRON PRP Case=Nom 4 nsubj _ start_char=0|end_char=3|ner=O",
    "2-3 can't _ _ _ _ _ _ _ start_char=4|end_char=9|ner=O",
    "2 ca can AUX MD VerbForm=Fin 4 aux _ _",
    "3 n't not PART RB _ 4 advmod _ _",
    "4 go go VERB VB VerbForm=Inf 0 root _ start_char=10|end_char=12|ner=O",
    "5 . . PUNCT . _ 4 punct _ start_char=12|end_char=13|ner=O",
    "",
)
# As UDPipe writes it: # newdoc without an id, SpaceAfter on words and SpacesAfter at the ends of lines.
UDPIPE = lines(
    "# generator = UDPipe 2, https://lindat.mff.cuni.cz/services/udpipe",
    "# newdoc",
    "# newpar",
    "# sent_id = 1",
    "# text = Go!",
    r"1 Go go VERB VB Mood=Imp 0 root _ SpaceAfter=No|TokenRange=0:2",
    r"2 ! ! PUNCT . _ 1 punct _ SpacesAfter=\n|TokenRange=2:3",
    "",
)
# As CorefUD: the layout once, before the first document; crossing mentions; mentions that begin at, end at, or are, empty nodes.
COREFUD = lines(
    "# global.Entity = eid-etype-head-other",
    "# newdoc id = a",
    "1 Ann Ann PROPN NNP _ 2 nsubj _ Entity=(e1-person-1-)",
    "2 left leave VERB VBD _ 0 root _ Entity=(e2-event-1-",
    "2.1 she she PRON PRP _ _ _ 2:nsubj Entity=(e1-person-1-)",
    "3 town town NOUN NN _ 2 obj _ Entity=(e3-place-1-",
    "3.1 it it PRON PRP _ _ _ 2:obj Entity=e2)",
    "4 today today NOUN NN _ 2 obl _ Entity=e3)(e4[1/2]-time-1-)",
    "4.1 _ _ _ _ _ _ _ 2:x Entity=(e1-person-1-",
    "5 home home ADV RB _ 2 advmod _ Entity=e1)(e4[2/2]-time-1-)",
    "",
    "# newdoc id = b",
    "1 Bob Bob PROPN NNP _ 0 root _ Entity=(e9-person-1-)",
    "",
)


def read(text, tmp_path):
    path = tmp_path / "given.conllu"
    path.write_text(text)
    return read_conllu(path)


def test_stanza_spaces_come_from_offsets(tmp_path):
    (found,) = read(STANZA, tmp_path)
    assert found.words == ("She", "ca", "n't", "go", ".")
    assert found.text() == "She can't go."
    assert found.heads.tolist() == [3, 3, 3, -1, 3]
    (newer,) = read(STANZA.replace("end_char=12", "end_char=12|SpaceAfter=No"), tmp_path)
    assert newer.text() == "She can't go."


def test_udpipe(tmp_path):
    (found,) = read(UDPIPE, tmp_path)
    assert found.text() == "Go!"
    assert found.name == "given-2"


def test_corefud_layout_crossing_mentions_and_empty_nodes(tmp_path):
    first, second = read(COREFUD, tmp_path)
    assert first.mentions == (
        Mention(0, 1, "e1", "person"),
        Mention(1, 3, "e2", "event"),  # ends at an empty node
        Mention(2, 4, "e3", "place"),  # crosses e2
        Mention(3, 4, "e4", "time"),  # the first of two parts of one length
        Mention(4, 5, "e1", "person"),  # begins at an empty node
    )
    assert second.mentions == (Mention(0, 1, "e9", "person"),)
