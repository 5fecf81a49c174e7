"""White space in the last column of CoNLL-U, so that a parsed document still holds its text to the letter.

`SpaceAfter=No` says none, no entry one blank, `SpacesAfter=` anything else: `\\s` a blank, `\\n` a line's end, `\\t` a tab.
"""

from __future__ import annotations

import re

from howsure.corpora.document import Document

SHORT = {" ": "\\s", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
LONG = {v: k for k, v in SHORT.items()}
ESCAPED = re.compile(r"\\s|\\n|\\r|\\t|\\u[0-9a-f]{4}")


def misc_entry(before: str, after: str) -> str:
    """The entry for a word with white space `after` it, and `before` it where it is a document's first.

    >>> misc_entry("", " "), misc_entry("", ""), misc_entry("", " \\n")
    ('_', 'SpaceAfter=No', 'SpacesAfter=\\\\s\\\\n')
    """
    entries = [f"SpacesBefore={_escape(before)}"] if before else []
    if after not in ("", " "):
        entries.append(f"SpacesAfter={_escape(after)}")
    if not after:
        entries.append("SpaceAfter=No")
    return "|".join(entries) or "_"


def original_text(document: Document) -> str:
    """The text that a document was parsed from, white space and all.

    Where the document tells less than that (a treebank's), one blank stands where there was space.
    """
    spaces = document.space_after
    if "misc" not in document.columns:
        if spaces is None:
            return " ".join(document.words)
        return "".join(w + " " * s for w, s in zip(document.words, spaces.tolist(), strict=True))
    made = []
    for i, (word, misc) in enumerate(zip(document.words, document.columns["misc"], strict=True)):
        entries = dict(e.split("=", 1) for e in misc.split("|") if "=" in e)
        made.append(_unescape(entries.get("SpacesBefore", "")))
        made.append(word)
        if "SpacesAfter" in entries:
            made.append(_unescape(entries["SpacesAfter"]))
        elif spaces is None or spaces[i]:
            made.append(" ")
    return "".join(made)


def _escape(space: str) -> str:
    return "".join(SHORT.get(c, f"\\u{ord(c):04x}") for c in space)


def _unescape(value: str) -> str:
    return ESCAPED.sub(lambda m: LONG.get(m[0]) or chr(int(m[0][2:], 16)), value)
