"""Feature templates of the CRF, each with a name, so that leaving one out is one flag.

A template is a few columns; a column gives each token one feature or none. Columns look at a word's own form at some
offset, or join two such forms. Forms are computed once per distinct word, features looked up once per distinct value:
there is no Python loop over tokens beyond numbering the words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.data.vectors import word_classes
from howsure.errors import InputError
from howsure.kernels.cells import Ints
from howsure.kernels.ragged import offsets, picked

_RUN = re.compile(r"(.)\1{2,}")
_EMOTICON = re.compile(
    r"^[<>]?[:;=8xX][\-o*'^]?[()\[\]dDpPoO/\\|@3*]+$|^[()\[\]dD/\\|]+[\-o*'^]?[:;=]$|^<3+$|^[oO^T\-][_.]+[oO^T\-]$|^\^\^$"
)
_URL = re.compile(r"^(https?:|www\.|bit\.ly|.*\.(com|org|net|ly|edu|gov)(/|$))", re.IGNORECASE)


def shape(word: str, longest: int = 4) -> str:
    """Capitals X, small letters x, digits d, the rest as it is; runs of one kind cut to `longest` at most.

    >>> shape("McDonald's"), shape("1988-90"), shape("AT&T")
    ("XxXxxxx'x", 'dddd-dd', 'XX&X')
    """
    made: list[str] = []
    for ch in word:
        kind = "X" if ch.isupper() else "x" if ch.isalpha() else "d" if ch.isdigit() else ch
        if len(made) < longest or made[-longest:] != [kind] * longest:
            made.append(kind)
    return "".join(made)


def short_shape(word: str) -> str:
    """The shape with every run cut to one.

    >>> short_shape("McDonald's")
    "XxXx'x"
    """
    return shape(word, 1)


def plain(word: str) -> str:
    """Small letters, digits as 0; three or more of one character as two.

    >>> plain("Sooooo"), plain("1995")
    ('soo', '00')
    """
    return _RUN.sub(r"\1\1", re.sub(r"\d", "0", word.lower()))


def mark(word: str) -> str:
    """What kind of token it is by its marks: "@", "#", "url", "rt", "smile", "number", "punct", "" for none.

    >>> [mark(w) for w in ("@jo", "#fail", "http://x.y/z", ":-)", "RT", "3,000", "...", "word")]
    ['@', '#', 'url', 'smile', 'rt', 'number', 'punct', '']
    """
    if len(word) > 1 and word[0] == "@" and (word[1].isalnum() or word[1] == "_"):
        return "@"
    if len(word) > 1 and word[0] == "#" and word[1].isalnum():
        return "#"
    if _URL.match(word):
        return "url"
    if _EMOTICON.match(word):
        return "smile"
    if word.lower() == "rt":
        return "rt"
    if any(ch.isdigit() for ch in word) and not any(ch.isalpha() for ch in word):
        return "number"
    if word and not any(ch.isalnum() for ch in word):
        return "punct"
    return ""


def unknown_class(word: str) -> str:
    """The class of a rare word: its marks and short shape, and for words of letters the last three.

    >>> unknown_class("unsurprisingly"), unknown_class("Ouagadougou"), unknown_class("1,234")
    ('x gly', 'Xx gou', 'd,d')
    """
    looks = mark(word)
    if looks in ("@", "#", "url", "smile"):
        return looks
    form = short_shape(word)[:6]
    return f"{form} {word[-3:].lower()}" if word[-1:].isalpha() and len(word) > 3 else form


@cache
def vector_class(word: str) -> str:
    """The word's class by its vector, also where it is drawn out or a hashtag; "" if it has none."""
    known, lower = word_classes(), word.lower()
    forms = (lower, plain(word), re.sub(r"(.)\1+", r"\1", lower), lower.lstrip("#@"))
    return next((known[form] for form in forms if form in known), "")


Form = Callable[[str], str]  # "" is no feature


FORMS: dict[str, Form] = {
    "word": lambda w: w,
    "lower": lambda w: w.lower(),
    "plain": plain,
    "shape": shape,
    "short": short_shape,
    "mark": mark,
    "class": unknown_class,
    "length": lambda w: str(min(len(w), 15)),
    "capital": lambda w: "1" if w[:1].isupper() else "0",
    "hyphen": lambda w: "1" if "-" in w[1:-1] else "",
    "always": lambda w: "1",
    **{f"prefix{n}": lambda w, n=n: w[:n].lower() if len(w) > n else "" for n in range(1, 6)},  # type: ignore[misc]
    **{f"suffix{n}": lambda w, n=n: w[-n:].lower() if len(w) > n else "" for n in range(1, 6)},  # type: ignore[misc]
    **{f"vector{n}": lambda w, n=n: vector_class(w)[:n] for n in range(4, 13, 2)},  # type: ignore[misc]
}


# Of each template its columns: forms at offsets, joined. `lower[-1]|lower` is the word before and the word.
_TEMPLATES = {
    "word": "word",
    "lower": "lower plain",
    "around": "lower[-2] lower[-1] lower[+1] lower[+2] lower[-1]|lower lower|lower[+1] lower[-1]|lower[+1]",
    "shape": "shape short short[-1] short[+1] mark capital|capital[-1] hyphen mark[-1] mark[+1]",
    "length": "length",
    "prefixes": "prefix1 prefix2 prefix3 prefix4",
    "suffixes": "suffix1 suffix2 suffix3 suffix4 suffix5 suffix3[-1] suffix3[+1] suffix2|capital",
    "bias": "always",
    "class": "class",
    "lexicon": "lexicon lexicon[-1] lexicon[+1] lexicon|capital lexicon[-1]|lexicon lexicon|lexicon[+1]",
    "vectors": "vector4 vector6 vector8 vector10 vector12",
}
TEMPLATES = {name: tuple(columns.split()) for name, columns in _TEMPLATES.items()}

SETS = {"basic": ("word",), "advanced": tuple(t for t in TEMPLATES if t not in ("class", "lexicon", "vectors"))}


def chosen_templates(names: str | Sequence[str]) -> tuple[str, ...]:
    """Templates by name: "basic", "advanced", or comma-separated names; "advanced-shape" leaves one out."""
    asked = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
    made: list[str] = []
    for name in asked:
        keep, *without = name.split("-")
        for one in (keep, *without):
            _validate.one_of(one, [*SETS, *TEMPLATES], "there are no features `{}`.")
        left_out = {t for w in without for t in SETS.get(w, (w,))}
        made += [t for t in SETS.get(keep, (keep,)) if t not in left_out]
    if not made:
        raise InputError("no features are left.")
    return tuple(dict.fromkeys(made))


@dataclass(frozen=True, slots=True)
class TokenFeatures:
    """Feature numbers of each token: those of token t are `ids[ptr[t] : ptr[t + 1]]`."""

    ptr: Ints
    ids: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def sentences(self, starts: Ints, chosen: Ints) -> tuple[TokenFeatures, Ints]:
        """Of some sentences only, with their new starts."""
        new_starts, tokens = picked(starts, chosen)
        ptr, at = picked(self.ptr, tokens)
        return TokenFeatures(ptr, self.ids[at]), new_starts


class FeatureTable:
    """Numbers features by name; grows while it learns, afterwards unknown features have none."""

    def __init__(self, names: Iterable[str] = (), lexicon: dict[str, str] | None = None) -> None:
        self.index: dict[str, int] = {n: i for i, n in enumerate(names)}
        self.lexicon = lexicon or {}

    def __len__(self) -> int:
        return len(self.index)

    @property
    def names(self) -> list[str]:
        """The features in order of their number."""
        return list(self.index)

    def extract(
        self, words: Sequence[str], starts: Ints, templates: Sequence[str], *, learn: bool = False
    ) -> TokenFeatures:
        """Features of the tokens of sentences that begin at `starts`."""
        seen: dict[str, int] = {}
        types = np.array([seen.setdefault(w, len(seen)) for w in words], np.int64)
        forms = _Forms(list(seen), types, starts, self.lexicon)
        made = np.stack([self._numbers(forms, c, learn) for t in templates for c in TEMPLATES[t]], axis=1)
        kept = made >= 0
        return TokenFeatures(offsets(kept.sum(axis=1)), made[kept])

    def _numbers(self, forms: _Forms, column: str, learn: bool) -> NDArray[np.int32]:
        (values, code), *others = (forms.column(*part) for part in re.findall(r"(\w+)(?:\[(.\d)\])?", column))
        for more, other in others:
            joined = np.where((code < 0) | (other < 0), -1, code * len(more) + other)
            distinct, code = np.unique(joined, return_inverse=True)
            pairs = zip(distinct, *np.divmod(distinct, len(more)), strict=True)
            values = ["" if d < 0 else f"{values[a]}|{more[b]}" for d, a, b in pairs]
        numbers = np.full(len(values) + 1, -1, np.int32)  # the last is that of code -1
        for v in np.unique(code[code >= 0]).tolist():
            if values[v]:
                name = f"{column}={values[v]}"
                numbers[v] = self.index.setdefault(name, len(self.index)) if learn else self.index.get(name, -1)
        return numbers[code]


class _Forms:
    """Forms of distinct words, and which each token has at an offset. Values 0 and 1 are before and behind a sentence."""

    def __init__(self, words: list[str], types: Ints, starts: Ints, lexicon: dict[str, str]) -> None:
        self._words, self._types = words, types
        self._forms = FORMS | {"lexicon": lambda w: lexicon.get(w.lower()) or lexicon.get(plain(w)) or ""}
        self._made: dict[str, tuple[list[str], Ints]] = {}
        lengths = np.diff(starts)
        self._first, self._last = np.repeat(starts[:-1], lengths), np.repeat(starts[1:], lengths)

    def column(self, form: str, offset: str) -> tuple[list[str], Ints]:
        """The distinct values of a form, and which there is at each token + offset; -1 where the word there has none."""
        if form not in self._made:
            place: dict[str, int] = {"<s>": 0, "</s>": 1}
            values = map(self._forms[form], self._words)
            codes = [place.setdefault(value, len(place)) if value else -1 for value in values]
            self._made[form] = (list(place), np.array(codes, np.int64))
        names, per_type = self._made[form]
        at = np.arange(len(self._types)) + int(offset or 0)
        code = per_type[self._types[np.clip(at, 0, len(self._types) - 1)]]
        return names, np.where(at < self._first, 0, np.where(at >= self._last, 1, code))


def tag_lexicon(words: Sequence[str], tags: Sequence[str], *, share: float = 0.1) -> dict[str, str]:
    """For each word in small letters, its tags that have `share` of its uses or more, as one class.

    >>> tag_lexicon(["Run", "run", "a"], ["VB", "NN", "DT"])
    {'run': 'NN/VB', 'a': 'DT'}
    """
    count: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for word, tag in zip(words, tags, strict=True):
        count[word.lower()][tag] += 1
    return {w: "/".join(sorted(t for t, n in seen.items() if n >= share * seen.total())) for w, seen in count.items()}
