"""Text to a language model: vocabulary, counts, smoothing."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.ngrams.choice import kernel
from howsure.models.ngrams.form import Counts, HeldOut
from howsure.models.ngrams.model import LanguageModel
from howsure.models.ngrams.smoothing import TUNED, estimate, known
from howsure.models.ngrams.trie import MEMORY, Trie, count_ngrams
from howsure.models.ngrams.vocabulary import (
    BOS,
    UNK,
    Ids,
    Vocabulary,
    block_ids,
    blocks,
    kept_words,
    natural_units,
    units_number,
    vocabulary_of,
)
from howsure.processes import Progress

MOST_ORDER = 20
COUNTING = ("units", "sentences", "padding", "lowercase", "min_count", "size", "words", "closed", "memory")
SPLIT = "Punctuation marks are set apart from words, since most of them touch one: `units='words'` would leave them."


def trained(
    source: Any, *, order: int, smoothing: str, dev: Any = None, progress: Progress | None = None, **options: Any
) -> LanguageModel:
    """A model of a text; see `howsure.verbs.lm.train`. Options of `Counted.of` say how to count, the others how to smooth."""
    known(smoothing)
    counting = {name: options.pop(name) for name in COUNTING if name in options}
    counted = Counted.of(source, order=order, progress=progress, **counting)
    if progress is not None:
        progress(0.0, 1.0, f"smoothing ({smoothing})")
    return counted.smoothed(smoothing, dev, **options)


@dataclass(frozen=True)
class Counted:
    """A text's n-grams, before any smoothing: several can start from the same counts."""

    vocabulary: Vocabulary
    trie: Trie
    settings: dict[str, Any]

    @classmethod
    def of(
        cls,
        source: Any,
        *,
        order: int,
        units: str | None = "words",
        sentences: bool = True,
        padding: int = 1,
        lowercase: bool = False,
        min_count: int = 1,
        size: int | None = None,
        words: Sequence[str] | None = None,
        closed: bool = False,
        memory: int = MEMORY,
        progress: Progress | None = None,
    ) -> Self:
        """Read and count a text; without `units` those that suit it (`natural_units`)."""
        if not 1 <= order <= MOST_ORDER:
            raise InputError(f"the order must lie between 1 and {MOST_ORDER}; got {order}.")
        settings: dict[str, Any] = {"units": units, "sentences": sentences, "padding": padding}
        settings |= {"lowercase": lowercase, "closed": closed}
        vocabulary = vocabulary_of(words) if words is not None else Vocabulary(1 << 10)
        ids = _all_ids(source, vocabulary, settings, words is None, memory, progress)
        if units is None and settings["units"] == "punctuation":
            settings["notes"] = [SPLIT]
        vocabulary, ids = _limited(vocabulary, ids, min_count, size)
        if closed and words is not None and bool((ids == UNK).any()):
            raise InputError(
                "the text has words that the closed vocabulary has not: leave out `closed=True` to call them <UNK>."
            )
        trie = count_ngrams(ids, len(vocabulary), order, has_sentences=sentences, memory=memory, progress=progress)
        if trie.sizes()[-1] == 0 or (order > 1 and not trie.is_event[trie.level(order)].any()):
            most = next(k for k in range(order, 0, -1) if trie.sizes()[k - 1])
            raise InputError(
                f"the text has no {order}-gram: no sentence is long enough. The order can be {most} at most."
            )
        return cls(vocabulary, trie, settings)

    def smoothed(self, smoothing: str, dev: Any = None, **options: Any) -> LanguageModel:
        """The model of these counts by a smoothing's name; `dev` tunes what is tuned."""
        trie, settings = self.trie, {"smoothing": smoothing, **self.settings}
        frame = settings["padding"] if settings["sentences"] else 0
        model = LanguageModel(self.vocabulary, trie, np.zeros(0), np.zeros(0), settings)
        held_out = (lambda: left_out(trie, frame)) if dev is None else (lambda: held_out_counts(model, dev))
        made = estimate(Counts(trie, settings["closed"], frame, held_out), smoothing, **options)
        with np.errstate(divide="ignore"):
            log_p, log_b = np.log(made.p, out=made.p), np.log(made.b, out=made.b)
        if smoothing in TUNED and options.get(TUNED[smoothing]) is None:
            settings["tuned_on"] = "dev text" if dev is not None else "the training text, leaving each occurrence out"
        settings |= {"parameters": made.parameters, "notes": [*settings.get("notes", []), *made.notes]}
        return LanguageModel(self.vocabulary, trie, log_p, log_b, settings)


def _all_ids(
    source: Any, vocabulary: Vocabulary, settings: dict[str, Any], grow: bool, memory: int, progress: Progress | None
) -> Ids:
    """Numbers of the whole text, in a temporary file once they outgrow memory; `settings` get their units."""
    units, frame = settings["units"], settings["padding"] if settings["sentences"] else 0
    if units is not None:
        units_number(units)
    held: list[Ids] = []
    n = n_held = 0
    with tempfile.TemporaryFile(prefix="howsure-ids-") as file:
        for block in blocks(source, lowercase=settings["lowercase"], progress=progress):
            units = settings["units"] = units or natural_units(block)
            ids = block_ids(block, vocabulary, units_number(units), frame, grow=grow)
            held.append(ids)
            n += len(ids)
            n_held += len(ids)
            if n_held * 4 > memory // 2 or n > n_held:  # once some are in the file, all are
                for part in held:
                    file.write(part.data)  # `tofile` does not say that a disk is full
                held, n_held = [], 0
        if n == 0:
            raise InputError("the text is empty: there is nothing to train on.")
        if not held:
            file.flush()
            return np.memmap(file, np.int32, "r+")
    return held[0] if len(held) == 1 else np.concatenate(held)


def _limited(vocabulary: Vocabulary, ids: Ids, min_count: int, size: int | None) -> tuple[Vocabulary, Ids]:
    _validate.count(1 if size is None else size, "vocabulary_size")
    if _validate.count(min_count, "min_count") == 1 and size is None:
        return vocabulary, ids
    counts = np.zeros(len(vocabulary), np.int64)
    kernel("count_ids", len(ids))(ids, counts)
    smaller, numbers = kept_words(vocabulary, counts, min_count, size)
    for begin in range(0, len(ids), 1 << 24):
        part = ids[begin : begin + (1 << 24)]
        part[:] = numbers[part]
    return smaller, ids


def held_out_counts(model: LanguageModel, source: Any) -> HeldOut:
    """For each token of a held-out text, c(h w) and c(h) at every order its sentence allows (NaN where it does not)."""
    ids = model.ids(source)
    events = model.events(ids)
    if not events.any():
        raise InputError("the dev text is empty.")
    c, context = _sliding_counts(model.trie, ids, bool(model.frame))
    usable = events & (ids != UNK) if model.settings["closed"] else events
    return c[usable], context[usable], np.ones(int(usable.sum()))


def _sliding_counts(trie: Trie, ids: Ids, has_sentences: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Counts of the n-grams that end at each token, and of their contexts, by order; vectorised over tokens."""
    totals = context_totals(trie)
    n, order = len(ids), trie.order
    c, context = np.full((n, order), np.nan), np.full((n, order), np.nan)
    words = ids.astype(np.int64)
    c[:, 0] = trie.count[words]
    context[:, 0] = float(trie.count[: int(trie.bases[1])].sum() - trie.count[BOS])
    node, place = words, np.arange(n)  # of the k words that end here; in the sentence
    if has_sentences:
        bos = ids == BOS
        begins = bos & ~np.concatenate([[False], bos[:-1]])
        place = place - np.maximum.accumulate(np.where(begins, place, 0))
    for k in range(2, order + 1):
        before = np.append(-1, node[:-1])  # node of the k-1 words before
        inside = place >= k - 1
        c[inside, k - 1] = context[inside, k - 1] = 0.0
        ends = np.flatnonzero(inside & (before >= 0))  # the context is known
        context[ends, k - 1] = totals[before[ends]]
        node = np.full(n, -1, np.int64)
        node[ends] = find_children(trie, before[ends], words[ends])
        hit = node >= 0
        c[hit, k - 1] = trie.count[node[hit]]
    return c, context


def context_totals(trie: Trie) -> NDArray[np.float64]:
    """For every context, how many words followed it."""
    made = np.zeros(int(trie.bases[-2]))
    for order in range(2, trie.order + 1):
        made[trie.level(order - 1)] = trie.child_sums(trie.events(order), order)
    return made


def find_children(trie: Trie, nodes: NDArray[np.int64], words: NDArray[np.int64]) -> NDArray[np.int64]:
    """The child of each node by each word, -1 where there is none: binary searches in step."""
    low, high = trie.start[nodes].astype(np.int64), trie.start[nodes + 1].astype(np.int64)
    end, last = high, len(trie.word) - 1
    while (open_ := low < high).any():
        middle = (low + high) >> 1
        less = open_ & (trie.word[np.minimum(middle, last)] < words)
        low, high = np.where(less, middle + 1, low), np.where(open_ & ~less, middle, high)
    found = (low < end) & (trie.word[np.minimum(low, last)] == words)
    return np.where(found, low, -1)


def left_out(trie: Trie, padding: int) -> HeldOut:
    """The training text as held-out text: of each occurrence, the counts without it; one row a distinct longest n-gram.

    A row is an n-gram of the highest order, or a shorter one that begins with <s>.
    """
    totals = context_totals(trie)
    order = trie.order
    found = []
    parents_of = {k: trie.parents(k) + int(trie.bases[k - 2]) for k in range(2, order + 1)}
    for top in range(order, 0, -1):
        level = trie.level(top)
        use = trie.is_event[level] & (trie.count[level] > 0)
        if top < order:
            use &= trie.anchored(top, padding)
        at = level.start + np.flatnonzero(use)
        c, h = np.full((len(at), order), np.nan), np.full((len(at), order), np.nan)
        h[:, 0] = float(trie.count[: int(trie.bases[1])].sum() - trie.count[BOS]) - 1.0
        found.append((c, h, trie.count[at].astype(np.float64)))
        for k in range(top, 0, -1):
            c[:, k - 1] = trie.count[at] - 1.0
            if k > 1:
                h[:, k - 1] = totals[parents_of[k][at - int(trie.bases[k - 1])]] - 1.0
            at = trie.link[at].astype(np.int64)
    all_c, all_h, weight = (np.concatenate(part) for part in zip(*found, strict=True))
    return all_c, all_h, weight
