"""GAP's reader, on items of our own writing."""

import pytest

from howsure.corpora.coreference import GAP_COLUMNS, plain_mentions, read_documents, read_gap
from howsure.errors import InputError

TEXT = "Mary St. John met Susan's aunt in Dover. Later she wrote to Dr. Lee. He did not answer."


def write(path, header=GAP_COLUMNS):
    row = ["t-1", TEXT, "she", TEXT.index("she"), "Mary St. John", 0, "TRUE", "Susan", TEXT.index("Susan"), "FALSE"]
    path.write_text("\t".join(header) + "\tURL\n" + "\t".join(map(str, row)) + "\tx\n")
    return path


def test_spans_are_tokens(tmp_path):
    (item,) = read_gap(write(tmp_path / "gap.tsv"))
    words = item.document.words
    assert words[slice(*item.pronoun)] == ("she",)
    assert words[slice(*item.a)] == ("Mary", "St", ".", "John")
    assert words[slice(*item.b)] == ("Susan",)
    assert (item.a_coref, item.b_coref) == (True, False)
    sentences = [" ".join(words[s]) for s in item.document.sentences()]
    assert sentences[0].endswith("Dover .")
    assert sentences[-1] == "He did not answer ."
    assert len(sentences) == 3


def test_mentions_without_a_parse(tmp_path):
    (item,) = read_gap(write(tmp_path / "gap.tsv"))
    found = plain_mentions(item.document, [item.pronoun, item.a, item.b])
    texts = [" ".join(item.document.words[m.start : m.end]) for m in found]
    assert texts[:3] == ["Mary St . John", "Susan", "Dover"]
    assert "she" in texts
    assert "He" in texts
    assert "Later" not in texts


def test_other_columns_are_refused(tmp_path):
    with pytest.raises(InputError, match="GAP has the columns"):
        read_gap(write(tmp_path / "gap.tsv", ["id", *GAP_COLUMNS[1:]]))


def test_documents_of_end_to_end_systems_have_inclusive_ends(tmp_path):
    import json

    record = {
        "doc_key": "nw/story_0",
        "sentences": [["Ann", "Lee", "left"], ["She", "slept"]],
        "speakers": [["A", "A", "A"], ["B", "B"]],
        "clusters": [[[0, 1], [3, 3]]],
    }
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(record) + "\n")
    (made,) = read_documents(file)[0]
    assert made.name == "nw/story_0"
    assert [(m.start, m.end) for m in made.mentions] == [(0, 2), (3, 4)]
    assert [made.words[m.start : m.end] for m in made.mentions] == [("Ann", "Lee"), ("She",)]
    assert [s["speaker"] for s in made.sentence_metadata] == ["A", "B"]
    for more, said in (
        ({"subtoken_map": [0]}, "pieces of words"),
        ({"predicted_clusters": []}, '"predicted_clusters" the system'),
        ({"clusters": [[[0, 5]]]}, "outside its 5 tokens"),
        ({"clusters": [[["0", "1"]]]}, r"\[first, last\]"),
    ):
        file.write_text(json.dumps(record | more) + "\n")
        with pytest.raises(InputError, match=said):
            read_documents(file)
