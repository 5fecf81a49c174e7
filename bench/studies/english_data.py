"""What the English pipeline learns from and is scored on: sentences of treebanks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure._result import Record
from howsure.corpora.conllu import read_conllu
from howsure.corpora.document import Document
from howsure.corpora.reading import corpus_path, read_splits

# Genres of GUM whose texts may not be used commercially (gum/LICENSE.txt).
NON_COMMERCIAL = ("essay", "fiction", "letter", "podcast", "reddit", "whow")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One gold sentence in columns; heads count from the sentence's first word, a root is its own head."""

    words: tuple[str, ...]
    spaces: tuple[bool, ...]
    tags: tuple[str, ...]
    pos: tuple[str, ...]
    morphs: tuple[str, ...]
    heads: tuple[int, ...]
    deps: tuple[str, ...]

    def cased(self, how: str) -> tuple[str, ...]:
        """The words as they are ("as is"), in "upper" or in "lower" case."""
        if how == "as is":
            return self.words
        return tuple(w.upper() if how == "upper" else w.lower() for w in self.words)


def treebank(part: str, *, genres: str = "open") -> dict[str, list[Document]]:
    """EWT and GUM documents of a part ("train", "dev", "test"); `genres` "open" leaves out GUM's non-commercial ones."""
    ewt = read_conllu(corpus_path("ewt", f"en_ewt-ud-{part}.conllu"))
    gum = []
    for name in read_splits(corpus_path("gum", "splits.md"))[part]:
        genre = name.split("_")[1]
        if genres == "all" or genre not in NON_COMMERCIAL:
            gum.extend(read_conllu(corpus_path("gum", "dep", f"{name}.conllu")))
    return {"ewt": ewt, "gum": gum}


def sentences(document: Document) -> list[Sentence]:
    """The gold sentences of a treebank document."""
    if document.heads is None or document.space_after is None:
        raise ValueError(f"{document.name} is not parsed")
    found = []
    for part in document.sentences():
        heads = document.heads[part] - part.start
        own = np.arange(len(heads))
        found.append(
            Sentence(
                document.words[part],
                tuple(document.space_after[part].tolist()),
                document.column("xpos")[part],
                document.column("upos")[part],
                tuple("" if f == "_" else f for f in document.column("features")[part]),
                tuple(np.where(heads < 0, own, heads).tolist()),
                tuple("ROOT" if r == "root" else r for r in document.column("relation")[part]),
            )
        )
    return found


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
