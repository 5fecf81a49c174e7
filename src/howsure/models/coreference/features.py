"""Coreference features after Durrett & Klein (2013): named templates, hashed.

Three kinds of templates, each by name and switchable:
- of a mention (its head, words around it, length, …): for starting an entity, for being linked, for being linked to;
- relations of two mentions (distance, matches, agreement, …), small codes from `relations.py`;
- crosses of a mention template of the one with a mention template of the other.
Each feature counts bare, with the mention's kind, and with the kinds of both; a pronoun is a kind of its own.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.corpora.document import Document, Mention
from howsure.data.vectors import word_vectors
from howsure.kernels.cells import Ints
from howsure.kernels.coreference.ranking import K1, SALT, index
from howsure.models.coreference.attributes import Attributes, attributes
from howsure.models.coreference.network import ROW_BITS
from howsure.models.coreference.relations import RELATIONS, relation_codes

NEAR = 3  # words to each side of a phrase
DIMENSIONS = 500  # five word vectors
LENGTHS = np.array([1, 2, 3, 4, 5, 7, 10, 15])
SMALL_TEMPLATES = (
    *("determiner", "relation", "tag", "noun", "agreement"),
    *("length", "seen", "position", "nested", "inside"),
)
# Each names two mention templates, or one twice.
_CROSSED = """heads governor-head head-governor governors determiners relations tags agreements nouns clusters
    deed-noun noun-deed"""
CROSSES = {c: c.split("-") if "-" in c else [c[:-1]] * 2 for c in _CROSSED.split()}


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates in use: mention and relation names, and crosses as columns of the mention templates."""

    mention: tuple[str, ...]
    relation: tuple[str, ...]
    cross: tuple[str, ...]

    @property
    def known(self) -> bool:
        """Whether all of them are templates."""
        crossed = {name for c in self.cross for name in CROSSES.get(c, ("",))}
        return {*self.mention} <= {*MENTION} and {*self.relation} <= {*RELATIONS} and crossed <= {*self.mention}

    @property
    def crossed(self) -> NDArray[np.int64]:
        """Columns (of the mention, of the antecedent) of each cross."""
        at = {name: k for k, name in enumerate(self.mention)}
        return np.array([[at[name] for name in CROSSES[c]] for c in self.cross], dtype=np.int64).reshape(-1, 2)


def templates(without: Iterable[str] = ()) -> Templates:
    """All templates but those named; a cross needs both its mention templates."""
    dropped = set(without)
    for name in dropped:
        _validate.known(name, TEMPLATES, f"there is no feature template {name!r}")
    mention = tuple(t for t in MENTION if t not in dropped)
    crosses = tuple(c for c, (a, b) in CROSSES.items() if c not in dropped and a in mention and b in mention)
    return Templates(mention, tuple(r for r in RELATIONS if r not in dropped), crosses)


@dataclass(frozen=True, slots=True)
class Features:
    """A document's features: kinds (N,), mention values (N, mention templates), relation codes (pairs, relations); for the
    network, word vectors and rows.

    Pair (i, j), j < i, is row i(i-1)/2 + j.
    """

    kind: NDArray[np.uint8]
    values: NDArray[np.uint64]
    codes: NDArray[np.uint8]
    attributes: Attributes
    vectors: NDArray[np.float16]  # (N, 5 word vectors): head, phrase, governor, words before and after
    rows: NDArray[np.int64]  # (N, small templates and kind): rows of the network

    def __len__(self) -> int:
        return len(self.kind)


def vocabulary(documents: Iterable[Document], least: int) -> frozenset[str]:
    """Words and lemmas that occur at least so often: rarer ones are known by their part of speech."""
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(w.lower() for w in document.words)
        if "lemma" in document.columns:
            counts.update(w.lower() for w in document.columns["lemma"])
    return frozenset(w for w, c in counts.items() if c >= least)


def features(
    document: Document, mentions: Sequence[Mention], known: frozenset[str], used: Templates, first: int | None = None
) -> Features:
    """The features of a document's mentions, which must be in document order; of the `first` ones only, if given."""
    a = attributes(document, mentions)
    tags = document.columns.get("xpos") or document.columns.get("upos") or ("_",) * len(document)

    def word(values: Sequence[str], at: Ints) -> list[str]:
        places = zip(values, at.tolist(), strict=True)
        return [v if v in known else f"<{tags[k]}>" if 0 <= k < len(tags) else "<>" for v, k in places]

    values = np.array([[_hashed(v) for v in MENTION[name](a, word)] for name in used.mention], dtype=np.uint64)
    values = np.ascontiguousarray(values.reshape(len(used.mention), len(a)).T)
    small = [used.mention.index(t) for t in SMALL_TEMPLATES if t in used.mention]
    with np.errstate(over="ignore"):
        kinds = (a.kind.astype(np.uint64) + np.uint64(1)) * np.uint64(K1)
        salts = np.arange(len(small) + 1, dtype=np.uint64) * np.uint64(SALT)
        salted = np.column_stack([values[:, small], kinds]) + salts
    vectors = _vectors(document, a).astype(np.float16)
    rows = index(salted, 64 - ROW_BITS)
    n, a = first, a.upto(len(a) if first is None else first)
    return Features(a.kind, values[:n], relation_codes(a, used.relation), a, vectors[:n], rows[:n])


def _vectors(document: Document, a: Attributes) -> NDArray[np.float32]:
    """Word vectors of length one: of the head and of its governor; means over the phrase and three words to each side."""
    table = word_vectors()

    def of(words: Sequence[str]) -> NDArray[np.float32]:
        made = table.of(words)
        return made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), np.float32(1e-9))

    summed = np.cumsum(np.vstack([np.zeros((1, table.matrix.shape[1])), of(document.words)]), axis=0)

    def mean(start: Ints, end: Ints) -> NDArray[np.float64]:
        return (summed[end] - summed[start]) / np.maximum(end - start, 1)[:, None]

    first, last = document.starts[a.sentence], document.starts[a.sentence + 1]
    before, after = mean(np.maximum(a.start - NEAR, first), a.start), mean(a.end, np.minimum(a.end + NEAR, last))
    return np.hstack([of(a.lemma), mean(a.start, a.end), of(a.governor), before, after]).astype(np.float32)


@lru_cache(maxsize=1 << 17)
def _hashed(value: str) -> int:
    return int.from_bytes(hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@lru_cache(maxsize=1 << 17)
def _cluster(word: str) -> str:
    """The cluster of word vectors that a word is nearest to; "" without a vector."""
    (vector,) = word_vectors().of([word])
    return str(int(np.argmax(word_clusters() @ vector))) if vector.any() else ""


@cache
def word_clusters() -> NDArray[np.float32]:
    """Centres of clusters of word vectors, of length one; shape (clusters, dimensions)."""
    made = np.load(str(files("howsure.data") / "clusters.npy"), allow_pickle=False).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def _seen(a: Attributes) -> list[str]:
    """Whether an earlier mention had this text or this head, and how often."""
    made, texts, heads = [], Counter[str](), Counter[str]()
    names: set[str] = set()
    for text, lemma, content in zip(a.text, a.lemma, a.content, strict=True):
        made.append(f"{min(texts[text], 3)}/{min(heads[lemma], 3)}/{lemma in names}")
        texts[text] += 1
        heads[lemma] += 1
        names |= content
    return made


def _positions(a: Attributes) -> list[str]:
    """Place in the sentence among its mentions, and whether the document has just begun."""
    first = np.searchsorted(a.sentence, a.sentence, side="left")
    order = np.arange(len(a)) - first
    return [f"{min(o, 3)}/{min(s, 2)}" for o, s in zip(order.tolist(), a.sentence.tolist(), strict=True)]


def _nested(a: Attributes) -> list[str]:
    """Inside another mention, holding another, sharing its head with a longer or a shorter one."""
    reach = np.maximum.accumulate(a.end)
    inside, holds = np.zeros(len(a), bool), np.zeros(len(a), bool)
    inside[1:], holds[:-1] = a.end[1:] <= reach[:-1], a.start[1:] < a.end[:-1]
    size, (_, which) = a.end - a.start, np.unique(a.head, return_inverse=True)
    longest, shortest = np.zeros(len(a), np.int64), np.full(len(a), len(a.kind) and size.max())
    np.maximum.at(longest, which, size)
    np.minimum.at(shortest, which, size)
    flags = np.column_stack([inside, holds, size < longest[which], size > shortest[which]]).astype(int).tolist()
    return ["".join(map(str, row)) for row in flags]


def _joined(*columns: Iterable[str]) -> list[str]:
    return ["/".join(values) for values in zip(*columns, strict=True)]


def _bases(a: Attributes) -> Iterable[str]:
    return (r.split(":")[0] for r in a.relation)


Known = Callable[[Sequence[str], Ints], list[str]]  # words at tokens, those that are rare by their part of speech
MENTION: dict[str, Callable[[Attributes, Known], Iterable[str]]] = {
    "head": lambda a, word: word(a.lemma, a.head),
    "first": lambda a, word: word(a.first, a.start),
    "last": lambda a, word: word(a.last, a.end - 1),
    "before": lambda a, word: word(a.before, a.start - 1),
    "after": lambda a, word: word(a.after, a.end),
    "length": lambda a, _: map(str, np.searchsorted(LENGTHS, a.end - a.start, side="right").tolist()),
    "relation": lambda a, _: a.relation,
    "governor": lambda a, word: _joined(word(a.governor, a.governor_at), _bases(a)),
    "determiner": lambda a, _: a.determiner,
    "agreement": lambda a, _: _joined(a.gender, a.number, a.person),
    "tag": lambda a, _: a.tag,
    "seen": lambda a, _: _seen(a),
    "position": lambda a, _: _positions(a),
    "nested": lambda a, _: _nested(a),
    "inside": lambda a, _: a.inside,
    "noun": lambda a, _: [n or f"<{t}>" for n, t in zip(a.noun, a.tag, strict=True)],
    "cluster": lambda a, _: map(_cluster, a.lemma),
    "deed": lambda a, _: _joined(map(_cluster, a.governor), _bases(a)),
}
TEMPLATES = (*MENTION, *RELATIONS, *CROSSES)
