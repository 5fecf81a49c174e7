"""How two mentions stand to each other, as small codes: a function for each named template, vectorised over pairs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.data.vectors import word_vectors
from howsure.kernels.cells import Ints
from howsure.models.coreference.attributes import Attributes

Codes = NDArray[np.uint8]
Square = NDArray[Any]  # of pairs

MENTION_STEPS = np.array([1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 45, 70, 110, 170, 260])
SENTENCE_STEPS = np.array([1, 2, 3, 4, 5, 7, 10, 15, 22, 35, 50])
CHAIN_STEPS = np.array([2, 3, 5, 8])
SIMILARITY_STEPS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75])
RANK_STEPS = np.array([1, 2, 3, 4, 6, 9, 15, 30])


class Pairs:
    """All pairs of a document's mentions as squares, [i, j] for mention i and antecedent j < i, and what several templates share.

    What stands on and above the diagonal means nothing.
    """

    def __init__(self, a: Attributes) -> None:
        self.a = a
        self.n = len(a)
        self.lemma, self.word, self.text = (numbered(x) for x in (a.lemma, a.word, a.text))
        self.below = np.tri(self.n, k=-1, dtype=bool)
        sentence = a.sentence.astype(np.int32)
        self.gap = sentence[:, None] - sentence
        self.nested = self._nested()
        self.has, self.heads = _members(a.content, a.lemma)
        self.shared, self.size = _shared(self.has)
        self.gender = _clash(a.gender, _genders)
        self.number = _clash(a.number, _numbers)
        self.fits = (self.gender % 4 != 2) & (self.number != 2) & (self.nested == 0)
        self.same_lemma = same(self.lemma)
        longest = np.ones(self.n, bool)  # of the mentions that share a head
        longest[1:] = a.head[1:] != a.head[:-1]
        self.rank = self.ranked(self.fits & longest)

    def _nested(self) -> Codes:
        """0 apart, 1 the antecedent contains the mention, 2 the other way round, 3 they share their head."""
        starts, ends = np.less_equal.outer(self.a.start, self.a.start), np.less_equal.outer(self.a.end, self.a.end)
        made = np.where(starts & ends.T, np.uint8(2), (starts.T & ends).view(np.uint8))
        return np.where(same(self.a.head), np.uint8(3), made)

    def ranked(self, fits: NDArray[np.bool_]) -> Square:
        """How many mentions between j and i fit i, among the pairs where `fits`."""
        square = (fits & self.below)[:, ::-1]
        return (np.cumsum(square, axis=1, dtype=np.int32) - square)[:, ::-1]


def same(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether two mentions have the same value."""
    return np.equal.outer(values, values)


def steps(limits: Ints, values: Square) -> Square:
    """How many of the limits each whole number has reached."""
    reached = np.searchsorted(limits, np.arange(limits[-1] + 1), side="right").astype(np.uint8)
    return reached.take(np.clip(values, 0, limits[-1]))


def _members(
    sets: Sequence[frozenset[str]], others: Sequence[str] = ()
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Which words each set has (a row each, 0 or 1), and the columns of other words."""
    words = numbered([*others, *(w for s in sets for w in s)])
    table = np.zeros((len(sets), words.max(initial=-1) + 1), np.float32)
    table[np.repeat(np.arange(len(sets)), [len(s) for s in sets]), words[len(others) :]] = 1.0
    return table, words[: len(others)]


def _shared(table: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How many words each two different sets share, and how many each has."""
    shared = table[:, table.sum(axis=0) > 1.0]
    return shared @ shared.T, table.sum(axis=1)


def numbered(values: Sequence[str]) -> NDArray[np.int32]:
    """Equal strings, equal numbers."""
    index = {v: k for k, v in enumerate(dict.fromkeys(values))}
    return np.array([index[v] for v in values], dtype=np.int32)


def _clash(values: Sequence[str], verdict: Callable[[str, str], int]) -> Codes:
    """0 where one of two values is unknown, else the verdict on them."""
    names = list(dict.fromkeys(values))
    table = np.array([[verdict(u, v) if u and v else 0 for v in names] for u in names], dtype=np.uint8)
    codes = numbered(values)
    return table.reshape(len(names), len(names))[codes][:, codes]


def _genders(u: str, v: str) -> int:
    """1 the same, 2 different, 3 compatible; 4 more where a full name tells, 8 a single name, 12 the class of a noun."""
    (x, _, how), (y, _, why) = u.partition("-"), v.partition("-")
    doubt = max(map(["", "name", "maybe", "class"].index, (how, why)))
    if "g" in (x, y):
        return 12 + (1 if x == y else 3 if "n" in (x, y) else 2)
    return 4 * doubt + (1 if x == y else 3 if "a" in (x, y) and "n" not in (x, y) else 2)


def _numbers(u: str, v: str) -> int:
    return 1 if u == v else 3 if "g" in (u, v) else 2


def _overlap(p: Pairs) -> Square:
    i_in, j_in = p.shared == p.size[:, None], p.shared == p.size
    return (1 + j_in.view(np.uint8) + 2 * i_in.view(np.uint8)) * (p.shared > 0)


def _head_inside(p: Pairs) -> Square:
    heads = p.has[:, p.heads]
    return heads.T + np.float32(2.0) * heads


def _speaker(p: Pairs) -> Square:
    """0 nobody speaks; 1 the same speaker; 2 spoken to by the antecedent's speaker; 3 another; 4, 5 by name."""
    a = p.a
    if not any(a.speaker) and not any(a.addressee):
        return np.zeros((p.n, p.n), np.int64)
    numbers = numbered(["", *a.speaker, *a.addressee])
    speaker, spoken_to = numbers[1 : 1 + p.n], numbers[1 + p.n :]
    code = np.where(same(speaker), 1, np.where(np.equal.outer(speaker, spoken_to), 2, 3))
    code = np.where(np.equal.outer(spoken_to, speaker) & (code == 3), 6, code)
    code = np.where((speaker[:, None] == 0) | (speaker == 0), 0, code)
    for number, said in ((4, a.speaker), (5, a.addressee)):
        known = sorted({s for s in said if s})
        if known:
            named = np.array([[bool(a.names[m] & _name(s)) for s in known] for m in range(p.n)])
            which = np.array([known.index(s) if s else -1 for s in said])
            hit = (which[:, None] >= 0) & named[:, which].T & (a.kind == 1)
            code = np.where(hit, number, code)
    return code


def _name(speaker: str) -> set[str]:
    return set(speaker.replace("_", " ").replace("-", " ").split())


def _syntax(p: Pairs) -> Square:
    """0 nothing, 1 apposition, 2 subject and predicate noun, 3 conjuncts, 4 same verb, 5 antecedent governs from above."""
    a = p.a
    bases = [r.split(":")[0] for r in a.relation]
    subject, conjunct, apposed = (
        np.array([b == name for b in bases], dtype=bool) for name in ("nsubj", "conj", "appos")
    )
    below = np.equal.outer(a.governor_at, a.head)
    code = np.where(same(a.governor_at) & (a.governor_at >= 0), np.uint8(4), 5 * below.view(np.uint8))
    code[below.T & subject] = 2
    code[below & conjunct[:, None]] = 3
    code[below & apposed[:, None]] = 1
    return code


def _modifiers(p: Pairs) -> Square:
    """Whether the modifiers (adjectives, numbers, compounds) of mentions with one head differ."""
    shared, size = _shared(_members(p.a.modifiers)[0])
    return (1 + (shared < size[:, None]).view(np.uint8) + 2 * (shared < size).view(np.uint8)) * p.same_lemma


def _acronym(p: Pairs) -> Square:
    numbers, initials = numbered([*p.a.word, *p.a.initials]), np.array([len(x) > 1 for x in p.a.initials], dtype=bool)
    letters = np.equal.outer(numbers[: p.n], numbers[p.n :]) & initials
    return letters + 2 * letters.view(np.uint8).T


def _salience(p: Pairs) -> Square:
    """How often the antecedent's text was named before the mention, and how near it is."""
    count = np.zeros(p.n, np.int32)
    seen: dict[int, int] = {}
    for k, t in enumerate(p.text.tolist()):
        seen[t] = count[k] = seen.get(t, 0) + 1
    return np.minimum(count, 5) * 4 + np.minimum(p.gap, 3)


def _place(p: Pairs) -> Square:
    """How near, in which role and behind how many others that fit the antecedent stands."""
    return ((np.minimum(p.gap, 3) * 5 + p.a.role) * 4 + np.minimum(p.rank, 3)) * 2 + p.fits


def _clause(p: Pairs) -> Square:
    """Inside a sentence: where in the tree the antecedent hangs, seen from the mention, and whether it is a subject.

    1 elsewhere, 2 on the same word, 3-5 on a word one, two, more steps above it, 6-7 the mention one, more steps above.
    """
    a = p.a
    above = np.full((p.n, max(map(len, a.clause), default=0) + 1), -2)
    for k, words in enumerate(a.clause):
        above[k, : len(words)] = words
    i, j = np.nonzero((p.gap == 0) & p.below)

    def steps(x: Ints, y: Ints) -> Ints:
        """How far above x's head the word is that y hangs on; -1 if it is not."""
        hit = above[x] == a.governor_at[y][:, None]
        return np.where(hit.any(axis=1), hit.argmax(axis=1), -1)

    up, down = steps(i, j), steps(j, i)
    code = np.where(up >= 0, 2 + np.minimum(up, 3), np.where(down >= 0, 5 + np.minimum(down, 2), 1))
    made = np.zeros((p.n, p.n), np.uint8)
    made[i, j] = 2 * code + (a.role[j] == 0)
    return made


def _names(p: Pairs) -> Square:
    """How two names match by their parts; 13, 14 where only the mention, the antecedent has one."""
    a = p.a
    kinds = list(dict.fromkeys(a.name))
    sizes = np.array([len(name) for name in kinds], dtype=np.int64)
    table = np.where((sizes[:, None] > 1) & (sizes > 1), 12, 11).astype(np.uint8)  # names that share nothing
    having: dict[str, list[int]] = {}
    for k, name in enumerate(kinds):
        for part in name:
            having.setdefault(part, []).append(k)
        if not name:
            table[:, k], table[k], table[k, k] = 13, 14, 0
    for x, y in {(x, y) for found in having.values() for x in found for y in found}:
        table[x, y] = _name_match(kinds[x], kinds[y])
    index = {name: k for k, name in enumerate(kinds)}
    which = np.array([index[name] for name in a.name], dtype=np.int64)
    pronoun = a.kind > 2
    return table[which][:, which] * ~(pronoun[:, None] | pronoun)


def _name_match(u: tuple[str, ...], v: tuple[str, ...]) -> int:
    """Of two names that share a part."""
    if u == v:
        return 1
    x, y = set(u), set(v)
    if x <= y or y <= x:
        return (2 if x <= y else 5) + (0 if u[-1] == v[-1] else 1 if u[0] == v[0] else 2)
    return 8 if u[-1] == v[-1] else 9 if u[0] == v[0] else 10


def _called(p: Pairs) -> Square:
    """Whether a noun is what the other's name is called elsewhere, and whether the countries that they name agree."""
    named = np.array([bool(name) for name in p.a.name], dtype=bool)
    (roles, _), (nations, size) = (_shared(_members(sets)[0]) for sets in (p.a.roles, p.a.nation))
    code = (named | 2 * named.view(np.uint8)[:, None]) * (roles > 0)
    return code + ((size[:, None] > 0) & (size > 0)) * np.where(nations > 0, np.uint8(4), np.uint8(8))


def _chain(p: Pairs) -> Square:
    """How often the antecedent's name or noun came before the mention, whether it opens the document, and whether this is its last."""
    a = p.a
    called = zip(a.name, a.longest, a.lemma, a.kind, strict=True)
    key = numbered([" ".join(whole) if n else t if k < 3 else "" for n, whole, t, k in called])
    pronoun = a.kind > 2
    # seen[i, k]: mentions of antecedent k's key among those before i.
    alike = same(key) & ~pronoun & ~pronoun[:, None]
    seen = np.cumsum(alike, axis=0, dtype=np.int32) - alike
    last = seen == seen.diagonal() + 1
    opens = np.isin(key, key[(a.sentence < 2) & ~pronoun])
    return (1 + (steps(CHAIN_STEPS, seen) * 2 + opens) * 2 + last) * ~pronoun


def _similar(p: Pairs) -> Square:
    """How near the head words of two nouns or names are as word vectors; 0 where one has none, 1 for the same word."""
    v = word_vectors().of(p.a.lemma)
    v /= np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-9)
    known = v.any(axis=1) & (p.a.kind <= 2)
    compared = known[:, None] & known & p.below
    code = np.zeros((p.n, p.n), np.uint8)
    code[compared] = 2 + np.searchsorted(SIMILARITY_STEPS, (v @ v.T)[compared], side="right")
    code[p.same_lemma & compared] = 1
    return code


RELATIONS: dict[str, Callable[[Pairs], Square]] = {
    "mention-distance": lambda p: steps(MENTION_STEPS, np.subtract.outer(*[np.arange(p.n, dtype=np.int32)] * 2)),
    "sentence-distance": lambda p: steps(SENTENCE_STEPS, p.gap),
    "exact-match": lambda p: same(p.text).view(np.uint8) + same(numbered(p.a.full)),
    "head-match": lambda p: p.same_lemma.view(np.uint8) + (p.same_lemma & same(p.word)),
    "word-overlap": _overlap,
    "head-inside": _head_inside,
    "nesting": lambda p: p.nested,
    "gender": lambda p: p.gender,
    "number": lambda p: p.number,
    "speaker": _speaker,
    "rank": lambda p: steps(RANK_STEPS, p.rank) + 10 * p.fits.view(np.uint8),
    "head-rank": lambda p: (1 + np.minimum(p.ranked(p.same_lemma), 3)) * p.same_lemma,
    "syntax": _syntax,
    "parallel": lambda p: same(numbered(p.a.relation)) + 2 * same(numbered(p.a.governor)).view(np.uint8),
    "modifiers": _modifiers,
    "acronym": _acronym,
    "roles": lambda p: (np.minimum(p.gap, 2) * 5 + p.a.role[:, None]) * 5 + p.a.role,
    "salience": _salience,
    "place": _place,
    "clause": _clause,
    "names": _names,
    "called": _called,
    "chain": _chain,
    "similar": _similar,
}


def relation_codes(a: Attributes, names: Sequence[str]) -> Codes:
    """Codes of the named templates for every pair j < i, i by i, shape (pairs, templates)."""
    p = Pairs(a)
    made = np.empty((p.n, p.n, len(names)), np.uint8)
    with np.errstate(invalid="ignore"):
        for k, name in enumerate(names):
            made[:, :, k] = RELATIONS[name](p)
    return made.reshape(p.n * p.n, len(names)).take(np.flatnonzero(p.below), axis=0)
