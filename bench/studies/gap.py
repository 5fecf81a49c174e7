"""GAP: passages with a pronoun and two names, and answers about them as something that a coreference model learns from."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from howsure.corpora.document import Document, Mention
from howsure.errors import InputError
from howsure.kernels.cells import Floats
from howsure.models.coreference.ranker import Lesson, pair_posterior

GAP_COLUMNS = ["ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref"]


@dataclass(frozen=True, slots=True)
class GapItem:
    """A passage with three spans of tokens (start, end) and whether the pronoun means A or B."""

    document: Document
    pronoun: tuple[int, int]
    a: tuple[int, int]
    b: tuple[int, int]
    a_coref: bool
    b_coref: bool


def gap_rows(path: str | Path) -> list[dict[str, str]]:
    """The rows of a GAP file (TSV)."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if rows.fieldnames is None or not set(GAP_COLUMNS) <= set(rows.fieldnames):
            raise InputError(f"{path}: GAP has the columns {', '.join(GAP_COLUMNS)}; got {rows.fieldnames}.")
        return list(rows)


def gap_item(row: dict[str, str], document: Document, at: Sequence[tuple[int, int]]) -> GapItem:
    """A row as an item of `document`, whose words stand at the characters `at` of its text."""
    spans = []
    for name in ("Pronoun", "A", "B"):
        begin = int(row[f"{name}-offset"])
        end = begin + len(row[name])
        inside = [k for k, (x, y) in enumerate(at) if x < end and y > begin]
        spans.append((inside[0], inside[-1] + 1))
    pronoun, a, b = spans
    return GapItem(document, pronoun, a, b, row["A-coref"] == "TRUE", row["B-coref"] == "TRUE")


@dataclass(frozen=True, slots=True)
class Asked:
    """A document of which only this is known: whether one mention is the same entity as each of some others.

    `answers` maps a mention's number to yes or no; a tuple of numbers stands for mentions of which any may be meant.
    """

    document: Document
    mentions: tuple[Mention, ...]
    mention: int
    answers: tuple[tuple[tuple[int, ...], bool], ...]

    @property
    def lesson(self) -> Lesson:
        """What `fit_coref` learns from."""
        return self.document, self.mentions, partial(asked_differences, self)


def asked_differences(asked: Asked, pair: Floats, new: Floats) -> tuple[Floats, Floats, float]:
    """Derivatives of -Σ log P(answer) by the scores of the later mention of each two.

    P(i and j are together) is Σ_k P(a_i = k) Q[k, j]; Q is taken as given. Of several mentions that may be meant, the most
    probable is asked about.
    """
    p = pair_posterior(pair, new, "asked")
    q = p.pairs()
    good: dict[int, tuple[Floats, float]] = {}  # of each row: weights of its antecedents, and of NEW
    for others, yes in asked.answers:
        other = max(others, key=lambda k: q[asked.mention, k])
        i, j = max(asked.mention, other), min(asked.mention, other)
        weight, fresh = good.get(i, (np.ones(i), 1.0))
        good[i] = (weight * (q[:i, j] if yes else 1.0 - q[:i, j]), 0.0 if yes else fresh)
    d_pair, d_new, loss = np.zeros(len(pair)), np.zeros(len(new)), 0.0
    for i, (weight, fresh) in good.items():
        row, start = p.antecedents[i, :i], i * (i - 1) // 2
        share = max(float(row @ weight + p.new[i] * fresh), 1e-300)
        d_pair[start : start + i] = row - row * weight / share
        d_new[i] = p.new[i] - p.new[i] * fresh / share
        loss -= float(np.log(share))
    return d_pair, d_new, loss
