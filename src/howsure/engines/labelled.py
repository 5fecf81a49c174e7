"""Columns of labels as numbers: gold, one or more systems, groups, sentences, probabilities.

Held in memory, as codes: for what depends on the order of rows (spans). All else is counted in pieces, in
`label_counts.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.engines.columns import label_column
from howsure.engines.slices import MISSING, SliceNames
from howsure.engines.tables import Column, Table, as_numpy, quoted
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True)
class LabelledRows:
    """Rows with no label missing: numbers into `labels`, and what was left out."""

    labels: tuple[str, ...]
    gold: Ints
    preds: dict[str, Ints]
    groups: Ints | None = None
    new_sentence: NDArray[np.bool_] | None = None
    probs: dict[str, Floats] | None = None
    second: Ints | None = None
    left_out: tuple[tuple[str, int], ...] = ()
    source: str = "arrays"
    notes: tuple[str, ...] = ()

    @property
    def clusters(self) -> Ints | None:
        """What is dependent: the groups or, failing them, the sentences."""
        if self.groups is not None or self.new_sentence is None:
            return self.groups
        return np.cumsum(self.new_sentence) - 1


def from_table(
    table: Table,
    true: str | None,
    preds: list[str],
    *,
    groups: str | None = None,
    sentence: str | None = None,
    probs: list[str] | None = None,
    second: str | None = None,
    where: str | None = None,
    logits: bool = False,
    tags: bool = False,
) -> LabelledRows:
    """Read the columns in one pass."""
    columns = [table.column(p) for p in preds]
    names = [c.name for c in columns]
    gold = label_column(table, true, skip=set(names))
    if len(set(names)) < len(names) or gold.name in names:
        raise InputError("each --pred column may be named once, and none of them is --true.")
    extra = {"second": second, "groups": groups, "sentence": sentence}
    texts = {"gold": gold} | {f"pred{i}": c for i, c in enumerate(columns)}
    texts |= {key: table.column(name) for key, name in extra.items() if name}
    wanted = {key: text_sql(c) for key, c in texts.items()}
    numbers = [table.column(p) for p in probs or []]
    wanted |= {f"q{i}": f"TRY_CAST({quoted(c.name)} AS DOUBLE)" for i, c in enumerate(numbers)}
    labels = SliceNames()
    coders = {key: SliceNames() if key in ("groups", "sentence") else labels for key in texts}
    parts: dict[str, list[NDArray[Any]]] = {key: [] for key in wanted}
    for batch in table.batches(list(wanted.values()), where):
        for i, key in enumerate(wanted):
            column = batch.column(i)
            parts[key].append(coders[key].codes(column) if key in coders else np.array(as_numpy(column)))
    if not parts["gold"] or not sum(map(len, parts["gold"])):
        raise InputError("there are no rows to score.")
    codes = {key: np.concatenate(part) for key, part in parts.items()}
    made = _cleaned(
        codes,
        labels,
        coders,
        {"gold": gold.name, "second": second or ""} | {f"pred{i}": n for i, n in enumerate(names)},
        [c.name for c in numbers],
        Origin(gold.name, "", "", 0, True),
        Path(table.name).name if table.files else table.name,
        {"groups": groups or "", "sentence": sentence or ""},
        logits,
        tags,
    )
    return replace(made, notes=table.notes)


def from_arrays(
    y_true: Any,
    y_preds: Mapping[str, Any],
    *,
    groups: Any = None,
    sentence: Any = None,
    probs: Mapping[str, Any] | None = None,
    second: Any = None,
    logits: bool = False,
    tags: bool = False,
) -> LabelledRows:
    """The same from arrays."""
    given = {"gold": y_true} | {f"pred{i}": v for i, v in enumerate(y_preds.values())}
    given |= {k: v for k, v in (("second", second), ("groups", groups), ("sentence", sentence)) if v is not None}
    named = {"gold": "y_true"} | {f"pred{i}": n for i, n in enumerate(y_preds)} | {"second": "second"}
    arrays = {k: _validate.one_dimensional(v, named.get(k, k), numbers=False) for k, v in given.items()}
    quantities = {f"q{i}": _validate.one_dimensional(v, n) for i, (n, v) in enumerate((probs or {}).items())}
    _validate.same_length(**{named.get(k, k): v for k, v in arrays.items()}, **quantities)
    labels = SliceNames()
    coders = {key: SliceNames() if key in ("groups", "sentence") else labels for key in arrays}
    codes: dict[str, NDArray[Any]] = {key: coders[key].codes(label_texts(v)) for key, v in arrays.items()}
    return _cleaned(
        codes | quantities,
        labels,
        coders,
        named,
        list(probs or {}),
        Origin(),
        "arrays",
        {"groups": "groups", "sentence": "sentence"},
        logits,
        tags,
    )


def text_sql(column: Column) -> str:
    """Labels as text; 1 and 1.0 are one label, however the columns are stored."""
    name = quoted(column.name)
    if column.is_nested:
        raise InputError(f"`{column.name}` holds {column.type.split('(')[0].lower()} values, not one label a row.")
    if column.type in ("DOUBLE", "FLOAT", "REAL") or column.type.startswith("DECIMAL"):
        whole = f"{name} = floor({name}) AND abs({name}) < 1e15"
        return (
            f"CASE WHEN {name} IS NULL OR isnan(CAST({name} AS DOUBLE)) THEN NULL "
            f"WHEN {whole} THEN CAST(CAST({name} AS BIGINT) AS VARCHAR) ELSE CAST({name} AS VARCHAR) END"
        )
    return f"CAST({name} AS VARCHAR)"


def label_texts(values: NDArray[Any]) -> pa.Array:
    """An array of labels as text, by its distinct values; None and NaN are missing."""
    if values.dtype.kind == "f":
        found, where = np.unique(values, return_inverse=True)
        names = [None if v != v else str(int(v)) if v == int(v) else str(v) for v in found.tolist()]
    elif values.dtype.kind in "biu":
        found, where = np.unique(values, return_inverse=True)
        names = [str(v).lower() if values.dtype.kind == "b" else str(v) for v in found.tolist()]
    else:
        return pa.array([None if v is None or v != v else str(v) for v in values.tolist()], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(where.astype(np.int32)), pa.array(names, pa.string())).cast(
        pa.string()
    )


def _cleaned(
    codes: dict[str, NDArray[Any]],
    labels: SliceNames,
    coders: dict[str, SliceNames],
    named: dict[str, str],
    prob_names: list[str],
    origin: Origin,
    source: str,
    grouping: dict[str, str],
    logits: bool,
    tags: bool,
) -> LabelledRows:
    """Leave out rows with a missing label, saying so, and number what is left."""
    for key, name in grouping.items():
        absent = coders[key].index.get(MISSING) if key in codes else None
        if absent is not None:
            at = int(np.argmax(codes[key] == absent))
            raise InputError(f"`{name}` is missing in {origin.at(at)}; every row needs one.")
    every, names, keep, left_out = numbered_labels(
        {k: v for k, v in codes.items() if k in named}, None, labels, named, origin if tags else None
    )
    probs = {
        name: _validate.probabilities(codes[f"q{i}"], Origin(origin.true, name, "", 0, origin.from_file), logits=logits)
        for i, name in enumerate(prob_names)
    }
    groups = np.unique(codes["groups"][keep], return_inverse=True)[1] if "groups" in codes else None
    if groups is not None and groups.max() < 1:
        raise InputError("all rows are in one group; intervals need two groups at least.")
    new = None
    if "sentence" in codes or (tags and groups is not None):
        new = np.zeros(int(keep.sum()), bool)
        new[0] = True
        for key in ("sentence", "groups"):
            if key in codes:
                new[1:] |= np.diff(codes[key][keep]) != 0
    return LabelledRows(
        names,
        every["gold"],
        {named[k]: v for k, v in every.items() if k.startswith("pred")},
        groups,
        new,
        {k: q[keep] for k, q in probs.items()} or None,
        every.get("second"),
        left_out,
        source,
    )


def numbered_labels(
    codes: dict[str, Ints],
    count: Ints | None,
    labels: SliceNames,
    named: dict[str, str],
    tags_from: Origin | None = None,
) -> tuple[dict[str, Ints], tuple[str, ...], NDArray[np.bool_], tuple[tuple[str, int], ...]]:
    """Columns of labels without the rows that miss one, numbered in the labels' order; which rows stay; what was lost.

    Each row counts `count` times. With `tags_from` the labels are tags of tokens, of which none may be missing.
    """
    keep = np.ones(len(codes["gold"]), bool)
    left_out: list[tuple[str, int]] = []
    absent = labels.index.get(MISSING)
    for key, column in codes.items():
        lost = keep & (column == absent)
        if lost.any():
            if tags_from is not None:
                at = tags_from.at(int(np.argmax(lost)))
                raise InputError(f"`{named[key]}` is missing in {at}; every token needs a tag.")
            left_out.append((named[key], int(lost.sum() if count is None else count[lost].sum())))
            keep &= ~lost
    if not keep.any():
        raise InputError("no row has all its labels: " + ", ".join(f"{n:,} without {k}" for k, n in left_out) + ".")
    order = _in_order([n for n in labels.names if n != MISSING])
    number = np.full(len(labels.index), -1, np.int64)
    number[[labels.index[n] for n in order]] = np.arange(len(order))
    every = {k: number[column[keep]] for k, column in codes.items()}
    used = np.unique(np.concatenate([np.unique(v) for v in every.values()]))
    renumbered = {k: np.searchsorted(used, v) for k, v in every.items()}
    names = tuple(order[i] for i in used)
    for k in renumbered if tags_from is None else ():
        if k.startswith("pred"):
            _something_shared(names, renumbered["gold"], renumbered[k], named["gold"], named[k])
    return renumbered, names, keep, tuple(left_out)


def _something_shared(names: tuple[str, ...], gold: Ints, pred: Ints, true: str, said: str) -> None:
    here, there = np.unique(gold), np.unique(pred)
    if not len(np.intersect1d(here, there)):
        one, two = (", ".join(repr(names[i]) for i in x[:4]) + (", …" if len(x) > 4 else "") for x in (here, there))
        raise InputError(f"`{true}` and `{said}` have no label in common: {one} against {two}.")


def _in_order(names: list[str]) -> list[str]:
    """Numbers by size, anything else by name."""
    try:
        return sorted(names, key=lambda n: (float(n), n))
    except ValueError:
        return sorted(names)
