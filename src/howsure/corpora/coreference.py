"""Documents for coreference from whatever names them: a file (also JSON lines), a folder, a split of GUM or OntoGUM."""

from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from howsure.corpora.conll2012 import BracketReader, read_conll2012
from howsure.corpora.conllu import NAMES, read_conllu
from howsure.corpora.document import Document, Mention
from howsure.corpora.reading import corpus_path, json_documents, numbered_lines, read_splits
from howsure.corpora.relations import universal
from howsure.errors import InputError

# Documents with mentions as JSON lines: one object a document.
#
#     {"name": "d1", "sentences": [["Ann", "left"], ["She", "slept"]], "clusters": [[[0, 1], [2, 3]]]}
#
# Tokens are numbered through the document and ends are exclusive. Instead of "clusters" there may be "mentions", a list
# of {"start", "end", "entity"}; "lemma", "upos", "xpos", "features", "relation" (a list per document) and "heads" (-1 for
# a root) give the parse, "metadata" and "speakers" (one a sentence) the rest.
#
# Documents with a "doc_key" are those of end-to-end systems (e2e-coref and what follows it): the ends of their clusters
# are inclusive, and "speakers" has a list a sentence, one a word.


def read_coref_json(path: str | Path) -> list[Document]:
    """The documents of a file of JSON lines. An error names file and line."""

    def made(record: Any, where: str) -> Document:
        if not isinstance(record, dict) or not isinstance(record.get("sentences"), list):
            raise InputError(f'{where}: a document is an object with "sentences", a list of lists of words.')
        if "doc_key" in record:
            record = _with_exclusive_ends(record, where)
        number = where.rpartition(" ")[2]
        return _document(record, where, str(record.get("name", f"{Path(path).stem}-{number}")))

    return list(json_documents(path, made))


def _with_exclusive_ends(record: dict[str, Any], where: str) -> dict[str, Any]:
    """A document of an end-to-end system as we write it; what would be misread is refused."""
    if "subtoken_map" in record or "sentence_map" in record:
        raise InputError(
            f"{where}: its tokens are pieces of words (subtoken_map); give the file before it was cut into segments."
        )
    if "predicted_clusters" in record:
        raise InputError(
            f'{where}: "clusters" is the gold and "predicted_clusters" the system; write each to a file of its own, as "clusters".'
        )
    made = {k: v for k, v in record.items() if k not in ("doc_key", "speakers", "constituents", "ner")}
    clusters = record.get("clusters", [])
    if any(isinstance(end, bool) or not isinstance(end, int) for c in clusters for span in c for end in span):
        raise InputError(f'{where}: a mention in "clusters" is [first, last], two numbers of tokens.')
    made |= {"name": str(record["doc_key"]), "clusters": [[(s, e + 1) for s, e in c] for c in clusters]}
    said = record.get("speakers")
    if said:
        made["speakers"] = [s if isinstance(s, str) else next(iter(s), "") for s in said]
    return made


def _document(record: dict[str, Any], where: str, name: str) -> Document:
    sentences = record["sentences"]
    words = tuple(str(w) for s in sentences for w in s)
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sentences], dtype=np.int64)]).astype(np.int64)
    columns = {}
    for column in NAMES:
        if column in record:
            columns[column] = tuple(str(v) for v in record[column])
            if len(columns[column]) != len(words):
                raise InputError(f'{where}: "{column}" has {len(columns[column])} entries for {len(words)} words.')
    heads = None
    if "heads" in record:
        heads = np.array([index(h) for h in record["heads"]], dtype=np.int64)
        if heads.shape != (len(words),) or (len(heads) and (heads.min() < -1 or heads.max() >= len(words))):
            raise InputError(f'{where}: "heads" needs, for each of {len(words)} words, a word\'s number or -1.')
    speakers = record.get("speakers") or [""] * len(sentences)
    if len(speakers) != len(sentences):
        raise InputError(f'{where}: "speakers" has {len(speakers)} entries for {len(sentences)} sentences.')
    mentions = None
    if "mentions" in record:
        mentions = [Mention(index(m["start"]), index(m["end"]), str(m["entity"])) for m in record["mentions"]]
    elif "clusters" in record:
        mentions = [
            Mention(index(s), index(e), str(n)) for n, cluster in enumerate(record["clusters"]) for s, e in cluster
        ]
    for m in mentions or ():
        if not 0 <= m.start < m.end <= len(words):
            raise InputError(f"{where}: the mention of tokens {m.start} to {m.end} is outside its {len(words)} tokens.")
    ordered = None if mentions is None else tuple(sorted(mentions, key=lambda m: (m.start, -m.end)))
    metadata = {str(k): str(v) for k, v in record.get("metadata", {}).items()}
    said = tuple({"speaker": str(s)} if s else {} for s in speakers)
    return Document(name, words, starts, columns, heads, metadata=metadata, sentence_metadata=said, mentions=ordered)


READERS = {".conllu": read_conllu, **dict.fromkeys((".conll", ".key", ".response"), read_conll2012)}
READERS |= dict.fromkeys((".jsonl", ".json"), read_coref_json)


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
    files = sorted(p for p in path.iterdir() if p.suffix in READERS or p.name.endswith("_conll"))
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


def _read_file(path: Path) -> list[Document]:
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    beside = path.with_suffix(".conll")
    if path.suffix == ".conllu":
        documents = [universal(d, refuse=False) for d in read_conllu(path)]
        if beside.exists() and len(documents) == 1:
            return [read_ontogum(beside, documents[0])]
        return documents
    if path.suffix not in READERS and not path.name.endswith("_conll"):
        raise InputError(f"{path}: the ending tells the format, and is one of {', '.join(READERS)} or _conll.")
    return READERS.get(path.suffix, read_conll2012)(path)


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


def gum_documents(part: str, scheme: str = "ontogum", limit: int | None = None) -> list[Document]:
    """The documents of GUM's split `part` under HOWSURE_DATA, in GUM's own scheme ("gum") or OntoNotes' ("ontogum"); the
    first `limit` of them."""
    splits = read_splits(corpus_path("gum", "splits.md"))
    if part not in splits:
        raise InputError(f"GUM has the parts {', '.join(splits)}; got {part!r}.")
    made = []
    for name in splits[part][:limit]:
        (document,) = read_conllu(corpus_path("gum", "dep", f"{name}.conllu"))
        if scheme == "ontogum":
            document = read_ontogum(corpus_path("gum", "ontogum", f"{name}.conll"), document)
        made.append(document)
    return made
