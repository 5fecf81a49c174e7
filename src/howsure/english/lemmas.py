"""Words: which ones the model met in training, and lemmas from a word and its Penn tag."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self
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
    def of(cls, words: Iterable[str]) -> Self:
        return cls(frozenset(_hash(w) for w in words))

    @classmethod
    def from_array(cls, hashes: np.ndarray) -> Self:
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
        found = self.folded.get(tag, {}).get(word.lower())
        return found if found is not None else by_ending(self.endings.get(tag, {}), base_of(word, tag), self.known)

    def to_dict(self) -> dict[str, Any]:
        return {"exact": self.exact, "folded": self.folded, "endings": self.endings}

    @classmethod
    def from_dict(cls, kept: dict[str, Any], known: Vocabulary) -> Self:
        endings = {
            tag: {e: (int(cut), str(add)) for e, (cut, add) in rules.items()} for tag, rules in kept["endings"].items()
        }
        return cls(kept["exact"], kept["folded"], endings, known)


def base_of(word: str, tag: str) -> str:
    return word if tag in NAMES else word.lower()


def by_ending(rules: dict[str, tuple[int, str]], base: str, known: Vocabulary) -> str:
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
