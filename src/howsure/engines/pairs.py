"""Labels and probabilities, with weights, slices and groups: how chunks of any engine are read as such."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import BadRow, Origin
from howsure.engines.columns import PairColumns
from howsure.engines.files import Selection
from howsure.engines.rows import Chunk
from howsure.engines.tables import as_arrow, as_numpy, first_missing, quoted
from howsure.errors import InputError


@dataclass(frozen=True, slots=True)
class Batch:
    """Validated rows, with the values of the slice and group columns when asked for."""

    y: NDArray[np.uint8]
    q: NDArray[np.float64]
    weight: NDArray[np.int64] | None
    by: pa.Array | None
    groups: NDArray[np.uint64] | None


@dataclass(frozen=True, slots=True)
class Pairs:
    """What the columns are called, for messages, and whether q holds log-odds."""

    origin: Origin = Origin()  # noqa: RUF009  (frozen)
    groups: str = "groups"
    logits: bool = False

    def origin_of(self, chunk: Chunk) -> Origin:
        """Where the chunk's rows are from."""
        return replace(self.origin, first=chunk.first or 0, numbered=chunk.first is not None)

    def batch(self, chunk: Chunk) -> Batch:
        """The chunk, checked."""
        origin = self.origin_of(chunk)
        weight, groups = chunk.get("weight"), chunk.get("groups")
        return Batch(
            _validate.labels(numbers(chunk["y"]), origin),
            _validate.probabilities(numbers(chunk["q"]), origin, logits=self.logits),
            None if weight is None else _validate.weights(numbers(weight), origin),
            chunk.get("by"),
            None if groups is None else self._groups(groups, origin),
        )

    def _groups(self, column: Any, origin: Origin) -> NDArray[np.uint64]:
        if not isinstance(column, np.ndarray) and column.null_count:
            i = first_missing(column)
            raise BadRow(f"`{self.groups}` is missing in {origin.at(i)}; every row needs a group.", origin.first + i)
        return numbers(column).astype(np.uint64, copy=False)


def numbers(column: Any) -> NDArray[Any]:
    """A column of numbers as NumPy."""
    return column if isinstance(column, np.ndarray) else as_numpy(column)


def pair_selection(
    columns: PairColumns,
    *,
    weight: str | None = None,
    by: str | None = None,
    groups: str | None = None,
    where: str | None = None,
) -> Selection:
    """What to read from a table for pairs."""
    made = {"y": columns.true_sql, "q": columns.prob_sql}
    if weight is not None:
        made["weight"] = f"TRY_CAST({quoted(weight)} AS DOUBLE)"
    if by is not None:
        made["by"] = f"CAST({quoted(by)} AS VARCHAR)"
    if groups is not None:
        made["groups"] = group_sql(groups)
    plain = None
    if columns.positive is None and columns.prob.is_number and columns.true.is_number and not (weight or by or groups):
        plain = {"y": columns.true.name, "q": columns.prob.name}
    return Selection(made, where, {"q": columns.prob.name}, plain)


def group_sql(column: str) -> str:
    """A 64-bit hash stands for the group: among 10⁷ groups two share one with probability 3e-6."""
    name = quoted(column)
    return f"CASE WHEN {name} IS NULL THEN NULL ELSE hash({name}) END"


def arrow_text(values: NDArray[Any], name: str) -> pa.Array:
    """Values of any one kind as Arrow."""
    try:
        return pa.array(values, from_pandas=True)
    except pa.ArrowException as error:
        raise InputError(f"`{name}` mixes kinds of values: {str(error).splitlines()[0]}.") from None


def group_numbers(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Groups numbered from 0; none may be missing."""
    encoded = arrow_text(values, "groups").dictionary_encode()
    if encoded.null_count:
        raise InputError(f"`groups` is missing at index {first_missing(encoded)}; every row needs a group.")
    return as_numpy(encoded.indices).astype(np.uint64)


def row_schema(extra: list[tuple[str, pa.DataType]], weighted: bool) -> pa.Schema:
    """Of rows that go to their key: key, what else is needed, group, label and probability."""
    weight = [("weight", pa.int64())] if weighted else []
    columns = [("key", pa.uint64()), *extra, ("groups", pa.uint64()), ("y", pa.uint8()), ("q", pa.float64()), *weight]
    return pa.schema(columns)


def row_records(key: NDArray[np.uint64], extra: list[Any], batch: Batch, schema: pa.Schema) -> pa.RecordBatch:
    """Validated rows as such records."""
    columns = [key, *extra, np.ascontiguousarray(batch.y), batch.q, *([] if batch.weight is None else [batch.weight])]
    made = [as_arrow(c) if isinstance(c, np.ndarray) else c for c in columns]
    return pa.RecordBatch.from_arrays(made, schema=schema)


def row_columns(
    c: Chunk,
) -> tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.float64], NDArray[np.int64] | None]:
    """Group, label, probability and weight of such records."""
    weight = c.get("weight")
    groups = numbers(c["groups"]).astype(np.uint64, copy=False)  # Spark has no unsigned numbers
    return (
        groups,
        numbers(c["y"]).astype(np.uint8, copy=False),
        numbers(c["q"]),
        None if weight is None else numbers(weight),
    )
