"""Lexicons: what ships, what users bring, and where words are found."""

import json

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.events.lexicons import actors, shipped_names, verbs


def codes(lexicon, text):
    found = lexicon.find(text.split())
    return [lexicon.actors[a].code if a >= 0 else "" for a in found.actor]


def test_longest_names_win():
    c = actors("countries")
    assert codes(c, "South Korea and Papua New Guinea") == ["KOR", "KOR", "", "PNG", "PNG", "PNG"]
    assert codes(c, "Guinea - Bissau Guinea-Bissau Guinea") == ["GNB", "GNB", "GNB", "GNB", "GIN"]
    assert codes(c, "Nigerian Niger") == ["NGA", "NER"]


def test_capitals_matter_where_the_text_has_them():
    c = actors("countries")
    assert codes(c, "Turkey ate turkey ; they polish it") == ["TUR", "", "", "", "", "", ""]
    assert codes(c, "US troops told us") == ["USA", "", "", ""]
    assert codes(c, "FRENCH TROOPS LEFT TURKEY") == ["FRA", "", "", "TUR"]
    assert codes(c, "french troops left") == ["FRA", "", ""]


def test_a_pronoun_in_capitals_is_no_country():
    c = actors("countries")
    assert (c.find(["THEY", "TOLD", "US"], ["PRON", "VERB", "PRON"]).actor == -1).all()


def test_first_marks_the_words_of_one_name():
    assert actors("countries").find(["the", "United", "States", "of", "America"]).first.tolist() == [0, 1, 1, 1, 1]


@pytest.mark.corpus
def test_codes_and_names_agree_with_public_lists(corpora):
    ours = {a.code: {w.lower() for w in a.words} for a in actors("countries").actors}
    listed = {x["cca3"]: x for x in json.loads((corpora / "countries" / "countries.json").read_text())}
    assert ours.keys() - listed.keys() == {"XKX", "SUN", "YUG", "CSK"}  # in the news, not in the list
    assert {c for c, x in listed.items() if x["unMember"]} <= ours.keys()
    for code in ours.keys() & listed.keys():
        assert listed[code]["name"]["common"].lower() in ours[code], code


def test_only_keeps_the_named_and_suggests():
    assert [a.code for a in actors("countries").only(["irq", "Iran"]).actors] == ["IRN", "IRQ"]
    with pytest.raises(InputError, match=r"no actor `IRQQ`.*Did you mean `IRQ`"):
        actors("countries").only(["IRQQ"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("code,name\nA,B\n", "no column `words`"),
        ("code,name,words\nA,B,\n", "line 2: the actor has no words"),
        ("code,name,words\n,B,x\n", "line 2: the actor has no code"),
        ("code,name,words\nA,B,x\nA,C,y\n", "line 3: the code A has been used"),
        ("code,name,words\nA,B,x\nC,D,x\n", 'line 3: "x" belongs to A'),
        ("code,name,words\nA,B\n", "line 2: 3 values"),
        ("code,name,words\n", "holds no actors"),
    ],
)
def test_bad_lexicons_are_named(tmp_path, content, said):
    path = tmp_path / "mine.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=said):
        actors(str(path))


def test_wrong_encoding_and_missing_files(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_bytes(b"code,name,words\nA,B,caf\xe9\n")
    with pytest.raises(InputError, match="not UTF-8"):
        actors(str(path))
    with pytest.raises(InputError, match="there is no file"):
        actors(str(tmp_path / "none.csv"))
    with pytest.raises(InputError, match="Did you mean `countries`"):
        actors("contries")


def test_verbs_from_lists_names_and_files(tmp_path):
    assert verbs("attack, Bomb,attack") == ("attack", "bomb")
    assert "kidnap" in verbs("violence")
    path = tmp_path / "v.csv"
    path.write_text("lemma\nraid\n")
    assert verbs(str(path)) == ("raid",)
    for bad in ("", " , ", "attack now"):
        with pytest.raises(InputError, match="`verbs=`"):
            verbs(bad)


def test_all_shipped_lexicons_can_be_read():
    names = shipped_names(("code", "name", "words"))
    assert {"countries", "muc-organisations", "stories"} <= set(names)
    assert all(len(actors(n).actors) > 5 for n in names)
    assert isinstance(actors("countries").find(["x"]).actor, np.ndarray)
