"""Reuters-21578 in its SGML files."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from howsure.corpora.news.dated import DatedText, date_or_reason, usable
from howsure.errors import InputError

_STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_NUMBER = re.compile(r'NEWID="(\d+)"')
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_END = re.compile(r"\s*\breuter\b\s*$", re.IGNORECASE)


def reuters_texts(folder: str | Path) -> Iterator[DatedText]:
    """The stories of all .sgm files below a folder (or of one file), with id, date, headline and body.

    Lines are joined to paragraphs (a new one is indented). A story without a body, a headline alone, is its headline.
    """
    home = Path(folder)
    paths = [home] if home.is_file() else sorted(home.rglob("*.sgm"))
    if not paths:
        raise InputError(f"{folder} holds no .sgm files.")
    for path in paths:
        text = path.read_bytes().decode("latin-1")
        if "<REUTERS" not in text and "lewis" not in text[:200]:
            raise InputError(f"{path} holds no <REUTERS> stories.")
        for attributes, story in _STORY.findall(text):
            number = _NUMBER.search(attributes)
            if number is None:
                raise InputError(f"{path}: a story has no NEWID.")
            title = " ".join(_clean(_inside("TITLE", story)).split())
            body = _inside("BODY", story)
            if not body and not title:
                body = _inside("TEXT", story)  # stories that were not cut into parts
            day, undated = date_or_reason(_inside("DATE", story).strip())
            yield usable(f"reuters-{int(number[1]):05d}", _paragraphs(_clean(body)) or title, day, undated, title)


def _inside(tag: str, story: str) -> str:
    found = re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", story, re.DOTALL)
    return found[1] if found else ""


def _clean(text: str) -> str:
    return _CONTROL.sub("", html.unescape(text))


def _paragraphs(body: str) -> str:
    """Indented lines begin paragraphs; the agency's name at the end is dropped."""
    body = _END.sub("", body)
    parts = re.split(r"\n(?=    )", body)
    return "\n\n".join(" ".join(part.split()) for part in parts if part.strip())
