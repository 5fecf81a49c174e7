"""What is known of each mention of a document, as strings and small numbers: the stuff coreference features are made of."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.corpora.document import Document, Mention
from howsure.data import word_list
from howsure.kernels.cells import Ints
from howsure.models.coreference.knowledge import known, tag_columns
from howsure.models.coreference.mentions import CITATIONS, PRONOUNS, TITLES, mention_heads

KINDS = ("nominal", "proper", "other", *CITATIONS)
DETERMINERS = {
    **dict.fromkeys(["the"], "definite"),
    **dict.fromkeys(["a", "an", "another"], "indefinite"),
    **dict.fromkeys(["this", "that", "these", "those", "such"], "demonstrative"),
    **dict.fromkeys(["some", "any", "many", "few", "several", "much", "most", "more"], "quantity"),
    **dict.fromkeys(["no", "every", "each", "all", "both", "either", "neither"], "universal"),
    **dict.fromkeys(["my", "your", "his", "her", "its", "our", "their", "whose"], "possessive"),
}
IGNORED = word_list("ignored")
ROLES = ("subject", "object", "oblique", "possessor", "other")
ROLE_OF = {"nsubj": 0, "csubj": 0, "obj": 1, "iobj": 1, "obl": 2}  # by relation; nmod:poss is a possessor
NUMBERS = {"governor_at": np.int64, "kind": np.uint8, "role": np.uint8}  # columns that are arrays
MODIFIERS, EXTENDING = {"amod", "compound", "nummod", "flat"}, {"acl", "appos", "conj", "nmod", "advcl"}
EDGE = "<edge>"
DEEP = 12  # tokens above a head that are looked at


@dataclass(frozen=True, slots=True)
class Attributes:
    """Columns with one entry per mention, in the document's order (outer before inner)."""

    start: Ints
    end: Ints
    head: Ints
    sentence: Ints
    kind: NDArray[np.uint8]  # of KINDS
    word: list[str]  # the head, lower case
    lemma: list[str]
    tag: list[str]  # the head's part of speech
    first: list[str]
    last: list[str]
    before: list[str]
    after: list[str]
    relation: list[str]
    governor: list[str]  # lemma of the head's head
    governor_at: Ints
    determiner: list[str]
    gender: list[str]
    number: list[str]
    person: list[str]
    role: NDArray[np.uint8]  # of ROLES
    text: list[str]  # lower case, without determiner
    full: list[str]
    content: list[frozenset[str]]
    modifiers: list[frozenset[str]]
    inside: list[str]  # dependents that extend the phrase
    speaker: list[str]
    addressee: list[str]
    names: list[frozenset[str]]  # capitalised words, lower case
    initials: list[str]
    noun: list[str]  # of knowledge.CLASSES
    name: list[tuple[str, ...]]  # parts of a proper name, without titles
    roles: list[frozenset[str]]  # what the entity is called besides
    nation: list[frozenset[str]]
    clause: list[tuple[int, ...]]  # tokens above the head, nearest first

    def __len__(self) -> int:
        return len(self.start)


def attributes(document: Document, mentions: Sequence[Mention]) -> Attributes:
    """The attributes of `mentions`, which must be in document order."""
    words = document.words
    lower, empty, upos, xpos = tag_columns(document)
    lemmas = document.columns.get("lemma") or tuple(lower)
    base = [x.lower() if x != "_" else w for x, w in zip(lemmas, lower, strict=True)]
    relations = document.columns.get("relation") or empty
    features = document.columns.get("features") or empty
    heads = document.heads
    children = document.children()
    sentences = document.sentence_of()
    said = [d.get("speaker", "") for d in document.sentence_metadata] or [""] * document.n_sentences
    addressees = [d.get("addressee", "") for d in document.sentence_metadata] or [""] * document.n_sentences
    at = mention_heads(document, mentions)
    kinds = [_kind(m, h, words, lower, upos, xpos, features) for m, h in zip(mentions, at.tolist(), strict=True)]
    facts = known(document, mentions, at.tolist(), [k[0] in KINDS[:3] for k in kinds])
    made: dict[str, list[object]] = {f.name: [] for f in fields(Attributes)[4:]}  # after start, end, head, sentence
    for m, h, (kind, gender, number, person), fact in zip(mentions, at.tolist(), kinds, facts, strict=True):
        span, mine = lower[m.start : m.end], [c for c in children[h] if m.start <= c < m.end]
        bases = [relations[c].split(":")[0] for c in mine]
        gender = gender or fact.gender
        if number == "s" and fact.noun == "group":
            number = "g"
        if kind in KINDS[:2] and any(relations[c].startswith("conj") for c in mine):
            number, gender = "p", "a" if fact.noun == "person" else ""
        governor = -1 if heads is None else int(heads[h])
        s = int(sentences[h])
        begin, finish = int(document.starts[s]), int(document.starts[s + 1])
        det = DETERMINERS.get(span[0], "")
        if not det:
            det = "possessed" if any(w in ("'s", "’s") for w in span[:-1]) else "none"
        capital = [w for w in words[m.start : m.end] if w[:1].isupper()]
        row = {
            "kind": KINDS.index(kind),
            "word": lower[h],
            "lemma": base[h],
            "tag": xpos[h],
            "first": span[0],
            "last": span[-1],
            "before": lower[m.start - 1] if m.start > begin else EDGE,
            "after": lower[m.end] if m.end < finish else EDGE,
            "relation": relations[h],
            "governor": EDGE if governor < 0 else lemmas[governor].lower(),
            "governor_at": governor,
            "determiner": det,
            "gender": gender,
            "number": number,
            "person": person,
            "role": 3 if relations[h] == "nmod:poss" else ROLE_OF.get(relations[h].split(":")[0], 4),
            "text": " ".join(span[1:] if len(span) > 1 and span[0] in DETERMINERS else span),
            "full": " ".join(span),
            "content": frozenset(base[k] for k in range(m.start, m.end) if lower[k] not in IGNORED),
            "modifiers": frozenset(lower[c] for c, b in zip(mine, bases, strict=True) if b in MODIFIERS),
            "inside": "+".join(sorted(EXTENDING.intersection(bases))) or "none",
            "speaker": said[s].lower(),
            "addressee": addressees[s].lower(),
            "names": frozenset(w.lower() for w in capital if w.lower() not in IGNORED and w.lower() not in TITLES),
            "initials": "".join(w[0] for w in capital).lower(),
            "noun": fact.noun or ("person" if kind not in KINDS[:3] and gender in ("m", "f", "a") else ""),
            "name": fact.name,
            "roles": fact.roles,
            "nation": fact.nation,
            "clause": _above(h, heads),
        }
        for name, value in row.items():
            made[name].append(value)
    kept: dict[str, Any] = made | {k: np.array(made[k], dtype=kind) for k, kind in NUMBERS.items()}
    start, end = (np.array([getattr(m, side) for m in mentions], dtype=np.int64) for side in ("start", "end"))
    return Attributes(start, end, at, sentences[at] if len(at) else np.zeros(0, np.int64), **kept)


def _kind(
    m: Mention,
    h: int,
    words: Sequence[str],
    lower: Sequence[str],
    upos: Sequence[str],
    xpos: Sequence[str],
    features: Sequence[str],
) -> tuple[str, str, str, str]:
    """Kind, number and person; gender of pronouns only."""
    word, span = lower[h], lower[m.start : m.end]
    if word in PRONOUNS and (m.end - m.start == 1 or upos[h] in ("PRON", "PRP", "DT")) and upos[h] != "NUM":
        kind, gender, number, person = PRONOUNS[word]
        if kind == "you" and "Number=Plur" in features[h]:
            number = "p"
        if m.end - m.start == 1 or kind in ("those", "one", "that"):
            return kind, gender, number, person
        return "nominal", gender, number, person
    if upos[h] == "PROPN" or xpos[h].startswith("NNP"):
        kind = "proper"
    elif upos[h] in ("NOUN", "NUM", "PRON", "SYM", "DET") or xpos[h].startswith("NN"):
        kind = "nominal"
    elif upos[h] == "_":  # no parse: capitals tell
        kind = "proper" if words[h][:1].isupper() else "nominal"
    else:
        kind = "other"
    number = "p" if "Number=Plur" in features[h] or xpos[h] in ("NNS", "NNPS") else "s"
    if any(w in ("and", "&") for w in span) and kind != "other" and " and " in " ".join(span):
        number = "p" if kind == "proper" else number
    return kind, "", number, "3"


def _above(h: int, heads: Ints | None) -> tuple[int, ...]:
    """The tokens above token h, its head first."""
    made: list[int] = []
    while heads is not None and (h := int(heads[h])) >= 0 and len(made) < DEEP:
        made.append(h)
    return tuple(made)
