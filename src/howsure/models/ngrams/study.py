"""Every smoothing at every order on the same text: which predicts best, chosen on dev text and reported on test text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure._result import Record, Result, drawn_by, finite
from howsure.errors import InputError
from howsure.models.ngrams.comparison import ModelComparison, compared
from howsure.models.ngrams.evaluation import Surprise, evaluated
from howsure.models.ngrams.smoothing import SMOOTHINGS, known
from howsure.models.ngrams.training import Counted
from howsure.processes import Progress

HELD_OUT = 10  # one tenth of the sentences for dev, one for test


@dataclass(frozen=True, slots=True)
class StudiedModel(Record):
    """One smoothing at one order."""

    SHOWN = "smoothing order dev_perplexity=dev test next_word_accuracy probability_zero=impossible parameters"

    smoothing: str
    order: int
    dev_perplexity: float
    test: Surprise  # all words, </s> included
    next_word_accuracy: float
    impossible: int  # words of the test text that have probability 0
    parameters: dict[str, Any]

    @property
    def dev(self) -> float | None:
        """Perplexity of the dev text; None where it is infinite."""
        return finite(self.dev_perplexity)


@dataclass(frozen=True, slots=True)
class SmoothingStudy(Result):
    """Smoothings by order. Made by `howsure.lm.study`."""

    SHOWN = "verdict text train_sentences dev_sentences test_sentences vocabulary best models against_second=duel notes"

    text: str
    train_sentences: int
    dev_sentences: int
    test_sentences: int
    vocabulary: int
    models: tuple[StudiedModel, ...]
    duel: ModelComparison | None  # the best on dev against the best of another smoothing, on the test text
    confidence_level: float = 0.95
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> StudiedModel:
        """The model that predicts the dev text best."""
        return min(self.models, key=lambda m: m.dev_perplexity)

    @property
    def title(self) -> str:
        """What the page is about."""
        return f"Smoothings of n-gram models on {self.text or 'a text'}"

    @property
    def verdict(self) -> str:
        """Which model, its perplexity on the test text, and against the next smoothing."""
        b = self.best
        low, high = (None if x is None else 2.0**x for x in (b.test.low, b.test.high))
        limits = "" if low is None or high is None else f" [{low:.1f}, {high:.1f}]"
        said = f"Chosen on the dev text: {b.smoothing} of order {b.order}; perplexity of the test text {b.test.perplexity:.1f}{limits}."
        return said if self.duel is None else f"{said} {self.duel.verdict}"

    def table(self) -> list[dict[str, Any]]:
        """One row a smoothing, one column an order: the test text's perplexity."""
        found = {(m.smoothing, m.order): m for m in self.models}
        orders = sorted({m.order for m in self.models})
        return [
            {"smoothing": name} | {f"order {k}": (m := found.get((name, k))) and m.test.perplexity for k in orders}
            for name in dict.fromkeys(m.smoothing for m in self.models)
        ]

    def layers(self) -> list[dict[str, Any]]:
        """Perplexity against the order, a line a smoothing."""
        rows = [
            {"order": m.order, "perplexity": m.test.perplexity, "smoothing": m.smoothing}
            for m in self.models
            if math.isfinite(m.test.bits)
        ]
        marks: list[Any] = ["line", {"type": "point", "filled": True, "size": 45}]
        log_scale = {"scale": {"type": "log"}, "title": "perplexity (log scale)"}
        encoding = {
            "x": {"field": "order", "type": "ordinal", "axis": {"labelAngle": 0}},
            "y": {"field": "perplexity", "type": "quantitative", **log_scale},
            "color": {"field": "smoothing", "type": "nominal", "sort": None, "scale": {"scheme": "tableau20"}},
            "tooltip": [{"field": f} for f in ("smoothing", "order", "perplexity")],
        }
        return [{"data": {"values": rows}, "mark": mark, "encoding": encoding} for mark in marks]

    to_text = drawn_by("howsure.report.tables.verdict_and_table")
    to_html = drawn_by("howsure.report.pages.table_page")


def studied(
    sentences: Sequence[str],
    dev: Sequence[str] | None,
    test: Sequence[str] | None,
    *,
    most_order: int,
    smoothings: Sequence[str] | None = None,
    text: str = "",
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    progress: Progress | None = None,
    **reading: Any,
) -> SmoothingStudy:
    """Train every model on `sentences` (less the last tenths, where no dev or test text is given) and score all of them."""
    smoothings = [known(s) for s in smoothings or SMOOTHINGS]
    train, dev, test = _parts(list(sentences), dev, test)
    models: list[StudiedModel] = []
    kept: list[tuple[float, str, int, Any]] = []  # the best two, on dev
    notes = []
    steps, done = most_order * len(smoothings), 0
    vocabulary = 0
    for order in range(1, most_order + 1):
        counted = Counted.of(train, order=order, **reading)
        vocabulary = len(counted.vocabulary)
        for name in smoothings:
            if progress is not None:
                progress(done, steps, f"{name}, order {order}")
            done += 1
            try:
                model = counted.smoothed(name, dev)
            except InputError as error:
                notes.append(f"{name} of order {order}: {error}")
                continue
            on_dev, on_test = evaluated(model, dev), evaluated(model, test, confidence_level=confidence_level)
            found = (on_test.all_words, on_test.next_word_accuracy, on_test.impossible, model.settings["parameters"])
            models.append(StudiedModel(name, order, on_dev.perplexity, *found))
            if math.isfinite(on_dev.perplexity):  # the best model, and the best of any other smoothing
                ranked = sorted([*kept, (on_dev.perplexity, name, order, model)], key=lambda f: f[0])
                kept = ranked[:1] + [f for f in ranked[1:] if f[1] != ranked[0][1]][:1]
    if not models:
        raise InputError("no smoothing could be trained on this text. " + notes[0])
    never = [m for m in models if m.impossible]
    if never:
        names = ", ".join(dict.fromkeys(m.smoothing for m in never))
        notes.append(f"Infinite (inf): words of the test text have probability 0 under {names}.")
    duel = None
    if len(kept) == 2:
        named = (f"{kept[0][1]} ({kept[0][2]})", f"{kept[1][1]} ({kept[1][2]})")
        duel = compared(kept[0][3], kept[1][3], test, names=named, confidence_level=confidence_level, rng=rng)
    return SmoothingStudy(
        text, len(train), len(dev), len(test), vocabulary, tuple(models), duel, confidence_level, tuple(notes)
    )


def _parts(
    sentences: list[str], dev: Sequence[str] | None, test: Sequence[str] | None
) -> tuple[list[str], list[str], list[str]]:
    """The last tenth is for testing and the one before it for development, where they are not given."""
    size = len(sentences) // HELD_OUT
    if (dev is None or test is None) and size < 1:
        raise InputError(
            f"a text of {len(sentences)} sentences is too short to hold out tenths: give `dev=` and `test=`."
        )
    if test is None:
        sentences, test = sentences[:-size], sentences[-size:]
    if dev is None:
        sentences, dev = sentences[:-size], sentences[-size:]
    return sentences, list(dev), list(test)
