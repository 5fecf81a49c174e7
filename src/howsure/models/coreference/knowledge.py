"""What word lists and the other mentions of a document tell of a mention: gender, class, name, roles, nation.

A short name knows what longer names that contain it know ("Jones" what "Mary Jones" does): facts of the document, not of a
clustering, so that antecedents stay independent given the features.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from howsure.corpora.document import Document, Mention
from howsure.data import first_names, nations, noun_classes
from howsure.models.coreference.mentions import FEMALE, MALE, PERSON, TITLES

# Classes of nouns; "" is unknown. Things and ideas are no persons, groups may be "it" or "they".
CLASSES = ("", "person", "group", "place", "animal", "thing", "event", "time", "amount", "speech", "idea")
LIFELESS = frozenset(["place", "thing", "event", "time", "amount", "speech", "idea"])
SURE, CLEAR = 4.0, 1.4  # log odds of woman: of a title or noun; above which a name counts as a woman's
AGES = range(1, 120)


@dataclass(frozen=True, slots=True)
class Known:
    """Of one mention: gender, class, the parts of its name, what it is called besides, and countries it names."""

    gender: str
    noun: str
    name: tuple[str, ...]
    roles: frozenset[str]
    nation: frozenset[str]


def tag_columns(document: Document) -> tuple[list[str], tuple[str, ...], Sequence[str], Sequence[str]]:
    """Words in lower case, a column of nothing, coarse and fine tags (each stands in for the other)."""
    empty = ("_",) * len(document.words)
    upos = document.columns.get("upos") or document.columns.get("xpos") or empty
    return [w.lower() for w in document.words], empty, upos, document.columns.get("xpos") or upos


def known(
    document: Document,
    lemmas: Sequence[str],
    mentions: Sequence[Mention],
    heads: Sequence[int],
    nominal: Sequence[bool],
) -> list[Known]:
    """What is known of each mention; `nominal` is False for pronouns, of which nothing is asked here."""
    words = document.words
    lower, _, upos, xpos = tag_columns(document)
    tagged = zip(upos, xpos, words, strict=True)
    proper = [u == "PROPN" or x.startswith("NNP") or (u == "_" and w[:1].isupper()) for u, x, w in tagged]
    roles = _roles(document, lemmas, upos)
    of_word, countries = noun_classes(), nations()
    names: list[tuple[str, ...]] = []
    evidence: dict[tuple[str, ...], list[float]] = {}
    called: dict[tuple[str, ...], set[str]] = {}
    persons: set[tuple[str, ...]] = set()
    for m, h, real in zip(mentions, heads, nominal, strict=True):
        if not real or not proper[h]:
            names.append(())
            continue
        begin, end = h, h + 1
        while begin > m.start and proper[begin - 1]:
            begin -= 1
        while end < m.end and proper[end]:
            end += 1
        parts = lower[begin:end]
        name = tuple(p for p in parts if p not in TITLES) or tuple(parts[-1:])
        names.append(name)
        own = {p for p in parts if p in TITLES} | roles[h]
        if begin > m.start and upos[begin - 1] == "NOUN":
            own.add(lemmas[begin - 1])
        called.setdefault(name, set()).update(own)
        log_odds = evidence.setdefault(name, [])
        log_odds += [SURE if r in FEMALE else -SURE for r in own if r in FEMALE or r in MALE]
        described = own & TITLES or any(r in PERSON or of_word.get(r) == "person" for r in own)
        if described or _has_age(lower, end, len(words)):
            persons.add(name)
    full = {name: _with_longer(name, evidence) for name in evidence}
    named = [countries.get(w, "") for w in lower]
    genders: dict[tuple[tuple[str, ...], bool], str] = {}
    made = []
    for m, h, real, name in zip(mentions, heads, nominal, names, strict=True):
        nation = frozenset(named[m.start : m.end]) - {""} if real else frozenset[str]()
        if not real:
            made.append(Known("", "", (), frozenset(), nation))
            continue
        noun = of_word.get(lemmas[h], of_word.get(lower[h], "")).partition("+")
        if not name:
            gender = _noun_gender(lower[h], lemmas[h], noun[0], noun[2])
            kind = "person" if gender in ("m", "f", "a") else noun[0]
            made.append(Known(gender, kind, (), frozenset([lemmas[h]]), nation))
            continue
        place, kind = noun[0] == "place", noun[0] if noun[0] != "person" else ""
        if (name, place) not in genders:
            odds, persona = [x for o in full[name] for x in evidence[o]], any(o in persons for o in full[name])
            genders[name, place] = _name_gender(full[name], odds, place) or ("a" if persona else "")
        gender = genders[name, place]
        if gender in ("m", "f", "a", "m-name", "f-name"):
            kind = "person"
        elif gender:
            kind = kind or "person"
        made.append(Known(gender, kind, name, frozenset([x for o in full[name] for x in called[o]]), nation))
    return made


def _name_gender(longer: Sequence[tuple[str, ...]], log_odds: Sequence[float], place: bool) -> str:
    """The gender that titles and nouns tell, or first names; a place is no first name alone."""
    mean = float(np.mean(log_odds)) if log_odds else 0.0
    if abs(mean) > CLEAR:
        return "f" if mean > 0 else "m"
    women = first_names()
    firsts = [women[o[0]] for o in longer if o[0] in women and not (len(o) == 1 and place)]
    if not firsts:
        return ""
    share = float(np.mean(firsts))
    odds = np.log(share / (1 - share))
    how = "name" if any(len(o) > 1 for o in longer) else "maybe"
    return f"f-{how}" if odds > CLEAR else f"m-{how}" if odds < -CLEAR else "a"


def _with_longer(name: tuple[str, ...], names: dict[tuple[str, ...], list[float]]) -> list[tuple[str, ...]]:
    """The longer names of the document that contain this one, or itself where there are none."""
    parts = set(name)
    return [o for o in names if len(o) > len(name) and parts <= set(o)] or [name]


def _has_age(lower: Sequence[str], end: int, n: int) -> bool:
    """Whether a name is followed by a comma and an age, as in "Martin, 54"."""
    return end + 1 < n and lower[end] == "," and lower[end + 1].isdecimal() and int(lower[end + 1]) in AGES


def _noun_gender(word: str, lemma: str, noun: str, also: str) -> str:
    if word in MALE or lemma in MALE:
        return "m"
    if word in FEMALE or lemma in FEMALE:
        return "f"
    if word in PERSON or noun == "person":
        return "a"
    if noun == "group":
        return "g"
    return "n-class" if noun in LIFELESS and not also else ""


def _roles(document: Document, lemmas: Sequence[str], upos: Sequence[str]) -> list[set[str]]:
    """Nouns that describe each token: appositions either way, predicates of a copula, nouns before a name."""
    made: list[set[str]] = [set() for _ in lemmas]
    heads = document.heads
    relations = document.columns.get("relation")
    if heads is None or relations is None:
        return made
    parents, plain = heads.tolist(), {r: r.split(":")[0] for r in relations}
    copulas = {h for h, r in zip(parents, relations, strict=True) if r == "cop"}
    for k, (h, relation) in enumerate(zip(parents, relations, strict=True)):
        named = plain[relation] in ("appos", "flat")
        if h < 0 or not (named or plain[relation] == "nsubj"):
            continue
        if upos[k] == "NOUN" and named:
            made[h].add(lemmas[k])
        if upos[h] == "NOUN" and (named or h in copulas):
            made[k].add(lemmas[h])
    return made
