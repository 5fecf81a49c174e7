"""What is written is read back the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.corpora.conllu import conllu_documents, conllu_text, read_conllu
from howsure.corpora.document import Document, Mention
from howsure.errors import InputError

LETTERS = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=("Cs",)), min_size=1, max_size=6)
VALUES = st.sampled_from(["_", "x", "NN", "Case=Nom|Number=Sing"])
COLUMNS = ("lemma", "upos", "xpos", "features", "relation")


def read_back(text):
    return list(conllu_documents(enumerate(text.split("\n"), 1), "memory", "memory"))


@st.composite
def documents(draw):
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    n = sum(lengths)
    words = tuple(draw(st.lists(LETTERS, min_size=n, max_size=n)))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns = {}
    for name in draw(st.sets(st.sampled_from(COLUMNS))):
        values = tuple(draw(st.lists(VALUES, min_size=n, max_size=n)))
        if any(v != "_" for v in values):
            columns[name] = values
    heads = None
    if draw(st.booleans()):
        heads = np.concatenate([draw_heads(draw, s, k) for s, k in zip(starts[:-1], lengths, strict=True)])
    mentions = None
    if draw(st.booleans()):
        spans = draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(1, 4)), min_size=1, max_size=4))
        made = [
            Mention(a, min(a + k, n), str(i), draw(st.sampled_from(["", "person"])))
            for i, (a, k) in enumerate(sorted(spans))
        ]
        nested = [m for i, m in enumerate(made) if not any(crosses(m, other) for other in made[:i])]
        mentions = tuple(sorted(nested, key=lambda m: (m.start, -m.end)))
    spaces = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    return Document("a name", words, starts, columns, heads, spaces, {"genre": "news"}, (), mentions)


def crosses(a, b):
    return a.start < b.start < a.end < b.end or b.start < a.start < b.end < a.end


def draw_heads(draw, start, size):
    relative = draw(st.lists(st.integers(-1, size - 1), min_size=size, max_size=size))
    return np.array([h + start if h >= 0 else -1 for h in relative])


@given(documents())
def test_what_is_written_is_read_back(document):
    (back,) = read_back(conllu_text(document))
    assert (back.name, back.words) == (document.name, document.words)
    assert back.starts.tolist() == document.starts.tolist()
    assert {k: v for k, v in back.columns.items() if k != "misc"} == document.columns
    assert back.space_after.tolist() == document.space_after.tolist()
    assert back.metadata["genre"] == "news"
    if document.heads is None:
        assert back.heads is None
    else:
        assert back.heads.tolist() == document.heads.tolist()
    if document.mentions is None:
        assert back.mentions is None
    else:
        assert sorted(back.mentions, key=str) == sorted(document.mentions, key=str)


@given(documents())
def test_writing_twice_changes_nothing(document):
    once = conllu_text(document)
    assert conllu_text(read_back(once)[0]) == once


def test_documents_follow_one_another(tmp_path):
    one = Document("one", ("Yes",), np.array([0, 1]))
    two = Document("two", ("No", "!"), np.array([0, 2]), space_after=np.array([False, True]))
    text = conllu_text(one) + conllu_text(two)
    path = tmp_path / "both.conllu"
    path.write_text(text)
    back = read_conllu(path)
    assert [d.name for d in back] == ["one", "two"]
    assert [d.text() for d in back] == ["Yes", "No!"]
    assert "# text = No!" in text


def test_nested_mentions_of_one_entity_keep_their_spans():
    mentions = (Mention(0, 4, "7"), Mention(1, 3, "7"), Mention(1, 2, "8"), Mention(3, 4, "7"))
    document = Document("d", ("a", "b", "c", "d"), np.array([0, 4]), mentions=mentions)
    (back,) = read_back(conllu_text(document))
    assert set(back.mentions) == set(mentions)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": ("a\tb", "c", "d")}, "cannot hold word 1"),
        ({"words": ("", "c", "d")}, "cannot hold word 1"),
        ({"heads": np.array([2, -1, -1])}, "head of word 1 is outside"),
        ({"metadata": {"title": "two\nlines"}}, "is one line"),
        ({"mentions": (Mention(0, 2, "1"), Mention(1, 3, "1"))}, "overlap in part"),
        ({"mentions": (Mention(0, 2, "a-b"),)}, "none of"),
    ],
)
def test_what_the_format_cannot_hold_is_refused(change, message):
    document = Document("d", ("a", "b", "c"), np.array([0, 2, 3]))
    with pytest.raises(InputError, match=message):
        conllu_text(document.with_(**change))


@pytest.mark.corpus
def test_a_treebank_document_survives(corpora):
    path = sorted((corpora / "gum" / "dep").glob("GUM_news_*.conllu"))[0]
    (document,) = read_conllu(path)
    (back,) = read_back(conllu_text(document))
    assert back.words == document.words
    assert back.heads.tolist() == document.heads.tolist()
    assert back.space_after.tolist() == document.space_after.tolist()
    assert back.mentions == document.mentions
    assert [back.columns[c] for c in COLUMNS] == [document.columns[c] for c in COLUMNS]
