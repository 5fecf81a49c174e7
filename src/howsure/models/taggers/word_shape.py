"""What a word looks like, for words never seen: shape, ending, and a few marks of tweets and of the web."""

from __future__ import annotations

import re

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
