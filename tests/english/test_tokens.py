"""Words and white space are the text, whatever it is; words are cut as the treebanks cut them."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

spacy = pytest.importorskip("spacy")

from howsure.english.pipeline import language  # noqa: E402
from howsure.english.tokens import (  # noqa: E402
    LONGEST_PIECE,
    misc_entry,
    original_text,
    pieces,
    remembering,
    tokenizer,
    tokens,
)

ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=80)
ENGLISHLIKE = st.lists(
    st.sampled_from(
        ["DON'T", "e-mail", "and/or", "(s)", "!!", "U.S.", "\n\n", "  ", " ", "\x00", "\x85", "7:30pm", "--", "’s"]
    ),
    max_size=20,
).map("".join)


@cache  # not when the file is imported: every worker imports it, one runs it
def tokenise():
    return tokenizer(language()().vocab)


@given(st.one_of(ANY, ENGLISHLIKE))
def test_words_and_white_space_are_the_text(text):
    t = tokens(tokenise(), text)
    assert t.before + "".join(w + s for w, s in zip(t.words, t.after, strict=True)) == text
    assert all(t.words)
    assert not any(c in " \t\r\n" for w in t.words for c in w)
    assert all(s.isspace() for s in [t.before, *t.after] if s)


@cache
def tokenise_remembering():
    return remembering(tokenizer(language()().vocab))


@given(st.one_of(ANY, ENGLISHLIKE))
def test_a_tokeniser_that_remembers_cuts_alike(text):
    assert tokens(tokenise_remembering(), text) == tokens(tokenise(), text)


@given(st.one_of(ANY, ENGLISHLIKE), st.integers(1, 30))
def test_pieces_joined_are_the_text(text, longest):
    cut = list(pieces(text, longest))
    assert "".join(cut) == text
    assert all(0 < len(p) <= longest for p in cut)


def test_pieces_end_at_the_best_place():
    text = "One two. " * 10 + "\n\n" + "Three four. " * 2
    first, _ = pieces(text, 100)
    assert first == "One two. " * 10 + "\n\n"
    assert next(pieces("aa bb. cc dd ee", 10)) == "aa bb. "
    assert list(pieces("x" * 25, 10)) == ["x" * 10, "x" * 10, "x" * 5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't go!!", "Do n't go !!"),
        ("YOU CANNOT, WE DON'T", "YOU CAN NOT , WE DO N'T"),
        ("a well-known non-trivial e-mail", "a well - known non-trivial e-mail"),
        ("and/or", "and / or"),
        ("pages 12–15", "pages 12 – 15"),
        ("He wanna go", "He wan na go"),
        ("call 555-123-4567", "call 555-123-4567"),
        ("the F-16 (two seats)", "the F - 16 ( two seats )"),
        ("the U.S. and Mr. Hu", "the U.S. and Mr. Hu"),
    ],
)
def test_words_are_the_treebanks(text, words):
    assert tokens(tokenise(), text).words == words.split()


@pytest.mark.parametrize("run", ["(" * 5000, "a-b" * 2000, "http://" + "a.b/" * 1500, "x" * LONGEST_PIECE])
def test_runs_without_white_space_are_cut_and_nothing_is_lost(run):
    t = tokens(tokenise(), run + " end")
    assert "".join(w + s for w, s in zip(t.words, t.after, strict=True)) == run + " end"
    assert max(map(len, t.words)) <= 1000


@given(st.text(st.sampled_from(" \t\r\n\x0b\x0c\x1c\x85\xa0\u2028\u3000"), max_size=6))
def test_white_space_survives_in_the_last_column(space):
    import numpy as np

    from howsure.corpora.document import Document

    misc = (misc_entry(space, space), misc_entry("", ""))
    document = Document("d", ("a", "b"), np.array([0, 2]), {"misc": misc}, space_after=np.array([bool(space), False]))
    assert original_text(document) == f"{space}a{space}b"
    assert not any(c in m for m in misc for c in "\t\n\r ")
