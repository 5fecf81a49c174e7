"""Words: which ones the model met in training, and lemmas from a word and its Penn tag."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

# A note is due when more than half of at least 20 words of letters are unknown.
MOST_UNKNOWN, LEAST_WORDS = 0.5, 20


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Hashes of words in lower case."""

    hashes: frozenset[int]

    def __contains__(self, word: str) -> bool:
        return _hash(word) in self.hashes

    def to_array(self) -> np.ndarray:
        return np.array(sorted(self.hashes), dtype=np.uint32)

    @classmethod
    def of(cls, words: Iterable[str]) -> Vocabulary:
        return cls(frozenset(_hash(w) for w in words))

    @classmethod
    def from_array(cls, hashes: np.ndarray) -> Vocabulary:
        return cls(frozenset(hashes.tolist()))

    def unknown_share(self, words: Iterable[str]) -> float | None:
        """The share of words of letters that training never met; None where there are too few words to tell.

        >>> Vocabulary.of(["yes"]).unknown_share(["Yes", "nyet", "."] * 20)
        0.5
        """
        letters = [w for w in words if w.isalpha()]
        if len(letters) < LEAST_WORDS:
            return None
        return sum(w not in self for w in letters) / len(letters)


def _hash(word: str) -> int:
    return crc32(word.lower().encode("utf-8", "surrogatepass"))


LONGEST_ENDING = 6
LEAST_SEEN = 2

# These keep their case: a proper noun is its own lemma, or that of its singular.
NAMES = frozenset({"NNP", "NNPS", "ADD", "GW", "FW", "LS"})


@dataclass(frozen=True, slots=True)
class Lemmatiser:
    """`exact` knows words as written, `folded` in lower case; `endings` says, by tag and ending, what to cut and add.

    Of the lemmas that a word's endings offer, one that is a word of the training data goes first: "bombed" is from
    "bomb" although "grabbed" is from "grab".
    """

    exact: dict[str, dict[str, str]]
    folded: dict[str, dict[str, str]]
    endings: dict[str, dict[str, tuple[int, str]]]
    known: Vocabulary

    def lemma(self, word: str, tag: str) -> str:
        """The lemma of one word.

        >>> Lemmatiser({}, {"VBD": {"went": "go"}}, {}, Vocabulary.of([])).lemma("WENT", "VBD")
        'go'
        """
        found = self.exact.get(tag, {}).get(word)
        if found is not None:
            return found
        folded = word.lower()
        found = self.folded.get(tag, {}).get(folded)
        return found if found is not None else _by_ending(self.endings.get(tag, {}), _base(word, tag), self.known)

    def to_dict(self) -> dict[str, Any]:
        return {"exact": self.exact, "folded": self.folded, "endings": self.endings}

    @classmethod
    def from_dict(cls, kept: dict[str, Any], known: Vocabulary) -> Lemmatiser:
        endings = {
            tag: {e: (int(cut), str(add)) for e, (cut, add) in rules.items()} for tag, rules in kept["endings"].items()
        }
        return cls(kept["exact"], kept["folded"], endings, known)


def learnt_lemmatiser(triples: Iterable[tuple[str, str, str]], known: Vocabulary) -> Lemmatiser:
    """Learns from (word, tag, lemma): the endings first, then a table of what they get wrong."""
    seen: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for word, tag, lemma in triples:
        if lemma != "_" or word == "_":
            seen[word, tag][lemma] += 1
    votes: dict[str, dict[str, Counter[tuple[int, str]]]] = defaultdict(lambda: defaultdict(Counter))
    for (word, tag), lemmas in seen.items():
        base = _base(word, tag)
        change = _change(base, lemmas.most_common(1)[0][0])
        if change is None:
            continue
        for size in range(LONGEST_ENDING + 1):
            if change[0] <= size < len(base):
                votes[tag][base[len(base) - size :]][change] += 1
    endings = {tag: _pruned(rules) for tag, rules in votes.items()}
    folded_seen: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for (word, tag), lemmas in seen.items():
        folded_seen[word.lower(), tag].update(lemmas)
    folded: dict[str, dict[str, str]] = defaultdict(dict)
    for (word, tag), lemmas in folded_seen.items():
        best = lemmas.most_common(1)[0][0]
        if tag not in NAMES and best == best.lower() and best != _by_ending(endings.get(tag, {}), word, known):
            folded[tag][word] = best
    exact: dict[str, dict[str, str]] = defaultdict(dict)
    so_far = Lemmatiser({}, folded, endings, known)
    for (word, tag), lemmas in seen.items():
        best, times = lemmas.most_common(1)[0]
        if times >= LEAST_SEEN and best != so_far.lemma(word, tag):
            exact[tag][word] = best
    return Lemmatiser(dict(exact), dict(folded), endings, known)


def _base(word: str, tag: str) -> str:
    return word if tag in NAMES else word.lower()


def _change(base: str, lemma: str) -> tuple[int, str] | None:
    """How many characters to cut and what to add; nothing where the words share no beginning."""
    shared = 0
    while shared < min(len(base), len(lemma)) and base[shared] == lemma[shared]:
        shared += 1
    return (len(base) - shared, lemma[shared:]) if shared else None


def _by_ending(rules: dict[str, tuple[int, str]], base: str, known: Vocabulary) -> str:
    """What the longest ending says, unless only what a shorter one says is a known word."""
    first = None
    for size in range(min(LONGEST_ENDING, len(base) - 1), -1, -1):
        rule = rules.get(base[len(base) - size :])
        if rule is not None:
            cut, add = rule
            made = base[: len(base) - cut] + add
            if made in known:
                return made
            first = first or made
    return first or base


def _pruned(votes: dict[str, Counter[tuple[int, str]]]) -> dict[str, tuple[int, str]]:
    """An ending keeps its commonest change where a shorter ending would not say the same."""
    kept: dict[str, tuple[int, str]] = {}
    for ending in sorted(votes, key=len):
        change, times = votes[ending].most_common(1)[0]
        if times >= LEAST_SEEN and (shorter := _rule(kept, ending)) != change and (times > 2 or shorter is None):
            kept[ending] = change
    return kept


def _rule(kept: dict[str, tuple[int, str]], ending: str) -> tuple[int, str] | None:
    for at in range(1, len(ending) + 1):
        if ending[at:] in kept:
            return kept[ending[at:]]
    return None
