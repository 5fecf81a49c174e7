"""From raw text to entities with probabilities, with what ships."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("spacy")

from howsure.cli.application import run
from howsure.corpora.conllu import conllu_documents
from howsure.corpora.document import Document
from howsure.english import parse, with_coreference
from howsure.english.annotating import reparsed
from howsure.english.shipped import model

STORY = (
    "President Anna Vold spoke in Norland on Monday. She said that her army would not attack. "
    "The general did not believe the president."
)


def spans(document):
    return [" ".join(document.words[m.start : m.end]) for m in document.mentions]


def test_a_pronoun_finds_its_name(shipped):
    ((document, posterior),) = with_coreference(parse([STORY], cache=False))
    names = spans(document)
    vold, she, general = names.index("President Anna Vold"), names.index("She"), names.index("The general")
    pairs = posterior.pairs()
    assert pairs[she, :she].argmax() == vold
    assert pairs[she, vold] > pairs[general, vold]
    np.testing.assert_allclose(posterior.pairs(), posterior.pairs().T)


def test_mentions_that_a_document_brings_are_kept(shipped):
    (document,) = parse([STORY], cache=False)
    ((found, _),) = with_coreference([document])
    ((again, posterior),) = with_coreference([found.with_(mentions=found.mentions[:3])])
    assert again.mentions == found.mentions[:3]
    assert len(posterior.new) == 3


def test_resolve_text_on_the_command_line(shipped, tmp_path, capsys):
    source, out = tmp_path / "story.txt", tmp_path / "out.jsonl"
    source.write_text(STORY)
    assert run(["coref", "resolve", "--raw", str(source), "-o", str(out), "--samples", "5"]) == 0
    made = json.loads(out.read_text())
    texts = [m["text"] for m in made["mentions"]]
    cluster = {m["text"]: m["cluster"] for m in made["mentions"]}
    assert cluster["She"] == cluster["President Anna Vold"]
    assert len(made["samples"]) == 5
    assert len(made["samples"][0]) == len(texts)
    capsys.readouterr()
    for arguments in ([], ["model.npz", "x.conllu", "--raw", "y.txt"]):
        assert run(["coref", "resolve", *arguments, "-o", str(tmp_path / "no.jsonl")]) == 2
        assert "give documents, with a model or --scores" in capsys.readouterr().err
    assert not (tmp_path / "no.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "one", "other", "low", "high"),
    [
        ("Mary Jones came in. He sat down.", "He", "Mary Jones", 0.0, 0.3),
        ("Mary Jones came in. She sat down.", "She", "Mary Jones", 0.5, 1.0),
        ("She met him. They talked.", "him", "She", 0.0, 0.2),
        ("President Obama spoke in Ohio. Obama said that he was tired.", "Obama", "President Obama", 0.6, 1.0),
        ("Martin, 54, lives in Leeds. Martin has two sons.", "Martin", "Martin, 54", 0.4, 1.0),
    ],
)
def test_names_and_gender(shipped, text, one, other, low, high):
    ((document, posterior),) = with_coreference(parse([text], cache=False))
    names = [document.text()[slice(*x)] for x in _characters(document)]
    i = len(names) - 1 - names[::-1].index(one)
    found = [k for k, name in enumerate(names) if k != i and name in (other, other.split(",")[0])]
    assert low <= max(posterior.pair(i, k) for k in found) <= high


def _characters(document):
    from howsure.english.tokens import character_offsets

    at = character_offsets(document)
    return [(at[m.start][0], at[m.end - 1][1]) for m in document.mentions]


def test_unparsed_documents_are_parsed_when_asked(shipped, tmp_path, capsys):
    """CoNLL-2012 without a parse, with the model that ships; offsets are those of the words with blanks between."""
    rows = ["Anna|(0)", "Vold|-", "spoke|-", ".|-", "|", "She|(0)", "left|-", "her|(0)", "army|-", ".|-"]
    lines = ["" if r == "|" else f"d 0 {k} {r.split('|')[0]} {r.split('|')[1]}" for k, r in enumerate(rows)]
    source, out = tmp_path / "d.conll", tmp_path / "out.jsonl"
    source.write_text("#begin document (d); part 000\n" + "\n".join(lines) + "\n\n#end document\n")
    given = ["coref", "resolve", str(source), "--mentions", "predicted", "-o", str(out)]
    assert run(given) == 2
    assert "no dependency parse" in capsys.readouterr().err
    assert run([*given, "--parse"]) == 0
    made = json.loads(out.read_text())
    assert {"Anna Vold", "She", "her"} <= {m["text"] for m in made["mentions"]}
    capsys.readouterr()
    assert run(["coref", "check", str(source), "--parse", "--sample-sizes", "10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_documents"] == 1


def test_swapped_pronouns_mean_neither_name(shipped, study):
    asked_gap, swapped_gap = study("coref_training").asked_gap, study("coref_training").swapped_gap
    GapItem = study("gap").GapItem
    text = "Mary Jones met Susan Lee. Then she left her house."
    (document,) = parse([text], cache=False)
    words = document.words
    item = GapItem(document, (words.index("she"), words.index("she") + 1), (0, 2), (3, 5), True, False)
    (made,) = swapped_gap([item])
    assert made.document.words[words.index("she")] == "he"
    assert (made.a_coref, made.b_coref) == (False, False)
    asked = asked_gap(made)
    named = {
        " ".join(made.document.words[asked.mentions[k].start : asked.mentions[k].end]) for k in asked.answers[0][0]
    }
    assert "Mary Jones" in named
    assert not any(answer for _, answer in asked.answers)
    place = words.index("her")
    (possessive,) = swapped_gap([replace(item, pronoun=(place, place + 1))])
    assert possessive.document.words[place] == "his"
    unclear = Document("d", ("Kim", *words[1:]), document.starts, document.columns, document.heads)
    assert swapped_gap([replace(item, document=unclear)]) == []


def test_parsing_again_keeps_words_sentences_and_mentions(shipped):
    rows = [["1", "Rebels", "3", "Entity=(1-person)"], ["2", "then", "3", "_"], ["3", "left", "0", "_"]]
    text = "\n".join("\t".join([i, w, "x", "X", "X", "_", h, "dep", "_", m]) for i, w, h, m in rows)
    (gold,) = conllu_documents(enumerate(f"{text}\n\n{text}".split("\n"), 1), "memory", "memory")
    (made,) = reparsed(model(), [gold])
    assert made.words == gold.words
    assert made.starts.tolist() == gold.starts.tolist()
    assert made.mentions == gold.mentions
    assert made.column("lemma")[0] != "x"
    assert made.heads.tolist() == [2, 2, -1, 5, 5, -1]
    (shouted,) = reparsed(model(), [gold], upper=True)
    assert shouted.words[0] == "REBELS"
