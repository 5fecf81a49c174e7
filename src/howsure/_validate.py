"""Every argument check, once. Each either returns the value in its canonical form or raises one clear line."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError

MAX_WEIGHT = 2**31 - 1
MAX_OUTCOME = 1e100  # squares of scores stay finite
_ONE = np.float64(1.0).view(np.uint64)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a batch of rows comes from, for messages: names of the columns and number of the first row."""

    true: str = "y_true"
    prob: str = "y_prob"
    weight: str = "sample_weight"
    first: int = 0
    from_file: bool = False
    numbered: bool = True
    rows: NDArray[np.int64] | None = None  # where only some rows of the batch are meant: these

    def at(self, index: int) -> str:
        """Where row `index` of this batch is: files count rows from 1 (header apart), arrays from 0."""
        if not self.numbered:  # rows of a cluster come in no order
            return "a row"
        row = self.first + (index if self.rows is None else int(self.rows[index]))
        return f"row {row + 1:,}" if self.from_file else f"index {row}"

    def bad(self, index: int, name: str, value: float, rule: str, more: str = "") -> BadRow:
        """The error of a column's value in a row: it is missing, or against the rule."""
        if value != value:
            return BadRow(f"`{name}` is missing or NaN in {self.at(index)}.", self.first + index)
        return BadRow(f"`{name}` {rule} in {self.at(index)}.{more}", self.first + index)


class BadRow(InputError):
    """A row breaks a rule. `row` lets parallel readers report the first one."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


def _hold(values: NDArray[Any], name: str, what: str = "numbers", such: str = "") -> None:
    if values.dtype.kind not in "fiub":
        raise InputError(f"`{name}` must hold {what}; got {values.dtype}{such}.")


# -- probabilities, on whatever scale -------------------------------------------------------------------------------

# What a number may be on each scale. A rounding error above 0 still is the logarithm of 1.
SCALES = {"probability": (0.0, 1.0), "percent": (0.0, 100.0), "logit": (-np.inf, np.inf), "logprob": (-np.inf, 1e-6)}
MISSING = ("drop", "error")
OTHER_SCALES = "For another scale pass `scale='percent'` (or logit, logprob)."


def scale(value: str | None, *, logits: bool = False) -> str | None:
    """The scale of probabilities; None where the numbers are to tell. `logits` is the older name of "logit"."""
    if value is not None and value not in SCALES:
        raise InputError(f"`scale=` must be one of {', '.join(SCALES)}; got {value!r}.")
    if logits and value not in (None, "logit"):
        raise InputError(f"`logits=True` and `scale={value!r}` contradict each other; give one of them.")
    return "logit" if logits else value


def missing_rule(value: str) -> str:
    """What becomes of rows without a probability or a label."""
    if value not in MISSING:
        raise InputError(f"`missing=` must be drop or error; got {value!r}.")
    return value


def probabilities(values: NDArray[Any], origin: Origin, *, scale: str | None = None) -> NDArray[np.float64]:
    """Contiguous float64 probabilities in [0, 1], from numbers on the scale that is named."""
    if values.dtype.kind not in "fiub":
        _hold(values, origin.prob, such=f" values such as {values[0]!r}" if len(values) else "")
    q = np.ascontiguousarray(values, dtype=np.float64)
    if scale not in (None, "probability"):
        return _from_scale(q, origin, scale)
    # As unsigned integers the doubles of [0, 1] are those up to 1.0: one quick pass clears a good batch.
    if len(q) and q.view(np.uint64).max() > _ONE:
        bad = ~((q >= 0.0) & (q <= 1.0))
        if not bad.any():
            return q + 0.0  # -0.0 alone
        i = int(np.argmax(bad))
        raise origin.bad(i, origin.prob, q[i], f"must lie in [0, 1]; got {q[i]:.10g}", f" {OTHER_SCALES}")
    return q


def _from_scale(x: NDArray[np.float64], origin: Origin, scale: str) -> NDArray[np.float64]:
    low, high = SCALES[scale]
    bad = ~((x >= low) & (x <= high))
    if bad.any():
        i = int(np.argmax(bad))
        rule = "lie in [0, 100]" if scale == "percent" else "be 0 or below"
        raise origin.bad(i, origin.prob, x[i], f"must {rule} on the scale {scale}; got {x[i]:.10g}")
    if scale == "percent":
        return x / 100.0
    if scale == "logprob":
        return np.exp(np.minimum(x, 0.0))
    with np.errstate(over="ignore"):
        half = np.exp(-np.abs(x))
        return np.where(x >= 0, 1.0 / (1.0 + half), half / (1.0 + half))


# -- labels ---------------------------------------------------------------------------------------------------------

NO_VALUE = ("NAType", "NaTType")


def labels(values: NDArray[Any], origin: Origin) -> NDArray[np.uint8]:
    """Labels as uint8 zeros and ones; of booleans and integers a view, not a copy."""
    if values.dtype.kind == "b":
        return values.view(np.uint8)
    if values.dtype.kind not in "fiu":
        example = f"; got {values[0]!r}" if len(values) else ""
        raise InputError(
            f"`{origin.true}` must hold labels 0 and 1{example}. Name the value that counts as 1 with `positive=`."
        )
    if values.dtype.kind == "f" or values.dtype.byteorder == ">" or sys.byteorder == "big" or not len(values):
        with np.errstate(invalid="ignore"):
            y = values.astype(np.uint8)
        fine = not len(y) or (y.max() <= 1 and np.array_equal(y, values))
    else:
        fine = values.view(f"u{values.itemsize}").max() <= 1  # a negative number is a large unsigned one
        y = np.ascontiguousarray(values).view(np.uint8)[:: values.itemsize]  # the low byte of each
    if not fine:
        i = int(np.argmax(~((values == 0) | (values == 1))))
        raise no_label(origin, i, float(values[i]))
    return y


def no_label(origin: Origin, index: int, got: float) -> BadRow:
    """The error of a label that is neither 0 nor 1."""
    more = " Name the value that counts as 1 with `positive=`."
    return origin.bad(index, origin.true, got, f"must be 0 or 1; got {got:.6g}", more)


def positives(y_true: Any, positive: Any) -> NDArray[Any]:
    """The labels as given or, with `positive`, whether each equals it (NaN where it is missing); a label that never
    occurs is a slip."""
    values = one_dimensional(y_true, "y_true", numbers=positive is None)
    if positive is None:
        return values
    missing = np.array([v is None or v != v for v in values.tolist()]) if values.dtype.kind in "Of" else None
    found = np.asarray(values == positive)
    if found.shape != values.shape or (len(values) and not found.any()):
        there = sorted({str(v) for v in values[:10_000].tolist()})
        raise InputError(f"no label equals `positive={positive!r}`.{nearest(str(positive), there)}")
    if missing is not None and missing.any():
        return np.where(missing, np.nan, found.astype(np.float64))
    return found.astype(bool)


def weights(values: NDArray[Any], origin: Origin) -> NDArray[np.int64]:
    """Repetition counts as contiguous int64."""
    _hold(values, origin.weight, "whole numbers")
    return _whole(values, origin, f"`{origin.weight}` must be whole repetition counts from 0 to {{:,}}", MAX_WEIGHT)


def _whole(values: NDArray[Any], origin: Origin, rule: str, most: int) -> NDArray[np.int64]:
    with np.errstate(invalid="ignore"):
        made = np.ascontiguousarray(values.astype(np.int64))
    good = (made == values) & (made >= 0) & (made <= most)
    if not good.all():
        i = int(np.argmin(good))
        raise BadRow(f"{rule.format(most)}; got {values[i]:.6g} in {origin.at(i)}.", origin.first + i)
    return made


def outcomes(values: NDArray[Any], origin: Origin) -> NDArray[np.float64]:
    """Finite numbers as contiguous float64."""
    return _finite(values, origin, origin.true, None)[:, 0]


def forecasts(values: NDArray[Any], origin: Origin, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """A matrix of finite numbers, a row each forecast; `columns` are their names in a table."""
    return _finite(values, origin, origin.prob, columns)


def _finite(values: NDArray[Any], origin: Origin, name: str, columns: Sequence[str] | None) -> NDArray[np.float64]:
    _hold(values, name, such=" values")
    x = np.ascontiguousarray(values, dtype=np.float64).reshape(len(values), -1)
    good = np.abs(x) <= MAX_OUTCOME
    if good.all():
        return x
    i, column = divmod(int(np.argmin(good)), x.shape[1])
    got = float(x[i, column])
    said = f"`{columns[column]}`" if columns is not None else f"`{name}`"
    place = origin.at(i) + (f", column {column}" if columns is None and x.shape[1] > 1 else "")
    if np.isnan(got):
        raise BadRow(f"{said} is missing or NaN in {place}.", origin.first + i)
    raise BadRow(f"{said} must be finite, at most {MAX_OUTCOME:.0e} in size; got {got:g} in {place}.", origin.first + i)


def uncrossed(quantiles: NDArray[np.float64], levels: NDArray[np.float64], origin: Origin) -> NDArray[np.float64]:
    """Quantiles that do not fall as their level rises."""
    falls = quantiles[:, 1:] < quantiles[:, :-1]
    if falls.any():
        row, column = divmod(int(np.argmax(falls)), falls.shape[1])
        high, low = quantiles[row, column], quantiles[row, column + 1]
        raise BadRow(
            f"quantiles must not cross; in {origin.at(row)} that of level {levels[column]:.6g} is {high:.6g} and "
            f"that of level {levels[column + 1]:.6g} only {low:.6g}.",
            origin.first + row,
        )
    return quantiles


def levels(values: Any, n_quantiles: int) -> NDArray[np.float64]:
    """Increasing quantile levels strictly between 0 and 1, one for each column of quantiles."""
    tau = one_dimensional(values, "levels")
    if tau.dtype.kind not in "fiu" or not np.all((tau > 0.0) & (tau < 1.0)):
        raise InputError(f"`levels` must lie strictly between 0 and 1; got {_shown(tau)}.")
    if len(tau) != n_quantiles:
        raise InputError(f"`quantiles` has {n_quantiles} columns and `levels` {len(tau)}; each column needs its level.")
    if np.any(np.diff(tau) <= 0.0):
        raise InputError(f"`levels` must increase; got {_shown(tau)}.")
    return tau.astype(np.float64)


def _shown(values: NDArray[Any]) -> str:
    return ", ".join(f"{v:.6g}" if values.dtype.kind in "fiu" else repr(v) for v in values[:9]) + (
        ", …" if len(values) > 9 else ""
    )


def two_dimensional(values: Any, name: str, least: int) -> NDArray[Any]:
    """An array of two dimensions, a row each forecast, with at least this number of columns."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"`{name}` cannot be read as an array of numbers: {error}.") from None
    if array.ndim != 2:
        raise InputError(f"`{name}` must have two dimensions, a row each forecast; got shape {array.shape}.")
    if array.shape[1] < least:
        raise InputError(f"`{name}` must have {least} columns at least; got {array.shape[1]}.")
    return array


def one_dimensional(values: Any, name: str, *, numbers: bool = True) -> NDArray[Any]:
    """An array of one dimension; lists, series and arrays are welcome. Boxed `numbers` are unboxed."""
    nested = isinstance(values, list) and values and all(isinstance(v, list | tuple) for v in values)
    if nested and set(map(len, values)) != {1}:
        raise InputError(
            f"`{name}` holds a list in each place (the labels of a sentence?); give an entry for each token or item: "
            "[x for row in rows for x in row]."
        )
    made = _array(values, name, numbers)
    if made.ndim != 1:
        raise InputError(f"`{name}` must have one dimension; got shape {made.shape}.")
    return made


def _array(values: Any, name: str, numbers: bool) -> NDArray[Any]:
    """An array; objects that are all `numbers`, missing ones among them, become floats."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise InputError(f"`{name}` cannot be read as an array: {error}.") from None
    if numbers and array.dtype.kind == "O" and array.ndim == 1:
        missing = np.array([v is None or type(v).__name__ in NO_VALUE for v in array])
        if all(isinstance(v, int | float | np.number | np.bool_) for v in array[~missing]):
            made = np.full(len(array), np.nan)
            made[~missing] = array[~missing].astype(np.float64)
            return made
    return array


def same_length(**arrays: NDArray[Any]) -> int:
    """The common length of the named arrays."""
    sizes = {name: len(a) for name, a in arrays.items()}
    if len(set(sizes.values())) > 1:
        raise InputError("lengths differ: " + ", ".join(f"`{k}` has {v:,}" for k, v in sizes.items()) + ".")
    n = next(iter(sizes.values()))
    if n == 0:
        raise InputError("there are no rows to check.")
    return n


def fraction(value: float, name: str, least: float = 0.01) -> float:
    """A confidence level or another share: far enough from 0 and 1 to mean something."""
    if not (isinstance(value, int | float) and least <= value <= 0.9999):
        raise InputError(f"`{name}=` must lie between {least:g} and 0.9999; got {value!r}.")
    return float(value)


def several(n: int, groups: str) -> None:
    """Intervals need two groups; documents hold sentences, which can be taken instead."""
    if n < 2:
        instead = " Take sentences as independent with `groups='sentence'`." if groups == "document" else ""
        raise InputError(f"all is one {groups}; intervals need two at least.{instead}")


def bins(value: int | str | None) -> int | str | None:
    """`None`, a target bin size, "width:K" or "isotonic"; a digit string is a bin size."""
    rule = "`bins=` must be a whole bin size of 1 or more, 'width:K' or 'isotonic'"
    if value is None or value == "isotonic":
        return value
    if isinstance(value, str) and (width := re.fullmatch("width:([0-9]+)", value)) and 1 <= int(width[1]) <= 100_000:
        return value
    if isinstance(value, str) and re.fullmatch("[0-9]+", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{rule}; got {value!r}.")
    return int(value)


def generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """A random generator from a seed, a generator or nothing."""
    if rng is None or isinstance(rng, np.random.Generator) or (isinstance(rng, int | np.integer) and rng >= 0):
        return np.random.default_rng(rng)
    raise InputError(f"`rng=` must be a seed of 0 or more; got {rng!r}.")


def listed(names: Sequence[str] | str | None) -> list[str]:
    """Names given as a sequence, or as one text with commas; none where nothing is given."""
    return [n.strip() for n in names.split(",")] if isinstance(names, str) else [str(n) for n in names or ()]


def some(values: Sequence[Any], most: int = 5) -> str:
    """The first values as Python writes them, and a sign that there are more."""
    return ", ".join(repr(v) for v in values[:most]) + (", …" if len(values) > most else "")


def one_of(name: str, valid: Collection[str], said: str) -> str:
    """The name, if it is one of the valid ones; `said`, with the name for its {}, is the error, and the nearest names follow."""
    if name not in valid:
        raise InputError(said.format(name) + nearest(str(name), valid))
    return name


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint naming the valid names, nearest first."""
    import difflib

    names = [str(v) for v in valid]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f" Did you mean `{close[0]}`?" if close else ""
    shown = ", ".join(names[:20]) + (f", … ({len(names)} in all)" if len(names) > 20 else "")
    return f"{hint} There are: {shown}."


def array(values: Any, name: str) -> NDArray[Any]:
    """An array of one or two dimensions with at least one row."""
    made = _array(values, name, numbers=True)
    if made.ndim not in (1, 2):
        raise InputError(f"`{name}` must have shape (n,) or (n, classes); got {made.shape}.")
    return made


def class_probabilities(values: NDArray[Any], origin: Origin, *, normalise: bool = False) -> NDArray[np.float64]:
    """Rows of probabilities, shape (n, K), that sum to one: as given, or divided by their sum if asked.

    A sum off by no more than a thousandth is rounding (four decimals, single precision) and is corrected.
    """
    if values.ndim != 2 or values.shape[1] < 2:
        raise InputError(f"`{origin.prob}` must have a column for each of two or more classes; got {values.shape}.")
    _hold(values, origin.prob)
    p = values.astype(np.float64)
    good = (p >= 0.0) & (p <= (np.finfo(np.float64).max if normalise else 1.0 + 1e-6))
    if not good.all():
        i, j = divmod(int(np.argmin(good)), p.shape[1])
        what = "is missing or NaN" if np.isnan(p[i, j]) else f"must lie in [0, 1]; got {p[i, j]:.6g}"
        raise BadRow(f"`{origin.prob}` {what} in {origin.at(i)}, class number {j + 1}.", origin.first + i)
    total = p.sum(axis=1)
    off = (total <= 0.0) if normalise else np.abs(total - 1.0) > 1e-3
    if off.any():
        i = int(np.argmax(off))
        raise BadRow(
            f"`{origin.prob}` sums to {total[i]:.6g} in {origin.at(i)}, not to one; divide by the sum first "
            "(`normalise=True` of `howsure.check` does).",
            origin.first + i,
        )
    off = np.abs(total - 1.0) > 1e-12
    p[off] /= total[off, None]
    return p


def classes_on_scale(
    values: NDArray[Any], origin: Origin, scale: str | None, *, normalise: bool = False
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Probabilities (n, K) from percentages, log-probabilities or logits (of which the softmax is taken), and what was assumed."""
    _hold(values, origin.prob)
    p = values.astype(np.float64)
    rows = p[np.isfinite(p).all(axis=1)]
    if scale is None and len(rows) and not normalise:
        total = np.median(rows.sum(axis=1))
        if rows.min() >= 0.0 and rows.max() <= 100.0 and abs(total - 100.0) <= 1.0:
            return p / 100.0, (f"`{origin.prob}` sums to 100: read as percentages (`scale='percent'`).",)
        outside = ((rows < 0.0) | (rows > 1.0)).any(axis=1).mean() > 0.5
        runs, softmax = f"`{origin.prob}` runs from {rows.min():.6g} to {rows.max():.6g}", "which takes the softmax"
        if outside and rows.max() <= 0.0:
            how = f"Then pass `scale='logprob'`; of logits `scale='logit'`, {softmax}."
            raise InputError(f"{runs}: are these log-probabilities? {how}")
        if outside and rows.min() < 0.0:
            raise InputError(f"{runs}: are these logits? Then pass `scale='logit'`, {softmax}.")
    if scale == "percent":
        return p / 100.0, ()
    if scale == "logprob":
        return np.exp(p), ()
    if scale == "logit":
        odds = np.exp(p - p.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True), ()
    return p, ()


def class_labels(values: Any, n_classes: int, origin: Origin) -> NDArray[np.int64]:
    """Labels as numbers of classes, 0 … n_classes - 1."""
    given = one_dimensional(values, origin.true)
    if n_classes == 2:
        return labels(given, origin).astype(np.int64)
    _hold(given, origin.true, f"class numbers 0 … {n_classes - 1}", " values")
    return _whole(given, origin, f"`{origin.true}` must be a class number from 0 to {{}}", n_classes - 1)


def importance(values: Any, name: str) -> NDArray[np.float64]:
    """Weights that need not be whole: finite and not negative."""
    given = one_dimensional(values, name)
    _hold(given, name)
    w = given.astype(np.float64)
    good = np.isfinite(w) & (w >= 0.0)
    if not good.all():
        i = int(np.argmin(good))
        raise InputError(f"`{name}` must be finite and not negative; got {w[i]:.6g} at index {i}.")
    return w


def not_negative(value: float, name: str) -> float:
    """A finite number of 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < np.inf:
        raise InputError(f"`{name}=` must be a number of 0 or more; got {value!r}.")
    return float(value)


def count(value: int, name: str) -> int:
    """A whole number of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"`{name}=` must be a whole number of 1 or more; got {value!r}.")
    return int(value)


def temperature(t: float) -> float:
    """A temperature: a finite number above 0."""
    if isinstance(t, bool) or not isinstance(t, int | float | np.number) or not 0.0 < t < np.inf:
        raise InputError(f"a temperature must be a finite number above 0; got {t!r}.")
    return float(t)
