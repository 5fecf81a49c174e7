"""What is known of each mention of a document, as strings and small numbers: the stuff coreference features are made of."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from howsure.corpora.document import Document, Mention
from howsure.data import word_list
from howsure.kernels.cells import Ints
from howsure.models.coreference.knowledge import known, tag_columns
from howsure.models.coreference.mentions import CITATIONS, PRONOUNS, TITLES, mention_heads

KINDS = ("nominal", "proper", "other", *CITATIONS)
NUMBER_OF = {kind: k for k, kind in enumerate(KINDS)}
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
NOTHING = frozenset([None])
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
    longest: list[tuple[str, ...]]  # the longest name of the document that contains this one

    def __len__(self) -> int:
        return len(self.start)

    def upto(self, n: int) -> Self:
        """The first n mentions, with what all tell of them."""
        return type(self)(*(getattr(self, f.name)[:n] for f in fields(self)))


def attributes(document: Document, mentions: Sequence[Mention]) -> Attributes:
    """The attributes of `mentions`, which must be in document order."""
    words = document.words
    lower, empty, upos, xpos = tag_columns(document)
    lemmas = document.columns.get("lemma") or tuple(lower)
    base = [x.lower() if x != "_" else w for x, w in zip(lemmas, lower, strict=True)]
    relations = document.columns.get("relation") or empty
    features = document.columns.get("features") or empty
    parents = [-1] * len(words) if document.heads is None else document.heads.tolist()
    children = document.children()
    plain = {r: r.split(":")[0] for r in relations}
    sentences = document.sentence_of()
    said, addressees = ([d.get(k, "").lower() for d in document.sentence_metadata] for k in ("speaker", "addressee"))
    begins, ends = document.starts[:-1].tolist(), document.starts[1:].tolist()
    # Of each token what a mention's sets and initials are made of, None or "" where it is not in them.
    content = [None if w in IGNORED else x for x, w in zip(base, lower, strict=True)]
    capital = [w[:1].isupper() for w in words]
    names = [w if c and w not in IGNORED and w not in TITLES else None for w, c in zip(lower, capital, strict=True)]
    initials = [w[0] if c else "" for w, c in zip(words, capital, strict=True)]
    at = mention_heads(document, mentions)
    heads = at.tolist()
    columns = words, lower, upos, xpos, features
    kinds = [_kind(m, h, columns) for m, h in zip(mentions, heads, strict=True)]
    facts = known(document, base, mentions, heads, [k[0] in KINDS[:3] for k in kinds])
    above = cache(partial(_above, parents))
    made = []
    for m, h, s, (kind, gender, number, person), fact in zip(
        mentions, heads, sentences[at].tolist(), kinds, facts, strict=True
    ):
        span, mine = lower[m.start : m.end], [c for c in children[h] if m.start <= c < m.end]
        bases = [plain[relations[c]] for c in mine]
        gender = gender or fact.gender
        if number == "s" and fact.noun == "group":
            number = "g"
        if kind in KINDS[:2] and "conj" in bases:
            number, gender = "p", "a" if fact.noun == "person" else ""
        det, full = DETERMINERS.get(span[0], ""), " ".join(span)
        relation, governor = relations[h], parents[h]
        made.append(
            (
                NUMBER_OF[kind],
                lower[h],
                base[h],
                xpos[h],
                span[0],
                span[-1],
                lower[m.start - 1] if m.start > begins[s] else EDGE,
                lower[m.end] if m.end < ends[s] else EDGE,
                relation,
                EDGE if governor < 0 else lemmas[governor].lower(),
                governor,
                det or ("possessed" if "'s" in span[:-1] or "’s" in span[:-1] else "none"),
                gender,
                number,
                person,
                3 if relation == "nmod:poss" else ROLE_OF.get(plain[relation], 4),
                full[len(span[0]) + 1 :] if len(span) > 1 and det else full,
                full,
                frozenset(content[m.start : m.end]) - NOTHING,
                frozenset([lower[c] for c, b in zip(mine, bases, strict=True) if b in MODIFIERS]),
                "+".join(sorted(EXTENDING.intersection(bases))) or "none",
                said[s] if said else "",
                addressees[s] if said else "",
                frozenset(names[m.start : m.end]) - NOTHING,
                "".join(initials[m.start : m.end]).lower(),
                fact.noun or ("person" if kind not in KINDS[:3] and gender in ("m", "f", "a") else ""),
                fact.name,
                fact.roles,
                fact.nation,
                above(h),
            )
        )
    rest = [f.name for f in fields(Attributes)[4:-1]]  # after start, end, head, sentence
    of_all = list(map(list, zip(*made, strict=True))) or [[] for _ in rest]
    kept: dict[str, Any] = dict(zip(rest, of_all, strict=True))
    kept |= {k: np.array(kept[k], dtype=kind) for k, kind in NUMBERS.items()}
    parts = {name: set(name) for name in kept["name"]}
    longest = {name: max([o for o in parts if own <= parts[o]], key=len) for name, own in parts.items()}
    kept["longest"] = [longest[name] for name in kept["name"]]
    start, end = (np.array([getattr(m, side) for m in mentions], dtype=np.int64) for side in ("start", "end"))
    return Attributes(start, end, at, sentences[at], **kept)


def _kind(m: Mention, h: int, columns: Sequence[Sequence[str]]) -> tuple[str, str, str, str]:
    """Kind, number and person; gender of pronouns only."""
    words, lower, upos, xpos, features = columns
    word, span = lower[h], lower[m.start : m.end]
    if word in PRONOUNS and (len(span) == 1 or upos[h] in ("PRON", "PRP", "DT")) and upos[h] != "NUM":
        kind, gender, number, person = PRONOUNS[word]
        if kind == "you" and "Number=Plur" in features[h]:
            number = "p"
        return kind if len(span) == 1 or kind in ("those", "one", "that") else "nominal", gender, number, person
    if upos[h] == "PROPN" or xpos[h].startswith("NNP"):
        kind = "proper"
    elif upos[h] in ("NOUN", "NUM", "PRON", "SYM", "DET") or xpos[h].startswith("NN"):
        kind = "nominal"
    elif upos[h] == "_":  # no parse: capitals tell
        kind = "proper" if words[h][:1].isupper() else "nominal"
    else:
        kind = "other"
    number = "p" if "Number=Plur" in features[h] or xpos[h] in ("NNS", "NNPS") else "s"
    if kind == "proper" and ("and" in span or "&" in span) and " and " in " ".join(span):
        number = "p"
    return kind, "", number, "3"


def _above(parents: Sequence[int], h: int) -> tuple[int, ...]:
    """The tokens above token h, its head first."""
    made: list[int] = []
    while (h := parents[h]) >= 0 and len(made) < DEEP:
        made.append(h)
    return tuple(made)
