"""Documents of a treebank parsed again: gold words and gold sentences, everything else the model's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from howsure.corpora.document import Document
from howsure.english.annotating import parsed_words
from howsure.english.shipped import Model


def reparsed(model: Model, documents: Iterable[Document], *, upper: bool = False) -> Iterator[Document]:
    """Each document with the model's tags, lemmas, features and dependencies; mentions and metadata stay.

    With `upper` the words are put in upper case first, as wire text is.
    """
    from spacy.tokens import Doc

    given = list(documents)
    words = [[w.upper() for w in d.words] if upper else list(d.words) for d in given]
    docs = (
        Doc(model.nlp.vocab, words=w, sent_starts=[i in starts for i in range(len(w))])
        for w, starts in zip(words, (set(d.starts.tolist()) for d in given), strict=True)
    )
    for document, own, doc in zip(given, words, model.nlp.pipe(docs, batch_size=8), strict=True):
        made = parsed_words(model, document.name, own, doc)
        yield document.with_(words=tuple(own), columns=made.columns, heads=made.heads)
