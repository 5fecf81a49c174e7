"""MUC-3/4: dated messages in XHTML, and the keys that say which organisation did what."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from howsure.corpora.news.dated import DatedText, date_or_reason, usable
from howsure.errors import InputError

YEARS = range(1987, 1993)  # MUC-3/4 is news of 1988 to 1990, collected by 1992
_DATE = re.compile(r'name="DC\.date"\s+content="([^"]*)"')
_ID = re.compile(r'name="DC\.identifier"\s+content="([^"]*)"')
_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
_BRACKETED = re.compile(r"^.{0,160}?--\s*((?:\[[^\]]*\]\s*)+)", re.DOTALL)
_SLOT = re.compile(r"^(\d+)\.\s+([A-Z ]+: [A-Z ]+?)\s{2,}(.*)$")
_QUOTED = re.compile(r'"([^"]+)"')


@dataclass(frozen=True, slots=True)
class Incident:
    """One filled template: what happened, and the organisations named for it, each with all its names."""

    document: str
    type: str
    organisations: tuple[tuple[str, ...], ...]
    individuals: tuple[tuple[str, ...], ...]
    confidence: str
    optional: bool


def muc_texts(folder: str | Path) -> Iterator[DatedText]:
    """The messages of all .xhtml files below a folder, in order of name.

    The line with the message's number and the place, date and [TEXT] marks before the first sentence are left out.
    """
    paths = sorted(Path(folder).rglob("*.xhtml"))
    if not paths:
        raise InputError(f"{folder} holds no .xhtml files.")
    for path in paths:
        source = path.read_text(encoding="utf-8", errors="replace")
        identity, day = _ID.search(source), _DATE.search(source)
        paragraphs = [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", p)).split()) for p in _PARAGRAPH.findall(source)]
        name = identity[1] if identity else path.stem
        if paragraphs and paragraphs[0].startswith(name):
            paragraphs = paragraphs[1:]
        if paragraphs:
            head = _BRACKETED.match(paragraphs[0])
            paragraphs[0] = paragraphs[0][head.end() :] if head else paragraphs[0]
        found, undated = date_or_reason(day[1] if day else None)
        if found is not None and found.year not in YEARS:  # one message is dated 2011
            found, undated = None, f"date outside {YEARS[0]} to {YEARS[-1]}"
        yield usable(name, "\n\n".join(p for p in paragraphs if p), found, undated)


def muc_keys(folder: str | Path) -> tuple[frozenset[str], list[Incident]]:
    """The documents that have keys, and their incidents."""
    paths = sorted(p for p in Path(folder).iterdir() if p.name.startswith("key"))
    if not paths:
        raise InputError(f"{folder} holds no key files.")
    documents: set[str] = set()
    incidents: list[Incident] = []
    for path in paths:
        for slots in _templates(path):
            document = slots["MESSAGE: ID"].split()[0]
            documents.add(document)
            kind = slots.get("INCIDENT: TYPE", "*").strip()
            if kind in ("*", "-", ""):
                continue
            incidents.append(
                Incident(
                    document,
                    kind,
                    _names(slots.get("PERP: ORGANIZATION ID", "")),
                    _names(slots.get("PERP: INDIVIDUAL ID", "")),
                    slots.get("PERP: ORGANIZATION CONFIDENCE", "").split('"')[0].strip(" :?"),
                    "OPTIONAL" in slots.get("MESSAGE: TEMPLATE", ""),
                )
            )
    return frozenset(documents), incidents


def _templates(path: Path) -> Iterator[dict[str, str]]:
    slots: dict[str, str] = {}
    last = ""
    for line in path.read_text(encoding="latin-1").splitlines():
        if line.startswith(";"):
            continue
        if match := _SLOT.match(line):
            if match[1] == "0" and slots:
                yield slots
                slots = {}
            last = match[2]
            slots[last] = match[3]
        elif line.strip() and last:
            slots[last] += "\n" + line.strip()
    if slots:
        yield slots


def _names(value: str) -> tuple[tuple[str, ...], ...]:
    """One entry per line; names of the same thing are separated by a slash."""
    found = (tuple(n.strip() for n in _QUOTED.findall(line.replace('\\"', ""))) for line in value.split("\n"))
    return tuple(names for names in found if names)
