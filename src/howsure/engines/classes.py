"""Probabilities of many classes: (n, K) arrays, wide columns, or a column of lists, maps or structs. In memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.engines.columns import class_columns, is_classes, label_column, probability_sql, value_sql
from howsure.engines.items import arrow_values, group_numbers, items_from_table, rows_without
from howsure.engines.rows import Chunk
from howsure.engines.tables import Table, as_numpy, quoted
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True)
class ClassRows:
    """Validated rows: the true class's number, (n, K) probabilities, class names, numbers or hashes of groups."""

    y: Ints
    probs: Floats
    classes: tuple[str, ...]
    groups: NDArray[np.uint64] | None
    source: str
    by: list[str] | None = None  # what is compared, a text each row
    notes: tuple[str, ...] = ()


def classes_from_arrays(
    y_true: Any, y_prob: Any, classes: Sequence[str] | None, groups: Any, by: Any, **reading: Any
) -> ClassRows:
    """From a (n, K) array; labels are class numbers, or names when `classes` are given. `reading` is as of `_usable`."""
    probs = np.asarray(y_prob, dtype=np.float64)
    y = _validate.one_dimensional(y_true, "y_true", numbers=classes is None)
    more = {"groups": groups, "by": by}
    given = {k: _validate.one_dimensional(v, k, numbers=False) for k, v in more.items() if v is not None}
    _validate.same_length(y_true=y, y_prob=probs, **given)
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
        coded = group_numbers(arrow_values(given["groups"], "groups"), "groups", "a group")
    rows = ClassRows(index, probs, names, coded, "arrays", None if by is None else [str(v) for v in given["by"]])
    return _usable(rows, np.zeros(len(y), bool), origin, **reading)


def classes_from_table(
    table: Table,
    prob: str | Sequence[str],
    true: str | None,
    where: str | None,
    groups: str | None,
    classes: Sequence[str] | None = None,
    by: str | None = None,
    **reading: Any,
) -> ClassRows | None:
    """From wide columns that match a pattern, or one column of lists, maps or structs; None if there are no rows."""
    wide = class_columns(table, prob, skip=true) if is_classes(prob) else {}
    named = prob if isinstance(prob, str) else ", ".join(prob)
    label = label_column(table, true, skip={c.name for c in wide.values()} | {named})
    sql = {"gold": value_sql(label.name)}
    sql |= {f"q{i}": probability_sql(table, c, reading["scale"], where) for i, c in enumerate(wide.values())}
    if not wide:
        sql["q"] = quoted(table.column(named).name)
    with items_from_table(table, groups=groups, by=by, more=sql, where=where) as found:
        items = replace(found.items, true=label.name, probs=(named,))
        held = found.held(*found.rows.roles)
    if not held or not len(held["gold"]):
        return None
    whole = Chunk(held, 0)
    origin = items.origin(whole)
    if wide:
        names = tuple(wide)
        probs = np.stack([as_numpy(held[f"q{i}"]) for i in range(len(wide))], axis=1)
    else:
        names, probs = _nested(held["q"], origin)
        names = names if classes is None else tuple(classes)
    coded = None if groups is None else items.group_ids(whole, "group")
    gold = held["gold"].to_pylist()
    y = _class_numbers([names[0] if g is None else g for g in gold], names, origin)
    texts = None if by is None else ["(missing)" if v is None else v for v in held["by"].to_pylist()]
    rows = ClassRows(y, probs, names, coded, found.name, texts)
    return _usable(rows, np.array([g is None for g in gold]), origin, **reading)


def _usable(
    rows: ClassRows,
    unlabelled: NDArray[np.bool_],
    origin: Origin,
    *,
    scale: str | None,
    missing: str,
    normalise: bool = False,
) -> ClassRows:
    """Rows with probabilities, from numbers on any scale; those that miss something are left out, or refused."""
    without = np.isnan(rows.probs).any(axis=1)
    lost = unlabelled | without
    probs, notes = _validate.classes_on_scale(rows.probs, origin, scale, normalise=normalise)
    probs[lost] = 1.0 / probs.shape[1]
    probs = _validate.class_probabilities(probs, origin, normalise=normalise)
    if not lost.any():
        return replace(rows, probs=probs, notes=notes)
    found = [(name, int(n.sum())) for name, n in ((origin.true, unlabelled), (origin.prob, without)) if n.any()]
    said = rows_without(int(lost.sum()), len(lost), found)
    if missing == "error":
        first = origin.at(int(np.argmax(lost)))
        raise InputError(f"{said}, the first of them {first}; `missing='drop'` leaves such rows out.")
    if lost.all():
        raise InputError(f"{said}: nothing is left.")
    kept = ~lost
    groups = None if rows.groups is None else rows.groups[kept]
    by = None if rows.by is None else [v for v, k in zip(rows.by, kept.tolist(), strict=True) if k]
    notes = (*notes, f"{said}: left out (`missing='error'` refuses instead).")
    return replace(rows, y=rows.y[kept], probs=probs[kept], groups=groups, by=by, notes=notes)


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
        row = np.repeat(np.arange(len(column)), np.diff(as_numpy(column.offsets)))
        probs[row, as_numpy(encoded.indices)] = as_numpy(column.items.cast(pa.float64()))
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
        models = " Several models' probabilities of one outcome: `howsure.compare`." if gold[i] in ("0", "1") else ""
        near = _validate.nearest(gold[i], names)
        raise InputError(
            f"`{origin.true}` is {gold[i]!r} in {origin.at(i)}, which is none of the classes.{near}{models}"
        ) from None
