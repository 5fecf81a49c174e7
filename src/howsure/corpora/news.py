"""Collections of news: Reuters-21578 (SGML), NITF (XML, as the New York Times Annotated Corpus), and MUC-3/4 with its keys."""

import html
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from howsure.corpora.dated import DatedText, date_or_reason, usable
from howsure.errors import InputError

_STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_NUMBER = re.compile(r'NEWID="(\d+)"')
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_END = re.compile(r"\s*\breuter\b\s*$", re.IGNORECASE)
ARCHIVES = (".tgz", ".tar.gz")
YEARS = range(1987, 1993)  # MUC-3/4 is news of 1988 to 1990, collected by 1992
_DATE = re.compile(r'name="DC\.date"\s+content="([^"]*)"')
_ID = re.compile(r'name="DC\.identifier"\s+content="([^"]*)"')
_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
_BRACKETED = re.compile(r"^.{0,160}?--\s*((?:\[[^\]]*\]\s*)+)", re.DOTALL)
_SLOT = re.compile(r"^(\d+)\.\s+([A-Z ]+: [A-Z ]+?)\s{2,}(.*)$")
_QUOTED = re.compile(r'"([^"]+)"')


def reuters_texts(folder: str | Path) -> Iterator[DatedText]:
    """The stories of all .sgm files below a folder (or of one file), with id, date, headline and body.

    Lines are joined to paragraphs (a new one is indented). A story without a body, a headline alone, is its headline.
    """
    home = Path(folder)
    for path in [home] if home.is_file() else _found(home.rglob("*.sgm"), folder, ".sgm"):
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


def _found(paths: Iterable[Path], folder: str | Path, kind: str) -> list[Path]:
    """The paths in order of name, of which there must be some."""
    if not (found := sorted(paths)):
        raise InputError(f"{folder} holds no {kind} files.")
    return found


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


def nitf_texts(folder: str | Path, section: str | None = None) -> Iterator[DatedText]:
    """The articles of all .xml files below a folder, also inside .tgz archives, in order of name.

    With `section` ("Top/News/World") only those that a taxonomic classifier puts there or below. An article that is
    not XML is yielded with the reason, and the others go on.
    """
    paths = (p for p in Path(folder).rglob("*") if p.suffix == ".xml" or p.name.endswith(ARCHIVES))
    for path in _found(paths, folder, ".xml or .tgz"):
        for name, source in _sources(path):
            made = _article(name, source, section)
            if made is not None:
                yield made


def _sources(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.suffix == ".xml":
        yield path.stem, path.read_bytes()
        return
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() and member.name.endswith(".xml") else None
                if file is not None:
                    yield Path(member.name).stem, file.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None


def _article(name: str, source: bytes, section: str | None) -> DatedText | None:
    try:
        root = ElementTree.fromstring(source)
    except ElementTree.ParseError as error:
        return DatedText(name, "", None, undated="no date", failure=f"not XML: {error}")
    if section is not None:
        kinds = [(c.text or "").strip() for c in root.iter("classifier") if c.get("type") == "taxonomic_classifier"]
        if not any(k == section or k.startswith(section + "/") for k in kinds):
            return None
    identity, published = root.find(".//doc-id"), root.find(".//pubdata")
    day = None if published is None else (published.get("date.publication") or "")[:8]
    found, undated = date_or_reason(day)
    blocks = [b for b in root.iter("block") if b.get("class") == "full_text"]
    paragraphs = [" ".join("".join(p.itertext()).split()) for b in blocks for p in b.iter("p")]
    heading = root.find(".//hedline/hl1")
    title = "" if heading is None else " ".join("".join(heading.itertext()).split())
    own = identity.get("id-string") if identity is not None else None
    return usable(own or name, "\n\n".join(p for p in paragraphs if p), found, undated, title)


@dataclass(frozen=True, slots=True)
class Incident:
    """One filled template: what happened, and the organisations named for it, each with all its names."""

    document: str
    type: str
    organisations: tuple[tuple[str, ...], ...]
    confidence: str
    optional: bool


def muc_texts(folder: str | Path) -> Iterator[DatedText]:
    """The messages of all .xhtml files below a folder, in order of name.

    The line with the message's number and the place, date and [TEXT] marks before the first sentence are left out.
    """
    for path in _found(Path(folder).rglob("*.xhtml"), folder, ".xhtml"):
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
    documents: set[str] = set()
    incidents: list[Incident] = []
    for path in _found(Path(folder).glob("key*"), folder, "key"):
        for slots in _templates(path):
            document = slots["MESSAGE: ID"].split()[0]
            documents.add(document)
            kind = slots.get("INCIDENT: TYPE", "*").strip()
            if kind in ("*", "-", ""):
                continue
            who = _names(slots.get("PERP: ORGANIZATION ID", ""))
            confidence = slots.get("PERP: ORGANIZATION CONFIDENCE", "").split('"')[0].strip(" :?")
            optional = "OPTIONAL" in slots.get("MESSAGE: TEMPLATE", "")
            incidents.append(Incident(document, kind, who, confidence, optional))
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
