"""An n-gram language model: a vocabulary, the n-grams seen, and their probabilities in back-off form."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from howsure._result import Training, drawn_by
from howsure.errors import InputError
from howsure.kernels.cells import Floats
from howsure.kernels.ngrams.choice import kernel
from howsure.kernels.threads import cores
from howsure.models.ngrams.trie import Trie
from howsure.models.ngrams.vocabulary import (
    BOS,
    EOS,
    RESERVED,
    UNK,
    Ids,
    Vocabulary,
    block_ids,
    blocks,
    text_bytes,
    units_number,
)
from howsure.models.saved import Array, load_model, save_model

KIND, VERSION = "ngrams", 1
ARRAYS = {
    "vocabulary": Array("u", ("text",)),
    "ends": Array("iu", ("word",)),
    "bases": Array("iu", ("level",)),
    "word": Array("u", ("node",), below="word"),
    "start": Array("u", ("parent",)),
    "count": Array("u", ("node",)),
    "log_p": Array("f", ("node",), log=True),
    "log_b": Array("f", ("context",), log=True),
}
# Logs: a probability may be so far above 1, as files print it; a back-off weight so large.
ROUNDING, LARGEST_WEIGHT = 1e-3, 100.0
INDEX_FROM, INDEX_SHARE = 100_000, 8  # tokens, and tokens against n-grams, from which an index of children pays


@dataclass(frozen=True, eq=False, repr=False)
class LanguageModel:
    """P(word | the words before it). Made by `howsure.lm.train` or read from an ARPA file.

    `settings`: "smoothing", "units", "sentences" (whether lines are sentences), "padding" (how many <s>),
    "lowercase", "closed", and what the smoothing tuned or derived.
    """

    vocabulary: Vocabulary
    trie: Trie
    log_p: Floats
    log_b: Floats
    settings: dict[str, Any]

    def __repr__(self) -> str:
        grams = " + ".join(f"{n:,}" for n in self.trie.sizes())
        return f"LanguageModel(order {self.order}, {self.settings.get('smoothing')}: {grams} n-grams)"

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return self.trie.order

    @property
    def frame(self) -> int:
        """How many <s> begin a sentence; 0 for running text."""
        return int(self.settings["padding"]) if self.settings["sentences"] else 0

    @property
    def has_unknown(self) -> bool:
        """Whether <UNK> can be predicted."""
        return bool(np.isfinite(self.log_p[UNK]))

    def ids(self, source: Any) -> Ids:
        """Numbers of a text's tokens as the model reads it; see `vocabulary.blocks` for what a source may be."""
        units = units_number(str(self.settings["units"]))
        lower = bool(self.settings.get("lowercase"))
        made = [block_ids(b, self.vocabulary, units, self.frame, grow=False) for b in blocks(source, lowercase=lower)]
        return made[0] if len(made) == 1 else np.concatenate([np.zeros(0, np.int32), *made])

    def events(self, ids: Ids) -> NDArray[np.bool_]:
        """Which tokens are predicted: all but <s>."""
        return ids != BOS if self.frame else np.ones(len(ids), bool)

    def groups(self, ids: Ids) -> NDArray[np.int64]:
        """The number of each token's sentence, counted by </s>; of running text that of its stretch of 20 tokens."""
        is_end = ids == EOS
        return np.cumsum(is_end) - is_end if self.frame else np.arange(len(ids)) // 20

    def log_probs(self, ids: Ids) -> tuple[Floats, NDArray[np.uint8]]:
        """Natural log of each token's probability given those before it (0 for <s>), and the order that gave it."""
        n = len(ids)
        log_prob, matched = np.empty(n), np.empty(n, np.uint8)
        pays = self.order > 1 and n > INDEX_FROM and n * INDEX_SHARE > len(self.trie)
        index = self._index if pays else np.zeros(0, np.uint64)
        tables = (self.trie.start, self.trie.word, self.log_p, self.log_b, index)
        run = kernel("score_ids", n)
        workers = cores() if n > 1 << 15 and self.frame else 1
        cuts = [0]
        for i in range(1, workers):
            begin = max(cuts[-1], i * n // workers)
            found = np.flatnonzero(ids[begin : begin + 100_000] == EOS)
            cuts.append(begin + int(found[0]) + 1 if len(found) else n)
        cuts.append(n)

        def work(i: int) -> None:
            a, b = cuts[i], cuts[i + 1]
            context = np.zeros(self.order + 1, np.int64)
            run(ids, a, b, self.order, *tables, context, log_prob[a:b], matched[a:b])

        if workers == 1:
            work(0)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(work, range(workers)))
        return log_prob, matched

    @cached_property
    def _index(self) -> NDArray[np.uint64]:
        """The hash of children, made when there is enough text to score for it to pay."""
        made = np.zeros(1 << (3 * len(self.trie) // 2).bit_length(), np.uint64)
        kernel("fill_index", len(self.trie))(self.trie.start, self.trie.word, int(self.trie.bases[-2]), made)
        return made

    def score(self, sentence: str) -> float:
        """Natural log of the probability of a sentence, its end included."""
        return float(self.log_probs(self.ids(text_bytes([sentence])))[0].sum())

    def scores(self, sentences: Sequence[str]) -> Floats:
        """Natural log of the probability of each sentence; 0 for an empty one."""
        if not self.settings["sentences"]:
            return np.array([self.score(s) for s in sentences])
        ids = self.ids(text_bytes(sentences))
        ends = np.flatnonzero(ids == EOS)
        if not len(ends) or len(ends) != len(sentences):  # some are empty, or hold nothing but <s>
            return np.array([self.score(s) for s in sentences], np.float64)
        return np.add.reduceat(self.log_probs(ids)[0], np.concatenate([[0], ends[:-1] + 1]))

    def context_ids(self, history: str) -> Ids:
        """Numbers of a history's words, <s> before them where lines are sentences."""
        ids = self.ids(text_bytes([history])) if history.strip() else np.zeros(0, np.int32)
        ids = ids[(ids != BOS) & (ids != EOS)] if self.frame else ids
        return np.concatenate([np.full(self.frame, BOS, np.int32), ids])

    def distribution(self, history: str | Ids = "") -> Floats:
        """The probability of every word of the vocabulary after a history."""
        ids = self.context_ids(history) if isinstance(history, str) else np.asarray(history, np.int32)
        context, probs = np.zeros(self.order + 1, np.int64), np.empty(len(self.vocabulary))
        tables = (self.trie.start, self.trie.word, self.log_p, self.log_b)
        depth = int(kernel("walk_context", len(probs))(ids, self.order, *tables[:2], context))
        kernel("fill_distribution", len(probs))(context, depth, *tables, probs)
        return probs

    @cached_property
    def _best(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The best child of every context, and all words from the likeliest."""
        n = int(self.trie.bases[-2])
        best = np.zeros(n, np.uint32)
        kernel("best_children", len(self.trie))(self.trie.start, self.trie.word, self.log_p, 0, n, best)
        words = self.log_p[: len(self.vocabulary)].copy()
        words[BOS] = -np.inf
        return best, np.argsort(-words, kind="stable").astype(np.uint32)

    def predictions(self, ids: Ids) -> tuple[Ids, Floats]:
        """The likeliest word at each place of a text, and its natural log probability."""
        guess, log_guess = np.zeros(len(ids), np.int32), np.zeros(len(ids))
        best, ranked = self._best
        tables = (self.trie.start, self.trie.word, self.log_p, self.log_b, best, ranked)
        kernel("predict_ids", len(ids))(ids, self.order, *tables, np.zeros(self.order + 1, np.int64), guess, log_guess)
        return guess, log_guess

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """The arrays of a model file."""
        text, ends = self.vocabulary.packed
        trie = {name: getattr(self.trie, name) for name in ("bases", "word", "start", "count")}
        return {"vocabulary": text, "ends": ends, **trie, "log_p": self.log_p, "log_b": self.log_b}

    def save(self, path: str | Path) -> None:
        """Write a `.npz` file that is mapped, not read, when opened; no pickle. Or ARPA, if the name ends in `.arpa`."""
        if str(path).endswith(".arpa"):
            from howsure.models.ngrams.arpa import write_arpa

            write_arpa(self, path)
            return
        if not str(path).endswith(".npz"):
            raise InputError(f"a model is saved as .npz or .arpa; got {path}.")
        save_model(path, KIND, VERSION, {**self.settings, "order": self.order}, self.saved_arrays(), mapped=True)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        return cls.of_saved(*load_model(path, KIND, VERSION, ARRAYS, mapped=True), path)

    @classmethod
    def of_saved(cls, settings: dict[str, Any], arrays: dict[str, Any], path: str | Path) -> Self:
        """The model of these settings and arrays, if they fit together; `path` is for the error."""
        try:
            ends = arrays["ends"].astype(np.int64)
            if len(ends) < len(RESERVED) or np.any(np.diff(ends) < 0) or ends[-1] != len(arrays["vocabulary"]):
                raise ValueError
            order = int(settings.pop("order"))
            vocabulary = Vocabulary.from_packed(arrays["vocabulary"], arrays["ends"])
            trie = Trie(order, np.array(arrays["bases"]), arrays["word"], arrays["start"], arrays["count"])
            made = cls(vocabulary, trie, arrays["log_p"], arrays["log_b"], settings)
            sound = made._is_sound()
        except (KeyError, TypeError, ValueError, IndexError):
            sound = False
        if not sound:
            raise InputError(f"{path} is damaged: its tables do not fit together.")
        return made

    def _is_sound(self) -> bool:
        """Whether the tables fit together, so that no kernel reads outside them, and hold probabilities and weights."""
        trie, n, starts = self.trie, len(self.trie.word), self.trie.start
        padding = self.settings.get("padding")
        return bool(
            len(trie.bases) == trie.order + 1 > 1
            and trie.bases[0] == 0
            and isinstance(padding, int)
            and 0 <= padding <= trie.order
            and trie.bases[-1] == n == len(self.log_p) == len(trie.count)
            and trie.bases[1] == len(self.vocabulary)
            and np.all(np.diff(trie.bases) >= 0)
            and np.array_equal(trie.word[: len(self.vocabulary)], np.arange(len(self.vocabulary)))
            and len(self.log_b) == trie.bases[-2]
            and (
                trie.order == 1
                or (
                    len(starts) == trie.bases[-2] + 1
                    and starts[-1] == n
                    and np.array_equal(starts[trie.bases[:-2]], trie.bases[1:-1])  # children are of the next order
                    and np.all(starts[1:] >= starts[:-1])
                )
            )
            and (n == 0 or int(trie.word.max()) < len(self.vocabulary))
            and {t.dtype.str for t in (trie.word, starts, trie.count)} == {"<u4"}
            and self.log_p.dtype == self.log_b.dtype == np.float64
            and self.log_p.max(initial=-np.inf) <= ROUNDING
            and self.log_b.max(initial=-np.inf) <= LARGEST_WEIGHT
            and {"units", "sentences", "padding", "smoothing"} <= set(self.settings)
        )


@dataclass(frozen=True, slots=True)
class LanguageTraining(Training):
    """A trained language model, and the file that it was written to."""

    model: LanguageModel

    @property
    def verdict(self) -> str:
        """What was learnt."""
        m = self.model
        grams = " + ".join(f"{n:,}" for n in m.trie.sizes())
        return (
            f"Order {m.order}, {m.settings['smoothing']}: {len(m.vocabulary) - 3:,} words beside <UNK>, <s> and </s>; "
            f"{grams} n-grams of orders 1 to {m.order}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Order, sizes and how it was made."""
        m = self.model
        return {"order": m.order, "vocabulary": len(m.vocabulary), "ngrams": m.trie.sizes(), **m.settings}

    to_text = drawn_by("howsure.report.text.models.language_training_text")
