"""An arc-factored log-linear parser of dependencies: hashed features, trained by the exact likelihood of the trees.

P(tree, labels | words, tags) = exp(Σ w · f(arc)) / Z × Π P(label | arc), so that both parts are trained by themselves:
arcs against all trees, labels as a softmax on the arcs of the treebank.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.corpora.document import Document
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.threads import for_each
from howsure.kernels.trees.choice import kernel
from howsure.models.saved import Array, load_model, save_model
from howsure.posteriors.trees import TreePosterior, is_projective, is_tree
from howsure.processes import Progress

VERSION = 1
ARRAYS = {"arcs": Array("u", ("arc",)), "of_labels": Array("u", ("row", "label"))}
MARKERS = frozenset("ADP SCONJ CCONJ PART IN TO CC".split())  # tags of function words that stand before what they mark
FARTHEST = 4  # words before a word where its marker is looked for
MIDDLE = 128  # weights are whole numbers of a step, kept as bytes with this in the middle


@dataclass(frozen=True)
class Sentences:
    """Words and tags as a parser reads them: rows of hashes, each sentence after a row for its root."""

    tokens: NDArray[np.uint64]
    coarse: Ints
    starts: Ints

    @property
    def base(self) -> Ints:
        """The row of each sentence's root."""
        return self.starts[:-1] + np.arange(len(self.starts) - 1)


@lru_cache(200_000)
def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def encoded(words: Sequence[str], fine: Sequence[str], coarse: Sequence[str], starts: Ints) -> Sentences:
    """Words with their tags, sentences one after another, as hashes."""
    n, ends = len(words), np.asarray(starts, np.int64)
    number = {tag: min(i, 61) for i, tag in enumerate(sorted(set(coarse)))}
    rows = np.zeros((n + len(ends) - 1, 4), np.uint64)
    codes = np.full(len(rows), 61, np.int64)
    root = [_hash(f"root {c}") for c in range(4)]
    for s, (a, z) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        rows[a + s] = root
        for i in range(a, z):
            marker = next((words[k] for k in range(i - 1, max(a, i - FARTHEST) - 1, -1) if coarse[k] in MARKERS), "")
            rows[i + s + 1] = (
                _hash("w" + words[i].lower()), _hash("x" + fine[i]), _hash("p" + coarse[i]), _hash("m" + marker.lower())
            )  # fmt: skip
            codes[i + s + 1] = number[coarse[i]]
    return Sentences(rows, codes, ends)


def encoded_documents(documents: Sequence[Document]) -> Sentences:
    """The sentences of documents; a missing kind of tags is replaced by the other."""
    words = [w for d in documents for w in d.words]
    kinds = [
        [t for d in documents for t in d.columns.get(a, d.columns.get(b, ("_",) * len(d)))]
        for a, b in (("xpos", "upos"), ("upos", "xpos"))
    ]
    starts = np.concatenate([[0], np.cumsum([n for d in documents for n in np.diff(d.starts)])]).astype(np.int64)
    return encoded(words, kinds[0], kinds[1], starts)


@dataclass(frozen=True, eq=False)
class ArcParser:
    """A parser that can be asked. Made by `train_arcs` or `ArcParser.load`."""

    labels: tuple[str, ...]
    arcs: NDArray[np.uint8] = field(repr=False)
    of_labels: NDArray[np.uint8] = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)

    kind = "arcs"

    def __repr__(self) -> str:
        used = int((self.arcs != MIDDLE).sum()), int((self.of_labels != MIDDLE).sum())
        return f"ArcParser({len(self.labels)} labels, {used[0]:,} weights of arcs, {used[1]:,} of labels)"

    def posterior(self, text: Sentences | Sequence[Document], *, projective: bool | None = None) -> TreePosterior:
        """The posterior over the trees of sentences; `projective` as it was trained if not given."""
        s = text if isinstance(text, Sentences) else encoded_documents(text)
        lengths = np.diff(s.starts)
        at = np.concatenate([[0], np.cumsum(lengths * (lengths + 1))]).astype(np.int64)
        weights = self._expanded(self.arcs, "arc_step")
        scores = np.empty(at[-1])
        run = kernel("arc_scores", 90 * float(at[-1]))

        def work(first: int, after: int) -> None:
            with np.errstate(over="ignore"):  # hashes overflow on purpose
                run(s.tokens, s.coarse, s.starts, at, weights, _shift(self.arcs), first, after, scores)

        for_each(work, s.starts)
        rows, base, divided = self._expanded(self.of_labels, "label_step"), s.base, self._t("label_temperature")

        def labels(sentence: Ints, head: Ints, dependent: Ints) -> Floats:
            made = np.empty((len(sentence), len(self.labels)))
            ends = np.append(base, len(s.tokens))
            with np.errstate(over="ignore"):
                kernel("label_log_probs", made.size * 20.0)(
                    s.tokens, base[sentence], ends[sentence + 1], np.asarray(head, np.int64),
                    np.asarray(dependent, np.int64), rows, _shift(rows), made,
                )  # fmt: skip
            if divided != 1.0:
                made /= divided
                made -= np.log(np.exp(made - made.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)) + made.max(axis=1, keepdims=True)
            return made

        kept = bool(self.settings["projective"]) if projective is None else projective
        return TreePosterior.of_flat(
            scores / self._t("temperature"), lengths, projective=kept, names=self.labels, labels=labels
        )

    def _t(self, name: str) -> float:
        return float(self.settings.get(name, 1.0))

    def _expanded(self, packed: NDArray[np.uint8], step: str) -> NDArray[np.float32]:
        return (packed.astype(np.float32) - MIDDLE) * np.float32(self.settings[step])

    def with_settings(self, **changes: Any) -> ArcParser:
        """A copy with some settings changed: `temperature` divides the scores of arcs, `label_temperature` those of labels."""
        return replace(self, settings=self.settings | changes)

    def save(self, path: str | Path) -> None:
        """Write the model."""
        settings = self.settings | {"labels": list(self.labels)}
        save_model(path, self.kind, VERSION, settings, {"arcs": self.arcs, "of_labels": self.of_labels})

    @staticmethod
    def load(path: str | Path) -> ArcParser:
        """Read what `save` wrote."""
        settings, arrays = load_model(path, "arcs", VERSION, ARRAYS, lists={"labels": "label"})
        made = ArcParser(tuple(settings.pop("labels")), arrays["arcs"], arrays["of_labels"], settings)
        sizes = [len(a) for a in (made.arcs, made.of_labels)]
        wanted = {"arc_step", "label_step", "projective"}
        if any(n < 2 or n & (n - 1) for n in sizes) or made.arcs.dtype != np.uint8 or made.of_labels.dtype != np.uint8 or not wanted <= settings.keys() or not all(0 < made._t(k) < 1e6 for k in ("arc_step", "label_step", "label_temperature")):  # fmt: skip
            raise InputError(f"{path} is damaged: its weights are not those of a parser.")
        return made


def _shift(table: NDArray[Any]) -> np.uint64:
    return np.uint64(64 - (len(table).bit_length() - 1))


def gold_trees(documents: Sequence[Document]) -> tuple[Ints, list[str]]:
    """Heads (0: the root, else numbers from 1 in the sentence) and labels of all words."""
    heads, labels = [np.zeros(0, np.int64)], []
    for d in documents:
        if d.heads is None or "relation" not in d.columns:
            raise InputError(f'document "{d.name}" has words without a head or a relation.')
        own = np.repeat(d.starts[:-1], np.diff(d.starts))
        heads.append(np.where(d.heads < 0, 0, d.heads - own + 1))
        labels.extend(d.columns["relation"])
    return np.concatenate(heads), labels


def train_arcs(
    documents: Sequence[Document],
    *,
    projective: bool = True,
    bits: int = 21,
    label_bits: int = 15,
    epochs: int = 10,
    rate: float = 0.1,
    shrink: float = 1e-3,
    seen_least: int = 2,
    rng: np.random.Generator | int | None = 0,
    progress: Progress | None = None,
) -> ArcParser:
    """Train on sentences with trees: AdaGrad, one sentence a step, the step falling to 0.

    Sentences whose annotation is no tree with one root, or crosses where `projective`, are left out of the arcs' training.
    `bits` sizes the hashed tables; features seen fewer than `seen_least` times in gold arcs have no weight.
    """
    from howsure._validate import generator

    random = generator(rng)
    s = encoded_documents(documents)
    heads, relations = gold_trees(documents)
    names = tuple(sorted(set(relations)))
    code = {name: i for i, name in enumerate(names)}
    label = np.array([code[r] for r in relations], np.int64)
    trees = [heads[a:z] for a, z in zip(s.starts[:-1], s.starts[1:], strict=True)]
    usable = np.array([i for i, t in enumerate(trees) if is_tree(t) and (not projective or is_projective(t))], np.int64)
    if not len(usable):
        raise InputError("no sentence is a tree with one root: there is nothing to train on.")
    steps = epochs * 90.0 * float((np.diff(s.starts) ** 2).sum())
    w, squares, counts = np.zeros(1 << bits, np.float32), np.zeros(1 << bits, np.float32), np.zeros(1 << bits, np.int64)
    shift = _shift(w)
    rows = np.zeros((1 << label_bits, len(names)), np.float32)
    row_squares, row_shift = np.zeros_like(rows), _shift(rows)
    sentence = np.repeat(np.arange(len(s.starts) - 1), np.diff(s.starts))
    base, last = s.base[sentence], np.append(s.base, len(s.tokens))[sentence + 1]
    place = np.arange(len(heads)) - s.starts[sentence] + 1
    sums: list[float] = []
    with np.errstate(over="ignore"):
        kernel("arc_support", steps)(s.tokens, s.coarse, s.starts, heads, shift, counts)
        seen = counts >= seen_least
        for epoch in range(epochs):
            now = rate * (1.0 - epoch / epochs)
            arcs = kernel("arc_epoch", steps)(
                s.tokens, s.coarse, s.starts, heads, random.permutation(usable), w, squares, seen, shift, projective,
                now, shrink,
            )  # fmt: skip
            kernel("label_epoch", steps)(
                s.tokens, base, last, heads, place, label, random.permutation(len(heads)), rows, row_squares, row_shift,
                now, shrink,
            )  # fmt: skip
            sums.append(float(arcs) / int(np.diff(s.starts)[usable].sum()))
            if progress is not None:
                progress(epoch + 1, epochs, f"log P {sums[-1]:.4f} a word")
    packed = [_packed(t) for t in (w, rows)]
    settings = {
        "projective": projective, "epochs": epochs, "arc_step": packed[0][1], "label_step": packed[1][1],
        "left_out": len(trees) - len(usable),
    }  # fmt: skip
    return ArcParser(names, packed[0][0], packed[1][0], settings)


def _packed(weights: NDArray[np.float32]) -> tuple[NDArray[np.uint8], float]:
    """Weights as bytes, and the step between them."""
    step = max(float(np.abs(weights).max()) / 127, 1e-6)
    return (np.rint(weights / step) + MIDDLE).astype(np.uint8), step
