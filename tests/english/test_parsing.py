"""Parsing: nothing lost, order kept, trees well formed, the same on one core or several."""

import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

spacy = pytest.importorskip("spacy")

import howsure  # noqa: E402
from howsure.corpora.conllu import conllu_documents, conllu_text  # noqa: E402
from howsure.corpora.document import Document  # noqa: E402
from howsure.english import original_text, parse  # noqa: E402
from howsure.errors import HowsureError, InputError, MissingExtra  # noqa: E402

NEWS = (
    "The rebels attacked a convoy near the border yesterday, killing two soldiers. Officials didn't comment.\n\n"
    "THE GOVERNMENT BOMBED THREE VILLAGES. THE PRESIDENT DENIED IT."
)

LONG_NEWS = f"{NEWS} {NEWS}"


@cache  # not when the file is imported: every worker imports it, one runs it
def blank():
    return spacy.blank("en")


def same(a, b):
    assert a.words == b.words
    assert a.columns == b.columns
    assert a.starts.tolist() == b.starts.tolist()
    assert a.heads.tolist() == b.heads.tolist()
    assert a.space_after.tolist() == b.space_after.tolist()
    assert (a.metadata, a.sentence_metadata) == (b.metadata, b.sentence_metadata)


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=60), max_size=5))
def test_any_text_comes_back_to_the_letter_and_through_conllu(texts):
    found = list(parse(texts, model=blank()))
    assert [d.name for d in found] == [f"text-{i + 1}" for i in range(len(texts))]
    for text, document in zip(texts, found, strict=True):
        if text.strip():
            assert original_text(document) == text
            (back,) = conllu_documents(enumerate(conllu_text(document).split("\n"), 1), "memory", "memory")
            assert original_text(back) == text
            assert " ".join(document.text().split()) == " ".join(text.split())
        else:
            assert len(document) == 0


def test_a_paragraph(shipped):
    (document,) = parse(NEWS)
    assert document.n_sentences == 4
    lemma, upos, relation = (document.column(c) for c in ("lemma", "upos", "relation"))
    at = {w: i for i, w in enumerate(document.words)}
    for verb, subject, thing in (("attacked", "rebels", "convoy"), ("BOMBED", "GOVERNMENT", "VILLAGES")):
        assert upos[at[verb]] == "VERB"
        assert document.heads[at[verb]] == -1
        assert (document.heads[at[subject]], relation[at[subject]]) == (at[verb], "nsubj")
        assert (document.heads[at[thing]], relation[at[thing]]) == (at[verb], "obj")
    assert [lemma[at[w]] for w in ("attacked", "killing", "BOMBED", "VILLAGES", "n't")] == [
        "attack",
        "kill",
        "bomb",
        "village",
        "not",
    ]
    assert original_text(document) == NEWS


def test_every_sentence_is_a_tree(shipped):
    texts = [NEWS * 3, "( " * 300, "no no no " * 200, "1 2 3\n\n4 5", "Well ... OK :) http://a.b/c?d=e #yes @you"]
    for document in parse(texts, cache=False):
        for part in document.sentences():
            heads = document.heads[part]
            assert (heads == -1).sum() == 1
            assert document.column("relation")[part.start + int(np.argmin(heads))] == "root"
            assert ((heads == -1) | ((heads >= part.start) & (heads < part.stop))).all()
            for i in range(part.start, part.stop):  # every word reaches the root
                steps, at = 0, i
                while document.heads[at] >= 0:
                    at, steps = int(document.heads[at]), steps + 1
                    assert steps <= len(heads)


def test_an_empty_line_ends_a_sentence(shipped):
    text = "The talks in the{}north of the country failed."
    apart, wrapped = parse([text.format("\n\n"), text.format("\n")], cache=False)
    assert apart.words[4] == "north"
    assert 4 in apart.starts.tolist()
    assert wrapped.starts.tolist() == [0, 10]


def test_processes_change_nothing(shipped, monkeypatch):
    import howsure.english.parsing as parsing

    texts = [(f"n{i}", f"{NEWS} Number {i}. " * (1 + 9 * (i % 3))) for i in range(12)]
    alone = list(parse(texts, cache=False, jobs=1))
    monkeypatch.setattr(parsing, "FEW_BATCHES", 0)
    together = list(parse(texts, cache=False, jobs=2))
    assert [d.name for d in together] == [n for n, _ in texts]
    for a, b in zip(alone, together, strict=True):
        same(a, b)


def test_a_long_line_is_parsed_in_stretches(shipped):
    text = "The quick brown fox did not jump over the lazy dog, as far as we know. " * 500  # 36,000 characters
    (document,) = parse([text.strip()], cache=False, jobs=1)
    assert original_text(document) == text.strip()
    assert document.n_sentences == 500


def test_parses_are_kept_and_found(shipped, monkeypatch):
    texts = [("a", LONG_NEWS), ("b", LONG_NEWS + " More.")]
    first = list(parse(texts))
    assert len(list(shipped.rglob("*.conllu.gz"))) == 2

    def fail(*_):
        raise AssertionError("the cache was not used")

    monkeypatch.setattr("howsure.english.parsing.Here", fail)
    second = list(parse([("other", LONG_NEWS), ("b", LONG_NEWS + " More.")]))
    assert [d.name for d in second] == ["other", "b"]
    for a, b in zip(first, second, strict=True):
        same(a, b)


def test_a_column_without_values_is_found_again(shipped):
    text = "... !!! ??? " * 30
    (first,), (second,) = parse([text]), parse([text])
    assert len(list(shipped.rglob("*.conllu.gz"))) == 1
    assert set(first.column("features")) == {"_"}
    same(first, second)


def test_a_damaged_cache_is_replaced(shipped):
    (first,) = parse([LONG_NEWS])
    (path,) = shipped.rglob("*.conllu.gz")
    whole = path.read_bytes()
    for damage in (b"", whole[: len(whole) // 2], b"not gzip"):
        path.write_bytes(damage)
        (again,) = parse([LONG_NEWS])
        same(first, again)
        assert path.read_bytes() == whole


def test_no_cache_writes_nothing(shipped):
    list(parse([LONG_NEWS], cache=False))
    assert not shipped.exists()


def test_documents_already_parsed_pass_through(shipped):
    gold = Document("gold", ("Fish", "fish"), np.array([0, 2]), heads=np.array([1, -1]))
    bare = Document("bare", ("Fish", "swim", "."), np.array([0, 3]), space_after=np.array([True, False, True]))
    first, second = parse([gold, bare], cache=False)
    assert first is gold
    assert (second.name, second.words) == ("bare", ("Fish", "swim", "."))
    assert second.heads is not None


def test_another_language_works_with_a_note(shipped):
    russian = "Все счастливые семьи похожи друг на друга , каждая несчастливая семья несчастлива по-своему . " * 3
    english, other = parse([NEWS, russian], cache=False)
    assert "note" not in english.metadata
    assert "unknown to the model" in other.metadata["note"]
    assert original_text(other) == russian


def test_other_pipelines_by_object():
    rules = spacy.blank("en")
    rules.add_pipe("sentencizer")
    (document,) = parse(["One here. Two there."], model=rules)
    assert document.n_sentences == 2
    assert document.heads is None


def test_other_pipelines_by_name_have_parses_of_their_own(shipped, tmp_path):
    text = "One here. Two there; three. " * 10
    for marks, n_sentences in ((["."], 20), ([";"], 11)):
        rules = spacy.blank("en")
        rules.add_pipe("sentencizer", config={"punct_chars": marks})
        rules.to_disk(tmp_path / marks[0])
        for _ in range(2):  # made, then found
            (document,) = parse([text], model=str(tmp_path / marks[0]))
            assert document.n_sentences == n_sentences
            assert original_text(document) == text
    assert len(list(shipped.rglob("*.conllu.gz"))) == 2


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ([3], {}, "text 1 must be a string"),
        (["fine", "bad \ud800"], {}, "character 5 is half a surrogate"),
        (["x"], {"jobs": 0}, "`jobs=` must be a whole number"),
        (["x"], {"model": 7}, "must be a spaCy pipeline"),
        (["x"], {"model": "en_no_such_model"}, "no pipeline"),
    ],
)
def test_bad_input(texts, options, message, shipped):
    with pytest.raises(InputError, match=message):
        list(parse(texts, **options))


def test_without_spacy_one_line_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"howsure\[text\]"):
        parse(["text"])


def test_a_process_that_dies_is_an_error_not_a_hang(shipped, monkeypatch):
    import howsure.english.parsing as parsing
    from howsure import processes

    monkeypatch.setattr(parsing, "FEW_BATCHES", 0)
    monkeypatch.setattr(processes, "ENTRY", "raise SystemExit(3)")
    with pytest.raises(HowsureError, match="ended before its work was done"):
        list(parse([NEWS * 300], cache=False, jobs=2))


def test_the_verb(shipped, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.txt").write_text(NEWS)
    (tmp_path / "in" / "a.txt").write_text("")
    made = howsure.parse(tmp_path / "in")
    assert [d.name for d in made] == ["a", "b"]
    assert made.verdict == "2 documents, 4 sentences, 30 words."
    assert repr(made) == f"ParsedTexts({made.verdict})"
    assert made.to_dict()["documents"][1]["words"][:2] == ["The", "rebels"]
    assert "<td>rebels</td>" in made._repr_html_()
    with pytest.raises(InputError, match="give a list"):
        howsure.parse("This is a text and not a path")
