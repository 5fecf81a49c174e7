"""Tables with a column of probabilities for each class, named by a glob: `p_*` are `p_cat`, `p_dog`, …"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import BadRow, Origin
from howsure.engines.tables import Column, Table, as_numpy, first_missing, quoted
from howsure.errors import InputError


@dataclass(frozen=True, slots=True)
class ClassColumns:
    """Columns in the table's order, and the classes: what `*` stands for in their names."""

    pattern: str
    columns: tuple[Column, ...]
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClassBatch:
    """Validated rows: probabilities (n, K), class numbers and hashes of groups when asked for."""

    p: NDArray[np.float64]
    y: NDArray[np.int64] | None
    groups: NDArray[np.uint64] | None


def class_columns(table: Table, pattern: str, skip: str | None = None) -> ClassColumns:
    """The columns that a glob with one `*` names."""
    if pattern.count("*") != 1:
        raise InputError(f"--prob {pattern!r} must hold one * that stands for the class.")
    wanted = re.compile("(.+)".join(re.escape(part) for part in pattern.split("*")))
    found = [(c, m[1]) for c in table.columns if c.name != skip and (m := wanted.fullmatch(c.name))]
    if len(found) < 2:
        there = _validate.nearest(pattern, [c.name for c in table.columns])
        raise InputError(
            f"--prob {pattern!r} names {len(found)} of the columns of {table.name}; it takes two at least.{there}"
        )
    return ClassColumns(pattern, tuple(c for c, _ in found), tuple(name for _, name in found))


def read_class_batches(
    table: Table,
    wide: ClassColumns,
    *,
    true: Column | None = None,
    groups: str | None = None,
    where: str | None = None,
) -> Iterator[ClassBatch]:
    """Validated batches in the table's order."""
    expressions = [f"TRY_CAST({quoted(c.name)} AS DOUBLE)" for c in wide.columns]
    if true is not None:
        expressions.append(f"CAST({quoted(true.name)} AS VARCHAR)")
    if groups is not None:
        name = quoted(groups)
        expressions.append(f"CASE WHEN {name} IS NULL THEN NULL ELSE hash({name}) END")
    origin = Origin("" if true is None else true.name, wide.pattern, "", 0, True)
    k = len(wide.columns)
    for record in table.batches(expressions, where):
        p = np.stack([as_numpy(column) for column in record.columns[:k]], axis=1)
        rest = list(record.columns[k:])
        y = None if true is None else _class_numbers(rest.pop(0), wide, origin)
        hashed = None
        if groups is not None:
            column = rest.pop(0)
            if column.null_count:
                i = first_missing(column)
                raise BadRow(f"`{groups}` is missing in {origin.at(i)}; every row needs a group.", origin.first + i)
            hashed = as_numpy(column)
        yield ClassBatch(_validate.class_probabilities(p, origin), y, hashed)
        origin = replace(origin, first=origin.first + record.num_rows)


def _class_numbers(column: Any, wide: ClassColumns, origin: Origin) -> NDArray[np.int64]:
    if column.null_count:
        i = first_missing(column)
        raise BadRow(f"`{origin.true}` is missing in {origin.at(i)}.", origin.first + i)
    encoded = column.dictionary_encode()
    number = {name: i for i, name in enumerate(wide.classes)}
    codes = np.array([number.get(v, -1) for v in encoded.dictionary.to_pylist()], np.int64)
    y: NDArray[np.int64] = codes[as_numpy(encoded.indices)]
    if (y < 0).any():
        i = int(np.argmax(y < 0))
        found = column[i].as_py()
        raise BadRow(
            f"`{origin.true}` is {found!r} in {origin.at(i)}, which no column of --prob {wide.pattern!r} is for."
            f"{_validate.nearest(found, wide.classes)}",
            origin.first + i,
        )
    return y
