"""Scores of a pipeline on gold tokens and gold sentences: tags, features, attachment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from howsure._result import Record
from howsure.english.training_data import Sentence


@dataclass(frozen=True, slots=True)
class Scores(Record):
    """Percentages over all words, punctuation included; LAS compares the whole relation, `las_universal` without its subtype."""

    n_words: int
    upos: float
    xpos: float
    features: float
    uas: float
    las: float
    las_universal: float

    def __repr__(self) -> str:
        return (
            f"Scores({self.n_words:,} words: UPOS {self.upos:.2f}, XPOS {self.xpos:.2f}, features {self.features:.2f}, "
            f"UAS {self.uas:.2f}, LAS {self.las:.2f})"
        )


def scores(nlp: Any, gold: list[Sentence], how: str = "as is") -> Scores:
    """The pipeline's scores on gold sentences, each parsed alone with its gold tokens."""
    from spacy.tokens import Doc

    docs = (
        Doc(
            nlp.vocab,
            words=list(s.cased(how)),
            spaces=list(s.spaces),
            sent_starts=[True] + [False] * (len(s.words) - 1),
        )
        for s in gold
    )
    n = upos = xpos = features = uas = las = las_universal = 0
    for sentence, doc in zip(gold, nlp.pipe(docs, batch_size=256), strict=True):
        n += len(doc)
        for i, token in enumerate(doc):
            upos += token.pos_ == sentence.pos[i]
            xpos += token.tag_ == sentence.tags[i]
            features += str(token.morph) == sentence.morphs[i]
            right = token.head.i == sentence.heads[i]
            uas += right
            las += right and token.dep_ == sentence.deps[i]
            las_universal += right and token.dep_.partition(":")[0] == sentence.deps[i].partition(":")[0]
    return Scores(n, *(100 * k / n for k in (upos, xpos, features, uas, las, las_universal)))
