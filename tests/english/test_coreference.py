"""From raw text to entities with probabilities, with what ships."""

import json

import numpy as np
import pytest

pytest.importorskip("spacy")

from howsure.cli.application import run
from howsure.corpora.conllu import conllu_documents
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
    for arguments in ([], ["model.npz"], ["model.npz", "x.conllu", "--raw", "y.txt"]):
        assert run(["coref", "resolve", *arguments, "-o", str(tmp_path / "no.jsonl")]) == 2
        assert "give a model (or --scores) and documents, or raw text with --raw" in capsys.readouterr().err
    assert not (tmp_path / "no.jsonl").exists()


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
