"""OntoGUM: coreference in the OntoNotes scheme, three columns without sentences, joined by token with GUM's parses."""

from __future__ import annotations

from pathlib import Path

from howsure.corpora.conllu import read_conllu
from howsure.corpora.coreference.entity_brackets import BracketReader
from howsure.corpora.document import Document
from howsure.corpora.folder import corpus_path
from howsure.corpora.lines import numbered_lines
from howsure.corpora.splits import read_splits
from howsure.errors import InputError

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
            raise InputError(f"{where}: three columns apart by tabs were expected; there are {len(fields)}.")
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
