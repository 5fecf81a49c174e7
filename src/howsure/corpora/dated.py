"""Dated texts: strict dates, and text files as they are found in the world."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

from howsure import files
from howsure.errors import InputError

if TYPE_CHECKING:
    from howsure.corpora.document import Document

TEXT, ANNOTATED = (".txt", ".text", ".md"), (".conllu",)


def decoded(raw: bytes, source: str, encoding: str = "utf-8") -> str:
    """The bytes as text; an error names the first byte that is not of the encoding, and its line."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise InputError(f'there is no encoding "{encoding}"; try utf-8, latin-1 or cp1252.') from None
    if encoding.replace("_", "-").lower() in ("utf-8", "utf8") and raw.startswith(codecs.BOM_UTF8):
        raw = raw[len(codecs.BOM_UTF8) :]
    try:
        text = raw.decode(encoding)
        if "\0" in text:
            raise InputError(f"{source} holds a NUL byte: binary data, not text.")
        return text
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        raise InputError(
            f"{source}, line {line:,}: byte {column:,} of the line (0x{raw[error.start]:02x}) is not {encoding}. "
            "Name the file's encoding with `encoding=`, for example latin-1 or cp1252."
        ) from None


def read_text(path: str | Path, encoding: str = "utf-8") -> str:
    """The text of a file."""
    try:
        return decoded(Path(path).read_bytes(), str(path), encoding)
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; a file was expected.") from None
    except FileNotFoundError:
        raise InputError(f"there is no file {path}.") from None


def standard_input(encoding: str = "utf-8") -> str:
    """The text of standard input."""
    return decoded(files.standard_input().read(), "standard input", encoding)


def text_files(folder: str | Path) -> list[Path]:
    """The text and CoNLL-U files of a folder and the folders in it, in order of name; hidden ones are left out."""
    root = Path(folder)
    found = [
        p
        for p in sorted(root.rglob("*"))
        if p.suffix.lower() in TEXT + ANNOTATED
        and p.is_file()
        and not any(part.startswith(".") for part in p.relative_to(root).parts)
    ]
    if not found:
        raise InputError(f"there is no text in {folder}: files ending in {', '.join(TEXT + ANNOTATED)} are read.")
    return found


LONGEST = 400_000  # characters; longer texts are books or dumps, and coreference is quadratic
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ].*)?")
_SLASHED = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_NAMED = re.compile(r"(\d{1,2})[- ]([A-Za-z]{3,9})[- ,]+(\d{4})(?:\s.*)?")
_IN_NAME = re.compile(r"(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})(?!\d)")
_MARKUP = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_TAG = re.compile(r"</?(?:p|div|br|a|span|b|i|em|strong|ul|li|table|tr|td|h[1-6]|script|img)\b[^<>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DatedText:
    """A text with its date. Without a date, `undated` says why; with `failure`, it cannot be used and that says why."""

    id: str
    text: str
    date: date | None
    title: str = ""
    undated: str = ""
    failure: str = ""
    was_html: bool = False
    document: Document | None = None  # when it comes parsed


def parsed_date(value: str) -> date:
    """A date written YYYY-MM-DD (a time may follow), YYYY/MM/DD, YYYYMMDD or 26-FEB-1987; anything else is an error.

    >>> parsed_date("1987-02-26T15:01")
    datetime.date(1987, 2, 26)
    """
    text = value.strip()
    for pattern in (_ISO, _SLASHED, _COMPACT):
        if match := pattern.fullmatch(text):
            return _checked(int(match[1]), int(match[2]), int(match[3]), text)
    if match := _NAMED.fullmatch(text):
        name = match[2][:3].lower()
        if name in MONTHS:
            return _checked(int(match[3]), MONTHS.index(name) + 1, int(match[1]), text)
    raise InputError(f"{text!r} is not a date; write YYYY-MM-DD.")


def _checked(year: int, month: int, day: int, text: str) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        raise InputError(f"there is no day {text!r}.") from None


def date_or_reason(value: str | None) -> tuple[date | None, str]:
    """A date and "", or None and why there is none."""
    if value is None or not value.strip():
        return None, "no date"
    try:
        return parsed_date(value), ""
    except InputError as error:
        return None, str(error)


def date_in_name(name: str) -> tuple[date | None, str]:
    """The one date that a file's name holds: 1987-02-26, 1987_02_26 or 19870226."""
    found = {m[0]: (int(m[1]), int(m[3]), int(m[4])) for m in _IN_NAME.finditer(name)}
    if not found:
        return None, "no date in the name"
    if len(set(found.values())) > 1:
        return None, f"several dates in the name ({', '.join(found)})"
    (text, parts), *_ = found.items()
    try:
        return _checked(*parts, text), ""
    except InputError as error:
        return None, str(error)


def usable(id: str, text: str, day: date | None, undated: str, title: str = "") -> DatedText:
    """A text after the checks that all sources share: not empty, not binary, not too long; markup taken off."""
    failure, was_html = "", False
    if "\0" in text:
        return DatedText(id, "", day, title, undated, "binary data, not text")
    if _MARKUP.match(text) or len(_TAG.findall(text[:20_000])) >= 3:
        text, was_html = without_markup(text), True
    if not text.strip():
        failure = "empty" if not was_html else "HTML without any text"
    elif len(text) > LONGEST:
        failure = f"{len(text):,} characters long; at most {LONGEST:,} are analysed as one document: split it"
    return DatedText(id, "" if failure else text, day, title, undated, failure, was_html)


def text_folder(
    folder: Path, encoding: str = "utf-8", dates: dict[str, tuple[str | None, str]] | None = None
) -> Iterator[DatedText]:
    """The text files below a folder, in order of name; dates from names or from `dates` (file → date, title)."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and _seen(p.relative_to(folder)))
    if not files:
        raise InputError(f"the folder {str(folder)!r} holds no files.")
    for path in files:
        id = path.relative_to(folder).as_posix()
        title = ""
        if dates is not None:
            given, title = dates.get(id, dates.get(path.name, dates.get(path.stem, (None, ""))))
            day, undated = date_or_reason(given)
        else:
            day, undated = date_in_name(id)
        try:
            raw = path.read_bytes()
            marked = "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding
            text = raw.decode("utf-16" if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else marked)
        except OSError as error:
            yield DatedText(id, "", day, title, undated, f"cannot be read: {error.strerror}")
            continue
        except UnicodeDecodeError as error:
            what = (
                "binary data, not text"
                if b"\0" in raw
                else f"not {encoding} text (byte {error.start:,}); convert it or name its `encoding=`"
            )
            yield DatedText(id, "", day, title, undated, what)
            continue
        yield usable(id, text, day, undated, title)


def _seen(path: Path) -> bool:
    return not any(part.startswith((".", "_")) for part in path.parts) and path.suffix.lower() not in (".csv", ".json")


class _Text(HTMLParser):
    BLOCKS = frozenset(
        ("p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "section", "title")
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: object, step: int = 1) -> None:
        if tag in ("script", "style"):
            self.hidden = max(self.hidden + step, 0)
        elif tag in self.BLOCKS:
            self.parts.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        self.handle_starttag(tag, None, -1)

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def without_markup(text: str) -> str:
    """HTML as plain text: paragraphs separated by an empty line, scripts and styles dropped."""
    parser = _Text()
    parser.feed(text)
    parser.close()
    joined = "".join(parser.parts)
    return re.sub(r"[ \t]*\n\s*\n\s*", "\n\n", re.sub(r"[ \t]+", " ", joined)).strip()
