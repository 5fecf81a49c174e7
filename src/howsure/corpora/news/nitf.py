"""NITF: news as XML, a file an article, as in the New York Times Annotated Corpus (LDC2008T19)."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from howsure.corpora.news.dated import DatedText, date_or_reason, usable
from howsure.errors import InputError

ARCHIVES = (".tgz", ".tar.gz")


def nitf_texts(folder: str | Path, section: str | None = None) -> Iterator[DatedText]:
    """The articles of all .xml files below a folder, also inside .tgz archives, in order of name.

    With `section` ("Top/News/World") only those that a taxonomic classifier puts there or below. An article that is
    not XML is yielded with the reason, and the others go on.
    """
    paths = sorted(p for p in Path(folder).rglob("*") if p.suffix == ".xml" or p.name.endswith(ARCHIVES))
    if not paths:
        raise InputError(f"{folder} holds no .xml or .tgz files.")
    for path in paths:
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
