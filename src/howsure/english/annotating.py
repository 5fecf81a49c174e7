"""One stretch of text through a pipeline, and the stretches of a document back together."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from howsure.corpora.document import Document
from howsure.english.confidence import KINDS, Probabilities, with_probabilities
from howsure.english.shipped import Model
from howsure.english.tokens import Tokens, misc_entry, tokens

COLUMNS = ("lemma", "upos", "xpos", "features", "relation")

Parsed = dict[str, Any]  # plain lists, so that it travels between processes as JSON


def annotated(model: Model, texts: Iterable[str], probabilities: bool = False) -> Iterator[Parsed]:
    """Each text's words, white space, sentences and annotations; heads count from the text's first word, -1 for roots."""
    from spacy.tokens import Doc

    cut = [tokens(model.tokenise, text) for text in texts]

    def doc(t: Tokens) -> Any:
        spaces, starts = [bool(space) for space in t.after], [True if new else None for new in t.new_paragraphs()]
        return Doc(model.nlp.vocab, words=t.words, spaces=spaces, sent_starts=starts)

    done = _piped(model, (doc(t) for t in cut if t.words), 64, probabilities)
    for t in cut:
        yield _parsed(model, t, *next(done)) if t.words else {"words": [], "after": [], "before": t.before}


def _piped(model: Model, docs: Iterable[Any], size: int, probabilities: bool) -> Iterator[tuple[Any, Probabilities]]:
    """The documents through the pipeline, with the probabilities of what it chose where they are asked for."""
    if not probabilities:
        return ((doc, {}) for doc in model.nlp.pipe(docs, batch_size=size))
    return with_probabilities(model.nlp, docs, size, model.curves)


def _parsed(model: Model, t: Tokens, doc: Any, sure: Probabilities) -> Parsed:
    from spacy.attrs import DEP, HEAD, LEMMA, MORPH, POS, SENT_START, TAG

    n = len(doc)
    table = doc.to_array([SENT_START, HEAD, DEP, POS, TAG, MORPH, LEMMA])
    found: Parsed = {"words": t.words, "after": t.after, "before": t.before}
    starts = table[:, 0] == 1
    starts[0] = True
    if doc.has_annotation("DEP"):
        heads = table[:, 1].astype(np.int64) + np.arange(n)
        relation = np.array(_strings(doc, table[:, 2]), dtype=object)
        heads, relation = _one_root(heads, relation, np.cumsum(starts))
        found |= {"heads": heads.tolist(), "relation": relation.tolist()}
    for number, (name, kind) in enumerate((("upos", "POS"), ("xpos", "TAG"), ("features", "MORPH")), 3):
        if doc.has_annotation(kind):
            found[name] = _strings(doc, table[:, number])
    if model.lemma is not None and "xpos" in found:
        found["lemma"] = [model.lemma(w, tag) or w for w, tag in zip(t.words, found["xpos"], strict=True)]
    elif doc.has_annotation("LEMMA"):
        found["lemma"] = _strings(doc, table[:, 6])
    found["starts"] = np.flatnonzero(starts).tolist()
    return found | {kind: np.round(p, 4).tolist() for kind, p in sure.items()}


def _strings(doc: Any, column: np.ndarray) -> list[str]:
    """The text of each code; what is empty is "_"."""
    codes, inverse = np.unique(column, return_inverse=True)
    names = [doc.vocab.strings[int(c)] or "_" for c in codes]
    return [names[i] for i in inverse.tolist()]


def _one_root(heads: np.ndarray, relation: np.ndarray, sentence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Trees: one root a sentence, no head outside it. Further roots hang on the first, as parataxis."""
    roots = (heads == np.arange(len(heads))) | (sentence[heads] != sentence)
    at = np.flatnonzero(roots)
    _, first, number = np.unique(sentence[at], return_index=True, return_inverse=True)
    main = at[first]
    heads[at] = main[number]
    relation[roots & np.isin(relation, ("ROOT", "root"))] = "parataxis"
    heads[main], relation[main] = -1, "root"
    return heads, relation


def joined(name: str, parts: list[Parsed], metadata: dict[str, str]) -> Document:
    """The stretches of one text as a document."""
    words, starts, heads, after, before = list[str](), list[int](), list[int](), list[str](), ""
    for part in parts:
        if after:
            after[-1] += part["before"]
        else:
            before += part["before"]
        at = len(words)
        words.extend(part["words"])
        after.extend(part["after"])
        starts.extend(at + s for s in part.get("starts", ()))
        heads.extend(h + at if h >= 0 else -1 for h in part.get("heads", ()))
    there = [p for p in parts if p["words"]]
    shared = [k for k in (*COLUMNS, *KINDS) if there and all(k in p for p in there)]  # what all stretches have
    sure = {k: [v for p in there for v in p[k]] for k in shared if k in KINDS}
    columns = {k: tuple(v for p in there for v in p[k]) for k in shared if k in COLUMNS}
    misc = [
        misc_entry("" if i else before, space, [f"{kind}={sure[kind][i]:g}" for kind in sure])
        for i, space in enumerate(after)
    ]
    if any(m != "_" for m in misc):
        columns["misc"] = tuple(misc)
    begins = np.array([*starts, len(words)] if words else [0], dtype=np.int64)
    tree = np.array(heads, dtype=np.int64) if there and len(heads) == len(words) else None
    spaces = np.array([bool(space) for space in after], dtype=bool)
    return Document(name, tuple(words), begins, columns, tree, spaces, metadata)


def reparsed(
    model: Model, documents: Iterable[Document], *, upper: bool = False, probabilities: bool = False
) -> Iterator[Document]:
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
    for document, own, done in zip(given, words, _piped(model, docs, 8, probabilities), strict=True):
        made = joined(document.name, [_parsed(model, Tokens(own, [" "] * len(own)), *done)], {})
        yield document.with_(words=tuple(own), columns=made.columns, heads=made.heads)
