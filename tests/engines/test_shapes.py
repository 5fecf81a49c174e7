"""Shapes of tagger output that are no table: lists in rows, CoNLL columns without names. Never misread."""

import pytest

import howsure
from howsure.engines.formats import recognise


@pytest.mark.parametrize(
    "text",
    [
        "EU\tB-ORG\tO\nrejects\tO\tO\n\nPeter\tB-PER\tO\n",
        "EU NNP I-NP\nit VBZ O\n\nPeter NNP I-NP\n\n",
        '-DOCSTART- -X- O\n\n" " O\nEU NNP B-ORG\n\nPeter NNP B-PER\n',  # as CoNLL 2003 begins, and a quotation mark
        "# sent_id = 1\n1\tEU\tPROPN\n2\tfell\tVERB\n\n# sent_id = 2\n1\tYes\tINTJ\n",
    ],
)
def test_columns_without_names(tmp_path, text):
    file = tmp_path / "a.txt"
    file.write_text(text)
    with pytest.raises(howsure.InputError, match="columns of CoNLL: a token a line"):
        howsure.score(str(file), true="2", pred="3")


@pytest.mark.parametrize(
    "text",
    [
        "word\tgold\tpred\nEU\tB\tO\n\nPeter\tB\tO\n",  # has names
        'text,label\n"one\n\ntwo",1\nthree,0\n',  # empty lines inside a text
        "a,b\n1,2\n3,4\n\n",  # an empty line at the end
        "a,b\n1,2\n\n3,4\n",
        "p\ty\n0.5\t1\n0.25\t0\n",
        'said by\n"Yes, \n\nit is" Ann\n"No" Bob\n',
    ],
)
def test_tables_stay_tables(tmp_path, text):
    file = tmp_path / "a.csv"
    file.write_text(text)
    assert recognise(file, "a.csv").kind == "csv"


def test_a_list_of_labels_in_each_row(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"gold": ["N", "V"], "pred": ["N", "N"]}\n{"gold": ["N"], "pred": ["N"]}\n')
    with pytest.raises(howsure.InputError, match="`gold` holds a list in each row"):
        howsure.score(str(file), true="gold", pred="pred")
    for rows in ([["N", "V"], ["N"]], [["N", "V"], ["N", "V"]]):
        with pytest.raises(howsure.InputError, match="`y_true` holds a list in each place"):
            howsure.score(rows, rows)
