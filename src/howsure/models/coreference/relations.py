"""How two mentions stand to each other, as small codes: a function for each named template, vectorised over pairs."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from howsure.data.vectors import word_vectors
from howsure.kernels.cells import Ints
from howsure.models.coreference.attributes import Attributes

Codes = NDArray[np.uint8]

MENTION_STEPS = np.array([1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 45, 70, 110, 170, 260])
SENTENCE_STEPS = np.array([1, 2, 3, 4, 5, 7, 10, 15, 22, 35, 50])
CHAIN_STEPS = np.array([2, 3, 5, 8])
SIMILARITY_STEPS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75])
RANK_STEPS = np.array([1, 2, 3, 4, 6, 9, 15, 30])


class Pairs:
    """All pairs j < i of a document's mentions, i by i, and what several templates share."""

    def __init__(self, a: Attributes) -> None:
        self.a = a
        n = len(a)
        i, j = np.tril_indices(n, -1)
        self.n, self.i, self.j = n, i, j
        self.lemma, self.word, self.text, self.full = (numbered(x) for x in (a.lemma, a.word, a.text, a.full))
        self.gap = a.sentence[i] - a.sentence[j]
        self.nested = self._nested()
        shared, self.size = _shared(a.content)
        self.shared = shared[i, j]
        self.gender = _clash(a.gender, i, j, _genders)
        self.number = _clash(a.number, i, j, _numbers)
        self.fits = (self.gender % 4 != 2) & (self.number != 2) & (self.nested == 0)
        self.same_lemma = self.lemma[i] == self.lemma[j]
        longest = np.ones(n, bool)  # of the mentions that share a head
        longest[1:] = a.head[1:] != a.head[:-1]
        self.rank = self.ranked(self.fits & longest[j])

    def _nested(self) -> Codes:
        """0 apart, 1 the antecedent contains the mention, 2 the other way round, 3 they share their head."""
        a, i, j = self.a, self.i, self.j
        made = np.zeros(len(i), np.uint8)
        made[(a.start[j] <= a.start[i]) & (a.end[i] <= a.end[j])] = 1
        made[(a.start[i] <= a.start[j]) & (a.end[j] <= a.end[i])] = 2
        made[a.head[i] == a.head[j]] = 3
        return made

    def ranked(self, fits: NDArray[np.bool_]) -> Ints:
        """How many mentions between j and i fit i, among the pairs where `fits`."""
        square = np.zeros((self.n, self.n), np.int64)
        square[self.i, self.j] = fits
        after = np.cumsum(square[:, ::-1], axis=1)[:, ::-1] - square
        return after[self.i, self.j]


def _shared(sets: Sequence[frozenset[str]]) -> tuple[Ints, Ints]:
    """How many words each two sets share, and how many each has."""
    from scipy.sparse import csr_array

    words = numbered([w for s in sets for w in s])
    sizes = np.array([len(s) for s in sets], dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    table = csr_array((np.ones(len(words), np.int64), words, ends), shape=(len(sets), words.max(initial=0) + 1))
    return (table @ table.T).toarray() if len(sets) else np.zeros((0, 0), np.int64), sizes


def numbered(values: Sequence[str]) -> Ints:
    """Equal strings, equal numbers."""
    index: dict[str, int] = {}
    return np.array([index.setdefault(v, len(index)) for v in values], dtype=np.int64)


def _clash(values: Sequence[str], i: Ints, j: Ints, verdict: Callable[[str, str], int]) -> Codes:
    """0 where one of two values is unknown, else the verdict on them."""
    names = sorted(set(values))
    codes = np.array([names.index(v) for v in values], dtype=np.int64)
    table = np.array([[verdict(u, v) if u and v else 0 for v in names] for u in names], dtype=np.uint8)
    return table[codes[i], codes[j]] if len(names) else np.zeros(len(i), np.uint8)


def _genders(u: str, v: str) -> int:
    """1 the same, 2 different, 3 compatible; 4 more where a full name tells, 8 a single name, 12 the class of a noun."""
    (x, _, how), (y, _, why) = u.partition("-"), v.partition("-")
    doubt = max(map(["", "name", "maybe", "class"].index, (how, why)))
    if "g" in (x, y):
        return 12 + (1 if x == y else 3 if "n" in (x, y) else 2)
    return 4 * doubt + (1 if x == y else 3 if "a" in (x, y) and "n" not in (x, y) else 2)


def _numbers(u: str, v: str) -> int:
    return 1 if u == v else 3 if "g" in (u, v) else 2


def _overlap(p: Pairs) -> Ints:
    i_in, j_in = p.shared == p.size[p.i], p.shared == p.size[p.j]
    code = np.where(i_in & j_in, 4, np.where(i_in, 3, np.where(j_in, 2, 1)))
    return np.where(p.shared == 0, 0, code)


def _head_inside(p: Pairs) -> Ints:
    a = p.a
    index = {w: k for k, w in enumerate(dict.fromkeys([*a.lemma, *(w for c in a.content for w in c)]))}
    has = np.zeros((p.n, len(index)), bool)
    for m, content in enumerate(a.content):
        has[m, [index[w] for w in content]] = True
    heads = np.array([index[w] for w in a.lemma], dtype=np.int64)
    return has[p.j, heads[p.i]] + 2 * has[p.i, heads[p.j]].astype(np.int64)


def _speaker(p: Pairs) -> Ints:
    """0 nobody speaks; 1 the same speaker; 2 spoken to by the antecedent's speaker; 3 another; 4, 5 by name."""
    a = p.a
    speaker, addressee = numbered(["", *a.speaker])[1:], numbered(["", *a.speaker, *a.addressee])
    spoken_to = addressee[1 + p.n :]
    code = np.where(speaker[p.i] == speaker[p.j], 1, np.where(spoken_to[p.j] == speaker[p.i], 2, 3))
    code = np.where((spoken_to[p.i] == speaker[p.j]) & (code == 3), 6, code)
    code = np.where((speaker[p.i] == 0) | (speaker[p.j] == 0), 0, code)
    for number, said in ((4, a.speaker), (5, a.addressee)):
        known = sorted({s for s in said if s})
        if known:
            named = np.array([[bool(a.names[m] & _name(s)) for s in known] for m in range(p.n)])
            which = np.array([known.index(s) if s else -1 for s in said])
            hit = (which[p.i] >= 0) & named[p.j, which[p.i]] & (a.kind[p.j] == 1)
            code = np.where(hit, number, code)
    return code


def _name(speaker: str) -> set[str]:
    return set(speaker.replace("_", " ").replace("-", " ").split())


def _syntax(p: Pairs) -> Ints:
    """0 nothing, 1 apposition, 2 subject and predicate noun, 3 conjuncts, 4 same verb, 5 antecedent governs from above."""
    a = p.a
    bases = [r.split(":")[0] for r in a.relation]
    subject, conjunct, apposed = (
        np.array([b == name for b in bases], dtype=bool) for name in ("nsubj", "conj", "appos")
    )
    gi, gj, hi, hj = a.governor_at[p.i], a.governor_at[p.j], a.head[p.i], a.head[p.j]
    below = gi == hj
    code = np.where((gi == gj) & (gi >= 0), 4, np.where(below, 5, 0))
    code[(gj == hi) & subject[p.j]] = 2
    code[below & conjunct[p.i]] = 3
    code[below & apposed[p.i]] = 1
    return code


def _parallel(p: Pairs) -> Ints:
    relation, governor = numbered(p.a.relation), numbered(p.a.governor)
    same = relation[p.i] == relation[p.j]
    return same.astype(np.int64) + 2 * (governor[p.i] == governor[p.j])


def _modifiers(p: Pairs) -> Ints:
    """Whether the modifiers (adjectives, numbers, compounds) of mentions with one head differ."""
    table, size = _shared(p.a.modifiers)
    shared = table[p.i, p.j]
    code = 1 + (shared < size[p.i]) + 2 * (shared < size[p.j])
    return np.where(p.same_lemma, code, 0)


def _acronym(p: Pairs) -> Ints:
    a = p.a
    word, initials = numbered([*a.word, *a.initials]), np.array([len(x) > 1 for x in a.initials], dtype=bool)
    letters = word[p.n :]
    return ((word[p.i] == letters[p.j]) & initials[p.j]).astype(np.int64) + 2 * (
        (word[p.j] == letters[p.i]) & initials[p.i]
    )


def _roles(p: Pairs) -> Ints:
    near = np.minimum(p.gap, 2)
    return (near * 5 + p.a.role[p.i]) * 5 + p.a.role[p.j]


def _salience(p: Pairs) -> Ints:
    """How often the antecedent's text was named before the mention, and how near it is."""
    count = np.zeros(p.n, np.int64)
    seen: dict[int, int] = {}
    for k, t in enumerate(p.text.tolist()):
        seen[t] = seen.get(t, 0) + 1
        count[k] = seen[t]
    return np.minimum(count[p.j], 5) * 4 + np.minimum(p.gap, 3)


def _place(p: Pairs) -> Ints:
    """How near, in which role and behind how many others that fit the antecedent stands."""
    return ((np.minimum(p.gap, 3) * 5 + p.a.role[p.j]) * 4 + np.minimum(p.rank, 3)) * 2 + p.fits


def _clause(p: Pairs) -> Ints:
    """Inside a sentence: where in the tree the antecedent hangs, seen from the mention, and whether it is a subject.

    1 elsewhere, 2 on the same word, 3-5 on a word one, two, more steps above it, 6-7 the mention one, more steps above.
    """
    a = p.a
    above = np.full((p.n, max(map(len, a.clause), default=0) + 1), -2)
    for k, words in enumerate(a.clause):
        above[k, : len(words)] = words
    near = np.flatnonzero(p.gap == 0)
    i, j = p.i[near], p.j[near]

    def steps(x: Ints, y: Ints) -> Ints:
        """How far above x's head the word is that y hangs on; -1 if it is not."""
        hit = above[x] == a.governor_at[y][:, None]
        return np.where(hit.any(axis=1), hit.argmax(axis=1), -1)

    up, down = steps(i, j), steps(j, i)
    code = np.where(up >= 0, 2 + np.minimum(up, 3), np.where(down >= 0, 5 + np.minimum(down, 2), 1))
    made = np.zeros(len(p.i), np.int64)
    made[near] = 2 * code + (a.role[j] == 0)
    return made


def _names(p: Pairs) -> Ints:
    """How two names match by their parts; 13, 14 where only the mention, the antecedent has one."""
    a = p.a
    kinds = list(dict.fromkeys(a.name))
    table = np.array([[_name_match(u, v) for v in kinds] for u in kinds], dtype=np.int64)
    which = np.array([kinds.index(name) for name in a.name], dtype=np.int64)
    code = table[which[p.i], which[p.j]] if len(kinds) else np.zeros(0, np.int64)
    return np.where((a.kind[p.i] > 2) | (a.kind[p.j] > 2), 0, code)


def _name_match(u: tuple[str, ...], v: tuple[str, ...]) -> int:
    if not u or not v:
        return 13 if u else 14 if v else 0
    if u == v:
        return 1
    x, y = set(u), set(v)
    if x <= y or y <= x:
        return (2 if x <= y else 5) + (0 if u[-1] == v[-1] else 1 if u[0] == v[0] else 2)
    if x & y:
        return 8 if u[-1] == v[-1] else 9 if u[0] == v[0] else 10
    return 12 if len(u) > 1 and len(v) > 1 else 11


def _called(p: Pairs) -> Ints:
    """Whether a noun is what the other's name is called elsewhere, and whether the countries that they name agree."""
    named = np.array([bool(name) for name in p.a.name], dtype=bool)
    code = np.where(named[p.i] & named[p.j], 3, np.where(named[p.j], 1, 2))
    (roles, _), (nations, size) = _shared(p.a.roles), _shared(p.a.nation)
    code = np.where((roles[p.i, p.j] > 0) & (named[p.i] | named[p.j]), code, 0)
    both = (size[p.i] > 0) & (size[p.j] > 0)
    return code + np.where(both, np.where(nations[p.i, p.j] > 0, 4, 8), 0)


def _chain(p: Pairs) -> Ints:
    """How often the antecedent's name or noun came before the mention, whether it opens the document, and whether this is its last."""
    a = p.a
    longer = {n: max((o for o in a.name if set(n) <= set(o)), key=len) for n in set(a.name)}
    key = numbered(
        [" ".join(longer[n]) if n else t if k < 3 else "" for n, t, k in zip(a.name, a.lemma, a.kind, strict=True)]
    )
    pronoun = a.kind > 2
    # before[i, k]: mentions of antecedent k's key among those before i.
    same = (key[:, None] == key[None, :]) & ~pronoun[None, :] & ~pronoun[:, None]
    before = np.cumsum(same, axis=0) - same
    seen = before[p.i, p.j]
    last = before[p.i, p.j] == before[p.j, p.j] + 1
    opens = np.zeros(p.n, bool)
    opens[np.isin(key, key[(a.sentence < 2) & ~pronoun])] = True
    code = 1 + (np.searchsorted(CHAIN_STEPS, seen, side="right") * 2 + opens[p.j]) * 2 + last
    return np.where(pronoun[p.j], 0, code)


def _similar(p: Pairs) -> Ints:
    """How near the head words of two nouns or names are as word vectors; 0 where one has none, 1 for the same word."""
    v = word_vectors().of(p.a.lemma)
    v /= np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-9)
    near = (v @ v.T)[p.i, p.j]
    code = 2 + np.searchsorted(SIMILARITY_STEPS, near, side="right")
    blank = ~v.any(axis=1) | (p.a.kind > 2)
    return np.where(blank[p.i] | blank[p.j], 0, np.where(p.same_lemma, 1, code))


RELATIONS: dict[str, Callable[[Pairs], NDArray[np.integer]]] = {
    "mention-distance": lambda p: np.searchsorted(MENTION_STEPS, p.i - p.j, side="right"),
    "sentence-distance": lambda p: np.searchsorted(SENTENCE_STEPS, p.gap, side="right"),
    "exact-match": lambda p: (p.text[p.i] == p.text[p.j]).astype(np.int64) + (p.full[p.i] == p.full[p.j]),
    "head-match": lambda p: p.same_lemma.astype(np.int64) + (p.same_lemma & (p.word[p.i] == p.word[p.j])),
    "word-overlap": _overlap,
    "head-inside": _head_inside,
    "nesting": lambda p: p.nested,
    "gender": lambda p: p.gender,
    "number": lambda p: p.number,
    "speaker": _speaker,
    "rank": lambda p: np.searchsorted(RANK_STEPS, p.rank, side="right") + 10 * p.fits,
    "head-rank": lambda p: np.where(p.same_lemma, 1 + np.minimum(p.ranked(p.same_lemma), 3), 0),
    "syntax": _syntax,
    "parallel": _parallel,
    "modifiers": _modifiers,
    "acronym": _acronym,
    "roles": _roles,
    "salience": _salience,
    "place": _place,
    "clause": _clause,
    "names": _names,
    "called": _called,
    "chain": _chain,
    "similar": _similar,
}


def relation_codes(a: Attributes, names: Sequence[str]) -> Codes:
    """Codes of the named templates for every pair j < i, shape (pairs, templates)."""
    p = Pairs(a)
    made = np.empty((len(p.i), len(names)), np.uint8)
    for k, name in enumerate(names):
        made[:, k] = RELATIONS[name](p)
    return made
