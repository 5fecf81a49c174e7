"""Rows to analyse, wherever they are: once for the sketches, and again for the groups.

The bins that groups are filed under are only known once the sketch is there, hence two passes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.calibration.clusters import ClusterBuilder, ClusterTable, Parts
from howsure.calibration.sketch import Sketch, SketchBuilder
from howsure.engines.columns import check_positive
from howsure.engines.files import Batch, Reading, read_batches, sketch_table
from howsure.engines.memory import sketch_arrays
from howsure.engines.slices import SlicedSketchBuilder, SliceNames
from howsure.engines.tables import Table, as_numpy, first_missing
from howsure.errors import InputError


class Rows(ABC):
    """Labels and probabilities with, perhaps, weights, slices and groups. Use it in a `with` block."""

    name: str
    by_name: str | None = None
    groups_name: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027  (arrays hold nothing open)
        """Release what is held open."""

    @property
    def is_grouped(self) -> bool:
        """Whether rows have groups."""
        return self.groups_name is not None

    @abstractmethod
    def whole(self, width: int | None) -> Sketch:
        """One sketch of all rows, by the fastest way there is."""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """The rows, validated, in batches; may be called again."""

    def sketches(self, width: int | None) -> tuple[Sketch, dict[str, Sketch] | None]:
        """The sketch of all rows and, with slices, of each."""
        if self.by_name is None:
            return self.whole(width), None
        names, builder, whole = SliceNames(), SlicedSketchBuilder(), SketchBuilder(width)
        for batch in self.batches():
            assert batch.by is not None
            whole.add(batch.y, batch.q, batch.weight)
            builder.add(names.codes(batch.by), batch.y, batch.q, batch.weight)
        listed = names.names
        return whole.finish(), {listed[code]: s for code, s in builder.finish().items()}

    def clusters(
        self, filing: Parts, slice_filings: Mapping[str, Parts]
    ) -> tuple[ClusterTable, dict[str, ClusterTable]]:
        """The rows by group: all of them, and those of each slice."""
        whole = ClusterBuilder(filing)
        slices = {name: ClusterBuilder(parts) for name, parts in slice_filings.items()}
        names = SliceNames()
        for batch in self.batches():
            assert batch.groups is not None
            whole.add(batch.groups, batch.y, batch.q, batch.weight)
            if not slices:
                continue
            assert batch.by is not None
            codes = names.codes(batch.by)
            listed = names.names
            order = np.argsort(codes, kind="stable")
            first = np.flatnonzero(np.diff(codes[order], prepend=-1))
            for rows in np.split(order, first[1:]):
                builder = slices.get(listed[codes[rows[0]]])
                if builder is not None:  # a slice of rows that all weigh nothing has no sketch
                    weight = None if batch.weight is None else batch.weight[rows]
                    builder.add(batch.groups[rows], batch.y[rows], batch.q[rows], weight)
        return whole.finish(), {name: b.finish() for name, b in slices.items()}


class ArrayRows(Rows):
    """Arrays in memory, of one length."""

    name = "arrays"

    def __init__(
        self,
        y_true: NDArray[Any],
        y_prob: NDArray[Any],
        sample_weight: NDArray[Any] | None = None,
        by: NDArray[Any] | None = None,
        groups: NDArray[Any] | None = None,
        *,
        logits: bool = False,
    ) -> None:
        self._y, self._q, self._weight, self._logits = y_true, y_prob, sample_weight, logits
        self._by = None if by is None else _arrow(by, "by")
        self._groups = None if groups is None else _group_numbers(groups)
        self.by_name = None if by is None else "by"
        self.groups_name = None if groups is None else "`groups`"

    def whole(self, width: int | None) -> Sketch:
        return sketch_arrays(self._y, self._q, self._weight, logits=self._logits, width=width)

    def batches(self) -> Iterator[Batch]:
        origin = Origin()
        yield Batch(
            _validate.labels(self._y, origin),
            _validate.probabilities(self._q, origin, logits=self._logits),
            None if self._weight is None else _validate.weights(self._weight, origin),
            self._by,
            self._groups,
        )


class TableRows(Rows):
    """Columns of a table of any size."""

    def __init__(self, table: Table, reading: Reading) -> None:
        self._table, self._reading = table, reading
        self.name = Path(table.name).name if table.files else table.name
        self.by_name = reading.by
        self.groups_name = None if reading.groups is None else f"`{reading.groups}`"

    def close(self) -> None:
        self._table.close()

    def whole(self, width: int | None) -> Sketch:
        # Groups matter to the second pass only.
        return sketch_table(self._table, replace(self._reading, groups=None), width)

    def batches(self) -> Iterator[Batch]:
        return read_batches(self._table, self._reading)

    def sketches(self, width: int | None) -> tuple[Sketch, dict[str, Sketch] | None]:
        made = super().sketches(width)
        check_positive(self._table, self._reading.columns, made[0].n_positive, self._reading.where)
        return made


def _arrow(values: NDArray[Any], name: str) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)
    except pa.ArrowException as error:
        raise InputError(f"`{name}` mixes kinds of values: {str(error).splitlines()[0]}.") from None


def _group_numbers(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Groups numbered from 0; none may be missing."""
    encoded = _arrow(values, "groups").dictionary_encode()
    if encoded.null_count:
        raise InputError(f"`groups` is missing at index {first_missing(encoded)}; every row needs a group.")
    return as_numpy(encoded.indices).astype(np.uint64)
