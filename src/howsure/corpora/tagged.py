"""Tagged text in any of its formats: CoNLL-U, columns (two or more), Penn Treebank `.pos`; read to documents."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from howsure.corpora.conllu import read_conllu
from howsure.corpora.document import Document
from howsure.corpora.reading import numbered_lines
from howsure.errors import InputError

PENN_TOKEN = re.compile(r"(.*[^\\])/([^/]+)$")
CLOSING = ("''", "-RRB-", ")")  # what may follow a full stop and still belong to its sentence


def read_tagged(
    paths: str | Path | Sequence[str | Path], column: str | None = None, *, need_tags: bool = True
) -> list[Document]:
    """Documents of one or more files, each with its tags in the column "tag".

    The format follows the suffix (`.conllu`, `.pos`) or else the first lines. `column` is what to read as tags: of
    CoNLL-U "xpos" (the default; "upos" where no document has it), "upos", … or "entity" (types of the outermost
    mentions as B-, I-, O); of columns its number from 1, by default the last. Without `need_tags` a file of words alone will do.
    """
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    kinds = [format_of(f) for f in files]
    read = [read_conllu(f) if kind == "conllu" else [] for f, kind in zip(files, kinds, strict=True)]
    is_universal = set(kinds) == {"conllu"} and all(
        "upos" in d.columns and "xpos" not in d.columns for r in read for d in r
    )
    documents = []
    for f, kind, found in zip(files, kinds, read, strict=True):
        if kind == "conllu":
            documents += _tagged(f, found, column or ("upos" if is_universal else "xpos"), need_tags)
        elif kind == "penn":
            if column is not None:
                raise InputError(f"{f}: a Penn .pos file has one kind of tags; leave the column out.")
            documents.append(read_penn(f))
        else:
            documents.append(read_columns(f, column, need_tags=need_tags))
    if not documents:
        raise InputError(f"there are no sentences in {', '.join(str(f) for f in files[:3])}.")
    return documents


def _tagged(path: str | Path, documents: list[Document], name: str, need_tags: bool) -> list[Document]:
    """CoNLL-U with one of its columns as tags."""
    if name == "entity":
        return [d.with_(columns=d.columns | {"tag": entity_tags(d)}) for d in documents]
    if not need_tags and all(name not in d.columns for d in documents):
        return documents
    for d in documents:
        if name not in d.columns:
            raise InputError(f'{path}: document "{d.name}" has no column {name}; it has {", ".join(d.columns)}.')
    return [d.with_(columns=d.columns | {"tag": d.columns[name]}) for d in documents]


def format_of(path: str | Path) -> str:
    """ "conllu", "penn" or "columns": by suffix, or by the first lines."""
    suffix = Path(path).suffix.lower()
    if suffix in (".conllu", ".conll-u"):
        return "conllu"
    if suffix == ".pos":
        return "penn"
    for number, line in numbered_lines(path):
        if line.count("\t") == 9:
            return "conllu"
        if line.startswith("[ ") or line.startswith("====="):
            return "penn"
        if number > 50:
            break
    return "columns"


def read_columns(path: str | Path, column: str | None = None, *, need_tags: bool = True) -> Document:
    """A file with a token per line, columns separated by tabs (or else spaces), sentences by empty lines.

    A line with several words in a row of one column is a mistake; a line with fewer columns than the first is too.
    """
    wanted = None
    if column is not None:
        if not (column.isdecimal() and int(column) >= 2):
            raise InputError(f'{path}: columns are numbered and the words are column 1; got "{column}" for the tags.')
        wanted = int(column) - 1
    words: list[str] = []
    tags: list[str] = []
    ends: list[int] = []
    width: int | None = None
    for number, line in numbered_lines(path):
        if not line.strip():
            ends.append(len(words))
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        where = f"{path}, line {number}"
        if width is None:
            width = len(fields)
            if wanted is not None and wanted >= width:
                raise InputError(f"{where}: there is no column {wanted + 1}; the line has {width}.")
            if width < 2 and need_tags:
                raise InputError(f"{where}: a word and its tag are needed; the line has one column.")
        if len(fields) != width:
            hint = "" if "\t" in line else " Raw text is parsed first: `howsure.parse`."
            raise InputError(f"{where}: {width} columns were expected, as in the first line; got {len(fields)}.{hint}")
        if not fields[0] or not fields[-1]:
            raise InputError(f"{where}: a column is empty.")
        words.append(fields[0])
        tags.append(fields[-1 if wanted is None else wanted])
    columns = {"tag": tuple(tags)} if width is not None and width >= 2 else {}
    return _document(path, words, ends, columns)


def read_penn(path: str | Path) -> Document:
    """Penn Treebank's word/TAG files. A sentence ends at a rule (=====) or behind a token tagged "." .

    Of alternative tags (VBG|NN) the first is taken; `\\/` in a word is a slash. Brackets of noun phrases are left out.
    """
    words: list[str] = []
    tags: list[str] = []
    ends: list[int] = []
    ended = False
    for number, line in numbered_lines(path):
        if line.startswith("====="):
            ends.append(len(words))
            ended = False
            continue
        for piece in line.split():
            if piece in ("[", "]"):
                continue
            match = PENN_TOKEN.match(piece)
            if match is None:
                raise InputError(f'{path}, line {number}: a word with its tag, word/TAG, was expected; got "{piece}".')
            word, tag = match[1].replace("\\/", "/"), match[2].split("|")[0]
            if ended and tag not in CLOSING:
                ends.append(len(words))
                ended = False
            words.append(word)
            tags.append(tag)
            ended = tag == "." or (ended and tag in CLOSING)
    return _document(path, words, ends, {"tag": tuple(tags)})


def _document(path: str | Path, words: list[str], ends: list[int], columns: dict[str, tuple[str, ...]]) -> Document:
    """`ends` are where sentences end; of a sentence without words, where the one before it does."""
    if not words:
        raise InputError(f"{path}: there are no sentences in the file.")
    return Document(Path(path).stem, tuple(words), np.unique([0, *ends, len(words)]), columns)


def sentences_of(documents: Iterable[Document]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Words of all documents, the first word of each sentence (and their number), and each sentence's document."""
    words: list[str] = []
    starts = [np.zeros(1, np.int64)]
    of_document = []
    for number, d in enumerate(documents):
        starts.append(np.asarray(d.starts[1:], np.int64) + len(words))
        words.extend(d.words)
        of_document.append(np.full(d.n_sentences, number))
    return words, np.concatenate(starts), np.concatenate(of_document) if of_document else np.zeros(0, np.int64)


def entity_tags(document: Document) -> tuple[str, ...]:
    """BIO tags of a document's outermost mentions.

    A mention inside another, or one that crosses a sentence's end, is left out; of two that overlap the first stays.
    """
    if document.mentions is None:
        raise InputError(f'document "{document.name}" has no mentions: its file has no Entity= in the last column.')
    sentence = document.sentence_of()
    tags = ["O"] * len(document)
    free = np.ones(len(document), bool)
    for mention in sorted(document.mentions, key=lambda m: (m.start, -m.end)):
        kind = mention.type or "entity"
        if not free[mention.start : mention.end].all() or sentence[mention.start] != sentence[mention.end - 1]:
            continue
        tags[mention.start] = f"B-{kind}"
        for i in range(mention.start + 1, mention.end):
            tags[i] = f"I-{kind}"
        free[mention.start : mention.end] = False
    return tuple(tags)
