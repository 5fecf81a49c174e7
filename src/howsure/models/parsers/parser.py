"""Parsers by kind, what they read, their temperatures, and what training one returns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from howsure._result import Training, shown_as
from howsure.corpora.bracketed import Treebank, read_bracketed
from howsure.corpora.conllu import read_conllu
from howsure.corpora.document import Document
from howsure.corpora.reading import numbered_lines
from howsure.corpora.tagged import read_tagged
from howsure.errors import InputError
from howsure.models.parsers.arcs import ArcParser, gold_trees
from howsure.models.parsers.pcfg import Pcfg
from howsure.models.taggers.temperature import FittedTemperature, least_loss
from howsure.posteriors.constituents import ConstituentPosterior
from howsure.posteriors.trees import TreePosterior

Parser = ArcParser | Pcfg
LONGEST, MOST = 40, 1_000  # words of a sentence and sentences that a temperature is fitted to


Source = str | Path | Sequence[str | Path] | Document | Sequence[Document] | Treebank | Sequence[Treebank]


def read_text(source: Source, *, trees: bool = True) -> tuple[list[Document], list[Treebank]]:
    """Documents of CoNLL-U, or treebanks of bracketed files; any other tagged text where `trees` are not needed."""
    given: list[Any] = [source] if isinstance(source, str | Path | Document | Treebank) else list(source)
    documents = [g for g in given if isinstance(g, Document)]
    banks = [g for g in given if isinstance(g, Treebank)]
    files = [g for g in given if isinstance(g, str | Path)]
    first = [next((line.strip() for _, line in numbered_lines(f) if line.strip()), "") for f in files]
    bracketed = [line[:1] == "(" for line in first]
    if any(bracketed) or banks:
        if not all(bracketed) or documents:
            raise InputError("files are either CoNLL-U or bracketed, not both.")
        return [], [*banks, *(read_bracketed(f) for f in files)]
    if files:
        documents += [d for f in files for d in read_conllu(f)] if trees else read_tagged(files, need_tags=False)
    if not documents:
        raise InputError(f"there are no sentences in {', '.join(str(f) for f in given[:3]) or 'an empty list'}.")
    return documents, []


@dataclass(frozen=True, slots=True)
class ParserTraining(Training):
    """A trained parser."""

    SHOWN = "verdict kind=model.kind labels=model.labels n_sentences n_words settings=model.settings temperature"
    __repr__ = shown_as("{model!r}")

    model: Parser = field(repr=False)
    n_sentences: int
    n_words: int
    temperature: FittedTemperature | None = None

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        said = f"Trained {self.model!r} on {self.n_sentences:,} sentences, {self.n_words:,} words."
        if left := self.model.settings.get("left_out"):
            said += f" {left:,} sentences, whose trees the parser cannot make, are left out of the arcs' training."
        if (t := self.temperature) is not None:
            said += f" A temperature of {t.temperature:.3f} lowers the {t.aim} from {t.before:.4f} to {t.after:.4f}."
        return said


def fitted_temperature(
    asked: Iterable[tuple[TreePosterior | ConstituentPosterior, tuple[Any, ...]]],
) -> FittedTemperature:
    """The temperature of the largest likelihood of held-out trees that the parser can make: of the first 1,000 sentences of up to
    40 words, posteriors with what their `log_probability` takes."""
    short = ((p, gold) for p, gold in asked if 0 < p.n <= LONGEST)
    kept = [(p, gold) for p, gold in islice(short, MOST) if np.isfinite(p.log_probability(*gold))]
    n = sum(p.n for p, _ in kept)
    if not n:
        raise InputError("no held-out sentence has a tree that the parser can make.")

    def loss(log_t: float) -> float:
        return -sum(p.tempered(float(np.exp(log_t))).log_probability(*gold) for p, gold in kept) / n

    return least_loss(loss, "log loss per word", n, 0.02)


def held_out(parser: Parser, documents: list[Document], banks: list[Treebank]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The posterior of each sentence with its gold tree, as `log_probability` takes it: heads and labels, or spans."""
    if isinstance(parser, Pcfg):
        yield from ((parser.posterior(t.words), (t.spans,)) for b in banks for t in b.trees)
        return
    heads, names = gold_trees(documents)
    code = {x: i for i, x in enumerate(parser.labels)}
    labels, at = np.array([code.get(x, -1) for x in names]), 0
    for posterior in parser.posteriors(documents):
        own = slice(at, at + posterior.n)
        yield posterior, (heads[own], labels[own])
        at += posterior.n
