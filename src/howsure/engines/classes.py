"""Probabilities of many classes: (n, K) arrays, wide columns, or a column of lists, maps or structs. In memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from howsure import _validate
from howsure._validate import Origin
from howsure.engines.columns import label_column
from howsure.engines.paired import numbered
from howsure.engines.tables import Table, as_numpy, quoted
from howsure.engines.wide import class_columns
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True)
class ClassRows:
    """Validated rows: the true class's number, (n, K) probabilities, class names, groups."""

    y: Ints
    probs: Floats
    classes: tuple[str, ...]
    groups: Ints | None
    source: str


def classes_from_arrays(
    y_true: Any, y_prob: Any, classes: Sequence[str] | None, groups: Any, normalise: bool
) -> ClassRows:
    """From a (n, K) array; labels are class numbers, or names when `classes` are given."""
    probs = np.asarray(y_prob, dtype=np.float64)
    y = _validate.one_dimensional(y_true, "y_true", numbers=classes is None)
    given = {"y_true": y, "y_prob": probs}
    if groups is not None:
        given["groups"] = _validate.one_dimensional(groups, "groups", numbers=False)
    _validate.same_length(**given)
    k = probs.shape[1]
    origin = Origin()
    if classes is None:
        names = tuple(str(i) for i in range(k))
        numbers = y.astype(np.float64) if y.dtype.kind in "fiub" else np.full(len(y), np.nan)
        bad = ~((numbers >= 0) & (numbers < k) & (numbers == np.floor(numbers)))
        if bad.any():
            i = int(np.argmax(bad))
            raise InputError(
                f"`y_true` must hold class numbers from 0 to {k - 1}; got {y[i]!r} in {origin.at(i)}. "
                "For named classes pass classes=."
            )
        index = numbers.astype(np.int64)
    else:
        names = tuple(str(c) for c in classes)
        if len(names) != k:
            raise InputError(f"`classes` names {len(names)} classes, but `y_prob` has {k} columns.")
        index = _class_numbers([str(v) for v in y.tolist()], names, origin)
    coded = None
    if groups is not None:
        coded = numbered(pa.array(given["groups"], from_pandas=True), "groups", origin)
    return ClassRows(index, _validate.class_probabilities(probs, origin, normalise=normalise), names, coded, "arrays")


def classes_from_table(
    table: Table,
    prob: str,
    true: str | None,
    where: str | None,
    groups: str | None,
    classes: Sequence[str] | None,
    normalise: bool,
) -> ClassRows:
    """From wide columns that match a pattern, or one column of lists, maps or structs."""
    wide = any(c in prob for c in "*?[")
    found = class_columns(table, prob, skip=true) if wide else None
    matched = {} if found is None else dict(zip((c.name for c in found.columns), found.classes, strict=True))
    label = label_column(table, true, skip=set(matched) | {prob})
    expressions = [f"CAST({quoted(label.name)} AS VARCHAR)"]
    if groups is not None:
        expressions.append(f"CAST({quoted(table.column(groups).name)} AS VARCHAR)")
    if wide:
        expressions += [f"TRY_CAST({quoted(c)} AS DOUBLE)" for c in matched]
    else:
        expressions.append(quoted(table.column(prob).name))
    batches = list(table.batches(expressions, where))
    rows = pa.Table.from_batches(batches).combine_chunks() if batches else None
    if rows is None or not rows.num_rows:
        raise InputError("there are no rows to check" + (": --where kept none." if where else "."))
    columns = [c.chunk(0) for c in rows.columns]
    origin = Origin(label.name, prob, "", 0, True)
    if wide:
        names = tuple(matched.values())
        probs = np.stack([as_numpy(c) for c in columns[-len(matched) :]], axis=1)
    else:
        names, probs = _nested(columns[-1], origin)
        if classes is not None:
            names = tuple(classes)
    gold = columns[0].to_pylist()
    if None in gold:
        raise InputError(f"`{label.name}` is missing in {origin.at(gold.index(None))}.")
    coded = None if groups is None else numbered(columns[1], groups, origin)
    source = Path(table.name).name if table.files else table.name
    return ClassRows(
        _class_numbers(gold, names, origin),
        _validate.class_probabilities(probs, origin, normalise=normalise),
        names,
        coded,
        source,
    )


def _nested(column: Any, origin: Origin) -> tuple[tuple[str, ...], Floats]:
    """Class names and (n, K) probabilities of a list, map or struct column."""
    if column.null_count:
        i = int(pc.index(column.is_null(), True).as_py())
        raise InputError(f"`{origin.prob}` is missing in {origin.at(i)}.")
    kind = column.type
    if pa.types.is_struct(kind):
        names = tuple(kind.field(i).name for i in range(kind.num_fields))
        fields = [pc.fill_null(f.cast(pa.float64()), 0.0) for f in column.flatten()]  # a class not named has no mass
        return names, np.stack([np.from_dlpack(f) for f in fields], axis=1)
    if pa.types.is_map(kind):
        encoded = column.keys.dictionary_encode()
        names = tuple(str(k) for k in encoded.dictionary.to_pylist())
        probs = np.zeros((len(column), len(names)))
        lengths = np.diff(as_numpy(column.offsets))
        probs[np.repeat(np.arange(len(column)), lengths), as_numpy(encoded.indices)] = as_numpy(
            column.items.cast(pa.float64())
        )
        return names, probs
    lengths = as_numpy(pc.list_value_length(column))
    if lengths.min() != lengths.max():
        i = int(np.argmax(lengths != lengths[0]))
        raise InputError(f"`{origin.prob}` holds {lengths[i]} probabilities in {origin.at(i)} and {lengths[0]} before.")
    values = as_numpy(column.flatten().cast(pa.float64()))
    return tuple(str(i) for i in range(int(lengths[0]))), values.reshape(len(column), -1)


def _class_numbers(gold: list[str], names: tuple[str, ...], origin: Origin) -> Ints:
    """The number of each label's class; a label that is no class is an error."""
    place = {name: i for i, name in enumerate(names)}
    try:
        return np.array([place[g] for g in gold], np.int64)
    except KeyError:
        i = next(i for i, g in enumerate(gold) if g not in place)
        raise InputError(
            f"`{origin.true}` is {gold[i]!r} in {origin.at(i)}, which is none of the classes.{_validate.nearest(gold[i], names)}"
        ) from None
