"""A tag dictionary: which tags other, tagged text gives a word. A help where training text is short, as of tweets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence


def tag_lexicon(words: Sequence[str], tags: Sequence[str], *, share: float = 0.1) -> dict[str, str]:
    """For each word in small letters, its tags that have `share` of its uses or more, as one class.

    >>> tag_lexicon(["Run", "run", "a"], ["VB", "NN", "DT"])
    {'run': 'NN/VB', 'a': 'DT'}
    """
    count: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for word, tag in zip(words, tags, strict=True):
        count[word.lower()][tag] += 1
    return {w: "/".join(sorted(t for t, n in seen.items() if n >= share * seen.total())) for w, seen in count.items()}
