"""Documents with mentions as JSON lines: one object a document.

    {"name": "d1", "sentences": [["Ann", "left"], ["She", "slept"]], "clusters": [[[0, 1], [2, 3]]]}

Tokens are numbered through the document and ends are exclusive. Instead of "clusters" there may be "mentions", a list
of {"start", "end", "entity"}; "lemma", "upos", "xpos", "features", "relation" (a list per document) and "heads" (-1 for
a root) give the parse, "metadata" and "speakers" (one a sentence) the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from howsure.corpora.document import Document, Mention
from howsure.corpora.reading import numbered_lines
from howsure.errors import InputError

COLUMNS = ("lemma", "upos", "xpos", "features", "relation", "misc")


def read_coref_json(path: str | Path) -> list[Document]:
    """The documents of a file of JSON lines. An error names file and line."""
    return list(coref_json_documents(numbered_lines(path), str(path)))


def coref_json_documents(lines: Iterable[tuple[int, str]], source: str) -> Iterator[Document]:
    """Documents from numbered lines."""
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{source}, line {number}"
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{where}: not JSON ({error.msg}, column {error.colno}).") from None
        if not isinstance(record, dict) or not isinstance(record.get("sentences"), list):
            raise InputError(f'{where}: a document is an object with "sentences", a list of lists of words.')
        try:
            yield _document(record, where, str(record.get("name", f"{Path(source).stem}-{number}")))
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{where}: the document cannot be read ({type(error).__name__}: {error}).") from None


def _document(record: dict[str, Any], where: str, name: str) -> Document:
    sentences = record["sentences"]
    words = tuple(str(w) for s in sentences for w in s)
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sentences], dtype=np.int64)]).astype(np.int64)
    columns = {}
    for column in COLUMNS:
        if column in record:
            columns[column] = tuple(str(v) for v in record[column])
            if len(columns[column]) != len(words):
                raise InputError(f'{where}: "{column}" has {len(columns[column])} entries for {len(words)} words.')
    heads = None
    if "heads" in record:
        heads = np.array(record["heads"], dtype=np.int64)
        if heads.shape != (len(words),) or (len(heads) and (heads.min() < -1 or heads.max() >= len(words))):
            raise InputError(f'{where}: "heads" needs, for each of {len(words)} words, a word\'s number or -1.')
    speakers = record.get("speakers") or [""] * len(sentences)
    if len(speakers) != len(sentences):
        raise InputError(f'{where}: "speakers" has {len(speakers)} entries for {len(sentences)} sentences.')
    mentions = _mentions(record)
    for m in mentions or ():
        if not 0 <= m.start < m.end <= len(words):
            raise InputError(f"{where}: the mention of tokens {m.start} to {m.end} is outside its {len(words)} tokens.")
    return Document(
        name,
        words,
        starts,
        columns,
        heads,
        metadata={str(k): str(v) for k, v in record.get("metadata", {}).items()},
        sentence_metadata=tuple({"speaker": str(s)} if s else {} for s in speakers),
        mentions=mentions,
    )


def _mentions(record: dict[str, Any]) -> tuple[Mention, ...] | None:
    if "mentions" in record:
        made = [Mention(int(m["start"]), int(m["end"]), str(m["entity"])) for m in record["mentions"]]
    elif "clusters" in record:
        made = [Mention(int(s), int(e), str(n)) for n, cluster in enumerate(record["clusters"]) for s, e in cluster]
    else:
        return None
    return tuple(sorted(made, key=lambda m: (m.start, -m.end)))


def coref_json_line(document: Document, mentions: Iterable[Mention] | None = None) -> str:
    """A document as one line, without its parse; `mentions` stand in for its own."""
    own = (document.mentions or ()) if mentions is None else mentions
    clusters: dict[str, list[list[int]]] = {}
    for m in own:
        clusters.setdefault(m.entity, []).append([m.start, m.end])
    record = {
        "name": document.name,
        "sentences": [list(document.words[s]) for s in document.sentences()],
        "clusters": list(clusters.values()),
    }
    return json.dumps(record, ensure_ascii=False) + "\n"
