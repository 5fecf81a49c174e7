"""Learns the lemmas of the English pipeline from a treebank."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from howsure.english.lemmas import LONGEST_ENDING, NAMES, Lemmatiser, Vocabulary, base_of, by_ending

LEAST_SEEN = 2


def learnt_lemmatiser(triples: Iterable[tuple[str, str, str]], known: Vocabulary) -> Lemmatiser:
    """Learns from (word, tag, lemma): the endings first, then a table of what they get wrong."""
    seen: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for word, tag, lemma in triples:
        if lemma != "_" or word == "_":
            seen[word, tag][lemma] += 1
    votes: dict[str, dict[str, Counter[tuple[int, str]]]] = defaultdict(lambda: defaultdict(Counter))
    for (word, tag), lemmas in seen.items():
        base = base_of(word, tag)
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
        if tag not in NAMES and best == best.lower() and best != by_ending(endings.get(tag, {}), word, known):
            folded[tag][word] = best
    exact: dict[str, dict[str, str]] = defaultdict(dict)
    so_far = Lemmatiser({}, folded, endings, known)
    for (word, tag), lemmas in seen.items():
        best, times = lemmas.most_common(1)[0]
        if times >= LEAST_SEEN and best != so_far.lemma(word, tag):
            exact[tag][word] = best
    return Lemmatiser(dict(exact), dict(folded), endings, known)


def _change(base: str, lemma: str) -> tuple[int, str] | None:
    """How many characters to cut and what to add; nothing where the words share no beginning."""
    shared = 0
    while shared < min(len(base), len(lemma)) and base[shared] == lemma[shared]:
        shared += 1
    return (len(base) - shared, lemma[shared:]) if shared else None


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
