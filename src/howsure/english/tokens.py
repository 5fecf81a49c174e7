"""Words of raw English text, cut as the treebanks cut them: spaCy's tokeniser with rules of our own beside its own.

`pieces` cuts a text of any length into stretches short enough for a parser; `tokens` cuts a stretch into words. Nothing
is lost: words and white space, in order, are the text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from howsure.corpora.document import Document

LONGEST_PIECE = 20_000
MOST_REMEMBERED = 100_000  # words
RULES = 1  # raise when the rules change: cached parses are then ignored

# Prefixes that the treebanks leave joined to their word: "non-trivial" is one word, "well-known" three.
JOINED = "anti co counter cross e ex inter intra mid micro mini multi non over post pre pro psycho re semi socio sub ultra un"
ONE_WORD = re.compile(
    rf"(?:(?:{'|'.join(JOINED.split())})-[^\W\d_]+|\d{{3}}-\d{{3}}-\d{{4}}|[<>]{{2,}})$", re.IGNORECASE
)
SPLIT_WORDS = {"wanna": ("wan", "na"), "gotta": ("got", "ta"), "lotta": ("lot", "ta"), "gimme": ("gim", "me")}
ABBREVIATIONS = ("al.", "Ft.", "Nos.", "Fig.", "vs.", "pp.", "approx.", "Dept.", "Capt.", "Col.", "Lt.", "Maj.", "Sgt.")
PREFIXES = (r"[!?]{2,}", r"<<+", r">>+", r"\*{2,}", r"-{2,}", r"={2,}", r"_{2,}", r"~{2,}")
SUFFIXES = (r"[!?][!?.]+", r"\.\?", r"<<+", r">>+", r"\*{2,}", r"(?<=[0-9])[AaPp]\.?[Mm]\.?")
INFIXES = (
    r"(?<=[^\W\d_])/(?=[^\W\d_])",
    r"(?<=[\w.])[–—](?=\w)",
    r"(?<=[^\W\d_])-(?=[0-9])",
    r"(?<=[^\W\d_])[(\[](?=\w)",
    r"(?<=[^\W\d_])[;](?=[^\W\d_])",
    r"[!?]{2,}",
)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Words with the white space after each; `before` is the white space in front of the first."""

    words: list[str]
    after: list[str]
    before: str = ""

    def new_paragraphs(self) -> list[bool]:
        """Whether an empty line stands before each word."""
        spaces = [self.before, *self.after[:-1]]
        return [space.count("\n") > 1 for space in spaces[: len(self.words)]]


def tokenizer(vocab: Any) -> Any:
    """spaCy's English tokeniser, brought nearer to the treebanks' words."""
    from spacy.lang.en import English
    from spacy.symbols import ORTH
    from spacy.tokenizer import Tokenizer
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

    theirs = English.Defaults
    made = Tokenizer(
        vocab,
        rules=_exceptions(theirs.tokenizer_exceptions),
        prefix_search=compile_prefix_regex([*PREFIXES, *theirs.prefixes]).search,
        suffix_search=compile_suffix_regex([*SUFFIXES, *theirs.suffixes]).search,
        infix_finditer=compile_infix_regex([*INFIXES, *theirs.infixes]).finditer,
        token_match=ONE_WORD.match,
        url_match=theirs.url_match,
        max_cache_size=MOST_REMEMBERED,
    )
    for word, parts in SPLIT_WORDS.items():
        for cased in (str.lower, str.capitalize, str.upper):
            whole = cased(word)
            cut = len(parts[0])
            made.add_special_case(whole, [{ORTH: whole[:cut]}, {ORTH: whole[cut:]}])
    for word in ABBREVIATIONS:
        for whole in {word, word.upper()}:
            made.add_special_case(whole, [{ORTH: whole}])
    return made


def remembering(tokenise: Any) -> Callable[[str], Any]:
    """The tokeniser, which cuts each new word alone before its text: of a text, it remembers words up to the first special one only."""
    seen: set[str] = set()

    def cut(text: str) -> Any:
        if len(seen) < MOST_REMEMBERED:
            for word in (new := set(text.split()) - seen):
                tokenise(word)
            seen.update(new)
        return tokenise(text)

    return cut


def _exceptions(rules: dict[str, list[dict[int, str]]]) -> dict[str, list[dict[int, str]]]:
    """spaCy's words with a cut of their own, in upper case too, without those that the treebanks cut otherwise."""
    from spacy.symbols import ORTH

    made = {word: parts for word, parts in rules.items() if word != "and/or"}
    for word, parts in rules.items():
        if len(parts) > 1 and ("'" in word or "’" in word or word in ("cannot", "gonna")):
            made.setdefault(word.upper(), [{ORTH: part[ORTH].upper()} for part in parts])
    return made


# spaCy's time grows with the square of a run without white space: a longer one is cut first.
LONG_RUN, SHORT_RUNS = re.compile(r"\S{1001}"), re.compile(r"\S{1,1000}\s*|\s+")


def tokens(tokenise: Any, text: str) -> Tokens:
    """The words of a text; runs of white space belong to the word before them."""
    words: list[str] = []
    after: list[str] = []
    before = ""
    stretches = SHORT_RUNS.findall(text) if LONG_RUN.search(text) else (text,)
    for token in chain.from_iterable(map(tokenise, stretches)):
        word, space = token.text, token.whitespace_
        if not word.isspace():
            words.append(word)
            after.append(space)
        elif words:
            after[-1] += word + space
        else:
            before += word + space
    return Tokens(words, after, before)


BREAKS = tuple(re.compile(p) for p in (r"\n\s*\n\s*", r"[.!?][\"'”’)\]]*\s+", r"\s+"))


def pieces(text: str, longest: int = LONGEST_PIECE) -> Iterator[str]:
    """The text in stretches of at most `longest` characters, cut at the best place that the second half of each offers.

    An empty line is best, then the end of a sentence, then any white space; only a word longer than half a stretch is
    cut itself. The stretches joined are the text.
    """
    at = 0
    while len(text) - at > longest:
        end = at + longest
        for pattern in BREAKS:
            places = [found.end() for found in pattern.finditer(text, at + longest // 2, end)]
            if places:
                end = places[-1]
                break
        yield text[at:end]
        at = end
    if at < len(text):
        yield text[at:]


SHORT = {" ": "\\s", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
LONG = {v: k for k, v in SHORT.items()}
ESCAPED = re.compile(r"\\s|\\n|\\r|\\t|\\u[0-9a-f]{4}")


def misc_entry(before: str, after: str, more: Sequence[str] = ()) -> str:
    """The entry for a word with white space `after` it, and `before` it where it is a document's first; `more` goes first.

    >>> misc_entry("", " "), misc_entry("", ""), misc_entry("", " \\n")
    ('_', 'SpaceAfter=No', 'SpacesAfter=\\\\s\\\\n')
    """
    entries = [*more, f"SpacesBefore={_escape(before)}"] if before else [*more]
    if after not in ("", " "):
        entries.append(f"SpacesAfter={_escape(after)}")
    if not after:
        entries.append("SpaceAfter=No")
    return "|".join(entries) or "_"


def original_text(document: Document) -> str:
    """The text that a document was parsed from, white space and all.

    Where the document tells less than that (a treebank's), one blank stands where there was space.
    """
    return "".join(_pieces(document))


def character_offsets(document: Document) -> list[tuple[int, int]]:
    """Where each word begins and ends in `original_text`.

    Examples
    --------
    >>> import numpy as np
    >>> document = Document("d", ("Ann", "left", "."), np.array([0, 3]), space_after=np.array([True, False, True]))
    >>> original_text(document), character_offsets(document)
    ('Ann left. ', [(0, 3), (4, 8), (8, 9)])
    """
    made, at = [], 0
    for k, piece in enumerate(_pieces(document)):
        if k % 3 == 1:
            made.append((at, at + len(piece)))
        at += len(piece)
    return made


def _pieces(document: Document) -> Iterator[str]:
    """For each word: white space before it, the word, white space after it."""
    spaces, n = document.space_after, len(document)
    for i, (word, misc) in enumerate(zip(document.words, document.columns.get("misc") or ("",) * n, strict=True)):
        entries = dict(e.split("=", 1) for e in misc.split("|") if "=" in e)
        yield _unescape(entries.get("SpacesBefore", ""))
        yield word
        if "SpacesAfter" in entries:
            yield _unescape(entries["SpacesAfter"])
        elif spaces is None:
            yield " " if misc or i < n - 1 else ""
        else:
            yield " " if spaces[i] else ""


def _escape(space: str) -> str:
    return "".join(SHORT.get(c, f"\\u{ord(c):04x}") for c in space)


def _unescape(value: str) -> str:
    return ESCAPED.sub(lambda m: LONG.get(m[0]) or chr(int(m[0][2:], 16)), value)
