"""GAP: a pronoun and two names in a passage of raw text, and which of the names it means."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from howsure.corpora.document import Document, Mention
from howsure.data import word_list
from howsure.errors import InputError

TOKEN = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*|['’]\w+|\S")
COLUMNS = ["ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref"]
PRONOUN_WORDS = word_list("gap-pronoun")


@dataclass(frozen=True, slots=True)
class GapItem:
    """A passage with three spans of tokens (start, end) and whether the pronoun means A or B."""

    document: Document
    pronoun: tuple[int, int]
    a: tuple[int, int]
    b: tuple[int, int]
    a_coref: bool
    b_coref: bool


def read_gap(path: str | Path) -> list[GapItem]:
    """The items of a GAP file (TSV). There is no parse: words by rule, sentences at full stops before capitals."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if rows.fieldnames is None or not set(COLUMNS) <= set(rows.fieldnames):
            raise InputError(f"{path}: GAP has the columns {', '.join(COLUMNS)}; got {rows.fieldnames}.")
        return [_item(row) for row in rows]


def _item(row: dict[str, str]) -> GapItem:
    words, at = tokens(row["Text"])
    spans = {}
    for name in ("Pronoun", "A", "B"):
        begin = int(row[f"{name}-offset"])
        end = begin + len(row[name])
        inside = [k for k, (x, y) in enumerate(at) if x < end and y > begin]
        spans[name] = (inside[0], inside[-1] + 1)
    document = Document(row["ID"], tuple(words), sentence_starts(words, spans.values()))
    return GapItem(
        document, spans["Pronoun"], spans["A"], spans["B"], row["A-coref"] == "TRUE", row["B-coref"] == "TRUE"
    )


def tokens(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Words and punctuation, and where each begins and ends."""
    words, at = [], []
    for match in TOKEN.finditer(text):
        words.append(match.group())
        at.append((match.start(), match.end()))
    return words, at


def sentence_starts(words: list[str], whole: Iterable[tuple[int, int]]) -> np.ndarray:
    """Sentences end at . ! ? before a capital, never inside a span that must stay whole."""
    kept = {k for s, e in whole for k in range(s + 1, e)}
    starts = [0]
    for k in range(1, len(words)):
        ends = words[k - 1] in (".", "!", "?") and (k < 2 or len(words[k - 2]) > 2)
        if ends and words[k][:1].isupper() and k not in kept:
            starts.append(k)
    return np.array([*starts, len(words)], dtype=np.int64)


def plain_mentions(document: Document, whole: Iterable[tuple[int, int]] = ()) -> tuple[Mention, ...]:
    """Mentions without a parse: pronouns and runs of capitalised words; spans in `whole` are taken as they are."""
    taken = set(whole)
    covered = {k for s, e in taken for k in range(s, e)}
    spans = set(taken)
    for sentence in document.sentences():
        run: int | None = None
        for k in range(sentence.start, sentence.stop + 1):
            word = document.words[k] if k < sentence.stop else ""
            is_pronoun = word.lower() in PRONOUN_WORDS
            capital = word[:1].isupper() and not is_pronoun and k not in covered and word.lower() not in COMMON
            if capital and run is None:
                run = k
            if not capital and run is not None:
                spans.add((run, k))
                run = None
            if is_pronoun and k not in covered:
                spans.add((k, k + 1))
    ordered = sorted(spans, key=lambda s: (s[0], -s[1]))
    return tuple(Mention(s, e, str(n)) for n, (s, e) in enumerate(ordered))


COMMON = word_list("common")
