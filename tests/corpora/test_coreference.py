"""GAP's reader, on items of our own writing."""

import sys
from pathlib import Path

import numpy as np
import pytest

from howsure.corpora.coreference import read_documents
from howsure.corpora.document import Document
from howsure.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "studies"))
from gap import GAP_COLUMNS, gap_item, gap_rows

TEXT = "Mary St. John met Susan's aunt in Dover. Later she wrote to Dr. Lee. He did not answer."


def write(path, header=GAP_COLUMNS):
    row = ["t-1", TEXT, "she", TEXT.index("she"), "Mary St. John", 0, "TRUE", "Susan", TEXT.index("Susan"), "FALSE"]
    path.write_text("\t".join(header) + "\tURL\n" + "\t".join(map(str, row)) + "\tx\n")
    return path


def test_spans_are_the_tokens_that_they_touch(tmp_path):
    (row,) = gap_rows(write(tmp_path / "gap.tsv"))
    words = ("Mary", "St.", "John", "met", "Susan", "'s", "aunt", "in", "Dover", ".", "Later", "she")
    at, characters = 0, []
    for word in words:
        at = TEXT.index(word, at)
        characters.append((at, at + len(word)))
    item = gap_item(row, Document("t-1", words, np.array([0, 12])), characters)
    assert [words[slice(*span)] for span in (item.pronoun, item.a, item.b)] == [
        ("she",),
        ("Mary", "St.", "John"),
        ("Susan",),
    ]
    assert (item.a_coref, item.b_coref) == (True, False)


def test_other_columns_are_refused(tmp_path):
    with pytest.raises(InputError, match="GAP has the columns"):
        gap_rows(write(tmp_path / "gap.tsv", ["id", *GAP_COLUMNS[1:]]))


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


@pytest.mark.parametrize(
    "wrong", ['"clusters": [[[0, 1e999], [2, 3]]]', '"clusters": [[[0.5, 1], [2, 3]]]', '"heads": [1e400, 0, -1]']
)
def test_numbers_of_tokens_are_whole(tmp_path, wrong):
    path = tmp_path / "d.jsonl"
    path.write_text('{"name": "d", "sentences": [["Ann", "left"], ["She"]], ' + wrong + "}\n")
    with pytest.raises(InputError, match="line 1: the document cannot be read"):
        read_documents(path)
