"""`howsure parse`: raw English text to sentences, tags, lemmas and dependencies."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from howsure.corpora.conllu import conllu_text, read_conllu
from howsure.corpora.dated import ANNOTATED, read_text, standard_input, text_files
from howsure.corpora.document import Document
from howsure.english.parsing import parse as parse_texts
from howsure.english.result import ParseCount, ParsedTexts, document_dict
from howsure.english.shipped import model_version
from howsure.errors import InputError
from howsure.processes import Progress

__all__ = ["ParseCount", "conllu_text", "document_dict", "parse", "parsed"]


def parse(
    source: str | Path | Iterable[str | tuple[str, str] | Document],
    *,
    model: Any = None,
    encoding: str = "utf-8",
    cache: bool | str | Path = True,
    jobs: int | None = None,
    progress: Progress | None = None,
    probabilities: bool = False,
) -> ParsedTexts:
    """Parse English text with the pipeline that ships, or with any spaCy pipeline.

    Parameters
    ----------
    source : path, or iterable of texts
        A text file, a folder of them, "-" for standard input; or texts themselves: strings, pairs (name, text) or
        documents. Files ending in .conllu are taken as they are.
    model : str, spaCy pipeline or None
        Another pipeline, by name or already loaded.
    encoding : str
        Of the text files.
    cache : bool or path
        Whether, or in which folder, parses are kept for the next run.
    jobs : int or None
        Processes; by default one for each core.
    progress : callable or None
        Called with the number of characters parsed so far and of all (None where that is not known).
    probabilities : bool
        Whether to say how probable each word's tags and its arc (head and relation) are, calibrated on the development
        parts of the treebanks. `howsure.english.probabilities(document)` gives them as arrays.

    Returns
    -------
    ParsedTexts
        The documents with lemmas, tags, features, relations and heads; notes; `to_dict()`.

    Notes
    -----
    All documents are held in memory; `howsure.english.parse` streams them. Scores and limits of the model that ships are
    in its card, beside its weights, and in docs/guides/english.md.
    """
    given = {"cache": cache, "jobs": jobs, "progress": progress, "probabilities": probabilities}
    documents = parsed(source, model=model, encoding=encoding, **given)
    named = model is None or isinstance(model, str)
    return ParsedTexts(tuple(documents), model_version(model) if named else type(model).__name__)


def parsed(source: Any, *, encoding: str = "utf-8", **given: Any) -> Iterator[Document]:
    """The same as a stream; `given` are options of `howsure.english.parse`."""
    texts, total = (source, None) if not isinstance(source, str | Path) else _read(source, encoding)
    return parse_texts(texts, total=total, **given)


def _read(source: str | Path, encoding: str) -> tuple[Iterable[tuple[str, str] | Document], int | None]:
    """The texts of a path, read as they are needed, and their size."""
    if str(source) == "-":
        text = standard_input(encoding)
        return [("standard input", text)], len(text)
    path = Path(source)
    if not _exists(path):
        hint = " To parse a text itself, give a list: parse([text])." if len(str(source).split()) > 3 else ""
        raise InputError(f"there is no file or folder {str(source)[:80]!r}.{hint}")
    if not path.is_dir():
        return _file(path, path.stem, encoding), path.stat().st_size
    files = text_files(path)
    read = (_file(f, f.relative_to(path).with_suffix("").as_posix(), encoding) for f in files)
    return chain.from_iterable(read), sum(f.stat().st_size for f in files)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, or with a null character
        return False


def _file(path: Path, name: str, encoding: str) -> Iterable[tuple[str, str] | Document]:
    if path.suffix.lower() in ANNOTATED:
        return read_conllu(path)
    return [(name, read_text(path, encoding))]
