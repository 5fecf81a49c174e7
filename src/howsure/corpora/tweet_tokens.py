"""Words of tweets: emoticons, hashtags, mentions, addresses and elongated words stay whole."""

import html
import re
from collections.abc import Iterable

_NOSE = r"[-'^o]?"
_MOUTH = r"(?:[)\]}D>*3pPbdcC]+|[(\[{</\\|@$]+|[oO0])"
EMOTICON = (
    rf"(?:[>}}]?[:;=]|(?<![0-9A-Za-z])[8xX])['’]?{_NOSE}{_MOUTH}(?![0-9A-Za-z])"  # :-)  ;P  :'(  xD
    rf"|(?<![0-9A-Za-z])[)(\]\[Dd]{_NOSE}[:;=8](?![0-9A-Za-z/])"  # (-:  D:
    r"|<+/?3+(?![0-9])"  # hearts, whole and broken
    r"|(?<![0-9A-Za-z])[oO0^><TtuUvV.\-~;*=]_+[oO0^><TtuUvV.\-~;*=](?![0-9A-Za-z])"  # ^_^  o_O  T_T
    r"|\^\^+"
)
_ADDRESS = r"(?:https?://|www\.)[^\s<>\"]*[^\s<>\".,;:!?')\]}]|\b[a-z0-9][a-z0-9.-]*\.(?:com|org|net|edu|gov|co\.uk|ly)\b(?:/[^\s<>\"]*[^\s<>\".,;:!?')\]}])?"
_MAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
TOKEN = re.compile(
    rf"""(?P<mail>{_MAIL})
    |(?P<address>{_ADDRESS})
    |(?P<emoticon>{EMOTICON})
    |(?P<mention>@\w+)
    |(?P<hashtag>[#＃]\w+)
    |(?P<number>[$£€]?\d+(?:[.,:/-]\d+)*(?:%|(?:st|nd|rd|th|am|pm|s)\b)?)
    |(?P<abbreviation>(?:[A-Za-z]\.){{2,}})
    |(?P<word>[^\W\d_]\w*(?:['’`&*-]\w+)*)
    |(?P<arrow>[<>]?[-=~]+[<>]|[<>][-=~]+)
    |(?P<marks>(?P<mark>[^\w\s])(?P=mark)*)
    |(?P<other>\S)""",
    re.VERBOSE | re.IGNORECASE,
)
_RUN = re.compile(r"(\w)\1{3,}")
HAPPY = re.compile(r":-?\)+(?![0-9A-Za-z])")


def tweet_tokens(text: str) -> list[str]:
    """The tokens of a tweet in order; together they are all of it but the spaces.

    >>> tweet_tokens("sooooo happy :-) @anna's #monday http://t.co/x1!!! it's 5:30pm <3")
    ['sooooo', 'happy', ':-)', '@anna', "'", 's', '#monday', 'http://t.co/x1', '!!!', "it's", '5:30pm', '<3']
    """
    return [match[0] for match in TOKEN.finditer(text)]


def tweet_features(text: str) -> list[str]:
    """Tokens as a classifier wants them: in lower case, entities of HTML resolved, long runs of a letter cut to three,
    every mention and address under one name.

    >>> tweet_features("@anna SOOOOO good!! www.x.org/a &lt;3")
    ['@someone', 'sooo', 'good', '!!', '<address>', '<3']
    """
    return [_NAMES.get(str(m.lastgroup), "") or _plain(m[0], m.lastgroup) for m in TOKEN.finditer(html.unescape(text))]


_NAMES = {"mention": "@someone", "address": "<address>", "mail": "<mail>"}


def _plain(token: str, kind: str | None) -> str:
    return token if kind == "emoticon" else _RUN.sub(r"\1\1\1", token.lower())


def word_features(text: str) -> list[str]:
    """Words in lower case and single marks: for text that is not tweets.

    >>> word_features("It's 5 o'clock.")
    ["it's", '5', "o'clock", '.']
    """
    return _WORD.findall(text.lower())


_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")

TOKENIZERS = {"tweets": tweet_features, "words": word_features}


def labelled_by_emoticons(texts: Iterable[str]) -> tuple[list[int], list[str]]:
    """The emoticon trick (Read 2005): 1 where a tweet smiles with ":)" or ":-)", and the text without the smiley.

    >>> labelled_by_emoticons(["home at last :)", "home at last", "note:)x"])
    ([1, 0, 0], ['home at last', 'home at last', 'note:)x'])
    """
    labels, stripped = [], []
    for text in texts:
        bare, count = HAPPY.subn(" ", text)
        labels.append(int(count > 0))
        stripped.append(" ".join(bare.split()) if count else text)
    return labels, stripped
