"""Documents for coreference from whatever names them: a file, a folder, a split of GUM or OntoGUM."""

from __future__ import annotations

from pathlib import Path

from howsure.corpora.conllu import read_conllu
from howsure.corpora.coreference.conll2012 import read_conll2012
from howsure.corpora.coreference.entity_brackets import BracketReader
from howsure.corpora.coreference.json_lines import read_coref_json
from howsure.corpora.document import Document
from howsure.corpora.reading import corpus_path, numbered_lines, read_splits
from howsure.errors import InputError

READERS = {
    ".conllu": read_conllu,
    ".conll": read_conll2012,
    ".key": read_conll2012,
    ".response": read_conll2012,
    ".jsonl": read_coref_json,
    ".json": read_coref_json,
}


def read_documents(source: str | Path) -> tuple[list[Document], list[InputError]]:
    """Documents, and the errors of files that could not be read.

    `source` is a file by its ending (.conllu; .conll, .key, .response or …_conll of CoNLL-2012; .jsonl), a folder of
    such files, or "gum:dev" and "ontogum:dev" for a split under HOWSURE_DATA. In a folder a .conllu file with a .conll
    file of the same name beside it takes its mentions from there, joined by token. In a folder one bad file does not
    keep the others from being read; a single bad file is an error.
    """
    scheme, mark, part = str(source).partition(":")
    if mark and scheme in ("gum", "ontogum"):
        return gum_documents(part, scheme), []
    path = Path(source)
    if not path.is_dir():
        return _read_file(path), []
    files = sorted(p for p in path.iterdir() if _reader(p) is not None)
    parsed = {p.stem for p in files if p.suffix == ".conllu"}
    files = [p for p in files if not (p.suffix == ".conll" and p.stem in parsed)]
    if not files:
        raise InputError(f"there is no file in {path} that ends in {', '.join(READERS)} or _conll.")
    documents: list[Document] = []
    errors: list[InputError] = []
    for file in files:
        try:
            documents += _read_file(file)
        except InputError as error:
            errors.append(error)
    if not documents:
        raise errors[0]
    return documents, errors


def source_files(source: str | Path | None) -> list[Path]:
    """What `read_documents` would read: the file or folder, the .conll file beside a .conllu file, the folders of GUM."""
    if source is None:
        return []
    scheme, mark, _ = str(source).partition(":")
    if mark and scheme in ("gum", "ontogum"):
        return [corpus_path("gum", "dep"), corpus_path("gum", "ontogum"), corpus_path("gum", "splits.md")]
    path = Path(source)
    return [path, path.with_suffix(".conll")] if path.suffix == ".conllu" else [path]


def _reader(path: Path) -> object:
    return READERS.get(path.suffix) or (read_conll2012 if path.name.endswith("_conll") else None)


def _read_file(path: Path) -> list[Document]:
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    beside = path.with_suffix(".conll")
    if path.suffix == ".conllu":
        documents = read_conllu(path)
        if beside.exists() and len(documents) == 1:
            return [read_ontogum(beside, documents[0])]
        return documents
    if path.suffix in READERS:
        return READERS[path.suffix](path)
    if path.name.endswith("_conll"):
        return read_conll2012(path)
    raise InputError(f"{path}: the ending tells the format, and is one of {', '.join(READERS)} or _conll.")


PARTS = ("train", "dev", "test")


def read_ontogum(path: str | Path, parsed: Document) -> Document:
    """`parsed` with the mentions of a three-column file: number, word, brackets. Words must agree token by token."""
    brackets = BracketReader(crossing=True)
    at = 0
    for number, line in numbered_lines(path):
        if line.startswith("#") or not line.strip():
            continue
        fields = line.split("\t")
        where = f"{path}, line {number}"
        if len(fields) != 3:
            raise InputError(f"{where}: three columns separated by tabs were expected; there are {len(fields)}.")
        if at >= len(parsed) or fields[1] not in (parsed.words[at], ""):  # OntoGUM leaves out the word "|"
            there = f'"{parsed.words[at]}"' if at < len(parsed) else "no token"
            raise InputError(f'{where}: "{fields[1]}" is token {at}, where document "{parsed.name}" has {there}.')
        if fields[2] not in ("_", "-"):
            brackets.read(fields[2], at, where)
        at += 1
    if at != len(parsed):
        raise InputError(f'{path}: {at} tokens, where document "{parsed.name}" has {len(parsed)}.')
    return parsed.with_(mentions=brackets.mentions(str(path)))


def gum_documents(part: str, scheme: str = "ontogum") -> list[Document]:
    """The documents of GUM's split `part` under HOWSURE_DATA, in GUM's own scheme ("gum") or OntoNotes' ("ontogum")."""
    splits = read_splits(corpus_path("gum", "splits.md"))
    if part not in splits:
        raise InputError(f"GUM has the parts {', '.join(splits)}; got {part!r}.")
    made = []
    for name in splits[part]:
        (document,) = read_conllu(corpus_path("gum", "dep", f"{name}.conllu"))
        if scheme == "ontogum":
            document = read_ontogum(corpus_path("gum", "ontogum", f"{name}.conll"), document)
        made.append(document)
    return made
