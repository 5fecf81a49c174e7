"""Trains the coreference weights that ship.

    python bench/studies/coref_training.py TARGET [SEED]

Needs the corpora under HOWSURE_DATA.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from english_data import NON_COMMERCIAL
from gap import Asked, GapItem, gap_item, gap_rows

from howsure.corpora.coreference import gum_documents
from howsure.corpora.document import Document, Mention
from howsure.corpora.reading import corpus_path
from howsure.data import first_names
from howsure.english.annotating import reparsed
from howsure.english.parsing import parse
from howsure.english.shipped import model, model_version
from howsure.english.tokens import character_offsets
from howsure.models.coreference.mentions import detect_mentions, mention_heads
from howsure.models.coreference.ranker import CorefModel, fit_coref, ordered, tuned

SEED = 1  # of three the one whose CoNLL score was best on the development part


def open_documents(part: str) -> list[Document]:
    """OntoGUM's documents of a part, without the non-commercial genres."""
    return [d for d in gum_documents(part) if d.name.split("_")[1] not in NON_COMMERCIAL]


def parsed_gap(part: str) -> list[GapItem]:
    """The items of a part of GAP ("validation", "development"), their raw text parsed by the pipeline."""
    rows = gap_rows(corpus_path("gap", f"gap-{part}.tsv"))
    documents = parse((row["ID"], row["Text"]) for row in rows)
    return [gap_item(row, d, character_offsets(d)) for row, d in zip(rows, documents, strict=True)]


def asked_gap(item: GapItem) -> Asked:
    """A GAP item as a question about its mentions: those found, and the pronoun and the names where they are not found.

    A name means every mention with its head: the whole phrase, and the phrase without an apposition.
    """
    document = item.document
    sentence = document.sentence_of()
    ends = document.starts[1:]
    spans = [Mention(s, min(e, int(ends[sentence[s]])), "") for s, e in (item.pronoun, item.a, item.b)]
    at = mention_heads(document, spans).tolist()
    found = list(detect_mentions(document))
    have = set(mention_heads(document, found).tolist())
    mentions = ordered(document, [*found, *(m for m, h in zip(spans, at, strict=True) if h not in have)])
    heads = mention_heads(document, mentions).tolist()
    pronoun, a, b = (tuple(k for k, h in enumerate(heads) if h == wanted) for wanted in at)
    return Asked(document, mentions, pronoun[-1], ((a, item.a_coref), (b, item.b_coref)))


OTHER = {"he": "she", "him": "her", "himself": "herself", "she": "he", "hers": "his", "herself": "himself"}


def swapped_gap(items: Sequence[GapItem]) -> list[GapItem]:
    """Items whose pronoun has the other gender, so that it means neither name, where both first names tell.

    Items with a first name that does not tell are left out.
    """
    lemmas = {
        (w.lower(), t): x
        for item in items
        for w, t, x in zip(*(item.document.column(c) for c in ("word", "xpos", "lemma")), strict=True)
    }
    women = first_names()
    made = []
    for item in items:
        d, k = item.document, item.pronoun[0]
        word, tag = d.words[k].lower(), d.column("xpos")[k]
        other = (
            {"his": "her", "her": "his"}.get(word, "")
            if tag == "PRP$"
            else OTHER.get(word, {"her": "him"}.get(word, ""))
        )
        shares = [women.get(d.words[s].lower(), 0.5) for s, _ in (item.a, item.b)]
        woman = word.startswith(("she", "her"))
        if not other or not all((x > 0.8) if woman else (x < 0.2) for x in shares):
            continue
        words, column = list(d.words), list(d.column("lemma"))
        words[k] = other.capitalize() if d.words[k][0].isupper() else other
        column[k] = lemmas.get((other, tag), other)
        changed = d.with_(words=tuple(words), columns=d.columns | {"lemma": tuple(column)})
        made.append(replace(item, document=changed, a_coref=False, b_coref=False))
    return made


def trained(seed: int = SEED) -> CorefModel:
    """Weights and temperature; the settings say what they were learnt from.

    That is OntoGUM's training part without the genres whose texts may not be used commercially, on the pipeline's own parses
    of its words, and of every third document once more in upper case, with mentions found in those parses, and GAP's validation
    part, as it is and with the pronoun of the other gender. Temperature and the cut of the clustering are fitted on OntoGUM's development part. Needs the corpora under HOWSURE_DATA.
    """
    parser = model()
    train, dev = (
        [d for upper in (False, True) for d in reparsed(parser, open_documents(part)[:: 1 + 2 * upper], upper=upper)]
        for part in ("train", "dev")
    )
    items = parsed_gap("validation")
    asked = [asked_gap(item).lesson for item in (*items, *swapped_gap(items))]
    made = fit_coref(train, mentions="predicted", asked=asked, rng=seed)
    made = tuned(made, dev)
    assert made.settings is not None
    corpus = "OntoGUM, open genres, every third one in upper case too; GAP validation, pronouns swapped too"
    made.settings.update({"corpus": corpus, "parser": model_version()})
    return made


def main() -> None:
    """Train and save."""
    made = trained(*map(int, sys.argv[2:]))
    made.save(Path(sys.argv[1]))
    print(f"{made!r}\nWritten: {sys.argv[1]}")


if __name__ == "__main__":
    main()
