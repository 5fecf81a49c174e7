"""What the English pipeline learns from: treebank sentences, regrouped and recased in every pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure._result import Record
from howsure.corpora.conllu import read_conllu
from howsure.corpora.document import Document
from howsure.corpora.reading import corpus_path, read_splits

# Genres of GUM whose texts may not be used commercially (gum/LICENSE.txt).
NON_COMMERCIAL = ("essay", "fiction", "letter", "podcast", "reddit", "whow")

UPPER_SHARE, LOWER_SHARE = 0.14, 0.06
LONGEST_GROUP = 10


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


def gold_doc(vocab: Any, group: list[Sentence], how: str = "as is") -> Any:
    """Sentences as one spaCy document with all gold columns."""
    from spacy.tokens import Doc

    words: list[str] = []
    heads: list[int] = []
    starts: list[bool] = []
    for sentence in group:
        heads.extend(h + len(words) for h in sentence.heads)
        starts.extend([True] + [False] * (len(sentence.words) - 1))
        words.extend(sentence.cased(how))
    return Doc(
        vocab,
        words=words,
        spaces=[s for g in group for s in g.spaces],
        tags=[t for g in group for t in g.tags],
        pos=[p for g in group for p in g.pos],
        morphs=[m for g in group for m in g.morphs],
        heads=heads,
        deps=[d for g in group for d in g.deps],
        sent_starts=starts,
    )


def example(vocab: Any, group: list[Sentence], how: str = "as is") -> Any:
    """What spaCy learns from: the bare words beside the gold document."""
    from spacy.tokens import Doc
    from spacy.training import Example

    gold = gold_doc(vocab, group, how)
    bare = Doc(vocab, words=[t.text for t in gold], spaces=[bool(t.whitespace_) for t in gold])
    return Example(bare, gold)


def groups(documents: list[list[Sentence]], rng: np.random.Generator) -> list[tuple[list[Sentence], str]]:
    """One pass over the data: runs of 1 to 10 consecutive sentences with their case, in random order.

    Half of the runs are single sentences; boundaries between sentences are learnt from the others.
    """
    found = []
    for document in documents:
        at = 0
        while at < len(document):
            size = 1 if rng.random() < 0.5 else int(rng.integers(2, LONGEST_GROUP + 1))
            draw = rng.random()
            how = "upper" if draw < UPPER_SHARE else "lower" if draw < UPPER_SHARE + LOWER_SHARE else "as is"
            found.append((document[at : at + size], how))
            at += size
    return [found[i] for i in rng.permutation(len(found))]


def batches(documents: list[list[Sentence]], n_words: int, seed: int) -> Iterator[list[tuple[list[Sentence], str]]]:
    """Endless batches of about `n_words` words; the same seed gives the same batches."""
    epoch = 0
    while True:
        batch: list[tuple[list[Sentence], str]] = []
        size = 0
        for group, how in groups(documents, np.random.default_rng([seed, epoch])):
            batch.append((group, how))
            size += sum(len(s.words) for s in group)
            if size >= n_words:
                yield batch
                batch, size = [], 0
        epoch += 1


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
