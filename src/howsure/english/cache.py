"""Parses on disk, keyed by the text and the model that made them: a second run, or one that was killed, goes on quickly."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from howsure.corpora.conllu import conllu_documents, conllu_text
from howsure.corpora.document import Document
from howsure.errors import InputError
from howsure.files import whole_file

COLUMNS = "columns"
SHORTEST = 200  # characters; shorter texts are parsed sooner than looked up


@dataclass(frozen=True, slots=True)
class ParseCache:
    """One gzipped CoNLL-U file a text. A file that cannot be read counts as absent and is replaced."""

    folder: Path
    version: str

    def get(self, text: str) -> Document | None:
        """The parse of a text, where it is there."""
        path = self._path(text)
        if path is None:
            return None
        try:
            lines = gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")
            return _restored(next(conllu_documents(enumerate(lines, 1), str(path), "cached")))
        except (OSError, EOFError, ValueError, KeyError, StopIteration, zlib.error):  # absent, cut short, not ours
            return None

    def put(self, text: str, document: Document) -> None:
        """Stores a parse. Write errors are ignored; the cache is optional."""
        path = self._path(text)
        if path is None or not len(document):
            return
        named = document.with_(name="cached", metadata=document.metadata | {COLUMNS: " ".join(document.columns)})
        content = gzip.compress(conllu_text(named).encode("utf-8"), 1, mtime=0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path, durable=False) as file:
                file.write(content)
        except (OSError, InputError):
            return

    def _path(self, text: str) -> Path | None:
        if len(text) < SHORTEST:
            return None
        key = hashlib.sha256(f"{self.version}\n{text}".encode()).hexdigest()
        return self.folder / self.version / key[:2] / f"{key[2:40]}.conllu.gz"


def _restored(kept: Document) -> Document:
    """The document that was put: CoNLL-U tells no column of nothing but "_" from one that is not there."""
    metadata = dict(kept.metadata)
    names = metadata.pop(COLUMNS).split()
    columns = {name: kept.columns.get(name, ("_",) * len(kept)) for name in names}
    return kept.with_(columns=columns, metadata=metadata, sentence_metadata=())


def cache_folder(given: str | Path | None = None) -> Path:
    """The folder given, or HOWSURE_CACHE, or the user's cache folder."""
    if given is not None:
        folder = Path(given)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"the cache {given} is not a folder.")
        return folder
    if named := os.environ.get("HOWSURE_CACHE"):
        return Path(named) / "parses"
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "howsure" / "parses"
