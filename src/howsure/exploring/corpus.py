"""Where `howsure explore` gets its documents: a folder, a table, Reuters, MUC, CoNLL-U, or the stories that ship."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howsure import _validate
from howsure.corpora.conllu import conllu_documents
from howsure.corpora.dated import DatedText, date_or_reason, text_folder, usable
from howsure.corpora.document import Document
from howsure.corpora.news import muc_texts, nitf_texts, reuters_texts
from howsure.corpora.reading import numbered_lines
from howsure.corpora.relations import universal
from howsure.errors import InputError
from howsure.events.lexicons import csv_rows
from howsure.events.storage import part_name

if TYPE_CHECKING:
    from howsure.engines.tables import Table

DATE_NAMES = [
    "date",
    "day",
    "published",
    "publishedat",
    "publicationdate",
    "pubdate",
    "datepublished",
    "timestamp",
    "created",
    "createdat",
]
ID_NAMES = ["id", "docid", "documentid", "url", "guid", "name"]
TITLE_NAMES = ["title", "headline"]
FORMATS = ("text", "table", "reuters", "muc", "nitf", "conllu")
PARSED_DATES = ("date", "dateCreated", "dateModified")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents that can be gone through any number of times."""

    name: str
    read: Callable[[], Iterator[DatedText]]

    def __iter__(self) -> Iterator[DatedText]:
        return self.read()


@dataclass(frozen=True, slots=True)
class DocumentColumns:
    """Columns of a table of documents, where they are named, and an SQL condition."""

    text: str | None = None
    date: str | None = None
    id: str | None = None
    title: str | None = None
    where: str | None = None

    def found(self, table: Table) -> dict[str, str]:
        """Which column holds the text, the date and, where there are such columns, the id and the title."""
        from howsure.engines.columns import guessed_column, text_column

        date = table.column(self.date) if self.date else guessed_column(table, DATE_NAMES, "date", "`date=`", ())
        names = {"text": text_column(table, self.text), "date": date.name}
        for role, wanted, guesses in (("id", self.id, ID_NAMES), ("title", self.title, TITLE_NAMES)):
            found = wanted and table.column(wanted).name
            found = found or next((c.name for c in table.columns if c.name.lower().replace("_", "") in guesses), None)
            if found and found not in names.values():
                names[role] = found
        return names


def stories() -> Corpus:
    """The stories that ship with the package, with their parses: events and countries are made up."""
    return Corpus("stories", lambda: _conllu(Path(str(files("howsure.data") / "stories.conllu"))))


def open_corpus(
    source: Any,
    columns: DocumentColumns | None = None,
    *,
    metadata: str | None = None,
    encoding: str = "utf-8",
    format: str | None = None,
) -> Corpus:
    """The corpus that a source names. The format of a path is recognised from its files unless `format` names it."""
    columns = columns or DocumentColumns()
    if source is None:
        return stories()
    if format is not None and format not in FORMATS:
        raise InputError(f"`format=`: there is no format `{format}`.{_validate.nearest(format, FORMATS)}")
    if not isinstance(source, str | Path):
        return Corpus("table", lambda: _table(source, columns))
    if is_address(source):
        raise InputError(f"{source} is an address, which Spark alone reads: add `engine='spark'`.")
    path = Path(source)
    kind = format or _kind(path)
    if kind != "text" and metadata is not None:
        raise InputError("`metadata=` goes with a folder of text files.")
    if kind != "table" and columns != DocumentColumns():
        raise InputError("`text=`, `date=`, `id=`, `title=` and `where=` name columns of a table; this is no table.")
    readers: dict[str, tuple[str, Callable[[], Iterator[DatedText]]]] = {
        "reuters": (kind, lambda: reuters_texts(path)),
        "muc": (kind, lambda: muc_texts(path)),
        "nitf": (path.name, lambda: nitf_texts(path)),
        "conllu": (path.stem, lambda: _conllu(path)),
        "table": (path.stem, lambda: _table(str(source), columns)),
    }
    if kind in readers:
        return Corpus(*readers[kind])
    try:
        "".encode(encoding)
    except LookupError:
        raise InputError(f"`encoding=`: there is no encoding {encoding!r}.") from None
    if path.is_file():
        raise InputError(f"{path} is one text; give the folder that holds the texts.")
    dates = _dates(metadata) if metadata is not None else None
    return Corpus(path.name, lambda: text_folder(path, encoding, dates))


def is_address(source: Any) -> bool:
    """Whether the source is something like hdfs://… or s3a://…"""
    return isinstance(source, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", source) is not None


def _kind(path: Path) -> str:
    if path.is_dir():
        endings = {p.suffix.lower() for p in path.rglob("*") if p.is_file() and not p.name.startswith(".")}
        if not endings:
            raise InputError(f"the folder {str(path)!r} holds no files.")
        kinds = {".sgm": "reuters", ".xhtml": "muc", ".conllu": "conllu", ".xml": "nitf", ".tgz": "nitf"}
        for ending in (e for e in kinds if e in endings):
            return kinds[ending]
        tables = {".csv", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".feather"}
        return "table" if endings <= tables else "text"
    if path.suffix.lower() in (".sgm", ".conllu"):
        return "reuters" if path.suffix.lower() == ".sgm" else "conllu"
    if path.suffix.lower() in (".txt", ".text", ".html", ".htm"):
        if not path.exists():
            raise InputError(f"there is no file {str(path)!r}.")
        return "text"
    return "table"


def _conllu(source: Path) -> Iterator[DatedText]:
    for path in [source] if source.is_file() else sorted(source.rglob("*.conllu")):
        for document in conllu_documents(numbered_lines(path), str(path), path.stem):
            given = next((document.metadata[k] for k in PARSED_DATES if document.metadata.get(k)), None)
            day, undated = date_or_reason(given)
            failure = ""
            if document.heads is None or any(c not in document.columns for c in ("lemma", "upos", "relation")):
                failure = "not parsed: it needs lemmas, tags, heads and relations"
            else:
                try:
                    document = universal(document)
                except InputError as error:
                    failure = str(error).removeprefix(f'document "{document.name}": ')
            about = day, document.metadata.get("title", ""), undated, failure
            yield DatedText(document.name, _spaced(document), *about, document=document)


def with_parses(corpus: Corpus, path: Path) -> Corpus:
    """The corpus with the parses of a CoNLL-U file or folder, found by id; a document without one has failed."""
    parsed = {t.id: t for t in _conllu(path)}
    if not parsed:
        raise InputError(f"`parses=`: there are no parses in {path}.")

    def read() -> Iterator[DatedText]:
        for t in corpus:
            own = parsed.get(t.id)
            failure = f"there is no parse of it in {path}" if own is None else own.failure
            yield replace(t, document=None if own is None else own.document, failure=t.failure or failure)

    return Corpus(corpus.name, read)


def _spaced(document: Document) -> str:
    """The words with the spaces that the parse records; an empty line before each sentence that begins a paragraph."""
    if "misc" in document.columns and any("SpacesAfter" in m for m in document.columns["misc"]):
        from howsure.english.tokens import original_text

        return original_text(document).strip()
    if document.space_after is None:
        return document.text()
    said = ""
    for number, part in enumerate(document.sentences()):
        metadata = document.sentence_metadata[number] if document.sentence_metadata else {}
        gap = "\n\n" if any(k.startswith("newpar") for k in metadata) else " "
        said += gap * bool(said) + document.text(part)
    return said


def _dates(metadata: str) -> dict[str, tuple[str | None, str]]:
    """File → (date, title) from a CSV file with the columns file and date, and perhaps title."""
    if not Path(metadata).is_file():
        raise InputError(f"`metadata=`: there is no file {metadata}.")
    rows = csv_rows(Path(metadata), ("file", "date"))
    return {row["file"]: (row["date"], row.get("title") or "") for _, row in rows}


def _table(source: Any, columns: DocumentColumns) -> Iterator[DatedText]:
    from howsure.engines.tables import Table, quoted

    with Table(source) as table:
        names = columns.found(table)
        expressions = [f"CAST({quoted(n)} AS VARCHAR)" for n in names.values()]
        batches = table.batches(expressions, where=columns.where)
        rows = (row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True))
        for number, row in enumerate(rows, 1):
            yield document_of_row(dict(zip(names, row, strict=True)), f"row-{number}")


def document_of_row(values: Mapping[str, str | None], otherwise: str) -> DatedText:
    """A document from the strings of a row; `otherwise` is its id if it has none."""
    day, undated = date_or_reason(values["date"])
    return usable(values.get("id") or otherwise, values["text"] or "", day, undated, values.get("title") or "")


BLOCK = 32  # documents; the unit of work that is kept or done again, whatever the number of workers


@dataclass(slots=True)
class Census:
    """One pass over the corpus before the work: parts, dates, what is wrong."""

    parts: list[str] = field(default_factory=list)
    days: list[date] = field(default_factory=list)
    n: int = 0
    undated: Counter[str] = field(default_factory=Counter)
    future: int = 0
    html: int = 0
    parsed: int = 0


def census(corpus: Corpus) -> Census:
    """Ids, dates and hashes of all documents; an id that comes twice is an error."""
    made, seen, today = Census(), set(), date.today()
    for number, block in enumerate(blocks(corpus)):
        digest = hashlib.blake2b(digest_size=8)
        for t in block:
            if t.id in seen:
                raise InputError(f"two documents have the id {t.id!r}; ids are unique. Name another column with `id=`.")
            seen.add(t.id)
            said = f"{t.id}\0{t.date}\0{t.title}\0{t.undated}\0{t.failure}\0{t.text}\0"
            digest.update(said.encode("utf-8", "replace"))
            if t.document is not None and t.document.heads is not None:
                digest.update(t.document.heads.tobytes())
            made.n += 1
            made.html += t.was_html
            made.parsed += t.document is not None
            if t.date is None:
                made.undated[_undated_kind(t.undated)] += 1
            else:
                made.days.append(t.date)
                made.future += t.date > today
        made.parts.append(part_name(number, digest.hexdigest()))
    if not made.n:
        raise InputError(f"{corpus.name} holds no documents.")
    return made


def _undated_kind(reason: str) -> str:
    """Reasons that differ only in the value at fault are one kind."""
    if reason.startswith("there is no day"):
        return "impossible date"
    return "not a date" if "is not a date" in reason else reason.split(" (")[0]


def blocks(corpus: Corpus) -> Iterator[list[DatedText]]:
    """The documents in order, 32 at a time."""
    documents = iter(corpus)
    while block := list(islice(documents, BLOCK)):
        yield block
