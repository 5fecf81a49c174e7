"""How people write probabilities and labels: scales, signs, words and spellings, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure._validate import NO_VALUE, OTHER_SCALES, BadRow, Origin

TRUE_WORDS = ("true", "yes", "t", "y", "1", "1.0", "on", "correct", "right", "positive", "pos")
FALSE_WORDS = ("false", "no", "f", "n", "0", "0.0", "off", "incorrect", "wrong", "negative", "neg")
MISSING_WORDS = ("", "na", "n/a", "nan", "none", "null", "missing", "-", "?")
RATING = 10.0  # numbers up to here that mostly exceed 1 are more often ratings than percentages


@dataclass(frozen=True, slots=True)
class Seen:
    """What a survey saw in a column: rows, those missing, the range of the others, how many exceed 1, how many are
    neither probabilities (or, of labels, neither 0 nor 1), and the first such row and the first missing one."""

    n: int
    missing: int
    low: float
    high: float
    above: int
    outside: int
    first: tuple[int, float] | None
    first_missing: int | None

    @staticmethod
    def of(values: NDArray[Any], first: int, *, label: bool = False) -> Seen:
        """Of a batch of numbers, NaN where one is missing; `first` is the number of its first row."""
        x = values.astype(np.float64)
        lost = np.isnan(x)
        good = (x == 0.0) | (x == 1.0) if label else (x >= 0.0) & (x <= 1.0)
        bad, there = ~good & ~lost, x[~lost]
        i, j = (int(np.argmax(mask)) if mask.any() else None for mask in (bad, lost))
        low, high = float(there.min(initial=np.inf)), float(there.max(initial=-np.inf))
        at = None if i is None else (first + i, float(x[i]))
        counts = int((there > 1.0).sum()), int(bad.sum())
        return Seen(len(x), int(lost.sum()), low, high, *counts, at, None if j is None else first + j)

    def __add__(self, other: Seen) -> Seen:
        low, high = min(self.low, other.low), max(self.high, other.high)
        counts = self.above + other.above, self.outside + other.outside
        first = min((f for f in (self.first, other.first) if f is not None), default=None)
        lost = min((f for f in (self.first_missing, other.first_missing) if f is not None), default=None)
        return Seen(self.n + other.n, self.missing + other.missing, low, high, *counts, first, lost)


def recognised_scale(seen: Seen, origin: Origin) -> str:
    """ "probability" or "percent" where a column leaves no doubt; else an error that asks, or names the row.

    Percentages lie in [0, 100], most of them above 1 and some above 10. A few numbers outside [0, 1] are errors among
    probabilities, not another scale.
    """
    present = seen.n - seen.missing
    if seen.first is None:
        return "probability"
    row, value = seen.first
    runs = f"`{origin.prob}` runs from {seen.low:.6g} to {seen.high:.6g}"
    if seen.low >= 0.0 and seen.high <= 100.0 and 2 * seen.above > present:
        if seen.high > RATING:
            return "percent"
        raise BadRow(
            f"{runs}: a rating is no probability. If it is a percentage, pass `scale='percent'`; "
            "else divide it by its largest possible value first.",
            row,
        )
    if seen.high <= 0.0 and 2 * seen.outside > present:
        raise BadRow(f"{runs}: are these log-probabilities? Then pass `scale='logprob'`.", row)
    if seen.low < 0.0 and 2 * seen.outside > present:
        raise BadRow(f"{runs}: are these logits (log-odds)? Then pass `scale='logit'`.", row)
    how_many = "" if seen.outside == 1 else f", the first of {seen.outside:,} such rows of {present:,}"
    raise BadRow(
        f"`{origin.prob}` must lie in [0, 1]; got {value:.10g} in {origin.at(row)}{how_many}. {OTHER_SCALES}", row
    )


def said_words(values: Iterable[str], name: str) -> str | None:
    """Whether labels are words such as yes and no: a sentence about how they are read, empty for 0 and 1; else None."""
    found = sorted(set(values))
    plain = {v: v.strip().lower() for v in found}
    ones = [v for v in found if plain[v] in TRUE_WORDS]
    zeros = [v for v in found if plain[v] in FALSE_WORDS]
    if not (ones or zeros) or any(p not in TRUE_WORDS + FALSE_WORDS + MISSING_WORDS for p in plain.values()):
        return None
    if set(ones) | set(zeros) <= {"0", "1", "true", "false", "True", "False"}:
        return ""
    parts = [f"{', '.join(map(repr, words))} as {label}" for label, words in ((1, ones), (0, zeros)) if words]
    return f"`{name}`: {' and '.join(parts)}."


def words_as_labels(values: NDArray[Any], name: str) -> tuple[NDArray[Any], tuple[str, ...]]:
    """An array of words as 0 and 1, NaN where one is missing, and what to say of it; anything else as it is."""
    if values.dtype.kind not in "OUST" or values.ndim != 1 or not len(values):
        return values, ()
    texts = [None if v is None or v != v or type(v).__name__ in NO_VALUE else str(v) for v in values.tolist()]
    said = said_words({t for t in texts if t is not None}, name)
    if said is None:
        return values, ()
    plain = ["" if t is None else t.strip().lower() for t in texts]
    made = np.array([1.0 if t in TRUE_WORDS else 0.0 if t in FALSE_WORDS else np.nan for t in plain])
    return made, ((said,) if said else ())


def texts_as_numbers(values: NDArray[Any], name: str) -> tuple[NDArray[Any], tuple[str, ...]]:
    """An array of numbers that are written "64%" or "0,64" as numbers, NaN where one is missing; all else as it is."""
    if values.dtype.kind not in "OUST" or values.ndim != 1 or not len(values):
        return values, ()
    made, ways = np.full(len(values), np.nan), set()
    for i, value in enumerate(values.tolist()):
        text = "" if value is None or type(value).__name__ in NO_VALUE else str(value).strip()
        if text.lower() in MISSING_WORDS:
            continue
        try:
            number = float(text.rstrip("% ").replace(",", "."))
        except ValueError:
            raise BadRow(f"`{name}` must hold numbers; got {text!r} in index {i}.", i) from None
        ways |= ({"percent"} if text.endswith("%") else set()) | ({"comma"} if "," in text else set())
        made[i] = number / 100.0 if text.endswith("%") else number
    return made, how_written(ways, name)


def how_written(ways: Iterable[str], name: str) -> tuple[str, ...]:
    """What to say of numbers that are written as people write them."""
    said = {
        "percent": "with a percent sign: 64% is read as 0.64",
        "comma": "with a decimal comma: 0,64 is read as 0.64",
    }
    return tuple(f"`{name}` is written {said[way]}." for way in sorted(set(ways) & set(said)))


def spelt_alike(labels: Iterable[str]) -> list[str]:
    """A note on labels that differ only in case or in spaces around them, if there are any."""
    by: dict[str, list[str]] = {}
    for label in labels:
        by.setdefault(label.strip().lower(), []).append(label)
    twins = ["/".join(map(repr, found)) for found in by.values() if len(found) > 1]
    listed = ", ".join(twins[:5]) + (", …" if len(twins) > 5 else "")
    return [f"Counted as different labels, though only case or spaces differ: {listed}."] if twins else []
