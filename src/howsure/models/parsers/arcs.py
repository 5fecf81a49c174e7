"""An arc-factored log-linear parser of dependencies: hashed features, trained by the exact likelihood of the trees.

P(tree, labels | words, tags) = exp(Σ w · f(arc)) / Z × Π P(label | arc), so that both parts are trained by themselves:
arcs against all trees, labels as a softmax on the arcs of the treebank.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure._validate import generator
from howsure.corpora.document import Document
from howsure.errors import InputError
from howsure.kernels.cells import Ints
from howsure.kernels.ragged import offsets
from howsure.kernels.trees.choice import kernel
from howsure.models.saved import Array, Tempered, load_model, save_model
from howsure.posteriors.trees import TreePosterior, is_projective, is_tree
from howsure.processes import Progress

VERSION = 1
ARRAYS = {"arcs": Array("u", ("arc",)), "of_labels": Array("u", ("row", "label"))}
# tags of words that stand before what they mark
MARKERS = frozenset(("ADP", "SCONJ", "CCONJ", "PART", "IN", "TO", "CC"))
FARTHEST = 4  # words before a word where its marker is looked for
MIDDLE = 128  # weights are whole numbers of a step, kept as bytes with this in the middle
RATE, LABEL_RATE, SHRINK = 0.03, 0.1, 0.002  # AdaGrad's steps, and the pull of each touched weight towards 0
SEEN = 2  # features seen fewer times in gold arcs have no weight


@dataclass(frozen=True)
class Sentences:
    """Words and tags as the kernels read them: rows of four hashes, each sentence after a row for its root (at `base`)."""

    tokens: NDArray[np.uint64]
    coarse: Ints
    starts: Ints

    @property
    def base(self) -> Ints:
        return self.starts + np.arange(len(self.starts))


@lru_cache(200_000)
def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def encoded(documents: Sequence[Document]) -> Sentences:
    """The sentences of documents; a missing kind of tags is replaced by the other."""
    words = [w for d in documents for w in d.words]
    fine, coarse = (
        [t for d in documents for t in d.columns.get(a, d.columns.get(b, d.columns.get("tag", ("_",) * len(d))))]
        for a, b in (("xpos", "upos"), ("upos", "xpos"))
    )
    starts = offsets([n for d in documents for n in np.diff(d.starts)])
    number = {tag: min(i, 61) for i, tag in enumerate(sorted(set(coarse)))}
    rows = np.zeros((len(words) + len(starts) - 1, 4), np.uint64)
    codes = np.full(len(rows), 61, np.int64)
    for s, (a, z) in enumerate(pairwise(starts.tolist())):
        rows[a + s] = [_hash(f"root {c}") for c in range(4)]
        for i in range(a, z):
            marker = next((words[k] for k in range(i - 1, max(a, i - FARTHEST) - 1, -1) if coarse[k] in MARKERS), "")
            texts = "w" + words[i].lower(), "x" + fine[i], "p" + coarse[i], "m" + marker.lower()
            rows[i + s + 1] = [_hash(t) for t in texts]
            codes[i + s + 1] = number[coarse[i]]
    return Sentences(rows, codes, starts)


@dataclass(frozen=True, eq=False)
class ArcParser(Tempered):
    """A parser that can be asked. Made by `train_arcs` or `ArcParser.load`."""

    labels: tuple[str, ...]
    arcs: NDArray[np.uint8] = field(repr=False)
    of_labels: NDArray[np.uint8] = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)

    kind = "arcs"

    def __repr__(self) -> str:
        used = int((self.arcs != MIDDLE).sum()), int((self.of_labels != MIDDLE).sum())
        return f"ArcParser({len(self.labels)} labels, {used[0]:,} weights of arcs, {used[1]:,} of labels)"

    def posteriors(self, documents: Sequence[Document], *, projective: bool | None = None) -> Iterator[TreePosterior]:
        """The posterior over the trees of each sentence; `projective` as it was trained if not given."""
        s, kept = encoded(documents), bool(self.settings["projective"]) if projective is None else projective
        run = kernel("labelled_scores", 90.0 * float((np.diff(s.starts) ** 2).sum()))
        for a, z in pairwise(s.base.tolist()):
            scores = np.zeros((z - a, z - a - 1, len(self.labels)))
            with np.errstate(over="ignore"):  # hashes overflow on purpose
                run(s.tokens[a:z], s.coarse[a:z], *self._weights, scores)
            yield TreePosterior(scores / self.temperature, projective=kept, labels=self.labels)

    @cached_property
    def _weights(self) -> tuple[Any, ...]:
        """Weights of arcs and of labels as the kernel reads them, made once: pipelines ask for a sentence at a time."""
        w, rows = self._expanded(self.arcs, "arc_step"), self._expanded(self.of_labels, "label_step")
        return w, _shift(w), rows, _shift(rows)

    def _expanded(self, packed: NDArray[np.uint8], step: str) -> NDArray[np.float32]:
        return (packed.astype(np.float32) - MIDDLE) * np.float32(self.settings[step])

    def save(self, path: str | Path) -> None:
        """Write the model."""
        settings = self.settings | {"labels": list(self.labels)}
        save_model(path, self.kind, VERSION, settings, {"arcs": self.arcs, "of_labels": self.of_labels})

    @staticmethod
    def load(path: str | Path) -> ArcParser:
        """Read what `save` wrote."""
        settings, arrays = load_model(path, "arcs", VERSION, ARRAYS, lists={"labels": "label"})
        made = ArcParser(tuple(settings.pop("labels")), arrays["arcs"], arrays["of_labels"], settings)
        tables = made.arcs, made.of_labels
        sound = made.labels and all(t.dtype == np.uint8 and len(t) > 1 and not len(t) & (len(t) - 1) for t in tables)
        numbers = [settings.get(k, d) for k, d in (("arc_step", None), ("label_step", None), ("temperature", 1.0))]
        sound = sound and all(isinstance(x, int | float) and 1e-9 < x < 1e6 for x in numbers)
        if not sound or "projective" not in settings:
            raise InputError(f"{path} is damaged: its weights are not those of a parser.")
        return made


def _shift(table: NDArray[Any]) -> np.uint64:
    return np.uint64(65 - len(table).bit_length())


def gold_trees(documents: Sequence[Document]) -> tuple[Ints, list[str]]:
    """Heads (0: the root, else numbers from 1 in the sentence) and labels of all words."""
    heads, labels = [np.zeros(0, np.int64)], list[str]()
    for d in documents:
        if d.heads is None or "relation" not in d.columns:
            raise InputError(f'document "{d.name}" has words without a head or a relation.')
        heads.append(np.where(d.heads < 0, 0, d.heads - np.repeat(d.starts[:-1], np.diff(d.starts)) + 1))
        labels.extend(d.columns["relation"])
    return np.concatenate(heads), labels


def train_arcs(
    documents: Sequence[Document],
    *,
    projective: bool = True,
    epochs: int = 6,
    bits: int = 21,
    label_bits: int = 15,
    rng: np.random.Generator | int | None = 0,
    progress: Progress | None = None,
) -> ArcParser:
    """Train on sentences with trees: AdaGrad, one sentence a step, the step falling to 0. `bits` sizes the hashed tables.

    Sentences whose annotation is no tree with one root, or crosses where `projective`, are left out of the arcs' training.
    """
    random, s = generator(rng), encoded(documents)
    heads, relations = gold_trees(documents)
    names = tuple(sorted(set(relations)))
    label = np.array([names.index(r) for r in relations], np.int64)
    trees = [heads[a:z] for a, z in pairwise(s.starts.tolist())]
    usable = np.array([i for i, t in enumerate(trees) if is_tree(t) and (not projective or is_projective(t))], np.int64)
    if not len(usable):
        raise InputError("no sentence is a tree that the parser can make: there is nothing to train on.")
    work = 90.0 * epochs * float((np.diff(s.starts) ** 2).sum())
    w, squares, counts = np.zeros(1 << bits, np.float32), np.zeros(1 << bits, np.float32), np.zeros(1 << bits, np.int64)
    rows, row_squares = (np.zeros((1 << label_bits, len(names)), np.float32) for _ in range(2))
    text = s.tokens, s.coarse, s.starts, heads
    with np.errstate(over="ignore"):
        kernel("arc_support", work)(*text, _shift(w), counts)
        for epoch in range(epochs):
            left, order = 1.0 - epoch / epochs, random.permutation(usable)
            how = _shift(w), projective, RATE * left, SHRINK
            log_p = kernel("arc_epoch", work)(*text, order, w, squares, counts >= SEEN, *how)
            learnt = label, rows, row_squares, _shift(rows), LABEL_RATE * left, SHRINK
            kernel("label_epoch", work)(*text, random.permutation(len(trees)), *learnt)
            if progress is not None:
                said = f"log P {log_p / sum(len(trees[i]) for i in usable):.4f} a word"
                progress(epoch + 1, epochs, said)
    (packed, step), (packed_rows, row_step) = _packed(w), _packed(rows)
    settings = {"projective": projective, "epochs": epochs, "left_out": len(trees) - len(usable)}
    return ArcParser(names, packed, packed_rows, settings | {"arc_step": step, "label_step": row_step})


def _packed(weights: NDArray[np.float32]) -> tuple[NDArray[np.uint8], float]:
    """Weights as bytes, and the step between them."""
    step = max(float(np.abs(weights).max()) / 127, 1e-6)
    return (np.rint(weights / step) + MIDDLE).astype(np.uint8), step
